"""Each property of the graph holds, and turns false where the tables carry the fault that it is there to find."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from diagnosis.catalog import diagnosis_model
from diagnosis.contract import PROPERTIES
from diagnosis.runtime import (
    Choice,
    CompiledGraph,
    Condition,
    Decision,
    Definition,
    Edge,
    Effect,
    Model,
    Move,
    Node,
    Rule,
)
from diagnosis.scenarios import run_scenario
from diagnosis.state import read
from diagnosis.verify import Proof, prove

MODEL = diagnosis_model()
GRAPH = MODEL.graph.definition


def with_rules(source: str, change: Callable[[tuple[Rule, ...]], list[Rule]], **targets: str) -> Definition:
    """The graph with other rules at one node, and other targets for some of its route keys."""
    conditionals = []
    for conditional in GRAPH.conditionals:
        if conditional.source == source:
            assert isinstance(conditional.decision, Decision)
            conditional = replace(
                conditional,
                decision=Decision(change(conditional.decision.rules)),
                targets={**conditional.targets, **targets},
            )
        conditionals.append(conditional)
    return replace(GRAPH, conditionals=tuple(conditionals))


def with_rule(source: str, name: str, **changes: Any) -> Definition:
    return with_rules(source, lambda rules: [replace(r, **changes) if r.name == name else r for r in rules])


def rerouted(source: str, name: str, route: str, **targets: str) -> Definition:
    return with_rules(
        source, lambda rules: [replace(r, route=route) if r.name == name else r for r in rules], **targets
    )


def without_condition(source: str, rule: str, condition: str) -> Definition:
    def change(rules: tuple[Rule, ...]) -> list[Rule]:
        return [
            replace(each, when=tuple(c for c in each.when if c.name != condition)) if each.name == rule else each
            for each in rules
        ]

    return with_rules(source, change)


def limit_of_two(source: str, rule: str, counter: str) -> Definition:
    """A retry more than is allowed."""
    below = Condition("below_2", lambda state: bool(read(state, counter) < 2), counter)

    def change(rules: tuple[Rule, ...]) -> list[Rule]:
        return [
            replace(each, when=(*(c for c in each.when if counter not in c.reads), below))
            if each.name == rule
            else each
            for each in rules
        ]

    return with_rules(source, change)


def never(source: str, rule: str) -> Definition:
    no = Condition("never", lambda state: False, ())
    return with_rules(
        source, lambda rules: [replace(each, when=(*each.when, no)) if each.name == rule else each for each in rules]
    )


def with_node(name: str, **changes: Any) -> Definition:
    return replace(GRAPH, nodes=tuple(replace(each, **changes) if each.name == name else each for each in GRAPH.nodes))


def without_effect(node: str, effect: str) -> Definition:
    found: Node = GRAPH.node(node)
    return with_node(
        node,
        entry=tuple(each for each in found.entry if each.name != effect),
        exit=tuple(each for each in found.exit if each.name != effect),
    )


def with_edge(source: str, target: str) -> Definition:
    edges = tuple(Edge(source, target, each.reason) if each.source == source else each for each in GRAPH.edges)
    return replace(GRAPH, edges=edges)


def wiping(node: str, key: str) -> Definition:
    wipe = Effect("wipe", lambda state: {key: None}, writes=key)
    return with_node(node, exit=(wipe,))


def raising(source: str) -> Definition:
    def test(state: Mapping[str, Any]) -> bool:
        raise ValueError("broken")

    bad = Rule("fallback", "BAD", (Condition("bad", test, ()),))
    return with_rules(source, lambda rules: [bad, *rules])


FAULTS: list[tuple[str, Definition]] = [
    ("every_run_ends", without_effect("planner", "count_planner_retry")),
    ("every_run_ends", without_effect("verifier", "count_verifier_retry")),
    ("every_run_ends", without_effect("composer", "count_composer_retry")),
    ("every_run_ends", without_effect("evidence_retry", "count_evidence_retry")),
    ("every_run_ends", with_edge("fallback", "planner")),
    ("at_most_18_executions", without_effect("planner", "count_planner_retry")),
    ("at_most_18_executions", limit_of_two("composer", "COMPOSER_RETRY", "composer_retry_count")),
    ("at_most_18_executions", never("verifier", "EVIDENCE_GAP")),
    ("at_most_18_executions", without_effect("verified_input", "reset_verifier_retries")),
    ("at_most_18_executions", without_effect("evidence_retry", "reset_planner_retries")),
    ("planner_retry_count_at_most_1", limit_of_two("planner", "PLANNER_RETRY", "planner_retry_count")),
    ("planner_retry_count_at_most_1", without_condition("planner", "PLANNER_RETRY", "retry_count_below_1")),
    ("verifier_retry_count_at_most_1", limit_of_two("verifier", "VERIFIER_RETRY", "verifier_retry_count")),
    ("composer_retry_count_at_most_1", limit_of_two("composer", "COMPOSER_RETRY", "composer_retry_count")),
    ("evidence_is_retried_at_most_once", limit_of_two("verifier", "EVIDENCE_GAP", "evidence_retry_count")),
    ("executor_runs_once_a_round", rerouted("verifier", "VERIFIER_RETRY", "retry_verifier", retry_verifier="executor")),
    ("executor_runs_once_a_round", rerouted("executor", "EXECUTOR_FAILED", "again", again="executor")),
    ("fallback_is_last", with_edge("fallback", "planner")),
    ("fallback_is_last", with_edge("fallback", "composer")),
    ("an_answer_is_judged", without_effect("verifier", "lower_to_ceiling")),
    ("an_answer_is_judged", rerouted("verifier", "VERDICT_REJECTED", "composer")),
    ("an_answer_is_judged", rerouted("verifier", "VERDICT_UNKNOWN", "composer")),
    ("an_answer_is_judged", rerouted("verifier", "VERIFIER_FAILED", "composer")),
    ("an_answer_is_judged", rerouted("gatekeeper", "NO_TRUSTED_BINDINGS", "verified_input")),
    ("an_answer_is_judged", without_condition("gatekeeper", "EVIDENCE_TRUSTED", "has_trusted_binding")),
    ("unknown_falls_back", rerouted("planner", "PLANNER_STATUS_UNKNOWN", "executor")),
    ("unknown_falls_back", rerouted("executor", "EXECUTOR_STATUS_UNKNOWN", "gatekeeper")),
    ("unknown_falls_back", rerouted("gatekeeper", "GATEKEEPER_STATUS_UNKNOWN", "verified_input")),
    ("unknown_falls_back", rerouted("verifier", "VERIFIER_STATUS_UNKNOWN", "composer")),
    ("unknown_falls_back", rerouted("verifier", "VERDICT_UNKNOWN", "composer")),
    ("unknown_falls_back", rerouted("composer", "COMPOSER_STATUS_UNKNOWN", "end")),
    ("fallback_answers", wiping("fallback", "final_answer")),
    ("an_answer_is_composed", never("composer", "ANSWER_COMPOSED")),
    ("an_answer_is_composed", without_effect("gatekeeper", "derive_ceiling")),
    ("an_answer_is_composed", never("gatekeeper", "EVIDENCE_TRUSTED")),
    ("a_gap_is_closed", never("verifier", "EVIDENCE_GAP")),
    ("a_gap_is_closed", without_effect("evidence_retry", "count_evidence_retry")),
    ("no_error", raising("planner")),
]


@cache
def proof_of_the_graph() -> Proof:
    return prove(MODEL)


def variant(definition: Definition) -> Model:
    return replace(MODEL, graph=CompiledGraph(definition, recursion_limit=MODEL.graph.recursion_limit))


def verdicts(proof: Proof) -> dict[str, bool | None]:
    return {verdict.claim.name: verdict.holds for verdict in proof.verdicts}


def test_every_property_of_the_graph_holds() -> None:
    assert verdicts(proof_of_the_graph()) == dict.fromkeys(verdicts(proof_of_the_graph()), True)
    assert proof_of_the_graph().counted.endswith("10903 complete scripts of 2 to 18 node executions")


def test_these_are_the_properties() -> None:
    assert [claim.name for claim in PROPERTIES] == [
        "every_run_ends",
        "at_most_18_executions",
        "planner_retry_count_at_most_1",
        "verifier_retry_count_at_most_1",
        "composer_retry_count_at_most_1",
        "evidence_is_retried_at_most_once",
        "executor_runs_once_a_round",
        "fallback_is_last",
        "an_answer_is_judged",
        "unknown_falls_back",
        "fallback_answers",
        "an_answer_is_composed",
        "a_gap_is_closed",
    ]


def test_each_property_has_a_fault_that_it_finds() -> None:
    assert {claim.name for claim in PROPERTIES} <= {name for name, _ in FAULTS}


@pytest.mark.parametrize(("name", "definition"), FAULTS, ids=[f"{i}-{name}" for i, (name, _) in enumerate(FAULTS)])
def test_a_property_turns_false_under_its_fault(name: str, definition: Definition) -> None:
    model = variant(definition)
    proof = prove(model, max_states=5_000)
    assert verdicts(proof)[name] is False
    verdict = next(each for each in proof.verdicts if each.claim.name == name)
    scenario = proof.counterexample(verdict)
    if verdict.claim.kind == "sometimes" or verdict.script is None:
        assert scenario is None
    else:
        assert scenario is not None
        assert run_scenario(scenario, model).passed


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        (conditional.source, rule.name)
        for conditional in GRAPH.conditionals
        if isinstance(conditional.decision, Decision)
        for rule in conditional.decision.rules
    ],
)
def test_a_rule_that_no_run_takes_is_told(source: str, rule: str) -> None:
    proof = prove(variant(never(source, rule)), max_states=5_000)
    assert verdicts(proof)[f"rule_taken:{source}.{rule}"] is False


def test_only_the_second_property_tells_that_a_round_is_cut_short() -> None:
    """Without the reset nothing bad can happen, but a run that the contract allows is gone."""
    proof = prove(variant(without_effect("evidence_retry", "reset_planner_retries")))
    assert [name for name, holds in verdicts(proof).items() if not holds] == ["at_most_18_executions"]


def a_move(node: str, target: str, **state: Any) -> Move:
    return Move(node, "?", 1, state, {}, state, Choice(node, target, None, None, "R"))


def claim(name: str) -> Callable[[Move], bool]:
    found = next(each for each in PROPERTIES if each.name == name)
    return lambda move: found.holds(move, None)


@pytest.mark.parametrize(
    ("verdict", "ceiling", "bindings", "judged"),
    [
        ("PASS", "PASS", [{"trusted": True}], True),
        ("LOW_CONFID", "PASS", [{"trusted": True}], True),
        ("LOW_CONFID", "LOW_CONFID", [{"trusted": True}], True),
        ("PASS", "LOW_CONFID", [{"trusted": True}], False),
        ("REJECT", "PASS", [{"trusted": True}], False),
        (None, "PASS", [{"trusted": True}], False),
        ("PASS", None, [{"trusted": True}], False),
        ("PASS", "PASS", [{"trusted": False}], False),
        ("PASS", "PASS", None, False),
    ],
)
def test_an_answer_is_judged_by_verdict_ceiling_and_bindings(
    verdict: Any, ceiling: Any, bindings: Any, judged: bool
) -> None:
    state = {"effective_verdict": verdict, "verifier_verdict_ceiling": ceiling, "checked_bindings": bindings}
    assert claim("an_answer_is_judged")(a_move("composer", "__END__", **state)) is judged
    assert claim("an_answer_is_judged")(a_move("composer", "composer", **state)) is True
    assert claim("an_answer_is_judged")(a_move("fallback", "__END__", **state)) is True


def test_an_unknown_report_must_lead_to_the_fallback() -> None:
    unknown_falls_back = claim("unknown_falls_back")
    for node in ("planner", "executor", "gatekeeper", "verifier", "composer"):
        assert unknown_falls_back(a_move(node, "fallback", **{f"{node}_status": None})) is True
        assert unknown_falls_back(a_move(node, "executor", **{f"{node}_status": "?"})) is False
    known = {"verifier_status": "COMPLETED", "effective_verdict": "PASS"}
    assert unknown_falls_back(a_move("verifier", "composer", **known)) is True
    assert unknown_falls_back(a_move("verifier", "composer", **{**known, "effective_verdict": "pass"})) is False
    assert unknown_falls_back(a_move("verified_input", "verifier")) is True
