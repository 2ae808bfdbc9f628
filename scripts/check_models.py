#!/usr/bin/env python3
"""Writes problems as .lp and as .mps and has Gurobi, SCIP and HiGHS read both: all six optima must be the same.

    scripts/check_models.py RW_ADV [PROBLEMS]    RW_ADV: the program; PROBLEMS: how many (by default 50)

Run it from the repository, with the packages of scripts/requirements-solvers.txt. Two thirds of the problems are images of a bundled classifier with
an L1 budget; the others maximise functions of its outputs, with constants, over boxes and under constraints.

Exit code 0: all optima agree; 1: some do not, or a file cannot be read; 2: bad usage.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from solve_mps import SOLVERS

MODEL = "models/mnist_2x16.onnx"
# Solvers stop at a gap of 1e-6, and keep rows to 1e-6.
TOLERANCE = 2e-5
SECONDS = 600


def command(program, number, file, constraints):
    """The command that writes problem `number` to `file`."""
    if number % 3:
        delta = 0.1 + 0.05 * (number % 8)
        return [program, "--model", MODEL, "--images", f"{number},", "--delta", str(delta), "--patience", "1", "--write-model", file]
    objective = f"y{number % 10} - 0.5*y{(number + 3) % 10} + {number * 0.37 - 4}"
    asked = [program, "maximize", "--model", MODEL, "--objective", objective, "--box", f"0,{0.001 + 0.0005 * (number % 5)}", "--patience", "1", "--write-model", file]
    if number % 2:
        asked += ["--constraints", constraints]
    return asked


def optimum(solver, file):
    """The objective of the optimum, and columns and rows it was found with."""
    answer = SOLVERS[solver](str(file), SECONDS)
    if not answer.optimal:
        raise ValueError("no optimum in time")
    return answer.bound


def check(program, number, folder):
    """What is wrong with problem `number`, a line each."""
    constraints = folder / "limits.txt"
    constraints.write_text("x100 + x200 + x300 <= 0.002\nx400 - x401 >= -0.0005\nx500 + x501 >= 0.0005\nx500 + x501 <= 0.0015\n")
    optima, faults = {}, []
    for end in ["lp", "mps"]:
        file = folder / f"problem{number}.{end}"
        made = subprocess.run(command(program, number, str(file), str(constraints)), capture_output=True, text=True)
        if made.returncode not in (0, 1):
            return [f"problem {number}: not written: {made.stderr.strip()}"]
        for solver in SOLVERS:
            try:
                optima[solver, end] = optimum(solver, file)
            except Exception as error:
                faults.append(f"problem {number}: {solver}, .{end}: {error}")
    if optima and max(optima.values()) - min(optima.values()) > TOLERANCE * max(1.0, abs(max(optima.values()))):
        faults.append(f"problem {number}: " + ", ".join(f"{solver} .{end} {value:.8f}" for (solver, end), value in optima.items()))
    values = " ".join(f"{value:.6f}" for value in optima.values())
    print(f"{number:>4} {values}", flush=True)
    return faults


def main(args):
    if len(args) not in (1, 2) or (len(args) == 2 and not args[1].isdigit()):
        print("usage: check_models.py RW_ADV [PROBLEMS]", file=sys.stderr)
        return 2
    problems = int(args[1]) if len(args) == 2 else 50
    faults = []
    print("problem, then the optimum: " + ", ".join(f"{solver} .{end}" for end in ["lp", "mps"] for solver in SOLVERS))
    with tempfile.TemporaryDirectory() as folder:
        for number in range(problems):
            faults += check(args[0], number, Path(folder))
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{problems} problems, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
