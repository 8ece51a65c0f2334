"""A compiled graph: it runs, streams and explains, and never changes."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from typing import Any, Self

from diagnosis.runtime.checks import arity, findings
from diagnosis.runtime.definition import Action, Definition
from diagnosis.runtime.display import Shown
from diagnosis.runtime.errors import CompileError, DefinitionError, one_of
from diagnosis.runtime.explain import Explanation, explain
from diagnosis.runtime.record import Call, Record, Winners, checked_limit, handed
from diagnosis.runtime.run import Executed, Run, RunConfig
from diagnosis.runtime.step import Step
from diagnosis.runtime.topology import Topology, topology_of
from diagnosis.runtime.waiting import Waiting

DEFAULT_LIMIT = 100
"""Node executions a run may take where no other limit is given."""


class CompiledGraph(Shown):
    """A graph that passed all checks.

    Args:
        definition: the graph as data.
        recursion_limit: how many node executions a run may take; a run that reaches END at the limit ends well.

    Attributes:
        step: the pure step.
        calls: how the runtime calls the nodes' actions.

    Raises:
        CompileError: the graph has findings; the error lists all of them.
    """

    def __init__(self, definition: Definition, *, recursion_limit: int = DEFAULT_LIMIT) -> None:
        found = findings(definition)
        if found:
            raise CompileError(found)
        self.definition = definition
        self.recursion_limit = checked_limit(recursion_limit)
        self.step = Step(definition)
        self.calls = {node.name: self._call(node.name, node.action) for node in definition.nodes}

    def _call(self, node: str, action: Action) -> Call:
        count = arity(action)
        if count is None:
            raise DefinitionError(f"the action of node {node!r} must take (state) or (state, config)")
        return action, count == 2, self.step.at(node)

    @property
    def name(self) -> str:
        """The graph's name."""
        return self.definition.name

    @property
    def joins(self) -> dict[str, str]:
        """Where branches meet: the node that opens them -> the node that runs when they have ended."""
        return self.step.fan_outs.joins

    @property
    def topology(self) -> Topology:
        """The nodes and edges, as something to look at."""
        return topology_of(self.definition)

    @property
    def fingerprint(self) -> str:
        """A short text that differs where the topology, the rules or the keys do."""
        return hashlib.sha256(self.topology.text().encode("utf-8", "backslashreplace")).hexdigest()[:16]

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
        replaced = dict(self.calls)
        for name, action in actions.items():
            if name not in replaced:
                raise DefinitionError(f"graph {self.name!r} has no node {name!r}; nodes are {one_of(replaced)}")
            if not callable(action):
                raise DefinitionError(f"the action of node {name!r} is {action!r}; it needs a function")
            replaced[name] = self._call(name, action)
        other.calls = replaced
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
        winners: Winners | None = None,
    ) -> Run:
        """Run to the end and wait for it; works with async actions too, also inside a running event loop.

        Args:
            input: key -> value.
            config: thread id and metadata.
            recursion_limit: node executions, in place of the graph's own limit.
            check: whether an error is raised; if not, the Run that holds it is returned.
            winners: the name of an ``any_of`` fork -> the branches that are to win it, one each time it opens; only
                these are executed. It is a matter of timing where absent.

        Raises:
            InputError: the input holds what the graph does not take.
            RunError: the run stopped with an error, whose ``run`` is the Run so far.
        """
        record = Record(self, input, config, recursion_limit, winners)
        drive = record.drive(handed)
        try:
            pending = drive.send(None)
            with Waiting() as waiting:
                while True:
                    pending = waiting.resume(drive, pending)
        except StopIteration:
            return record.result(check)
        finally:
            drive.close()

    async def arun(
        self,
        input: Mapping[str, Any] | None = None,
        *,
        config: RunConfig | None = None,
        recursion_limit: int | None = None,
        check: bool = True,
        winners: Winners | None = None,
    ) -> Run:
        """Run to the end in the running event loop; arguments and errors are those of :meth:`run`."""
        record = Record(self, input, config, recursion_limit, winners)
        await record.drive()
        return record.result(check)

    def stream(
        self,
        input: Mapping[str, Any] | None = None,
        *,
        config: RunConfig | None = None,
        recursion_limit: int | None = None,
        winners: Winners | None = None,
    ) -> Iterator[Executed]:
        """Run and yield each node execution as it completes, then raise where the run failed.

        Arguments and errors are those of :meth:`run`.
        """
        record = Record(self, input, config, recursion_limit, winners)
        drive = record.drive(handed, handed)
        try:
            item = drive.send(None)
            with Waiting() as waiting:
                while True:
                    if type(item) is Executed:
                        yield item
                        item = drive.send(None)
                    else:
                        item = waiting.resume(drive, item)
        except StopIteration:
            pass
        finally:
            drive.close()
        record.result(check=True)

    async def astream(
        self,
        input: Mapping[str, Any] | None = None,
        *,
        config: RunConfig | None = None,
        recursion_limit: int | None = None,
        winners: Winners | None = None,
    ) -> AsyncIterator[Executed]:
        """Do what :meth:`stream` does, in the running event loop."""
        record = Record(self, input, config, recursion_limit, winners)
        drive = record.drive(handed, handed)
        try:
            item = drive.send(None)
            while True:
                if type(item) is Executed:
                    yield item
                    item = drive.send(None)
                    continue
                try:
                    value = await item
                except (Exception, asyncio.CancelledError) as error:
                    item = drive.throw(error)
                else:
                    item = drive.send(value)
        except StopIteration:
            pass
        except GeneratorExit:
            await _given_up(drive)
            raise
        finally:
            drive.close()
        record.result(check=True)


async def _given_up(drive: Coroutine[Any, Any, None]) -> None:
    """Cancel what is under way in a run that nobody follows any more, and wait until it is through."""
    try:
        item = drive.throw(asyncio.CancelledError())
        while True:
            item = drive.send(None if type(item) is Executed else await item)
    except (StopIteration, asyncio.CancelledError):
        pass
