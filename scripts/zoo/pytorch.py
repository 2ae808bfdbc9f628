"""Accepted: what PyTorch writes.

"old" is the TorchScript exporter, "new" the dynamo exporter, "raw" the latter without its optimiser.

The trap is an untrained BatchNorm: it is the identity, and proves nothing. So its numbers are made random.
"""

import contextlib
import io
import tempfile
import zlib
from pathlib import Path

import onnx
import torch
from torch import nn

from .table import MLP, Case, accepted


def torch_case(name, net, shape, exporter, dynamic, external=False, **options):
    """Export `net`, for pictures of `shape`, by one of the exporters: old, new, or new without its optimiser (raw)."""
    # The new exporter makes a dimension of 1 static even when told that it varies, so it sees two samples then.
    example = torch.rand(2 if dynamic else 1, *shape)
    with tempfile.TemporaryDirectory() as scratch, contextlib.redirect_stdout(io.StringIO()):
        path = Path(scratch) / f"{name}.onnx"
        if exporter == "old":
            if dynamic:
                options["dynamic_axes"] = {"image": {0: "batch"}, "output": {0: "batch"}}
            torch.onnx.export(
                net, (example,), path, dynamo=False, input_names=["image"], output_names=["output"], **options
            )
        else:
            if dynamic:
                options["dynamic_shapes"] = ({0: torch.export.Dim("batch")},)
            torch.onnx.export(
                net,
                (example,),
                path,
                dynamo=True,
                input_names=["image"],
                output_names=["output"],
                optimize=exporter == "new",
                external_data=external,
                verbose=False,
                **options,
            )
        model = onnx.load(path, load_external_data=False)
        beside = {f"{name}.onnx.data": path.with_name(f"{name}.onnx.data").read_bytes()} if external else {}
    # The new exporter notes the Python stack of every node: file paths that differ from machine to machine.
    for entry in [model, model.graph, *model.graph.node, *model.graph.value_info]:
        kept = [prop for prop in entry.metadata_props if "stack_trace" not in prop.key]
        del entry.metadata_props[:]
        entry.metadata_props.extend(kept)
    return Case(model, beside)


def torch_nets():
    """Networks by name: builder, shape of one input, layer widths, what it exercises, optional."""
    class Normalise(nn.Module):
        def forward(self, x):
            return (x - 0.1307) / 0.3081

    class View(nn.Module):
        def forward(self, x):
            return x.view(x.size(0), -1)

    class Clamp(nn.Module):
        def forward(self, x):
            return x.clamp(min=0)

    class PerChannel(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.tensor([0.4, 0.6]).view(1, 2, 1, 1))
            self.register_buffer("std", torch.tensor([0.2, 0.3]).view(1, 2, 1, 1))

        def forward(self, x):
            return (x - self.mean) / self.std

    def mlp():
        return [Normalise(), nn.Flatten(), nn.Linear(36, 6), nn.ReLU(), nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3)]

    def batchnorm():
        first = [nn.Linear(8, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Dropout()]
        return first + [nn.Linear(6, 5), nn.ReLU(), nn.BatchNorm1d(5), nn.Dropout(), nn.Linear(5, 3)]

    def cnn():
        first = [nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU(), nn.AvgPool2d(2)]
        second = [nn.Conv2d(2, 3, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1)]
        return first + second + [nn.Flatten(), nn.Linear(3, 3)]

    def adaptive():
        first = [PerChannel(), nn.Conv2d(2, 2, 3, stride=1, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2)]
        return first + [nn.Flatten(), nn.Linear(8, 3)]

    def avgpool():
        first = [nn.Conv2d(1, 2, 3, padding=1), nn.ReLU()]
        pool = nn.AvgPool2d(3, 2, padding=1, ceil_mode=True, count_include_pad=False)
        return first + [pool, nn.Flatten(), nn.Linear(32, 3)]

    def conv1d():
        return [nn.Conv1d(2, 3, 3, stride=2, bias=False), nn.ReLU(), nn.Flatten(), nn.Linear(12, 3)]

    def view():
        return [View(), nn.Linear(36, 6), nn.ReLU(), nn.Linear(6, 3)]

    def linear3d():
        return [nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 3), nn.Flatten()]

    def no_bias():
        return [nn.Linear(8, 6, bias=False), nn.ReLU(), nn.Linear(6, 5, bias=False), nn.ReLU(), nn.Linear(5, 3)]

    def log_softmax():
        return [nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 3), nn.LogSoftmax(dim=1)]

    def clamp():
        return [nn.Linear(8, 6), Clamp(), nn.Linear(6, 3), nn.Softmax(dim=-1)]

    def wide():
        return [nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 12), nn.ReLU(), nn.Linear(12, 3)]

    image = (1, 6, 6)
    return {
        "mlp": (mlp, image, [36, 6, 5, 3], "normalisation, Flatten, Linear", False),
        "batchnorm": (batchnorm, (8,), MLP, "BatchNorm1d and Dropout in eval mode", False),
        "cnn": (cnn, image, [36, 72, 27, 3], "Conv2d, BatchNorm2d, AvgPool2d, AdaptiveAvgPool2d(1)", False),
        "adaptive": (adaptive, (2, 6, 6), [72, 72, 3], "buffers per channel, AdaptiveAvgPool2d(2)", False),
        "avgpool": (avgpool, image, [36, 72, 3], "AvgPool2d with padding and ceil_mode", False),
        "conv1d": (conv1d, (2, 9), [18, 12, 3], "Conv1d without bias", False),
        "view": (view, image, [36, 6, 3], "x.view(x.size(0), -1)", False),
        "linear3d": (linear3d, (1, 8), [8, 6, 3], "Linear on three axes", False),
        "no_bias": (no_bias, (8,), MLP, "Linear without bias", False),
        "log_softmax": (log_softmax, (8,), [8, 6, 3], "LogSoftmax at the end", False),
        "clamp": (clamp, (8,), [8, 6, 3], "clamp(min=0) as ReLU, Softmax at the end", True),
        "wide": (wide, (8,), [8, 16, 12, 3], "weights large enough for a separate .onnx.data file", False),
    }


