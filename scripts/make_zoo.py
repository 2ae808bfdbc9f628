#!/usr/bin/env python3
"""Write the exporter zoo: small ONNX files that rw-adv must load, and files that it must refuse by name.

    python3 -m venv venv && venv/bin/pip install -r scripts/requirements-zoo.txt
    venv/bin/python scripts/make_zoo.py

`--add` writes only what is missing, and needs PyTorch only for its own files.

The files are described in scripts/zoo/, one small function each. Here they are written and checked.
`tests/zoo/expected.json` tells what each accepted file computes, according to onnxruntime; `tests/zoo/refused.json`
tells what is wrong with each refused file.

Trap: an accepted file proves nothing if its network is degenerate. So weights and biases are random and non-zero,
seeded by the file's name, and `check_accepted` wants neurons that are on and neurons that are off in every hidden
layer, and answers that differ. It also compares the promised layer widths with the ReLUs that onnxruntime sees.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import gzip
import importlib
import itertools
import json
import logging
import warnings
import zlib
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import helper
from onnx.reference import ReferenceEvaluator

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)

from zoo import conv, dense, layout, networks, piecewise, refused_files, refused_operators, scikit  # noqa: F401
from zoo.table import ACCEPTED, FLOAT, REFUSED, Graph

ZOO = Path(__file__).resolve().parent.parent / "tests" / "zoo"
LARGEST_FILE = 30_000
LARGEST_ZOO = 1_200_000
TAILS = {"Softmax", "LogSoftmax", "Sigmoid", "ArgMax"}
# Operators that the accepted files use as ReLU. Max and Clip do so only in files marked optional.
RELUS = {"Relu", "Max", "Clip"}


class Degenerate(Exception):
    """The random network is too dull to test anything."""


def main():
    parser = argparse.ArgumentParser(description="Write the exporter zoo.")
    parser.add_argument("--out", type=Path, default=ZOO, metavar="DIR", help="where to write (default: tests/zoo)")
    parser.add_argument("--add", action="store_true", help="keep the files that are there, write the others")
    args = parser.parse_args()
    out = args.out
    if not args.add:
        importlib.import_module("zoo.pytorch")
    kept = kept_rows(out, args.add)
    for folder in ["accepted", "refused"]:
        (out / folder).mkdir(parents=True, exist_ok=True)
        for old in (out / folder).glob("*.onnx*"):
            if old.name.removesuffix(".data") not in kept:
                old.unlink()

    expected = [write_accepted(name, case, out / "accepted") for name, case in ACCEPTED.items() if file_name(name, case) not in kept]
    expected += [row for row in kept.values() if "logits" in row]
    (out / "expected.json").write_text(as_json(sorted(expected, key=in_order)))
    # One refused file points at expected.json, so the refused ones come last.
    wrongs = [write_refused(name, case, out / "refused") for name, case in REFUSED.items() if f"{name}.onnx" not in kept]
    wrongs += [row for row in kept.values() if "wrong" in row]
    (out / "refused.json").write_text(as_json(sorted(wrongs, key=in_order)))

    written = [path for path in out.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in written)
    assert size < LARGEST_ZOO, size
    print(f"{len(expected)} accepted, {len(wrongs)} refused, {size} bytes in {len(written)} files")


def in_order(row):
    return row["file"].split(".")[0]


def file_name(name, entry):
    return f"{name}.onnx{'.gz' if entry.gz else ''}"


def kept_rows(out, add):
    """The rows of files that stay as they are, by file name. Files that nothing describes any more go, unless PyTorch wrote them."""
    if not add:
        return {}
    accepted = {file_name(name, entry) for name, entry in ACCEPTED.items()}
    refused = {f"{name}.onnx" for name in REFUSED}
    rows = json.loads((out / "expected.json").read_text())
    rows = [row for row in rows if row["file"] in accepted or row["exporter"].startswith("PyTorch")]
    rows += [row for row in json.loads((out / "refused.json").read_text()) if row["file"] in refused]
    return {row["file"]: row for row in rows}


def write_case(case, path):
    raw = case.model.SerializeToString(deterministic=True)
    if path.suffix == ".gz":
        raw = gzip.compress(raw, mtime=0)
    assert len(raw) < LARGEST_FILE, (path.name, len(raw))
    path.write_bytes(raw)
    for name, content in case.beside.items():
        (path.parent / name).write_bytes(content)


def write_accepted(name, entry, folder):
    path = folder / file_name(name, entry)
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    # Multiples of 1/256 are exact in float32 and short in JSON.
    inputs = rng.integers(0, 257, size=(3, int(np.prod(entry.dims)))) / 256
    for attempt in range(20):
        case = entry.build(Graph(name, attempt))
        write_case(case, path)
        try:
            logits = check_accepted(path, entry, inputs)
            break
        except Degenerate as dull:
            reason = dull
    else:
        raise Degenerate(f"{name}: {reason}")
    return {
        "file": path.name,
        "exporter": entry.exporter,
        "exercises": entry.exercises,
        "optional": entry.optional,
        "nodes": " ".join(node.op_type for node in case.model.graph.node),
        "input": entry.dims,
        **({} if entry.widths is None else {"widths": entry.widths}),
        **({} if entry.output is None else {"output": entry.output}),
        "inputs": inputs.tolist(),
        # str() of a float32 is the shortest text that reads back as the same float32.
        "logits": [[float(str(value)) for value in row] for row in logits],
    }


def check_accepted(path, entry, inputs):
    """The logits of `inputs` by onnxruntime, after making sure that the file is what it is said to be."""
    model = load_checked(path)
    oracle = Oracle(model, entry.dims, entry.output, entry.widths is not None)
    answers, layers = zip(*[oracle.run(row) for row in inputs])
    if entry.widths is not None:
        widths = [inputs.shape[1], *[layer.size for layer in layers[0]], answers[0].size]
        assert widths == entry.widths, f"{path.name}: widths are {widths}"
    assert np.isfinite(answers).all(), path.name

    if oracle.any_batch and not entry.optional:
        assert np.allclose(answers, oracle.run_together(inputs), rtol=1e-5, atol=1e-5), f"{path.name}: samples mix"

    second = reference_evaluator(model)
    if second is not None:
        try:
            others = [oracle.run(row, second)[0] for row in inputs]
        except (ValueError, RuntimeError, IndexError, TypeError) as error:
            print(f"no second opinion on {path.name}: {error}")
            others = answers
        agree = np.allclose(answers, others, rtol=1e-4, atol=1e-4)
        assert agree, f"{path.name}: onnxruntime {answers}, reference evaluator {others}"

    probes = np.random.default_rng(0).random((100, inputs.shape[1]))
    for number, layer in enumerate(zip(*[oracle.run(probe)[1] for probe in probes]), start=1):
        on = np.array(layer) > 0
        if on.all() or not on.any():
            raise Degenerate(f"hidden layer {number} is always on or always off")
    if entry.widths is None and not entry.affine:
        bend = [oracle.run((p + q) / 2)[0] - (oracle.run(p)[0] + oracle.run(q)[0]) / 2 for p, q in zip(probes, probes[1:])]
        if np.abs(bend).max() < 0.01:
            raise Degenerate("nothing in it bends")
    if min(np.ptp([one, other], axis=0).max() for one, other in itertools.combinations(answers, 2)) < 0.01:
        raise Degenerate("two inputs have the same logits")
    return [np.concatenate([[np.float32(0)], row]) for row in answers] if entry.zero_class else answers


def load_checked(path):
    """The model of a file, external weights included, after the ONNX checker and onnxruntime have accepted the file."""
    if path.suffix == ".gz":
        raw = gzip.decompress(path.read_bytes())
        model = onnx.load_from_string(raw)
        onnx.checker.check_model(model, full_check=True)
        session(raw)
        return model
    onnx.checker.check_model(path, full_check=True)
    session(str(path))
    return onnx.load(path)


class Oracle:
    """onnxruntime on the model cut off at the logits, with every ReLU shown. Changes the model it is given."""

    def __init__(self, model, dims, output=None, with_hidden=True):
        graph = model.graph
        self.dims = dims
        self.logits = next((node.input[0] for node in graph.node if node.op_type in TAILS), output or graph.output[0].name)
        needed = nodes_before(graph, self.logits)
        self.hidden = [node.output[0] for node in needed if node.op_type in RELUS] if with_hidden else []
        del graph.node[:], graph.output[:]
        graph.node.extend(needed)
        wanted = dict.fromkeys([self.logits, *self.hidden])
        (image, *_) = graph.input
        self.kind = np.float64 if image.type.tensor_type.elem_type == onnx.TensorProto.DOUBLE else np.float32
        kind = FLOAT if self.kind == np.float32 else onnx.TensorProto.DOUBLE
        graph.output.extend(helper.make_tensor_value_info(tensor, kind, None) for tensor in wanted)
        self.runtime = session(model.SerializeToString())

        weights = {tensor.name for tensor in graph.initializer}
        (image,) = [value for value in graph.input if value.name not in weights]
        declared = [dim.dim_value for dim in image.type.tensor_type.shape.dim]
        has_batch = len(declared) > len(dims)
        assert declared[has_batch:] == dims, (graph.name, declared)
        self.image = image.name
        self.batch = [declared[0] or 1] if has_batch else []
        self.any_batch = has_batch and declared[0] == 0

    def run(self, pixels, engine=None):
        """Logits and hidden layers of one sample, which is repeated when the file wants a larger batch."""
        sample = pixels.astype(self.kind).reshape(self.dims)
        fed = np.broadcast_to(sample, [*self.batch, *self.dims]).copy()
        tensors = [self.logits, *self.hidden]
        values = (engine or self.runtime).run(tensors, {self.image: fed})
        logits, *hidden = [value.reshape(*self.batch, -1) if self.batch else value for value in values]
        if self.batch:
            assert (logits == logits[0]).all(), "equal samples, different logits"
            logits, hidden = logits[0], [rows[0] for rows in hidden]
        return logits.ravel(), [layer.ravel() for layer in hidden]

    def run_together(self, samples):
        """Logits of several samples in one batch."""
        fed = samples.astype(self.kind).reshape(-1, *self.dims)
        (logits,) = self.runtime.run([self.logits], {self.image: fed})
        assert len(logits) == len(samples), "not one answer for each sample"
        return logits.reshape(len(samples), -1)


def nodes_before(graph, target):
    """The nodes that `target` depends on, in the order of the file."""
    needed, names = [], {target}
    for node in reversed(graph.node):
        if names & set(node.output):
            names |= set(node.input)
            needed.insert(0, node)
    return needed


def session(model):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def reference_evaluator(model):
    """ONNX's own evaluator as a second opinion, or None where it lacks an operator."""
    if any(node.op_type == "BatchNormalization" for node in model.graph.node) and model.opset_import[0].version < 14:
        # For these opsets it mixes the statistics of the batch into the result. In opset 15 it computes what is meant.
        model = onnx.ModelProto.FromString(model.SerializeToString())
        model.opset_import[0].version = 15
    try:
        return ReferenceEvaluator(model)
    except Exception as error:
        print(f"no second opinion on {model.graph.name}: {error}")
        return None


