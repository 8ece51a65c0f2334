"""The ways between packed control states in arrays: loops, longest runs, numbers of scripts, ways to the end."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from diagnosis.runtime import loops
from diagnosis.verify.frontier import BLOCK, Frontier
from diagnosis.verify.packed import Column, Ints

LIMB = 32
"""Bits of a number that are kept in one array, where numbers may be of any size."""


class Edges:
    """The transitions of a searched space, those with one source and one target together.

    Args:
        frontier: the search.
    """

    def __init__(self, frontier: Frontier) -> None:
        self._frontier = frontier
        rows = frontier.rows
        row = frontier.row.all
        self._size = frontier.known
        self.counts = np.zeros(self._size, np.int64)
        self.counts[: row.size] = rows.ways.all[row]
        self.ends = np.cumsum(self.counts)
        self._ending = frontier.ended()
        self._failing = np.zeros(self._size, np.bool_)
        self._failing[: row.size] = rows.failing.all[row]

    @cached_property
    def targets(self) -> Ints:
        """For each way on, in the order of the states, the state that it leads to."""
        found = Column(np.int32)
        for start in range(0, self._frontier.explored, BLOCK):
            stop = min(start + BLOCK, self._frontier.explored)
            found.extend(self._frontier.targets(start, stop)[0])
        return found.all

    def _from(self, states: Ints) -> tuple[Ints, Ints]:
        """Give the places of the ways on from some states, and how many each has."""
        counts = self.counts[states]
        ends = np.cumsum(counts)
        total = int(ends[-1]) if ends.size else 0
        starts = self.ends[states] - counts
        return np.arange(total) + np.repeat(starts - (ends - counts), counts), counts

    @cached_property
    def layers(self) -> list[Ints]:
        """The states by the length of the longest way to them; states on loops, and behind them, are left out."""
        targets = self.targets
        waiting = np.bincount(targets, minlength=self._size).astype(np.int32)
        if waiting[0]:
            return []
        layer, found = np.zeros(1, np.int64), []
        while layer.size:
            found.append(layer.astype(np.int32))
            reached = targets[self._from(layer)[0]]
            np.subtract.at(waiting, reached, 1)
            layer = reached[waiting[reached] == 0].astype(np.int64)
            if layer.size > 1:
                # Each once: of those that come several times, the one that was written last stays.
                waiting[layer] = -1 - np.arange(layer.size, dtype=np.int32)
                layer = layer[waiting[layer] == -1 - np.arange(layer.size)]
        return found

    @cached_property
    def cycles(self) -> list[list[int]]:
        """The loops among the control states."""
        left = np.ones(self._size, np.bool_)
        for layer in self.layers:
            left[layer] = False
        if not left.any():
            return []
        indices = np.flatnonzero(left)
        ways: dict[int, list[int]] = {}
        for index in indices.tolist():
            reached = self.targets[self.ends[index] - self.counts[index] : self.ends[index]]
            ways[index] = reached[left[reached]].tolist()
        return loops(ways)

    @property
    def ways(self) -> list[list[int]]:
        """For each state those that it leads to, each once a row."""
        targets, ends = self.targets.tolist(), self.ends.tolist()
        return [targets[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    @cached_property
    def lengths(self) -> list[int]:
        """For each state the node executions of the longest run from it; every run must end."""
        longest = np.zeros(self._size, np.int32)
        longest[self._failing] = 1
        for layer in reversed(self.layers):
            places, counts = self._from(layer)
            going = np.flatnonzero(counts)
            if going.size:
                rest = longest[self.targets[places]] + 1
                starts = np.cumsum(counts[going]) - counts[going]
                states = layer[going]
                longest[states] = np.maximum(longest[states], np.maximum.reduceat(rest, starts))
        found: list[int] = longest.tolist()
        return found

    @cached_property
    def limbs(self) -> list[Ints]:
        """For each state how many scripts complete a run from it; every run must end.

        Numbers of any size are kept as several limbs, from the lowest on.
        """
        rows = self._frontier.rows
        failed = rows.total.all.astype(np.int64)
        for number in range(len(rows.rows)):
            start, count = int(rows.start.all[number]), int(rows.ways.all[number])
            failed[number] -= int(rows.times.all[start : start + count].sum())
        row = self._frontier.row.all
        limbs = [np.zeros(self._size, np.int64)]
        limbs[0][: row.size] = failed[row]
        limbs[0][self._ending] = 1
        times = self._times
        for layer in reversed(self.layers):
            places, counts = self._from(layer)
            going = np.flatnonzero(counts)
            if not going.size:
                continue
            starts, states = np.cumsum(counts[going]) - counts[going], layer[going]
            reached, often = self.targets[places], times[places]
            carry = np.zeros(states.size, np.int64)
            for limb in limbs:
                total = limb[states] + np.add.reduceat(limb[reached] * often, starts) + carry
                limb[states] = total & ((1 << LIMB) - 1)
                carry = total >> LIMB
            if carry.any():
                limbs.append(np.zeros(self._size, np.int64))
                limbs[-1][states] = carry
        return limbs

    def scripts(self, index: int) -> int:
        """Give how many scripts complete a run from a state; every run must end.

        Args:
            index: the state.
        """
        return sum(int(limb[index]) << (LIMB * at) for at, limb in enumerate(self.limbs))

    @property
    def _times(self) -> Ints:
        """How many outcomes each way on stands for."""
        found = Column(np.int32)
        rows, row = self._frontier.rows, self._frontier.row.all
        for start in range(0, row.size, BLOCK):
            part = row[start : start + BLOCK]
            counts = rows.ways.all[part]
            ends = np.cumsum(counts)
            ways = np.arange(int(ends[-1]) if ends.size else 0) + np.repeat(
                rows.start.all[part] - (ends - counts), counts
            )
            found.extend(rows.times.all[ways])
        return found.all

    @cached_property
    def to_end(self) -> Ints:
        """For each state the fewest executions that end the run; -1 where none does."""
        sources = np.repeat(np.arange(self._size, dtype=np.int32), self.counts)
        order = np.argsort(self.targets, kind="stable")
        ends = np.cumsum(np.bincount(self.targets, minlength=self._size))
        found = np.full(self._size, -1, np.int32)
        found[self._failing] = 1
        found[self._ending] = 0
        near = np.flatnonzero(self._ending)
        length, stamps = 0, np.empty(self._size, np.int32)
        while near.size or length < 1:
            counts = ends[near] - np.where(near > 0, ends[near - 1], 0)
            last = np.cumsum(counts)
            total = int(last[-1]) if last.size else 0
            places = np.arange(total) + np.repeat((ends[near] - counts) - (last - counts), counts)
            before = sources[order[places]]
            length += 1
            before = before[(found[before] < 0) | (found[before] > length)]
            found[before] = length
            if length == 1:
                near = np.flatnonzero(found == 1)
            else:
                at = np.arange(before.size, dtype=np.int32)
                stamps[before] = at
                near = before[stamps[before] == at].astype(np.int64)
        return found

    @cached_property
    def shortest(self) -> int | None:
        """The node executions of the shortest run; ``None`` where none ends."""
        lengths = []
        for states, more in ((np.flatnonzero(self._ending), 0), (np.flatnonzero(self._failing), 1)):
            if states.size:
                lengths.append(self._frontier.depth(int(states[0])) + more)
        return min(lengths, default=None)
