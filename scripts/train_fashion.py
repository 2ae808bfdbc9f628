#!/usr/bin/env python3
"""Train a small convolutional ReLU classifier on Fashion-MNIST with numpy, and write it as plain ONNX.

    apt-get install dataset-fashion-mnist
    python3 -m venv venv && venv/bin/pip install -r scripts/requirements-train.txt
    venv/bin/python scripts/train_fashion.py --out models/fashion_cnn.onnx --samples data/fashion

Pixels are in [0,1], one channel of 28 x 28; the output is logits, with no softmax behind them. The graph is Conv, Relu, Conv, Relu,
Flatten, Gemm, Relu, Gemm. Both convolutions have stride 2, so that no pooling is needed.

`--samples DIR` also writes the first pictures of the test set with their labels, and the names of the classes.

Trap: sums depend on the number of BLAS threads and on which of its kernels OpenBLAS takes, so both are fixed below, before numpy is
imported. The model in models/ was made with the kernels for AVX-512. Those for AVX2, which OpenBLAS takes on other CPUs, round products
differently: the test accuracy is then 87.72 %, and the SHA-256 another one.
"""

import os
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"
CPU = Path("/proc/cpuinfo")
if CPU.exists() and "avx512vl" in CPU.read_text():
    os.environ["OPENBLAS_CORETYPE"] = "SkylakeX"

import argparse
import gzip
import hashlib
import sys

import numpy as np
import onnx
from numpy.lib.stride_tricks import sliding_window_view
from onnx import TensorProto, helper, numpy_helper

NAMES = ["T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle-boot"]
# Where Debian's package dataset-fashion-mnist puts it, and the md5 of its four files.
DEBIAN = Path("/usr/share/datasets/fashion-mnist")
MD5 = {
    "train-images-idx3-ubyte.gz": "cf8536b0aa1a6ac5fa3f23001093305c",
    "train-labels-idx1-ubyte.gz": "10bea18fdb374794d4bb42e356e600c9",
    "t10k-images-idx3-ubyte.gz": "f78720b4224f21cce2f2ccf2d7a94c9a",
    "t10k-labels-idx1-ubyte.gz": "0d30e22e447f3c33dab9ed536400ac01",
}
SIDE, KERNEL, STRIDE, PAD = 28, 4, 2, 1
BATCH = 100


def main():
    args = parse_args()
    train_images, train_labels, test_images, test_labels = (load(args.data / name, md5) for name, md5 in MD5.items())
    weights = train(pixels(train_images), train_labels, args)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(to_onnx(weights), args.out)
    if args.samples is not None:
        write_samples(args.samples, test_images, test_labels, args.count)

    # Read the file back: the figure belongs to what was written, not to what was trained.
    written = [numpy_helper.to_array(tensor) for tensor in onnx.load(args.out).graph.initializer]
    predicted = np.concatenate([forward(written, part)[-1].argmax(axis=1) for part in np.array_split(pixels(test_images), 20)])
    print(f"test accuracy  {100 * np.mean(predicted == test_labels):.2f} %")
    print(f"size           {args.out.stat().st_size} bytes")
    print(f"sha256         {hashlib.sha256(args.out.read_bytes()).hexdigest()}")


def parse_args():
    parser = argparse.ArgumentParser(description="Train a small CNN on Fashion-MNIST and write it as ONNX.")
    parser.add_argument("--channels", type=int, nargs=2, default=[4, 8], metavar="C", help="of the convolutions (default: 4 8)")
    parser.add_argument("--hidden", type=int, default=32, help="width of the dense hidden layer (default: 32)")
    parser.add_argument("--epochs", type=int, default=6, help="passes over the training set (default: 6)")
    parser.add_argument("--seed", type=int, default=1, help="seed of weights and shuffling (default: 1)")
    parser.add_argument("--data", type=Path, default=DEBIAN, metavar="DIR", help=f"the four files (default: {DEBIAN})")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the ONNX file to write")
    parser.add_argument("--samples", type=Path, metavar="DIR", help="also write pictures of the test set there")
    parser.add_argument("--count", type=int, default=200, help="how many (default: 200)")
    return parser.parse_args()


def load(path, md5):
    """The bytes of an IDX file: type and rank, each dimension as big-endian u32, then the values."""
    if not path.is_file():
        sys.exit(f"error: {path} is missing; type: apt-get install dataset-fashion-mnist")
    packed = path.read_bytes()
    if hashlib.md5(packed).hexdigest() != md5:
        sys.exit(f"error: {path}: not the file of Debian's package (md5 is not {md5})")
    raw = gzip.decompress(packed)
    shape = np.frombuffer(raw, dtype=">u4", count=raw[3], offset=4)
    return np.frombuffer(raw, dtype=np.uint8, offset=4 + 4 * raw[3]).reshape(shape)


def pixels(images):
    return images.reshape(-1, 1, SIDE, SIDE).astype(np.float32) / np.float32(255)


def windows(images):
    """One row for each place of the kernel: (images x rows x columns) x (channels x kernel x kernel)."""
    padded = np.pad(images, [(0, 0), (0, 0), (PAD, PAD), (PAD, PAD)])
    views = sliding_window_view(padded, (KERNEL, KERNEL), axis=(2, 3))[:, :, ::STRIDE, ::STRIDE]
    return views.transpose(0, 2, 3, 1, 4, 5).reshape(-1, images.shape[1] * KERNEL * KERNEL)


def convolve(rows, images, weight, bias):
    side = images.shape[2] // STRIDE
    return (rows @ weight.reshape(len(weight), -1).T + bias).reshape(len(images), side, side, -1).transpose(0, 3, 1, 2)


