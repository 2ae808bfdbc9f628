"""Models: from a file, bytes, an onnx.ModelProto or a torch module."""

from __future__ import annotations

import io
import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from . import _native
from ._arguments import as_array, images, number, shape_text
from ._errors import InputError, ModelError
from ._optional import needed

#: What :func:`load` takes.
ModelSource = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, Any]


@dataclass(frozen=True)
class Layer:
    """One layer of the extracted network: ``weights @ h + bias``, then a ReLU where ``relu`` says so."""

    weights: npt.NDArray[np.float64]
    bias: npt.NDArray[np.float64]
    relu: npt.NDArray[np.bool_]

    def __repr__(self) -> str:
        outputs, inputs = self.weights.shape
        return f"Layer({inputs} -> {outputs}, {int(self.relu.sum())} ReLU)"


class Model:
    """A network that :func:`load` has read, and checked against tract's own run of the file.

    >>> model = load("models/mnist_2x16.onnx")
    >>> model
    Model('models/mnist_2x16.onnx': 784-16-16-10)
    >>> model(np.zeros((2, 28, 28))).shape
    (2, 10)
    """

    def __init__(
        self,
        native: _native.Model,
        data: Optional[bytes],
        classes: Optional[tuple[str, ...]],
        output: Optional[str] = None,
    ) -> None:
        self._native = native
        # Of a model with several.
        self._output = output
        # Of a model without a file of its own.
        self._data = data
        self.classes = classes

    @property
    def name(self) -> str:
        """What it is called in records and errors: the file, if it came from one."""
        return self._native.name

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of one input, such as (784,) or (1, 28, 28)."""
        return tuple(self._native.input_shape)

    @property
    def widths(self) -> tuple[int, ...]:
        """Inputs, hidden widths, outputs."""
        return tuple(self._native.widths)

    @property
    def outputs(self) -> int:
        """Number of outputs: classes, for a classifier."""
        return self.widths[-1]

    @property
    def sha256(self) -> str:
        """SHA-256 of the file's bytes."""
        return self._native.sha256

    @property
    def final_ops(self) -> tuple[str, ...]:
        """Operators behind the outputs that were cut off, such as Softmax: they keep the order of the outputs."""
        return tuple(self._native.final_ops)

    def __call__(self, X: npt.ArrayLike) -> npt.NDArray[np.float32]:
        """The outputs (logits) that the file itself gives for images, run by tract in float32: one row for each image."""
        rows, _ = images(X, self.input_shape)
        return self._native.logits(rows)

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """The label of each image; the lower one of equals."""
        labels: npt.NDArray[np.int64] = np.argmax(self(X), axis=1).astype(np.int64)
        return labels

    def pattern(self, X: npt.ArrayLike) -> list[npt.NDArray[np.bool_]]:
        """Which hidden neurons are on: one array for each hidden layer, one row for each input. Inputs need not lie in [0, 1].

        >>> [states.shape for states in load("models/mnist_2x16.onnx").pattern(np.zeros((3, 784)))]
        [(3, 16), (3, 16)]
        """
        array = as_array("X", X)
        inputs = self.widths[0]
        if array.size == inputs and _native.fits(list(array.shape), list(self.input_shape)):
            array = array.reshape(1, inputs)
        if array.ndim == 0 or array.dtype.kind not in "fiu" or array[:1].size != inputs:
            raise InputError(f"X has shape {shape_text(array.shape)}, expected inputs of {shape_text(self.input_shape)}")
        return self._native.pattern(np.ascontiguousarray(array.reshape(len(array), -1), dtype=np.float64))

    @property
    def layers(self) -> list[Layer]:
        """The extracted network in float64: what the bounds are about, and what a MILP of it is made of.

        >>> load("models/mnist_2x16.onnx").layers
        [Layer(784 -> 16, 16 ReLU), Layer(16 -> 16, 16 ReLU), Layer(16 -> 10, 0 ReLU)]
        """
        return [Layer(weights, bias, relu) for weights, bias, relu in self._native.layers()]

    def class_name(self, label: int) -> str:
        """The name of a class, or its number."""
        return str(label) if self.classes is None else self.classes[label]

    def __repr__(self) -> str:
        return f"Model({self.name!r}: {'-'.join(map(str, self.widths))})"

    def __reduce__(self) -> tuple[Any, ...]:
        data = self._data
        if data is None:
            data = Path(self.name).read_bytes()
        return _restore, (self.name, data, self.sha256, self.classes, self._output)


def _restore(
    name: str, data: bytes, sha256: str, classes: Optional[tuple[str, ...]], output: Optional[str] = None
) -> Model:
    model = Model(_native.load(name, data, output), data, classes, output)
    if model.sha256 != sha256:
        raise ModelError(f"{name}: has changed since it was loaded")
    return model


