"""Accepted: layout, nodes that change nothing, ways to store constants, and tails that are removed.

The trap is Flatten behind Transpose: the values are the same, but the weights meet them in another order.
"""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from .table import FLOAT, IMAGE, MLP, accepted, plain_mlp


@accepted("Flatten, axis = 1, of data that is flat already", MLP)
def flatten_flat(g):
    return g.done(g.mlp(g.flatten(g.input("N", 8)), *MLP), "N", 3)


@accepted("Flatten of [N, 1, 6, 6], axis left to its default", [36, 6, 3], dims=IMAGE)
def flatten_image(g):
    return g.done(g.mlp(g.op("Flatten", g.image()), 36, 6, 3), "N", 3)


@accepted("Flatten with a negative axis", [36, 6, 3], dims=IMAGE)
def flatten_negative_axis(g):
    return g.done(g.mlp(g.op("Flatten", g.image(), axis=-3), 36, 6, 3), "N", 3)


@accepted("Reshape to [-1, 36]", [36, 6, 3], dims=IMAGE)
def reshape_batch_unknown(g):
    x = g.op("Reshape", g.image(), g.ints(-1, 36, name="shape"))
    return g.done(g.mlp(x, 36, 6, 3), "N", 3)


@accepted("Reshape to [0, -1]: first axis kept, rest flattened", [36, 6, 3], dims=IMAGE)
def reshape_zero_minus_one(g):
    x = g.op("Reshape", g.image(), g.ints(0, -1, name="shape"))
    return g.done(g.mlp(x, 36, 6, 3), "N", 3)


@accepted("Reshape to [1, 36], batch written into the shape", [36, 6, 3], dims=IMAGE)
def reshape_batch_one(g):
    x = g.op("Reshape", g.input(1, 1, 6, 6), g.ints(1, 36, name="shape"))
    return g.done(g.mlp(x, 36, 6, 3), 1, 3)


@accepted("Reshape by Shape, Gather, Unsqueeze, Concat", [36, 6, 3], dims=IMAGE)
def reshape_shape_gather_concat(g):
    g.opset = 11
    x = g.image()
    batch = g.op("Gather", g.op("Shape", x), g.const(np.array(0, dtype=np.int64), "first"), axis=0)
    shape = g.op("Concat", g.op("Unsqueeze", batch, axes=[0]), g.ints(-1, name="rest"), axis=0)
    return g.done(g.mlp(g.op("Reshape", x, shape), 36, 6, 3), "N", 3)


@accepted("Reshape by Shape, Slice, Concat", [36, 6, 3], dims=IMAGE)
def reshape_shape_slice_concat(g):
    x = g.image()
    batch = g.op("Slice", g.op("Shape", x), g.ints(0, name="start"), g.ints(1, name="end"), g.ints(0, name="axis"))
    shape = g.op("Concat", batch, g.ints(36, name="rest"), axis=0)
    return g.done(g.mlp(g.op("Reshape", x, shape), 36, 6, 3), "N", 3)


@accepted("hidden layer reshaped to [N, 2, 3], through Relu, and back", MLP)
def reshape_hidden(g):
    x = g.op("Reshape", g.gemm(g.input("N", 8), 8, 6), g.ints(0, 2, 3, name="fold"))
    x = g.op("Reshape", g.relu(x), g.ints(-1, 6, name="unfold"))
    return g.done(g.mlp(x, 6, 5, 3), "N", 3)


@accepted("Squeeze, axes as attribute (opset 12)", MLP, dims=[1, 8])
def squeeze_attribute(g):
    g.opset = 12
    return g.done(g.mlp(g.op("Squeeze", g.input("N", 1, 8), axes=[1]), *MLP), "N", 3)


@accepted("Squeeze, axes as input (opset 13)", MLP, dims=[8, 1])
def squeeze_input(g):
    x = g.op("Squeeze", g.input("N", 8, 1), g.ints(-1, name="axes"))
    return g.done(g.mlp(x, *MLP), "N", 3)


@accepted("Squeeze without axes: the batch of one goes too", MLP, dims=[1, 8], optional=True)
def squeeze_everything(g):
    return g.done(g.matmul_mlp(g.op("Squeeze", g.input(1, 1, 8))), 3)


@accepted("Unsqueeze, axes as attribute (opset 11)", MLP)
def unsqueeze_attribute(g):
    g.opset = 11
    x = g.op("Unsqueeze", g.input("N", 8), axes=[1, 3])
    return g.done(g.mlp(g.flatten(x), *MLP), "N", 3)


