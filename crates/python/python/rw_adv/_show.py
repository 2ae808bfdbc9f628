"""Results as HTML and as figures."""

from __future__ import annotations

from typing import Any, Iterable, Optional, Sequence

import numpy as np
import numpy.typing as npt

from . import _native
from ._model import Model
from ._optional import needed

COLOURS = {
    "adversarial": "#b42318",
    "sat": "#b42318",
    "robust": "#067647",
    "unsat": "#067647",
    "unknown": "#8a6100",
    "timeout": "#8a6100",
    "skipped": "#667085",
}

_STYLE = "border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums"
_CELL = "padding:3px 10px;text-align:{align};border-bottom:1px solid rgba(128,128,128,.25)"


def escape(text: str) -> str:
    """Text as it stands in HTML."""
    from html import escape as escaped

    return escaped(text)


def coloured(verdict: Optional[str]) -> str:
    """A verdict in its colour."""
    text = verdict or "none"
    return f'<b style="color:{COLOURS.get(text, "inherit")}">{escape(text)}</b>'


def short(value: Any) -> str:
    """A number with the digits that matter; nothing for nothing."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are HTML; headers are text. The first column is text, the others are numbers."""

    def line(tag: str, cells: Sequence[str]) -> str:
        aligned = (
            f'<{tag} style="{_CELL.format(align="left" if place == 0 else "right")}">{cell}</{tag}>'
            for place, cell in enumerate(cells)
        )
        return f"<tr>{''.join(aligned)}</tr>"

    head = line("th", [escape(text) for text in header])
    body = "".join(line("td", cells) for cells in rows)
    return f'<table style="{_STYLE}"><thead>{head}</thead><tbody>{body}</tbody></table>'


def picture(model: Model, original: npt.NDArray[np.float32], changed: npt.NDArray[np.float32], height: int = 112) -> str:
    """Image, changed image and difference as one element; empty for inputs that are no pictures."""
    png = _native.strip(list(model.input_shape), original.reshape(-1).tolist(), changed.reshape(-1).tolist())
    if png is None:
        return ""
    from base64 import b64encode

    data = b64encode(png).decode()
    size = model._native.picture
    meaning = "red: brighter, blue: darker" if size is None or size[2] == 1 else "each channel's change, around grey"
    label = f"image, changed image, difference ({meaning})"
    return (
        f'<img alt="{label}" title="{label}" style="height:{height}px;max-width:none;image-rendering:pixelated;margin:0" '
        f'src="data:image/png;base64,{data}">'
    )


def as_picture(model: Model, values: npt.NDArray[np.float32]) -> Optional[npt.NDArray[np.float32]]:
    """Rows and columns (and channels) of an input; None for inputs that are no pictures."""
    size = model._native.picture
    if size is None:
        return None
    height, width, channels = size
    if channels == 1:
        return values.reshape(height, width)
    shape = tuple(side for side in model.input_shape if side != 1)
    planar = shape[0] == channels
    array = values.reshape(shape)
    return np.moveaxis(array, 0, -1) if planar else array


def figure(
    model: Model, original: npt.NDArray[np.float32], changed: npt.NDArray[np.float32], titles: Sequence[str]
) -> Any:
    """A matplotlib figure of image, changed image and signed difference; of other inputs, their values."""
    plt = needed("matplotlib.pyplot", "plot()", "matplotlib")
    pictures = [as_picture(model, values) for values in (original, changed)]
    if pictures[0] is None or pictures[1] is None:
        fig, axis = plt.subplots(figsize=(7, 3), layout="constrained")
        axis.plot(original.reshape(-1), ".", label=titles[0], color="#667085")
        axis.plot(changed.reshape(-1), "x", label=titles[1], color=COLOURS["adversarial"])
        axis.set_xlabel("input")
        axis.set_ylabel("value")
        axis.legend()
        return fig
    fig, axes = plt.subplots(1, 3, figsize=(8.4, 3.1), layout="constrained")
    for axis, values, title in zip(axes, pictures, titles):
        axis.imshow(values, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        axis.set_title(title, fontsize=10)
    difference = np.asarray(pictures[1], dtype=np.float64) - np.asarray(pictures[0], dtype=np.float64)
    axes[2].set_title(titles[2], fontsize=10)
    if difference.ndim == 3:
        # Every channel shows its own change, around grey.
        axes[2].imshow(0.5 + difference / 2, interpolation="nearest")
    else:
        shown = axes[2].imshow(difference, cmap="RdBu_r", vmin=-1, vmax=1, interpolation="nearest")
        fig.colorbar(shown, ax=axes[2], shrink=0.8)
    for axis in axes:
        axis.set_xticks([])
        axis.set_yticks([])
    return fig


def display(html: str, text: str) -> None:
    """Shows a result: in a notebook as HTML, elsewhere as text."""
    from ._optional import in_notebook

    if in_notebook():
        ipython = needed("IPython.display", "show()", "ipython")
        ipython.display(ipython.HTML(html))
    else:
        print(text)
