"""What a recorded trace shows: its node executions one by one, each with the ways that lead on from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from diagnosis.traces.deviation import Finding


class Way(NamedTuple):
    """One way that was taken from a node execution.

    Attributes:
        opens: the place of the branch that it opened, or -1 where it opened none.
        to: the node that it led to, or END; ``None`` where that is not looked at.
        reason: the reason code.
    """

    opens: int
    to: str | None
    reason: str


class Seen(NamedTuple):
    """One node execution, as a trace shows it.

    Attributes:
        node: the node.
        branch: the branch that it was executed in; empty outside branches.
        attempt: which attempt it was; ``None`` where that was not recorded.
        outcome: what it reported, in one word; ``None`` where that was not recorded.
        ways: the ways that led on; ``None`` for the last execution of a run that did not end.
        exact: whether these are all of the ways.
    """

    node: str
    branch: str
    attempt: int | None
    outcome: str | None
    ways: tuple[Way, ...] | None
    exact: bool = True

    @property
    def loose(self) -> Seen:
        """The same, wherever its ways lead."""
        return self if self.ways is None else self._replace(ways=_anywhere(self.ways), exact=False)


def _anywhere(ways: tuple[Way, ...]) -> tuple[Way, ...]:
    return tuple(Way(-1, None, way.reason) for way in ways)


@dataclass(frozen=True, slots=True)
class Observed:
    """A trace that has the shape of one.

    Attributes:
        run_id: the run, where recorded.
        events: its node executions, in the order of the record.
        at: for each of them the transition that tells of it; ``None`` for the last one.
        chained: for each of them whether the way on leads to the execution after it, as it should.
        ended: whether the run ended.
        summary: what is said of the ending: key -> value.
        transitions: ``(from, to, reason code)`` of each transition.
        findings: what contradicts itself.
        stamps: for each execution when it was through, in seconds since 1970, or ``None``.
        causes: for each execution the places of those that led to it.
        began: when the run began, in seconds since 1970, or ``None``.
    """

    run_id: str | None
    events: tuple[Seen, ...]
    at: tuple[int | None, ...]
    chained: tuple[bool, ...]
    ended: bool
    summary: Mapping[str, Any]
    transitions: tuple[tuple[str, str, str], ...]
    findings: tuple[Finding, ...] = ()
    stamps: tuple[float | None, ...] = ()
    causes: tuple[tuple[int, ...], ...] = field(default=())
    began: float | None = None

    @property
    def durations(self) -> list[tuple[str, float]]:
        """Each node whose beginning and end were recorded, with the seconds between them."""
        found = []
        for event, causes, stamp in zip(self.events, self.causes, self.stamps, strict=True):
            before = [self.stamps[cause] for cause in causes] or [self.began]
            known = [each for each in before if each is not None]
            if stamp is not None and len(known) == len(before):
                found.append((event.node, stamp - max(known)))
        return found
