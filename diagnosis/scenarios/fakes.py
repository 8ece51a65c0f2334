"""Scripted actions: to the graph they look like real agents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from diagnosis.runtime import (
    Action,
    Command,
    DiagnosisError,
    FrozenDict,
    Model,
    RunConfig,
    State,
    StopRunError,
    ways_of,
)
from diagnosis.runtime.model import Returned
from diagnosis.scenarios.branch_names import BranchNames
from diagnosis.scenarios.script import Call, Raise, Script, read_item


class ScriptedError(DiagnosisError):
    """A node raised because its script says so."""


class StrayKeyError(StopRunError):
    """A script reports, in a branch, a key that the graph does not declare, or a subgraph's key by its inner name."""


class OutOfOutcomesError(StopRunError):
    """A node was called more often than its script has outcomes, which stops the run in whatever fork it happens.

    Attributes:
        node: the node.
        call: the number of the call, from 1, of those that the script's key is for.
        branch: the branch that it was called in; empty outside branches.
        key: the script's key: the node, or one for this branch, such as ``worker[1]``.
    """

    def __init__(self, node: str, call: int, branch: str = "", key: str | None = None) -> None:
        self.node = node
        self.call = call
        self.branch = branch
        self.key = node if key is None else key
        have = f"{call - 1} outcome{'' if call == 2 else 's'}" if call > 1 else "no outcome"
        who = f"node {node!r}" + (f" in branch {branch!r}" if branch else "")
        script = "its script" if self.key == node else f"its script {self.key!r}"
        super().__init__(f"{who} is out of outcomes at call {call}: {script} has {have}; add one for this call")


class Fakes:
    """The actions of one run, each of which counts its calls; a second run needs new ones.

    They are async, as those of real agents are. Those of a graph that can open branches are not: its branches are then
    executed one after the other, in the order of the merged event log, and calls come in that order.

    Args:
        script: what the nodes report.
        model: the model of the graph that is going to run.
    """

    def __init__(self, script: Script, model: Model) -> None:
        self._script = script
        self._names = BranchNames(model.graph)
        self._used: dict[str, int] = {}
        nodes = model.graph.definition.names
        plain = {node: self._action(node, model) for node in nodes}
        branched = bool(model.graph.step.fan_outs.all)
        self.actions: Mapping[str, Action] = plain if branched else {node: _async(plain[node]) for node in nodes}

    @property
    def unused(self) -> tuple[str, ...]:
        """The outcomes that no call has asked for, such as ``verifier[1]``; for a branch ``'worker[1]'[0]``."""
        keys = {key for by_path in self._script.branches.values() for key in by_path.values()}
        return tuple(
            f"{repr(key) if key in keys else key}[{number}]"
            for key, calls in self._script.calls.items()
            for number in range(self._used.get(key, 0), len(calls))
        )

    def _action(self, node: str, model: Model) -> Callable[[State, RunConfig], Returned]:
        used, by_path, script = self._used, self._script.branches.get(node), self._script.calls
        definition = model.graph.definition
        aliases, writable = definition.node(node).aliases, definition.writable(definition.node(node))
        branched = bool(model.graph.step.fan_outs.all)
        always: Call | None = None
        if node in model.unscripted and node not in script:
            always = read_item(model, node, model.forms.spell(node, next(iter(model.alphabet[node]))))

        def scripted(state: State, config: RunConfig) -> Returned:
            key = node
            if by_path is not None:
                key = by_path.get(self._names.path_of(config.branch), node)
            call: Call
            if always is not None and key == node:
                call = always
            else:
                calls = script.get(key, ())
                number = used.get(key, 0)
                used[key] = number + 1
                if number >= len(calls):
                    raise OutOfOutcomesError(node, number + 1, config.branch, key)
                call = calls[number]
            if not branched and type(call) is FrozenDict:
                return call
            if isinstance(call, Raise):
                raise ScriptedError(call.message)
            if callable(call):
                return call(state)
            for what, key in _written(call) if branched and config.branch else ():
                # The runtime would say so too, but a fork that waits for any_of would go on without the branch.
                if key not in definition.keys:
                    raise StrayKeyError(f"node {node!r} {what} {key!r}, {definition.undeclared(node, key)}")
                if what == "wrote" and key in aliases and key not in writable:
                    raise StrayKeyError(f"node {node!r} wrote {key!r}, {definition.disowned(node, key)}")
            return call

        return scripted


def _written(call: Returned) -> Iterator[tuple[str, str]]:
    """Go through the keys of an update, and of what a Command updates and sends."""
    if isinstance(call, Command):
        yield from (("sent", key) for way in ways_of(call.goto) for key in way.update)
        call = call.update
    yield from (("wrote", key) for key in call)


def _async(action: Callable[[State, RunConfig], Returned]) -> Action:
    async def scripted(state: State, config: RunConfig) -> Returned:
        return action(state, config)

    return scripted