def write_refused(name, entry, folder):
    path = folder / f"{name}.onnx"
    # An error line names the file, so a word that the file's name contains would prove nothing.
    assert not any(word in path.name for word in entry.words), name
    write_case(entry.build(Graph(name)), path)
    fault = None
    try:
        onnx.checker.check_model(path, full_check=True)
        run_once(session(str(path)))
    except Exception as error:
        fault = error
    assert (fault is None) == entry.valid, f"{name}: valid is {entry.valid}, fault is {fault!r}"
    return {"file": path.name, "wrong": entry.wrong, "valid_onnx": entry.valid, "words": entry.words}


def run_once(runtime):
    """Run a session on halves; open dimensions become 1 (the batch) and 8."""
    kinds = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}
    feeds = {}
    for value in runtime.get_inputs():
        shape = [dim if isinstance(dim, int) else 8 if axis else 1 for axis, dim in enumerate(value.shape)]
        feeds[value.name] = np.full(shape, 0.5).astype(kinds.get(value.type, np.uint8))
    runtime.run(None, feeds)


def as_json(records):
    """One field per line, arrays of numbers on one line."""
    parts = []
    for record in records:
        lines = []
        for key, value in record.items():
            if isinstance(value, list) and value and isinstance(value[0], list):
                rows = ",\n".join(f"      {json.dumps(row)}" for row in value)
                lines.append(f"    {json.dumps(key)}: [\n{rows}\n    ]")
            else:
                lines.append(f"    {json.dumps(key)}: {json.dumps(value)}")
        parts.append("  {\n" + ",\n".join(lines) + "\n  }")
    return "[\n" + ",\n".join(parts) + "\n]\n"


if __name__ == "__main__":
    main()
