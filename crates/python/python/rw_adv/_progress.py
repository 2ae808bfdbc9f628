"""How far a run is: a bar where tqdm is installed, or a function of the caller."""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any, Callable, Optional, TypedDict

from ._arguments import Progress
from ._errors import InputError
from ._optional import in_notebook

#: What the native half calls (with how many records there will be, how many there are, and the last one if it is wanted), and whether
#: it wants every record.
Listener = TypedDict("Listener", {"call": Callable[[int, int, Optional[str]], None], "each": bool})


class ProgressListener:
    """Counts records, and tells whoever wants to know."""

    def __init__(self, progress: Progress, what: str) -> None:
        if not isinstance(progress, bool) and not callable(progress):
            raise InputError(f"progress must be True, False or a function, not {progress!r}")
        self._call = progress if callable(progress) else None
        self._bar = _bar(what) if progress is True else None

    def listener(self) -> Optional[Listener]:
        """For the native half; None where nobody listens."""
        # A bar of nothing counts as false.
        if self._call is None and self._bar is None:
            return None
        return {"call": self._tell, "each": self._call is not None}

    def _tell(self, total: int, done: int, record: Optional[str]) -> None:
        if self._bar is not None:
            if self._bar.total != total:
                self._bar.reset(total)
            self._bar.update(done - self._bar.n)
        if self._call is not None and record is not None:
            self._call(done, total, json.loads(record))

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
