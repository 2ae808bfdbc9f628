"""Accepted: shapes of networks, kinds of batch dimension, styles of other exporters, and every opset from 8 to 21."""

from .table import IMAGE, MLP, accepted


@accepted("two Gemms without a ReLU between them, twice", MLP)
def affine_chain(g):
    x = g.gemm(g.gemm(g.input("N", 8), 8, 7), 7, 6)
    x = g.gemm(g.op("Mul", g.gemm(g.relu(x), 6, 4), g.const(g.rng.uniform(0.5, 2, 4), "scale")), 4, 5)
    return g.done(g.gemm(g.relu(x), 5, 3), "N", 3)


@accepted("sum of two affine branches of one tensor", MLP)
def branches_add(g):
    x = g.relu(g.gemm(g.input("N", 8), 8, 6))
    x = g.op("Add", g.gemm(x, 6, 5), g.gemm(x, 6, 5))
    return g.done(g.gemm(g.relu(x), 5, 3), "N", 3)


@accepted("difference of two affine branches, one two nodes long", MLP)
def branches_sub(g):
    x = g.input("N", 8)
    x = g.op("Sub", g.gemm(x, 8, 6), g.gemm(g.gemm(x, 8, 4), 4, 6))
    return g.done(g.mlp(g.relu(x), 6, 5, 3), "N", 3)


@accepted("residual Add around a Gemm, no ReLU inside", [8, 6, 6, 3])
def residual_affine(g):
    x = g.relu(g.gemm(g.input("N", 8), 8, 6))
    x = g.op("Add", x, g.gemm(x, 6, 6))
    return g.done(g.gemm(g.relu(x), 6, 3), "N", 3)


@accepted("a tensor added to itself", MLP, optional=True)
def add_self(g):
    x = g.gemm(g.input("N", 8), 8, 6)
    return g.done(g.mlp(g.relu(g.op("Add", x, x)), 6, 5, 3), "N", 3)


@accepted("one output", [8, 6, 1])
def one_output(g):
    return g.done(g.mlp(g.input("N", 8), 8, 6, 1), "N", 1)


@accepted("one hidden layer", [8, 6, 3])
def one_hidden(g):
    return g.done(g.mlp(g.input("N", 8), 8, 6, 3), "N", 3)


@accepted("five hidden layers", [8, 7, 6, 7, 6, 5, 3])
def deep(g):
    return g.done(g.mlp(g.input("N", 8), 8, 7, 6, 7, 6, 5, 3), "N", 3)


@accepted("ReLU straight on the input: the first layer is the identity", [8, 8, 5, 3], optional=True)
def relu_first(g):
    x = g.relu(g.op("Sub", g.input("N", 8), g.const(0.5, "threshold")))
    return g.done(g.mlp(x, 8, 5, 3), "N", 3)


@accepted("ReLU as the last node: the output layer is the identity", [8, 6, 3, 3], optional=True)
def relu_last(g):
    return g.done(g.relu(g.mlp(g.input("N", 8), 8, 6, 3)), "N", 3)


@accepted("ReLU written as Max(x, 0) and Max(0, x)", MLP, optional=True)
def relu_as_max(g):
    zero = g.const(0.0, "zero")
    x = g.op("Max", g.gemm(g.input("N", 8), 8, 6), zero)
    x = g.op("Max", zero, g.gemm(x, 6, 5))
    return g.done(g.gemm(x, 5, 3), "N", 3)


@accepted("ReLU written as Clip with min = 0 and no max", MLP, optional=True)
def relu_as_clip(g):
    zero = g.const(0.0, "zero")
    x = g.op("Clip", g.gemm(g.input("N", 8), 8, 6), zero)
    x = g.op("Clip", g.gemm(x, 6, 5), zero, "")
    return g.done(g.gemm(x, 5, 3), "N", 3)


@accepted("ReLU written as Clip with min = 0 as attribute (opset 9)", MLP, optional=True)
def relu_as_clip_opset9(g):
    g.opset = 9
    x = g.op("Clip", g.gemm(g.input("N", 8), 8, 6), min=0.0)
    return g.done(g.mlp(x, 6, 5, 3), "N", 3)


@accepted("batch fixed at 1", MLP)
def batch_1(g):
    return g.done(g.mlp(g.input(1, 8), *MLP), 1, 3)


@accepted("batch fixed at 4", MLP)
def batch_4(g):
    return g.done(g.mlp(g.input(4, 8), *MLP), 4, 3)


@accepted("batch fixed at 4 on pictures, and written into a Reshape", [36, 6, 3], dims=IMAGE)
def batch_4_reshape(g):
    x = g.op("Reshape", g.input(4, 1, 6, 6), g.ints(4, 36, name="shape"))
    return g.done(g.mlp(x, 36, 6, 3), 4, 3)


@accepted("batch dimension with neither number nor name", MLP)
def batch_unset(g):
    return g.done(g.mlp(g.input(None, 8), *MLP), None, 3)


@accepted("no batch dimension: input [8]", MLP)
def batch_missing(g):
    return g.done(g.matmul_mlp(g.input(8)), 3)


@accepted("output with two unknown dimensions", MLP)
def output_shape_unknown(g):
    return g.done(g.mlp(g.input("N", 8), *MLP), None, None)


@accepted("Keras style: MatMul and Add with TensorFlow's names", [36, 6, 5, 3], [6, 6], "tf2onnx style")
def keras_style(g):
    g.opset, g.producer = 15, "tf2onnx"
    shape = g.ints(-1, 36, name="sequential/flatten/Const:0")
    x = g.op("Reshape", g.input("unk__9", 6, 6, name="flatten_input"), shape, name="sequential/flatten/Reshape")
    for layer, n_in, n_out in [("dense", 36, 6), ("dense_1", 6, 5), ("dense_2", 5, 3)]:
        scope = f"sequential/{layer}"
        weight = g.const(g.weight(n_out, n_in).T.copy(), f"{scope}/MatMul/ReadVariableOp:0")
        bias = g.const(g.bias(n_out), f"{scope}/BiasAdd/ReadVariableOp:0")
        x = g.op("MatMul", x, weight, name=f"{scope}/MatMul", output=f"{scope}/MatMul:0")
        x = g.op("Add", x, bias, name=f"{scope}/BiasAdd", output=f"{scope}/BiasAdd:0")
        if layer != "dense_2":
            x = g.op("Relu", x, name=f"{scope}/Relu", output=f"{scope}/Relu:0")
    return g.done(g.op("Softmax", x, name="sequential/dense_2/Softmax"), "unk__10", 3, name="dense_2")


@accepted("ACAS Xu style: input [1, 1, 1, 5], Sub, Flatten, MatMul, Add", [5, 6, 6, 5], dims=[1, 1, 5])
def acasxu_style(g):
    g.opset, g.ir_version = 8, 3
    x = g.op("Sub", g.input(1, 1, 1, 5), g.const(g.bias(1, 1, 1, 5), "input_AvgImg"), name="input_Sub")
    x = g.flatten(x)
    for n_in, n_out in [(5, 6), (6, 6)]:
        x = g.relu(g.matmul(x, n_in, n_out))
    return g.done(g.matmul(x, 6, 5), 1, 5)


def register_opsets():
    for opset in range(8, 22):

        @accepted(f"Flatten, Gemm, Relu in opset {opset}", MLP, name=f"opset_{opset:02}")
        def opset_mlp(g, opset=opset):
            g.opset = opset
            return g.done(g.mlp(g.flatten(g.input("N", 8)), *MLP), "N", 3)


register_opsets()
