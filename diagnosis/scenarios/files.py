"""Writing files wholly or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from diagnosis.runtime import DiagnosisError


class FileError(DiagnosisError):
    """A file cannot be written; the text says which and why."""


def write_file(path: str | os.PathLike[str], content: bytes | Iterable[bytes], *, make_folder: bool = False) -> Path:
    """Write a file beside its place, then put the whole there, following a link that stands in it.

    Args:
        path: the file; one that is there is replaced.
        content: its bytes; or parts of them, which are made while it is written.
        make_folder: whether a missing folder is made.

    Returns:
        The path.

    Raises:
        FileError: the folder is missing, or the file cannot be written.
    """
    file = Path(path)
    parts = (content,) if isinstance(content, bytes) else content
    try:
        if file.exists() and not file.is_file() and not file.is_dir():
            # A device or a pipe: written to, never replaced.
            with file.open("wb") as stream:
                stream.writelines(parts)
            return file
        target = Path(os.path.realpath(file))
        if make_folder:
            target.parent.mkdir(parents=True, exist_ok=True)
        if not target.parent.is_dir():
            raise FileError(
                f"{str(file)!r} cannot be written: there is no directory {str(file.parent)!r}; make it first"
            )
        if target.is_dir():
            raise FileError(f"{str(file)!r} cannot be written: it is a directory; name a file")
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o644
        handle, name = tempfile.mkstemp(prefix=f".{target.stem[:40]}-", suffix=".tmp", dir=target.parent)
        draft = Path(name)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.writelines(parts)
            draft.chmod(mode)
            draft.replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                draft.unlink()
            raise
    except (OSError, ValueError) as error:
        raise FileError(f"{str(file)!r} cannot be written: {getattr(error, 'strerror', None) or error}") from error
    return file
