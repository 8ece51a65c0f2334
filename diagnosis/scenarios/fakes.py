"""Scripted actions: to the graph they look like real agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diagnosis.runtime import Action, DiagnosisError, FrozenDict, Model, RunConfig, State
from diagnosis.scenarios.script import Call, Raise, Script


class ScriptedError(DiagnosisError):
    """A node raised because its script says so."""


class OutOfOutcomesError(DiagnosisError):
    """A node was called more often than its script has outcomes.

    Attributes:
        node: the node.
        call: the number of the call, from 1.
    """

    def __init__(self, node: str, call: int) -> None:
        self.node = node
        self.call = call
        have = f"{call - 1} outcome{'' if call == 2 else 's'}" if call > 1 else "no outcome"
        super().__init__(
            f"node {node!r} is out of outcomes at call {call}: its script has {have}; add one for this call"
        )


class Fakes:
    """The actions of one run, each of which counts its calls; a second run needs new ones.

    Args:
        script: what the nodes report.
        model: the model of the graph that is going to run.
    """

    def __init__(self, script: Script, model: Model) -> None:
        self._script = script
        self._used = dict.fromkeys(model.graph.definition.names, 0)
        self.actions: Mapping[str, Action] = {node: self._action(node, model) for node in self._used}

    @property
    def unused(self) -> tuple[str, ...]:
        """The outcomes that no call has asked for, such as ``verifier[1]``."""
        return tuple(
            f"{node}[{number}]"
            for node, calls in self._script.calls.items()
            for number in range(self._used[node], len(calls))
        )

    def _action(self, node: str, model: Model) -> Action:
        used = self._used
        calls: tuple[Call, ...] | None = self._script.calls.get(node)
        always = None
        if calls is None:
            calls = ()
            if node in model.unscripted:
                only = model.forms.spell(node, next(iter(model.alphabet[node])))
                always = model.forms.parse(node, {"status": only} if isinstance(only, str) else only)

        async def scripted(state: State, config: RunConfig) -> Mapping[str, Any]:
            number = used[node]
            used[node] = number + 1
            call: Call
            if always is not None:
                call = always
            elif number < len(calls):
                call = calls[number]
            else:
                raise OutOfOutcomesError(node, number + 1)
            if type(call) is FrozenDict:
                return call
            if isinstance(call, Raise):
                raise ScriptedError(call.message)
            return call(state) if callable(call) else call

        return scripted
