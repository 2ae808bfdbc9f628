"""Accepted: piecewise-linear operators beside ReLU, values carried past a ReLU, and operators that only move elements.

What layers these become is rw-adv's own business, so their widths are not in the table.
"""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from .refused_files import retyped
from .scikit import SKL, skl_case, skl_classifier
from .table import FLOAT, IMAGE, accepted

FLAT, PICTURE = [8], IMAGE


def lowered(exercises, dims=FLAT, **options):
    return accepted(exercises, None, dims=dims, **options)


def activation(g, kind, *more, **attributes):
    """An 8-6-5-3 network with this activation in both layers."""
    x = g.op(kind, g.gemm(g.input("N", 8), 8, 6), *more, **attributes)
    return g.done(g.gemm(g.op(kind, g.gemm(x, 6, 5), *more, **attributes), 5, 3), "N", 3)


def on_features(g, make):
    """Two channels of 6 x 6 features, then what `make` does with them, then three classes. `make` tells the size of its result."""
    x, size = make(g.relu(g.conv(g.image(), 1, 2, [3, 3], pads=[1, 1, 1, 1])))
    return g.done(g.gemm(g.flatten(x), size, 3), "N", 3)


def table(kind, cases, build, dims=FLAT):
    """One file for each case; `build(g, options)` writes it."""
    for name, (exercises, options) in cases.items():
        lowered(f"{kind}: {exercises}", dims=dims, name=f"{kind.lower()}_{name}")(
            lambda g, options=options: build(g, options)
        )


# Activations

table("LeakyRelu", {
    "tenth": ("alpha 0.1", dict(alpha=0.1)),
    "default": ("alpha by default", dict()),
    "negative": ("a negative alpha", dict(alpha=-0.5)),
    "steep": ("alpha above 1", dict(alpha=1.5)),
}, lambda g, options: activation(g, "LeakyRelu", **options))


def prelu(g, shape):
    x = g.gemm(g.input("N", 8), 8, 6)
    x = g.op("PRelu", x, g.const(g.rng.uniform(-0.3, 0.6, shape), "slope"))
    return g.done(g.mlp(x, 6, 5, 3), "N", 3)


table("PRelu", {
    "vector": ("a slope for each neuron", (6,)),
    "one": ("one slope", (1,)),
    "row": ("slopes with a batch axis", (1, 6)),
}, prelu)


@lowered("PRelu: a slope for each channel", PICTURE)
def prelu_channels(g):
    x = g.conv(g.image(), 1, 2, [3, 3])
    x = g.op("PRelu", x, g.const(g.rng.uniform(0.1, 0.4, (2, 1, 1)), "slope"))
    return g.done(g.gemm(g.flatten(x), 32, 3), "N", 3)


def clip(g, limits):
    names = ["" if v is None else g.const(v, n) for v, n in zip(limits, ["least", "most"])]
    while names and not names[-1]:
        names.pop()
    return activation(g, "Clip", *names)


table("Clip", {
    "relu6": ("ReLU6, with a smaller maximum", (0.0, 0.6)),
    "hardtanh": ("from -1 to 1", (-1.0, 1.0)),
    "least": ("only a minimum other than zero", (0.1,)),
    "most": ("only a maximum", (None, 0.2)),
    "positive": ("both limits above zero", (0.2, 0.7)),
}, clip)


@lowered("Clip: limits as attributes (opset 9)")
def clip_opset9(g):
    g.opset = 9
    return activation(g, "Clip", min=0.0, max=0.5)


table("HardSigmoid", {
    "default": ("alpha and beta by default", dict()),
    "steep": ("another alpha and beta", dict(alpha=0.9, beta=0.4)),
    "falling": ("a negative alpha", dict(alpha=-0.7, beta=0.5)),
}, lambda g, options: activation(g, "HardSigmoid", **options))


@lowered("Abs: as activation")
def abs_twice(g):
    return activation(g, "Abs")


@lowered("Abs: of the input")
def abs_of_input(g):
    x = g.op("Abs", g.op("Sub", g.input("N", 8), g.const(g.rng.uniform(0.2, 0.8, 8), "centre")))
    return g.done(g.mlp(x, 8, 5, 3), "N", 3)


