"""The rows of a table in arrays, so that many control states find theirs at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from diagnosis.verify.packed import Column, Ints, Layout
from diagnosis.verify.tabulate import Row, Table, Writes

WitnessAt = Callable[[int], Mapping[str, Any]]
"""Gives the whole state of a control state, by its place among those that are asked about."""

_MIXERS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93)


class Outgrown(Exception):  # noqa: N818 - a message of the rows to the search
    """A value does not fit into its field."""


class Rows:
    """The rows found so far, and the distinct ways on of each.

    Outcomes of a row that write the same and lead to the same place are one way on, named by the first of them.

    Args:
        table: where rows are made.
        layout: how states are packed.

    Attributes:
        rows: the rows, by number.
        first: for each row the index of the control state that was first to need it.
        start: for each row its first way on.
        ways: for each row how many ways on it has.
        total: for each row how many outcomes.
        failing: for each row whether an outcome stops the run with an error.
        ending: for each row whether the run has ended there.
        keep: for each way on the bits that it keeps, one row a word.
        put: the bits that it sets.
        times: how many outcomes lead there.
        step_ways: for each row the way on of each outcome, counted from its first; ``None`` where there is none.
    """

    def __init__(self, table: Table, layout: Layout) -> None:
        self._table = table
        self.rows: list[Row] = []
        self.first: list[int] = []
        self.step_ways: list[list[int | None]] = []
        self._lay_out(layout)

    def _lay_out(self, layout: Layout) -> None:
        self._layout = layout
        self.start, self.ways, self.total = Column(np.int32), Column(np.int32), Column(np.int32)
        self.failing, self.ending = Column(np.bool_), Column(np.bool_)
        self.keep, self.put = Column(np.int64, layout.words), Column(np.int64, layout.words)
        self.times = Column(np.int64)
        self._masks = np.empty((layout.words, 0), np.int64)
        self._names: Ints = np.empty(0, np.uint64)
        self._order: Ints = np.empty(0, np.int32)
        self._told = Column(np.int64, layout.words)
        self._full = layout.masks(range(len(self._table.keys) + 1))
        self._bits: dict[tuple[int, Writes], tuple[list[int], list[int]]] = {}

    def repacked(self, layout: Layout) -> None:
        """Pack all of it anew.

        Args:
            layout: how states are packed now.
        """
        self._lay_out(layout)
        self._write(self.rows)

    def find(self, words: Ints, witness: WitnessAt, first: int) -> Ints:
        """Give the number of each state's row; rows that are missing are made, in the order of the states.

        Args:
            words: the states, one row a word.
            witness: gives their whole states.
            first: the index of the first of them.

        Raises:
            Rekeyed: a function reads a further key.
            Wider: further keys decide.
            Outgrown: there are values now that do not fit into their fields; all is to be packed anew.
        """
        while True:
            told = words & self._masks_of(words)
            names = self._mixed(told)
            if self.rows:
                at = np.minimum(np.searchsorted(self._names, names), len(self.rows) - 1)
                found: Ints = self._order[at]
                missing = self._names[at] != names
                if len(words) > 1:
                    missing |= (self._told.rows[:, found] != told).any(axis=0)
                if not missing.any():
                    return found
                lost = np.flatnonzero(missing)
            else:
                lost = np.arange(words.shape[1])
            _, places = np.unique(names[lost], return_index=True)
            made = len(self.rows)
            for place in np.sort(lost[places]).tolist():
                self._make(words, place, witness, first)
            if not self._layout.fits(self._table.sizes):
                raise Outgrown
            self._write(self.rows[made:])

    def _make(self, words: Ints, at: int, witness: WitnessAt, first: int) -> None:
        one = words[:, at : at + 1]
        place = int(self._layout.get(one, 0)[0])
        inputs = self._table.inputs(place)
        values = tuple([int(self._layout.get(one, n + 1)[0]) for n in inputs])
        self.rows.append(self._table.row(place, values, lambda: witness(at)))
        self.first.append(first + at)

    def _write(self, rows: Sequence[Row]) -> None:
        """Put rows into the arrays, in their order."""
        start = self.keep.size
        starts, counts, totals, failing = [], [], [], []
        keep, put, told = [], [], []
        times: list[int] = []
        del self.step_ways[len(self.start.all) :]
        for row in rows:
            ways: dict[tuple[int, Any], int] = {}
            first = len(times)
            step_ways: list[int | None] = []
            for step in row.steps:
                if step.place is None:
                    step_ways.append(None)
                else:
                    way = (step.place, step.writes)
                    if way in ways:
                        step_ways.append(ways[way] - first)
                        times[ways[way]] += 1
                        continue
                    ways[way] = len(times)
                    step_ways.append(len(times) - first)
                    bits = self._bits.get(way) or self._bits_of(*way)
                    keep.append(bits[0])
                    put.append(bits[1])
                    times.append(1)
            self.step_ways.append(step_ways)
            starts.append(start + first)
            counts.append(len(ways))
            totals.append(len(row.steps))
            failing.append(None in step_ways)
            inputs = self._table.inputs(row.place)
            told.append(
                self._layout.bits([(0, row.place), *((n + 1, v) for n, v in zip(inputs, row.values, strict=True))])
            )
        self.start.extend(starts)
        self.ways.extend(counts)
        self.total.extend(totals)
        self.failing.extend(failing)
        self.ending.extend([not total for total in totals])
        self._told.extend(np.array(told, np.int64).T)
        if times:
            self.keep.extend(np.array(keep, np.int64).T)
            self.put.extend(np.array(put, np.int64).T)
            self.times.extend(times)
        names = self._mixed(self._told.rows)
        self._order = np.argsort(names).astype(np.int32)
        self._names = names[self._order]

    def _bits_of(self, place: int, writes: Writes) -> tuple[list[int], list[int]]:
        """Give the bits that a way on keeps, and those that it sets."""
        written = ((0, place), *((n + 1, value) for n, value in writes))
        masks = self._layout.masks([field for field, _ in written])
        keep = [every & ~mask for every, mask in zip(self._full, masks, strict=True)]
        made = self._bits[place, writes] = (keep, self._layout.bits(written))
        return made

    def _masks_of(self, words: Ints) -> Ints:
        known = self._masks.shape[1]
        if known < len(self._table.places):
            masks = [
                self._layout.masks([0, *(n + 1 for n in self._table.inputs(place))])
                for place in range(len(self._table.places))
            ]
            self._masks = np.array(masks, np.int64).T
        found: Ints = self._masks[:, self._layout.get(words, 0)]
        return found

    def _mixed(self, told: Ints) -> Ints:
        """Give one number for what tells rows apart; with several words, different rows may share one."""
        if len(told) == 1:
            first: Ints = told[0].view(np.uint64)
            return first
        mixed = np.zeros(told.shape[1], np.uint64)
        for place, word in enumerate(told):
            mixed ^= word.view(np.uint64) * np.uint64(_MIXERS[place % len(_MIXERS)])
            mixed *= np.uint64(_MIXERS[-1])
            mixed ^= mixed >> np.uint64(29)
        return mixed
