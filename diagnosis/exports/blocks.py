"""Promela text as nested blocks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

TRUE = "true"
FALSE = "false"


class Block(list["str | Choice"]):
    """Statements, one after the other."""

    def lines(self, indent: int = 0) -> Iterator[str]:
        """Go through the lines of text.

        Args:
            indent: the depth.
        """
        pad = "\t" * indent
        if not self:
            yield f"{pad}skip;"
        for item in self:
            if isinstance(item, str):
                yield item if item.startswith("#") else f"{pad}{item}"
            else:
                yield from item.lines(indent)


class Choice:
    """An ``if`` with its options.

    Args:
        options: (guard, what is done then); the guard ``else`` comes last.
    """

    def __init__(self, options: Iterable[tuple[str, Block]]) -> None:
        self.options = list(options)

    def lines(self, indent: int = 0) -> Iterator[str]:
        """Go through the lines of text.

        Args:
            indent: the depth.
        """
        pad = "\t" * indent
        yield f"{pad}if"
        for guard, block in self.options:
            yield f"{pad}:: {guard} ->"
            yield from block.lines(indent + 1)
        yield f"{pad}fi;"


def all_of(terms: Iterable[str]) -> str:
    """Give the conjunction of some expressions.

    Args:
        terms: Promela expressions.
    """
    found = [term for term in terms if term != TRUE]
    if FALSE in found:
        return FALSE
    return " && ".join(found) if found else TRUE


def any_of(terms: Iterable[str]) -> str:
    """Give the disjunction of some expressions.

    Args:
        terms: Promela expressions.
    """
    found = [term for term in terms if term != FALSE]
    if TRUE in found:
        return TRUE
    if len(found) < 2:
        return found[0] if found else FALSE
    return "(" + " || ".join(f"({term})" if "&&" in term else term for term in found) + ")"


def among(name: str, numbers: Sequence[int]) -> str:
    """Give the test of a variable for some numbers.

    Args:
        name: the variable.
        numbers: what it may be.
    """
    ordered = sorted(numbers)
    if len(ordered) > 2 and ordered[-1] - ordered[0] == len(ordered) - 1:
        return f"({name} >= {ordered[0]} && {name} <= {ordered[-1]})"
    return any_of(f"{name} == {number}" for number in ordered)


def quoted(text: str) -> str:
    """Give a text as it may stand in a printf: nothing in it is a directive or an end of the text.

    Args:
        text: any text.
    """
    plain = re.sub(r"[^ -~]", "?", text)
    return plain.replace("\\", "/").replace('"', "'").replace("%", "%%")


class Names:
    """Promela names for names of any kind, each its own."""

    def __init__(self) -> None:
        self._given: dict[tuple[str, str], str] = {}
        self._taken: set[str] = set()

    def of(self, prefix: str, text: str) -> str:
        """Give the name of something.

        Args:
            prefix: how names of its kind begin.
            text: what it is called.
        """
        if (prefix, text) not in self._given:
            base = name = f"{prefix}_" + re.sub(r"\W+", "_", text, flags=re.ASCII)
            count = 1
            while name in self._taken:
                count += 1
                name = f"{base}_{count}"
            self._taken.add(name)
            self._given[prefix, text] = name
        return self._given[prefix, text]

    def given(self, prefix: str) -> list[str]:
        """Give the names of one kind, in the order in which they were first asked for.

        Args:
            prefix: how names of the kind begin.
        """
        return [name for (kind, _), name in self._given.items() if kind == prefix]