@lowered("Abs: of features", PICTURE)
def abs_features(g):
    x = g.op("Abs", g.conv(g.image(), 1, 2, [3, 3]))
    return g.done(g.gemm(g.flatten(x), 32, 3), "N", 3)


# Max and Min

def extreme(g, options):
    kind, tensors, constant = options
    x = g.input("N", 8)
    parts = [g.gemm(x, 8, 6) for _ in range(tensors)]
    if constant is not None:
        parts.insert(1, g.const(constant, "limit"))
    return g.done(g.mlp(g.op(kind, *parts), 6, 5, 3), "N", 3)


for kind in ["Max", "Min"]:
    table(kind, {
        "two": ("two tensors", (kind, 2, None)),
        "three": ("three tensors", (kind, 3, None)),
        "five": ("five tensors", (kind, 5, None)),
        "tenth": ("a tensor and a constant", (kind, 1, 0.1)),
        "vector": ("a tensor and a vector", (kind, 1, [0.0, 0.0, 0.3, 0.0, -0.2, 0.0])),
        "mixed": ("two tensors and a constant", (kind, 2, -0.1)),
    }, extreme)


@lowered("Max: of a tensor and its ReLU's sum, broadcast")
def max_broadcast(g):
    x = g.gemm(g.input("N", 8), 8, 6)
    mean = g.op("ReduceMean", g.relu(x), axes=[1], keepdims=1)
    return g.done(g.mlp(g.op("Max", x, mean), 6, 5, 3), "N", 3)


# Pooling

def pooled(g, options):
    size, attributes = options
    return on_features(g, lambda x: (g.op("MaxPool", x, **attributes), size))


