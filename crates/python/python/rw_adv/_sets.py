"""Sets of inputs, and certified bounds of neurons over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterator, Optional, Sequence, Union, overload

import numpy as np
import numpy.typing as npt

from . import _native
from ._arguments import domain, images, positive, word
from ._arguments import threads as checked_threads
from ._errors import InputError
from ._model import Model

NORMS = ("l1", "linf")


@dataclass(frozen=True, eq=False)
class Ball:
    """Inputs within ``delta`` of an image ``x``, cut by the box [0, 1]."""

    x: npt.ArrayLike
    delta: float
    norm: str = "l1"

    def _argument(self, model: Model) -> Any:
        rows, _ = images(self.x, model.input_shape, "x")
        if len(rows) != 1:
            raise InputError(f"x holds {len(rows)} images, a ball has one")
        delta = positive("delta", self.delta)
        return [float(value) for value in rows[0]], delta, word("norm", self.norm, NORMS)


@dataclass(frozen=True, eq=False)
class Box:
    """Inputs between ``lower`` and ``upper``, numbers or arrays; with ``A x <= b`` if both are given."""

    lower: npt.ArrayLike
    upper: npt.ArrayLike
    A: Optional[npt.ArrayLike] = None
    b: Optional[npt.ArrayLike] = None

    def _argument(self, model: Model) -> Any:
        return domain(self.lower, self.upper, self.A, self.b, model.input_shape)


@dataclass(frozen=True, eq=False)
class NeuronBounds(Sequence["tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]"]):
    """Certified bounds of every hidden neuron's pre-activation. ``bounds[k]`` is (lower, upper) of hidden layer ``k``."""

    lower: list[npt.NDArray[np.float64]]
    upper: list[npt.NDArray[np.float64]]

    def __len__(self) -> int:
        return len(self.lower)

    @overload
    def __getitem__(self, layer: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
    @overload
    def __getitem__(self, layer: slice) -> NeuronBounds: ...
    def __getitem__(
        self, layer: Union[int, slice]
    ) -> Union[tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]], NeuronBounds]:
        if isinstance(layer, slice):
            return NeuronBounds(self.lower[layer], self.upper[layer])
        return self.lower[layer], self.upper[layer]

    def __iter__(self) -> Iterator[tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]]:
        return iter(zip(self.lower, self.upper))

    @property
    def unstable(self) -> list[npt.NDArray[np.bool_]]:
        """Which neurons may be on or off: the only ones that need a binary variable."""
        return [(lower < 0) & (upper > 0) for lower, upper in self]

    def __repr__(self) -> str:
        layers = ", ".join(f"{int(states.sum())} of {len(states)}" for states in self.unstable)
        return f"NeuronBounds(unstable: {layers})"


def big_m(model: Model, set: Union[Ball, Box], *, threads: Optional[int] = None) -> NeuronBounds:
    """Bounds that every hidden neuron's pre-activation provably keeps while the input stays in a set.

    They are the big-M constants of a MILP (Gurobi ML, OMLT, PySCIPOpt): a neuron whose bounds do not contain 0 needs no binary variable,
    and the others get the smallest constants that are proved here. ``docs/python.md`` has an example. The layers are those of
    :attr:`Model.layers`.

    >>> model = load("models/mnist_2x16.onnx")
    >>> X, _ = read_images("data", model, count=1)
    >>> bounds = big_m(model, Ball(X[0], delta=2))
    >>> lower, upper = bounds[0]
    >>> lower.shape, bool((lower <= upper).all()), bool(bounds.unstable[0].sum() < 10)
    ((16,), True, True)
    """
    if not isinstance(set, (Ball, Box)):
        raise InputError(f"set must be rw_adv.Ball or rw_adv.Box, not {type(set).__name__}")
    layers = _native.neuron_bounds(model._native, set._argument(model), checked_threads(threads))
    return NeuronBounds([lower for lower, _ in layers], [upper for _, upper in layers])
