#!/usr/bin/env python3
"""Check a result directory of rw-adv independently: with onnxruntime, the IDX files, and nothing of rw-adv.

    python3 -m venv venv && venv/bin/pip install -r scripts/requirements-check.txt
    venv/bin/python scripts/check_results.py results --model models/mnist_2x500.onnx --data data

For every record: the predicted label is the one onnxruntime gives to the image. For every `adversarial` record: its .npy
lies in [0,1], strictly inside the ball and as far away as recorded, changes as many pixels as recorded, and
onnxruntime ranks the target above the predicted label with the recorded margin. Every PNG is strictly inside the ball,
and its margin is the recorded one. With `--pictures all`, the strip shows this image, this adversary and, in the right
colours and places, the difference.
Exit code 0: all hold; 1: some do not, one line each; 2: cannot be checked.

Traps. A byte b is the pixel float32(b) / float32(255), not b / 255 in float64. Distances are added up in float64 and
compared without tolerance. Models that end in Softmax, Sigmoid or ArgMax give no logits, so they are refused: margins cannot be computed.
"""

import argparse
import gzip
import json
import struct
import sys
import zlib
from pathlib import Path

import numpy as np
import onnxruntime

VERDICTS = {"adversarial", "robust", "unknown"}
IMAGE_FILES = {
    "train": ["train-images-idx3-ubyte", "train-images.idx3-ubyte"],
    "test": ["t10k-images-idx3-ubyte", "t10k-images.idx3-ubyte"],
}
# Two programs that add up float64 in different orders.
DISTANCE_TOLERANCE = 1e-6
# Two float32 programs on the same input; relative to the largest logit where that is above 1.
MARGIN_TOLERANCE = 1e-3
PNG_TOLERANCE = 1e-4


class Unusable(Exception):
    """The input cannot be checked at all."""


def read_bytes(path):
    """A file's content, unpacked if it is gzipped."""
    try:
        content = Path(path).read_bytes()
        return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    except (OSError, EOFError, zlib.error) as error:
        raise Unusable(f"{path}: {error}") from error


def read_idx(path):
    """An IDX file of bytes as an array."""
    content = read_bytes(path)
    if len(content) < 4 or content[:3] != b"\0\0\x08":
        raise Unusable(f"{path}: not an IDX file of bytes")
    start = 4 + 4 * content[3]
    shape = struct.unpack(f">{content[3]}I", content[4:start])
    if len(content) - start != np.prod(shape):
        raise Unusable(f"{path}: {len(content) - start} bytes for the shape {shape}")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def read_images(data, split):
    """The images of an MNIST directory or an IDX file, as bytes."""
    data = Path(data)
    if not data.is_dir():
        return read_idx(data)
    for name in IMAGE_FILES[split]:
        for path in (data / name, data / f"{name}.gz"):
            if path.exists():
                return read_idx(path)
    raise Unusable(f"{data}: holds none of {', '.join(IMAGE_FILES[split])} (or with .gz)")


def read_png(path):
    """An 8-bit PNG of greys, RGB or a palette as an array of shape (height, width, channels)."""
    content = Path(path).read_bytes()
    if content[:8] != b"\x89PNG\r\n\x1a\n":
        raise ValueError("not a PNG")
    at, packed, head, palette = 8, b"", None, None
    while at < len(content):
        (length,) = struct.unpack_from(">I", content, at)
        kind, body = content[at + 4 : at + 8], content[at + 8 : at + 8 + length]
        (checksum,) = struct.unpack_from(">I", content, at + 8 + length)
        if zlib.crc32(kind + body) != checksum:
            raise ValueError(f"wrong checksum of {kind.decode('ascii', 'replace')}")
        at += 12 + length
        if kind == b"IHDR":
            head = struct.unpack(">IIBBBBB", body)
        elif kind == b"PLTE":
            palette = np.frombuffer(body, np.uint8).reshape(-1, 3)
        elif kind == b"IDAT":
            packed += body
    if head is None:
        raise ValueError("no IHDR")
    width, height, depth, colour, _, _, interlaced = head
    if depth != 8 or colour not in (0, 2, 3) or interlaced or (colour == 3) != (palette is not None):
        raise ValueError("not 8-bit greys, RGB or a palette without interlacing")
    step = 3 if colour == 2 else 1
    stride = width * step
    lines = zlib.decompress(packed)
    if len(lines) != height * (stride + 1):
        raise ValueError("the pixels are cut short")
    rows = np.zeros((height, stride), np.uint8)
    above = [0] * stride
    for y in range(height):
        method, *line = lines[y * (stride + 1) : (y + 1) * (stride + 1)]
        for x in range(stride):
            left = line[x - step] if x >= step else 0
            corner = above[x - step] if x >= step else 0
            line[x] = (line[x] + predictor(method, left, above[x], corner)) % 256
        rows[y] = above = line
    return palette[rows] if colour == 3 else rows.reshape(height, width, step)


