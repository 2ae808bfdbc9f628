"""Attacks on images: what was found, and what was proved."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Iterable, Iterator, Optional, Sequence, Union, overload

import numpy as np
import numpy.typing as npt

from . import _native
from ._arguments import PICTURES, Progress, as_array, integer, positive, seconds, targets, word
from ._arguments import branch as checked_branch
from ._arguments import images as checked_images
from ._arguments import labels as checked_labels
from ._arguments import seed as checked_seed
from ._arguments import threads as checked_threads
from ._errors import InputError
from ._model import Model, ModelSource, load
from ._optional import needed
from ._progress import ProgressListener
from ._saved import SavedRun, optional_number
from ._sets import NORMS
from ._show import coloured, display, escape, figure, picture, short, table

GOALS = ("verdict", "optimum")
METHODS = ("rw", "paper", "sample-mip", "milp", "apgd", "frank-wolfe")
#: Images that a table in a notebook shows.
MOST_SHOWN = 20


def as_model(model: Union[Model, ModelSource]) -> Model:
    """A model, loaded if it is not yet."""
    return model if isinstance(model, Model) else load(model)


@dataclass(frozen=True, eq=False)
class TargetResult:
    """What is known about one image and one target."""

    model: Model
    #: The image, in the shape that it was given in.
    original: npt.NDArray[np.float32]
    #: The record as the command line writes it to results.jsonl.
    record: dict[str, Any]
    #: Where the record is in the run.
    _place: int
    _run: Optional[_native.AttackRun]

    @cached_property
    def point(self) -> npt.NDArray[np.float32]:
        """The best input that was found, adversarial or not, in the image's shape."""
        assert self._run is not None, "a result without its run has its point"
        return self._run.point(self._place).reshape(self.original.shape)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "point": self.point, "_run": None}

    @property
    def target(self) -> int:
        """The label that an adversary should get."""
        return int(self.record["target"])

    @property
    def verdict(self) -> str:
        """``adversarial``, ``robust`` or ``unknown``."""
        return str(self.record["verdict"])

    @property
    def margin(self) -> float:
        """The target's output minus the predicted label's, at :attr:`point`: positive for an adversary."""
        return float(self.record["margin"])

    @property
    def bound(self) -> Optional[float]:
        """Proved: no input within the budget has a larger margin. None if no bound was needed."""
        return optional_number(self.record["upper_bound"])

    @property
    def gap(self) -> Optional[float]:
        """How much larger the margin could at most be."""
        return optional_number(self.record["gap"])

    @property
    def adversarial(self) -> Optional[npt.NDArray[np.float32]]:
        """The adversary in the image's shape, exactly as it was replayed in the ONNX file; None if none was found."""
        return self.point if self.verdict == "adversarial" else None

    @property
    def distance(self) -> float:
        """Distance of :attr:`point` from the image, in the budget's norm."""
        return float(self.record["distance"])

    @property
    def changed_pixels(self) -> int:
        """Number of values in which they differ."""
        return int(self.record["changed_pixels"])

    @property
    def seconds(self) -> float:
        """Time spent on this target."""
        return float(self.record["seconds"])

    @property
    def stop(self) -> str:
        """Why work ended: ``first``, ``robust``, ``optimal``, ``no_gain``, ``time``, ``nodes`` or ``interrupted``."""
        return str(self.record["stop"])

    @property
    def pattern(self) -> list[npt.NDArray[np.bool_]]:
        """The activation pattern at :attr:`point`, one array for each hidden layer: a warm start for a MILP's binaries."""
        return [states[0] for states in self.model.pattern(self.point.reshape(1, -1))]

    def plot(self) -> Any:
        """A matplotlib figure of the image, the changed image and the difference."""
        name = self.model.class_name
        changed = f"{self.verdict}: {name(self.target)}" if self.verdict == "adversarial" else f"best for {name(self.target)}"
        titles = (
            f"image {self.record['image']}: {name(int(self.record['predicted']))}",
            f"{changed}, margin {short(self.margin)}",
            f"difference, {self.record['norm']} {short(self.distance)}",
        )
        return figure(self.model, self.original, self.point, titles)

    def to_dict(self) -> dict[str, Any]:
        """The record."""
        return dict(self.record)

    def __repr__(self) -> str:
        name = self.model.class_name(self.target)
        return f"TargetResult({name}: {self.verdict}, margin {short(self.margin)}, bound {short(self.bound)})"

    def _repr_html_(self) -> str:
        row = _html_row(self.model, self.model.class_name(self.target), self)
        return picture(self.model, self.original, self.point) + table(_HTML_HEADER, [row])


