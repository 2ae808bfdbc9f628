"""How calls run: threads, progress, interruption, memory, silence."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import rw_adv
from conftest import ROOT

LARGE = "models/mnist_2x500.onnx"


def test_the_number_of_threads_changes_nothing(model, digits):
    X, y = digits
    runs = [rw_adv.attack(model, X[:4], delta=1.5, time_limit=None, threads=n, seed=3) for n in (1, 2, 5, None)]
    answers = [[(r["image"], r["target"], r["margin"], r["upper_bound"], r["verdict"]) for r in run.records] for run in runs]
    assert all(each == answers[0] for each in answers)
    assert runs[0].settings["seed"] == 3


def test_python_goes_on_while_it_solves(model, digits):
    """Two calls in two threads, and a third thread that counts: the interpreter's lock is released."""
    X, _ = digits
    done, counted = [], 0
    work = [threading.Thread(target=lambda: done.append(rw_adv.radius(model, X[:3], threads=1, time_limit=None))) for _ in range(2)]
    for thread in work:
        thread.start()
    while any(thread.is_alive() for thread in work):
        counted += 1
        time.sleep(0.001)
    assert len(done) == 2 and done[0].certified.tolist() == done[1].certified.tolist()
    assert counted > 20


def test_progress_is_told_on_the_calling_thread(model, digits):
    told = []
    caller = threading.get_ident()

    def listen(done, total, record):
        assert threading.get_ident() == caller
        told.append((done, total, record["verdict"]))

    found = rw_adv.attack(model, digits[0][:3], delta=1, time_limit=None, progress=listen)
    assert [done for done, _, _ in told] == list(range(1, 28)) and {total for _, total, _ in told} == {27}
    assert len(found.records) == 27


def test_a_bar_counts_on_a_terminal(model, digits, monkeypatch, capfd):
    pytest.importorskip("tqdm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    rw_adv.attack(model, digits[0][:3], delta=1, time_limit=None)
    shown = capfd.readouterr()
    assert "/27" in shown.err and shown.out == ""
    rw_adv.attack(model, digits[0][:3], delta=1, time_limit=None, progress=False)
    assert capfd.readouterr().err == ""


def test_what_a_listener_raises_ends_the_run(model, digits):
    class Enough(Exception):
        pass

    def listen(done, total, record):
        raise Enough

    with pytest.raises(Enough):
        rw_adv.attack(model, digits[0], delta=2, progress=listen)


def test_nothing_is_printed(model, digits, capfd, tmp_path):
    X, y = digits
    result = rw_adv.attack(model, X[:2], y[:2], delta=1, time_limit=None)
    result.save(tmp_path / "out")
    rw_adv.radius(model, X[:1], time_limit=None)
    rw_adv.big_m(model, rw_adv.Ball(X[0], 1))
    with pytest.raises(rw_adv.ModelError):
        rw_adv.load(b"not a model at all")
    shown = capfd.readouterr()
    assert shown.out == "" and shown.err == ""


#: Calls that would go on for a long time; each prints whether it is complete, and how much is known.
LONG = {
    "attack": "r = rw_adv.attack(model, X, delta=9, goal='optimum', time_limit=None, threads=2); print(r.complete, len(r), len(r.records) < 9 * len(r))",
    "radius": "r = rw_adv.radius(model, X, time_limit=None, threads=2); print(r.complete, len(r) < len(X))",
    "maximize": "r = rw_adv.maximize(model, {0: 1.0}, branch=True, time_limit=None, threads=2); print(r.complete, r.value <= (r.bound or 1e9))",
}


@pytest.mark.parametrize("call", sorted(LONG))
@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")
def test_an_interrupt_ends_a_search_within_a_second(call):
    program = f"""
import sys, rw_adv
model = rw_adv.load({LARGE!r})
X, y = rw_adv.read_images("data", model, count=20)
print("ready", flush=True)
{LONG[call]}
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(2.5)
    ended = _processor_seconds()
    with open(f"/proc/{process.pid}/stat") as file:
        used = sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert out.startswith("False") and out.split()[-1] == "True", out
    # One second of two threads: others may be using the machine, so processor time is what counts.
    after = _processor_seconds() - ended - used
    assert after < 2.0, f"{after:.2f} s of processor time after the signal"


def _processor_seconds() -> float:
    """Of all processes that were waited for."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def test_a_part_of_an_interrupted_result_may_be_complete(model, digits, tmp_path):
    """An interrupt from a listener is an interrupt."""

    def listen(done, total, record):
        if done == 12:
            signal.raise_signal(signal.SIGINT)

    result = rw_adv.attack(model, digits[0][:30], delta=2, goal="optimum", time_limit=None, threads=1, progress=listen)
    assert not result.complete and "not complete" in repr(result)
    assert 12 <= len(result.records) < 270
    assert any(len(image.targets) < image.asked for image in result)
    for image in result:
        if len(image.targets) < image.asked and image.verdict != "adversarial":
            assert image.verdict == "unknown"
    result.save(tmp_path / "out")
    status = subprocess.run(
        [sys.executable, "-m", "rw_adv", "status", str(tmp_path / "out")], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert "270" in status.stdout + status.stderr


def test_memory_does_not_grow(model, digits):
    """A thousand calls: the resident memory after them is that after the first hundred."""
    X, y = digits

    def resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    if not os.path.exists("/proc/self/statm"):
        pytest.skip("needs /proc")

    def call() -> None:
        result = rw_adv.attack(model, X[:1], y[:1], delta=0.3, target="runner-up", branch=False, threads=1)
        assert result[0].pattern and result.records
        model(X[:1])

    for _ in range(100):
        call()
    before = resident()
    for _ in range(1000):
        call()
    grown = (resident() - before) / 2**20
    assert grown < 8, f"{grown:.1f} MB more after 1,000 calls"


def test_a_forked_process_solves_too(model, digits):
    """No thread pool is kept, so none is lost by a fork (multiprocessing on Linux)."""
    multiprocessing = pytest.importorskip("multiprocessing")
    rw_adv.attack(model, digits[0][:1], delta=1, time_limit=None)
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        found = pool.starmap_async(_verdict, [(model, digits[0][k]) for k in range(3)]).get(timeout=60)
    assert found == [_verdict(model, digits[0][k]) for k in range(3)]


def _verdict(model: rw_adv.Model, image: np.ndarray) -> str:
    return rw_adv.attack(model, image, delta=1, time_limit=None, threads=1)[0].verdict


def test_an_interrupt_ends_the_command_too():
    program = [sys.executable, "-m", "rw_adv", "--model", LARGE, "--data", "data", "--images", "20", "--delta", "9"]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    time.sleep(4)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "Traceback" not in err and "verdict" in out
