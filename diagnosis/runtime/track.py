"""What has happened in a branch while its fork is open."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from diagnosis.runtime.decisions import Event
from diagnosis.runtime.nodestep import Report
from diagnosis.runtime.position import Position


class Logged:
    """One node execution in a branch.

    Attributes:
        position: where the branch stood.
        before: what it saw before the entry updates.
        report: what the action returned, as it was taken in.
        after: what it saw afterwards.
        event: the event, without its branch.
        causes: the executions that led to it; ``None`` stands for the one that opened the outermost fork.
        index: its place in the run, once that is known.
    """

    __slots__ = ("after", "before", "causes", "event", "index", "position", "report")

    def __init__(
        self,
        position: Position,
        before: Mapping[str, Any],
        report: Report,
        after: Mapping[str, Any],
        event: Event,
        causes: tuple[Logged | None, ...],
    ) -> None:
        self.position = position
        self.before = before
        self.report = report
        self.after = after
        self.event = event
        self.causes = causes
        self.index = -1

    def event_in(self, branch: str, after: tuple[int, ...] | None = None) -> Event:
        """Give the event as one of a branch.

        Args:
            branch: the branch.
            after: the places in the run of the events that led to it, once they are known.
        """
        found = self.event
        return Event(found.node, found.outcome, found.attempt, found.choice, found.others, branch, after)

    def views(self) -> tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]]:
        """Give the state before, the report and the state after it, read-only."""
        return MappingProxyType(self.before), MappingProxyType(self.report), MappingProxyType(self.after)


OPENED: tuple[Logged | None, ...] = (None,)
"""The causes of an execution that the opening of the outermost fork led to."""


class Track:
    """What has happened in one branch so far.

    Attributes:
        log: its node executions, those of forks in it that have closed included.
        tips: the last of them: one, or the last of each branch of a fork that has just closed.
        before: what it saw before the node that is under way.
        attempt: which attempt of that node it is.
    """

    __slots__ = ("attempt", "before", "log", "tips")

    def __init__(self, tips: tuple[Logged | None, ...]) -> None:
        self.log: list[Logged] = []
        self.tips = tips
        self.before: Mapping[str, Any] = {}
        self.attempt = 1

    def add(self, entry: Logged) -> None:
        """Note a node execution.

        Args:
            entry: the execution.
        """
        self.log.append(entry)
        self.tips = (entry,)