_HTML_HEADER = ("target", "verdict", "margin", "bound", "distance", "changed", "seconds")


def _html_row(model: Model, first: str, result: TargetResult) -> list[str]:
    numbers = (result.margin, result.bound, result.distance, result.changed_pixels, result.seconds)
    return [escape(first), coloured(result.verdict), *(short(value) for value in numbers)]


@dataclass(frozen=True, eq=False)
class ImageResult:
    """What is known about one image, over all its targets: the worst one counts."""

    model: Model
    #: Place of the image in the array that was given.
    index: int
    #: The image, in the shape that it was given in.
    original: npt.NDArray[np.float32]
    #: The true label, if it is known.
    label: Optional[int]
    #: The label that the model gives.
    predicted: int
    #: One result for each target that is done.
    targets: tuple[TargetResult, ...]
    #: Number of targets that were asked for.
    asked: int

    @property
    def best(self) -> Optional[TargetResult]:
        """The target that comes closest to being reached: an adversary with the largest margin, or else the largest margin."""
        return max(self.targets, key=lambda target: (target.verdict == "adversarial", target.margin), default=None)

    @property
    def verdict(self) -> str:
        """``adversarial`` if some target was reached; ``robust`` if it is proved that none can be; otherwise ``unknown``. ``skipped`` if
        there was nothing to ask, because the image is predicted as its target already."""
        return _verdict([target.verdict for target in self.targets], self.asked)

    @property
    def outcome(self) -> str:
        """What this means for accuracy: ``misclassified``, ``attacked``, ``certified`` or ``undecided``."""
        return _outcome(self.verdict, self.label, self.predicted)

    @property
    def target(self) -> Optional[int]:
        """The target of :attr:`best`."""
        return None if self.best is None else self.best.target

    @property
    def margin(self) -> Optional[float]:
        """The margin of :attr:`best`: positive for an adversary."""
        return None if self.best is None else self.best.margin

    @property
    def bound(self) -> Optional[float]:
        """Proved: no input within the budget has a larger margin, for any target. None if one of them has no bound."""
        bounds = [target.bound for target in self.targets]
        known = [bound for bound in bounds if bound is not None]
        return max(known) if known and len(known) == self.asked else None

    @property
    def adversarial(self) -> Optional[npt.NDArray[np.float32]]:
        """The adversary of :attr:`best`, in the image's shape; None if none was found."""
        return None if self.best is None else self.best.adversarial

    @property
    def point(self) -> npt.NDArray[np.float32]:
        """The best input that was found, adversarial or not; the image itself if there was no search."""
        return self.original if self.best is None else self.best.point

    @property
    def distance(self) -> Optional[float]:
        """Distance of :attr:`point` from the image."""
        return None if self.best is None else self.best.distance

    @property
    def changed_pixels(self) -> Optional[int]:
        """Number of values in which they differ."""
        return None if self.best is None else self.best.changed_pixels

    @property
    def seconds(self) -> float:
        """Time spent on all targets."""
        return sum(target.seconds for target in self.targets)

    @property
    def pattern(self) -> list[npt.NDArray[np.bool_]]:
        """The activation pattern at :attr:`point`, one array for each hidden layer: a warm start for a MILP's binaries."""
        return [states[0] for states in self.model.pattern(self.point.reshape(1, -1))]

    def plot(self) -> Any:
        """A matplotlib figure of the image, the changed image and the difference."""
        if self.best is None:
            raise InputError(f"image {self.index} was not searched: there is nothing to plot")
        return self.best.plot()

    def to_dict(self) -> dict[str, Any]:
        """One row: what :meth:`AttackResult.to_pandas` shows."""
        names = ("label", "predicted", "verdict", "target", "margin", "bound", "distance", "changed_pixels", "seconds")
        row: dict[str, Any] = {"image": self.index}
        row.update((name, getattr(self, name)) for name in names)
        return row

    def __repr__(self) -> str:
        name = self.model.class_name
        true = "" if self.label in (None, self.predicted) else f", labelled {name(int(self.label or 0))}"
        reached = "" if self.target is None else f" as {name(self.target)}" if self.verdict == "adversarial" else ""
        return (
            f"ImageResult({self.index}: predicted {name(self.predicted)}{true}, {self.verdict}{reached}, "
            f"margin {short(self.margin)}, bound {short(self.bound)})"
        )

    def _repr_html_(self) -> str:
        name = self.model.class_name
        title = f"image {self.index}, predicted {escape(name(self.predicted))}: {coloured(self.verdict)}"
        shown = "" if self.best is None else picture(self.model, self.original, self.point, 168)
        rows = [_html_row(self.model, name(target.target), target) for target in self.targets]
        return f"<div><p>{title}</p>{shown}{table(_HTML_HEADER, rows) if rows else ''}</div>"


