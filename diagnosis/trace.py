"""Orchestration events and the trace that a run leaves behind (contract, section 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from diagnosis.runtime import DiagnosisError, Event, History, Run, is_text
from diagnosis.state import EVENTS, is_count, read
from diagnosis.topology import FALLBACK

VERSION: Final = 1
FIELDS: Final = ("node", "outcome", "reason_code", "attempt")


class TraceError(DiagnosisError):
    """Events or a trace are not what they should be; the text says what and where."""


@dataclass(frozen=True, slots=True)
class OrchestrationEvent:
    """One node execution, as it stands in the state.

    Attributes:
        node: the node that was executed.
        outcome: what it reported, in one word.
        reason_code: why the graph moved on the way it did.
        attempt: which attempt it was, from 1.

    Raises:
        TraceError: a text is blank, or the attempt is no number from 1.
    """

    node: str
    outcome: str
    reason_code: str
    attempt: int

    def __post_init__(self) -> None:
        for name in FIELDS[:3]:
            if not is_text(getattr(self, name)):
                raise TraceError(f"an event's {name} must be a text that is not blank, found {getattr(self, name)!r}")
        if not (is_count(self.attempt) and self.attempt >= 1):
            raise TraceError(f"an event's attempt must be a whole number from 1, found {self.attempt!r}")


def event_of(value: object, where: str = "event") -> OrchestrationEvent:
    """Read an event, or a mapping of exactly its four fields.

    Args:
        value: what stands there.
        where: how an error names the place.

    Raises:
        TraceError: it is neither.
    """
    if isinstance(value, OrchestrationEvent):
        return value
    if not isinstance(value, Mapping) or set(value) != set(FIELDS):
        found = f"a mapping of {sorted(map(str, value))}" if isinstance(value, Mapping) else type(value).__name__
        raise TraceError(f"{where}: found {found}; an event has exactly {', '.join(FIELDS)}")
    try:
        return OrchestrationEvent(**value)
    except TraceError as error:
        raise TraceError(f"{where}: {error}") from None


def events_of(value: object) -> tuple[OrchestrationEvent, ...]:
    """Read a list of events.

    Args:
        value: the stored ``orchestration_events``.

    Raises:
        TraceError: it is no list, is empty, or holds something else; the text says where.
    """
    if not isinstance(value, list | tuple | History):
        raise TraceError(f"{EVENTS}: found {type(value).__name__}; allowed: a non-empty list of events")
    if not value:
        raise TraceError(f"{EVENTS}: found an empty list; a trace needs at least one event")
    return tuple(event_of(item, f"{EVENTS}[{index}]") for index, item in enumerate(value))


def record(event: Event) -> OrchestrationEvent:
    """Give the element that the runtime adds to the state for an event.

    Args:
        event: the runtime's own event.
    """
    return OrchestrationEvent(event.node, event.outcome, event.reason, event.attempt)


def check_own(own: object, expected: OrchestrationEvent) -> str | None:
    """Compare the event that an action reported with the one that the wrapper writes (contract, section 4).

    Args:
        own: what the action reported under the event key; null means none.
        expected: the wrapper's event.

    Returns:
        Why it is refused, or ``None``.
    """
    if not isinstance(own, list | tuple):
        return f"its {EVENTS} is {type(own).__name__}; allowed: absent, null, or a list of exactly one event"
    if len(own) != 1:
        return f"its {EVENTS} holds {len(own)} events; allowed: absent, null, or a list of exactly one event"
    try:
        event = event_of(own[0], f"{EVENTS}[0]")
    except TraceError as error:
        return str(error)
    if event != expected:
        return f"the event it reported, {event}, is not what happened, {expected}; leave it out, the wrapper writes it"
    return None


@dataclass(frozen=True, slots=True)
class Transition:
    """Two neighbouring events.

    Attributes:
        source: the node that was left.
        target: the node that came next.
        reason_code: why, from the source's event.
        attempt: which attempt of the source it was.
    """

    source: str
    target: str
    reason_code: str
    attempt: int

    def to_map(self) -> dict[str, Any]:
        """Give the transition as ``from``, ``to``, ``reason_code``, ``attempt``."""
        return {"from": self.source, "to": self.target, "reason_code": self.reason_code, "attempt": self.attempt}


@dataclass(frozen=True, slots=True)
class OrchestrationTrace:
    """What a run did, for the record.

    Attributes:
        transitions: one less than there are events.
        final_node: the last event's node; ``None`` where the run did not end.
        termination_reason: its reason code; ``None`` where the run did not end.
        degraded: whether the final node is the fallback; ``None`` where the run did not end.
        evidence_retry_count: from the state.
    """

    transitions: tuple[Transition, ...]
    final_node: str | None
    termination_reason: str | None
    degraded: bool | None
    evidence_retry_count: int

    def to_map(self) -> dict[str, Any]:
        """Give the trace as it is stored, in the order and spelling of the contract."""
        return {
            "version": VERSION,
            "transitions": [transition.to_map() for transition in self.transitions],
            "final_node": self.final_node,
            "termination_reason": self.termination_reason,
            "degraded": self.degraded,
            "evidence_retry_count": self.evidence_retry_count,
        }


def build_trace(state: Mapping[str, Any], *, ended: bool = True) -> OrchestrationTrace:
    """Build the trace from the events in a state.

    Args:
        state: a state with at least one event.
        ended: whether the run ended; if not, there is no final node, reason or degradation to tell.

    Raises:
        TraceError: the events are no non-empty list of events.
    """
    events = events_of(state.get(EVENTS))
    transitions = tuple(
        Transition(left.node, right.node, left.reason_code, left.attempt) for left, right in pairwise(events)
    )
    last = events[-1]
    node, reason = (last.node, last.reason_code) if ended else (None, None)
    return OrchestrationTrace(transitions, node, reason, **summary_of(node, state))


def summary_of(final_node: str | None, state: Mapping[str, Any]) -> dict[str, Any]:
    """Give what a trace tells of the ending beside final node and reason.

    Args:
        final_node: the node at which the run ended; ``None`` where it did not end.
        state: the final state.
    """
    return {
        "degraded": None if final_node is None else final_node == FALLBACK,
        "evidence_retry_count": read(state, "evidence_retry_count"),
    }


def trace_of(run: Run) -> dict[str, Any] | None:
    """Give the trace map of a run, or ``None`` where nothing had happened.

    Args:
        run: a run of the Chat Diagnosis graph.
    """
    return build_trace(run.state, ended=run.ended).to_map() if run.events else None
