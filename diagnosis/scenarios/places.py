"""Where something stands in a file, and how a refusal says what is wrong there."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterable, Mapping
from typing import Final

from diagnosis.runtime import DiagnosisError

Place = tuple[str | int, ...]
"""A way into a document: keys and list places, from the outside in."""

QUOTE_IT: Final = "put it in quotes"

_LONGEST_SHOWN: Final = 120
_PLAIN_KEY: Final = re.compile(r"[^\W\d][\w-]*")


def place_text(place: Iterable[str | int]) -> str:
    """Write a place, such as ``script.verifier[0].verdict``.

    Args:
        place: keys and list places, from the outside in.
    """
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN_KEY.fullmatch(part):
            text += f".{shortened(part)}" if text else shortened(part)
        else:
            text += f"[{shortened(repr(part))}]"
    return text


def shortened(text: str) -> str:
    """Give a text, cut in the middle where it is too long for a message.

    Args:
        text: any text.
    """
    if len(text) <= _LONGEST_SHOWN:
        return text
    half = (_LONGEST_SHOWN - 5) // 2
    return f"{text[:half]} ... {text[-half:]}"


def readable(path: str | os.PathLike[str]) -> str:
    """Give a path as a text that can be printed anywhere, whatever bytes its name is made of.

    Args:
        path: a path.
    """
    return os.fspath(path).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def shown(value: object) -> str:
    """Say what was found, by kind and value, such as ``bool True``.

    Args:
        value: what stands there.
    """
    if value is None:
        return "null"
    if isinstance(value, str):
        return shortened(repr(value))
    if isinstance(value, Mapping):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, list | tuple):
        return "a list" if value else "an empty list"
    if isinstance(value, datetime.date):
        return f"date {value}"
    return shortened(f"{type(value).__name__} {value!r}")


class DocumentError(DiagnosisError):
    """A scenario, or the file it stands in, is not what it must be.

    Attributes:
        file: the file; ``None`` for a scenario made in code.
        place: the place inside it; empty for the whole file.
        line: the line, from 1, where one is known.
        column: the column, from 1, where one is known.
        found: what stands there.
        allowed: what may stand there, and what to do.
    """

    def __init__(
        self,
        found: str,
        allowed: str,
        *,
        file: str | None = None,
        place: Iterable[str | int] = (),
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        self.file = file
        self.place: Place = tuple(place)
        self.line = line
        self.column = column
        self.found = found
        self.allowed = allowed
        where = [file] if file is not None else []
        if line is not None:
            where.append(f"line {line}" + (f", column {column}" if column is not None else ""))
        if self.place:
            where.append(self.where)
        prefix = f"{', '.join(where)}: " if where else ""
        super().__init__(f"{prefix}found {self.found}; allowed: {allowed}")

    @property
    def where(self) -> str:
        """The place inside the file, such as ``script.verifier[0].verdict``; empty for the whole file."""
        return place_text(self.place)
