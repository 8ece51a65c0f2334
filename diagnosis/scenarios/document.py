"""One file, read safely: plain data, and the line on which each part of it stands."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from diagnosis.scenarios.json_text import read_json
from diagnosis.scenarios.limits import MAX_BYTES, Unfit
from diagnosis.scenarios.places import DocumentError, readable
from diagnosis.scenarios.yaml_text import Tree, read_yaml

ENDINGS: Final = (".yaml", ".yml", ".json")
"""The endings of files that can hold scenarios."""

_ENDINGS_ALLOWED: Final = f"a file that ends in {', '.join(ENDINGS)}"


class Document:
    """The content of one file.

    Attributes:
        file: the file, as it was named.
        data: mappings, lists, texts, numbers, booleans, dates and nulls; every key is a text.
    """

    def __init__(self, file: str, data: Any, tree: Tree | None = None) -> None:
        self.file = file
        self.data = data
        self._tree = tree

    def line(self, place: Sequence[str | int]) -> int | None:
        """Give the line of a place, or of the nearest part around it; ``None`` where lines are not known.

        Args:
            place: keys and list places, from the outside in.
        """
        if self._tree is None:
            return None
        part = self._tree
        for name in place:
            if name not in part.parts:
                break
            part = part.parts[name]
        return part.line

    def refusal(self, place: Sequence[str | int], found: str, allowed: str) -> DocumentError:
        """Give the error that refuses the file for what stands at a place.

        Args:
            place: keys and list places, from the outside in.
            found: what stands there.
            allowed: what may stand there.
        """
        return DocumentError(found, allowed, file=self.file, place=place, line=self.line(place))


def load_document(path: str | os.PathLike[str]) -> Document:
    """Read one YAML or JSON file.

    Args:
        path: a file whose name ends in ``.yaml``, ``.yml`` or ``.json``.

    Raises:
        DocumentError: there is no such file, or its content is not safe, plain data.
    """
    file, name = os.fspath(path), readable(path)
    text = _text(file, name)
    try:
        if _ending(file) == ".json":
            return Document(name, read_json(text))
        tree = read_yaml(text)
        return Document(name, tree.data, tree)
    except Unfit as error:
        raise DocumentError(
            error.found, error.allowed, file=name, place=error.place, line=error.line, column=error.column
        ) from None


def _ending(file: str) -> str:
    return Path(file).suffix.lower()


def _text(file: str, name: str) -> str:
    """Read a file's text, looking at its kind and size first."""

    def refuse(found: str, allowed: str) -> NoReturn:
        raise DocumentError(found, allowed, file=name) from None

    try:
        status = Path(file).stat()
    except FileNotFoundError:
        refuse("no such file", "a file that exists; check the path")
    except (OSError, ValueError) as error:
        refuse(f"a path that cannot be looked at ({error})", _ENDINGS_ALLOWED)
    if not stat.S_ISREG(status.st_mode):
        refuse("no regular file", _ENDINGS_ALLOWED)
    if _ending(file) not in ENDINGS:
        refuse(f"the ending {_ending(file)!r}", _ENDINGS_ALLOWED)
    if status.st_size > MAX_BYTES:
        refuse(f"{status.st_size:,} bytes", f"at most {MAX_BYTES:,} bytes; split the file")
    try:
        with Path(file).open("rb") as source:
            content = source.read(MAX_BYTES + 1)
    except OSError as error:
        refuse(f"a file that cannot be read ({error})", "a readable file; check its permissions")
    if len(content) > MAX_BYTES:  # it grew since it was looked at
        refuse(f"more than {MAX_BYTES:,} bytes", f"at most {MAX_BYTES:,} bytes; split the file")
    mark = b"\xef\xbb\xbf"
    skipped = len(mark) if content.startswith(mark) else 0
    try:
        text = content[skipped:].decode()
    except UnicodeDecodeError as error:
        offset = error.start + skipped
        refuse(f"byte 0x{content[offset]:02x} at offset {offset}, which is no UTF-8", "UTF-8; save the file as UTF-8")
    if not text.strip():
        refuse("an empty file", "a scenario, or a list of scenarios")
    return text
