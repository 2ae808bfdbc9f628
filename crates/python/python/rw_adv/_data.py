"""Images from the files that the command line reads."""

from __future__ import annotations

import os
from typing import Optional

import numpy as np
import numpy.typing as npt

from . import _native
from ._arguments import integer
from ._model import Model


def read_images(
    path: str | os.PathLike[str], model: Model, count: Optional[int] = None
) -> tuple[npt.NDArray[np.float32], Optional[npt.NDArray[np.int64]]]:
    """Images and labels from what ``rw-adv --data`` takes: an MNIST directory (its test split), an IDX file, PNG files (a directory or
    a pattern), or an .npy array. Images are float32 in [0, 1]; ``None`` for labels that are not known.

    >>> model = load("models/mnist_2x16.onnx")
    >>> X, y = read_images("data", model, count=100)
    >>> X.shape, X.dtype, y[:5]
    ((100, 28, 28), dtype('float32'), array([7, 2, 1, 0, 4]))
    """
    most = None if count is None else integer("count", count, 1)
    pixels, labels = _native.read_images(os.fspath(path), model._native, most)
    picture = model._native.picture
    shape = picture[:2] if picture is not None and picture[2] == 1 else model.input_shape
    images = pixels.reshape(len(pixels), *shape)
    return images, None if labels is None else np.asarray(labels, dtype=np.int64)
