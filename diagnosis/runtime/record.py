"""A run while it is being made: one node execution after another, from START to the reason why it stops."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import types
import uuid
from collections.abc import Awaitable, Callable, Generator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from diagnosis.runtime.decisions import Event, State, is_count
from diagnosis.runtime.definition import END, Action
from diagnosis.runtime.errors import ActionError, DefinitionError, LimitError, RunError, told
from diagnosis.runtime.nodestep import NodeStep, Report
from diagnosis.runtime.run import Executed, Run, RunConfig, Stop

if TYPE_CHECKING:
    from diagnosis.runtime.compiled import CompiledGraph

Call = tuple[Action, bool, NodeStep]
"""An action, whether it takes the config, and the step of its node."""

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

    Raises:
        InputError: the input holds what the graph does not take.
        DefinitionError: the limit is no number from 1.
    """

    __slots__ = (
        "config",
        "configs",
        "error",
        "events",
        "graph",
        "limit",
        "position",
        "reports",
        "state",
        "states",
        "stop",
    )

    def __init__(
        self,
        graph: CompiledGraph,
        values: Mapping[str, Any] | None,
        config: RunConfig | None,
        recursion_limit: int | None,
    ) -> None:
        self.graph = graph
        self.limit = graph.recursion_limit if recursion_limit is None else checked_limit(recursion_limit)
        if config is not None and not isinstance(config, RunConfig):
            raise DefinitionError(f"config is a RunConfig(thread_id, metadata), found {type(config).__name__}")
        self.config = config or _NO_CONFIG
        self.configs: dict[int, RunConfig] = {}
        given = {} if values is None else values
        id_key = graph.definition.id_key
        if id_key is not None and isinstance(given, Mapping):
            name = given.get(id_key)
            if name is None:
                name = uuid.uuid4().hex
                given = {**given, id_key: name}
            if self.config.thread_id is None:
                self.config = dataclasses.replace(self.config, thread_id=name)
        self.position, self.state = graph.step.begin(given)
        self.events: list[Event] = []
        self.states: list[State] = [self.state]
        self.reports: list[Report] = []
        self.stop: Stop = "ended"
        self.error: RunError | None = None

    async def drive(
        self,
        wait: Callable[[Any], Awaitable[Any]] | None = None,
        show: Callable[[Executed], Awaitable[Any]] | None = None,
    ) -> None:
        """Execute node by node until the run stops; an error of the run is kept, not raised.

        Args:
            wait: how to wait for an awaitable that an action gives; it is awaited as it is where absent.
            show: what is awaited with each node execution that completed.
        """
        calls, config = self.graph.calls, self.config
        events, states = self.events, self.states
        keep_event, keep_state, keep_report = events.append, states.append, self.reports.append
        position = self.position
        state: Mapping[str, Any] = self.state
        view = MappingProxyType(state)
        attempt = 1
        try:
            for _ in range(self.limit):
                node = position.node
                if node == END:
                    break
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
                        update = action(view, config if attempt == config.attempt else self._config(attempt))
                    kind = type(update)
                    if kind is not dict and (kind is types.CoroutineType or inspect.isawaitable(update)):
                        update = await (update if wait is None else wait(update))
                except Exception as error:
                    raise _action_failed(node, attempt, error) from error
                except asyncio.CancelledError as error:
                    if _being_cancelled():
                        raise
                    raise _action_failed(node, attempt, error) from error
                came_from = position
                position, state, event, report = step.leave(position, state, update, attempt)
                view = MappingProxyType(state)
                keep_event(event)
                keep_state(state)
                keep_report(report)
                if show is not None:
                    index = len(events) - 1
                    before, report = MappingProxyType(states[index]), MappingProxyType(report)
                    await show(Executed(index, came_from, before, report, view, event))
            else:
                if position.node != END:
                    attempt = 1
                    raise _limit_met(self.limit, position.node)
        except RunError as error:
            error.attempt = attempt
            self.error = error
            self.stop = "limit" if isinstance(error, LimitError) else "error"
        finally:
            self.position = position

    def _config(self, attempt: int) -> RunConfig:
        if attempt not in self.configs:
            self.configs[attempt] = dataclasses.replace(self.config, attempt=attempt)
        return self.configs[attempt]

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
            tuple(self.events),
            self.states,
            self.reports,
        )
        if self.error is not None:
            self.error.run = run
            if check:
                raise self.error
        return run


def _action_failed(node: str, attempt: int, error: BaseException) -> ActionError:
    return ActionError(f"node {node!r}, attempt {attempt}, raised {told(error)}", node=node)


def _limit_met(limit: int, node: str) -> LimitError:
    return LimitError(
        f"the run met its recursion limit of {limit} node executions, and {node!r} would come next; "
        "see where it loops, or raise recursion_limit",
        node=node,
    )


def _being_cancelled() -> bool:
    """Tell a run that is cancelled from an action that gave up because something it waited for was."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return False
    return task is not None and task.cancelling() > 0
