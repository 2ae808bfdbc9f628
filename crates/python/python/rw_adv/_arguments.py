"""Arguments, checked: errors say what was expected, and what came instead."""

from __future__ import annotations

import math
import numbers
import operator
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from . import _native
from ._errors import InputError

#: As many nodes as it takes.
UNLIMITED = 2**63 - 1
#: Further out, float64 has no digits left to keep constraints to their tolerance.
FARTHEST = 1e9
MOST_THREADS = 1024

#: ``progress=``: True, False, or what is called with (done, total, record).
#: Pictures of adversaries in a result directory.
PICTURES = ("none", "adversaries", "all")

Progress = Union[bool, Callable[[int, int, "dict[str, Any]"], object]]


def shape_text(shape: Sequence[int]) -> str:
    """A shape as people write it: 28x28."""
    return "x".join(str(side) for side in shape) or "a single number"


def number(name: str, value: object) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, np.floating, np.integer)):
        raise InputError(f"{name} must be a number, not {value!r}")
    if not math.isfinite(float(value)):
        raise InputError(f"{name} must be finite, not {value!r}")
    return float(value)


def positive(name: str, value: object) -> float:
    """A number above 0."""
    checked = number(name, value)
    if not 0 < checked <= 1e15:
        raise InputError(f"{name} must be a positive number, not {value!r}")
    return checked


def integer(name: str, value: object, least: int, most: int = UNLIMITED) -> int:
    """A whole number between two others."""
    try:
        if isinstance(value, bool):
            raise TypeError
        checked = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InputError(f"{name} must be a whole number, not {value!r}") from None
    if not least <= checked <= most:
        upper = " on" if most == UNLIMITED else f" to {most}"
        raise InputError(f"{name} must be a whole number from {least}{upper}, not {checked}")
    return checked


def word(name: str, value: object, words: Sequence[str]) -> str:
    """One of some words."""
    if not isinstance(value, str) or value not in words:
        raise InputError(f"{name} must be one of {', '.join(map(repr, words))}, not {value!r}")
    return value


def seconds(name: str, value: object) -> Optional[float]:
    return None if value is None else positive(name, value)


def threads(value: object) -> Optional[int]:
    return None if value is None else integer("threads", value, 1, MOST_THREADS)


def branch(value: object) -> Optional[int]:
    """``branch=``: False for none, True for as many nodes as it takes, or a number of nodes."""
    if value is False or value is None:
        return None
    if value is True:
        return UNLIMITED
    return integer("branch", value, 1)


def seed(value: object) -> int:
    return integer("seed", value, 0, 2**64 - 1)


def images(
    values: npt.ArrayLike, model_shape: Sequence[int], name: str = "X"
) -> tuple[npt.NDArray[np.float32], tuple[int, ...]]:
    """Images as rows of float32 in [0, 1], and the shape that one of them came in.

    float32 that is contiguous already is not copied.
    """
    array = as_array(name, values)
    if array.dtype == np.bool_ or array.dtype.kind not in "fu" or array.dtype.kind == "u" and array.dtype != np.uint8:
        raise InputError(
            f"{name} has dtype {array.dtype}: images must be floats from 0 to 1, or uint8 from 0 to 255"
        )
    if array.ndim == 0 or not _native.fits(list(array.shape[1:]), list(model_shape)):
        if array.ndim > 0 and _native.fits(list(array.shape), list(model_shape)):
            # One image alone.
            return images(array[np.newaxis], model_shape, name)
        hint = channels_hint(array.shape[1:], model_shape)
        raise InputError(
            f"{name} has shape {shape_text(array.shape)}: expected a number of images, each {shape_text(model_shape)}"
            f" (or flat, {int(np.prod(model_shape))} values){hint}"
        )
    if array.shape[0] == 0:
        raise InputError(f"{name} holds no images")
    shape = array.shape[1:]
    flat = array.reshape(array.shape[0], -1)
    if array.dtype == np.uint8:
        return np.ascontiguousarray(flat, dtype=np.float32) / np.float32(255), shape
    with np.errstate(invalid="ignore"):
        wrong = ~((flat >= 0) & (flat <= 1))
    if wrong.any():
        image, place = np.argwhere(wrong)[0]
        value = flat[image, place]
        hint = "; divide by 255, or pass uint8" if value > 1 else ""
        raise InputError(f"{name}: value {place} of image {image} is {value}, images lie in [0, 1]{hint}")
    return np.ascontiguousarray(flat, dtype=np.float32), shape


