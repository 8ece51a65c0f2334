"""Every row of the guard tables and every update of the wrapper matters: without it, a shipped scenario fails.

A mutant is the declared graph with one small change. It is killed when a shipped scenario notices: an expectation no
longer holds, or a key that only the wrapper writes has another value somewhere in the run (no expectation sees
``planner_mode``). A mutant that the checks at compile time refuse is killed as well, and counted apart.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from diagnosis.catalog import diagnosis_model
from diagnosis.runtime import (
    END,
    START,
    CompiledGraph,
    CompileError,
    Condition,
    Conditional,
    Decision,
    Definition,
    Edge,
    Effect,
    Node,
    Rule,
    Run,
)
from diagnosis.scenarios import Case, load, run_case, run_scenario

SHIPPED = Path(__file__).parents[1] / "data" / "scenarios"
MODEL = diagnosis_model()
GRAPH = MODEL.graph.definition


@dataclass(frozen=True)
class Mutant:
    """One small change of the declared graph."""

    name: str
    definition: Definition

    def __str__(self) -> str:
        return self.name


def with_rules(conditional: Conditional, rules: list[Rule]) -> Definition:
    # A route that no rule gives any more goes as well; else the checks, and not a scenario, would notice the mutant.
    targets = {
        route: target for route, target in conditional.targets.items() if route in {rule.route for rule in rules}
    }
    changed = replace(conditional, decision=Decision(rules), targets=targets)
    return replace(GRAPH, conditionals=tuple(changed if each is conditional else each for each in GRAPH.conditionals))


def with_rule(conditional: Conditional, rule: Rule, new: Rule) -> Definition:
    assert isinstance(conditional.decision, Decision)
    return with_rules(conditional, [new if each is rule else each for each in conditional.decision.rules])


def rows() -> Iterator[tuple[Conditional, Rule]]:
    for conditional in GRAPH.conditionals:
        assert isinstance(conditional.decision, Decision)
        for rule in conditional.decision.rules:
            yield conditional, rule


def dropped_rules() -> Iterator[Mutant]:
    for conditional, rule in rows():
        assert isinstance(conditional.decision, Decision)
        rest = [each for each in conditional.decision.rules if each is not rule]
        yield Mutant(f"{conditional.source}.{rule.name} dropped", with_rules(conditional, rest))


def rerouted_rules() -> Iterator[Mutant]:
    for conditional, rule in rows():
        for route in conditional.targets:
            if route != rule.route:
                new = replace(rule, route=route, name=rule.name)
                yield Mutant(f"{conditional.source}.{rule.name} leads to {route}", with_rule(conditional, rule, new))


def renamed_reasons() -> Iterator[Mutant]:
    for conditional, rule in rows():
        new = replace(rule, reason="ANOTHER_REASON", name=rule.name)
        yield Mutant(f"{conditional.source}.{rule.name} has another reason", with_rule(conditional, rule, new))


def changed_conditions() -> Iterator[Mutant]:
    """Each condition of each rule: gone (always true), always false, and the other way round."""
    for conditional, rule in rows():
        for condition in rule.when:
            rest = [each for each in rule.when if each is not condition]
            where = f"{conditional.source}.{rule.name}.{condition.name}"
            yield Mutant(f"{where} dropped", with_rule(conditional, rule, replace(rule, when=tuple(rest))))
            for how, test in (("never", lambda state: False), ("negated", negated(condition))):
                other = Condition(condition.name, test, condition.reads)
                new = tuple(other if each is condition else each for each in rule.when)
                yield Mutant(f"{where} {how}", with_rule(conditional, rule, replace(rule, when=new)))


def negated(condition: Condition) -> Callable[[Any], bool]:
    return lambda state: not condition.test(state)


def retargeted_edges() -> Iterator[Mutant]:
    """Each fixed edge leads to every other place, and each fixed reason that a trace shows is another one."""
    for edge in GRAPH.edges:
        for target in (*GRAPH.names, END):
            if target != edge.target:
                yield Mutant(f"{edge.source} -> {target} instead of {edge.target}", with_edge(edge, target=target))
        if edge.source != START:
            other = with_edge(edge, reason="ANOTHER_REASON")
            yield Mutant(f"{edge.source} -> {edge.target} has another reason", other)


def with_edge(edge: Edge, **changes: Any) -> Definition:
    return replace(GRAPH, edges=tuple(replace(each, **changes) if each is edge else each for each in GRAPH.edges))


def with_effects(node: Node, change: Callable[[Effect], tuple[Effect, ...]]) -> Definition:
    entry = tuple(new for effect in node.entry for new in change(effect))
    leave = tuple(new for effect in node.exit for new in change(effect))
    changed = replace(node, entry=entry, exit=leave)
    return replace(GRAPH, nodes=tuple(changed if each is node else each for each in GRAPH.nodes))


def changed_effects() -> Iterator[Mutant]:
    """Each update of the wrapper: gone, and writing another value than it should."""
    for node in GRAPH.nodes:
        for effect in node.effects:
            where = f"{node.name}, {effect.name}"
            yield Mutant(
                f"{where} dropped", with_effects(node, lambda each, gone=effect: () if each is gone else (each,))
            )
            if effect.writes:
                other = Effect(effect.name, another_value(effect), reads=effect.reads, writes=effect.writes)
                yield Mutant(
                    f"{where} writes another value",
                    with_effects(node, lambda each, old=effect, new=other: (new if each is old else each,)),
                )


def another_value(effect: Effect) -> Callable[[Any], dict[str, Any]]:
    def apply(state: Any) -> dict[str, Any]:
        written = effect.apply(state) or {}
        return {key: value + 1 if isinstance(value, int) else "SOMETHING_ELSE" for key, value in written.items()}

    return apply


def uncounted_nodes() -> Iterator[Mutant]:
    """Each node that counts its attempts, or reads its outcome from the state, stops doing so."""
    for node in GRAPH.nodes:
        changes: list[tuple[str, dict[str, Any]]] = []
        changes += [("attempts not counted", {"attempt": None})] if node.attempt else []
        changes += [("outcome not read", {"outcome": None})] if node.outcome else []
        for how, change in changes:
            new = replace(node, **change)
            nodes = tuple(new if each is node else each for each in GRAPH.nodes)
            yield Mutant(f"{node.name}: {how}", replace(GRAPH, nodes=nodes))


FAMILIES = {
    family.__name__: list(family())
    for family in (
        dropped_rules,
        rerouted_rules,
        renamed_reasons,
        changed_conditions,
        retargeted_edges,
        changed_effects,
        uncounted_nodes,
    )
}

WRAPPER_KEYS = sorted({key for node in GRAPH.nodes for effect in node.effects for key in effect.writes})


def wrapper_states(run: Run) -> list[tuple[Any, ...]]:
    """What the keys that the wrapper writes hold after each node execution."""
    return [tuple(state[key] for key in WRAPPER_KEYS) for state in run.states]


SUITE = load(SHIPPED, {MODEL.name: MODEL})
UNCHANGED = {case.scenario.name: wrapper_states(run_case(case).run) for case in SUITE.cases}


def by_length(case: Case) -> int:
    return sum(len(items) for items in case.scenario.script.values())


ORDERED = sorted(SUITE.cases, key=by_length, reverse=True)


REFUSED = "refused at compile time"
STATE_DIFFERS = "a key of the wrapper differs"


def killer(mutant: Mutant) -> str | None:
    """Say what notices a mutant: the scenario and its first mismatch, or ``None`` where it survives."""
    try:
        graph = CompiledGraph(mutant.definition, recursion_limit=MODEL.graph.recursion_limit)
    except CompileError as error:
        return f"{REFUSED}: {error}"
    model = replace(MODEL, graph=graph)
    different = None
    for case in ORDERED:
        result = run_scenario(case.scenario, model)
        if not result.passed:
            return f"{result.name}: {result.mismatches[0]}"
        if wrapper_states(result.run) != UNCHANGED[result.name]:
            different = f"{result.name}: {STATE_DIFFERS}"
    return different


@pytest.fixture(scope="module")
def killers() -> dict[str, dict[str, str | None]]:
    """Family -> mutant -> what noticed it."""
    return {family: {each.name: killer(each) for each in mutants} for family, mutants in FAMILIES.items()}


def test_the_unchanged_graph_passes_every_shipped_scenario() -> None:
    assert SUITE.refused == ()
    assert [result.text() for result in map(run_case, SUITE.cases) if not result.passed] == []


@pytest.mark.parametrize("family", FAMILIES)
def test_every_mutant_is_killed(family: str, killers: dict[str, dict[str, str | None]]) -> None:
    assert [name for name, found in killers[family].items() if found is None] == []


def test_the_tables_are_mutated_in_full() -> None:
    assert {family: len(mutants) for family, mutants in FAMILIES.items()} == {
        "dropped_rules": 26,
        "rerouted_rules": 54,
        "renamed_reasons": 26,
        "changed_conditions": 84,
        "retargeted_edges": 35,
        "changed_effects": 23,
        "uncounted_nodes": 8,
    }


def test_so_many_mutants_are_refused_before_any_scenario_runs(killers: dict[str, dict[str, str | None]]) -> None:
    """A change that cuts a node off does not compile: that is a kill too, but not one that a scenario can boast of."""
    refused = {
        family: sum(str(text).startswith(REFUSED) for text in found.values()) for family, found in killers.items()
    }
    assert refused == {
        "dropped_rules": 4,
        "rerouted_rules": 7,
        "renamed_reasons": 0,
        "changed_conditions": 16,
        "retargeted_edges": 13,
        "changed_effects": 0,
        "uncounted_nodes": 0,
    }


def test_only_the_wrappers_own_keys_tell_these_mutants_apart(killers: dict[str, dict[str, str | None]]) -> None:
    by_state = [name for found in killers.values() for name, text in found.items() if str(text).endswith(STATE_DIFFERS)]
    assert by_state == [
        "composer, drop_unfinished_answer dropped",
        "composer, drop_unfinished_answer writes another value",
        "evidence_retry, plan_the_gap_only dropped",
        "evidence_retry, plan_the_gap_only writes another value",
    ]