table("MaxPool", {
    "halves": ("2 x 2, stride 2", (18, dict(kernel_shape=[2, 2], strides=[2, 2]))),
    "padded": ("3 x 3, stride 2, padding", (18, dict(kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]))),
    "overlap": ("2 x 2, stride 1", (50, dict(kernel_shape=[2, 2]))),
    "ceil": ("ceil_mode", (8, dict(kernel_shape=[3, 3], strides=[4, 4], ceil_mode=1))),
    "dilated": ("dilations", (32, dict(kernel_shape=[2, 2], dilations=[2, 2]))),
    "same": ("auto_pad", (18, dict(kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER"))),
    "oblong": ("1 x 3", (24, dict(kernel_shape=[1, 3], strides=[1, 3]))),
}, pooled, PICTURE)


@lowered("MaxPool: of the input, then again", PICTURE)
def maxpool_twice(g):
    x = g.op("MaxPool", g.image(), kernel_shape=[2, 2])
    x = g.op("MaxPool", g.relu(g.conv(x, 1, 2, [2, 2])), kernel_shape=[2, 2], strides=[2, 2])
    return g.done(g.gemm(g.flatten(x), 8, 3), "N", 3)


@lowered("MaxPool: along one axis", [1, 12])
def maxpool_1d(g):
    x = g.relu(g.conv(g.input("N", 1, 12), 1, 3, [3], pads=[1, 1]))
    return g.done(g.gemm(g.flatten(g.op("MaxPool", x, kernel_shape=[3], strides=[3])), 12, 3), "N", 3)


@lowered("GlobalMaxPool", PICTURE)
def maxpool_global(g):
    return on_features(g, lambda x: (g.op("GlobalMaxPool", x), 2))


def reduced(g, options):
    kind, size, attributes = options
    return on_features(g, lambda x: (g.op(kind, x, **attributes), size))


for kind in ["ReduceMax", "ReduceMin"]:
    table(kind, {
        "channels": ("over channels", (kind, 36, dict(axes=[1]))),
        "space": ("over space, axes dropped", (kind, 2, dict(axes=[2, 3], keepdims=0))),
        "rows": ("over the last axis", (kind, 12, dict(axes=[-1]))),
    }, reduced, PICTURE)


@lowered("ReduceMax: axes as input (opset 18)", PICTURE)
def reducemax_opset18(g):
    g.opset = 18
    return on_features(g, lambda x: (g.op("ReduceMax", x, g.ints(2, name="axes")), 12))


# Values carried past a ReLU

@lowered("residual block")
def residual_block(g):
    x = g.relu(g.gemm(g.input("N", 8), 8, 6))
    x = g.op("Add", x, g.gemm(g.relu(g.gemm(x, 6, 6)), 6, 6))
    return g.done(g.gemm(g.relu(x), 6, 3), "N", 3)


@lowered("the input is added again behind a ReLU")
def residual_from_input(g):
    x = g.input("N", 8)
    x = g.op("Add", x, g.relu(g.gemm(x, 8, 8)))
    return g.done(g.mlp(x, 8, 5, 3), "N", 3)


@lowered("two residual blocks with normalisation before the ReLU")
def residual_preactivation(g):
    x = g.gemm(g.input("N", 8), 8, 6)
    for _ in range(2):
        inner = g.gemm(g.relu(g.batchnorm(x, 6)), 6, 6)
        x = g.op("Add", x, g.gemm(g.relu(inner), 6, 6))
    return g.done(g.gemm(g.relu(x), 6, 3), "N", 3)


@lowered("residual network of convolutions, the second block with a projection", PICTURE)
def residual_conv(g):
    x = g.relu(g.conv(g.image(), 1, 2, [3, 3], pads=[1, 1, 1, 1]))
    inner = g.conv(g.relu(g.conv(x, 2, 2, [3, 3], pads=[1, 1, 1, 1])), 2, 2, [3, 3], pads=[1, 1, 1, 1])
    x = g.relu(g.op("Add", inner, x))
    inner = g.conv(g.relu(g.conv(x, 2, 3, [3, 3], pads=[1, 1, 1, 1], strides=[2, 2])), 3, 3, [3, 3], pads=[1, 1, 1, 1])
    x = g.relu(g.op("Add", inner, g.conv(x, 2, 3, [1, 1], strides=[2, 2])))
    return g.done(g.gemm(g.flatten(g.op("GlobalAveragePool", x)), 3, 3), "N", 3)


@lowered("residual block of leaky units")
def residual_leaky(g):
    x = g.op("LeakyRelu", g.gemm(g.input("N", 8), 8, 6), alpha=0.2)
    x = g.op("Add", x, g.gemm(g.op("LeakyRelu", g.gemm(x, 6, 6), alpha=0.2), 6, 6))
    return g.done(g.gemm(g.op("LeakyRelu", x, alpha=0.2), 6, 3), "N", 3)


@lowered("every layer sees all layers before it")
def dense_connections(g):
    x, width = g.input("N", 8), 8
    for grow in [4, 3, 4]:
        x = g.op("Concat", x, g.relu(g.gemm(x, width, grow)), axis=1)
        width += grow
    return g.done(g.gemm(x, width, 3), "N", 3)


@lowered("U-shape: down by a stride, up by ConvTranspose, beside the features it came from", PICTURE)
def u_shape(g):
    fine = g.relu(g.conv(g.image(), 1, 2, [3, 3], pads=[1, 1, 1, 1]))
    coarse = g.relu(g.conv(fine, 2, 3, [2, 2], strides=[2, 2]))
    x = g.op("Concat", fine, up(g, coarse, 3, 2, [2, 2], strides=[2, 2]), axis=1)
    x = g.relu(g.conv(x, 4, 1, [3, 3], pads=[1, 1, 1, 1]))
    return g.done(g.gemm(g.flatten(x), 36, 3), "N", 3)


@lowered("branches of different depth meet")
def branches_of_depths(g):
    x = g.input("N", 8)
    short, long = g.relu(g.gemm(x, 8, 5)), g.mlp(x, 8, 6, 4, 5)
    return g.done(g.gemm(g.relu(g.op("Sub", long, short)), 5, 3), "N", 3)


# Elements that move

def features_through(kind, cases):
    def build(g, options):
        size, make = options
        return on_features(g, lambda x: (make(g, x), size))

    table(kind, cases, build, PICTURE)


def sliced(*ends):
    return lambda g, x: g.op("Slice", x, *[g.ints(*v, name=n) for v, n in zip(ends, ["from", "to", "axes", "steps"])])


features_through("Slice", {
    "crop": ("the middle of the picture", (32, sliced([1, 1], [5, 5], [2, 3]))),
    "steps": ("every second column", (36, sliced([0], [6], [3], [2]))),
    "back": ("turned around", (72, sliced([-1], [-9], [2], [-1]))),
})


@lowered("Slice: attributes (opset 9)")
def slice_opset9(g):
    g.opset = 9
    x = g.relu(g.gemm(g.input("N", 8), 8, 6))
    return g.done(g.gemm(g.op("Slice", x, starts=[2], ends=[6], axes=[1]), 4, 3), "N", 3)


def split(g, options):
    opset, sizes, used = options
    g.opset = opset
    x = g.relu(g.gemm(g.input("N", 8), 8, 6))
    names = [f"part{i}" for i in range(len(sizes))]
    given = [x] if opset < 13 else [x, g.ints(*sizes, name="sizes")]
    attributes = dict(split=sizes) if opset < 13 else {}
    g.nodes.append(helper.make_node("Split", given, names, name="split", axis=1, **attributes))
    parts = [g.relu(g.gemm(names[i], sizes[i], 4)) for i in used]
    x = parts[0] if len(parts) == 1 else g.op("Sum", *parts)
    return g.done(g.gemm(x, 4, 3), "N", 3)


table("Split", {
    "two": ("into uneven parts", (13, [2, 4], [0, 1])),
    "three": ("into three", (13, [1, 3, 2], [2, 0, 1])),
    "unused": ("one part is not used", (13, [2, 4], [1])),
    "opset11": ("sizes as attribute (opset 11)", (11, [3, 3], [1, 0])),
}, split)

features_through("Gather", {
    "columns": ("columns, some twice", (48, lambda g, x: g.op("Gather", x, g.ints(0, 5, 5, 2, name="which"), axis=3))),
    "row": ("one row, its axis dropped", (12, lambda g, x: g.op("Gather", x, g.const(np.int64(3), "which"), axis=2))),
    "negative": ("counted from the end", (24, lambda g, x: g.op("Gather", x, g.ints(-1, -3, name="which"), axis=2))),
})


@lowered("Concat: data and constants")
def concat_constant(g):
    x = g.op("Concat", g.gemm(g.input(1, 8), 8, 4), g.const(g.bias(1, 3), "ones"), axis=1)
    return g.done(g.mlp(g.relu(x), 7, 5, 3), 1, 3)


@lowered("Concat: three branches, one of them the input", PICTURE)
def concat_three(g):
    x = g.image()
    near, far = (g.relu(g.conv(x, 1, 1, [k, k], pads=[k // 2] * 4)) for k in (1, 3))
    return g.done(g.gemm(g.flatten(g.relu(g.conv(g.op("Concat", x, near, far, axis=1), 3, 1, [1, 1]))), 36, 3), "N", 3)


def padded(mode, *pads, value=None):
    def make(g, x):
        more = [] if value is None else [g.const(np.float32(value), "value")]
        return g.op("Pad", x, g.ints(0, 0, *pads[:2], 0, 0, *pads[2:], name="pads"), *more, mode=mode)

    return make


features_through("Pad", {
    "zeros": ("zeros", (128, padded("constant", 1, 1, 1, 1))),
    "value": ("a number", (112, padded("constant", 0, 1, 1, 1, value=0.5))),
    "reflect": ("reflected", (128, padded("reflect", 1, 1, 1, 1))),
    "edge": ("the edge repeated", (112, padded("edge", 2, 0, 0, 1))),
})


def up(g, x, c_in, c_out, kernel, group=1, **attributes):
    name = g.fresh("up")
    weight = g.const(g.weight(c_in, c_out // group, *kernel), f"{name}.weight")
    return g.op("ConvTranspose", x, weight, g.const(g.bias(c_out), f"{name}.bias"), name=name, group=group, **attributes)


features_through("ConvTranspose", {
    "plain": ("stride 1", (128, lambda g, x: up(g, x, 2, 2, [3, 3]))),
    "stride": ("stride 2, padding, output padding",
               (288, lambda g, x: up(g, x, 2, 2, [3, 3], strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1]))),
    "groups": ("groups", (256, lambda g, x: up(g, x, 2, 4, [3, 3], group=2))),
    "dilated": ("dilations, oblong kernel", (180, lambda g, x: up(g, x, 2, 2, [3, 2], dilations=[2, 3]))),
})


@lowered("Upsample: scales as input (opset 9)", PICTURE)
def upsample_opset9(g):
    g.opset = 9
    return on_features(g, lambda x: (g.op("Upsample", x, g.const([1.0, 1.0, 2.0, 2.0], "scales"), mode="nearest"), 288))


@lowered("Upsample: scales as attribute (opset 8)", PICTURE)
def upsample_opset8(g):
    g.opset = 8
    return on_features(g, lambda x: (g.op("Upsample", x, mode="nearest", scales=[1.0, 1.0, 1.0, 3.0]), 216))


@lowered("Upsample: then a convolution", PICTURE)
def upsample_conv(g):
    g.opset = 9
    x = g.relu(g.conv(g.image(), 1, 2, [2, 2], strides=[2, 2]))
    x = g.op("Upsample", x, g.const([1.0, 1.0, 2.0, 2.0], "scales"), mode="nearest")
    return g.done(g.gemm(g.flatten(g.relu(g.conv(x, 2, 1, [3, 3]))), 16, 3), "N", 3)


def resized(opset, scales=None, sizes=None, **attributes):
    def make(g, x):
        g.opset = opset
        more = [g.const(scales, "scales")] if opset == 10 else ["", g.const(scales, "scales")] if scales else ["", ""]
        if sizes:
            more.append(g.ints(*sizes, name="sizes"))
        return g.op("Resize", x, *more, mode="nearest", **attributes)

    return make


features_through("Resize", {
    "floor": ("twice as large, asymmetric, floor",
              (288, resized(13, [1.0, 1.0, 2.0, 2.0], coordinate_transformation_mode="asymmetric", nearest_mode="floor"))),
    "default": ("half pixels, by default", (162, resized(13, [1.0, 1.0, 1.5, 1.5]))),
    "opset10": ("opset 10", (288, resized(10, [1.0, 1.0, 2.0, 2.0]))),
    "opset18": ("opset 18, smaller", (18, resized(18, [1.0, 1.0, 0.5, 0.5]))),
})


@lowered("Resize: to a size, batch included", PICTURE)
def resize_sizes(g):
    x = g.relu(g.conv(g.input(1, 1, 6, 6), 1, 2, [3, 3], pads=[1, 1, 1, 1]))
    return g.done(g.gemm(g.flatten(resized(13, sizes=[1, 2, 5, 7])(g, x)), 70, 3), 1, 3)


# Sums and signs

@lowered("Neg: before and behind a ReLU")
def neg_twice(g):
    x = g.op("Neg", g.relu(g.op("Neg", g.gemm(g.input("N", 8), 8, 6))))
    return g.done(g.mlp(x, 6, 5, 3), "N", 3)


@lowered("Neg: ReLU of both signs")
def neg_both(g):
    x = g.gemm(g.input("N", 8), 8, 6)
    x = g.op("Concat", g.relu(x), g.relu(g.op("Neg", x)), axis=1)
    return g.done(g.gemm(x, 12, 3), "N", 3)


@lowered("Neg: of the input and of the logits")
def neg_ends(g):
    return g.done(g.op("Neg", g.mlp(g.op("Neg", g.input("N", 8)), 8, 6, 5, 3)), "N", 3)


def combined(g, options):
    kind, depths, constant = options
    x = g.input("N", 8)
    parts = [g.mlp(x, 8, *[5] * depth, 6) if depth else g.gemm(x, 8, 6) for depth in depths]
    if constant:
        parts.append(g.const(g.bias(6), "shift"))
    return g.done(g.gemm(g.relu(g.op(kind, *parts)), 6, 3), "N", 3)


for kind in ["Sum", "Mean"]:
    table(kind, {
        "two": ("two branches", (kind, [0, 1], False)),
        "three": ("three branches of different depth", (kind, [0, 1, 2], False)),
        "constant": ("two branches and a constant", (kind, [1, 0], True)),
    }, combined)


def chosen(g, options):
    first, second = options
    x = g.input("N", 8)
    makes = {"relu": lambda: g.relu(g.gemm(x, 8, 6)), "affine": lambda: g.gemm(x, 8, 6),
             "constant": lambda: g.const(g.bias(6), "other")}
    condition = g.const(np.array([True, False, True, True, False, False]), "condition")
    return g.done(g.mlp(g.op("Where", condition, makes[first](), makes[second]()), 6, 5, 3), "N", 3)


table("Where", {
    "branches": ("between two branches", ("relu", "affine")),
    "constant": ("data or a constant", ("relu", "constant")),
    "masked": ("a constant or data", ("constant", "affine")),
}, chosen)


# Ends

@lowered("Sigmoid behind the logits")
def sigmoid_last(g):
    return g.done(g.op("Sigmoid", g.mlp(g.input("N", 8), 8, 6, 5, 3)), "N", 3)


@lowered("Sigmoid behind one logit: two classes", zero_class=True)
def sigmoid_one(g):
    return g.done(g.op("Sigmoid", g.mlp(g.input("N", 8), 8, 6, 5, 1)), "N", 1)


@lowered("Sigmoid, then ArgMax")
def sigmoid_argmax(g):
    x = g.op("Sigmoid", g.mlp(g.input("N", 8), 8, 6, 5, 3))
    return g.done(g.op("ArgMax", x, axis=1, keepdims=0), "N", name="label", kind=TensorProto.INT64)


@lowered("two-class MLPClassifier", exporter=SKL, zero_class=True)
def skl_binary(_):
    return skl_case(skl_classifier(binary=True), zipmap=False)


@lowered("two-class MLPClassifier, default: label and ZipMap", exporter=SKL, zero_class=True)
def skl_binary_zipmap(_):
    return skl_case(skl_classifier(binary=True))


@lowered("no ReLU: two Gemms", affine=True)
def linear_two(g):
    return g.done(g.gemm(g.gemm(g.input("N", 8), 8, 6), 6, 3), "N", 3)


@lowered("no ReLU: a convolution and a pool", PICTURE, affine=True)
def linear_conv(g):
    x = g.op("AveragePool", g.conv(g.image(), 1, 2, [3, 3]), kernel_shape=[2, 2], strides=[2, 2])
    return g.done(g.gemm(g.flatten(x), 8, 3), "N", 3)


@lowered("no ReLU: scaled inputs", affine=True)
def linear_scaled(g):
    x = g.op("Mul", g.input("N", 8), g.const(g.rng.uniform(0.5, 2, 8), "scale"))
    return g.done(g.op("Softmax", x, axis=-1), "N", 8)


# Precision

def doubled(g, case):
    """The same file with all numbers in float64."""
    return retyped(g, np.float64, TensorProto.DOUBLE, case)


@lowered("float64")
def double_mlp(g):
    return doubled(g, g.done(g.mlp(g.input("N", 8), 8, 6, 5, 3), "N", 3))


@lowered("float64: a residual block and Max")
def double_residual(g):
    x = g.relu(g.gemm(g.input("N", 8), 8, 6))
    x = g.op("Max", g.op("Add", x, g.gemm(g.relu(g.gemm(x, 6, 6)), 6, 6)), g.gemm(x, 6, 6))
    return doubled(g, g.done(g.gemm(x, 6, 3), "N", 3))


@lowered("float64: both signs, side by side")
def double_concat(g):
    x = g.gemm(g.input("N", 8), 8, 6)
    x = g.op("Concat", g.relu(x), g.relu(g.op("Neg", x)), axis=1)
    return doubled(g, g.done(g.mlp(x, 12, 5, 3), "N", 3))


@lowered("float32 numbers, computed in float64 and cast back")
def double_inside(g):
    x = g.op("Cast", g.input("N", 8), to=TensorProto.DOUBLE)
    weight = [g.weight(6, 8).T, g.weight(3, 6).T]
    for i, w in enumerate(weight):
        g.initializers.append(numpy_helper.from_array(w.copy(), f"w{i}"))
    x = g.op("MatMul", g.relu(g.op("MatMul", x, "w0")), "w1")
    return g.done(g.op("Cast", x, to=FLOAT), "N", 3)


# Several outputs: one is chosen

@lowered("two heads: the second", output="value")
def heads_value(g):
    return two_heads(g)


@lowered("two heads: the first", output="logits")
def heads_logits(g):
    return two_heads(g)


def two_heads(g):
    x = g.relu(g.gemm(g.input("N", 8), 8, 6))
    g.finish_output(g.gemm(x, 6, 3), ["N", 3], "logits")
    return g.done(g.gemm(x, 6, 2), "N", 2, name="value")


@lowered("the logits and a hidden layer: the hidden layer", output="features")
def heads_hidden(g):
    x = g.relu(g.gemm(g.input("N", 8), 8, 6))
    g.finish_output(x, ["N", 6], "features")
    return g.done(g.gemm("features", 6, 3), "N", 3)
