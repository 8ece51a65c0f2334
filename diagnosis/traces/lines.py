"""Reading traces from files of any size: JSON Lines, or one JSON document, in memory that does not grow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import BinaryIO, Final, NamedTuple

import msgspec

from diagnosis.traces.deviation import TraceFileError

MAX_LINE: Final = 1 << 20
"""Bytes of the longest line that is read; a longer one is skipped unread."""

MAX_DOCUMENT: Final = 16 << 20
"""Bytes of the largest JSON document that is read as a whole; JSON Lines may have any size."""

CHUNK: Final = 1 << 18

_BOM: Final = b"\xef\xbb\xbf"


class Batch(NamedTuple):
    """Some traces that follow one another in a file.

    Attributes:
        first: the line of the first one, from 1.
        texts: a line each; ``None`` for one that is too long, an empty text for a blank one. Of a JSON list, an item
            each.
        lines: the line of each item of a JSON list; ``None`` where each has a line of its own.
    """

    first: int
    texts: list[bytes | None]
    lines: list[int] | None = None


def batches(stream: BinaryIO) -> Iterator[Batch]:
    """Read a stream piece by piece.

    Args:
        stream: JSON Lines, a JSON object or a JSON list; it may be indented and begin with a byte order mark.

    Raises:
        TraceFileError: it is a JSON document that is too large to be read as a whole.
    """
    head = stream.read(MAX_LINE)
    head = head.removeprefix(_BOM)
    first = head.lstrip().split(b"\n", 1)[0].strip()
    if first[:1] in (b"{", b"[") and not (first.startswith(b"{") and _decodes(first)):
        rest = stream.read(MAX_DOCUMENT - len(head) + 1)
        head += rest
        if len(head) <= MAX_DOCUMENT:
            document = _document(head)
            if document is not None:
                yield document
                return
        elif len(first) == 1:
            raise TraceFileError(
                f"the JSON document is larger than {MAX_DOCUMENT >> 20} MiB; write one trace a line (JSON Lines)"
            )
    pieces = [head[start : start + CHUNK] for start in range(0, len(head), CHUNK)]
    del head
    yield from _lines(chain(_popped(pieces), iter(lambda: stream.read(CHUNK), b"")))


def _popped(pieces: list[bytes]) -> Iterator[bytes]:
    pieces.reverse()
    while pieces:
        yield pieces.pop()


def _lines(pieces: Iterable[bytes]) -> Iterator[Batch]:
    first, rest, skipping = 1, b"", False
    for piece in pieces:
        parts: list[bytes | None] = (rest + piece).split(b"\n")  # type: ignore[assignment]
        rest = parts.pop() or b""
        if skipping and parts:
            parts[0], skipping = None, False
        if parts:
            if parts[0] is not None and len(parts[0]) > MAX_LINE:  # pieces are shorter, so that no other one can be
                parts[0] = None
            yield Batch(first, parts)
            first += len(parts)
        if skipping or len(rest) > MAX_LINE:
            rest, skipping = b"", True
    if rest or skipping:
        yield Batch(first, [None if skipping else rest])


def _decodes(text: bytes) -> bool:
    """Tell whether a text is one whole JSON value."""
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _document(text: bytes) -> Batch | None:
    """Take a text apart as one JSON document; ``None`` where it is none."""
    first = 1 + text[: len(text) - len(text.lstrip())].count(b"\n")
    try:
        if text.lstrip()[:1] == b"{":
            return Batch(first, [text]) if _decodes(text) else None
        items = [bytes(item) for item in msgspec.json.decode(text, type=list[msgspec.Raw])]
    except (msgspec.DecodeError, RecursionError):
        return None
    lines, line, place = [], 1, 0
    for item in items:
        found = text.index(item, place)
        line += text.count(b"\n", place, found)
        lines.append(line)
        line += item.count(b"\n")
        place = found + len(item)
    return Batch(first, [*items], lines)
