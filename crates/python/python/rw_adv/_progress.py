"""How far a run is: a bar where tqdm is installed, or a function of the caller."""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any, Callable, Optional

from ._arguments import Progress
from ._errors import InputError
from ._optional import in_notebook

#: What the native half calls: how many records there will be, and one of them.
Listener = Callable[[int, Optional[str]], None]


class ProgressListener:
    """Counts records, and tells whoever wants to know."""

    def __init__(self, progress: Progress, what: str) -> None:
        if not isinstance(progress, bool) and not callable(progress):
            raise InputError(f"progress must be True, False or a function, not {progress!r}")
        self._call = progress if callable(progress) else None
        self._bar = _bar(what) if progress is True else None
        self._done = 0

    def listener(self) -> Optional[Listener]:
        """For the native half; None where nobody listens."""
        # A bar of nothing counts as false.
        return self._tell if self._call is not None or self._bar is not None else None

    def _tell(self, total: int, record: Optional[str]) -> None:
        if self._bar is not None and record is None:
            self._bar.reset(total)
        if record is None:
            return
        self._done += 1
        if self._bar is not None:
            self._bar.update(1)
        if self._call is not None:
            self._call(self._done, total, json.loads(record))

    def close(self) -> None:
        """No more records come."""
        if self._bar is not None:
            self._bar.close()


def _bar(what: str) -> Any:
    """A bar on a terminal or in a notebook; None elsewhere, and without tqdm."""
    if not in_notebook() and not (sys.stderr is not None and sys.stderr.isatty()):
        return None
    try:
        tqdm: Any = importlib.import_module("tqdm.auto").tqdm
    except ImportError:
        return None
    return tqdm(total=0, desc=what, leave=False)
