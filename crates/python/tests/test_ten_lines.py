"""The lines that the page begins with, as printed."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from conftest import ROOT, SMALL

LINES = '''
import rw_adv
model  = rw_adv.load("mnist.onnx")
result = rw_adv.attack(model, X[:50], y[:50], delta=5)
shown  = result.certified_accuracy, result.to_pandas().verdict.value_counts()
parts  = result[4].verdict, result[4].margin, result[4].bound, result[4].adversarial
result[4].plot(); result.show(); result.save("out/")
radii  = rw_adv.radius(model, X[:10]);  answer = rw_adv.verify(model, "prop.vnnlib")
best   = rw_adv.maximize(model, objective={0: 1.0, 3: -0.5}, lower=-1, upper=1, A=A, b=b)
'''


def test_they_work(model, digits, tmp_path, monkeypatch, capfd):
    matplotlib = pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / SMALL, "mnist.onnx")
    box = "".join(f"(declare-const X_{k} Real)(assert (>= X_{k} 0))(assert (<= X_{k} 1))\n" for k in range(784))
    outputs = "".join(f"(declare-const Y_{k} Real)\n" for k in range(10))
    (tmp_path / "prop.vnnlib").write_text(box + outputs + "(assert (>= Y_0 Y_1))\n")
    X, y = digits
    names = {"X": X, "y": y, "A": np.ones((2, 784)), "b": [50.0, 60.0]}
    exec(LINES, names)
    accuracy, counts = names["shown"]
    assert 0 < accuracy < 1 and counts.sum() == 50
    verdict, margin, bound, adversarial = names["parts"]
    assert verdict == "adversarial" and margin > 0 and adversarial.shape == (28, 28)
    assert {"report.html", "results.jsonl", "summary.json", "proofs"} <= {path.name for path in (tmp_path / "out").iterdir()}
    assert len(names["radii"]) == 10 and names["answer"].result == "sat"
    best = names["best"]
    assert best.point.sum() <= 50 + 1e-4 and best.value <= best.bound
    assert "AttackResult(50 images" in capfd.readouterr().out
