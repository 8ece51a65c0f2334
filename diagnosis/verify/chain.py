"""The chain of a graph under odds: the probability of each transition, and how often each control state is met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from diagnosis.verify.linear import solved
from diagnosis.verify.odds import Odds, OddsError
from diagnosis.verify.paths import Paths

MAX_LOOP = 300
"""Control states of one loop whose equations are solved."""

ZERO, ONE = Fraction(0), Fraction(1)


def weighed(odds: Odds, space: Paths, index: int) -> list[Fraction]:
    """Give the probability of each transition of a control state.

    Args:
        odds: the odds.
        space: the control states.
        index: one of them.
    """
    found, total = _drawn(odds, space, index, odds.outcomes.get(space.node(index), {}))
    if found and not total:
        raise OddsError(
            f"odds: {space.node(index)}: found 0 for every outcome that is possible after "
            f"{script_text(space.script_to(index)) or 'START'}; allowed: more than 0 for one of them"
        )
    return [weight / total for weight in found]


def changed(odds: Odds, space: Paths, index: int, changes: Mapping[str, Fraction]) -> list[Fraction]:
    """Give how the probability of each transition of a control state changes with those of its outcomes.

    Args:
        odds: the odds.
        space: the control states.
        index: one of them.
        changes: outcome -> how its probability changes.
    """
    found, total = _drawn(odds, space, index, odds.outcomes[space.node(index)])
    slopes, slope = _drawn(odds, space, index, changes)
    return [(up * total - weight * slope) / total**2 for weight, up in zip(found, slopes, strict=True)]


def _drawn(odds: Odds, space: Paths, index: int, outcomes: Mapping[str, Fraction]) -> tuple[list[Fraction], Fraction]:
    """Give each transition the part of its outcome's number that its winner has, and the sum of the numbers."""
    edges, node = space.outgoing[index], space.node(index)
    winners: dict[str, Fraction] = {}
    for edge in edges:
        winners[edge.outcome] = winners.get(edge.outcome, ZERO) + odds.weight(node, edge.winner)
    for edge in edges:
        if not winners[edge.outcome]:
            raise OddsError(f"odds: winners.{node}: found 0 for every branch that can win after {edge.outcome!r}")
    total = sum((outcomes[outcome] for outcome in winners), ZERO)
    return [outcomes[e.outcome] * odds.weight(node, e.winner) / winners[e.outcome] for e in edges], total


def plain(space: Paths, part: Sequence[int]) -> bool:
    """Tell whether a part is a control state that does not lead to itself.

    Args:
        space: the control states.
        part: one of :func:`parts`.
    """
    return len(part) == 1 and all(edge.target != part[0] for edge in space.outgoing[part[0]])


def parts(space: Paths) -> list[list[int]]:
    """Give the loops, and all other control states alone, each before those that it leads to.

    Args:
        space: the control states.

    Raises:
        OddsError: a loop is too large to solve.
    """
    part_of: dict[int, tuple[int, ...]] = {index: (index,) for index in range(len(space.states))}
    for loop in space.cycles:
        if len(loop) > MAX_LOOP:
            raise OddsError(
                f"a loop of {len(loop)} control states through {space.node(loop[0])!r} is too large to solve; "
                f"allowed: {MAX_LOOP}; bound it by a counter, and each state comes once"
            )
        part_of.update(dict.fromkeys(loop, tuple(loop)))
    waiting = dict.fromkeys(part_of.values(), 0)
    onward: dict[tuple[int, ...], list[tuple[int, ...]]] = {part: [] for part in waiting}
    for edge in space.transitions:
        if edge.target is not None and part_of[edge.source] != part_of[edge.target]:
            onward[part_of[edge.source]].append(part_of[edge.target])
            waiting[part_of[edge.target]] += 1
    ready = [part for part, count in waiting.items() if not count]
    for part in ready:
        for later in onward[part]:
            waiting[later] -= 1
            if not waiting[later]:
                ready.append(later)
    return [list(part) for part in ready]


def visited(space: Paths, weights: Sequence[Sequence[Fraction]]) -> list[Fraction]:
    """Give how often a run is expected to be in each control state.

    Args:
        space: the control states.
        weights: for each the probability of each of its transitions.

    Raises:
        OddsError: a run may go on for ever with a probability that is not 0.
    """
    visits = [ONE if index == 0 else ZERO for index in range(len(space.states))]
    for part in parts(space):
        if not any(visits[index] for index in part):
            continue
        if not plain(space, part):
            places = {index: place for place, index in enumerate(part)}
            matrix = [[ONE if row == column else ZERO for column in places] for row in places]
            for index in part:
                for edge, weight in zip(space.outgoing[index], weights[index], strict=True):
                    if edge.target in places:
                        matrix[places[edge.target]][places[index]] -= weight
            values = solved(matrix, [[visits[index]] for index in part])
            if values is None:
                raise OddsError(
                    f"a run goes on for ever with a probability that is not 0, in a loop through "
                    f"{space.node(part[0])!r}; give an outcome that leaves it a probability of more than 0"
                )
            for index, place in places.items():
                visits[index] = values[place][0]
        for index in part:
            for edge, weight in zip(space.outgoing[index], weights[index], strict=True):
                if edge.target is not None and edge.target not in part:
                    visits[edge.target] += visits[index] * weight
    return visits


def script_text(script: Sequence[Sequence[str]]) -> str:
    """Give a script in one line, such as ``planner=COMPLETED > executor=FAILED``.

    Args:
        script: node, outcome and, where it opens an ``any_of`` fork, winner, execution by execution.
    """
    return " > ".join(f"{node}={outcome}{f' ({won[0]} wins)' if won else ''}" for node, outcome, *won in script)
