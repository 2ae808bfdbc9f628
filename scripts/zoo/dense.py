"""Accepted: Gemm and MatMul, constants applied element by element, BatchNormalization.

All of them are affine, so all of them fold into the nearest dense layer. The trap is which axis a constant belongs to.
"""

from .table import MLP, accepted, plain_mlp


@accepted("Gemm, transB = 1: one row of weights per neuron", MLP)
def gemm_transb1(g):
    return plain_mlp(g)


@accepted("Gemm, transB = 0: one column of weights per neuron", MLP)
def gemm_transb0(g):
    x = g.input("N", 8)
    for n_in, n_out in [(8, 6), (6, 5), (5, 3)]:
        name = g.fresh("dense")
        weight = g.const(g.weight(n_out, n_in).T.copy(), f"{name}.weight")
        x = g.op("Gemm", x, weight, g.const(g.bias(n_out), f"{name}.bias"), name=name)
        if n_out != 3:
            x = g.relu(x)
    return g.done(x, "N", 3)


@accepted("square weights, transB = 0 and 1 mixed: a forgotten transpose would go unseen by shape", [6, 6, 6, 6])
def gemm_square(g):
    x = g.input("N", 6)
    for number, transposed in enumerate([1, 0, 1], start=1):
        weight, bias = g.const(g.weight(6, 6), f"weight{number}"), g.const(g.bias(6), f"bias{number}")
        x = g.op("Gemm", x, weight, bias, name=f"dense{number}", transB=transposed)
        if number < 3:
            x = g.relu(x)
    return g.done(x, "N", 6)


@accepted("Gemm, transA = 1: the batch is turned into columns and back", MLP)
def gemm_transa(g):
    x = g.op("Transpose", g.input("N", 8), perm=[1, 0])
    weight, bias = g.const(g.weight(6, 8), "dense1.weight"), g.const(g.bias(6), "dense1.bias")
    g.count["dense"] = 1
    x = g.op("Gemm", x, weight, bias, name="dense1", transA=1, transB=1)
    return g.done(g.mlp(g.relu(x), 6, 5, 3), "N", 3)


@accepted("Gemm with the weights as A: samples are columns, the batch is the last axis", MLP, optional=True)
def gemm_weights_left(g):
    x = g.input("N", 8)
    first, bias = g.const(g.weight(6, 8), "dense1.weight"), g.const(g.bias(6, 1), "dense1.bias")
    x = g.relu(g.op("Gemm", first, x, bias, name="dense1", transB=1))
    second, bias = g.const(g.weight(5, 6).T.copy(), "dense2.weight"), g.const(g.bias(5, 1), "dense2.bias")
    x = g.op("Transpose", g.relu(g.op("Gemm", second, x, bias, name="dense2", transA=1)), perm=[1, 0])
    return g.done(g.gemm(x, 5, 3, name="dense3"), "N", 3)


@accepted("Gemm, alpha and beta other than 1", MLP)
def gemm_alpha_beta(g):
    x = g.input("N", 8)
    for number, (n_in, n_out, alpha, beta) in enumerate([(8, 6, 0.5, 2.0), (6, 5, 1.5, 1.0), (5, 3, 1.0, -0.25)], 1):
        weight, bias = g.const(g.weight(n_out, n_in), f"weight{number}"), g.const(g.bias(n_out), f"bias{number}")
        x = g.op("Gemm", x, weight, bias, name=f"dense{number}", transB=1, alpha=alpha, beta=beta)
        if number < 3:
            x = g.relu(x)
    return g.done(x, "N", 3)


@accepted("Gemm without C (opset 11 and later)", MLP)
def gemm_no_bias(g):
    x = g.op("Gemm", g.input("N", 8), g.const(g.weight(6, 8), "dense1.weight"), name="dense1", transB=1)
    x = g.gemm(g.relu(x), 6, 5, name="dense2")
    x = g.op("Gemm", g.relu(x), g.const(g.weight(3, 5), "dense3.weight"), name="dense3", transB=1)
    return g.done(x, "N", 3)


