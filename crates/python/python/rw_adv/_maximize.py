"""The largest value of a linear function of the outputs."""

from __future__ import annotations

import json
import os
from typing import Any, Iterable, Mapping, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _native
from ._arguments import branch as checked_branch
from ._arguments import domain, integer, number, positive, seconds, word
from ._arguments import objective as checked_objective
from ._arguments import seed as checked_seed
from ._arguments import threads as checked_threads
from ._attack import GOALS, METHODS, as_model
from ._errors import InputError
from ._model import Model, ModelSource
from ._saved import SavedRun, optional_number
from ._show import coloured, escape, short, table


class MaximizeResult(SavedRun):
    """The largest value that was found, and a proved upper bound."""

    def __init__(self, model: Model, run: _native.MaximizeRun) -> None:
        self.model = model
        #: The record as the command line writes it to result.json.
        self.record: dict[str, Any] = json.loads(run.record())
        point = run.point()
        assert point is not None, "there is a point where there is a record"
        #: The input with that value, in the model's shape: exactly within its bounds.
        self.point: npt.NDArray[np.float64] = point.reshape(model.input_shape)
        #: False after Ctrl-C.
        self.complete = run.complete
        self._run: Optional[_native.MaximizeRun] = run
        self._packed: Optional[bytes] = None

    @property
    def value(self) -> float:
        """The largest value found, in float64, at :attr:`point`."""
        return float(self.record["value"])

    @property
    def bound(self) -> Optional[float]:
        """Proved: no input has a larger value. None if no bound was needed."""
        return optional_number(self.record["upper_bound"])

    @property
    def gap(self) -> Optional[float]:
        """How much larger the value could at most be."""
        return optional_number(self.record["gap"])

    @property
    def optimal(self) -> bool:
        """Whether the gap is closed."""
        return bool(self.record["optimal"])

    @property
    def verdict(self) -> Optional[str]:
        """With a threshold: ``adversarial`` if an input exceeds it, ``robust`` if it is proved that none does, or ``unknown``."""
        verdict = self.record.get("verdict")
        return None if verdict is None else str(verdict)

    @property
    def seconds(self) -> float:
        """Time spent."""
        return float(self.record["seconds"])

    @property
    def pattern(self) -> list[npt.NDArray[np.bool_]]:
        """The activation pattern at :attr:`point`, one array for each hidden layer."""
        return [states[0] for states in self.model.pattern(self.point.reshape(1, -1))]

    def to_dict(self) -> dict[str, Any]:
        """The record."""
        return dict(self.record)

    def save(self, directory: Union[str, os.PathLike[str]]) -> None:
        """Writes the directory that ``rw-adv maximize --out`` writes, and proofs/. It must not hold results yet."""
        self._save(directory)

    def __repr__(self) -> str:
        verdict = "" if self.verdict is None else f", {self.verdict}"
        optimal = ", optimal" if self.optimal else ""
        partial = "" if self.complete else ", not complete"
        return f"MaximizeResult(value {short(self.value)}, bound {short(self.bound)}{optimal}{verdict}{partial})"

    def _repr_html_(self) -> str:
        header = ("objective", "value", "bound", "gap", "optimal", "verdict", "seconds")
        verdict = "–" if self.verdict is None else coloured(self.verdict)
        numbers = [short(value) for value in (self.value, self.bound, self.gap)]
        row = [escape(str(self.record["objective"])), *numbers, "yes" if self.optimal else "no", verdict, short(self.seconds)]
        return f"<div>{table(header, [row])}</div>"


def maximize(
    model: Union[Model, ModelSource],
    objective: Union[Mapping[int, float], npt.ArrayLike],
    lower: npt.ArrayLike = 0.0,
    upper: npt.ArrayLike = 1.0,
    A: Optional[npt.ArrayLike] = None,
    b: Optional[npt.ArrayLike] = None,
    *,
    integers: Iterable[int] = (),
    binaries: Iterable[int] = (),
    constant: float = 0.0,
    threshold: Optional[float] = None,
    goal: str = "optimum",
    branch: Union[bool, int] = False,
    gap: float = 1e-4,
    method: str = "rw",
    patience: int = 40,
    time_limit: Optional[float] = 60.0,
    threads: Optional[int] = None,
    seed: int = 0,
    proofs: bool = True,
    check_proofs: bool = False,
) -> MaximizeResult:
    """The largest value of a linear function of the outputs while the input stays in a box, cut by ``A x <= b`` if that is given.

    objective
        Weights of outputs: a dictionary ``{0: 1.0, 3: -0.5}`` for ``y0 - 0.5*y3``, or one weight for each output. To minimise, negate it.
        Outputs are those before a final Softmax.
    lower, upper
        Bounds of the inputs: numbers, or one for each input.
    A, b
        Linear constraints; dense, or sparse as SciPy has them. One column for each input.
    integers, binaries
        Inputs that are whole numbers, or 0 or 1: their places in a flat list of the inputs.
    constant
        Is added to the value.
    threshold
        Decide whether an input exceeds this; with ``goal="verdict"`` only that.
    branch
        Branch and bound until the gap is closed: True for as many nodes as it takes, or a number of nodes. As ``--branch``.
    gap, method, patience, time_limit, threads, seed, proofs, check_proofs
        As for :func:`attack`; the time limit is for the whole.

    >>> found = maximize("tests/zoo/accepted/acasxu_style.onnx", {0: 1.0, 1: -1.0}, lower=0, upper=1, branch=True)
    >>> found.optimal, found.point.shape, found.value <= found.bound
    (True, (1, 1, 5), True)
    """
    loaded = as_model(model)
    options: dict[str, Any] = {
        **checked_objective(objective, loaded.outputs, constant),
        "goal": word("goal", goal, GOALS),
        "threshold": None if threshold is None else number("threshold", threshold),
        "method": word("method", method, METHODS),
        "patience": integer("patience", patience, 1),
        "branch": checked_branch(branch),
        "gap": positive("gap", gap),
        "proofs": bool(proofs),
        "check_proofs": bool(check_proofs),
        "seed": checked_seed(seed),
        "time_limit": seconds("time_limit", time_limit),
        "threads": checked_threads(threads),
    }
    if goal == "verdict" and threshold is None:
        raise InputError("goal='verdict' needs a threshold")
    allowed = domain(lower, upper, A, b, loaded.input_shape, integers, binaries)
    return MaximizeResult(loaded, _native.maximize(loaded._native, allowed, options))
