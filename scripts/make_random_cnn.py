#!/usr/bin/env python3
"""Write a CIFAR-sized convolutional network with random weights, and random images for it: for docs/measurements.md, "Convolutions".

    python3 scripts/make_random_cnn.py DIR [--channels 16,32] [--strides 1,2] [--hidden 100] [--images 10] [--seed 0]

3x32x32 -> Conv 3x3 with padding 1 and Relu for each of --channels -> Flatten -> Gemm and Relu of --hidden -> Gemm of 10. Weights and biases are
drawn as PyTorch draws them, uniformly within 1 / sqrt(inputs of a neuron). DIR/cnn.onnx and DIR/images.npy are written. Needs numpy and onnx
(scripts/requirements-train.txt).
"""

import argparse
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIDE, COLOURS, CLASSES, KERNEL = 32, 3, 10, 3


def main():
    args = parse_args()
    rng = np.random.default_rng(args.seed)
    args.dir.mkdir(parents=True, exist_ok=True)
    onnx.save(network(args.channels, args.strides, args.hidden, rng), args.dir / "cnn.onnx")
    np.save(args.dir / "images.npy", rng.random((args.images, COLOURS, SIDE, SIDE), dtype=np.float32))


def network(channels, strides, hidden, rng):
    nodes, tensors = [], []

    def weights(name, shape):
        most = 1 / np.sqrt(np.prod(shape[1:]))
        for suffix, size in (("w", shape), ("b", shape[:1])):
            values = rng.uniform(-most, most, size).astype(np.float32)
            tensors.append(numpy_helper.from_array(values, name + suffix))
        return [name + "w", name + "b"]

    below, side, value = COLOURS, SIDE, "x"
    for k, (above, stride) in enumerate(zip(channels, strides, strict=True)):
        inputs = [value, *weights(f"conv{k}", (above, below, KERNEL, KERNEL))]
        nodes.append(helper.make_node("Conv", inputs, [f"g{k}"], pads=[1] * 4, strides=[stride] * 2))
        nodes.append(helper.make_node("Relu", [f"g{k}"], [f"h{k}"]))
        below, side, value = above, (side - 1) // stride + 1, f"h{k}"
    nodes.append(helper.make_node("Flatten", [value], ["flat"]))
    nodes.append(helper.make_node("Gemm", ["flat", *weights("fc", (hidden, below * side * side))], ["g"], transB=1))
    nodes.append(helper.make_node("Relu", ["g"], ["h"]))
    nodes.append(helper.make_node("Gemm", ["h", *weights("out", (CLASSES, hidden))], ["y"], transB=1))
    shaped = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "cnn", [shaped("x", [1, COLOURS, SIDE, SIDE])], [shaped("y", [1, CLASSES])], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def parse_args():
    numbers = lambda text: [int(number) for number in text.split(",")]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("--channels", type=numbers, default=[16, 32])
    parser.add_argument("--strides", type=numbers, default=[1, 2])
    parser.add_argument("--hidden", type=int, default=100)
    parser.add_argument("--images", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
