"""Branches of one node each: the commonest fork, run with no more kept of a branch than its event needs."""

from __future__ import annotations

import types
from collections.abc import Awaitable, Iterable, Mapping
from inspect import isawaitable
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from diagnosis.runtime.branching import Branching, Reported
from diagnosis.runtime.definition import END
from diagnosis.runtime.errors import JoinError, RunError, action_failed
from diagnosis.runtime.nodestep import NodeStep, Writes
from diagnosis.runtime.position import Forked, Opening, Path, Position, standing, with_children
from diagnosis.runtime.tasks import Ended
from diagnosis.runtime.track import OPENED, Logged, Track

if TYPE_CHECKING:
    from diagnosis.runtime.record import Record


class Departure:
    """A branch that did something else than to execute one node and come to the join.

    Attributes:
        number: its place in the fork.
        left: the error that it failed with, or what its node came to.
    """

    __slots__ = ("left", "number")

    def __init__(self, number: int, left: RunError | Reported) -> None:
        self.number = number
        self.left = left


class Abreast:
    """A fork outside branches, for as long as each of its branches executes one node and comes to the join.

    At the first departure from that, :meth:`fork` gives the fork as it stands, and the branches run on from there.

    Args:
        record: the run.
        opening: the fork.
        state: the state at it.

    Attributes:
        position: where the run goes on, once all branches have come to the join.
        state: the state there.

    Raises:
        JoinError: a value that was sent cannot be merged.
    """

    def __init__(self, record: Record, opening: Opening, state: Mapping[str, Any]) -> None:
        branching: Branching = record.graph.step.branching
        self._record = record
        self._branching = branching
        self._opening = opening
        self._base = state
        self._names = [f"{target[0]}[{number}]" for number, target in enumerate(opening.targets)]
        self._seen = [
            branching.seen(opening.source, name, state, sent) if sent else state
            for name, (_, _, sent) in zip(self._names, opening.targets, strict=True)
        ]
        self._entries: list[Logged | None] = [None] * len(self._names)
        self._writes: list[Writes] = [[] for _ in self._names]
        self._ends: list[Position | None] = [None] * len(self._names)
        self._left = len(self._names)
        self.position: Position | None = None
        self.state = state

    @staticmethod
    def suits(record: Record, opening: Opening) -> bool:
        """Tell whether the branches of a fork may be expected to execute one node each.

        Args:
            record: the run.
            opening: the fork.
        """
        if opening.wait != "all_of" or opening.max_concurrency is not None:
            return False
        if len(opening.targets) > record.limit - len(record.events):
            return False
        calls, join = record.graph.calls, opening.join
        return all(target != join and not calls[target][2].prepares for target, _, _ in opening.targets)

    def start(self, new: dict[Path, Awaitable[Any]]) -> Departure | None:
        """Call the action of each branch, in order of declaration.

        Args:
            new: where the awaitables go that actions gave, by the path of the branch.

        Returns:
            The first departure, if there is one; the branches after it have not begun.
        """
        record, seen = self._record, self._seen
        calls = record.graph.calls
        for number, (node, _, _) in enumerate(self._opening.targets):
            action, takes_config, step = calls[node]
            view = MappingProxyType(seen[number])
            try:
                update = action(view, record.config_for(1, self._names[number])) if takes_config else action(view)
            except Exception as error:
                return Departure(number, action_failed(node, 1, error))
            kind = type(update)
            if kind is not dict and (kind is types.CoroutineType or isawaitable(update)):
                new[(number,)] = update
                continue
            departure = self._took(number, step, update)
            if departure is not None:
                return departure
        return None

    def ended(self, ended: Ended) -> Departure | None:
        """Take in what came of the awaited action of a branch.

        Args:
            ended: the action.
        """
        (number,), value, error = ended
        node = self._opening.targets[number][0]
        if error is not None:
            return Departure(number, action_failed(node, 1, error))
        return self._took(number, self._record.graph.calls[node][2], value)

    def _took(self, number: int, step: NodeStep, update: object) -> Departure | None:
        node, reason, _ = self._opening.targets[number]
        here = Position(node, reason, self._names[number], (number,))
        seen, writes = self._seen[number], self._writes[number]
        try:
            following, after, event, report = step.leave(here, seen, update, 1, writes)
        except RunError as error:
            return Departure(number, error)
        if type(following) is Position and (following.node == self._opening.join or following.node == END):
            self._entries[number] = Logged(here, seen, report, after, event, OPENED)
            self._ends[number] = following
            self._left -= 1
            if self._left or self._joined():
                return None
            self._entries[number] = None
        return Departure(number, Reported(following, after, writes, event, report))

    def _joined(self) -> bool:
        """Merge what the branches wrote; what cannot be merged is left to whoever takes over."""
        opening = self._opening
        parts = [
            (number, name, [(key, value, node) for key, value in writes])
            for number, (name, (node, _, _), writes) in enumerate(
                zip(self._names, opening.targets, self._writes, strict=True)
            )
        ]
        try:
            self.state, _ = self._branching.joined(opening.source, (), self._base, parts)
        except JoinError:
            return False
        self.position = Position(opening.join, opening.targets[0][1])
        return True

    @property
    def log(self) -> list[Logged]:
        """The node executions so far, in order of declaration."""
        return [entry for entry in self._entries if entry is not None]

    def opened(self) -> Forked:
        """Give the fork as it opened."""
        return self._branching.forked(self._opening, self._base)

    def fork(self, opened: Forked, tracks: Mapping[Path, Track], under_way: Iterable[Path]) -> Forked:
        """Give the fork as it stands.

        Args:
            opened: the fork as it opened.
            tracks: where what happened in each branch is noted.
            under_way: the paths of the branches whose actions are awaited.
        """
        children = list(opened.children)
        for (number,) in under_way:
            child = children[number]
            assert type(child.place) is Position
            children[number] = standing(child, child.place, "running")
        for number, (entry, end) in enumerate(zip(self._entries, self._ends, strict=True)):
            track = tracks[number,]
            track.before = self._seen[number]
            if entry is not None and end is not None:
                reported = Reported(end, entry.after, self._writes[number], entry.event, entry.report)
                children[number] = self._branching.arrived(opened, children[number], (number,), reported)
                track.add(entry)
        return with_children(opened, tuple(children))
