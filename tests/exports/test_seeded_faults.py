"""A fault that is put into the graph is found by SPIN and by the prover, after the same number of node executions."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from exported_models import searching
from spin import needs_spin, spin

from diagnosis import diagnosis_model
from diagnosis.exports import promela
from diagnosis.runtime import CompiledGraph, Condition, sometimes
from diagnosis.state import read
from diagnosis.verify import prove

MODEL = diagnosis_model()
GRAPH = MODEL.graph.definition


def changed(**changes):
    graph = CompiledGraph(replace(GRAPH, **changes), recursion_limit=MODEL.graph.recursion_limit)
    again = sometimes(
        "planner_is_retried_in_the_second_round",
        "The planner is tried again after evidence was found to be missing.",
        lambda move: move.choice.rule == "PLANNER_RETRY" and move.before["evidence_retry_count"] == 1,
        reads="evidence_retry_count",
    )
    return replace(MODEL, graph=graph, properties=(*MODEL.properties, again))


def with_rules(source, change):
    """The graph with other rules at a node."""
    conditionals = [
        replace(each, decision=type(each.decision)(change(rule) for rule in each.decision.rules))
        if each.source == source
        else each
        for each in GRAPH.conditionals
    ]
    return changed(conditionals=tuple(conditionals))


def swapped_target():
    return with_rules(
        "verifier", lambda rule: replace(rule, route="composer") if rule.name == "VERDICT_REJECTED" else rule
    )


def limit_off_by_one():
    below_2 = Condition("retry_count_below_1", lambda s: s["planner_retry_count"] < 2, "planner_retry_count")
    return with_rules(
        "planner", lambda rule: replace(rule, when=(rule.when[0], below_2)) if rule.name == "PLANNER_RETRY" else rule
    )


def unknown_is_completed():
    open_wide = Condition("completed", lambda s: read(s, "planner_status") in ("COMPLETED", None), "planner_status")
    return with_rules("planner", lambda rule: replace(rule, when=(open_wide,)) if rule.name == "PLAN_READY" else rule)


def evidence_sought_twice():
    """What the gatekeeper rejects goes back to the executor within the round."""
    conditionals = [
        replace(each, targets={**each.targets, "fallback": "executor"}) if each.source == "gatekeeper" else each
        for each in GRAPH.conditionals
    ]
    return changed(conditionals=tuple(conditionals))


def dropped_reset():
    nodes = [
        replace(node, exit=tuple(effect for effect in node.exit if effect.name != "reset_planner_retries"))
        for node in GRAPH.nodes
    ]
    return changed(nodes=tuple(nodes))


def found_by_spin(model, name):
    """The node executions of the shortest run that SPIN finds against a property; for a sometimes, that shows it."""
    text = promela(model)
    number = re.search(rf"CLAIM_(\d+) {name}$", text, re.M)[1]
    found = spin(text, f"CLAIM_{number}", compiler=("-DSAFETY", "-DBFS"))
    return None if not found.errors else found.depth + 1


def found_by_the_prover(model, name):
    verdict = next(verdict for verdict in prove(model).verdicts if verdict.claim.name == name)
    length = re.search(r"after (\d+) node execution", verdict.detail)
    return None if length is None else int(length[1])


@needs_spin
@pytest.mark.parametrize(
    ("fault", "name", "length"),
    [
        (swapped_target, "an_answer_is_judged", 6),
        (limit_off_by_one, "planner_retry_count_at_most_1", 3),
        (unknown_is_completed, "unknown_falls_back", 1),
        (evidence_sought_twice, "executor_runs_once_a_round", 4),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_both_find_the_fault_at_the_same_length(fault, name, length):
    assert found_by_spin(changed(), name) is found_by_the_prover(changed(), name) is None
    assert found_by_spin(fault(), name) == found_by_the_prover(fault(), name) == length


@needs_spin
def test_both_find_that_a_dropped_reset_takes_runs_away():
    name = "planner_is_retried_in_the_second_round"
    whole, broken = changed(), dropped_reset()
    assert found_by_spin(whole, name) == found_by_the_prover(whole, name) == 7
    # Of the runs in which the planner was tried again before, the second round has none.
    assert found_by_spin(broken, name) == found_by_the_prover(broken, name) == 7
    assert prove(broken).longest_path == spin(promela(broken), "LENGTHS").longest == 17


@needs_spin
def test_both_find_it_among_branches():
    for name in ("few_tries", "one_search_finds_it"):
        assert found_by_spin(searching(), name) == found_by_the_prover(searching(), name)
    assert found_by_spin(searching(), "one_search_finds_it") == 5


@needs_spin
def test_spin_shows_what_some_run_shows_and_keeps_what_properties_remember():
    assert found_by_spin(MODEL, "a_gap_is_closed") == found_by_the_prover(MODEL, "a_gap_is_closed") == 12
    assert found_by_spin(MODEL, "executor_runs_once_a_round") is None
