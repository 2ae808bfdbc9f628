"""Refused: operators that are not piecewise linear, and others used in a way that is not.

Each file is a sound classifier but for one node, so that only this node can be the reason.
"""

import numpy as np
from onnx import TensorProto, helper

from .scikit import skl_case, skl_classifier
from .table import FLOAT, MLP, refused


def instead_of_relu(g, kind, *more, name="act1", **attributes):
    """An 8-6-5-3 network in which one activation is not ReLU."""
    x = g.op(kind, g.gemm(g.input("N", 8), 8, 6), *more, name=name, **attributes)
    return g.done(g.mlp(x, 6, 5, 3), "N", 3)


@refused("MaxPool that also tells where the largest elements are", "MaxPool", "pool1")
def maxpool_places(g):
    x = g.relu(g.conv(g.image(), 1, 2, [3, 3], pads=[1, 1, 1, 1]))
    g.nodes.append(helper.make_node("MaxPool", [x], ["pooled", "places"], name="pool1", kernel_shape=[2, 2], strides=[2, 2]))
    x = g.op("Add", "pooled", g.op("Cast", "places", to=FLOAT))
    return g.done(g.gemm(g.flatten(x), 18, 3), "N", 3)


@refused("linear Resize", "Resize", "up1")
def resize_linear(g):
    x = g.relu(g.conv(g.image(), 1, 2, [3, 3], pads=[1, 1, 1, 1]))
    x = g.op("Resize", x, "", g.const([1.0, 1.0, 2.0, 2.0], "scales"), name="up1", mode="linear")
    return g.done(g.gemm(g.flatten(x), 288, 3), "N", 3)


@refused("Upsample by a half", "Upsample", "up1")
def upsampled_by_half(g):
    g.opset = 9
    x = g.relu(g.conv(g.image(), 1, 2, [3, 3], pads=[1, 1, 1, 1]))
    x = g.op("Upsample", x, g.const([1.0, 1.0, 1.5, 1.5], "scales"), name="up1", mode="nearest")
    return g.done(g.gemm(g.flatten(x), 162, 3), "N", 3)


@refused("Where with a condition that depends on the data", "Greater", "compare")
def where_data(g):
    x = g.gemm(g.input("N", 8), 8, 6)
    condition = g.op("Greater", x, g.const(0.1, "threshold"), name="compare")
    return g.done(g.mlp(g.op("Where", condition, x, g.gemm(x, 6, 6)), 6, 5, 3), "N", 3)


@refused("the largest four of six", "TopK", "best")
def largest_four(g):
    x = g.gemm(g.input("N", 8), 8, 6)
    g.nodes.append(helper.make_node("TopK", [x, g.ints(4, name="k")], ["values", "places"], name="best"))
    return g.done(g.mlp("values", 4, 5, 3), "N", 3)


@refused("Elu in a node without a name: the error tells its output tensor", "Elu", "squashed")
def unnamed_node(g):
    x = g.op("Elu", g.gemm(g.input("N", 8), 8, 6), name="", output="squashed")
    return g.done(g.mlp(x, 6, 5, 3), "N", 3)


@refused("Sigmoid as activation", "Sigmoid", "act1")
def sigmoid(g):
    return instead_of_relu(g, "Sigmoid")


@refused("Tanh as activation", "Tanh", "act1")
def tanh(g):
    return instead_of_relu(g, "Tanh")


@refused("Elu as activation", "Elu", "act1")
def elu(g):
    return instead_of_relu(g, "Elu")


@refused("Gelu as activation", "Gelu", "act1")
def gelu(g):
    g.opset = 20
    return instead_of_relu(g, "Gelu")