def _verdict(of_targets: Sequence[str], asked: int) -> str:
    """The verdict of an image, from those of the targets that are done."""
    if "adversarial" in of_targets:
        return "adversarial"
    if asked == 0:
        return "skipped"
    return "robust" if len(of_targets) == asked == of_targets.count("robust") else "unknown"


def _outcome(verdict: str, label: Optional[int], predicted: int) -> str:
    if label is not None and label != predicted:
        return "misclassified"
    return {"adversarial": "attacked", "robust": "certified"}.get(verdict, "undecided")


class AttackResult(SavedRun, Sequence[ImageResult]):
    """What is known about images: ``result[4]`` is the fourth image's, a slice is a result.

    >>> model = load("models/mnist_2x16.onnx")
    >>> X, y = read_images("data", model, count=5)
    >>> result = attack(model, X, y, delta=5)
    >>> print(repr(result))
    AttackResult(5 images: 3 robust, 2 adversarial; certified accuracy 0.6)
    >>> result[4].verdict, [image.verdict for image in result[:2]]
    ('adversarial', ['robust', 'robust'])
    """

    def __init__(
        self,
        model: Model,
        images: npt.NDArray[np.float32],
        labels: Optional[list[int]],
        run: _native.AttackRun,
    ) -> None:
        self.model = model
        #: The images as they were given, float32 in [0, 1].
        self.images = images
        #: Seconds in all.
        self.seconds = run.seconds
        self._run: Optional[_native.AttackRun] = run
        self._packed: Optional[bytes] = None
        self._complete: Optional[bool] = run.complete
        # Of all images of the run.
        self._labels = labels
        self._predicted, self._asked, self._offsets = run.predicted(), run.asked(), run.offsets()
        # Which of them are ours, and what was made of them so far. Few results are looked at one by one, so none is made before that.
        self._indices: Sequence[int] = range(len(images))
        self._results: dict[int, ImageResult] = {}

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What was asked for."""
        settings: dict[str, Any] = json.loads(self._needed_run().settings)
        return settings

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """The records as the command line writes them to results.jsonl: one for each image and target."""
        return [target.record for image in self for target in image.targets]

    @property
    def complete(self) -> bool:
        """Whether everything that was asked has an answer; False after Ctrl-C."""
        if self._complete is None:
            every = all(len(result.targets) == result.asked for result in self)
            self._complete = every and all(record["stop"] != "interrupted" for record in self.records)
        return self._complete

    def _needed_run(self) -> _native.AttackRun:
        assert self._run is not None, "a result without its run has everything that is made of it"
        return self._run

    def _make(self, index: int, original: npt.NDArray[np.float32], records: list[dict[str, Any]]) -> ImageResult:
        """The result of one image of the run."""
        run, first = self._needed_run(), self._offsets[index]
        made = (TargetResult(self.model, original, record, first + k, run) for k, record in enumerate(records))
        label = None if self._labels is None else self._labels[index]
        predicted, asked = self._predicted[index], self._asked[index]
        result = ImageResult(self.model, index, original, label, predicted, tuple(made), asked)
        self._results[index] = result
        return result

    def _parsed(self, begin: int, end: int) -> list[dict[str, Any]]:
        records: list[dict[str, Any]] = json.loads(self._needed_run().records(begin, end))
        return records

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, index: int) -> ImageResult: ...
    @overload
    def __getitem__(self, index: slice) -> AttackResult: ...
    def __getitem__(self, index: Union[int, slice]) -> Union[ImageResult, AttackResult]:
        if not isinstance(index, slice):
            image = self._indices[index]
            found = self._results.get(image)
            if found is None:
                records = self._parsed(self._offsets[image], self._offsets[image + 1])
                found = self._make(image, self.images[index], records)
            return found
        part = object.__new__(AttackResult)
        part.__dict__.update(self.__dict__)
        part._indices = self._indices[index]
        part.images = self.images[index]
        part._packed = part._complete = None
        part.__dict__.pop("records", None)
        part.__dict__.pop("_verdicts", None)
        return part

    def __iter__(self) -> Iterator[ImageResult]:
        if len(self._results) < len(self) == len(self._offsets) - 1:
            # All of them: one text is parsed faster than many.
            records = self._parsed(0, self._offsets[-1])
            for index, original in zip(self._indices, self.images):
                if index not in self._results:
                    self._make(index, original, records[self._offsets[index] : self._offsets[index + 1]])
        return (self[place] for place in range(len(self)))

    @cached_property
    def _verdicts(self) -> list[str]:
        """The verdict of each image. No result is made for it."""
        if self._run is None:
            return [result.verdict for result in self]
        verdicts, offsets = self._run.verdicts(), self._offsets
        return [_verdict(verdicts[offsets[k] : offsets[k + 1]], self._asked[k]) for k in self._indices]

    @property
    def verdicts(self) -> dict[str, int]:
        """Number of images per verdict."""
        return _counted(self._verdicts)

    @property
    def outcomes(self) -> dict[str, int]:
        """Number of images per outcome: certified, undecided, attacked, misclassified. Images that were skipped do not count."""
        labels: Sequence[Optional[int]] = self._labels or [None] * len(self._predicted)
        known = zip(self._indices, self._verdicts)
        return _counted(_outcome(verdict, labels[k], self._predicted[k]) for k, verdict in known if verdict != "skipped")

    @property
    def certified_accuracy(self) -> float:
        """The share of images that are predicted as labelled (where the label is known) and for which every target that was asked for is
        proved to be out of reach."""
        outcomes = self.outcomes
        total = sum(outcomes.values())
        return 1.0 if total == 0 else outcomes.get("certified", 0) / total

    @property
    def success(self) -> npt.NDArray[np.bool_]:
        """Which images have an adversary."""
        return np.array([verdict == "adversarial" for verdict in self._verdicts], dtype=np.bool_)

    def adversaries(self, missing: str = "original") -> npt.NDArray[np.float32]:
        """Adversaries as one array, for adversarial training.

        For an image without one there is, by ``missing``: ``original``, the image itself, so that rows match labels; ``best``, the input
        that came closest; or ``drop``, nothing: then rows are those of :attr:`success`.
        """
        word("missing", missing, ("original", "best", "drop"))
        if missing == "drop":
            return self.adversaries()[self.success]
        rows = [result.point if missing == "best" or result.verdict == "adversarial" else result.original for result in self]
        return np.stack(rows) if rows else self.images[:0]

    def to_dict(self) -> dict[str, Any]:
        """Everything but arrays: settings, counts and records."""
        return {
            "settings": self.settings,
            "complete": self.complete,
            "seconds": self.seconds,
            "certified_accuracy": self.certified_accuracy,
            "outcomes": self.outcomes,
            "records": self.records,
        }

    def to_pandas(self, by: str = "image") -> Any:
        """A data frame with a row for each image, or, by ``target``, for each image and target as in results.jsonl."""
        pandas = needed("pandas", "to_pandas()")
        if word("by", by, ("image", "target")) == "target":
            return pandas.DataFrame(self.records)
        return pandas.DataFrame([result.to_dict() for result in self])

    def save(self, directory: Union[str, os.PathLike[str]], pictures: str = "adversaries") -> None:
        """Writes the directory that ``rw-adv --out`` writes: records, summary.json, arrays and pictures of the adversaries, report.html;
        and, unless ``proofs=False`` was asked for, proofs/ for ``rw-adv check-proof``. The directory must not hold results yet.

        ``pictures`` in adversarial/ are ``none``, the ``adversaries`` alone, or ``all``; a result that was pickled has those of the adversaries.
        """
        word("pictures", pictures, PICTURES)
        self._save(directory, list(self._indices), pictures)

    def show(self) -> None:
        """Shows the result: in a notebook as HTML, elsewhere as a table on stdout."""
        display(self._repr_html_(), str(self))

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {verdict}" for verdict, count in self.verdicts.items())
        partial = "" if self.complete else "; not complete"
        plural = "" if len(self) == 1 else "s"
        return (
            f"AttackResult({len(self)} image{plural}: {counts or 'none'}; "
            f"certified accuracy {self.certified_accuracy:.4g}{partial})"
        )

    def __str__(self) -> str:
        lines = [repr(self), "image  predicted  verdict      target      margin       bound"]
        name = self.model.class_name
        for result in self:
            target = "-" if result.target is None else name(result.target)
            lines.append(
                f"{result.index:5}  {name(result.predicted):9}  {result.verdict:11}  {target:6}  "
                f"{short(result.margin):>10}  {short(result.bound):>10}"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        header = ("", "image", "predicted", "verdict", "target", "margin", "bound", "distance")
        rows = []
        for result in self[:MOST_SHOWN]:
            name = self.model.class_name
            shown = "" if result.best is None else picture(self.model, result.original, result.point, 48)
            target = "–" if result.target is None else escape(name(result.target))
            numbers = (result.margin, result.bound, result.distance)
            predicted = escape(name(result.predicted))
            verdict = coloured(result.verdict)
            rows.append([shown, str(result.index), predicted, verdict, target, *(short(value) for value in numbers)])
        more = len(self) - MOST_SHOWN
        rest = f"<p>and {more} more</p>" if more > 0 else ""
        return f"<div><p>{escape(repr(self))}</p>{table(header, rows)}{rest}</div>"

    def __getstate__(self) -> dict[str, Any]:
        # What is made of the run while it is there.
        made = {"settings": self.settings, "records": self.records, "_verdicts": self._verdicts, "_complete": self.complete}
        results = {result.index: result for result in self}
        return {**super().__getstate__(), **made, "_results": results}


def _counted(words: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for each in words:
        counts[each] = counts.get(each, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: -item[1]))


def attack(
    model: Union[Model, ModelSource],
    X: npt.ArrayLike,
    y: Optional[npt.ArrayLike] = None,
    *,
    delta: float,
    norm: str = "l1",
    target: Union[str, int, npt.ArrayLike] = "all",
    goal: str = "verdict",
    branch: Union[bool, int, None] = None,
    gap: float = 1e-4,
    method: str = "rw",
    patience: int = 40,
    time_limit: Optional[float] = 30.0,
    threads: Optional[int] = None,
    seed: int = 0,
    progress: Progress = True,
    proofs: bool = True,
    check_proofs: bool = False,
) -> AttackResult:
    """Can images be changed, within a budget, so that the model gives them another label?

    X
        Images: float32 or float64 in [0, 1], or uint8; in the model's shape or flat; one image or many. Torch tensors, too.
    y
        True labels, if known: an image whose label the model gets wrong does not count as certified.
    delta, norm
        The budget: how far an image may be changed, in all pixels together (``l1``) or in each (``linf``).
    target
        ``all`` labels but the predicted one, ``runner-up``, a label, a class's name, or one label for each image.
    goal
        ``verdict``: one adversary, or the proof that there is none. ``optimum``: the largest margin and the smallest bound.
    branch
        Branch and bound where one bound does not decide: True for as many nodes as it takes, a number of nodes, or False. None: up to 250
        nodes for a verdict, fewer for large networks. As ``--branch``.
    gap
        With ``branch`` and ``goal="optimum"``: below this gap a margin counts as optimal.
    method, patience
        The algorithm, and the starts in a row without gain that end a search. As on the command line.
    time_limit
        Seconds for each image and target; None for no limit. What is not decided by then is ``unknown``.
    threads
        By default one per core, or what Slurm grants.
    seed
        Same seed, same records, whatever the number of threads (where no time limit interferes), and those of the command line.
    progress
        A bar, if tqdm is installed and there is a terminal or a notebook; or a function of (done, total, record).
    proofs
        Keep what proves the bounds, for :meth:`AttackResult.save`.
    check_proofs
        Have every robust and optimal answer checked by a checker that shares no code with the search; SolveError if a proof does not hold.
        As ``--check-proofs``.

    Ctrl-C ends the search and returns what is known; ``result.complete`` is False then.

    >>> model = load("models/mnist_2x16.onnx")
    >>> X, y = read_images("data", model, count=3)
    >>> result = attack(model, X, y, delta=1, norm="l1", target="runner-up")
    >>> result[0].verdict, result[0].bound < 0
    ('robust', True)
    """
    loaded = as_model(model)
    rows, shape = checked_images(X, loaded.input_shape)
    classes = loaded.outputs if loaded.classes is None else loaded.classes
    if loaded.outputs < 2:
        raise InputError("the model has one output: a classifier needs at least two")
    labels = checked_labels(y, len(rows), classes)
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
        "delta": positive("delta", delta),
        "goal": word("goal", goal, GOALS),
        "method": word("method", method, METHODS),
        "branch": None if branch is None else checked_branch(branch) or 0,
        "gap": positive("gap", gap),
        "proofs": bool(proofs),
        "check_proofs": bool(check_proofs),
    }
    listening = ProgressListener(progress, "attack")
    try:
        native = _native.attack(loaded._native, rows, labels, run, options, listening.listener())
    finally:
        listening.close()
    return AttackResult(loaded, rows.reshape(len(rows), *shape), labels, native)


class Attack:
    """An attack as foolbox and torchattacks have it: ``Attack(model, delta)(X, y)`` gives changed images.

    Where no adversary was found there is the input that came closest. Images keep their shape; a torch tensor gives a torch tensor on
    the same device, everything else a float32 array. Options are those of :func:`attack`; nothing is proved unless ``branch`` asks for it.

    >>> model = load("models/mnist_2x16.onnx")
    >>> X, y = read_images("data", model, count=5)
    >>> X_adv = Attack(model, delta=10)(X, y)
    >>> X_adv.shape, bool((model.predict(X_adv) != y).all())
    ((5, 28, 28), True)
    """

    def __init__(self, model: Union[Model, ModelSource], delta: float, **options: Any) -> None:
        self.model = as_model(model)
        self.delta = positive("delta", delta)
        self.options: dict[str, Any] = {"branch": False, "progress": False, "proofs": False, **options}
        #: The result of the last call.
        self.result: Optional[AttackResult] = None

    def __call__(self, X: Any, y: Optional[npt.ArrayLike] = None) -> Any:
        """Changed images."""
        self.result = attack(self.model, X, y, delta=self.delta, **self.options)
        found = self.result.adversaries("best")
        if hasattr(X, "detach"):
            torch = needed("torch", "an attack on tensors")
            return torch.from_numpy(found).reshape(X.shape).to(X.device)
        given = as_array("X", X)
        return found.reshape(given.shape)

    def __repr__(self) -> str:
        return f"Attack({self.model!r}, delta={self.delta})"
