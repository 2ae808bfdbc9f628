"""Examples in docstrings and in docs/python.md are run; every public name has a docstring."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re

import numpy as np
import pytest
import rw_adv
from conftest import ROOT

MODULES = [importlib.import_module(f"rw_adv.{module.name}") for module in pkgutil.iter_modules(rw_adv.__path__) if module.name != "__main__"]


def test_docstrings_are_true():
    names = {**{name: getattr(rw_adv, name) for name in rw_adv.__all__}, "np": np, "rw_adv": rw_adv}
    tried = 0
    for module in [rw_adv, *MODULES]:
        failed, attempted = doctest.testmod(module, extraglobs=names, optionflags=doctest.NORMALIZE_WHITESPACE)
        assert failed == 0, module.__name__
        tried += attempted
    assert tried > 30


def test_every_public_name_is_described():
    for name in rw_adv.__all__:
        public = getattr(rw_adv, name)
        assert inspect.getdoc(public), name
        for member, value in vars(public).items() if inspect.isclass(public) else ():
            if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                assert inspect.getdoc(value), f"{name}.{member}"


def examples() -> "list[str]":
    """The blocks of docs/python.md that are not marked otherwise."""
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_the_page_is_true(tmp_path, monkeypatch):
    """All blocks, one after the other, as a reader would type them."""
    matplotlib = pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    matplotlib.use("Agg")
    for folder in ("models", "data", "tests"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    blocks = examples()
    assert len(blocks) >= 5
    names: dict = {}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)