@refused("GRU", "GRU", "gru1")
def gru(g):
    x = g.op("Unsqueeze", g.input("N", 8), g.ints(0, name="axes"))
    weights = [g.const(g.weight(1, 15, 8), "gru1.w"), g.const(g.weight(1, 15, 5), "gru1.r")]
    g.nodes.append(helper.make_node("GRU", [x, *weights], ["", "last"], name="gru1", hidden_size=5))
    x = g.op("Squeeze", "last", "axes")
    return g.done(g.mlp(x, 5, 4, 3), "N", 3)


@refused("product of two data-dependent tensors", "Mul", "product")
def multiplied_branches(g):
    x = g.input("N", 8)
    x = g.op("Mul", g.gemm(x, 8, 6), g.gemm(x, 8, 6), name="product")
    return g.done(g.mlp(g.relu(x), 6, 5, 3), "N", 3)


@refused("a tensor times itself", "Mul", "square")
def product_with_itself(g):
    x = g.gemm(g.input("N", 8), 8, 6)
    return g.done(g.mlp(g.relu(g.op("Mul", x, x, name="square")), 6, 5, 3), "N", 3)


@refused("matrix product of two data-dependent tensors", "MatMul", "attend")
def matmul_of_branches(g):
    x = g.input("N", 2, 4)
    x = g.op("MatMul", x, g.op("Transpose", x, perm=[0, 2, 1]), name="attend")
    return g.done(g.mlp(g.flatten(x), 4, 5, 3), "N", 3)


@refused("a constant divided by data", "Div", "reciprocal")
def divide_by_data(g):
    x = g.op("Add", g.input("N", 8), g.const(1.0, "one"))
    return g.done(g.mlp(g.op("Div", "one", x, name="reciprocal"), *MLP), "N", 3)


@refused("Softmax between layers", "Softmax", "gate")
def softmax_in_the_middle(g):
    return instead_of_relu(g, "Softmax", name="gate", axis=1)


@refused("final Softmax over the batch instead of the classes", "Softmax", "tail")
def softmax_over_batch(g):
    return g.done(g.op("Softmax", g.mlp(g.input("N", 8), *MLP), name="tail", axis=0), "N", 3)


@refused("MLPClassifier, zipmap='columns': one output per class", "Softmax")
def skl_mlp_columns(_):
    return skl_case(skl_classifier(), zipmap="columns")


@refused("classes in reverse order behind the Softmax", "Slice", "turn")
def tail_then_backwards(g):
    x = g.op("Softmax", g.mlp(g.input("N", 8), *MLP), name="tail", axis=-1)
    ends = [g.ints(v, name=n) for v, n in [(-1, "from"), (-9, "to"), (1, "axis"), (-1, "step")]]
    return g.done(g.op("Slice", x, *ends, name="turn"), "N", 3)


@refused("only two of three classes behind the Softmax", "Slice", "pick")
def tail_then_fewer(g):
    x = g.op("Softmax", g.mlp(g.input("N", 8), *MLP), name="tail", axis=-1)
    ends = [g.ints(v, name=n) for v, n in [(0, "from"), (2, "to"), (1, "axis")]]
    return g.done(g.op("Slice", x, *ends, name="pick"), "N", 2)


@refused("probabilities cut to whole numbers", "Cast", "floor")
def tail_then_integers(g):
    x = g.op("Softmax", g.mlp(g.input("N", 8), *MLP), name="tail", axis=-1)
    return g.done(g.op("Cast", x, name="floor", to=TensorProto.INT64), "N", 3, kind=TensorProto.INT64)


@refused("ArgMax over pairs of classes", "Reshape", "pairs")
def tail_then_rows(g):
    x = g.op("Softmax", g.mlp(g.input("N", 8), 8, 5, 4), name="tail", axis=-1)
    x = g.op("Reshape", x, g.ints(-1, 2, 2, name="shape"), name="pairs")
    x = g.op("ArgMax", x, name="winner", axis=2, keepdims=0)
    return g.done(x, "N", 2, name="label", kind=TensorProto.INT64)


