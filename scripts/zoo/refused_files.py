"""Refused: inputs, outputs and shapes, numbers and types, damaged files."""

import numpy as np
from onnx import TensorProto, numpy_helper

from .table import FLOAT, MLP, plain_mlp, refused


@refused("two inputs", "image", "extra")
def two_inputs(g):
    x, y = g.input("N", 8), g.input("N", 6, name="extra")
    x = g.op("Add", g.gemm(x, 8, 6), y)
    return g.done(g.mlp(g.relu(x), 6, 5, 3), "N", 3)


@refused("two outputs: two heads on one body", "logits", "value", "--output")
def two_heads(g):
    x = g.relu(g.gemm(g.input("N", 8), 8, 6))
    g.finish_output(g.gemm(x, 6, 3), ["N", 3], "logits")
    return g.done(g.gemm(x, 6, 1), "N", 1, name="value")


@refused("two outputs: the logits and a hidden layer", "logits", "features")
def hidden_output(g):
    x = g.relu(g.gemm(g.input("N", 8), 8, 6))
    g.finish_output(x, ["N", 6], "features")
    return g.done(g.gemm("features", 6, 3), "N", 3)


@refused("no input: everything is constant", "input")
def all_constant(g):
    x = g.const(g.bias(1, 8), "image")
    return g.done(g.mlp(x, *MLP), 1, 3)


@refused("output [N, 2, 3]: not one score per class", "logits")
def output_matrix(g):
    x = g.mlp(g.input("N", 8), 8, 5, 6)
    return g.done(g.op("Reshape", x, g.ints(0, 2, 3, name="shape")), "N", 2, 3)


@refused("Reshape moves pixels into the batch: two answers for one sample", "reshape")
def pixels_into_batch(g):
    x = g.op("Reshape", g.input("N", 8), g.ints(-1, 4, name="shape"), name="reshape1")
    return g.done(g.mlp(x, 4, 5, 3), "M", 3, name="reshape_logits")


@refused("MatMul mixes the samples of a batch of 4", "mixes", "batch")
def crossed_samples(g):
    x = g.op("MatMul", g.const(g.weight(4, 4), "mix.weight"), g.input(4, 8), name="mix")
    return g.done(g.mlp(x, *MLP), 4, 3)


@refused("Gemm: weights for 7 inputs, data of 6", "Gemm", "dense2", valid=False)
def wrong_weight_shape(g):
    x = g.relu(g.gemm(g.input("N", 8), 8, 6))
    return g.done(g.gemm(g.relu(g.gemm(x, 7, 5)), 5, 3), "N", 3)


@refused("Gemm: bias of 4 for 5 neurons", "Gemm", "dense2", valid=False)
def wrong_bias_length(g):
    x = g.relu(g.gemm(g.input("N", 8), 8, 6))
    weight, bias = g.const(g.weight(5, 6), "dense2.weight"), g.const(g.bias(4), "dense2.bias")
    x = g.relu(g.op("Gemm", x, weight, bias, name="dense2", transB=1))
    return g.done(g.gemm(x, 5, 3, name="dense3"), "N", 3)


@refused("Conv: weights for 2 channels, picture with 1", "Conv", "conv1", valid=False)
def wrong_channels(g):
    return g.done(g.head(g.conv(g.image(), 2, 2, [3, 3]), 32), "N", 3)


@refused("number of features left open", "image", "features")
def symbolic_width(g):
    return g.done(g.mlp(g.input("N", "features"), *MLP), "N", 3)


@refused("picture size left open", "image", "height")
def symbolic_picture(g):
    x = g.relu(g.conv(g.input("N", 1, "height", "width"), 1, 2, [3, 3]))
    x = g.op("GlobalAveragePool", x)
    return g.done(g.gemm(g.flatten(x), 2, 3), "N", 3)


@refused("input without a shape", "image", valid=False)
def no_input_shape(g):
    case = plain_mlp(g)
    case.model.graph.input[0].type.tensor_type.ClearField("shape")
    return case


@refused("a Conv with 62,005,248 weights: 73,728 neurons that see 29 x 29 pixels each", "Conv", "conv1")
def conv_too_large(g):
    x = g.relu(g.conv(g.input("N", 1, 96, 96), 1, 8, [29, 29], pads=[14, 14, 14, 14]))
    x = g.op("GlobalAveragePool", x)
    return g.done(g.gemm(g.flatten(x), 8, 3), "N", 3)


@refused("the second Conv is too large: 288 inputs, 8 channels of 131 x 131, 39,538,944 weights", "Conv", "conv2")
def second_conv_too_large(g):
    x = g.relu(g.conv(g.input("N", 1, 48, 48), 1, 8, [3, 3], strides=[8, 8]))
    x = g.relu(g.conv(x, 8, 8, [6, 6], pads=[65, 65, 65, 65]))
    x = g.op("GlobalAveragePool", x)
    return g.done(g.gemm(g.flatten(x), 8, 3), "N", 3)


