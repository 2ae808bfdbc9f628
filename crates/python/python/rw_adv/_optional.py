"""Packages that are used where they are installed."""

from __future__ import annotations

import importlib
from typing import Any

from ._errors import MissingPackageError


def needed(module: str, purpose: str, package: str | None = None) -> Any:
    """Imports a module, or says what to install for this purpose."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = package or module.split(".")[0]
        raise MissingPackageError(f"{purpose} needs {package}: pip install {package}") from error


def in_notebook() -> bool:
    """Whether results are shown by Jupyter or something like it."""
    try:
        shell: Any = importlib.import_module("IPython").get_ipython()
    except ImportError:
        return False
    return shell is not None and hasattr(shell, "kernel")
