"""Runs a notebook: every cell must run, and the texts that it shows must be those that are stored in it.

    run_notebook.py NOTEBOOK            compare
    run_notebook.py NOTEBOOK --write    store what it shows now

Words are compared, not numbers and pictures: seconds differ from run to run, and radii get better with the program. Needs nbclient and
ipykernel.
"""

import re
import sys

import nbformat
from nbclient import NotebookClient

NUMBER = re.compile(r"\d+(\.\d+)?(e-?\d+)?")


def texts(cell):
    """What a cell shows as text."""
    shown = []
    for output in cell.get("outputs", []):
        if output["output_type"] == "stream" and output["name"] == "stdout":
            shown.append(output["text"])
        elif "data" in output and "image/png" not in output["data"]:
            shown.append(output["data"].get("text/plain", ""))
    return [NUMBER.sub("NUMBER", text) for text in shown]


def main():
    path, write = sys.argv[1], sys.argv[2:] == ["--write"]
    stored = nbformat.read(path, as_version=4)
    run = nbformat.read(path, as_version=4)
    NotebookClient(run, timeout=300, kernel_name="python3").execute()
    if write:
        for cell in run.cells:
            cell.get("metadata", {}).pop("execution", None)
        nbformat.write(run, path)
        return 0
    for number, (old, new) in enumerate(zip(stored.cells, run.cells)):
        if texts(old) != texts(new):
            print(f"{path}: cell {number} shows {texts(new)}, stored is {texts(old)}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
