"""The transitions of a run: which node execution led to which, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from diagnosis.runtime.run import Run


class Transition(NamedTuple):
    """One step of a run from one node execution to another.

    Attributes:
        source: the place in the run of the execution that was left.
        target: the place of the one that it led to.
        reason: the reason code of the choice that led there.
    """

    source: int
    target: int
    reason: str


def causes_of(run: Run, index: int) -> tuple[int, ...]:
    """Give the places of the node executions that led to one: the one before; at a join the last of every branch.

    Args:
        run: the run.
        index: the execution's place in it.
    """
    after = run.events[index].after
    return after if after is not None else (index - 1,)[:index]


def transitions_of(run: Run) -> Iterator[Transition]:
    """Go through the transitions of a run, in the order of the executions that they lead to.

    Args:
        run: the run.

    Returns:
        From a fork one to the first execution of each branch, to a join one from the last execution of each.
    """
    for target in range(len(run.events)):
        for source in causes_of(run, target):
            yield Transition(source, target, _reason(run, source, target))


def _reason(run: Run, source: int, target: int) -> str:
    event = run.events[source]
    if not event.others:
        return event.reason
    outer, inner = run.steps[source].position.path, run.steps[target].position.path
    if len(inner) > len(outer):
        return event.choices[inner[len(outer)]].reason
    # A branch that leads straight to the join executes nothing.
    return next(choice.reason for choice in event.choices if choice.target == run.events[target].node)
