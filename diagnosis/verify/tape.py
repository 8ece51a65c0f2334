"""What a user's functions gave in one node execution, noted in one place and told in another.

Conditions, routers, updates, readings and outcomes are pure functions. What they gave in a worker is what they give
here, so the search need not call them again; all else it does itself, in its own order. Where nothing was noted, such
as after a function that raised, the search calls the function, and meets its error as if there were no workers.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

from diagnosis.runtime import Decision, Definition, Effect, Model, Reading, RouterDecision, State
from diagnosis.verify.reads import Recorder

Who = tuple[Any, ...]
"""Which function it is: what it does, of which node, and its place there."""


Note = tuple[Who, Any, tuple[str, ...]]
"""One call: which function was called, what it gave, and the keys that it read, where somebody asks for them."""


class Tape:
    """The calls of one node execution, in order."""

    def __init__(self) -> None:
        self._told: list[Note] = []
        self._noted: list[Note] | None = None

    def tell(self, notes: list[Note]) -> None:
        """Tell what was noted, instead of calling.

        Args:
            notes: the calls of the execution that comes next; none to call everything.
        """
        self._told = notes[::-1]

    def note(self) -> list[Note]:
        """Note what comes next.

        Returns:
            A list that grows with each call, up to the first that raises.
        """
        self._noted = []
        return self._noted

    def call(self, who: Who, function: Callable[[Any], Any], state: Any) -> Any:
        """Give what a function gives.

        Args:
            who: which function it is.
            function: the function.
            state: the state that it sees.
        """
        if self._told:
            expected, given, reads = self._told.pop()
            if expected == who:
                if type(state) is Recorder:
                    state.reads.update(reads)
                return given
            self._told = []
        noted = self._noted
        if noted is None:
            return function(state)
        self._noted = None  # where it raises, nothing more is noted
        given = function(state)
        noted.append((who, given, tuple(state.reads) if type(state) is Recorder else ()))
        self._noted = noted
        return given

    def around(self, who: Who, function: Callable[[Any], Any]) -> Callable[[State], Any]:
        """Give a function that is called by way of the tape.

        Args:
            who: which function it is.
            function: the function.
        """
        return lambda state: self.call(who, function, state)


def taped(model: Model, tape: Tape) -> Model:
    """Give a model whose functions are called by way of a tape.

    Args:
        model: the model.
        tape: the tape.
    """
    graph = copy.copy(model.graph)
    graph.definition = _definition(model.graph.definition, tape)
    alphabet = {
        node: {
            outcome: tape.around(("report", node, outcome), update) if callable(update) else update
            for outcome, update in outcomes.items()
        }
        for node, outcomes in model.alphabet.items()
    }
    return dataclasses.replace(model, graph=graph, alphabet=alphabet)


def _definition(definition: Definition, tape: Tape) -> Definition:
    def effects(what: str, node: str, given: tuple[Effect, ...]) -> tuple[Effect, ...]:
        return tuple(
            Effect(effect.name, tape.around((what, node, at), effect.apply), reads=effect.reads, writes=effect.writes)
            for at, effect in enumerate(given)
        )

    def reading(what: str, node: str, given: Reading | None) -> Reading | None:
        return None if given is None else Reading(tape.around((what, node), given.get), given.reads)

    def decision(source: str, given: Decision | RouterDecision) -> Decision | RouterDecision:
        if isinstance(given, RouterDecision):
            return RouterDecision(tape.around(("router", source), given.router), given.reads)
        return Decision(
            dataclasses.replace(
                rule,
                when=tuple(
                    dataclasses.replace(test, test=tape.around(("test", source, row, at), test.test))
                    for at, test in enumerate(rule.when)
                ),
            )
            for row, rule in enumerate(given.rules)
        )

    nodes = tuple(
        dataclasses.replace(
            node,
            entry=effects("entry", node.name, node.entry),
            exit=effects("exit", node.name, node.exit),
            attempt=reading("attempt", node.name, node.attempt),
            outcome=reading("outcome", node.name, node.outcome),
        )
        for node in definition.nodes
    )
    conditionals = tuple(
        dataclasses.replace(conditional, decision=decision(conditional.source, conditional.decision))
        for conditional in definition.conditionals
    )
    return dataclasses.replace(definition, nodes=nodes, conditionals=conditionals)
