"""How wrong can a ReLU network be made, and what is proved about it.

>>> import rw_adv
>>> model = rw_adv.load("models/mnist_2x16.onnx")
>>> X, y = rw_adv.read_images("data", model)
>>> result = rw_adv.attack(model, X[:5], y[:5], delta=5)
>>> result[4].verdict
'adversarial'
>>> result[4].adversarial.shape
(28, 28)

The functions: :func:`load` a model, then :func:`attack` images, find their :func:`radius`, :func:`verify` a property file,
:func:`maximize` a function of the outputs, or get neuron bounds for a MILP of your own with :func:`big_m`.

A verdict ``adversarial`` comes with an input that was replayed in the ONNX file itself; ``robust`` is proved, also for the file's
float32 arithmetic; everything else is ``unknown``. Nothing here prints.
"""

from __future__ import annotations

from ._attack import Attack, AttackResult, ImageResult, TargetResult, attack
from ._data import read_images
from ._errors import (
    Error,
    InputError,
    InternalError,
    MissingPackageError,
    ModelError,
    PropertyError,
    SaveError,
    SolveError,
)
from ._maximize import MaximizeResult, maximize
from ._model import Layer, Model, load
from ._native import version as _version
from ._radius import ImageRadius, RadiusResult, radius
from ._sets import Ball, Box, NeuronBounds, big_m
from ._verify import VerifyResult, verify

__version__: str = _version()

__all__ = [
    "Attack",
    "AttackResult",
    "Ball",
    "Box",
    "Error",
    "ImageRadius",
    "ImageResult",
    "InputError",
    "InternalError",
    "Layer",
    "MaximizeResult",
    "MissingPackageError",
    "Model",
    "ModelError",
    "NeuronBounds",
    "PropertyError",
    "RadiusResult",
    "SaveError",
    "SolveError",
    "TargetResult",
    "VerifyResult",
    "attack",
    "big_m",
    "load",
    "maximize",
    "radius",
    "read_images",
    "verify",
]
