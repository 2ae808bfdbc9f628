"""The table of files, and the pen that writes most of them.

One small function makes one file, and its name is the file's name. A decorator puts it into the table, with what the
file is for and what must come out of it.
"""

import zlib
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT
# The network of most files, and the picture that some of them read.
MLP = [8, 6, 5, 3]
IMAGE = [1, 6, 6]


@dataclass
class Case:
    """A file to write, and the files that belong beside it."""

    model: onnx.ModelProto
    beside: dict = field(default_factory=dict)


@dataclass
class Accepted:
    build: object
    exercises: str
    widths: list
    dims: list
    exporter: str
    # Beyond the promised operators: loading it is welcome, refusing it by name is fine, loading a wrong network is not.
    optional: bool
    gz: bool
    # The output to look at, if there are several.
    output: str
    # One logit for two classes: that of the first is 0.
    zero_class: bool
    # There is nothing in it that is not affine.
    affine: bool


@dataclass
class Refused:
    build: object
    wrong: str
    words: list
    # Whether the ONNX checker and onnxruntime are content with it: then it is sound, and only not for rw-adv.
    valid: bool


ACCEPTED = {}
REFUSED = {}


def accepted(
    exercises,
    widths,
    dims=None,
    exporter="onnx.helper",
    optional=False,
    gz=False,
    name=None,
    output=None,
    zero_class=False,
    affine=False,
):
    """`widths` are None where only the answers are promised, not the layers."""

    def register(build):
        key = name or build.__name__
        assert key not in ACCEPTED, key
        input_dims = [widths[0]] if dims is None else dims
        kind = (exporter, optional, gz, output, zero_class, affine)
        ACCEPTED[key] = Accepted(build, exercises, widths, input_dims, *kind)
        return build

    return register


def refused(wrong, *words, valid=True):
    def register(build):
        assert build.__name__ not in REFUSED, build.__name__
        REFUSED[build.__name__] = Refused(build, wrong, list(words), valid)
        return build

    return register


class Graph:
    """An ONNX graph under construction. Methods that add a node return the name of its output."""

    def __init__(self, name, attempt=0):
        self.name = name
        self.opset = 13
        self.ir_version = None
        self.producer = "rw-adv zoo"
        self.nodes, self.initializers, self.inputs, self.outputs = [], [], [], []
        self.domains = {}
        self.count = {}
        self.rng = np.random.default_rng([zlib.crc32(name.encode()), attempt])

    def input(self, *shape, name="image", kind=FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def image(self):
        return self.input("N", 1, 6, 6)

    def const(self, value, name):
        value = np.asarray(value)
        if value.dtype == np.float64:
            value = value.astype(np.float32)
        self.initializers.append(numpy_helper.from_array(value, name))
        return name

    def ints(self, *values, name):
        return self.const(np.array(values, dtype=np.int64), name)

    def fresh(self, stem):
        self.count[stem] = self.count.get(stem, 0) + 1
        return f"{stem}{self.count[stem]}"

    def op(self, kind, *inputs, name=None, output=None, domain="", **attributes):
        name = self.fresh(kind.lower()) if name is None else name
        output = output or f"{name}.out"
        node = helper.make_node(kind, inputs, [output], name=name, domain=domain, **attributes)
        self.nodes.append(node)
        return output

    def weight(self, *shape):
        """Random weights, one row per output, of a size that keeps activations near 1."""
        return self.rng.normal(size=shape) * 1.5 / np.sqrt(np.prod(shape[1:]))

    def bias(self, *shape):
        return self.rng.uniform(-0.5, 0.5, size=shape)

    def gemm(self, x, n_in, n_out, name=None):
        name = name or self.fresh("dense")
        weight = self.const(self.weight(n_out, n_in), f"{name}.weight")
        bias = self.const(self.bias(n_out), f"{name}.bias")
        return self.op("Gemm", x, weight, bias, name=name, transB=1)

    def matmul(self, x, n_in, n_out):
        name = self.fresh("dense")
        weight = self.const(self.weight(n_out, n_in).T.copy(), f"{name}.weight")
        bias = self.const(self.bias(n_out), f"{name}.bias")
        return self.op("Add", self.op("MatMul", x, weight, name=f"{name}.matmul"), bias, name=f"{name}.add")

    def conv(self, x, c_in, c_out, kernel, group=1, bias=True, **attributes):
        name = self.fresh("conv")
        inputs = [x, self.const(self.weight(c_out, c_in // group, *kernel), f"{name}.weight")]
        if bias:
            inputs.append(self.const(self.bias(c_out), f"{name}.bias"))
        if group != 1:
            attributes["group"] = group
        return self.op("Conv", *inputs, name=name, kernel_shape=kernel, **attributes)

    def batchnorm(self, x, channels, name=None, **attributes):
        name = name or self.fresh("norm")
        scale = self.const(self.rng.uniform(0.5, 2, channels) * self.rng.choice([-1, 1], channels), f"{name}.scale")
        shift = self.const(self.bias(channels), f"{name}.shift")
        mean = self.const(self.bias(channels), f"{name}.mean")
        variance = self.const(self.rng.uniform(0.3, 2, channels), f"{name}.variance")
        return self.op("BatchNormalization", x, scale, shift, mean, variance, name=name, **attributes)

    def relu(self, x):
        return self.op("Relu", x)

    def flatten(self, x):
        return self.op("Flatten", x, axis=1)

    def mlp(self, x, *widths):
        """Gemm, Relu, ..., Gemm."""
        for n_in, n_out in zip(widths[:-2], widths[1:-1]):
            x = self.relu(self.gemm(x, n_in, n_out))
        return self.gemm(x, widths[-2], widths[-1])

    def matmul_mlp(self, x):
        """MatMul, Add, Relu, ..., MatMul, Add, with the widths of `MLP`."""
        x = self.relu(self.matmul(x, 8, 6))
        x = self.relu(self.matmul(x, 6, 5))
        return self.matmul(x, 5, 3)

    def head(self, x, size):
        """What follows a convolution: Relu, Flatten, Gemm to three classes."""
        return self.gemm(self.flatten(self.relu(x)), size, 3)

    def done(self, x, *shape, name="logits", kind=FLOAT):
        """Name the tensor `x` as the output and close the graph."""
        self.finish_output(x, shape, name, kind)
        return Case(self.model())

    def finish_output(self, x, shape, name, kind=FLOAT):
        for node in self.nodes:
            for listed in (node.input, node.output):
                for i, tensor in enumerate(listed):
                    if tensor == x:
                        listed[i] = name
        self.outputs.append(helper.make_tensor_value_info(name, kind, shape))

    def model(self):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.initializers)
        imports = [helper.make_opsetid("", self.opset)]
        imports += [helper.make_opsetid(domain, version) for domain, version in self.domains.items()]
        ir_version = self.ir_version or helper.find_min_ir_version_for(imports[:1])
        if ir_version < 4:
            # Before IR version 4 every initializer had to be a graph input as well.
            for tensor in self.initializers:
                graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
        return helper.make_model(graph, producer_name=self.producer, ir_version=ir_version, opset_imports=imports)


def plain_mlp(g):
    return g.done(g.mlp(g.input("N", 8), *MLP), "N", 3)
