"""Where a claim without a memory is decided: each move that such a claim can tell from others is put to it once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from diagnosis.runtime import Model, Move, Property
from diagnosis.verify.frontier import BLOCK
from diagnosis.verify.moves import move_of
from diagnosis.verify.packed import Ints
from diagnosis.verify.packedspace import PackedSpace
from diagnosis.verify.paths import Transition
from diagnosis.verify.tabulate import Row, RowStep

Decides = Callable[[Move], bool]
"""Tells whether a move decides a claim."""


class _Hit(NamedTuple):
    """An outcome of a row that decides a claim.

    Attributes:
        row: the number of the row.
        step: the place of the outcome in it.
        further: the values of keys that the claim reads and the row does not depend on, by number.
    """

    row: int
    step: int
    further: tuple[tuple[int, int], ...]


def deciding(space: PackedSpace, model: Model, claim: Property, decides: Decides) -> Transition | None:
    """Find the move that decides a claim.

    That is the first one that shows a sometimes; and the one that breaks an always on the shortest run.

    Args:
        space: the explored space, whose projection holds what the claim reads.
        model: the graph under test.
        claim: the claim.
        decides: puts a move to it.
    """
    hits = list(_hits(space, model, claim, decides))
    if not hits:
        return None
    frontier = space.frontier
    best: tuple[float, int, int] | None = None
    for hit in hits:
        if claim.kind == "sometimes" and not hit.further:
            found = (0.0, frontier.rows.first[hit.row], hit.step)
        else:
            one_only = claim.kind == "sometimes"
            states = np.flatnonzero(frontier.row.all == hit.row) if one_only else space.states_of(hit.row)
            for key, value in hit.further:
                states = states[frontier.layout.get(frontier.words_of(states), key + 1) == value]
            lengths = np.zeros(states.size) if claim.kind == "sometimes" else _through(space, states, hit)
            at = int(np.argmin(lengths))
            found = (float(lengths[at]), int(states[at]), hit.step)
        best = found if best is None else min(best, found)
    return None if best is None else space.outgoing(best[1])[best[2]]


def _through(space: PackedSpace, states: Ints, hit: _Hit) -> Ints:
    """Give for each state the node executions of the shortest run through an outcome there."""
    frontier, edges = space.frontier, space.edges
    way = frontier.rows.step_ways[hit.row][hit.step]
    assert way is not None
    rest = edges.to_end[edges.targets[edges.ends[states] - edges.counts[states] + way]]
    depths = np.searchsorted(np.asarray(frontier.levels), states, side="right") - 1
    found: Ints = np.where(rest < 0, np.inf, depths + 1 + rest)
    return found


def _hits(space: PackedSpace, model: Model, claim: Property, decides: Decides) -> Iterator[_Hit]:
    table, rows = space.table, space.frontier.rows.rows
    number = {key: n for n, key in enumerate(table.keys)}
    reads = [number[key] for key in dict.fromkeys(claim.reads)]
    known: dict[Any, bool] = {}
    for at, further in _cases(space, reads):
        row = rows[at]
        node = table.places[row.place].node
        before = {**space.known(row), **further}
        entered = {**before, **dict(row.entry)}
        shown = [entered[n] for n in reads]
        for place, step in enumerate(row.steps):
            if step.choice is None:
                continue
            key: Any = (id(step.choice), step.outcome, step.attempt, *shown)
            if reads:
                writes = dict(step.writes)
                key += tuple([writes.get(n, before[n]) for n in reads])
            if callable(model.alphabet[node][step.outcome]):
                key += (at, *further.items())
            if key not in known:
                known[key] = decides(_row_move(space, model, claim, row, step, further))
            if known[key]:
                yield _Hit(at, place, tuple(further.items()))


def changes(space: PackedSpace, key: str) -> Iterator[tuple[Any, Any]]:
    """Go through the different changes of a projected key by transitions: its value before, and after.

    Args:
        space: the explored space.
        key: the key.
    """
    number, rows = space.table.keys.index(key), space.frontier.rows
    seen: set[tuple[int, int]] = set()
    for at, further in _cases(space, [number]):
        row = rows.rows[at]
        before = {**space.known(row), **further}[number]
        for step, way in zip(row.steps, rows.step_ways[at], strict=True):
            if way is not None:
                seen.add((before, dict(step.writes).get(number, before)))
    values = space.table.values[number]
    yield from ((values[before], values[after]) for before, after in sorted(seen) if before != after)


def _row_move(
    space: PackedSpace, model: Model, claim: Property, row: Row, step: RowStep, further: Mapping[int, int]
) -> Move:
    table = space.table
    before = {**space.known(row), **further}
    entered = table.known_state({**before, **dict(row.entry)})
    after = table.known_state({**before, **dict(step.writes)})
    return move_of(model, claim, table.places[row.place].node, step, entered, after)


def _cases(space: PackedSpace, reads: Iterable[int]) -> Iterator[tuple[int, dict[int, int]]]:
    """Go through the rows, once for each combination of what is read beside what they depend on."""
    table, rows = space.table, space.frontier.rows.rows
    beside: dict[tuple[int, ...], list[int]] = {}
    for at in space.rows:
        inputs = set(table.inputs(rows[at].place))
        beside.setdefault(tuple(n for n in reads if n not in inputs), []).append(at)
    for keys, numbers in beside.items():
        if not keys:
            yield from ((at, {}) for at in numbers)
            continue
        for at, *values in _combinations(space, keys, numbers):
            yield at, dict(zip(keys, values, strict=True))


def _combinations(space: PackedSpace, keys: tuple[int, ...], numbers: list[int]) -> list[tuple[int, ...]]:
    """Give the different (row, value of each key) among the states that have one of some rows."""
    frontier = space.frontier
    chosen = np.zeros(len(frontier.rows.rows), np.bool_)
    chosen[numbers] = True
    present = np.zeros(math.prod([len(chosen), *(len(space.table.values[key]) for key in keys)]), np.bool_)
    for start in range(0, frontier.explored, BLOCK):
        row = frontier.row.all[start : min(start + BLOCK, frontier.explored)]
        states = np.flatnonzero(chosen[row])
        if not states.size:
            continue
        words = frontier.words_of(states + start)
        told = row[states].astype(np.int64)
        for key in keys:
            told = told * len(space.table.values[key]) + frontier.layout.get(words, key + 1)
        present[told] = True
    different = np.flatnonzero(present)
    columns = []
    for key in reversed(keys):
        size = len(space.table.values[key])
        columns.append(different % size)
        different = different // size
    return list(zip(*(column.tolist() for column in (different, *reversed(columns))), strict=True))
