"""A compiled graph: it runs, streams and explains, and never changes."""

from __future__ import annotations

import asyncio
import contextvars
import dataclasses
import hashlib
import uuid
from collections.abc import AsyncIterator, Awaitable, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Any, Self

from diagnosis.runtime.checks import arity, findings
from diagnosis.runtime.decisions import Event
from diagnosis.runtime.definition import END, Action, Definition
from diagnosis.runtime.display import Shown
from diagnosis.runtime.errors import ActionError, CompileError, DefinitionError, LimitError, RunError, one_of
from diagnosis.runtime.explain import Explanation, explain
from diagnosis.runtime.run import Executed, Run, RunConfig, Stop
from diagnosis.runtime.step import Report, Step, told
from diagnosis.runtime.topology import Topology, topology_of

DEFAULT_LIMIT = 100
"""Node executions a run may take where no other limit is given."""

_Drive = Generator[Any, Any, None]


def _checked_limit(limit: object) -> int:
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise DefinitionError(f"recursion_limit is a number of node executions from 1, found {limit!r}")
    return limit


class CompiledGraph(Shown):
    """A graph that passed all checks.

    Args:
        definition: the graph as data.
        recursion_limit: how many node executions a run may take; a run that reaches END at the limit ends well.

    Raises:
        CompileError: the graph has findings; the error lists all of them.
    """

    def __init__(self, definition: Definition, *, recursion_limit: int = DEFAULT_LIMIT) -> None:
        found = findings(definition)
        if found:
            raise CompileError(found)
        self.definition = definition
        self.recursion_limit = _checked_limit(recursion_limit)
        self.step = Step(definition)
        self._actions = {node.name: (node.action, arity(node.action) == 2) for node in definition.nodes}

    @property
    def name(self) -> str:
        """The graph's name."""
        return self.definition.name

    @property
    def topology(self) -> Topology:
        """The nodes and edges, as something to look at."""
        return topology_of(self.definition)

    @property
    def fingerprint(self) -> str:
        """A short text that differs where the topology, the rules or the keys do."""
        return hashlib.sha256(self.topology.text().encode()).hexdigest()[:16]

    def text(self) -> str:
        """Give the topology as text."""
        return self.topology.text()

    def with_actions(self, actions: Mapping[str, Action]) -> Self:
        """Give the same graph with other actions in some of its nodes.

        Args:
            actions: node -> action; all others keep theirs.

        Raises:
            DefinitionError: a name is no node of the graph, or an action is no function of (state) or (state, config).
        """
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        replaced = dict(self._actions)
        for name, action in actions.items():
            if name not in replaced:
                raise DefinitionError(f"graph {self.name!r} has no node {name!r}; nodes are {one_of(replaced)}")
            if not callable(action):
                raise DefinitionError(f"the action of node {name!r} is {action!r}; it needs a function")
            replaced[name] = (action, arity(action) == 2)
        other._actions = replaced
        return other

    def explain(self, source: str, state: Mapping[str, Any], *, reason: str | None = None) -> Explanation:
        """Show every rule of a node's decision with the truth of each condition in a state.

        Args:
            source: the node that decides.
            state: the state at its decision.
            reason: the reason that led to the node, for nodes that repeat it.

        Raises:
            DefinitionError: there is no such node.
        """
        return explain(self.definition, source, state, reason=reason)

    def run(
        self,
        input: Mapping[str, Any] | None = None,
        *,
        config: RunConfig | None = None,
        recursion_limit: int | None = None,
        check: bool = True,
    ) -> Run:
        """Run to the end and wait for it; works with async actions too, also inside a running event loop.

        Args:
            input: key -> value.
            config: thread id and metadata.
            recursion_limit: node executions, in place of the graph's own limit.
            check: whether an error is raised; if not, the Run that holds it is returned.

        Raises:
            InputError: the input holds what the graph does not take.
            RunError: the run stopped with an error, whose ``run`` is the Run so far.
        """
        record = _Record(self, input, config, recursion_limit)
        drive = record.drive(self._actions, stream=False)
        pending = next(drive, None)
        if pending is not None:
            with _Waiting() as waiting:
                while pending is not None:
                    pending = waiting.resume(drive, pending)
        return record.result(check)

    async def arun(
        self,
        input: Mapping[str, Any] | None = None,
        *,
        config: RunConfig | None = None,
        recursion_limit: int | None = None,
        check: bool = True,
    ) -> Run:
        """Run to the end in the running event loop; arguments and errors are those of :meth:`run`."""
        record = _Record(self, input, config, recursion_limit)
        drive = record.drive(self._actions, stream=False)
        try:
            pending = drive.send(None)
            while True:
                try:
                    value = await pending
                except Exception as error:
                    pending = drive.throw(error)
                else:
                    pending = drive.send(value)
        except StopIteration:
            return record.result(check)
        finally:
            drive.close()

    def stream(
        self,
        input: Mapping[str, Any] | None = None,
        *,
        config: RunConfig | None = None,
        recursion_limit: int | None = None,
    ) -> Iterator[Executed]:
        """Run and yield each node execution as it completes, then raise where the run failed.

        Arguments and errors are those of :meth:`run`.
        """
        record = _Record(self, input, config, recursion_limit)
        drive = record.drive(self._actions, stream=True)
        try:
            with _Waiting() as waiting:
                item = next(drive, None)
                while item is not None:
                    if isinstance(item, Executed):
                        yield item
                        item = next(drive, None)
                    else:
                        item = waiting.resume(drive, item)
        finally:
            drive.close()
        record.result(check=True)

    async def astream(
        self,
        input: Mapping[str, Any] | None = None,
        *,
        config: RunConfig | None = None,
        recursion_limit: int | None = None,
    ) -> AsyncIterator[Executed]:
        """Do what :meth:`stream` does, in the running event loop."""
        record = _Record(self, input, config, recursion_limit)
        drive = record.drive(self._actions, stream=True)
        try:
            item = next(drive, None)
            while item is not None:
                if isinstance(item, Executed):
                    yield item
                    item = next(drive, None)
                    continue
                try:
                    value = await item
                except Exception as error:
                    item = _thrown(drive, error)
                else:
                    item = _sent(drive, value)
        finally:
            drive.close()
        record.result(check=True)