def predictor(method, left, above, corner):
    """What a PNG filter adds to a byte (PNG specification, section 9.2)."""
    if method == 0:
        return 0
    if method == 1:
        return left
    if method == 2:
        return above
    if method == 3:
        return (left + above) // 2
    if method == 4:
        estimate = left + above - corner
        return min((left, above, corner), key=lambda value: abs(estimate - value))
    raise ValueError(f"filter {method}")


class Model:
    """The ONNX file run by onnxruntime, one image at a time."""

    def __init__(self, path):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        # Gzipped files only in memory; plain ones by name, since weights may lie beside them.
        source = read_bytes(path) if Path(path).suffix == ".gz" else str(path)
        try:
            self.session = onnxruntime.InferenceSession(source, options, ["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime has no common base class for its errors
            raise Unusable(f"{path}: {' '.join(str(error).split())}") from error
        inputs = self.session.get_inputs()
        kinds = {"tensor(float)": np.float32, "tensor(double)": np.float64}
        if len(inputs) != 1 or inputs[0].type not in kinds:
            raise Unusable(f"{path}: one float32 or float64 input is expected")
        self.kind = kinds[inputs[0].type]
        self.path, self.name = path, inputs[0].name
        shape = inputs[0].shape
        if len(shape) < 2 or shape[0] not in (1, None) and not isinstance(shape[0], str):
            raise Unusable(f"{path}: input of shape {shape}, a batch of one is expected")
        if not all(isinstance(size, int) for size in shape[1:]):
            raise Unusable(f"{path}: input of shape {shape}, only the batch may be open")
        self.dims = tuple(shape[1:])
        self.values = int(np.prod(self.dims))

    def logits(self, x):
        output = self.session.run(None, {self.name: x.astype(self.kind).reshape(1, *self.dims)})[0]
        if output.dtype != self.kind:
            raise Unusable(f"{self.path}: gives {output.dtype}, not logits; it ends in ArgMax or the like")
        return output.reshape(-1).astype(np.float64)

    def refuse_probabilities(self, images):
        """Softmax and Sigmoid show themselves: nothing is negative or above 1."""
        outputs = [self.logits(x) for x in images]
        if all((y >= 0).all() and (y <= 1.0001).all() for y in outputs):
            raise Unusable(f"{self.path}: gives probabilities (Softmax, Sigmoid), not logits; give the model without it")

    def from_picture(self, picture):
        """A picture's bytes in the model's own order."""
        if picture.size != self.values:
            raise ValueError(f"{picture.size} values, the model takes {self.values}")
        planar = picture.shape[2] == 3 and len(self.dims) == 3 and self.dims[0] == 3
        return (picture.transpose(2, 0, 1) if planar else picture).reshape(-1)


def pixels(content):
    return content.reshape(-1).astype(np.float32) / np.float32(255)


def distance(norm, x, original):
    changes = np.abs(x.astype(np.float64) - original.astype(np.float64))
    return float(changes.sum() if norm == "l1" else changes.max())


def beside(name, ending):
    """The name of a file that differs from another only in its ending."""
    return str(Path(name).with_suffix("")) + ending


class Checker:
    def __init__(self, folder, model, images):
        self.folder, self.model, self.images = Path(folder), model, images
        self.failures = []
        self.margins = []
        self.pngs = self.fooling_pngs = 0

    def fail(self, record, problem):
        self.failures.append(f"image {record.get('image')} target {record.get('target')}: {problem}")

    def check(self, record):
        norm, c, w = record["norm"], record["predicted"], record["target"]
        if record["verdict"] not in VERDICTS or norm not in ("l1", "linf"):
            return self.fail(record, f"unknown verdict {record['verdict']} or norm {norm}")
        if not 0 <= record["image"] < len(self.images):
            return self.fail(record, f"the data holds {len(self.images)} images")
        original = pixels(self.images[record["image"]])
        logits = self.model.logits(original)
        if c == w or not 0 <= min(c, w) <= max(c, w) < len(logits):
            return self.fail(record, "predicted label and target must be two of the model's labels")
        # Of two logits that float32 can hardly tell apart, either may be the larger one.
        if logits[c] < logits.max() - 1e-5 * max(1, np.abs(logits).max()):
            self.fail(record, f"onnxruntime predicts {logits.argmax()}, recorded is {c}")
        adversarial = record["verdict"] == "adversarial"
        upper = record["upper_bound"]
        if adversarial and upper is not None and upper < 0:
            self.fail(record, f"adversarial with the upper bound {upper}")
        if record["verdict"] == "robust" and not (upper is not None and upper < 0):
            self.fail(record, f"robust with the upper bound {upper}")
        if record["npy"] is not None:
            self.check_npy(record, original, adversarial)
        elif adversarial:
            self.fail(record, "adversarial without .npy")
        if record["png"] is not None:
            self.check_png(record, original)

    def check_npy(self, record, original, adversarial):
        x = np.load(self.folder / record["npy"], allow_pickle=False)
        if x.dtype != np.float32 or x.shape != self.model.dims:
            return self.fail(record, f".npy of {x.dtype} {x.shape}, expected float32 {self.model.dims}")
        x = x.reshape(-1)
        if not ((x >= 0) & (x <= 1)).all():
            self.fail(record, "outside [0,1]")
        found = distance(record["norm"], x, original)
        if not found < record["delta"]:
            self.fail(record, f"distance {found!r} is not below {record['delta']!r}")
        if not abs(found - record["distance"]) <= DISTANCE_TOLERANCE:
            self.fail(record, f"distance {found!r}, recorded is {record['distance']!r}")
        changed = int((x != original).sum())
        if changed != record["changed_pixels"]:
            self.fail(record, f"{changed} changed pixels, recorded are {record['changed_pixels']}")
        logits = self.model.logits(x)
        margin = float(logits[record["target"]] - logits[record["predicted"]])
        if adversarial and not margin > 0:
            self.fail(record, f"onnxruntime is not fooled, margin {margin!r}")
        if adversarial and not (record["margin"] > 0 and record["margin_f32"] > 0):
            self.fail(record, "adversarial with a recorded margin that is not positive")
        allowed = MARGIN_TOLERANCE * max(1, np.abs(logits).max())
        for name in ("margin_f32", "margin"):
            if not abs(margin - record[name]) <= allowed:
                self.fail(record, f"margin {margin!r}, recorded {name} is {record[name]!r}")
        self.margins.append(abs(margin - record["margin_f32"]))

    def check_png(self, record, original):
        try:
            content = self.model.from_picture(read_png(self.folder / record["png"]))
        except (OSError, ValueError, zlib.error, struct.error) as error:
            return self.fail(record, f"{record['png']}: {error}")
        x = pixels(content)
        found = distance(record["norm"], x, original)
        if not found < record["delta"]:
            self.fail(record, f"the PNG's distance {found!r} is not below {record['delta']!r}")
        logits = self.model.logits(x)
        margin = float(logits[record["target"]] - logits[record["predicted"]])
        recorded = record["margin_png"]
        allowed = PNG_TOLERANCE * max(1, np.abs(logits).max())
        if recorded is None or not abs(margin - recorded) <= allowed:
            self.fail(record, f"the PNG's margin is {margin!r}, recorded is {recorded!r}")
        self.pngs += 1
        self.fooling_pngs += bool(margin > 0)
        # Only `--pictures all` writes these.
        if (self.folder / beside(record["png"], "_strip.png")).exists():
            self.check_strip(record)

    def check_strip(self, record):
        """Image, adversary and difference side by side, enlarged, with gaps of four pixels around them, below a line of words."""
        name = beside(record["png"], "_strip.png")
        adversary = read_png(self.folder / record["png"]).astype(int)
        height, width, _ = adversary.shape
        strip = read_png(self.folder / name).astype(int)
        scale = (strip.shape[1] - 16) // (3 * width)
        begin = strip.shape[0] - 4 - height * scale
        panel = lambda k: strip[begin:, 4 + k * (width * scale + 4) :][: height * scale : scale, : width * scale : scale]
        image, shown, difference = (panel(k) for k in range(3))
        if shown.shape != (height, width, 3) or (shown != adversary).any():
            return self.fail(record, f"{name} does not show the adversary")
        content = self.model.from_picture(image[:, :, : adversary.shape[2]].astype(np.uint8))
        if (content != self.images[record["image"]].reshape(-1)).any():
            self.fail(record, f"{name} does not show the image")
        # More red than blue is brighter, more blue than red darker, in the channel that changed most.
        change = shown - image
        brighter = difference[:, :, 0] - difference[:, :, 2]
        told = np.where(brighter > 0, change.max(axis=2), np.where(brighter < 0, -change.min(axis=2), 0))
        wrong = int((told != np.abs(change).max(axis=2)).sum())
        if wrong:
            self.fail(record, f"{name} has the wrong colour in {wrong} places")


def read_records(folder):
    path = Path(folder) / "results.jsonl"
    records = []
    for line, text in enumerate(read_bytes(path).decode("utf-8").splitlines(), 1):
        try:
            records.append(json.loads(text))
        except ValueError as error:
            raise Unusable(f"{path}: line {line}: {error}") from error
    if not records:
        raise Unusable(f"{path}: holds no records")
    return records


def run(arguments):
    records = read_records(arguments.results)
    images = read_images(arguments.data, arguments.split)
    model = Model(arguments.model)
    if images[0].size != model.values:
        raise Unusable(f"{arguments.data}: images of {images[0].size} values, the model takes {model.values}")
    model.refuse_probabilities([pixels(image) for image in images[:5]])
    checker = Checker(arguments.results, model, images)
    seen = set()
    for record in records:
        try:
            key = (record["image"], record["target"])
            if key in seen:
                checker.fail(record, "recorded twice")
            seen.add(key)
            checker.check(record)
        except KeyError as error:
            checker.fail(record, f"the field {error} is missing")
        except (OSError, TypeError, ValueError, zlib.error, struct.error) as error:
            checker.fail(record, f"{type(error).__name__}: {error}")
    for failure in checker.failures:
        print(f"FAILED {failure}")
    adversarial = sum(record.get("verdict") == "adversarial" for record in records)
    difference = max(checker.margins, default=0.0)
    print(
        f"{'FAILED' if checker.failures else 'passed'}: {len(records)} records, {adversarial} adversarial, "
        f"{checker.pngs} PNGs of which {checker.fooling_pngs} fool the model; {len(checker.failures)} failures; "
        f"largest difference of margin_f32 to onnxruntime {difference:.1e}"
    )
    return 1 if checker.failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("results", metavar="RESULT_DIR", help="what rw-adv --out wrote")
    parser.add_argument("--model", required=True, help="the ONNX file")
    parser.add_argument("--data", required=True, help="an MNIST directory or an IDX file of images")
    parser.add_argument("--split", choices=["train", "test"], default="test", help="half of an MNIST directory")
    try:
        return run(parser.parse_args())
    except Unusable as error:
        print(f"check_results.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
