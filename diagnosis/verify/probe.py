"""Single walks beyond what a search could afford: each outcome everywhere, then one that differs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from diagnosis.runtime import END, Forked, Model, Place, Position
from diagnosis.verify.paths import Paths

MAX_MOVES = 5_000
"""Node executions that all walks together may take."""

FEW_MOVES = 500
"""Those that they may take even where the time is used up."""

Put = Callable[[int, str], None]
"""Puts an outcome into a control state, which adds transitions and the states that they lead to."""


class Walks:
    """Walks through a space that was not explored to its end; what they see is added to it.

    At every node the outcome at one place of its alphabet is chosen, the same place all along: each of them once. Then
    one execution after the other is given each other outcome instead, the last execution first, because these walks
    have most in common with those before. Where several branches may win, it is the one at the same place.

    Args:
        space: the space.
        model: the graph under test.
        put: puts an outcome into a control state.
        late: tells whether the time is used up.
        grown: tells whether a value has grown beyond all bounds, so that no walk goes on.
    """

    def __init__(
        self, space: Paths, model: Model, put: Put, *, late: Callable[[], bool], grown: Callable[[], bool]
    ) -> None:
        self._space, self._model, self._put, self._late, self._grown = space, model, put, late, grown
        # One more than a run may execute, so that one which meets the limit is seen to.
        self._limit = model.graph.recursion_limit + 1
        self._moves = 0

    def run(self) -> None:
        """Walk as often as the budget allows."""
        most = max(map(len, self._model.alphabet.values()))
        lengths = []
        for choice in range(most):
            if self._spent():
                return
            lengths.append(self._walk(choice, None, choice))
        for back in count(1):
            if back > max(lengths):
                return
            for choice, length in enumerate(lengths):
                for other in range(most) if back <= length else ():
                    if self._spent():
                        return
                    if other != choice:
                        self._walk(choice, length - back, other)

    def _spent(self) -> bool:
        return self._moves >= MAX_MOVES or self._grown() or (self._moves >= FEW_MOVES and self._late())

    def _walk(self, choice: int, at: int | None, other: int) -> int:
        """Walk once, with another outcome at one execution; tell how many executions it took."""
        space, here = self._space, 0
        for step in range(self._limit):
            node = space.node(here)
            if node == END or self._spent():
                return step
            outcomes = tuple(self._model.alphabet[node])
            outcome = outcomes[(other if step == at else choice) % len(outcomes)]
            if not any(edge.outcome == outcome for edge in space.outgoing[here]):
                self._put(here, outcome)
                self._moves += 1
            ways = [edge.target for edge in space.outgoing[here] if edge.outcome == outcome]
            target = ways[choice % len(ways)] if ways else None
            if target is None:
                return step + 1
            here = target
        return self._limit


def multiplying(model: Model, positions: list[Place], movers: list[Position]) -> str | None:
    """Say which fork most control states stand in, because the outcomes of its branches multiply.

    Args:
        model: the graph under test.
        positions: where a run stands in each control state.
        movers: which position moves in each.

    Returns:
        A line, or ``None`` where no fork holds more than half of them; of forks inside each other, the inner one.
    """
    sizes: dict[str, list[int]] = {}
    for place, here in zip(positions, movers, strict=True):
        for number in here.path:
            assert type(place) is Forked
            found = sizes.setdefault(place.name, [0, 0, 0])
            found[0] += 1
            found[1] = max(found[1], len(place.children))
            found[2] = max(found[2], len(model.alphabet[here.node]))
            place = place.children[number].place
    many = [name for name, (states, _, _) in sizes.items() if 2 * states > len(positions)]
    if not many:
        return None
    _, branches, outcomes = sizes[many[-1]]
    return (
        f"the fork at {many[-1]!r} multiplies: {branches} branches x {outcomes} outcome{'' if outcomes == 1 else 's'}"
    )
