"""Changes of what surrounds a node's action: entry and exit updates, its whole report, its attempt and outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from diagnosis.mutation.domains import Domains
from diagnosis.mutation.mutant import Mutant
from diagnosis.runtime import Definition, Effect, Model, Node, State

_Value = Callable[[Any], Any]


def node_mutants(model: Model, domains: Domains) -> Iterator[Mutant]:
    """Go through the changes of what surrounds the action of every node.

    Args:
        model: the graph.
        domains: which keys hold whole numbers.
    """
    definition = model.graph.definition
    for node in definition.nodes:
        for operator, place, before, after, changed, writes in _changes(definition, node, domains.numbers):
            nodes = tuple(changed if each is node else each for each in definition.nodes)
            where = f"{node.name}.{place}" if place else node.name
            yield Mutant(
                operator,
                where,
                before,
                after,
                node.name,
                replace(definition, nodes=nodes),
                model.graph.recursion_limit,
                writes,
            )


_Change = tuple[str, str, str, str, Node, tuple[str, ...]]
"""Operator, place in the node, what is declared, what is instead, the changed node, the keys that it writes."""


def _changes(definition: Definition, node: Node, numbers: frozenset[str]) -> Iterator[_Change]:
    yield from _updates(node.entry, "at entry", numbers, lambda effects: replace(node, entry=effects))
    yield from _updates(node.exit, "at exit", numbers, lambda effects: replace(node, exit=effects))
    whole = definition.whole(node)
    if whole:
        keeps = replace(node, whole_report=False)
        yield "keep_report", "", "what a report leaves out becomes null", "it keeps its value", keeps, whole
    if node.attempt is not None:
        yield "drop_attempt", "", "attempts are counted", "every attempt is the first", replace(node, attempt=None), ()
    if node.outcome is not None:
        yield "drop_outcome", "", "the outcome is read", "it is always COMPLETED", replace(node, outcome=None), ()


def _updates(
    effects: tuple[Effect, ...], when: str, numbers: frozenset[str], put: Callable[[tuple[Effect, ...]], Node]
) -> Iterator[_Change]:
    for place, effect in enumerate(effects):
        name, before, behind = effect.name, effects[:place], effects[place + 1 :]
        yield "drop_update", name, f"{name} {when}", "no such update", put((*before, *behind)), effect.writes
        if behind:
            second = behind[0]
            order = f"{name} before {second.name}", f"{second.name} before {name}"
            writes = (*effect.writes, *second.writes)
            yield "swap_updates", name, *order, put((*before, second, effect, *behind[1:])), writes
        for key in effect.writes:
            values: list[tuple[str, str, _Value]] = [("null_update", f"{key} = null", lambda value: None)]
            if key in numbers:
                values.insert(0, ("raise_update", f"{key} + 1", _raised))
            for operator, after, value in values:
                changed = put((*before, _writing(effect, key, value), *behind))
                yield operator, f"{name}.{key}", f"{key} {when}", f"{after} {when}", changed, (key,)


def _writing(effect: Effect, key: str, value: _Value) -> Effect:
    def apply(state: State) -> Mapping[str, Any] | None:
        written = effect.apply(state)
        return {**written, key: value(written[key])} if written and key in written else written

    return Effect(effect.name, apply, reads=effect.reads, writes=effect.writes)


def _raised(value: Any) -> Any:
    return value + 1 if type(value) is int else value