def _sent(drive: _Drive, value: Any) -> Any:
    try:
        return drive.send(value)
    except StopIteration:
        return None


def _thrown(drive: _Drive, error: BaseException) -> Any:
    try:
        return drive.throw(error)
    except StopIteration:
        return None


class _Record:
    """A run while it is being made."""

    def __init__(
        self,
        graph: CompiledGraph,
        values: Mapping[str, Any] | None,
        config: RunConfig | None,
        recursion_limit: int | None,
    ) -> None:
        self.graph = graph
        self.limit = graph.recursion_limit if recursion_limit is None else _checked_limit(recursion_limit)
        given = dict(values or {})
        id_key = graph.definition.id_key
        if id_key is not None and given.get(id_key) is None:
            given[id_key] = uuid.uuid4().hex
        self.config = config or RunConfig()
        if self.config.thread_id is None and id_key is not None:
            self.config = dataclasses.replace(self.config, thread_id=given[id_key])
        self.position, self.state = graph.step.begin(given)
        self.events: list[Event] = []
        self.states: list[Mapping[str, Any]] = [self.state]
        self.reports: list[Report] = []
        self.stop: Stop = "ended"
        self.error: RunError | None = None

    def drive(self, actions: Mapping[str, tuple[Action, bool]], *, stream: bool) -> _Drive:
        """Execute node by node; yield each awaitable to wait for, and each Executed where asked to."""
        enter, leave, limit = self.graph.step.enter, self.graph.step.leave, self.limit
        events, states, reports = self.events, self.states, self.reports
        position, state, count, attempt = self.position, self.state, 0, 1
        configs = {self.config.attempt: self.config}
        try:
            while position.node != END:
                node, attempt = position.node, 1
                if count == limit:
                    raise LimitError(
                        f"the run met its recursion limit of {limit} node executions, and {node!r} would come next; "
                        "see where it loops, or raise recursion_limit",
                        node=node,
                    )
                entered, attempt = enter(position, state)
                action, takes_config = actions[node]
                try:
                    if takes_config:
                        config = configs.get(attempt)
                        if config is None:
                            config = configs[attempt] = dataclasses.replace(self.config, attempt=attempt)
                        update = action(MappingProxyType(entered), config)
                    else:
                        update = action(MappingProxyType(entered))
                    if type(update) is not dict and hasattr(update, "__await__"):
                        update = yield update
                except Exception as error:
                    raise ActionError(f"node {node!r}, attempt {attempt}, raised {told(error)}", node=node) from error
                came_from = position
                position, after, event, report = leave(position, entered, update)
                events.append(event)
                states.append(after)
                reports.append(report)
                if stream:
                    yield Executed(count, came_from, MappingProxyType(state), report, MappingProxyType(after), event)  # type: ignore[arg-type]
                state = after
                count += 1
        except RunError as error:
            error.attempt = attempt
            self.error = error
            self.stop = "limit" if isinstance(error, LimitError) else "error"
        finally:
            self.position = position

    def result(self, check: bool) -> Run:
        """Give the finished Run, or raise its error."""
        run = Run(
            self.graph,
            self.config,
            self.stop,
            self.error,
            self.position,
            tuple(self.events),
            tuple(self.states),
            tuple(self.reports),
        )
        if self.error is not None:
            self.error.run = run
            if check:
                raise self.error
        return run


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


class _Waiting:
    """Waits for awaitables from plain code: in an event loop made when the first one comes.

    Where a loop is already running in this thread, as in a notebook, the waiting is done in a thread of its own.
    """

    def __init__(self) -> None:
        self._runner: asyncio.Runner | None = None
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def resume(self, drive: _Drive, awaitable: Awaitable[Any]) -> Any:
        """Wait for an awaitable, hand its result or error to the drive, and give what that yields next."""
        if self._runner is None:
            self._runner = asyncio.Runner()
            try:
                asyncio.get_running_loop()
            except RuntimeError:
                pass
            else:
                self._pool = ThreadPoolExecutor(1, thread_name_prefix="diagnosis-run")
        try:
            if self._pool is None:
                value = self._runner.run(_awaited(awaitable))
            else:
                context = contextvars.copy_context()
                value = self._pool.submit(self._runner.run, _awaited(awaitable), context=context).result()
        except Exception as error:
            return _thrown(drive, error)
        return _sent(drive, value)

    def __exit__(self, *exc: object) -> None:
        if self._pool is not None and self._runner is not None:
            self._pool.submit(self._runner.close).result()
            self._pool.shutdown()
        elif self._runner is not None:
            self._runner.close()
