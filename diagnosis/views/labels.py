"""Labels: any text, made fit to stand in a picture."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import accumulate, chain, takewhile
from typing import Final

from graphviz import nohtml

WIDTH: Final = 30
"""Columns of a line; a wide character, such as a Chinese one, takes two."""

LINES: Final = 4
"""Lines of one name; what is longer is cut, and stands in full in the tooltip."""

_JOINERS: Final = re.compile("[\u200c\u200d\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
"""Invisible, but part of how words and signs are spelled: behind what is no ASCII, and once each."""

_UNSEEN: Final = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]")
"""Invisible, although Python takes them for printable."""

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}\Z")


def visible(text: str) -> str:
    r"""Give a text in which every character can be seen and kept in any file.

    Args:
        text: any text.

    Returns:
        The text; line breaks, other control and invisible characters, marks that turn the direction of writing, and
        halves of characters are spelled out as in Python, such as ``\n`` or ``\u202e``.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_visible, text, chain(" ", text)))


def visible_lines(text: str) -> str:
    """Give a text of several lines in which every character but the line breaks is visible.

    Args:
        text: any text.
    """
    return "\n".join(map(visible, text.split("\n")))


def _visible(char: str, before: str) -> str:
    if _JOINERS.match(char):
        seen = not before.isascii() and before != char
    else:
        seen = char.isprintable() and not _UNSEEN.match(char)
    if seen:
        return char
    if unicodedata.category(char) == "Zs":
        return " "
    return ascii(char)[1:-1]


def columns(text: str) -> int:
    """Give how wide a text is, in columns of a fixed-width font.

    Args:
        text: any text.
    """
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def wrapped(text: str, *, width: int = WIDTH, lines: int = LINES) -> list[str]:
    """Break a text into lines, at blanks and underscores where there are any.

    Args:
        text: any text.
        width: the most columns of a line.
        lines: the most lines; the last one ends in an ellipsis where something was cut.

    Returns:
        The lines, at least one.
    """
    rest = visible(text)
    found: list[str] = []
    while columns(rest) > width:
        if len(found) == lines - 1:
            return [*found, rest[: _fitting(rest, width - 1)] + "…"]
        end = _fitting(rest, width)
        good = [match.end() for match in re.finditer(r"[ _]+", rest[:end]) if match.end() * 2 > end]
        cut = good[-1] if good else end
        found.append(rest[:cut].rstrip(" "))
        rest = rest[cut:].lstrip(" ")
    return [*found, rest]


def _fitting(text: str, width: int) -> int:
    """Give how many characters from the start fit into a width, one at least."""
    totals = accumulate(map(_columns, text))
    return max(1, sum(1 for _ in takewhile(lambda total: total <= width, totals)))


def escaped(*lines: str, left: bool = False) -> str:
    r"""Give the DOT attribute that draws exactly these lines.

    Args:
        lines: texts without control characters.
        left: whether they are set flush left, in place of centred.

    Returns:
        A text that quoting will not take for HTML, in which backslashes and ampersands mean themselves.
    """
    taken = [line.replace("\\", "\\\\").replace("&", "&amp;") for line in lines]
    text: str = nohtml("".join(f"{line}\\l" for line in taken) if left else "\\n".join(taken))
    return text


def tooltip(text: str) -> str:
    """Give the DOT attribute of a tooltip that says exactly this.

    Args:
        text: any text.

    Returns:
        A text that quoting will not take for HTML. A joiner without width stands behind each backslash, spelled as an
        entity, since engines differ in how often they look for escapes in a tooltip.
    """
    kept: str = nohtml(visible(text).replace("&", "&amp;").replace("\\", "\\\\&#8288;"))
    return kept


def identifiers(names: Iterable[str], *, reserved: Iterable[str] = ()) -> dict[str, str]:
    """Give each name an identifier: itself where it is a plain word, else ``node_`` and its place.

    Args:
        names: the names, in order.
        reserved: words that are no identifiers, in small letters.

    Returns:
        Name -> identifier; no two are equal.
    """
    every = list(dict.fromkeys(names))
    refused = frozenset(reserved)
    plain = {name for name in every if _PLAIN.match(name) and name.lower() not in refused}
    prefix = "node_"
    while any(name.startswith(prefix) for name in plain):
        prefix += "_"
    return {name: name if name in plain else f"{prefix}{place}" for place, name in enumerate(every)}
