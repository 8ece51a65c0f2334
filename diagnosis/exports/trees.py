"""Functions of the state as decision trees: what each one looks at, value by value, and what it then gives."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diagnosis.runtime import DiagnosisError

MAX_LEAVES = 20_000
"""Combinations of values for which one function is evaluated at most."""


class ExportError(DiagnosisError):
    """A graph cannot be said in another tool's language; the text says what of it, and why."""


class _Asked(BaseException):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass(frozen=True, slots=True)
class Leaf:
    """What a function gives.

    Attributes:
        value: a hashable value; for a failure the kind of its error.
        failed: whether it raised.
    """

    value: Any
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Split:
    """A variable that a function looks at, with what follows from each of its values.

    Attributes:
        name: the variable.
        ways: (number of the value, what follows).
    """

    name: str
    ways: tuple[tuple[int, Tree], ...]

    @property
    def grouped(self) -> list[tuple[list[int], Tree]]:
        """The values that lead to the same, together, in order of the first."""
        found: dict[Tree, list[int]] = {}
        for number, tree in self.ways:
            found.setdefault(tree, []).append(number)
        return [(numbers, tree) for tree, numbers in found.items()]


Tree = Leaf | Split

Sets = Mapping[str, Collection[int]]
"""Variable -> the numbers of the values that it may have."""


class Probe(Mapping[str, Any]):
    """A state whose values are asked for one by one.

    Args:
        ask: gives the value of a variable.
        keys: the keys of the state.
        prefix: how the names of its variables begin.
    """

    def __init__(self, ask: Callable[[str], Any], keys: Collection[str], prefix: str = "") -> None:
        self._ask, self._keys, self._prefix = ask, keys, prefix

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return self._ask(self._prefix + key)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


def grow(
    who: str,
    function: Callable[[Callable[[str], Any]], Any],
    numbers: Callable[[str], Sequence[int]],
    value: Callable[[str, int, bool], Any],
) -> Tree:
    """Tabulate a function over the values of what it reads, and of nothing else.

    Args:
        who: how an error names it.
        function: ``ask -> hashable result``, where ``ask`` gives the value of a variable; an exception is a result too.
        numbers: gives the numbers of the values that a variable may have.
        value: gives the value of a variable that a number stands for; asked for another one, one that reads alike.

    Returns:
        The tree, without looks that decide nothing.

    Raises:
        ExportError: it gives another result when it is asked again, or for values that read alike; or it looks at too
            many combinations.
    """
    leaves = 0

    def once(known: Mapping[str, int], another: bool) -> Leaf:
        def ask(name: str) -> Any:
            if name not in known:
                raise _Asked(name)
            return value(name, known[name], another)

        try:
            return Leaf(function(ask))
        except ExportError:
            raise
        except Exception as error:
            return Leaf(type(error).__name__, failed=True)

    def under(known: dict[str, int]) -> Tree:
        nonlocal leaves
        try:
            leaf = once(known, False)
            if once(known, True) != leaf:
                raise ExportError(
                    f"{who} cannot be tabulated: it gives different results for the same values of what it reads, or "
                    "for values that read alike; it must be a pure function of the typed reads of the state"
                )
        except _Asked as asked:
            ways = tuple((number, under({**known, asked.name: number})) for number in numbers(asked.name))
            if len({tree for _, tree in ways}) == 1:
                return ways[0][1]
            return Split(asked.name, ways)
        leaves += 1
        if leaves > MAX_LEAVES:
            raise ExportError(
                f"{who} cannot be tabulated: it looks at more than {MAX_LEAVES} combinations of the values of what it "
                "reads; let it read fewer keys, or let a key of its own hold what it needs"
            )
        return leaf

    return under({})


def leaves(tree: Tree, sets: Sets) -> Iterator[tuple[Leaf, Sets]]:
    """Go through the results of a tree, each with the values that lead to it.

    Args:
        tree: the tree.
        sets: the values that variables may have.
    """
    if isinstance(tree, Leaf):
        yield tree, sets
        return
    for numbers, inner in tree.grouped:
        left = [number for number in numbers if number in sets[tree.name]]
        if left:
            yield from leaves(inner, {**sets, tree.name: left})


def joined(one: Sets | None, other: Sets | None) -> Sets | None:
    """Give the values of two cases together, variable by variable.

    Args:
        one: values, or ``None`` for a case that cannot be.
        other: the same.
    """
    if one is None or other is None:
        return other if one is None else one
    return {name: list(dict.fromkeys((*one[name], *other[name]))) for name in one}


def narrowed(tree: Tree, sets: Sets, leads: Callable[[Leaf], bool]) -> Sets | None:
    """Give the values under which a tree leads to some results, variable by variable; ``None`` where none do.

    Args:
        tree: the tree.
        sets: the values that variables may have.
        leads: picks the results.
    """
    found: Sets | None = None
    for leaf, under in leaves(tree, sets):
        if leads(leaf):
            found = joined(found, under)
    return found