@refused("final ArgMax over the batch instead of the classes", "ArgMax", "tail")
def argmax_over_batch(g):
    x = g.op("ArgMax", g.mlp(g.input("N", 8), *MLP), name="tail", axis=0, keepdims=0)
    return g.done(x, 3, name="label", kind=TensorProto.INT64)


@refused("Cast to float16 and back rounds", "Cast", "round1")
def cast_through_float16(g):
    x = g.op("Cast", g.relu(g.gemm(g.input("N", 8), 8, 6)), name="round1.down", to=TensorProto.FLOAT16)
    x = g.op("Cast", x, name="round1.up", to=FLOAT)
    return g.done(g.mlp(x, 6, 5, 3), "N", 3)


@refused("Cast to an integer and back cuts off", "Cast", "round1")
def cast_through_int(g):
    x = g.op("Cast", g.relu(g.gemm(g.input("N", 8), 8, 6)), name="round1.down", to=TensorProto.INT32)
    x = g.op("Cast", x, name="round1.up", to=FLOAT)
    return g.done(g.mlp(x, 6, 5, 3), "N", 3)


@refused("Dropout with training_mode = true", "Dropout", "drop1")
def dropout_training(g):
    x = g.relu(g.gemm(g.input("N", 8), 8, 6))
    x = g.op("Dropout", x, g.const(0.4, "ratio"), g.const(np.array(True), "training"), name="drop1")
    return g.done(g.mlp(x, 6, 5, 3), "N", 3)


@refused("BatchNormalization with training_mode = 1", "BatchNormalization", "norm1")
def batchnorm_training(g):
    g.opset = 15
    x = g.gemm(g.input("N", 8), 8, 6)
    g.batchnorm(x, 6, name="norm1", training_mode=1)
    g.nodes[-1].output.extend(["norm1.running_mean", "norm1.running_variance"])
    return g.done(g.mlp(g.relu("norm1.out"), 6, 5, 3), "N", 3)


@refused("int8 quantisation of a hidden layer", "QuantizeLinear", "quant1")
def quantised(g):
    x = g.relu(g.gemm(g.input("N", 8), 8, 6))
    scale, zero = g.const(0.02, "quant1.scale"), g.const(np.array(0, dtype=np.int8), "quant1.zero")
    x = g.op("QuantizeLinear", x, scale, zero, name="quant1")
    x = g.op("DequantizeLinear", x, scale, zero, name="dequant1")
    return g.done(g.mlp(x, 6, 5, 3), "N", 3)


@refused("control flow: the picture's mean decides between two networks", "if_")
def control_flow(g):
    x = g.input(1, 1, 6, 6)
    condition = g.op("GlobalAveragePool", x)
    condition = g.op("Cast", condition, name="if_condition", to=TensorProto.BOOL)
    x = g.flatten(x)
    branches = {}
    for branch in ["then_branch", "else_branch"]:
        weight = g.const(g.weight(36, 6), f"{branch}.weight")
        node = helper.make_node("MatMul", [x, weight], [branch], name=f"{branch}.matmul")
        out = helper.make_tensor_value_info(branch, FLOAT, [1, 6])
        branches[branch] = helper.make_graph([node], branch, [], [out])
    x = g.op("If", condition, name="if_bright", **branches)
    return g.done(g.mlp(g.relu(x), 6, 5, 3), 1, 3)


@refused("operator of an unknown domain", "Frobnicate", "frob1", valid=False)
def custom_operator(g):
    g.domains["com.example"] = 1
    x = g.op("Frobnicate", g.gemm(g.input("N", 8), 8, 6), name="frob1", domain="com.example")
    return g.done(g.mlp(x, 6, 5, 3), "N", 3)


@refused("operator that the standard domain does not have", "Frobnicate", "frob1", valid=False)
def unknown_operator(g):
    x = g.op("Frobnicate", g.gemm(g.input("N", 8), 8, 6), name="frob1")
    return g.done(g.mlp(x, 6, 5, 3), "N", 3)
