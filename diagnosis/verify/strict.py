"""The step of a graph in which every function sees only the keys that it declares to read."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from diagnosis.runtime import (
    Command,
    Condition,
    Conditional,
    Decision,
    Definition,
    Effect,
    Node,
    Reading,
    ReadView,
    Remove,
    ReplaceAll,
    RouterDecision,
    Rule,
    State,
    Step,
)
from diagnosis.runtime.frozen import ATOMS
from diagnosis.verify.reads import Recorder


class Look(NamedTuple):
    """One call of a plain router.

    Attributes:
        source: the node that decides.
        state: the state as the router saw it.
        reads: the keys that it read.
        given: what it gave.
    """

    source: str
    state: Mapping[str, Any]
    reads: set[str]
    given: Any


class Notes:
    """What was seen of one node execution.

    Attributes:
        looks: each call of a plain router.
        removed: the keys from whose histories something was to be removed: where it is not there, that is an error.
        cleared: the keys whose histories were replaced: where another branch writes there too, that is an error.
        order: the keys that functions read, in the order in which they first did.
    """

    def __init__(self) -> None:
        self.order: dict[str, None] = {}
        self.looks: list[Look] = []
        self.removed: set[str] = set()
        self.cleared: set[str] = set()

    def clear(self) -> None:
        """Forget it all, for the next execution."""
        self.order.clear()
        if self.looks or self.removed or self.cleared:
            self.looks.clear()
            self.removed.clear()
            self.cleared.clear()

    def wrote(self, update: object) -> None:
        """Note the markers of an update.

        Args:
            update: what an action, an entry or exit update, or a router wrote.
        """
        if type(update) is not dict and not isinstance(update, Mapping):
            return
        for key, value in update.items():
            if value is None or type(value) in ATOMS:
                continue
            if isinstance(value, ReplaceAll):
                self.cleared.add(key)
            elif isinstance(value, Remove) or (
                isinstance(value, list | tuple) and any(isinstance(item, Remove) for item in value)
            ):
                self.removed.add(key)


def strict_step(definition: Definition, notes: Notes) -> Step:
    """Give the step of a graph that refuses undeclared reads, on which what is proven rests.

    Args:
        definition: a graph without findings.
        notes: where the calls of plain routers and the markers of entry and exit updates are noted.

    Returns:
        A step like the graph's own, but that a condition, an entry or exit update, a reading, or a router with declared
        reads fails where it reads any other key.
    """
    nodes = tuple(_node(node, notes) for node in definition.nodes)
    conditionals = tuple(_conditional(conditional, notes) for conditional in definition.conditionals)
    return Step(dataclasses.replace(definition, nodes=nodes, conditionals=conditionals))


class _NotedView(ReadView):
    """A state that shows only declared keys, and notes which are read."""

    __slots__ = ("_order",)

    def __init__(self, state: State, allowed: frozenset[str], who: str, order: dict[str, None]) -> None:
        self._state, self._allowed, self._who, self._order = state, allowed, who, order

    def __getitem__(self, key: str) -> Any:
        if key in self._allowed:
            self._order[key] = None
            return self._state[key]
        return super().__getitem__(key)


def _shown(function: Callable[[State], Any], reads: tuple[str, ...], who: str, notes: Notes) -> Callable[[State], Any]:
    allowed, order = frozenset(reads), notes.order
    return lambda state: function(_NotedView(state, allowed, who, order))


def _effect(node: str, effect: Effect, notes: Notes) -> Effect:
    shown = _shown(effect.apply, effect.reads, f"update {effect.name!r} of {node}", notes)

    def apply(state: State) -> Mapping[str, Any]:
        changes: Mapping[str, Any] = shown(state)
        notes.wrote(changes)
        return changes

    return Effect(effect.name, apply, reads=effect.reads, writes=effect.writes)


def _reading(node: str, what: str, reading: Reading | None, notes: Notes) -> Reading | None:
    if reading is None:
        return None
    return Reading(_shown(reading.get, reading.reads, f"the {what} function of {node}", notes), reading.reads)


def _node(node: Node, notes: Notes) -> Node:
    return dataclasses.replace(
        node,
        entry=tuple(_effect(node.name, effect, notes) for effect in node.entry),
        exit=tuple(_effect(node.name, effect, notes) for effect in node.exit),
        attempt=_reading(node.name, "attempt", node.attempt, notes),
        outcome=_reading(node.name, "outcome", node.outcome, notes),
    )


def _conditional(conditional: Conditional, notes: Notes) -> Conditional:
    decision = conditional.decision
    if isinstance(decision, RouterDecision):
        router = _watched(conditional.source, decision, notes)
        return dataclasses.replace(conditional, decision=RouterDecision(router, decision.reads))
    return dataclasses.replace(
        conditional, decision=Decision(_rule(conditional.source, rule, notes) for rule in decision.rules)
    )


def _watched(source: str, decision: RouterDecision, notes: Notes) -> Callable[[State], Any]:
    def router(state: State) -> Any:
        seen = state
        if decision.reads is not None:
            seen = ReadView(state, decision.reads, f"the router of {source}")
        recorder = Recorder(seen, notes.order)
        # A copy first: what a Command of the router updates is put into the state that it was shown.
        before = dict(state)
        given = decision.router(recorder)
        notes.looks.append(Look(source, before, recorder.reads, given))
        if isinstance(given, Command):
            notes.wrote(given.update)
        return given

    return router


def _rule(source: str, rule: Rule, notes: Notes) -> Rule:
    when = tuple(
        Condition(c.name, _shown(c.test, c.reads, f"condition {c.name!r} of {source}.{rule.name}", notes), c.reads)
        for c in rule.when
    )
    return dataclasses.replace(rule, when=when)
