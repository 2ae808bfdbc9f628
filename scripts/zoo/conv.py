"""Accepted: Conv and pooling, which become sparse layers, or dense ones if they are small.

The trap is the padding: uneven, automatic, or counted in an average.
"""

from .table import IMAGE, accepted


def conv_case(g, channels, size, *arguments, **attributes):
    """Conv on [N, channels, 6, 6], then Relu, Flatten and Gemm from `size`."""
    x = g.conv(g.input("N", channels, 6, 6), channels, *arguments, **attributes)
    return g.done(g.head(x, size), "N", 3)


@accepted("Conv 3x3, no padding", [36, 32, 3], dims=IMAGE)
def conv_plain(g):
    return conv_case(g, 1, 32, 2, [3, 3])


@accepted("Conv of 576 neurons that see 9 of 144 pixels each: stored sparse", [144, 576, 3], dims=[1, 12, 12])
def conv_sparse(g):
    x = g.conv(g.input("N", 1, 12, 12), 1, 4, [3, 3], pads=[1, 1, 1, 1])
    return g.done(g.head(x, 576), "N", 3)


@accepted("Conv with different strides", [36, 16, 3], dims=IMAGE)
def conv_stride(g):
    return conv_case(g, 1, 16, 2, [3, 3], strides=[1, 2])


@accepted("Conv with four different pads", [36, 84, 3], dims=IMAGE)
def conv_pads(g):
    return conv_case(g, 1, 84, 2, [3, 3], pads=[1, 0, 2, 2])


@accepted("Conv with dilations", [36, 16, 3], dims=IMAGE)
def conv_dilations(g):
    return conv_case(g, 1, 16, 2, [3, 2], dilations=[2, 2], pads=[0, 0, 0, 0])


@accepted("Conv in two groups", [144, 64, 3], dims=[4, 6, 6])
def conv_groups(g):
    return conv_case(g, 4, 64, 4, [3, 3], group=2)


@accepted("depthwise Conv, two outputs per channel", [72, 64, 3], dims=[2, 6, 6])
def conv_depthwise(g):
    return conv_case(g, 2, 64, 4, [3, 3], group=2)


@accepted("Conv, auto_pad SAME_UPPER: with stride 2 the padding is uneven", [36, 18, 3], dims=IMAGE)
def conv_same_upper(g):
    return conv_case(g, 1, 18, 2, [3, 3], strides=[2, 2], auto_pad="SAME_UPPER")


@accepted("Conv, auto_pad SAME_LOWER", [36, 18, 3], dims=IMAGE)
def conv_same_lower(g):
    return conv_case(g, 1, 18, 2, [3, 3], strides=[2, 2], auto_pad="SAME_LOWER")


@accepted("Conv, auto_pad VALID", [36, 8, 3], dims=IMAGE)
def conv_valid(g):
    return conv_case(g, 1, 8, 2, [3, 3], strides=[2, 2], auto_pad="VALID")


@accepted("Conv 1x1", [72, 108, 3], dims=[2, 6, 6])
def conv_1x1(g):
    return conv_case(g, 2, 108, 3, [1, 1])


@accepted("Conv without bias", [36, 32, 3], dims=IMAGE)
def conv_no_bias(g):
    return conv_case(g, 1, 32, 2, [3, 3], bias=False)


@accepted("Conv, no attribute at all: kernel shape comes from the weights", [36, 32, 3], dims=IMAGE)
def conv_no_attributes(g):
    weight, bias = g.const(g.weight(2, 1, 3, 3), "conv1.weight"), g.const(g.bias(2), "conv1.bias")
    return g.done(g.head(g.op("Conv", g.image(), weight, bias, name="conv1"), 32), "N", 3)


@accepted("Conv on a picture that is not square, kernel not square, two channels", [40, 36, 3], dims=[2, 4, 5])
def conv_rectangle(g):
    x = g.conv(g.input("N", 2, 4, 5), 2, 3, [2, 3], pads=[0, 1, 0, 0])
    return g.done(g.head(x, 36), "N", 3)


