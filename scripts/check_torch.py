#!/usr/bin/env python3
"""Compare the networks of tests/torch_networks.txt with those that the PyTorch at hand draws.

    python3 -m venv venv && venv/bin/pip install torch    # a download of some gigabytes
    venv/bin/python scripts/check_torch.py

or, on Debian, `apt-get install python3-torch` and `/usr/bin/python3 scripts/check_torch.py`. With `--write` the table is
written instead. It holds, one network a line: its widths, its seed, and the SHA-256 of its parameters as little-endian
float32, layer by layer, weights by rows and then the bias. The test in tests/torch.rs draws the same networks without
PyTorch.

The networks are the paper's 90 (10, 100 or 1000 inputs; one to three hidden layers of 100 or 500; one output; seeds 50 to
54) and a few that are awkward: widths of 1, large seeds. Each is drawn twice, as bare layers and in an nn.Sequential with
ReLUs, and both must agree.
Exit code 0: all are as in the table; 1: some are not, one line each; 2: cannot be checked.

Trap: PyTorch's kernels for processors without AVX2 round differently, and half of the weights differ in their last bits. Such
a run (ATEN_CPU_CAPABILITY=default makes one) fails here, and is no reason to write another table.
"""

import argparse
import hashlib
import itertools
import struct
import sys
from pathlib import Path

import torch
from torch import nn

TABLE = Path(__file__).resolve().parent.parent / "tests" / "torch_networks.txt"
PAPER = [
    ([inputs] + [width] * depth + [1], seed)
    for inputs, depth, width, seed in itertools.product([10, 100, 1000], [1, 2, 3], [100, 500], range(50, 55))
]
AWKWARD = [
    ([1, 1, 1], 5489),
    ([3, 7, 2], 0),
    ([784, 500, 500, 10], 1),
    ([17, 1, 33, 5], 2**32 - 1),
    ([17, 1, 33, 5], 2**32 + 50),
    ([17, 1, 33, 5], 2**64 - 1),
]


def bare(widths):
    """Layers and nothing else."""
    return [nn.Linear(*pair) for pair in itertools.pairwise(widths)]


def sequential(widths):
    """The whole network as a user writes it."""
    layers = itertools.chain.from_iterable((layer, nn.ReLU()) for layer in bare(widths))
    return [layer for layer in nn.Sequential(*list(layers)[:-1]) if isinstance(layer, nn.Linear)]


def checksum(layers):
    """SHA-256 of all parameters in the order in which they were drawn."""
    digest = hashlib.sha256()
    for layer in layers:
        for tensor in (layer.weight, layer.bias):
            numbers = tensor.detach().flatten().tolist()
            digest.update(struct.pack(f"<{len(numbers)}f", *numbers))
    return digest.hexdigest()


def drawn(widths, seed):
    """The network's line of the table."""
    sums = []
    for build in (bare, sequential):
        torch.manual_seed(seed)
        sums.append(checksum(build(widths)))
    if sums[0] != sums[1]:
        raise SystemExit(f"{widths}, seed {seed}: bare layers and nn.Sequential differ")
    return f"{','.join(map(str, widths))} {seed} {sums[0]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the table")
    write = parser.parse_args().write
    capability = [line for line in torch.__config__.show().splitlines() if "CPU capability" in line]
    capability = capability[0].rpartition(":")[2].strip() if capability else "unknown"
    pytorch = f"PyTorch {torch.__version__}, CPU capability {capability}"

    lines = [drawn(widths, seed) for widths, seed in PAPER + AWKWARD]
    if write:
        TABLE.write_text("".join(f"{line}\n" for line in ["# Written by scripts/check_torch.py: " + pytorch, *lines]))
        print(f"{len(lines)} networks written: {pytorch}")
        return 0
    try:
        expected = [line for line in TABLE.read_text().splitlines() if not line.startswith("#")]
    except OSError as error:
        print(f"{error}; --write makes the table", file=sys.stderr)
        return 2
    wrong = sorted(set(lines).symmetric_difference(expected))
    for line in wrong:
        print(f"{'only in the table' if line in expected else 'only drawn'}: {line}")
    print(f"{len(set(lines).intersection(expected))} of {len(lines)} networks are as in the table: {pytorch}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
