"""What tells one control state from another: the position with its branches, and the typed reads of some keys."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from enum import Enum
from typing import Any

from diagnosis.runtime import END, REPEAT, Child, Definition, Forked, Place, Position, Replace
from diagnosis.runtime.position import written
from diagnosis.verify.canonical import canonical, size

MAX_ELEMENTS = 1_000
"""Elements of a list or mapping that routing reads; one that grows beyond is taken to grow without end."""


class StateKeys:
    """The hashable keys of control states under one projection.

    Outside branches a key holds the node and the typed reads. The reason that led to a node counts where something can
    tell: at END, and at nodes that repeat it.

    For a fork it holds its name, join and chosen winner, and each branch that can still matter: where it stands, the
    typed reads as the branch sees them, and what it wrote, as far as the join can tell: which Replace keys, and of
    other projected keys each value. Of a branch that ended, only what it wrote counts; of one that failed, that it did,
    and of the first one with what. What is private to a subgraph never meets at a join outside of it.

    Args:
        definition: the graph.
        projection: the keys whose typed reads count.
        writes: whether it counts what branches wrote so far.
        free: whether nobody is chosen to win an ``any_of`` fork, so that each of its branches may.

    Attributes:
        grown: why the search must stop, where a value has grown beyond all bounds.
    """

    def __init__(
        self, definition: Definition, projection: Collection[str], *, writes: bool = True, free: bool = False
    ) -> None:
        keys = definition.keys
        self._writes = writes
        self._free = free
        self._reads = [(key, keys[key].read) for key in projection]
        self._reasoned = {END} | {edge.source for edge in definition.edges if edge.reason is REPEAT}
        self._private = definition.private
        # How a write counts at a join: Replace keys by the last value, where it counts at all.
        self._replaced = {
            key: keys[key].read if key in projection else None for key in keys if isinstance(keys[key], Replace)
        }
        self._merged = {key for key in projection if key not in self._replaced}
        self.grown: str | None = None

    def of(self, place: Place, state: Mapping[str, Any]) -> tuple[Hashable, ...]:
        """Give the key of a control state.

        Args:
            place: where the run stands.
            state: the state outside branches.
        """
        if type(place) is Position:
            return (*self.place(place), *self._values(state))
        assert type(place) is Forked
        return (self._fork(place, True), None, *self._values(state))

    def place(self, position: Position) -> tuple[str, str | None]:
        """Give what of a place outside branches tells: the node, and the reason where something can tell.

        Args:
            position: where the run stands.
        """
        return (position.node, position.reason if position.node in self._reasoned else None)

    def value(self, number: int, stored: Any) -> Hashable:
        """Give the hashable form of a projected key's typed read.

        Args:
            number: the place of the key in the projection.
            stored: its value.
        """
        name, read = self._reads[number]
        value = read(stored)
        kind = type(value)
        if value is None or kind is str or kind is int:
            # Most are plain: their canonical form is at hand, and they hold no elements.
            return value  # type: ignore[no-any-return]
        if kind is bool or isinstance(value, Enum):
            return (kind.__name__, value)
        if size(value) > MAX_ELEMENTS:
            self.grown = f"key {name!r}, which routing reads, holds more than {MAX_ELEMENTS} elements"
        return canonical(value)  # type: ignore[no-any-return]

    def _values(self, state: Mapping[str, Any]) -> list[Hashable]:
        return [self.value(number, state[name]) for number, (name, _) in enumerate(self._reads)]

    def _fork(self, fork: Forked, joins: bool) -> Hashable:
        """Give what tells a fork from others; ``joins`` tells whether what it writes can ever be merged."""
        reason = fork.reason if fork.join in self._reasoned else None
        children: Iterable[Child] = fork.children
        if fork.winner is not None:
            # The others never move.
            children = (fork.children[fork.winner],)
        elif fork.wait == "any_of" and not self._free:
            joins = False
        first = next((child for child in fork.children if child.failure is not None), None)
        inner = tuple(self._child(fork, child, joins, child is first) for child in children)
        return (fork.name, fork.join, fork.wait, fork.max_concurrency, fork.winner, reason, inner)

    def _child(self, fork: Forked, child: Child, joins: bool, reported: bool) -> Hashable:
        if child.failure is not None:
            return ("failed", str(child.failure) if reported else None)
        wrote = self._written(fork, child) if joins and self._writes else None
        if child.ended:
            return ("ended", wrote)
        place = child.place
        if type(place) is Forked:
            return (child.branch, self._fork(place, True), wrote, *self._values(child.state))
        assert type(place) is Position
        reason = place.reason if place.node in self._reasoned else None
        return (child.branch, place.node, place.status, reason, wrote, *self._values(child.state))

    def _written(self, fork: Forked, child: Child) -> Hashable:
        replaced: dict[str, Hashable] = {}
        merged: dict[str, list[Hashable]] = {}
        elements = 0
        for key, value, _ in written(child.writes):
            if key in self._private and fork.source not in self._private[key]:
                continue
            if key in self._replaced:
                read = self._replaced[key]
                replaced[key] = None if read is None else canonical(read(value))
            elif key in self._merged:
                merged.setdefault(key, []).append(canonical(value))
                elements += 1 + size(value)
                if elements > MAX_ELEMENTS:
                    self.grown = f"a branch wrote more than {MAX_ELEMENTS} elements to keys that routing reads"
        return (
            tuple(sorted(replaced.items(), key=lambda item: item[0])),
            tuple((key, tuple(merged[key])) for key in sorted(merged)),
        )