@accepted("Gemm with C of shapes [], [1] and [1, n]", MLP)
def gemm_bias_broadcast(g):
    x = g.input("N", 8)
    for number, (n_in, n_out, shape) in enumerate([(8, 6, ()), (6, 5, (1,)), (5, 3, (1, 3))], start=1):
        weight, bias = g.const(g.weight(n_out, n_in), f"weight{number}"), g.const(g.bias(*shape), f"bias{number}")
        x = g.op("Gemm", x, weight, bias, name=f"dense{number}", transB=1)
        if number < 3:
            x = g.relu(x)
    return g.done(x, "N", 3)


@accepted("MatMul, then Add", MLP)
def matmul_add(g):
    return g.done(g.matmul_mlp(g.input("N", 8)), "N", 3)


@accepted("Add with the bias as first operand; bias of shape [1, n]", MLP)
def matmul_bias_first(g):
    x = g.input("N", 8)
    for number, (n_in, n_out) in enumerate([(8, 6), (6, 5), (5, 3)], start=1):
        weight = g.const(g.weight(n_out, n_in).T.copy(), f"weight{number}")
        bias = g.const(g.bias(1, n_out), f"bias{number}")
        x = g.op("Add", bias, g.op("MatMul", x, weight))
        if number < 3:
            x = g.relu(x)
    return g.done(x, "N", 3)


@accepted("MatMul without any Add", MLP)
def matmul_no_bias(g):
    x = g.input("N", 8)
    for number, (n_in, n_out) in enumerate([(8, 6), (6, 5), (5, 3)], start=1):
        x = g.op("MatMul", x, g.const(g.weight(n_out, n_in).T.copy(), f"weight{number}"))
        if number < 3:
            x = g.relu(x)
    return g.done(x, "N", 3)


def column_mlp(g, x):
    for number, (n_in, n_out) in enumerate([(8, 6), (6, 5), (5, 3)], start=1):
        weight, bias = g.const(g.weight(n_out, n_in), f"weight{number}"), g.const(g.bias(n_out, 1), f"bias{number}")
        x = g.op("Add", g.op("MatMul", weight, x), bias)
        if number < 3:
            x = g.relu(x)
    return x


@accepted("weights left of the data: columns [N, 8, 1]", MLP, dims=[8, 1])
def matmul_columns(g):
    return g.done(g.flatten(column_mlp(g, g.input("N", 8, 1))), "N", 3)


@accepted("weights left of one column [8, 1], no batch axis", MLP, dims=[8, 1], optional=True)
def matmul_column_no_batch(g):
    return g.done(column_mlp(g, g.input(8, 1)), 3, 1)


@accepted("one weight matrix shared by two rows of [N, 2, 4]: block-diagonal", [8, 6, 3], dims=[2, 4], optional=True)
def matmul_shared_rows(g):
    x = g.relu(g.matmul(g.input("N", 2, 4), 4, 3))
    return g.done(g.gemm(g.flatten(x), 6, 3), "N", 3)


@accepted("input normalisation by scalars: Sub, Div", MLP)
def normalise_scalar(g):
    x = g.op("Sub", g.input("N", 8), g.const(0.1307, "mean"))
    x = g.op("Div", x, g.const([0.3081], "std"))
    return g.done(g.mlp(x, *MLP), "N", 3)


@accepted("input normalisation per pixel: Sub, Mul", MLP)
def normalise_per_pixel(g):
    x = g.op("Sub", g.input("N", 8), g.const(g.rng.uniform(0.2, 0.8, 8), "mean"))
    x = g.op("Mul", x, g.const(g.rng.uniform(1, 3, (1, 8)), "scale"))
    return g.done(g.mlp(x, *MLP), "N", 3)


@accepted("input normalisation per pixel: Div, Add, constant first", MLP)
def normalise_div_add(g):
    x = g.op("Div", g.input("N", 8), g.const(g.rng.uniform(0.3, 0.9, 8), "std"))
    x = g.op("Add", g.const(-g.rng.uniform(0.5, 1, 8), "shift"), x)
    x = g.op("Mul", g.const(1.25, "scale"), x)
    return g.done(g.mlp(x, *MLP), "N", 3)


