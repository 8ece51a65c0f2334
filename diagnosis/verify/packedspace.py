"""A searched space of packed states as the plain search gives it: transitions are made when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from operator import eq
from typing import Any, Generic, TypeVar, overload

import numpy as np

from diagnosis.runtime import Position, RuleTruth
from diagnosis.verify.edges import Edges
from diagnosis.verify.frontier import BLOCK, Frontier
from diagnosis.verify.packed import Ints
from diagnosis.verify.paths import Call, Transition
from diagnosis.verify.tabulate import Row

T = TypeVar("T")

SMALL = 20_000
"""Control states up to which what was made of them once is kept."""

KEPT = 20_000
"""Whole states that are kept at most, so that those behind them need not be replayed from the start."""


class Lazy(Sequence[T], Generic[T]):
    """A sequence whose elements are made when they are asked for.

    Args:
        size: how many there are.
        made: place -> element.
    """

    def __init__(self, size: int, made: Callable[[int], T]) -> None:
        self._size, self._made = size, made
        self._kept: dict[int, T] | None = {} if size <= SMALL else None

    def __len__(self) -> int:
        return self._size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> list[T]: ...
    def __getitem__(self, at: int | slice) -> T | list[T]:
        if isinstance(at, slice):
            return [self._made(place) for place in range(*at.indices(self._size))]
        place = at + self._size if at < 0 else at
        if not 0 <= place < self._size:
            raise IndexError(at)
        if self._kept is None:
            return self._made(place)
        if place not in self._kept:
            self._kept[place] = self._made(place)
        return self._kept[place]


class PackedSpace:
    """The control states and transitions of a search over packed states.

    Args:
        frontier: the search.

    Attributes:
        edges: its transitions in arrays.
    """

    def __init__(self, frontier: Frontier) -> None:
        self.frontier = frontier
        self.table = frontier.table
        self._whole: dict[int, Mapping[str, Any]] = {}
        self._truths: dict[int, list[tuple[RuleTruth, ...]]] = {}

    @cached_property
    def edges(self) -> Edges:
        """The transitions in arrays."""
        return Edges(self.frontier)

    def lazy(self, made: Callable[[int], T]) -> Sequence[T]:
        """Give a sequence with an element for each control state.

        Args:
            made: index -> element.
        """
        return Lazy(self.frontier.known, made)

    def position(self, index: int) -> Position:
        """Give where the run stands in a control state, with the reason that led there first.

        Args:
            index: the control state.
        """
        found = self.frontier.step_to(index)
        position = self.mover(index) if found is None else found[1].position
        assert position is not None
        return position

    def mover(self, index: int) -> Position:
        """Give the node that is executed next.

        Args:
            index: the control state.
        """
        frontier = self.frontier
        if index < frontier.explored:
            row: Row = frontier.rows.rows[frontier.row.all[index]]
            return self.table.places[row.place]
        return self.table.places[frontier.place(index)]

    @cached_property
    def states(self) -> Sequence[Mapping[str, Any]]:
        """The whole state of each control state, by replaying the shortest script on the real step."""
        return self.lazy(self._state)

    def _state(self, index: int) -> Mapping[str, Any]:
        if len(self._whole) > KEPT:
            self._whole.clear()
        at, trail = index, list[tuple[int, int, str]]()
        while at not in self._whole:
            found = self.frontier.step_to(at)
            if found is None:
                self._whole[at] = self.frontier.whole(at)
                break
            trail.append((found[0], at, found[1].outcome))
            at = found[0]
        for before, after, outcome in reversed(trail):
            self._whole[after] = self.table.executed(self.position(before), self._whole[before], outcome)[1]
        return self._whole[index]

    def parent(self, index: int) -> tuple[int, Call] | None:
        """Give the control state that one was found from, and what was executed there; ``None`` for the first.

        Args:
            index: the control state.
        """
        found = self.frontier.step_to(index)
        return None if found is None else (found[0], (self.mover(found[0]).node, found[1].outcome))

    def outgoing(self, index: int) -> list[Transition]:
        """Give the transitions of a control state.

        Args:
            index: the control state.
        """
        frontier = self.frontier
        if index >= frontier.explored:
            return []
        number = int(frontier.row.all[index])
        if "edges" in self.__dict__:
            edges = self.edges
            targets = edges.targets[edges.ends[index] - edges.counts[index] : edges.ends[index]].tolist()
        else:
            targets = frontier.targets(index, index + 1)[0].tolist()
        return self._transitions(index, number, targets)

    def _transitions(self, index: int, number: int, targets: Sequence[int]) -> list[Transition]:
        rows = self.frontier.rows
        row = rows.rows[number]
        truths = self._truths.get(number)
        if truths is None:
            truths = self._truths[number] = [self.table.truths(row, step) for step in row.steps]
        return [
            Transition(
                index,
                step.outcome,
                None if way is None else targets[way],
                step.choice,
                step.attempt,
                told,
                step.error,
            )
            for step, way, told in zip(row.steps, rows.step_ways[number], truths, strict=True)
        ]

    def known_state(self, index: int) -> dict[str, Any]:
        """Give the projected keys of a control state; the others as they were at the start.

        Args:
            index: the control state.
        """
        return self.table.known_state(dict(enumerate(self.frontier.values(index)[1:])))

    def values_of(self, key: str) -> set[int]:
        """Give the numbers of the values that a projected key has in some control state.

        Args:
            key: the key.
        """
        frontier, field = self.frontier, self.table.keys.index(key) + 1
        found = np.zeros(len(self.table.values[field - 1]), np.bool_)
        for start in range(0, frontier.known, BLOCK):
            found[frontier.layout.get(frontier.words(start, min(start + BLOCK, frontier.known)), field)] = True
        return set(np.flatnonzero(found).tolist())

    def around(self, edge: Transition) -> tuple[dict[str, Any], dict[str, Any]]:
        """Give the state that the action sees in a transition, and the state after it: the projected keys of both.

        Args:
            edge: the transition, which leads to a state.
        """
        frontier = self.frontier
        assert edge.target is not None
        row = frontier.rows.rows[frontier.row.all[edge.source]]
        before, after = (dict(enumerate(frontier.values(index)[1:])) for index in (edge.source, edge.target))
        return self.table.known_state({**before, **dict(row.entry)}), self.table.known_state(after)

    @cached_property
    def rows(self) -> list[int]:
        """The numbers of the rows that some explored state has, in the order of the first of them."""
        rows = self.frontier.rows
        return [number for number, first in enumerate(rows.first) if first < self.frontier.explored]

    @cached_property
    def _by_row(self) -> tuple[Ints, Ints]:
        row = self.frontier.row.all
        return np.argsort(row, kind="stable"), np.cumsum(np.bincount(row, minlength=len(self.frontier.rows.rows)))

    def states_of(self, number: int) -> Ints:
        """Give the control states that have a row.

        Args:
            number: the number of the row.
        """
        order, ends = self._by_row
        return order[ends[number - 1] if number else 0 : ends[number]]

    @cached_property
    def samples(self) -> list[Transition]:
        """One transition for each row and outcome: the first of its kind, in the order of discovery."""
        frontier = self.frontier
        if not self.rows:
            return []
        first = np.array([frontier.rows.first[number] for number in self.rows])
        following, _, _ = frontier.onward(frontier.words_of(first), np.array(self.rows))
        targets = frontier.find(following).tolist()
        found, at = list[Transition](), 0
        for number in self.rows:
            count = int(frontier.rows.ways.all[number])
            found += self._transitions(frontier.rows.first[number], number, targets[at : at + count])
            at += count
        return found

    def known(self, row: Row) -> dict[int, int]:
        """Give what the control states of a row have in common: number of the key -> number of its value.

        Args:
            row: the row.
        """
        return dict(zip(self.table.inputs(row.place), row.values, strict=True))
