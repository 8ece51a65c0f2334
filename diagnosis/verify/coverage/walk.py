"""The control-state transitions that a run went through."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from diagnosis.runtime import END, Run
from diagnosis.verify.paths import Transition
from diagnosis.verify.space import StateSpace

_STOPPED = -1
"""Where an error of the run led."""


def edges_of(run: Run, space: StateSpace, outcomes: Sequence[Collection[str]]) -> list[set[tuple[int, int]]]:
    """Give the transitions that each node execution of a run can have been.

    Who wins an ``any_of`` shows only in what comes after, so every way that the events allow is followed to the end.

    Args:
        run: the run.
        space: the explored space.
        outcomes: for each node execution the outcomes that it amounts to.

    Returns:
        For each node execution control state and place of the transition: one, or several that report the same. Nothing
        from the first execution on that the space does not hold.
    """
    layer = {0}
    steps: list[list[tuple[tuple[int, int], int]]] = []
    for event, names in zip(run.events, outcomes, strict=True):
        step = []
        for state in sorted(layer - {_STOPPED}):
            here = space.mover(state)
            if (here.node, here.branch) != (event.node, event.branch):
                continue
            for place, edge in enumerate(space.outgoing[state]):
                if edge.outcome in names and edge.choices == event.choices and not edge.hidden:
                    step.append(((state, place), _STOPPED if edge.target is None else edge.target))
        layer = {target for _, target in step}
        if not step:
            break
        steps.append(step)
    good = layer
    if len(steps) == len(run.events):
        good = {state for state in layer if _fits(run, space, state)} or layer
    found = []
    for number, step in enumerate(reversed(steps)):
        kept = [edge for edge, target in step if target in good or (number == 0 and not good)]
        good = {state for state, _ in kept}
        found.append(set(kept))
    return found[::-1]


def _fits(run: Run, space: StateSpace, state: int) -> bool:
    """Tell whether a run can have stopped in a control state as it did."""
    if run.stop == "limit":
        return True
    if state == _STOPPED or run.ended:
        return run.ended == (state != _STOPPED and space.node(state) == END)
    return any(_failing(edge) for edge in space.outgoing[state])


def _failing(edge: Transition) -> bool:
    return edge.choice is None or edge.target is None
