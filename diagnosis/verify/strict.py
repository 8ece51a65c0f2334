"""The step of a graph in which every function sees only the keys that it declares to read."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from diagnosis.runtime import (
    Condition,
    Conditional,
    Decision,
    Definition,
    Effect,
    Node,
    Reading,
    ReadView,
    RouterDecision,
    Rule,
    State,
    Step,
)


def strict_step(definition: Definition) -> Step:
    """Give the step of a graph that refuses undeclared reads, on which what is proven rests.

    Args:
        definition: a graph without findings.

    Returns:
        A step like the graph's own, but that a condition, an entry or exit update, a reading, or a router with declared
        reads fails where it reads any other key.
    """
    nodes = tuple(_node(node) for node in definition.nodes)
    conditionals = tuple(_conditional(conditional) for conditional in definition.conditionals)
    return Step(dataclasses.replace(definition, nodes=nodes, conditionals=conditionals))


def _shown(function: Callable[[State], Any], reads: tuple[str, ...], who: str) -> Callable[[State], Any]:
    allowed = frozenset(reads)
    return lambda state: function(ReadView(state, allowed, who))


def _effect(node: str, effect: Effect) -> Effect:
    apply = _shown(effect.apply, effect.reads, f"update {effect.name!r} of {node}")
    return Effect(effect.name, apply, reads=effect.reads, writes=effect.writes)


def _reading(node: str, what: str, reading: Reading | None) -> Reading | None:
    if reading is None:
        return None
    return Reading(_shown(reading.get, reading.reads, f"the {what} function of {node}"), reading.reads)


def _node(node: Node) -> Node:
    return dataclasses.replace(
        node,
        entry=tuple(_effect(node.name, effect) for effect in node.entry),
        exit=tuple(_effect(node.name, effect) for effect in node.exit),
        attempt=_reading(node.name, "attempt", node.attempt),
        outcome=_reading(node.name, "outcome", node.outcome),
    )


def _conditional(conditional: Conditional) -> Conditional:
    decision = conditional.decision
    if isinstance(decision, RouterDecision):
        if decision.reads is None:
            return conditional
        router = _shown(decision.router, decision.reads, f"the router of {conditional.source}")
        return dataclasses.replace(conditional, decision=RouterDecision(router, decision.reads))
    return dataclasses.replace(
        conditional, decision=Decision(_rule(conditional.source, rule) for rule in decision.rules)
    )


def _rule(source: str, rule: Rule) -> Rule:
    when = tuple(
        Condition(c.name, _shown(c.test, c.reads, f"condition {c.name!r} of {source}.{rule.name}"), c.reads)
        for c in rule.when
    )
    return dataclasses.replace(rule, when=when)
