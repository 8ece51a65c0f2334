"""What tells two runs of one scenario apart: the way they took, the reasons, the states, and how they stopped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from diagnosis.runtime import Definition, Event, Run
from diagnosis.scenarios import OutOfOutcomesError
from diagnosis.verify.canonical import canonical

How = Literal["assertion", "crash", "bound"]
"""How a mutant is noticed: both runs did something, and not the same; its run failed; its run met the limit."""


class Difference(NamedTuple):
    """The first difference between two runs of one scenario.

    Attributes:
        how: what kind of difference it is; see :data:`How`.
        text: what was seen, in one line.
    """

    how: How
    text: str


class States:
    """The states of a graph, compared key by key as they are read; the event key aside, as events are compared.

    Args:
        definition: the graph.
    """

    def __init__(self, definition: Definition) -> None:
        log = definition.event_log.key if definition.event_log else None
        self.keys = tuple(key for key in definition.keys if key != log)
        self._reads = {key: definition.keys[key].read for key in self.keys}

    def different(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> str | None:
        """Give the first key that does not read alike in two states, or ``None``.

        Args:
            one: a state.
            other: another one of the same graph.
        """
        if one is other:
            return None
        for key, read in self._reads.items():
            left, right = one[key], other[key]
            if left is not right and canonical(read(left)) != canonical(read(right)):
                return key
        return None


def seen(event: Event) -> tuple[Any, ...]:
    """Give what of an event is compared: all but the names of route keys and rules, which are the graph's own.

    Args:
        event: the event.
    """
    ways = tuple([(choice.target, choice.reason) for choice in event.choices])
    return (event.node, event.branch, event.outcome, event.attempt, ways)


def difference(expected: Run, found: Run, states: States, node: str | None = None) -> Difference | None:
    """Give the first difference between the run of a graph and that of a mutant under the same script.

    Args:
        expected: the run of the graph.
        found: the run of the mutant.
        states: how states are compared.
        node: the only node whose execution is changed, if there is one: outside branches, states are compared there.

    Returns:
        The difference, or ``None`` where the runs agree.
    """
    if _first(expected) != _first(found):
        return Difference("assertion", f"the run starts at {_first(found)}, not {_first(expected)}")
    everywhere = node is None or bool(expected.graph.step.fan_outs.all)
    for index, (one, other) in enumerate(zip(expected.events, found.events, strict=False)):
        if seen(one) != seen(other):
            return Difference("assertion", f"execution {index + 1}: {_event(other)}, not {_event(one)}")
        if not everywhere and one.node != node:
            continue
        key = states.different(expected.states[index + 1], found.states[index + 1])
        if key is not None:
            return _state(f"after execution {index + 1} ({one.node})", key, expected.states, found.states, index + 1)
    count, shared = len(expected.events), min(len(expected.events), len(found.events))
    if len(found.events) == count and found.stop == expected.stop:
        key = states.different(expected.state, found.state)
        return None if key is None else _state("at the end", key, (expected.state,), (found.state,), 0)
    if len(found.events) > shared or found.stop == "ended" or _goes_on(found):
        text = f"execution {shared + 1}: {_onward(found, shared)}, not {_onward(expected, shared)}"
        return Difference("assertion", text)
    how: How = "bound" if found.stop == "limit" else "crash"
    return Difference(how, f"after execution {shared}: {found.error}")


def _first(run: Run) -> str:
    return run.events[0].node if run.events else run.failed_at


def _goes_on(run: Run) -> bool:
    """Tell whether a run failed only because a node was called for which the script has nothing."""
    return run.error is not None and isinstance(run.error.__cause__, OutOfOutcomesError)


def _event(event: Event) -> str:
    ways = " + ".join(f"{choice.target} because {choice.reason}" for choice in event.choices)
    attempt = f" (attempt {event.attempt})" if event.attempt > 1 else ""
    return f"{event.node}{attempt} {event.outcome} -> {ways}"


def _onward(run: Run, index: int) -> str:
    if index < len(run.events):
        return _event(run.events[index])
    if run.stop == "ended":
        return "the end"
    return f"{run.failed_at}, where it stops by {run.stop}"


def _state(
    where: str, key: str, expected: Iterable[Mapping[str, Any]], found: Iterable[Mapping[str, Any]], index: int
) -> Difference:
    one, other = list(expected)[index][key], list(found)[index][key]
    return Difference("assertion", f"{where}: {key} is {_short(other)}, not {_short(one)}")


def _short(value: Any) -> str:
    text = "null" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
