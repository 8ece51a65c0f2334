"""Reading traces from files of any size: JSON Lines, or one JSON document, in memory that does not grow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import BinaryIO, Final, NamedTuple

import msgspec

from diagnosis.traces.deviation import TraceFileError

MAX_LINE: Final = 1 << 20
"""Bytes of the longest line that is read; a longer one is skipped unread."""

MAX_DOCUMENT: Final = 8 << 20
"""Bytes of the largest JSON document that is read as a whole; JSON Lines may have any size."""

CHUNK: Final = 1 << 18

ITEMS: Final = 256
"""Items of a JSON list that are given together."""

_BOM: Final = b"\xef\xbb\xbf"


class Batch(NamedTuple):
    """Some traces that follow one another in a file.

    Attributes:
        first: the line of the first one, from 1; of items of a JSON list the place of the first one, from 0.
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
    head = bytearray(stream.read(MAX_LINE).removeprefix(_BOM))
    first = bytes(head.lstrip().split(b"\n", 1)[0].strip())
    if first[:1] in (b"{", b"[") and not (first.startswith(b"{") and _decodes(first)):
        while len(head) <= MAX_DOCUMENT and (piece := stream.read(CHUNK)):
            head += piece
        if len(head) > MAX_DOCUMENT and len(first) == 1:
            raise TraceFileError(
                f"the JSON document is larger than {MAX_DOCUMENT >> 20} MiB; write one trace a line (JSON Lines)"
            )
        is_list = first.startswith(b"[")
        items = _document(head, is_list=is_list) if len(head) <= MAX_DOCUMENT else None
        if items is not None:
            yield from _located(head, items, is_list=is_list)
            return
    yield from _lines(chain(_pieces(head), iter(lambda: stream.read(CHUNK), b"")))


def _pieces(head: bytearray) -> Iterator[bytes]:
    for start in range(0, len(head), CHUNK):
        yield bytes(head[start : start + CHUNK])
    head.clear()


def _lines(pieces: Iterable[bytes]) -> Iterator[Batch]:
    first, rest, skipping = 1, b"", False
    for piece in pieces:
        parts: list[bytes | None] = piece.split(b"\n")  # type: ignore[assignment]
        parts[0] = rest + (parts[0] or b"")
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


def _document(text: bytearray, *, is_list: bool) -> list[msgspec.Raw] | None:
    """Give the items of a JSON list, or one JSON object; ``None`` where the text is neither."""
    try:
        if is_list:
            return msgspec.json.decode(text, type=list[msgspec.Raw])
        return [msgspec.json.decode(text, type=msgspec.Raw)]
    except (msgspec.DecodeError, RecursionError):
        return None


def _located(text: bytearray, items: list[msgspec.Raw], *, is_list: bool) -> Iterator[Batch]:
    """Give the items of a document with their lines."""
    line, place = 1, 0
    for start in range(0, len(items), ITEMS):
        lines, texts = [], list[bytes | None]()
        for item in items[start : start + ITEMS]:
            found = text.index(item, place)
            line += text.count(b"\n", place, found)
            lines.append(line)
            texts.append(bytes(item))
            line += text.count(b"\n", found, found + len(texts[-1] or b""))
            place = found + len(texts[-1] or b"")
        yield Batch(start if is_list else lines[0], texts, lines if is_list else None)