def load(
    model: ModelSource,
    example: Any = None,
    *,
    output: Optional[str] = None,
    mean: Optional[npt.ArrayLike] = None,
    std: Optional[npt.ArrayLike] = None,
    range: Optional[tuple[float, float]] = None,
    classes: Optional[Sequence[str]] = None,
) -> Model:
    """Reads a model, and checks it: what was extracted must compute what the file computes.

    model
        A file (.onnx or .onnx.gz), its bytes, an ``onnx.ModelProto``, or a ``torch.nn.Module``; the latter needs ``example``, an input
        with a batch of 1, and is exported by ``torch.onnx``.
    output
        Which output of the model, by its name, if it has several.
    mean, std
        Normalisation that is not in the file: images stay in [0, 1], and the model gets ``(x - mean) / std``. Numbers, or one for each
        channel. The two operations are put before the graph, so that budgets, proofs and replays are about images in [0, 1] and everything
        that follows.
    range
        Instead of mean and std: the model takes values from ``range[0]`` to ``range[1]``. Images are still given in [0, 1], or uint8.
    classes
        Names of the classes, for display and for ``target=``. By default those in the file, if it has any (scikit-learn's have).

    Raises :class:`ModelError` if the model cannot be used; unsupported operators are named.

    >>> load("models/mnist_2x16.onnx").widths
    (784, 16, 16, 10)
    >>> with open("models/mnist_2x16.onnx", "rb") as file:
    ...     load(file.read())
    Model('<bytes>': 784-16-16-10)
    """
    name, data = _source(model, example)
    if range is not None:
        if mean is not None or std is not None:
            raise InputError("range and mean, std say the same thing in two ways: give one of them")
        mean, std = _of_range(range)
    if mean is not None or std is not None:
        content = _read(name) if data is None else data
        changed = _native.normalised(name, content, _per_channel("mean", mean), _per_channel("std", std))
        name, data = f"{name} (normalised)", changed
    native = _native.load(name, data, output)
    names = None if classes is None else tuple(str(label) for label in classes)
    if names is None and len(set(native.class_names)) == native.widths[-1]:
        names = tuple(native.class_names)
    if names is not None and len(names) != native.widths[-1]:
        raise InputError(f"classes has {len(names)} names, the model has {native.widths[-1]} outputs")
    if names is not None and len(set(names)) < len(names):
        raise InputError("classes has a name twice")
    return Model(native, data, names, output)


def _source(model: ModelSource, example: Any) -> tuple[str, Optional[bytes]]:
    """What a model is called, and its bytes unless they are in a file."""
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model), None
    if isinstance(model, (bytes, bytearray, memoryview)):
        return "<bytes>", bytes(model)
    if hasattr(model, "SerializeToString"):
        return "<ModelProto>", bytes(model.SerializeToString())
    if hasattr(model, "state_dict") and hasattr(model, "forward"):
        return f"<{type(model).__name__}>", _exported(model, example)
    raise InputError(
        f"a model is a path, bytes, an onnx.ModelProto or a torch.nn.Module with an example input, not {type(model).__name__}"
    )


def _exported(module: Any, example: Any) -> bytes:
    """A torch module as ONNX."""
    if example is None:
        raise InputError("a torch module needs an example input: rw_adv.load(module, torch.zeros(1, 784))")
    torch = needed("torch", "loading a torch module")
    buffer = io.BytesIO()
    was_training = module.training
    module.eval()
    try:
        arguments: dict[str, Any] = {"input_names": ["input"], "output_names": ["output"]}
        with warnings.catch_warnings():
            # This exporter is called old, but it writes the weights to where the graph is.
            warnings.simplefilter("ignore", DeprecationWarning)
            try:
                torch.onnx.export(module, (example,), buffer, dynamo=False, **arguments)
            except TypeError:
                # An older torch knows no other exporter.
                torch.onnx.export(module, (example,), buffer, **arguments)
    except Exception as error:
        raise ModelError(f"<{type(module).__name__}>: torch.onnx cannot export it: {error}") from error
    finally:
        module.train(was_training)
    return buffer.getvalue()


def _read(name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise ModelError(f"{name}: cannot read the model: {error}") from error


def _of_range(range: tuple[float, float]) -> tuple[float, float]:
    """Mean and standard deviation that map [0, 1] to a range."""
    try:
        low, high = range
    except (TypeError, ValueError):
        raise InputError(f"range must be two numbers, not {range!r}") from None
    low, high = number("range", low), number("range", high)
    if low >= high:
        raise InputError(f"range must be two numbers in order, not {range!r}")
    return -low / (high - low), 1 / (high - low)


def _per_channel(name: str, value: Optional[npt.ArrayLike]) -> list[float]:
    """One number, or one for each channel; none for the default."""
    if value is None:
        return []
    array = as_array(name, value)
    if array.dtype.kind not in "fiu" or array.ndim > 1 or array.size == 0:
        raise InputError(f"{name} must be a number, or one for each channel, not {value!r}")
    return [float(number) for number in array.reshape(-1)]