@accepted("two Conv layers, then Gemm", [36, 50, 27, 3], dims=IMAGE)
def conv_twice(g):
    x = g.relu(g.conv(g.image(), 1, 2, [2, 2]))
    return g.done(g.head(g.conv(x, 2, 3, [3, 3]), 27), "N", 3)


@accepted("Conv of one dimension: stride and padding", [20, 15, 3], dims=[2, 10])
def conv1d(g):
    x = g.conv(g.input("N", 2, 10), 2, 3, [3], strides=[2], pads=[1, 1])
    return g.done(g.head(x, 15), "N", 3)


@accepted("Conv of three dimensions", [27, 16, 3], dims=[1, 3, 3, 3], optional=True)
def conv3d(g):
    x = g.conv(g.input("N", 1, 3, 3, 3), 1, 2, [2, 2, 2])
    return g.done(g.head(x, 16), "N", 3)


def pool_case(g, size, **attributes):
    """AveragePool after a first Conv and Relu of 2 x 6 x 6, then Gemm from `size`."""
    x = g.relu(g.conv(g.image(), 1, 2, [3, 3], pads=[1, 1, 1, 1]))
    x = g.op("AveragePool", x, name="pool1", **attributes)
    return g.done(g.gemm(g.flatten(x), size, 3), "N", 3)


@accepted("AveragePool 2x2, stride 2", [36, 72, 3], dims=IMAGE)
def avgpool(g):
    return pool_case(g, 18, kernel_shape=[2, 2], strides=[2, 2])


@accepted("AveragePool, pads do not count in the average (the default)", [36, 72, 3], dims=IMAGE)
def avgpool_pads(g):
    return pool_case(g, 32, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 2, 2])


@accepted("AveragePool, count_include_pad = 1", [36, 72, 3], dims=IMAGE)
def avgpool_pads_counted(g):
    return pool_case(g, 32, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 2, 2], count_include_pad=1)


@accepted("AveragePool, ceil_mode = 1: the last window hangs over the edge", [36, 72, 3], dims=IMAGE)
def avgpool_ceil(g):
    return pool_case(g, 18, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)


@accepted("AveragePool, auto_pad SAME_UPPER", [36, 72, 3], dims=IMAGE)
def avgpool_same_upper(g):
    return pool_case(g, 18, kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER")


@accepted("AveragePool on the input, before any Conv: folded into it", [36, 18, 3], dims=IMAGE)
def avgpool_input(g):
    x = g.op("AveragePool", g.image(), kernel_shape=[3, 3], strides=[1, 1])
    return g.done(g.head(g.conv(x, 1, 2, [2, 2]), 18), "N", 3)


@accepted("AveragePool of one dimension", [10, 20, 3], dims=[1, 10])
def avgpool1d(g):
    x = g.relu(g.conv(g.input("N", 1, 10), 1, 2, [3], pads=[1, 1]))
    x = g.op("AveragePool", x, kernel_shape=[2], strides=[2])
    return g.done(g.gemm(g.flatten(x), 10, 3), "N", 3)


@accepted("GlobalAveragePool", [36, 108, 3], dims=IMAGE)
def global_avgpool(g):
    x = g.relu(g.conv(g.image(), 1, 3, [3, 3], pads=[1, 1, 1, 1]))
    x = g.op("GlobalAveragePool", x)
    return g.done(g.gemm(g.flatten(x), 3, 3), "N", 3)


@accepted("GlobalAveragePool as the last node: logits of shape [N, 3, 1, 1]", [36, 72, 3], dims=IMAGE)
def global_avgpool_last(g):
    x = g.relu(g.conv(g.image(), 1, 2, [3, 3], pads=[1, 1, 1, 1]))
    return g.done(g.op("GlobalAveragePool", g.conv(x, 2, 3, [1, 1])), "N", 3, 1, 1)
