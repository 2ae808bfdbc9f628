#!/usr/bin/env python3
"""Runs hunted networks in onnxruntime, another program than the one that rw-adv replays models in.

    scripts/hunt networks --cases 1000 --keep DIR
    scripts/hunt_onnxruntime.py DIR            # needs onnxruntime and numpy

Each model was given a verdict, and tract's outputs at points of its set are beside it. A finding is a `robust` that onnxruntime does not
confirm at one of these points, or an output that is farther from tract's than rounding in float32 explains. Exit code 1 if there is one.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime

# Unit roundoff of float32, and a generous number of operations one after the other.
TOLERANCE = 2.0**-24 * 2000


def findings(model: Path, said: dict) -> tuple[list[str], float]:
    """What is wrong with one model, and the largest difference of an output, relative to the largest output."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    name, found, largest = session.get_inputs()[0].name, [], 0.0
    for point, theirs in zip(said["points"], said["logits"]):
        if any(value is None for value in theirs):
            continue  # not finite in tract
        ours = session.run(None, {name: np.array([point], dtype=np.float32)})[0].reshape(-1).astype(np.float64)
        margin = ours[said["target"]] - ours[said["predicted"]]
        if said["verdict"] == "robust" and not margin < 0:
            found.append(f"robust, but onnxruntime gives {margin!r} at {point}")
        scale = max(1.0, np.abs(ours).max(), np.abs(theirs).max())
        off = np.abs(ours - np.array(theirs)).max() / scale
        largest = max(largest, off)
    return found, largest


def main() -> int:
    folder = Path(sys.argv[1])
    models = sorted(folder.glob("*.onnx"), key=lambda path: int(path.stem))
    verdicts: dict[str, int] = {}
    points, wrong, differences = 0, 0, []
    for model in models:
        said = json.loads(model.with_suffix(".json").read_text())
        verdicts[said["verdict"]] = verdicts.get(said["verdict"], 0) + 1
        points += len(said["points"])
        try:
            found, off = findings(model, said)
        except Exception as error:  # onnxruntime has exceptions of its own
            found, off = [f"onnxruntime cannot run it: {error}"], 0.0
        differences.append((off, model.stem))
        for line in found:
            wrong += 1
            print(f"seed {model.stem}: {line}")
    far = sorted(entry for entry in differences if entry[0] > TOLERANCE)
    print(f"{len(models)} models {verdicts}, {points} points, onnxruntime {onnxruntime.__version__}: {wrong} findings")
    print(f"outputs farther from tract's than {TOLERANCE:.1e} of the largest: {len(far)} models {far[-5:]}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
