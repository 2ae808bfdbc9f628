"""Refused: operators that are neither affine nor ReLU, and affine ones used in a way that is not.

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


@refused("MaxPool", "MaxPool", "pool1")
def maxpool(g):
    x = g.relu(g.conv(g.image(), 1, 2, [3, 3], pads=[1, 1, 1, 1]))
    x = g.op("MaxPool", x, name="pool1", kernel_shape=[2, 2], strides=[2, 2])
    return g.done(g.gemm(g.flatten(x), 18, 3), "N", 3)


@refused("MaxPool in a node without a name: the error tells its output tensor", "MaxPool", "pooled")
def maxpool_unnamed(g):
    x = g.relu(g.conv(g.image(), 1, 2, [3, 3], pads=[1, 1, 1, 1]))
    x = g.op("MaxPool", x, name="", output="pooled", kernel_shape=[2, 2], strides=[2, 2])
    return g.done(g.gemm(g.flatten(x), 18, 3), "N", 3)


@refused("Sigmoid as activation", "Sigmoid", "act1")
def sigmoid(g):
    return instead_of_relu(g, "Sigmoid")


@refused("Sigmoid behind the logits", "Sigmoid", "squash")
def sigmoid_last(g):
    return g.done(g.op("Sigmoid", g.mlp(g.input("N", 8), *MLP), name="squash"), "N", 3)


@refused("two-class MLPClassifier: skl2onnx ends it in Sigmoid and one output", "Sigmoid")
def skl_binary(_):
    return skl_case(skl_classifier(binary=True), zipmap=False)


@refused("Tanh as activation", "Tanh", "act1")
def tanh(g):
    return instead_of_relu(g, "Tanh")


@refused("LeakyRelu as activation", "LeakyRelu", "act1")
def leaky_relu(g):
    return instead_of_relu(g, "LeakyRelu", alpha=0.1)


@refused("PRelu as activation", "PRelu", "act1")
def prelu(g):
    return instead_of_relu(g, "PRelu", g.const(g.rng.uniform(0.1, 0.4, 6), "act1.slope"))


@refused("Elu as activation", "Elu", "act1")
def elu(g):
    return instead_of_relu(g, "Elu")


@refused("Gelu as activation", "Gelu", "act1")
def gelu(g):
    g.opset = 20
    return instead_of_relu(g, "Gelu")


@refused("ReLU6: Clip with a maximum", "Clip", "act1")
def relu6(g):
    return instead_of_relu(g, "Clip", g.const(0.0, "act1.min"), g.const(6.0, "act1.max"))


@refused("ReLU6: Clip with a maximum, as attribute (opset 9)", "Clip", "act1")
def relu6_opset9(g):
    g.opset = 9
    return instead_of_relu(g, "Clip", min=0.0, max=6.0)


@refused("Clip with a minimum other than zero", "Clip", "act1")
def clip_at_tenth(g):
    return instead_of_relu(g, "Clip", g.const(0.1, "act1.min"))


@refused("Max with a constant other than zero", "Max", "act1")
def max_with_tenth(g):
    return instead_of_relu(g, "Max", g.const(0.1, "act1.floor"))


@refused("Max with a vector that is zero only in places", "Max", "act1")
def max_with_vector(g):
    return instead_of_relu(g, "Max", g.const([0.0, 0.0, 0.3, 0.0, -0.2, 0.0], "act1.floor"))


@refused("Max of two data-dependent tensors", "Max", "act1")
def max_of_two(g):
    x = g.input("N", 8)
    x = g.op("Max", g.gemm(x, 8, 6), g.gemm(x, 8, 6), name="act1")
    return g.done(g.mlp(x, 6, 5, 3), "N", 3)


@refused("GRU", "GRU", "gru1")
def gru(g):
    x = g.op("Unsqueeze", g.input("N", 8), g.ints(0, name="axes"))
    weights = [g.const(g.weight(1, 15, 8), "gru1.w"), g.const(g.weight(1, 15, 5), "gru1.r")]
    g.nodes.append(helper.make_node("GRU", [x, *weights], ["", "last"], name="gru1", hidden_size=5))
    x = g.op("Squeeze", "last", "axes")
    return g.done(g.mlp(x, 5, 4, 3), "N", 3)


@refused("residual block: skip connection over a ReLU", "Add", "skip")
def residual_block(g):
    x = g.relu(g.gemm(g.input("N", 8), 8, 6))
    x = g.op("Add", x, g.gemm(g.relu(g.gemm(x, 6, 6)), 6, 6), name="skip")
    return g.done(g.gemm(g.relu(x), 6, 3), "N", 3)


@refused("the input is added again behind a ReLU", "Add", "skip")
def residual_from_input(g):
    x = g.input("N", 8)
    x = g.op("Add", x, g.relu(g.gemm(x, 8, 8)), name="skip")
    return g.done(g.mlp(x, 8, 5, 3), "N", 3)


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
