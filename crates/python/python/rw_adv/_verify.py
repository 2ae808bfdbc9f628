"""Properties in VNN-LIB."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _native
from ._arguments import UNLIMITED, integer, seconds
from ._arguments import branch as checked_branch
from ._arguments import seed as checked_seed
from ._arguments import threads as checked_threads
from ._attack import as_model
from ._errors import InputError
from ._model import Model, ModelSource
from ._saved import optional_number
from ._show import coloured, escape, short, table


@dataclass(frozen=True, eq=False)
class VerifyResult:
    """The answer to a property file."""

    model: Model
    #: The record as the command line writes it to instances.jsonl.
    record: dict[str, Any]

    @property
    def result(self) -> str:
        """``sat``: there is a counterexample; ``unsat``: proved that there is none; ``unknown``, or ``timeout``."""
        return str(self.record["result"])

    @property
    def counterexample(self) -> Optional[npt.NDArray[np.float32]]:
        """The input that the file describes, in the model's shape, exactly as it was replayed; None unless ``sat``."""
        inputs = self.record.get("inputs")
        return None if inputs is None else np.array(inputs, dtype=np.float32).reshape(self.model.input_shape)

    @property
    def outputs(self) -> Optional[npt.NDArray[np.float32]]:
        """The outputs that the ONNX file gives for it."""
        outputs = self.record.get("outputs")
        return None if outputs is None else np.array(outputs, dtype=np.float32)

    @property
    def bound(self) -> Optional[float]:
        """Proved upper bound of how far the property is from being met: below 0, there is no counterexample."""
        return optional_number(self.record["upper_bound"])

    @property
    def complete(self) -> bool:
        """False after Ctrl-C."""
        return bool(self.record["stop"] != "interrupted")

    @property
    def seconds(self) -> float:
        """Time spent."""
        return float(self.record["seconds"])

    def to_dict(self) -> dict[str, Any]:
        """The record."""
        return dict(self.record)

    def __repr__(self) -> str:
        return f"VerifyResult({self.record['property']}: {self.result}, {short(self.seconds)} s)"

    def _repr_html_(self) -> str:
        header = ("property", "result", "bound", "nodes", "seconds")
        numbers = (self.bound, self.record["nodes"], self.seconds)
        row = [escape(str(self.record["property"])), coloured(self.result), *(short(value) for value in numbers)]
        return f"<div>{table(header, [row])}</div>"


def verify(
    model: Union[Model, ModelSource],
    property: Union[str, os.PathLike[str]],
    *,
    branch: Union[bool, int] = True,
    patience: int = 40,
    time_limit: Optional[float] = 60.0,
    threads: Optional[int] = None,
    seed: int = 0,
) -> VerifyResult:
    """Decides a property in VNN-LIB 1.0 or 2.0: is there an input that the file describes?

    ``property`` is a file, plain or gzipped, or the text itself (it begins with a parenthesis or a comment). Other arguments are as for
    :func:`attack`; the time limit is for the whole.

    >>> model = load("models/mnist_2x16.onnx")
    >>> box = "".join(f"(declare-const X_{k} Real)(assert (>= X_{k} 0))(assert (<= X_{k} 1))" for k in range(784))
    >>> outputs = "".join(f"(declare-const Y_{k} Real)" for k in range(10))
    >>> verify(model, box + outputs + "(assert (>= Y_0 1000))").result
    'unsat'
    """
    loaded = as_model(model)
    name, text = _property(property)
    nodes = checked_branch(branch)
    options = {
        # Without branching there is one node: the whole set.
        "branch": 1 if nodes is None else min(nodes, UNLIMITED),
        "patience": integer("patience", patience, 1),
        "seed": checked_seed(seed),
        "time_limit": seconds("time_limit", time_limit),
        "threads": checked_threads(threads),
    }
    return VerifyResult(loaded, json.loads(_native.verify(loaded._native, name, text, options)))


def _property(property: Union[str, os.PathLike[str]]) -> tuple[str, Optional[str]]:
    """A file's name, or a text and what to call it."""
    if not isinstance(property, (str, os.PathLike)):
        raise InputError(f"a property is a file or the text of one, not {type(property).__name__}")
    name = os.fspath(property)
    if isinstance(property, str) and name.lstrip().startswith(("(", ";")):
        return "<text>", name
    return name, None
