"""The shipped scenarios notice every change of the Chat Diagnosis graph that can be noticed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from diagnosis.catalog import diagnosis_model
from diagnosis.mutation import MutationReport, States, difference, mutate
from diagnosis.scenarios import case_of, load, play, run_scenario, scenario_text

MODEL = diagnosis_model()
MODELS = {MODEL.name: MODEL}
SUITE = load(Path(__file__).parents[2] / "data" / "scenarios", MODELS)


@pytest.fixture(scope="module")
def report() -> MutationReport:
    return mutate(MODEL, SUITE)


def test_every_mutant_that_can_be_told_from_the_graph_is_killed(report):
    assert [each.text() for each in report.survivors] == []
    assert report.score == 1
    assert dict(report.counts) == {
        "assertion": 413,
        "bound": 0,
        "crash": 5,
        "equivalent": 46,
        "survived": 0,
        "invalid": 68,
    }


def test_the_graph_is_changed_in_full(report):
    assert {operator: sum(count.values()) for operator, count in report.by_operator.items()} == {
        "drop_rule": 26,
        "swap_rules": 21,
        "reroute_rule": 54,
        "swap_reason": 29,
        "default_as_rule": 9,
        "drop_condition": 12,
        "condition_true": 16,
        "condition_false": 28,
        "negate_condition": 28,
        "flip_value": 108,
        "raise_limit": 4,
        "lower_limit": 4,
        "swap_target": 112,
        "swap_edge": 31,
        "drop_update": 12,
        "swap_updates": 3,
        "raise_update": 6,
        "null_update": 11,
        "keep_report": 8,
        "drop_attempt": 3,
        "drop_outcome": 5,
        "recursion_limit": 2,
    }


def test_only_a_decision_without_its_last_rule_can_do_nothing_but_crash(report):
    assert [(each.mutant.operator, each.mutant.place) for each in report.of("crash")] == [
        ("drop_rule", "planner.PLANNER_STATUS_UNKNOWN"),
        ("drop_rule", "executor.EXECUTOR_STATUS_UNKNOWN"),
        ("drop_rule", "gatekeeper.GATEKEEPER_STATUS_UNKNOWN"),
        ("drop_rule", "verifier.VERDICT_UNKNOWN"),
        ("drop_rule", "composer.COMPOSER_STATUS_UNKNOWN"),
    ]


def test_neighbours_that_exclude_each_other_may_change_places(report):
    swapped = [each.mutant.place for each in report.of("equivalent") if each.mutant.operator == "swap_rules"]
    assert swapped == [
        "planner.PLAN_READY",
        "planner.PLANNER_RETRY_EXHAUSTED",
        "executor.EVIDENCE_COLLECTED",
        "gatekeeper.GATEKEEPER_REJECTED",
        "verifier.VERIFIER_RETRY_EXHAUSTED",
        "verifier.VERIFIER_STATUS_UNKNOWN",
        "verifier.VERDICT_PASS",
        "verifier.VERDICT_LOW_CONFID",
        "composer.ANSWER_COMPOSED",
        "composer.COMPOSER_RETRY_EXHAUSTED",
    ]


def test_a_value_that_an_earlier_rule_takes_away_may_be_flipped(report):
    flips = [each.mutant for each in report.of("equivalent") if each.mutant.operator == "flip_value"]
    assert len(flips) == 22
    assert [each.after for each in flips if each.place == "planner.PLANNER_FAILED.failed"] == [
        "failed is true for planner_status=COMPLETED",
        "failed is true for planner_status=INVALID_OUTPUT",
        "failed is true for planner_status=RETRYABLE_FAILED",
    ]


WEAKER = {
    "planner_never_comes_through": {("flip_value", "planner.PLANNER_RETRY_EXHAUSTED.retryable")},
    "the_second_search_fails": {("keep_report", "executor")},
}
"""Scenario -> what survives without it."""


@pytest.mark.parametrize("name", WEAKER)
def test_without_a_scenario_just_what_only_it_noticed_survives(name):
    weaker = [case for case in SUITE.cases if case.scenario.name != name]
    assert len(weaker) == len(SUITE.cases) - 1
    report = mutate(MODEL, weaker)
    assert {(each.mutant.operator, each.mutant.place) for each in report.survivors} == WEAKER[name]
    for each in report.survivors:
        assert run_scenario(each.killer, MODEL).passed
        assert scenario_text(each.killer).startswith("name: kills_")
        case = case_of(each.killer, MODELS)
        run, other = play(case)[0], play(replace(case, model=each.mutant.applied(MODEL)))[0]
        assert difference(run, other, States(MODEL.graph.definition)).how == "assertion"
