"""What results have in common: records, and how they are packed and saved."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any, Callable, Optional, Union

from ._errors import SaveError


def optional_number(value: Any) -> Optional[float]:
    """A number of a record; None for null."""
    return None if value is None else float(value)


def pack(save: Callable[[str], None]) -> bytes:
    """What is saved, as an archive: the native half's part of a pickle."""
    # Imported here: most runs are never pickled, and these take as long to import as numpy's half.
    import tempfile
    import zipfile

    buffer = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "result"
        save(str(root))
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(root.rglob("*")):
                if path.is_file():
                    archive.write(path, path.relative_to(root))
    return buffer.getvalue()


def unpack(packed: bytes, directory: Path) -> None:
    """Writes what :func:`pack` packed, to a directory that holds no results yet."""
    if (directory / "manifest.json").exists():
        raise SaveError(f"{directory}: holds results already; name another directory or remove it")
    import zipfile

    try:
        directory.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            archive.extractall(directory)
    except OSError as error:
        raise SaveError(f"{directory}: cannot write: {error}") from error


class SavedRun:
    """A result of a run in the native half, which cannot be pickled: a pickle holds what the run would have saved instead."""

    _run: Any
    _packed: Optional[bytes]

    def _save(self, directory: Union[str, os.PathLike[str]], *arguments: Any) -> None:
        """Has the run write a directory, or writes what a pickle holds."""
        if self._run is not None:
            self._run.save(os.fspath(directory), *arguments)
        elif self._packed is not None:
            unpack(self._packed, Path(directory))
        else:
            raise SaveError("a part of a result that was pickled cannot be saved: save the whole, or pickle the part")

    def save(self, directory: Union[str, os.PathLike[str]]) -> None:
        """Writes the directory that the command line writes."""
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._run is not None:
            state["_packed"] = pack(self.save)
        state["_run"] = None
        return state
