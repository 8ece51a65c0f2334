"""What a document may hold at most, whatever it is written in."""

from __future__ import annotations

import math
from typing import Any, Final

from diagnosis.scenarios.places import Place, shown

MAX_BYTES: Final = 1024 * 1024
"""The largest file that is read."""

MAX_NODES: Final = 100_000
"""Mappings, lists, keys and values of a document, each alias counted as what it stands for."""

MAX_ALIASES: Final = 100
"""YAML aliases in a document."""

MAX_DEPTH: Final = 100
"""Levels of nesting, aliases followed."""

MAX_DIGITS: Final = 1000
"""Characters of a number."""

_MAX_BITS: Final = 3322


class Unfit(Exception):  # noqa: N818
    """Content is refused; which file it stands in is known further out.

    Attributes:
        found: what stands there.
        allowed: what may stand there, and what to do.
        place: the place inside the document.
        line: the line, from 1, where known.
        column: the column, from 1, where known.
    """

    def __init__(
        self, found: str, allowed: str, *, place: Place = (), line: int | None = None, column: int | None = None
    ) -> None:
        super().__init__(found)
        self.found = found
        self.allowed = allowed
        self.place = place
        self.line = line
        self.column = column


def too_many_nodes(place: Place = (), line: int | None = None) -> Unfit:
    """Give the refusal of a document that is too big.

    Args:
        place: where the limit was met.
        line: its line, where known.
    """
    return Unfit(
        f"more than {MAX_NODES:,} nodes",
        f"at most {MAX_NODES:,} keys and values, aliases written out; split the file",
        place=place,
        line=line,
    )


def too_deep(place: Place = (), line: int | None = None) -> Unfit:
    """Give the refusal of a document that is nested too deeply.

    Args:
        place: where the limit was met; only its beginning is kept.
        line: its line, where known.
    """
    return Unfit(
        f"more than {MAX_DEPTH} levels of nesting",
        f"at most {MAX_DEPTH} levels, aliases written out",
        place=place[:5],
        line=line,
    )


def flaw_of(value: Any) -> tuple[str, str] | None:
    """Say why other tools could not read a single value back.

    Args:
        value: a text, number, boolean, date or null.

    Returns:
        What is found and what is allowed, for a number that is not finite or is very long and for a text that is no
        Unicode; else ``None``.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return shown(value), "finite numbers"
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        return "a very long number", f"numbers of at most {MAX_DIGITS} digits"
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            text = shown(value)
            return f"{text}, which holds half of a surrogate pair", "Unicode texts; write the character, or both halves"
    return None