def channels_hint(shape: Sequence[int], model_shape: Sequence[int]) -> str:
    """What to do about channels that come last where the model has them first, and the other way round."""
    if len(shape) == 3 and tuple(shape) != tuple(model_shape):
        if (shape[2], shape[0], shape[1]) == tuple(model_shape):
            return "; the channels come last: np.moveaxis(X, -1, 1)"
        if (shape[1], shape[2], shape[0]) == tuple(model_shape):
            return "; the channels come first: np.moveaxis(X, 1, -1)"
    return ""


def as_array(name: str, values: npt.ArrayLike) -> npt.NDArray[Any]:
    """An array of whatever can be one, torch's tensors among them."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    try:
        array = np.asarray(values)
    except (ValueError, TypeError) as error:
        raise InputError(f"{name} is no array: {error}") from error
    if array.dtype == object:
        raise InputError(f"{name} is no array of numbers (rows of different lengths?)")
    return array


def labels(
    values: Optional[npt.ArrayLike], count: int, classes: Sequence[str] | int, name: str = "y"
) -> Optional[list[int]]:
    """One label for each image: whole numbers, or names of classes."""
    if values is None:
        return None
    total = classes if isinstance(classes, int) else len(classes)
    array = as_array(name, values).reshape(-1)
    if len(array) != count:
        raise InputError(f"{name} has {len(array)} labels for {count} images")
    if array.dtype.kind in "US" and not isinstance(classes, int):
        return [label(name, str(value), classes) for value in array]
    if array.dtype.kind not in "iu" and not (array.dtype.kind == "f" and (array == np.floor(array)).all()):
        raise InputError(f"{name} has dtype {array.dtype}: labels must be whole numbers from 0 to {total - 1}")
    wrong = np.flatnonzero((array < 0) | (array >= total))
    if len(wrong):
        at = wrong[0]
        raise InputError(f"{name}: image {at} has label {array[at]}, the model has the classes 0 to {total - 1}")
    return [int(value) for value in array]


def label(name: str, value: object, classes: Sequence[str] | int) -> int:
    """One label, by its number or its name."""
    total = classes if isinstance(classes, int) else len(classes)
    if isinstance(value, str) and not isinstance(classes, int) and value in classes:
        return list(classes).index(value)
    if isinstance(value, str):
        raise InputError(f"{name}: there is no class {value!r}")
    return integer(name, value, 0, total - 1)


def targets(value: object, count: int, names: Optional[Sequence[str]], classes: int) -> Union[str, list[int]]:
    """``target=``: all, runner-up, a label, a class's name, or one label for each image."""
    known: Sequence[str] | int = classes if names is None else names
    if isinstance(value, str):
        if value in ("all", "runner-up"):
            return value
        if names is None or value not in names:
            raise InputError(f"target must be 'all', 'runner-up', a label, or one for each image, not {value!r}")
        return str(label("target", value, known))
    if np.ndim(value) == 0:  # type: ignore[arg-type]
        return str(label("target", value, known))
    return labels(value, count, known, "target") or []  # type: ignore[arg-type]


def bounds(name: str, value: npt.ArrayLike, model_shape: Sequence[int]) -> list[float]:
    """One finite bound for each input, from a number or an array."""
    inputs = int(np.prod(model_shape))
    array = as_array(name, value)
    if array.dtype.kind not in "fiu":
        raise InputError(f"{name} must be a number or an array of numbers, not of {array.dtype}")
    if array.ndim == 0:
        array = np.full(inputs, array)
    elif array.size != inputs or not _native.fits(list(array.shape), list(model_shape)):
        raise InputError(f"{name} has shape {shape_text(array.shape)}, expected {shape_text(model_shape)} or a number")
    flat = array.reshape(-1).astype(np.float64)
    if not (np.abs(flat) <= FARTHEST).all():
        raise InputError(f"{name}: every input needs finite bounds, between -{FARTHEST:g} and {FARTHEST:g}")
    return [float(bound) for bound in flat]


