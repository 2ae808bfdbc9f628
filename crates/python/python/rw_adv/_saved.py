"""What results have in common: records, and how they are packed and saved."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, Callable, Optional

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
