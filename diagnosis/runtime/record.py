"""A run while it is being made: one node execution after another, from START to the reason why it stops."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import types
import uuid
from collections.abc import Generator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from diagnosis.runtime.branches import Branches, Show, Waiter
from diagnosis.runtime.decisions import Event, State, is_count
from diagnosis.runtime.definition import Action
from diagnosis.runtime.errors import DefinitionError, JoinError, LimitError, RunError, action_failed, limit_met, one_of
from diagnosis.runtime.nodestep import NodeStep, Report
from diagnosis.runtime.position import Forked, Opening, Place, Position
from diagnosis.runtime.run import Executed, Run, RunConfig, Stop
from diagnosis.runtime.track import OPENED, Logged
from diagnosis.runtime.watching import tell

if TYPE_CHECKING:
    from diagnosis.runtime.compiled import CompiledGraph

Call = tuple[Action, bool, NodeStep]
"""An action, whether it takes the config, and the step of its node."""

Winners = Mapping[str, Sequence[str]]
"""The name of an ``any_of`` fork -> the branches that are to win it, one each time it opens."""

_NONE_LEFT: Mapping[str, tuple[str, ...]] = MappingProxyType({})

_NO_CONFIG = RunConfig()


def checked_limit(limit: object) -> int:
    """Give a recursion limit back if it is one.

    Args:
        limit: what was given.

    Raises:
        DefinitionError: it is no number from 1.
    """
    if not is_count(limit):
        raise DefinitionError(f"recursion_limit is a number of node executions from 1, found {limit!r}")
    return limit


@types.coroutine
def handed(item: Any) -> Generator[Any, Any, Any]:
    """Hand an item to whoever drives the coroutine by hand, and give what is sent back for it.

    Args:
        item: an awaitable to wait for, or an Executed to show.
    """
    return (yield item)


class Record:
    """What has happened in a run so far.

    Args:
        graph: the graph that runs.
        values: the input.
        config: what the run is told beside it.
        recursion_limit: node executions, in place of the graph's own limit.
        winners: the name of an ``any_of`` fork -> the branches that are to win it, one each time it opens.

    Raises:
        InputError: the input holds what the graph does not take.
        DefinitionError: the limit is no number from 1.
    """

    __slots__ = (
        "after",
        "before",
        "config",
        "configs",
        "error",
        "events",
        "graph",
        "limit",
        "position",
        "reports",
        "shown",
        "state",
        "states",
        "stop",
        "winners",
    )

    def __init__(
        self,
        graph: CompiledGraph,
        values: Mapping[str, Any] | None,
        config: RunConfig | None,
        recursion_limit: int | None,
        winners: Winners | None = None,
    ) -> None:
        self.graph = graph
        self.limit = graph.recursion_limit if recursion_limit is None else checked_limit(recursion_limit)
        if config is not None and not isinstance(config, RunConfig):
            raise DefinitionError(f"config is a RunConfig(thread_id, metadata), found {type(config).__name__}")
        self.config = config or _NO_CONFIG
        self.configs: dict[tuple[int, str], RunConfig] = {}
        given = {} if values is None else values
        id_key = graph.definition.id_key
        if id_key is not None and isinstance(given, Mapping):
            name = given.get(id_key)
            if name is None:
                name = uuid.uuid4().hex
                given = {**given, id_key: name}
            if self.config.thread_id is None:
                self.config = dataclasses.replace(self.config, thread_id=name)
        self.position: Place
        self.state: State
        self.position, self.state = graph.step.begin(given)
        self.events: list[Event] = []
        self.states: list[State] = [self.state]
        self.reports: list[Report] = []
        self.stop: Stop = "ended"
        self.error: RunError | None = None
        self.winners = _checked_winners(winners) if winners is not None else {}
        # What a run with branches adds: see Run and Event.
        self.before: dict[int, tuple[Position, State]] = {}
        self.after: dict[int, tuple[int, ...]] = {}
        self.shown = 0

    async def drive(
        self,
        wait: Waiter | None = None,
        show: Show | None = None,
    ) -> None:
        """Execute node by node until the run stops; an error of the run is kept, not raised.

        Args:
            wait: how to wait for an awaitable that an action gives; it is awaited as it is where absent.
            show: what is awaited with each node execution that completed.
        """
        place: Position | Opening
        place, state = self.position, self.state  # type: ignore[assignment]
        try:
            while True:
                place, state = await self._along(place, state, wait, show)
                if type(place) is Position:
                    break
                assert type(place) is Opening
                place, state = await Branches(self, wait, show).run(place, state)
                self._arrive(place, state)
        except RunError as error:
            self.error = error
            self.stop = "limit" if isinstance(error, LimitError) else "error"

    async def _along(
        self,
        place: Position | Opening,
        state: Mapping[str, Any],
        wait: Waiter | None,
        show: Show | None,
    ) -> tuple[Position | Opening, Mapping[str, Any]]:
        """Execute node by node until END or a fork; outside branches."""
        calls, config = self.graph.calls, self.config
        events, states = self.events, self.states
        keep_event, keep_state, keep_report = events.append, states.append, self.reports.append
        view = MappingProxyType(state)
        begun = len(events)
        position: Position = place  # type: ignore[assignment]
        attempt = 1
        try:
            for _ in range(self.limit - begun):
                node = place.node
                if node not in calls:
                    break
                position = place  # type: ignore[assignment]
                action, takes_config, step = calls[node]
                attempt = 1
                if step.prepares:
                    entered, attempt = step.enter(state)
                    if entered is not state:
                        state, view = entered, MappingProxyType(entered)
                try:
                    if not takes_config:
                        update = action(view)
                    else:
                        update = action(view, config if attempt == config.attempt else self.config_for(attempt))
                    kind = type(update)
                    if kind is not dict and (kind is types.CoroutineType or inspect.isawaitable(update)):
                        update = await (update if wait is None else wait(update))
                except Exception as error:
                    raise action_failed(node, attempt, error) from error
                except asyncio.CancelledError as error:
                    if _being_cancelled():
                        raise
                    raise action_failed(node, attempt, error) from error
                place, state, event, report = step.leave(position, state, update, attempt)
                view = MappingProxyType(state)
                keep_event(event)
                keep_state(state)
                keep_report(report)
                if show is not None:
                    index = len(events) - 1
                    before, report = MappingProxyType(states[index]), MappingProxyType(report)
                    if index in self.before:
                        before = MappingProxyType(self.before[index][1])
                    await show(Executed(self.shown, position, before, report, view, event))
                    self.shown += 1
            else:
                if place.node in calls:
                    attempt = 1
                    raise limit_met(self.limit, place.node)
        except RunError as error:
            error.attempt = attempt
            raise
        finally:
            self.position = place if type(place) is Position else position
            if len(events) > begun:
                self.state = states[-1]
        return place, state

    def _arrive(self, place: Position, state: Mapping[str, Any]) -> None:
        """Note where the run goes on after a fork."""
        self.position, self.state = place, state
        self.before[len(self.events)] = (place, state)

    def winner_of(self, fork: Forked) -> int | None:
        """Give the place of the branch that is to win a fork, where that was settled beforehand.

        Args:
            fork: a fork that has just opened.

        Raises:
            JoinError: the branch is none of the fork, or another one leads straight to the join.
        """
        left = self.winners.get(fork.name)
        if fork.wait != "any_of" or not left:
            return None
        branches = [child.branch for child in fork.children]
        winner = left.pop(0)
        if winner not in branches:
            raise JoinError(
                f"the fork at {fork.name!r} is to be won by {winner!r}; its branches are {one_of(branches)}",
                node=fork.source,
            )
        straight = [child.branch for child in fork.children if child.ended]
        if straight and winner not in straight:
            raise JoinError(
                f"the fork at {fork.name!r} is to be won by {winner!r}, but {straight[0]!r} leads straight to the "
                "join, and wins; name that one, or none",
                node=fork.source,
            )
        return branches.index(winner)

    def merge(self, log: Sequence[Logged], tips: Sequence[Logged | None]) -> None:
        """Take in what the branches of a fork did.

        Args:
            log: their node executions, in order of declaration.
            tips: the last one of each.
        """
        opened = len(self.events) - 1
        keep, before = self.events.append, self.before
        first = (opened,)
        for index, entry in enumerate(log, start=opened + 1):
            entry.index = index
            before[index] = (entry.position, entry.before)
            causes = entry.causes
            after = first if causes is OPENED else tuple([opened if each is None else each.index for each in causes])
            keep(entry.event_in(entry.position[2], after))
        self.states += [entry.after for entry in log]
        self.reports += [entry.report for entry in log]
        if tips:
            self.after[len(self.events)] = tuple([opened if tip is None else tip.index for tip in tips])

    def _events(self) -> tuple[Event, ...]:
        """Give the events; in a run with branches, each with those that led to it."""
        if not self.before:
            return tuple(self.events)
        return tuple(
            event if event.after is not None else event._replace(after=self.after.get(index, (index - 1,)[:index]))
            for index, event in enumerate(self.events)
        )

    def config_for(self, attempt: int, branch: str = "") -> RunConfig:
        """Give the config that an action is called with.

        Args:
            attempt: which attempt of its node it is.
            branch: the branch it is called in.
        """
        key = (attempt, branch)
        if key not in self.configs:
            self.configs[key] = dataclasses.replace(self.config, attempt=attempt, branch=branch)
        return self.configs[key]

    def result(self, check: bool) -> Run:
        """Give the Run.

        Args:
            check: whether the error of a run that failed is raised instead.

        Raises:
            RunError: the run stopped with it.
        """
        run = Run(
            self.graph,
            self.config,
            self.stop,
            self.error,
            self.position,
            self._events(),
            self.states,
            self.reports,
            self.state,
            self.before,
            {fork: tuple(left) for fork, left in self.winners.items() if left} if self.winners else _NONE_LEFT,
        )
        if self.error is not None:
            self.error.run = run
        tell(run)
        if self.error is not None and check:
            raise self.error
        return run


def _checked_winners(winners: Winners) -> dict[str, list[str]]:
    given: Any = winners
    if not isinstance(given, Mapping) or any(isinstance(each, str) for each in given.values()):
        raise DefinitionError(
            f"winners is a mapping from the name of a fork to a list of branches, such as {{'plan': ['web[0]']}}; "
            f"found {winners!r}"
        )
    return {fork: list(branches) for fork, branches in given.items()}


def _being_cancelled() -> bool:
    """Tell a run that is cancelled from an action that gave up because something it waited for was."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return False
    return task is not None and task.cancelling() > 0
