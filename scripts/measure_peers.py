#!/usr/bin/env python3
"""Time to a proven optimum of the optimal adversary on a 2x50 classifier: rw-adv beside Gurobi Machine Learning and OMLT.

    scripts/measure_peers.py RW_ADV [--images N] [--delta D] [--seconds S] [--out FILE]

The problem: maximise y_w - y_c, w the runner-up, over an L1 ball around the image, cut by the pixel box. Each tool builds it from the same ONNX file:
Gurobi ML with its own formulation (an sklearn MLPRegressor that holds the weights), solved by Gurobi; OMLT with its big-M ReLU formulation over
Pyomo, solved by HiGHS, because its columns are more than PyPI's licence of Gurobi allows; rw-adv with `--branch`. One thread each; times are CPU
seconds from the model in memory (rw-adv: of the whole process) to the proof, or until S of them are gone (HiGHS: about, because it looks at the wall clock). FILE gets the
table in Markdown. Needs scripts/requirements-peers.txt.

Exit code 0: measured; 1: two tools contradict each other; 2: bad usage.
"""

import argparse
import gzip
import json
import os
import resource
import subprocess
import sys
import time

import numpy as np
import onnx
from onnx import numpy_helper

STARTED = time.time()
MODEL = "models/mnist_2x50.onnx"
PEERS = ["gurobi-ml", "omlt"]
# What both claim to have proven to a gap of 1e-4 may differ by twice that.
AGREE = 5e-4


def images(count):
    with gzip.open("data/t10k-images-idx3-ubyte.gz") as file:
        pixels = np.frombuffer(file.read(16 + 784 * count), np.uint8, offset=16)
    return pixels.reshape(count, 784) / 255.0


def layers():
    """Weights (outputs x inputs) and biases of the dense layers, in order."""
    graph = onnx.load(MODEL).graph
    tensors = {t.name: numpy_helper.to_array(t).astype(np.float64) for t in graph.initializer}
    found = []
    for node in graph.node:
        if node.op_type == "Gemm":
            weight, bias = tensors[node.input[1]], tensors[node.input[2]]
            transposed = any(a.name == "transB" and a.i for a in node.attribute)
            found.append((weight if transposed else weight.T, bias))
        elif node.op_type not in ("Relu", "Flatten", "Reshape"):
            raise SystemExit(f"{MODEL}: {node.op_type} is not understood here")
    return found


def outputs(net, x):
    for weight, bias in net[:-1]:
        x = np.maximum(weight @ x + bias, 0.0)
    return net[-1][0] @ x + net[-1][1]


def solve_gurobi_ml(net, image, label, target, delta, seconds):
    import gurobipy as gp
    from gurobi_ml import add_predictor_constr
    from sklearn.neural_network import MLPRegressor

    regressor = MLPRegressor(hidden_layer_sizes=[len(b) for _, b in net[:-1]], activation="relu")
    regressor.n_layers_, regressor.n_outputs_, regressor.out_activation_ = len(net) + 1, 10, "identity"
    regressor.coefs_ = [weight.T for weight, _ in net]
    regressor.intercepts_ = [bias for _, bias in net]
    regressor.n_features_in_ = 784
    begin = time.process_time()
    with gp.Env(empty=True) as env:
        env.setParam("OutputFlag", 0)
        env.start()
        with gp.Model(env=env) as model:
            x = model.addMVar(784, lb=0.0, ub=1.0)
            change = model.addMVar(784, lb=0.0)
            y = model.addMVar(10, lb=-gp.GRB.INFINITY)
            model.addConstr(change >= x - image)
            model.addConstr(change >= image - x)
            model.addConstr(change.sum() <= delta)
            add_predictor_constr(model, regressor, x.reshape(1, 784), y.reshape(1, 10))
            model.setObjective(y[target] - y[label], gp.GRB.MAXIMIZE)
            model.Params.Threads, model.Params.MIPGap, model.Params.MIPGapAbs = 1, 0, 1e-4

            def stop_in_time(model, where):
                if time.process_time() - begin > seconds:
                    model.terminate()

            model.optimize(stop_in_time)
            value = outputs(net, np.clip(x.X, 0, 1)) if model.SolCount else None
            best = None if value is None else value[target] - value[label]
            return best, model.ObjBound, model.Status == gp.GRB.OPTIMAL, time.process_time() - begin