@accepted("Unsqueeze, axes as input (opset 13), to feed a Conv of one dimension", [8, 12, 3])
def unsqueeze_input(g):
    x = g.op("Unsqueeze", g.input("N", 8), g.ints(1, name="axes"))
    return g.done(g.head(g.conv(x, 1, 2, [3]), 12), "N", 3)


@accepted("Transpose NHWC to NCHW before Conv, and back before Reshape (TensorFlow style)", [72, 48, 3], dims=[6, 6, 2])
def transpose_nhwc(g):
    x = g.op("Transpose", g.input("N", 6, 6, 2), perm=[0, 3, 1, 2])
    x = g.op("Transpose", g.relu(g.conv(x, 2, 3, [3, 3])), perm=[0, 2, 3, 1])
    x = g.op("Reshape", x, g.ints(-1, 48, name="shape"))
    return g.done(g.gemm(x, 48, 3), "N", 3)


@accepted("Transpose of [N, h, w] with h other than w: pixels change places", [12, 6, 3], dims=[3, 4])
def transpose_pixels(g):
    x = g.op("Transpose", g.input("N", 3, 4), perm=[0, 2, 1])
    return g.done(g.mlp(g.flatten(x), 12, 6, 3), "N", 3)


@accepted("Transpose of a hidden layer folded to [N, 2, 3]", MLP)
def transpose_hidden(g):
    x = g.op("Reshape", g.relu(g.gemm(g.input("N", 8), 8, 6)), g.ints(0, 2, 3, name="fold"))
    x = g.flatten(g.op("Transpose", x, perm=[0, 2, 1]))
    return g.done(g.mlp(x, 6, 5, 3), "N", 3)


@accepted("weights behind a Transpose node", MLP)
def transpose_weight(g):
    x = g.input("N", 8)
    weight = g.op("Transpose", g.const(g.weight(6, 8), "weight1"), perm=[1, 0])
    x = g.op("Add", g.op("MatMul", x, weight), g.const(g.bias(6), "bias1"))
    return g.done(g.mlp(g.relu(x), 6, 5, 3), "N", 3)


@accepted("picture [6, 6] without a batch axis", [36, 6, 3], dims=[6, 6], optional=True)
def image_no_batch(g):
    x = g.op("Flatten", g.input(6, 6), axis=0)
    return g.done(g.mlp(x, 36, 6, 3), 1, 3)


@accepted("Identity on input, hidden layer, weights and output", MLP)
def identity(g):
    x = g.op("Identity", g.input("N", 8))
    weight = g.op("Identity", g.const(g.weight(6, 8), "weight1"))
    x = g.relu(g.op("Gemm", x, weight, g.const(g.bias(6), "bias1"), transB=1))
    return g.done(g.op("Identity", g.mlp(g.op("Identity", x), 6, 5, 3)), "N", 3)


@accepted("Dropout, ratio as attribute (opset 8)", MLP)
def dropout_opset8(g):
    g.opset = 8
    x = g.op("Dropout", g.relu(g.gemm(g.input("N", 8), 8, 6)), ratio=0.4)
    return g.done(g.mlp(x, 6, 5, 3), "N", 3)


@accepted("Dropout, ratio as attribute (opset 11), mask written and not used", MLP)
def dropout_opset11(g):
    g.opset = 11
    x = g.relu(g.gemm(g.input("N", 8), 8, 6))
    g.nodes.append(helper.make_node("Dropout", [x], ["dropped", "mask"], name="dropout1", ratio=0.4))
    return g.done(g.mlp("dropped", 6, 5, 3), "N", 3)


@accepted("Dropout, ratio as input (opset 12)", MLP)
def dropout_opset12(g):
    g.opset = 12
    x = g.op("Dropout", g.relu(g.gemm(g.input("N", 8), 8, 6)), g.const(0.4, "ratio"), seed=1)
    return g.done(g.mlp(x, 6, 5, 3), "N", 3)


@accepted("Dropout, ratio and training_mode = false as inputs (opset 13)", MLP)
def dropout_opset13(g):
    x = g.relu(g.gemm(g.input("N", 8), 8, 6))
    x = g.op("Dropout", x, g.const(0.4, "ratio"), g.const(np.array(False), "training"))
    return g.done(g.mlp(x, 6, 5, 3), "N", 3)


@accepted("Cast float to float", MLP)
def cast_float(g):
    x = g.op("Cast", g.input("N", 8), to=FLOAT)
    return g.done(g.op("Cast", g.mlp(x, *MLP), to=FLOAT), "N", 3)