def spoiled(g, tensor, value):
    """The plain network with one number of one tensor replaced."""
    case = plain_mlp(g)
    for initializer in case.model.graph.initializer:
        if initializer.name == tensor:
            array = numpy_helper.to_array(initializer).copy()
            array.flat[3] = value
            initializer.CopyFrom(numpy_helper.from_array(array, tensor))
    return case


@refused("a weight is not a number", "dense2", "NaN")
def nan_weight(g):
    return spoiled(g, "dense2.weight", np.nan)


@refused("a weight is infinite", "dense2", "inf")
def unbounded_weight(g):
    return spoiled(g, "dense2.weight", np.inf)


@refused("a bias is minus infinity", "dense1", "inf")
def unbounded_bias(g):
    return spoiled(g, "dense1.bias", -np.inf)


def batchnorm_with_variance(g, value, **attributes):
    x = g.batchnorm(g.gemm(g.input("N", 8), 8, 6), 6, name="norm1", **attributes)
    variance = numpy_helper.to_array(g.initializers[-1]).copy()
    variance[2] = value
    g.initializers[-1].CopyFrom(numpy_helper.from_array(variance, "norm1.variance"))
    return g.done(g.mlp(g.relu(x), 6, 5, 3), "N", 3)


@refused("BatchNormalization: a variance is not a number", "norm1")
def batchnorm_nan_variance(g):
    return batchnorm_with_variance(g, np.nan)


@refused("BatchNormalization: a variance is negative", "norm1")
def batchnorm_negative_variance(g):
    return batchnorm_with_variance(g, -1.0)


@refused("BatchNormalization: variance and epsilon are zero", "norm1")
def batchnorm_zero_variance(g):
    return batchnorm_with_variance(g, 0.0, epsilon=0.0)


@refused("division by a constant that contains zero", "scale1")
def divide_by_zero(g):
    x = g.op("Div", g.input("N", 8), g.const([1.0, 2, 1, 2, 0, 2, 1, 2], "scale1.divisor"), name="scale1")
    return g.done(g.mlp(x, *MLP), "N", 3)


def retyped(g, dtype, kind, case=None):
    """A network, the plain one by default, with all numbers of another type."""
    case = case or plain_mlp(g)
    for tensor in [t for t in case.model.graph.initializer if t.data_type == FLOAT]:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(dtype), tensor.name))
    for value in [*case.model.graph.input, *case.model.graph.output]:
        value.type.tensor_type.elem_type = kind
    return case


@refused("float16 input and weights", "float16")
def half_precision(g):
    return retyped(g, np.float16, TensorProto.FLOAT16)


@refused("pixels of type uint8, cast and scaled inside the network", "image", "uint8")
def byte_pixels(g):
    x = g.op("Cast", g.input("N", 8, kind=TensorProto.UINT8), to=FLOAT)
    return g.done(g.mlp(g.op("Div", x, g.const(255.0, "range")), *MLP), "N", 3)


def with_external_weight(g, location):
    """The plain network with its first weights moved to another file. Returns the case and the bytes moved."""
    case = plain_mlp(g)
    tensor = case.model.graph.initializer[0]
    raw = tensor.raw_data
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in [("location", location), ("offset", "0"), ("length", str(len(raw)))]:
        tensor.external_data.add(key=key, value=value)
    return case, raw


@refused("the file with the weights is not there", "external_missing.onnx.data", valid=False)
def external_missing(g):
    case, _ = with_external_weight(g, "external_missing.onnx.data")
    return case


@refused("the file with the weights is cut short", "external_truncated.onnx.data", valid=False)
def external_truncated(g):
    case, raw = with_external_weight(g, "external_truncated.onnx.data")
    case.beside["external_truncated.onnx.data"] = raw[: len(raw) // 2 + 1]
    return case


@refused("the weights lie outside the model's directory (in a file that exists)", "../expected.json", valid=False)
def external_outside(g):
    case, _ = with_external_weight(g, "../expected.json")
    return case


@refused("a node reads a tensor that nothing makes", "dense2", "ghost", valid=False)
def undefined_tensor(g):
    g.relu(g.gemm(g.input("N", 8), 8, 6))
    return g.done(g.gemm(g.relu(g.gemm("ghost", 6, 5)), 5, 3), "N", 3)


@refused("two nodes wait for each other", "loop_", valid=False)
def cycle(g):
    x = g.gemm(g.input("N", 8), 8, 6)
    g.op("Add", x, "loop_b.out", name="loop_a")
    g.op("Relu", "loop_a.out", name="loop_b")
    return g.done(g.mlp("loop_b.out", 6, 5, 3), "N", 3)


@refused("the declared output does not exist", "logits", valid=False)
def undefined_output(g):
    g.mlp(g.input("N", 8), *MLP)
    return g.done("nowhere", "N", 3)