def solve_omlt(net, image, label, target, delta, seconds):
    import pyomo.environ as pyo
    from omlt import OmltBlock
    from omlt.neuralnet import NetworkDefinition, ReluBigMFormulation
    from omlt.neuralnet.layer import DenseLayer, InputLayer
    from pyomo.contrib.appsi.solvers import Highs

    # OMLT's reader of ONNX files does not take a Gemm without all of its attributes: the layers are handed over.
    bounds = {i: (max(0.0, p - delta), min(1.0, p + delta)) for i, p in enumerate(image)}
    definition = NetworkDefinition(scaled_input_bounds=bounds)
    below = InputLayer([784])
    definition.add_layer(below)
    for k, (weight, bias) in enumerate(net):
        activation = "relu" if k + 1 < len(net) else "linear"
        layer = DenseLayer(below.output_size, [len(bias)], activation=activation, weights=weight.T, biases=bias)
        definition.add_layer(layer)
        definition.add_edge(below, layer)
        below = layer
    begin = time.process_time()
    model = pyo.ConcreteModel()
    model.nn = OmltBlock()
    model.nn.build_formulation(ReluBigMFormulation(definition))
    inputs = list(model.nn.inputs)
    model.change = pyo.Var(range(784), bounds=(0, None))
    model.above = pyo.Constraint(range(784), rule=lambda m, i: m.change[i] >= m.nn.inputs[inputs[i]] - image[i])
    model.below = pyo.Constraint(range(784), rule=lambda m, i: m.change[i] >= image[i] - m.nn.inputs[inputs[i]])
    model.budget = pyo.Constraint(expr=sum(model.change[i] for i in range(784)) <= delta)
    y = [model.nn.outputs[k] for k in model.nn.outputs]
    model.goal = pyo.Objective(expr=y[target] - y[label], sense=pyo.maximize)
    solver = Highs()
    # HiGHS looks at the wall clock: it gets as long as its share of a core so far makes necessary.
    share = max(0.05, time.process_time() / (time.time() - STARTED))
    solver.config.time_limit = seconds / min(1.0, share)
    solver.config.load_solution = False
    solver.highs_options = {"threads": 1, "mip_rel_gap": 0.0, "mip_abs_gap": 1e-4, "output_flag": False}
    result = solver.solve(model)
    best = None
    if result.best_feasible_objective is not None:
        result.solution_loader.load_vars()
        x = np.array([pyo.value(model.nn.inputs[i]) for i in inputs])
        value = outputs(net, np.clip(x, 0, 1))
        best = value[target] - value[label]
    optimal = str(result.termination_condition).endswith("optimal")
    return best, result.best_objective_bound, optimal, time.process_time() - begin


def solve_rw_adv(program, index, delta, seconds):
    asked = [program, "--model", MODEL, "--images", f"{index},", "--delta", str(delta), "--branch", "--gap", "1e-4", "--threads", "1", "--json"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = subprocess.run(asked + ["--time-limit", str(20 * seconds)], capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    record = next(json.loads(line) for line in said.stdout.splitlines() if '"margin"' in line)
    return record["margin"], record["upper_bound"], record["optimal"], spent


def one_peer(peer, index, delta, seconds):
    """In a process of its own, so that nothing of one measurement is left for the next."""
    net = layers()
    image = images(index + 1)[index]
    order = np.argsort(-outputs(net, image))
    solve = {"gurobi-ml": solve_gurobi_ml, "omlt": solve_omlt}[peer]
    best, bound, optimal, spent = solve(net, image, int(order[0]), int(order[1]), delta, seconds)
    print(json.dumps([best, bound, bool(optimal), spent]))


def cell(result):
    if isinstance(result, str):
        return result
    best, _, optimal, spent = result
    return f"{spent:.1f}" if optimal else f"> {spent:.0f} (best {'none' if best is None else f'{best:.4f}'})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="RW_ADV")
    parser.add_argument("--images", type=int, default=20)
    parser.add_argument("--delta", type=float, default=5.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--out")
    parser.add_argument("--peer", nargs=2, metavar=("NAME", "IMAGE"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peer:
        return one_peer(args.peer[0], int(args.peer[1]), args.delta, args.seconds)
    rows, contradictions = [], 0
    for index in range(args.images):
        results = {"rw-adv": solve_rw_adv(args.program, index, args.delta, args.seconds)}
        for peer in PEERS:
            asked = [sys.executable, __file__, args.program, "--delta", str(args.delta), "--seconds", str(args.seconds), "--peer", peer, str(index)]
            said = subprocess.run(asked, capture_output=True, text=True, env=dict(os.environ, OMP_NUM_THREADS="1"))
            lines = said.stdout.splitlines()
            results[peer] = json.loads(lines[-1]) if said.returncode == 0 and lines else "failed: " + (said.stderr.strip().splitlines() or ["?"])[-1]
        proven = [r[0] for r in results.values() if not isinstance(r, str) and r[2]]
        contradictions += bool(proven) and max(proven) - min(proven) > AGREE
        rows.append(f"| {index} | {results['rw-adv'][0]:.6f} | " + " | ".join(cell(r) for r in results.values()) + " |")
        print(rows[-1], flush=True)
        if args.out:
            with open(args.out, "w") as file:
                file.write(page(rows, args, contradictions))
    return 1 if contradictions else 0


def page(rows, args, contradictions):
    head = "## Tools that build such models\n\n"
    head += f"The optimal adversary on `{MODEL}`, runner-up, L1 budget {args.delta:g}: CPU seconds to an optimum proven to 1e-4, or the time after which there was none. "
    head += "Gurobi ML 1.7.0 with Gurobi 13.0.3, OMLT 1.2.2 with HiGHS 1.15.1, `rw-adv --branch`; one thread each "
    head += f"(`scripts/measure_peers.py rw-adv --images {args.images} --delta {args.delta:g} --seconds {args.seconds:g} --out docs/paper/peers.md`). "
    head += f"{len(rows)} images, {contradictions} contradictions.\n\n| image | margin | rw-adv | Gurobi ML | OMLT |\n|---|---|---|---|---|\n"
    return head + "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.exit(main())