@accepted("weights in Constant nodes", MLP)
def constant_nodes(g):
    case = g.done(g.mlp(g.op("Sub", g.input("N", 8), g.const(0.5, "mean")), *MLP), "N", 3)
    graph = case.model.graph
    constants = [
        helper.make_node("Constant", [], [tensor.name], name=f"const.{tensor.name}", value=tensor)
        for tensor in graph.initializer
    ]
    nodes = constants + list(graph.node)
    del graph.initializer[:], graph.node[:]
    graph.node.extend(nodes)
    return case


@accepted("Constant nodes with value_float and value_floats (opset 12 and later)", MLP)
def constant_value_floats(g):
    mean = g.op("Constant", value_float=0.25)
    std = g.op("Constant", value_floats=[0.5] * 4 + [0.75] * 4)
    x = g.op("Div", g.op("Sub", g.input("N", 8), mean), std)
    return g.done(g.mlp(x, *MLP), "N", 3)


@accepted("weights stored as float16 behind Cast nodes", MLP, optional=True)
def weights_float16(g):
    x = g.input("N", 8)
    weight = g.op("Cast", g.const(g.weight(6, 8).astype(np.float16), "weight1"), to=FLOAT)
    x = g.op("Gemm", x, weight, g.const(g.bias(6), "bias1"), transB=1)
    return g.done(g.mlp(g.relu(x), 6, 5, 3), "N", 3)


@accepted("weights in float_data instead of raw_data", MLP)
def weights_float_data(g):
    case = plain_mlp(g)
    for tensor in case.model.graph.initializer:
        values = numpy_helper.to_array(tensor).ravel().tolist()
        tensor.CopyFrom(helper.make_tensor(tensor.name, FLOAT, list(tensor.dims), values))
    return case


@accepted("initializers listed as graph inputs too (IR version 3)", MLP)
def initializers_as_inputs(g):
    g.opset, g.ir_version = 9, 3
    return plain_mlp(g)


@accepted("initializers listed before the picture among the graph inputs", MLP)
def initializers_as_inputs_first(g):
    g.opset, g.ir_version = 9, 3
    case = plain_mlp(g)
    inputs = list(case.model.graph.input)[::-1]
    del case.model.graph.input[:]
    case.model.graph.input.extend(inputs)
    return case


@accepted("nodes without names", MLP)
def unnamed_nodes(g):
    case = plain_mlp(g)
    for node in case.model.graph.node:
        node.name = ""
    return case


@accepted("a MaxPool that leads nowhere: dead nodes do not matter", [36, 6, 3], optional=True, dims=IMAGE)
def dead_node(g):
    x = g.image()
    g.op("MaxPool", x, kernel_shape=[2, 2], name="unused")
    return g.done(g.mlp(g.flatten(x), 36, 6, 3), "N", 3)


@accepted("a gzipped file", MLP, gz=True)
def gzipped(g):
    return plain_mlp(g)


@accepted("final Softmax of opset 8, axis left to its default", MLP)
def softmax_opset8(g):
    g.opset = 8
    return g.done(g.op("Softmax", g.mlp(g.input("N", 8), *MLP)), "N", 3, name="probabilities")


@accepted("final Softmax of opset 13, axis = -1", MLP)
def softmax_opset13(g):
    return g.done(g.op("Softmax", g.mlp(g.input("N", 8), *MLP), axis=-1), "N", 3, name="probabilities")


@accepted("final LogSoftmax", MLP)
def logsoftmax(g):
    return g.done(g.op("LogSoftmax", g.mlp(g.input("N", 8), *MLP), axis=1), "N", 3, name="log_probabilities")


@accepted("final ArgMax", MLP)
def argmax(g):
    x = g.op("ArgMax", g.mlp(g.input("N", 8), *MLP), axis=1, keepdims=0)
    return g.done(x, "N", name="label", kind=TensorProto.INT64)


@accepted("final ArgMax with keepdims = 1, axis = -1", MLP)
def argmax_keepdims(g):
    x = g.op("ArgMax", g.mlp(g.input("N", 8), *MLP), axis=-1, keepdims=1)
    return g.done(x, "N", 1, name="label", kind=TensorProto.INT64)


@accepted("final Softmax, then ArgMax", MLP)
def softmax_argmax(g):
    x = g.op("Softmax", g.mlp(g.input("N", 8), *MLP), axis=1)
    x = g.op("ArgMax", x, axis=1, keepdims=0)
    return g.done(x, "N", name="label", kind=TensorProto.INT64)