@accepted("input normalisation per channel of NCHW", [32, 6, 3], dims=[2, 4, 4])
def normalise_per_channel(g):
    x = g.op("Sub", g.input("N", 2, 4, 4), g.const([[[[0.45]], [[0.6]]]], "mean"))
    x = g.op("Div", x, g.const([[[0.25]], [[0.3]]], "std"))
    return g.done(g.mlp(g.flatten(x), 32, 6, 3), "N", 3)


@accepted("inverted picture: 1 - x, and a vector minus x between layers", MLP)
def normalise_const_minus_x(g):
    x = g.op("Sub", g.const(1.0, "one"), g.input("N", 8))
    x = g.op("Sub", g.const(g.bias(6), "offset"), g.gemm(x, 8, 6))
    return g.done(g.mlp(g.relu(x), 6, 5, 3), "N", 3)


@accepted("pixels scaled to tens of thousands, big mean, big deviation", MLP)
def normalise_big(g):
    x = g.op("Mul", g.input("N", 8), g.const(60000.0, "range"))
    x = g.op("Sub", x, g.const(g.rng.uniform(1e4, 4e4, 8), "mean"))
    x = g.op("Div", x, g.const(g.rng.uniform(1e4, 3e4, 8), "std"))
    return g.done(g.mlp(x, *MLP), "N", 3)


@accepted("logits scaled and shifted back, as in networks trained on normalised outputs", MLP)
def denormalise_output(g):
    x = g.mlp(g.input("N", 8), *MLP)
    x = g.op("Mul", x, g.const(373.94992, "range"))
    return g.done(g.op("Add", x, g.const(7.5188840201005975, "mean")), "N", 3)


@accepted("a grey picture spread over three channels by broadcasting", [16, 6, 3], dims=[1, 4, 4], optional=True)
def normalise_broadcast_channels(g):
    x = g.op("Sub", g.input("N", 1, 4, 4), g.const([[[[0.485]], [[0.456]], [[0.406]]]], "mean"))
    x = g.op("Div", x, g.const([[[[0.229]], [[0.224]], [[0.225]]]], "std"))
    return g.done(g.mlp(g.flatten(x), 48, 6, 3), "N", 3)


@accepted("BatchNormalization between Gemm and Relu", MLP)
def batchnorm_after_gemm(g):
    x = g.relu(g.batchnorm(g.gemm(g.input("N", 8), 8, 6), 6))
    x = g.relu(g.batchnorm(g.gemm(x, 6, 5), 5, epsilon=0.1))
    return g.done(g.gemm(x, 5, 3), "N", 3)


@accepted("BatchNormalization between Relu and Gemm", MLP)
def batchnorm_before_gemm(g):
    x = g.batchnorm(g.relu(g.gemm(g.input("N", 8), 8, 6)), 6)
    x = g.batchnorm(g.relu(g.gemm(x, 6, 5)), 5)
    return g.done(g.gemm(x, 5, 3), "N", 3)


@accepted("BatchNormalization on the input and on the logits", MLP)
def batchnorm_input(g):
    x = g.mlp(g.batchnorm(g.input("N", 8), 8), *MLP)
    return g.done(g.batchnorm(x, 3), "N", 3)


@accepted("BatchNormalization on NCHW after Conv", [36, 72, 3], dims=[1, 6, 6])
def batchnorm_conv(g):
    x = g.batchnorm(g.conv(g.image(), 1, 2, [3, 3], pads=[1, 1, 1, 1]), 2)
    return g.done(g.head(x, 72), "N", 3)


@accepted("BatchNormalization of opset 8, IR version 3", MLP)
def batchnorm_opset8(g):
    g.opset = 8
    x = g.relu(g.batchnorm(g.gemm(g.input("N", 8), 8, 6), 6))
    return g.done(g.mlp(x, 6, 5, 3), "N", 3)


@accepted("BatchNormalization of opset 15 with training_mode = 0 spelled out", MLP)
def batchnorm_opset15(g):
    g.opset = 15
    x = g.relu(g.batchnorm(g.gemm(g.input("N", 8), 8, 6), 6, training_mode=0, momentum=0.5))
    return g.done(g.mlp(x, 6, 5, 3), "N", 3)
