#!/usr/bin/env python3
"""Compares the records of `rw-adv verify --instances … --out DIR` with known answers.

    scripts/vnncomp/compare.py DIR EXPECTED.csv

EXPECTED.csv has a header and the columns network, property, answer (sat, unsat, or ? if it is not known). Prints one line for each network
that was asked, a total, and every answer that differs. Exit code 0: no answer differs; 1: one does.
"""

import collections
import csv
import json
import statistics
import sys
from pathlib import Path


def main(directory, expected_file):
    with open(expected_file, newline="") as file:
        rows = list(csv.reader(file))[1:]
    expected = {(network, prop): answer for network, prop, answer in rows}
    lines = (Path(directory) / "verify.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    groups, wrong = collections.defaultdict(list), []
    for record in records:
        answer = expected.get((record["model"], record["property"]), "?")
        decided = record["result"] in ("sat", "unsat")
        if decided and answer in ("sat", "unsat") and answer != record["result"]:
            wrong.append((record, answer))
        groups[record["model"]].append(record)
        groups["all"].append(record)
    for name, group in groups.items():
        decided = [r for r in group if r["result"] in ("sat", "unsat")]
        counts = collections.Counter(r["result"] for r in group)
        seconds = sum(r["seconds"] for r in group)
        median = statistics.median(r["seconds"] for r in group)
        told = ", ".join(f"{count} {result}" for result, count in sorted(counts.items()))
        print(f"{name}: {len(decided)} of {len(group)} decided ({told}), {seconds:.1f} s, median {median:.2f} s")
    for record, answer in wrong:
        print(f"WRONG: {record['model']}, {record['property']}: {record['result']}, known is {answer}")
    print(f"{len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
