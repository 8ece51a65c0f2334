"""The search over packed control states: block by block of the frontier, in the order of the plain search."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from diagnosis.runtime import END
from diagnosis.verify.packed import Column, Index, Ints, Layout, Roots
from diagnosis.verify.rows import Outgrown, Rows
from diagnosis.verify.tabulate import Rekeyed, Row, RowStep, Table

BLOCK = 1 << 14
"""Control states that are expanded at once."""

Told = Callable[[int, int], None]


class Frontier:
    """The reachable control states of a table, numbered as the plain search numbers them.

    States are expanded in order of discovery, block by block, and of the ways to a new state the first one counts; so
    every state has the number, the depth and the shortest script that the plain search gives it, a budget of states
    cuts both off at the same one, and nothing needs to be sorted. What is kept of a state is its number, its place in
    a table of 32-bit indices, its row and its parent; outcomes are found again by replaying a path.

    Args:
        table: the rows.
        max_states: the budget of control states.
        spent: says what budget is used up, or gives ``None``.
        progress: called after each block with the states explored and known.

    Attributes:
        table: the rows.
        rows: the rows in arrays.
        row: for each explored state the number of its row.
        parents: for each state the one that it was found from.
        levels: the first state of each depth, and behind the last one where the next would be.
        explored: how many states were explored.
        size: how many transitions they have.
        stopped: why the search gave up, or ``None``.
    """

    def __init__(
        self,
        table: Table,
        *,
        max_states: int,
        spent: Callable[[], str | None],
        progress: Told | None = None,
    ) -> None:
        self.table = table
        self._max_states, self._spent, self._progress = max_states, spent, progress
        while True:
            try:
                self._search()
                break
            except Rekeyed:
                continue

    def _search(self) -> None:
        place, values = self.table.start()
        self._lay_out()
        self.rows = Rows(self.table, self.layout)
        self.row, self.parents = Column(np.int32), Column(np.int32)
        self.levels = [0, 1]
        self.explored = self.size = 0
        self.stopped: str | None = None
        self._index = Index()
        self._index.add(self._roots.of(self.layout.pack([place, *values])))
        self.parents.extend(-1)
        while self.explored < self.known and not self._cut():
            if self.explored == self.levels[-1]:
                self.levels.append(self.known)
            self._expand(min(self.levels[-1], self.explored + BLOCK))
            if self._progress is not None:
                self._progress(self.explored, self.known)
        if self.stopped is None:
            self.stopped = self.table.grown
        if self.levels[-1] < self.known:
            self.levels.append(self.known)

    @property
    def known(self) -> int:
        """How many states were found."""
        return self._index.roots.size

    def _lay_out(self) -> None:
        self.layout = Layout(self.table.sizes)
        self._roots = Roots(self.layout.words)

    def _cut(self) -> bool:
        self.stopped = self.stopped or self._spent()
        return self.stopped is not None or self.table.grown is not None

    def words(self, start: int, stop: int) -> Ints:
        """Give states as they are packed, one row a word.

        Args:
            start: the first one.
            stop: behind the last one.
        """
        return self._roots.words(self._index.roots.all[start:stop])

    def _expand(self, stop: int) -> None:
        """Expand a block; more of it than the budget allows is as if it had not been expanded."""
        start = self.explored
        while True:
            words = self.words(start, stop)
            try:
                found = self.rows.find(words, lambda at: self.whole(start + at), start)
                break
            except Outgrown:
                self._widen()
        candidates, parents, _ = self.onward(words, found)
        known = self.known
        fresh = self._index.add(self._roots.of(candidates))
        parents = parents[fresh]
        if self.known > self._max_states:
            left = self._max_states - known
            at = int(parents[left]) + 1 if left >= 0 else 0
            going = np.flatnonzero(~self.rows.ending.all[found[at:]])
            if going.size:
                stop = start + at + int(going[0])
                found, parents = found[: stop - start], parents[parents < stop - start]
                self._index.cut(known + parents.size)
                self.stopped = f"the budget of {self._max_states} control states was used up"
        self.parents.extend(parents + start)
        self.row.extend(found)
        self.size += int(self.rows.total.all[found].sum())
        self.explored = stop

    def _widen(self) -> None:
        """Pack all anew, with room for the values seen."""
        old, roots, layout = self._index.roots.all, self._roots, self.layout
        self._lay_out()
        self.rows.repacked(self.layout)
        self._index = Index()
        for at in range(0, old.size, BLOCK):
            part = old[at : at + BLOCK]
            fields = layout.unpack(roots.words(part))
            self._index.add(self._roots.of(self.layout.pack(fields, part.size)))

    def onward(self, words: Ints, found: Ints) -> tuple[Ints, Ints, Ints]:
        """Give the states that follow, in the order of the states and of their outcomes.

        Args:
            words: states, one row a word.
            found: their rows.

        Returns:
            The states that follow, one row a word; for each the place of the state before it; and the way on.
        """
        rows = self.rows
        counts = rows.ways.all[found]
        ends = np.cumsum(counts)
        total = int(ends[-1]) if ends.size else 0
        parents = np.repeat(np.arange(found.size), counts)
        ways = np.arange(total) + np.repeat(rows.start.all[found] - (ends - counts), counts)
        following = np.empty((len(words), total), np.int64)
        for at, word in enumerate(words):
            following[at] = (word[parents] & rows.keep.rows[at, ways]) | rows.put.rows[at, ways]
        return following, parents, ways

    def targets(self, start: int, stop: int) -> tuple[Ints, Ints, Ints]:
        """Give the ways on from explored states.

        Args:
            start: the first state.
            stop: behind the last one.

        Returns:
            For each way on the state it leads to; for each the state it leaves, counted from ``start``; and its number.
        """
        following, parents, ways = self.onward(self.words(start, stop), self.row.all[start:stop])
        return self.find(following), parents, ways

    def depth(self, index: int) -> int:
        """Give the fewest node executions that lead to a state.

        Args:
            index: the state.
        """
        return int(np.searchsorted(np.asarray(self.levels), index, side="right")) - 1

    def deeper(self, limit: int) -> range:
        """Give the states to which no fewer node executions lead than one more than a limit.

        Args:
            limit: node executions.
        """
        return range(self.levels[limit + 1] if limit + 1 < len(self.levels) else self.known, self.known)

    def words_of(self, indices: Ints) -> Ints:
        """Give some states as they are packed, one row a word.

        Args:
            indices: the states.
        """
        return self._roots.words(self._index.roots.all[indices])

    def find(self, words: Ints) -> Ints:
        """Give the indices of packed states; -1 where one is not known.

        Args:
            words: the states, one row a word.
        """
        return self._index.find(self._roots.of(words))

    def values(self, index: int) -> tuple[int, ...]:
        """Give the number of the place and of each key's value in a state.

        Args:
            index: the state.
        """
        return self.layout.values(self.words(index, index + 1))

    def place(self, index: int) -> int:
        """Give the number of the place in a state.

        Args:
            index: the state.
        """
        return int(self.layout.get(self.words(index, index + 1), 0)[0])

    def ended(self) -> Ints:
        """Tell for each state, explored or not, whether the run has ended there."""
        ends = np.array([place.node == END for place in self.table.places])
        starts = range(0, self.known, BLOCK)
        found: Ints = np.concatenate([ends[self.layout.get(self.words(at, at + BLOCK), 0)] for at in starts])
        return found

    def step_to(self, index: int) -> tuple[int, RowStep] | None:
        """Give the state that one was found from, and the step that led from there; ``None`` for the first one.

        Args:
            index: the state.
        """
        before = int(self.parents.all[index])
        if before < 0:
            return None
        target, values = self.values(index), self.values(before)
        for step in self._row_at(before, values).steps:
            following = [step.place, *values[1:]]
            for key, value in step.writes:
                following[key + 1] = value
            if tuple(following) == target:
                return before, step
        raise AssertionError(f"no outcome leads from control state {before} to {index}")

    def _row_at(self, index: int, values: tuple[int, ...]) -> Row:
        if index < self.row.size:
            row: Row = self.rows.rows[self.row.all[index]]
            return row
        # It was expanded, but its block is in work still.
        return self.table.row(values[0], tuple(values[n + 1] for n in self.table.inputs(values[0])), _no_witness)

    def path(self, index: int) -> list[tuple[int, RowStep]]:
        """Give the shortest way to a state: each state on it, with the step that leaves it.

        Args:
            index: the state.
        """
        found: list[tuple[int, RowStep]] = []
        while (step := self.step_to(index)) is not None:
            found.append(step)
            index = step[0]
        return found[::-1]

    def whole(self, index: int) -> Mapping[str, Any]:
        """Give the whole state of a control state, by replaying the shortest script on the real step.

        Args:
            index: the state.
        """
        return self.table.replayed([step.outcome for _, step in self.path(index)])


def _no_witness() -> Mapping[str, Any]:
    raise AssertionError("every row on a path is at hand")