def forward(weights, images):
    """The values of all layers that the gradient needs; the logits last."""
    w1, b1, w2, b2, w3, b3, w4, b4 = weights
    rows1 = windows(images)
    h1 = np.maximum(convolve(rows1, images, w1, b1), 0)
    rows2 = windows(h1)
    h2 = np.maximum(convolve(rows2, h1, w2, b2), 0)
    flat = h2.reshape(len(images), -1)
    h3 = np.maximum(flat @ w3.T + b3, 0)
    return rows1, h1, rows2, h2, flat, h3, h3 @ w4.T + b4


def gradient(weights, images, labels):
    """Of the mean cross-entropy, for each of the weights."""
    w2, w3, w4 = weights[2], weights[4], weights[6]
    rows1, h1, rows2, h2, flat, h3, logits = forward(weights, images)
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    shares[np.arange(len(labels)), labels] -= 1
    d4 = shares / np.float32(len(labels))
    d3 = (d4 @ w4) * (h3 > 0)
    d2 = ((d3 @ w3).reshape(h2.shape) * (h2 > 0)).transpose(0, 2, 3, 1).reshape(-1, len(w2))
    d1 = (scatter(d2 @ w2.reshape(len(w2), -1), h1.shape) * (h1 > 0)).transpose(0, 2, 3, 1).reshape(-1, h1.shape[1])
    of = lambda d, values, weight: ((d.T @ values).reshape(weight.shape), d.sum(axis=0))
    return [
        *of(d1, rows1, weights[0]),
        *of(d2, rows2, w2),
        *of(d3, flat, w3),
        *of(d4, h3, w4),
    ]


def scatter(rows, shape):
    """The transposed of `windows`: what each pixel is part of, summed up."""
    count, channels, side, _ = shape
    places = side // STRIDE
    parts = rows.reshape(count, places, places, channels, KERNEL, KERNEL)
    padded = np.zeros((count, channels, side + 2 * PAD, side + 2 * PAD), dtype=rows.dtype)
    for i in range(KERNEL):
        for j in range(KERNEL):
            end = STRIDE * places
            padded[:, :, i : i + end : STRIDE, j : j + end : STRIDE] += parts[..., i, j].transpose(0, 3, 1, 2)
    return padded[:, :, PAD:-PAD, PAD:-PAD]


def train(images, labels, args):
    """Adam, with a step that falls to zero along half a cosine."""
    rng = np.random.default_rng(args.seed)
    first, second = args.channels
    flat = second * (SIDE // STRIDE // STRIDE) ** 2
    shapes = [(first, 1, KERNEL, KERNEL), (second, first, KERNEL, KERNEL), (args.hidden, flat), (len(NAMES), args.hidden)]
    weights = []
    for shape in shapes:
        scale = np.sqrt(2 / np.prod(shape[1:]))
        weights += [(rng.standard_normal(shape) * scale).astype(np.float32), np.zeros(shape[0], dtype=np.float32)]
    mean, square = ([np.zeros_like(weight) for weight in weights] for _ in range(2))
    steps, step = args.epochs * (len(images) // BATCH), 0
    for _ in range(args.epochs):
        for batch in rng.permutation(len(images)).reshape(-1, BATCH):
            step += 1
            rate = 2e-3 * 0.5 * (1 + np.cos(np.pi * step / steps))
            for place, change in enumerate(gradient(weights, images[batch], labels[batch])):
                mean[place] += 0.1 * (change - mean[place])
                square[place] += 0.001 * (change * change - square[place])
                direction = mean[place] / (1 - 0.9**step) / (np.sqrt(square[place] / (1 - 0.999**step)) + 1e-8)
                weights[place] -= (rate * direction).astype(np.float32)
    return weights


def to_onnx(weights):
    names = [f"{kind}{number}" for number in (1, 2, 3, 4) for kind in ("weight", "bias")]
    window = {"kernel_shape": [KERNEL, KERNEL], "strides": [STRIDE, STRIDE], "pads": [PAD, PAD, PAD, PAD]}
    nodes = [
        helper.make_node("Conv", ["image", "weight1", "bias1"], ["pre1"], name="conv1", **window),
        helper.make_node("Relu", ["pre1"], ["hidden1"], name="relu1"),
        helper.make_node("Conv", ["hidden1", "weight2", "bias2"], ["pre2"], name="conv2", **window),
        helper.make_node("Relu", ["pre2"], ["hidden2"], name="relu2"),
        helper.make_node("Flatten", ["hidden2"], ["flat"], name="flatten"),
        helper.make_node("Gemm", ["flat", "weight3", "bias3"], ["pre3"], name="dense3", transB=1),
        helper.make_node("Relu", ["pre3"], ["hidden3"], name="relu3"),
        helper.make_node("Gemm", ["hidden3", "weight4", "bias4"], ["logits"], name="dense4", transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "fashion_cnn",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 1, SIDE, SIDE])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", len(NAMES)])],
        [numpy_helper.from_array(np.ascontiguousarray(weight), name) for weight, name in zip(weights, names)],
    )
    model = helper.make_model(graph, producer_name="rw-adv", ir_version=8, opset_imports=[helper.make_opsetid("", 13)])
    onnx.checker.check_model(model, full_check=True)
    return model


def write_samples(directory, images, labels, count):
    """The first pictures and labels as gzipped IDX, and the names of the classes, one on each line."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, values in [("t10k-images-idx3-ubyte", images[:count]), ("t10k-labels-idx1-ubyte", labels[:count])]:
        header = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, dtype=">u4").tobytes()
        # Without name and time in the header, the same bytes come out each time.
        packed = gzip.compress(header + values.tobytes(), compresslevel=9, mtime=0)
        (directory / f"{name}.gz").write_bytes(packed)
    (directory / "classes.txt").write_text("\n".join(NAMES) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