def seeded_torch_net(layers, name):
    """The layers as a Sequential in eval mode, all parameters random; a fresh BatchNorm would be the identity."""
    torch.manual_seed(zlib.crc32(name.encode()))
    net = nn.Sequential(*layers()).eval()
    for module in net.modules():
        if isinstance(module, (nn.Linear, nn.Conv1d, nn.Conv2d)):
            module.weight.data *= 2.5  # PyTorch starts with small weights: all logits would look the same
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)):
            nn.init.uniform_(module.weight, 0.5, 2)
            nn.init.uniform_(module.bias, -0.5, 0.5)
            nn.init.uniform_(module.running_mean, -0.5, 0.5)
            nn.init.uniform_(module.running_var, 0.3, 2)
    return net


def register_torch():
    nets = torch_nets()

    def add(kind, exporter, dynamic, suffix="", note="", **options):
        layers, shape, widths, exercises, optional = nets[kind]
        name = f"torch_{exporter}_{kind}{'_dynamic' if dynamic else ''}{suffix}"
        title = {"old": "PyTorch, TorchScript exporter", "new": "PyTorch, dynamo exporter"}
        title["raw"] = "PyTorch, dynamo exporter, optimize=False"

        @accepted(exercises + note, widths, list(shape), title[exporter], optional, name=name)
        def build(_):
            net = seeded_torch_net(layers, kind)
            return torch_case(name, net, shape, exporter, dynamic, **options)

    for kind in ["mlp", "batchnorm", "cnn"]:
        for exporter in ["old", "new"]:
            for dynamic in [False, True]:
                add(kind, exporter, dynamic)
    for kind in ["adaptive", "avgpool", "conv1d", "view", "linear3d", "no_bias", "log_softmax", "clamp"]:
        for exporter in ["old", "new"]:
            add(kind, exporter, True)
    for kind in ["mlp", "batchnorm", "cnn", "view", "linear3d"]:
        add(kind, "raw", True)
    add("wide", "new", True, external=True)
    add("wide", "new", False, external=True)
    for opset in [9, 11, 13, 17]:
        add("mlp", "old", True, f"_opset{opset}", f" (opset {opset})", opset_version=opset)
    add("batchnorm", "old", True, "_opset9", " (opset 9)", opset_version=9)
    add("view", "old", True, "_opset9", " (opset 9)", opset_version=9)
    add("view", "old", True, "_unfolded", ", constants not folded", do_constant_folding=False)
    add("linear3d", "old", True, "_unfolded", ", constants not folded", do_constant_folding=False)
    add("mlp", "old", True, "_as_inputs", ", initializers as graph inputs", keep_initializers_as_inputs=True)


register_torch()