def rows(
    A: Optional[npt.ArrayLike], b: Optional[npt.ArrayLike], inputs: int
) -> list[tuple[list[tuple[int, float]], float, float]]:
    """The rows of ``A x <= b``, each with the inputs that it is about."""
    if (A is None) != (b is None):
        raise InputError("A and b go together: A x <= b")
    if A is None or b is None:
        return []
    if hasattr(A, "toarray"):
        A = A.toarray()
    matrix, right = as_array("A", A), as_array("b", b).reshape(-1)
    if matrix.ndim == 1:
        matrix = matrix[np.newaxis]
    if matrix.ndim != 2 or matrix.shape[1] != inputs:
        raise InputError(f"A has shape {shape_text(matrix.shape)}, expected one column for each of the {inputs} inputs")
    if len(right) != len(matrix):
        raise InputError(f"b has {len(right)} entries for the {len(matrix)} rows of A")
    matrix, right = matrix.astype(np.float64), right.astype(np.float64)
    if not np.isfinite(matrix).all() or np.isnan(right).any() or (right == -np.inf).any():
        raise InputError("A and b must be numbers (b may be inf: no limit)")
    found = []
    for row, limit in zip(matrix, right):
        terms = [(int(k), float(row[k])) for k in np.flatnonzero(row)]
        if not terms and limit < 0:
            raise InputError("A, b: no input keeps all bounds and constraints")
        if terms and limit < np.inf:
            found.append((terms, -math.inf, float(limit)))
    return found


def domain(
    lower: npt.ArrayLike,
    upper: npt.ArrayLike,
    A: Optional[npt.ArrayLike],
    b: Optional[npt.ArrayLike],
    model_shape: Sequence[int],
    integers: Iterable[int] = (),
    binaries: Iterable[int] = (),
) -> dict[str, Any]:
    """A box cut by linear constraints, with whole numbers for some inputs, for the native half."""
    low, high = bounds("lower", lower, model_shape), bounds("upper", upper, model_shape)
    whole = inputs("integers", integers, len(low))
    for place in inputs("binaries", binaries, len(low)):
        if low[place] > 1 or high[place] < 0:
            raise InputError(f"binaries: neither 0 nor 1 is left for input {place}: from {low[place]} to {high[place]}")
        low[place], high[place] = max(low[place], 0.0), min(high[place], 1.0)
        whole.append(place)
    for place, (least, most) in enumerate(zip(low, high)):
        if least > most:
            raise InputError(f"lower is above upper for input {place}: {least} > {most}")
    return {"lower": low, "upper": high, "rows": rows(A, b, len(low)), "integers": sorted(set(whole))}


def inputs(name: str, value: Iterable[int], count: int) -> list[int]:
    """``integers=`` and ``binaries=``: places of inputs, as in a flat list of them."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise InputError(f"{name} must be a list of inputs, such as [2, 5], not {value!r}")
    return [integer(name, place, 0, count - 1) for place in value]


def objective(value: object, outputs: int, constant: object) -> dict[str, Any]:
    """``objective=``: outputs and their weights, as a dictionary or an array."""
    if isinstance(value, Mapping):
        terms = [(integer("objective", k, 0, outputs - 1), number(f"objective[{k}]", v)) for k, v in value.items()]
    else:
        array = as_array("objective", value)  # type: ignore[arg-type]
        if array.shape != (outputs,) or array.dtype.kind not in "fiu":
            raise InputError(f"objective must be a dictionary output -> weight, or {outputs} weights, not {value!r}")
        terms = [(k, number(f"objective[{k}]", float(v))) for k, v in enumerate(array)]
    terms = sorted((k, v) for k, v in terms if v != 0)
    shift = number("constant", constant)
    text = " + ".join(f"{v!r}*y{k}" for k, v in terms) + (f" + {shift!r}" if shift else "")
    return {"terms": terms, "constant": shift, "objective": text.lstrip(" +").replace("+ -", "- ") or "0"}
