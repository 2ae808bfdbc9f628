"""The command ``rw-adv``: the same program as the one that cargo installs."""

from __future__ import annotations

import sys

from ._native import command_line


def main() -> int:
    """Does what was typed; gives the exit code."""
    return command_line(["rw-adv", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
