"""The same answers as the command line's, and the same files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import rw_adv
from conftest import SMALL

#: What depends on the clock.
TIMES = {"seconds", "seconds_to_best", "bound_trace"}


def command(*arguments: str) -> str:
    """The command that the wheel installs."""
    program = Path(sys.executable).with_name("rw-adv")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def without_times(record: dict) -> dict:
    return {name: value for name, value in record.items() if name not in TIMES}


def lines(text: str) -> list:
    return [without_times(json.loads(line)) for line in text.splitlines()]


def by_key(records: list) -> list:
    return sorted(records, key=lambda record: (record["image"], record["target"] or 0))


@pytest.mark.parametrize(
    ("options", "typed"),
    [
        ({"delta": 5}, ["--delta", "5", "--target", "all", "--goal", "verdict"]),
        ({"delta": 5, "branch": True}, ["--delta", "5", "--target", "all", "--goal", "verdict", "--branch"]),
        ({"delta": 5, "threads": 1}, ["--delta", "5", "--target", "all", "--goal", "verdict"]),
        (
            {"delta": 2, "goal": "optimum", "branch": False, "target": "runner-up", "seed": 7},
            ["--delta", "2", "--seed", "7", "--branch", "0"],
        ),
        (
            {"delta": 0.02, "norm": "linf", "branch": 20, "target": 3, "proofs": False},
            ["--delta", "0.02", "--norm", "linf", "--branch", "20", "--target", "3", "--goal", "verdict"],
        ),
        ({"delta": 3, "method": "apgd", "branch": False}, ["--delta", "3", "--method", "apgd", "--target", "all", "--goal", "verdict"]),
    ],
)
def test_records_are_those_of_the_command_line(model, digits, options, typed):
    X, y = digits
    ours = rw_adv.attack(model, X[:5], y[:5], time_limit=None, **options)
    theirs = lines(command("--model", SMALL, "--data", "data", "--images", "5", "--json", *typed))
    assert by_key([without_times(record) for record in ours.records]) == by_key(theirs)


@pytest.mark.parametrize(("options", "typed"), [({}, []), ({"branch": 50}, ["--branch", "50"])])
def test_radii_are_those_of_the_command_line(model, digits, options, typed):
    X, y = digits
    ours = rw_adv.radius(model, X[:3], y[:3], time_limit=None, target="runner-up", **options)
    asked = ["--data", "data", "--images", "3", "--json", "--target", "runner-up", *typed]
    theirs = lines(command("radius", "--model", SMALL, *asked))
    assert [without_times(record) for record in ours.records] == by_key(theirs)


def test_a_saved_result_is_the_directory_that_the_command_line_writes(model, digits, tmp_path):
    X, y = digits
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    result = rw_adv.attack(model, X[:4], y[:4], delta=5, time_limit=None)
    result.save(ours)
    typed = ["--delta", "5", "--target", "all", "--goal", "verdict"]
    command("--model", SMALL, "--data", "data", "--images", "4", "--out", str(theirs), "--proof", str(theirs / "proofs"), *typed)

    def names(root: Path) -> set:
        return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}

    assert names(ours) == names(theirs)
    assert {"results.jsonl", "summary.json", "report.html", "manifest.json"} < names(ours)
    records = [by_key(lines((root / "results.jsonl").read_text())) for root in (ours, theirs)]
    assert records[0] == records[1]
    for name in names(ours):
        if name.endswith((".npy", ".png")):
            assert (ours / name).read_bytes() == (theirs / name).read_bytes(), name
    summaries = [json.loads((root / "summary.json").read_text())["summary"] for root in (ours, theirs)]
    assert summaries[0] == summaries[1]
    counts = summaries[0]["images"]
    assert result.certified_accuracy == counts["certified"] / 4
    assert {name: count for name, count in counts.items() if count} == result.outcomes
    # The proofs hold, and the report can be made again.
    command("check-proof", "--model", SMALL, str(ours / "proofs"))
    command("report", str(ours))


def test_a_directory_with_results_is_left_alone(result, tmp_path):
    result[:1].save(tmp_path / "out")
    before = sorted(path.name for path in (tmp_path / "out").rglob("*"))
    with pytest.raises(rw_adv.SaveError, match="holds results already"):
        result.save(tmp_path / "out")
    assert before == sorted(path.name for path in (tmp_path / "out").rglob("*"))
    (tmp_path / "file").write_text("")
    with pytest.raises(rw_adv.SaveError, match="file"):
        result.save(tmp_path / "file" / "out")


def test_maxima_and_radii_are_saved_too(model, digits, tmp_path):
    found = rw_adv.maximize("tests/zoo/accepted/acasxu_style.onnx", {0: 1.0}, lower=0, upper=1)
    found.save(tmp_path / "maximum")
    assert np.array_equal(np.load(tmp_path / "maximum" / "point.npy").reshape(-1), found.point.reshape(-1))
    command("check-proof", "--model", "tests/zoo/accepted/acasxu_style.onnx", str(tmp_path / "maximum" / "proofs"))
    rw_adv.radius(model, digits[0][:1], time_limit=None).save(tmp_path / "radii")
    assert (tmp_path / "radii" / "radii.jsonl").exists()


def test_the_command_is_the_program():
    assert command("--version").startswith(f"rw-adv {rw_adv.__version__}")
    program = Path(sys.executable).with_name("rw-adv")
    done = subprocess.run([program, "--no-such-option"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "--no-such-option" in done.stderr and done.stdout == ""
    again = subprocess.run([sys.executable, "-m", "rw_adv", "--version"], capture_output=True, text=True, check=True)
    assert again.stdout.startswith("rw-adv ")
