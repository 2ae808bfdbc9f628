"""How far images may be changed before their label falls."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Iterator, Optional, Sequence, Union, overload

import numpy as np
import numpy.typing as npt

from . import _native
from ._arguments import PICTURES, Progress, integer, number, positive, seconds, targets, word
from ._arguments import branch as checked_branch
from ._arguments import images as checked_images
from ._arguments import labels as checked_labels
from ._arguments import seed as checked_seed
from ._arguments import threads as checked_threads
from ._attack import MOST_SHOWN, as_model
from ._errors import InputError
from ._model import Model, ModelSource
from ._optional import needed
from ._progress import ProgressListener
from ._saved import SavedRun, optional_number
from ._sets import NORMS
from ._show import display, escape, figure, picture, short, table


#: Nodes of branch and bound for each budget, if no number is given: those of the command line.
NODES = 2000


@dataclass(frozen=True, eq=False)
class ImageRadius:
    """The radii of one image."""

    model: Model
    #: The image, in the shape that it was given in.
    original: npt.NDArray[np.float32]
    #: The nearest adversary that was found, in the same shape; None if none was.
    adversarial: Optional[npt.NDArray[np.float32]]
    #: The record as the command line writes it to radii.jsonl.
    record: dict[str, Any]

    @property
    def index(self) -> int:
        """Place of the image in the array that was given."""
        return int(self.record["image"])

    @property
    def predicted(self) -> int:
        """The label that the model gives, and whose radii these are."""
        return int(self.record["predicted"])

    @property
    def label(self) -> Optional[int]:
        """The true label, if it is known."""
        value = self.record["label"]
        return None if value is None else int(value)

    @property
    def certified(self) -> float:
        """Proved: no input this near gets another label."""
        return float(self.record["certified_radius"])

    @property
    def attacked(self) -> Optional[float]:
        """Distance of the nearest adversary that was found."""
        return optional_number(self.record["attack_radius"])

    @property
    def target(self) -> Optional[int]:
        """The label of that adversary."""
        value = self.record["target"]
        return None if value is None else int(value)

    @property
    def seconds(self) -> float:
        """Time spent on this image."""
        return float(self.record["seconds"])

    def plot(self) -> Any:
        """A matplotlib figure of the image, the nearest adversary and the difference."""
        if self.adversarial is None:
            raise InputError(f"image {self.index} has no adversary: there is nothing to plot")
        name = self.model.class_name
        titles = (
            f"image {self.index}: {name(self.predicted)}",
            f"nearest adversary: {name(int(self.target or 0))}",
            f"difference, {self.record['norm']} {short(self.attacked)}",
        )
        return figure(self.model, self.original, self.adversarial, titles)

    def to_dict(self) -> dict[str, Any]:
        """The record."""
        return dict(self.record)

    def __repr__(self) -> str:
        name = self.model.class_name(self.predicted)
        return f"ImageRadius({self.index}: predicted {name}, certified {short(self.certified)}, attacked {short(self.attacked)})"

    def _html_row(self, height: int) -> list[str]:
        shown = "" if self.adversarial is None else picture(self.model, self.original, self.adversarial, height)
        target = "–" if self.target is None else escape(self.model.class_name(self.target))
        predicted = escape(self.model.class_name(self.predicted))
        return [shown, str(self.index), predicted, short(self.certified), short(self.attacked), target, short(self.seconds)]

    def _repr_html_(self) -> str:
        return f"<div>{table(_HTML_HEADER, [self._html_row(112)])}</div>"


_HTML_HEADER = ("", "image", "predicted", "certified", "attacked", "as", "seconds")


class RadiusResult(SavedRun, Sequence[ImageRadius]):
    """The radii of images.

    >>> model = load("models/mnist_2x16.onnx")
    >>> X, y = read_images("data", model, count=2)
    >>> result = radius(model, X, y, time_limit=None)
    >>> len(result), result.complete, result[0].predicted
    (2, True, 7)
    >>> bool((result.certified <= result.attacked).all())
    True
    """

    def __init__(self, model: Model, images: npt.NDArray[np.float32], run: _native.RadiusRun) -> None:
        self.model = model
        #: Seconds in all.
        self.seconds = run.seconds
        #: Whether everything that was asked has an answer; False after Ctrl-C.
        self.complete = run.complete
        self._run: Optional[_native.RadiusRun] = run
        self._packed: Optional[bytes] = None
        self._results: list[ImageRadius] = []
        for record, point in zip(json.loads(run.records()), run.points()):
            original = images[int(record["image"])]
            adversarial = None if point is None else point.reshape(original.shape)
            self._results.append(ImageRadius(model, original, adversarial, record))

    def __len__(self) -> int:
        return len(self._results)

    @overload
    def __getitem__(self, index: int) -> ImageRadius: ...
    @overload
    def __getitem__(self, index: slice) -> RadiusResult: ...
    def __getitem__(self, index: Union[int, slice]) -> Union[ImageRadius, RadiusResult]:
        if not isinstance(index, slice):
            return self._results[index]
        part = object.__new__(RadiusResult)
        part.__dict__.update(self.__dict__)
        part._results = self._results[index]
        part._packed = None
        return part

    def __iter__(self) -> Iterator[ImageRadius]:
        return iter(self._results)

    @property
    def records(self) -> list[dict[str, Any]]:
        """The records as the command line writes them to radii.jsonl."""
        return [result.record for result in self]

    @property
    def certified(self) -> npt.NDArray[np.float64]:
        """The certified radii."""
        return np.array([result.certified for result in self], dtype=np.float64)

    @property
    def attacked(self) -> npt.NDArray[np.float64]:
        """The distances of the nearest adversaries; inf where none was found."""
        return np.array([np.inf if result.attacked is None else result.attacked for result in self], dtype=np.float64)

    def to_dict(self) -> dict[str, Any]:
        """Everything but arrays."""
        return {"complete": self.complete, "seconds": self.seconds, "records": self.records}

    def to_pandas(self) -> Any:
        """A data frame with a row for each image, as in radii.jsonl."""
        return needed("pandas", "to_pandas()").DataFrame(self.records)

    def save(self, directory: Union[str, os.PathLike[str]], pictures: str = "adversaries") -> None:
        """Writes the directory that ``rw-adv radius --out`` writes; ``pictures`` as for :meth:`AttackResult.save`. It must not hold results
        yet."""
        word("pictures", pictures, PICTURES)
        self._save(directory, [result.index for result in self], pictures)

    def show(self) -> None:
        """Shows the result: in a notebook as HTML, elsewhere as a table on stdout."""
        display(self._repr_html_(), str(self))

    def __repr__(self) -> str:
        if not self._results:
            return "RadiusResult(0 images)"
        certified, found = self.certified, self.attacked[np.isfinite(self.attacked)]
        attacked = f"{found.min():.2g} to {found.max():.2g}" if len(found) else "none"
        plural = "" if len(self) == 1 else "s"
        partial = "" if self.complete else "; not complete"
        return (
            f"RadiusResult({len(self)} image{plural}: certified {certified.min():.2g} to {certified.max():.2g}, "
            f"attacked {attacked}{partial})"
        )

    def __str__(self) -> str:
        lines = [repr(self), "image  predicted   certified    attacked  as"]
        for result in self:
            name = self.model.class_name
            target = "-" if result.target is None else name(result.target)
            lines.append(
                f"{result.index:5}  {name(result.predicted):9}  {short(result.certified):>10}  {short(result.attacked):>10}  {target}"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [result._html_row(48) for result in self._results[:MOST_SHOWN]]
        more = len(self) - MOST_SHOWN
        rest = f"<p>and {more} more</p>" if more > 0 else ""
        return f"<div><p>{escape(repr(self))}</p>{table(_HTML_HEADER, rows)}{rest}</div>"


def radius(
    model: Union[Model, ModelSource],
    X: npt.ArrayLike,
    y: Optional[npt.ArrayLike] = None,
    *,
    norm: str = "l1",
    target: Union[str, int, npt.ArrayLike] = "all",
    max_delta: Optional[float] = None,
    precision: float = 0.01,
    branch: Union[bool, int] = False,
    patience: int = 10,
    time_limit: Optional[float] = 60.0,
    threads: Optional[int] = None,
    seed: int = 0,
    progress: Progress = True,
) -> RadiusResult:
    """How far can each image be changed: the largest certified budget, and the nearest adversary found.

    X, y, norm, target, threads, seed, progress
        As for :func:`attack`.
    max_delta
        The largest budget tried; by default one that covers all inputs.
    precision
        Of the radii, relative to each radius, or to one grey level (1/255) if that is larger.
    branch
        Branch and bound between the two radii: a number of nodes for each budget tried, True for 2000. As ``--branch``.
    time_limit
        Seconds for each image; None for no limit.

    >>> model = load("models/mnist_2x16.onnx")
    >>> X, y = read_images("data", model, count=1)
    >>> found = radius(model, X[0], norm="linf", time_limit=None)[0]
    >>> 0 < found.certified < found.attacked < 0.1
    True
    """
    loaded = as_model(model)
    rows, shape = checked_images(X, loaded.input_shape)
    classes = loaded.outputs if loaded.classes is None else loaded.classes
    if loaded.outputs < 2:
        raise InputError("the model has one output: a classifier needs at least two")
    labels = checked_labels(y, len(rows), classes)
    fine = number("precision", precision)
    if not 1e-6 <= fine <= 0.5:
        raise InputError(f"precision must be a number from 0.000001 to 0.5, not {precision!r}")
    run: dict[str, Any] = {
        "norm": word("norm", norm, NORMS),
        "target": targets(target, len(rows), loaded.classes, loaded.outputs),
        "seed": checked_seed(seed),
        "patience": integer("patience", patience, 1),
        "time_limit": seconds("time_limit", time_limit),
        "threads": checked_threads(threads),
        "classes": list(loaded.classes or ()),
    }
    options = {
        "max_delta": None if max_delta is None else positive("max_delta", max_delta),
        "precision": fine,
        "branch": NODES if branch is True else checked_branch(branch),
    }
    listening = ProgressListener(progress, "radius")
    try:
        native = _native.radius(loaded._native, rows, labels, run, options, listening.listener())
    finally:
        listening.close()
    return RadiusResult(loaded, rows.reshape(len(rows), *shape), native)
