#!/usr/bin/env python3
"""Decisions with whole numbers and a learned function inside: `rw-adv maximize --branch` beside HiGHS's MILP on the same twenty problems.

    scripts/compare_integers.py RW_ADV [--seconds 20] [--out DIR]

A third of the inputs are 0 or 1, a third whole numbers from 0 to 3, a third continuous in [0, 1]; the sum of the binaries is at most half their
number, and one more constraint ties all inputs together. Networks are random (He). Both get the same time. Prints a Markdown table. Needs numpy and
onnx (scripts/requirements-zoo.txt).
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

INPUTS = (5, 10, 20, 30, 50)
HIDDEN = ((50, 50), (50, 50, 50), (100, 100), (100, 100, 100))


def write_network(path, inputs, hidden, rng):
    widths, nodes, weights, name = [inputs, *hidden, 1], [], [], "x"
    for layer, (below, above) in enumerate(zip(widths, widths[1:])):
        w = rng.normal(0, (2 / below) ** 0.5, (above, below)).astype(numpy.float32)
        b = rng.normal(0, 0.3, above).astype(numpy.float32)
        weights += [numpy_helper.from_array(w, f"w{layer}"), numpy_helper.from_array(b, f"b{layer}")]
        last = layer == len(widths) - 2
        nodes.append(helper.make_node("Gemm", [name, f"w{layer}", f"b{layer}"], ["y" if last else f"g{layer}"], transB=1))
        if not last:
            nodes.append(helper.make_node("Relu", [f"g{layer}"], [f"h{layer}"]))
            name = f"h{layer}"
    of = lambda name, size: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, size])
    graph = helper.make_graph(nodes, "network", [of("x", inputs)], [of("y", 1)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


def write_constraints(path, inputs, rng):
    third = max(1, inputs // 3)
    lines = [f"bin x0..x{third - 1}", f"int x{third}..x{2 * third - 1}", *(f"x{i} <= 3" for i in range(third, 2 * third))]
    lines.append(" + ".join(f"x{i}" for i in range(third)) + f" <= {max(1, third // 2)}" if third > 1 else "x0 <= 1")
    lines.append(" + ".join(f"{rng.integers(1, 5)}*x{i}" for i in range(inputs)) + f" <= {2 * inputs}")
    path.write_text("\n".join(lines) + "\n")
    return 2 * third


def solve(rw_adv, model, constraints, seconds, options):
    command = [rw_adv, "maximize", "--model", model, "--objective", "y0", "--constraints", constraints, "--json", "--time-limit", str(seconds)]
    return json.loads(subprocess.run([*map(str, command), *options], check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rw_adv")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--out", type=pathlib.Path, help="keep networks and constraints there")
    args = parser.parse_args()
    folder = args.out or pathlib.Path(tempfile.mkdtemp())
    folder.mkdir(exist_ok=True)
    print("| inputs | whole | network | value | bound | nodes | s | HiGHS: value | claimed bound | s |")
    print("|---|---|---|---|---|---|---|---|---|---|", flush=True)
    better = worse = ours_done = theirs_done = 0
    for seed, (inputs, hidden) in enumerate((i, h) for i in INPUTS for h in HIDDEN):
        rng = numpy.random.default_rng(seed)
        model, constraints = folder / f"{seed}.onnx", folder / f"{seed}.txt"
        write_network(model, inputs, hidden, rng)
        whole = write_constraints(constraints, inputs, rng)
        ours = solve(args.rw_adv, model, constraints, args.seconds, ["--branch"])
        theirs = solve(args.rw_adv, model, constraints, args.seconds, ["--method", "milp"])
        assert theirs["value"] <= ours["upper_bound"], "a point above a certified bound"
        ours_done += ours["optimal"]
        theirs_done += theirs["stop"] == "claimed" or theirs["optimal"]
        better += ours["value"] > theirs["value"] + 1e-4
        worse += ours["value"] < theirs["value"] - 1e-4
        number = lambda x: "none" if x is None else f"{x:.4f}"
        cells = [inputs, whole, f"{len(hidden)}×{hidden[0]}", number(ours["value"]), number(ours["upper_bound"]), ours["nodes"], f"{ours['seconds']:.1f}"]
        cells += [number(theirs["value"]), number(theirs["claimed_bound"]), f"{theirs['seconds']:.1f}"]
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    print(f"\nOptima proven: {ours_done} by rw-adv, {theirs_done} claimed by HiGHS. rw-adv's value is better {better} times, worse {worse} times.")


if __name__ == "__main__":
    main()
