"""What can go wrong: one family."""

from __future__ import annotations


class Error(Exception):
    """Whatever goes wrong in this package is one of these.

    >>> import rw_adv
    >>> try:
    ...     rw_adv.load("no/such/file.onnx")
    ... except rw_adv.Error as error:
    ...     print(type(error).__name__, "-", error)
    ModelError - no/such/file.onnx: cannot read the model: No such file or directory (os error 2)
    """


class ModelError(Error):
    """The model cannot be read, is not supported, or cannot be run. Names the file and, where there is one, the node."""


class InputError(Error, ValueError):
    """An argument makes no sense. Says what was expected."""


class PropertyError(Error):
    """A property file cannot be read, or is not about the model."""


class SolveError(Error):
    """There is no answer: search and proof contradict each other, say. Please report it."""


class SaveError(Error):
    """Results cannot be stored: the directory holds results already, or cannot be written."""


class MissingPackageError(Error, ImportError):
    """Something optional is not installed. Says what to install."""


class InternalError(Error):
    """A bug. Please report it."""
