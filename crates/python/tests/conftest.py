"""What the tests share. They run in the repository: its models and images are the data."""

from __future__ import annotations

import signal
import os
from pathlib import Path

import numpy as np
import pytest
import rw_adv

# Where the tests run in the background of a script, Ctrl-C is ignored, and Python and its children leave it so.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[3]
SMALL = "models/mnist_2x16.onnx"


@pytest.fixture(autouse=True)
def in_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.fixture(scope="session")
def model() -> rw_adv.Model:
    return rw_adv.load(ROOT / SMALL)


@pytest.fixture(scope="session")
def digits(model: rw_adv.Model) -> "tuple[np.ndarray, np.ndarray]":
    X, y = rw_adv.read_images(ROOT / "data", model, count=50)
    assert y is not None
    return X, y


@pytest.fixture(scope="session")
def result(model: rw_adv.Model, digits: "tuple[np.ndarray, np.ndarray]") -> rw_adv.AttackResult:
    """Six images at a budget where some are robust and some are not."""
    os.chdir(ROOT)
    X, y = digits
    return rw_adv.attack(model, X[:6], y[:6], delta=5, time_limit=None)
