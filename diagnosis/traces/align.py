"""Going on after a deviation: the legal run that is nearest to a trace, by skipped and inserted node executions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import Final

from diagnosis.traces.automaton import Automaton, States
from diagnosis.traces.seen import Seen

BUDGET: Final = 20_000
"""Places that are looked at for one trace; of one that needs more, only the first deviation is told."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """The nearest legal run.

    Attributes:
        cost: how many node executions are left out of the trace or put into it.
        edits: for each stretch of edits the place in the trace of the last execution that fits before it, and where the
            run may stand before that one.
    """

    cost: int
    edits: tuple[tuple[int, States], ...]


_Key = tuple[States | None, int]


def align(automaton: Automaton, events: Sequence[Seen], chained: Sequence[bool]) -> Alignment | None:
    """Find the legal run that is nearest to a trace.

    Of several, the one that follows the trace longest; then the one that comes first by declaration.

    Args:
        automaton: the legal traces.
        events: the node executions of the trace.
        chained: for each, whether where its way leads is told by the one after it, too.

    Returns:
        The alignment, or ``None`` where the budget does not suffice.
    """
    size = len(events)
    looked = [event.loose if chain else event for event, chain in zip(events, chained, strict=True)]
    order = count()
    start: _Key = (automaton.start, 0)
    heap: list[tuple[int, int, int, _Key, _Key | None]] = [(0, 0, next(order), start, None)]
    before: dict[_Key, tuple[_Key | None, int]] = {}
    while heap:
        cost, late, _, here, parent = heappop(heap)
        if here in before:
            continue
        before[here] = (parent, cost)
        states, place = here
        if states is None and place == size:
            return Alignment(cost, _edits(before, here))
        if len(before) > BUDGET:
            return None
        rest = size - place
        if place < size:
            heappush(heap, (cost + 1, late + rest, next(order), (states, place + 1), here))
        if states is None:
            continue
        for move, following in states.onward:
            if following is None and not move.ends:
                continue
            if place < size and move.fits(looked[place]):
                heappush(heap, (cost, late, next(order), (following, place + 1), here))
            heappush(heap, (cost + 1, late + rest, next(order), (following, place), here))
    return None


def _edits(before: dict[_Key, tuple[_Key | None, int]], end: _Key) -> tuple[tuple[int, States], ...]:
    """Walk back, and give for each stretch of edits the execution before it, or the start."""
    found: list[tuple[int, States]] = []
    here, edited = end, False
    while True:
        parent, cost = before[here]
        now = parent is not None and cost != before[parent][1]
        if edited and not now:
            states, place = here if parent is None else parent
            assert states is not None
            found.append((place, states))
        if parent is None:
            return tuple(reversed(found))
        here, edited = parent, now
