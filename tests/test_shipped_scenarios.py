"""The shipped scenarios pass, read well, and together reach all that the Chat Diagnosis graph can do."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from diagnosis.alphabet import ITEMS
from diagnosis.catalog import diagnosis_model
from diagnosis.runtime import END, START, Decision, RuleTruth
from diagnosis.scenarios import Case, ScenarioResult, load, run_case

ROOT = Path(__file__).parents[1] / "data" / "scenarios"
MODEL = diagnosis_model()
GRAPH = MODEL.graph.definition
SUITE = load(ROOT, {MODEL.name: MODEL})
RESULTS = [run_case(case) for case in SUITE.cases]


def case_id(case: Case) -> str:
    return case.scenario.name


def decisions() -> Iterator[tuple[str, tuple[RuleTruth, ...]]]:
    """Every decision of every run: its source, and all conditions of all of its rules."""
    for result in RESULTS:
        for step in result.run.steps:
            yield step.event.node, MODEL.graph.explain(step.event.node, step.after).rows


@pytest.mark.parametrize("result", RESULTS, ids=[result.name for result in RESULTS])
def test_every_shipped_scenario_passes(result: ScenarioResult) -> None:
    assert result.passed, result.text()


def test_nothing_is_refused_and_there_are_as_many_as_a_person_can_read() -> None:
    assert SUITE.refused == ()
    assert len(SUITE.cases) == len(SUITE.files) == 48


@pytest.mark.parametrize("case", SUITE.cases, ids=case_id)
def test_every_file_says_what_it_shows_and_expects_all_of_it(case: Case) -> None:
    scenario = case.scenario
    assert case.file is not None
    assert Path(case.file).stem.split("_", 1) == [Path(case.file).stem[:2], scenario.name]
    assert scenario.title.strip()
    assert scenario.why.strip()
    wanted = {"path", "final_node", "termination_reason", "degraded", "evidence_retry_count", "outcomes", "counters"}
    assert wanted <= scenario.expect.model_fields_set
    assert set(scenario.expect.counters or ()) == set(MODEL.counters)


def test_the_runs_are_as_short_and_as_long_as_any() -> None:
    lengths = [len(result.path) for result in RESULTS if result.run.ended]
    assert (min(lengths), max(lengths)) == (2, 18)


def test_every_node_is_executed() -> None:
    assert {node for result in RESULTS for node in result.path} == set(GRAPH.names)


def test_every_edge_is_taken() -> None:
    taken = set()
    for result in RESULTS:
        if result.path:
            taken.add((START, result.path[0]))
        taken |= {(event.node, event.choice.target) for event in result.run.events}
    assert taken == set(GRAPH.links())
    assert len(taken) == 18


def test_every_route_is_taken() -> None:
    taken = {(event.node, event.choice.route) for result in RESULTS for event in result.run.events}
    declared = {(conditional.source, route) for conditional in GRAPH.conditionals for route in conditional.targets}
    assert declared - taken == set()
    assert len(declared) == 14


def test_every_rule_decides() -> None:
    taken = {(event.node, event.choice.rule) for result in RESULTS for event in result.run.events}
    declared = {
        (conditional.source, rule.name)
        for conditional in GRAPH.conditionals
        if isinstance(conditional.decision, Decision)
        for rule in conditional.decision.rules
    }
    assert declared - taken == set()
    assert len(declared) == 26


def test_every_reason_code_is_given() -> None:
    reasons = {event.reason for result in RESULTS for event in result.run.events}
    assert len(reasons) == 28


def test_every_outcome_of_the_alphabet_is_reported() -> None:
    reported = {
        (step.event.node, MODEL.outcome_of(step.event.node, step.report, step.after))
        for result in RESULTS
        for step in result.run.steps
    }
    alphabet = {(node, outcome) for node, outcomes in ITEMS.items() for outcome in outcomes}
    assert reported == alphabet
    assert len(alphabet) == 36


def test_every_condition_is_true_and_false() -> None:
    seen = set()
    declared = set()
    for source, rows in decisions():
        for row in rows:
            for condition, truth in zip(row.rule.when, row.truths, strict=True):
                seen.add((source, row.rule.name, condition.name, truth))
                declared |= {(source, row.rule.name, condition.name, each) for each in (True, False)}
    assert seen == declared
    assert len(declared) == 56


def test_every_condition_decides_alone_whether_its_rule_holds() -> None:
    """Unique cause: one decision where all conditions hold, and one where this condition alone does not."""
    vectors: dict[tuple[str, str], set[tuple[bool | None, ...]]] = defaultdict(set)
    for source, rows in decisions():
        for row in rows:
            if row.rule.when:
                vectors[source, row.rule.name].add(row.truths)
    shown = [
        (*rule, place)
        for rule, truths in vectors.items()
        for place in range(len(next(iter(truths))))
        if tuple(True for _ in next(iter(truths))) in truths
        and tuple(other != place for other in range(len(next(iter(truths))))) in truths
    ]
    assert len(shown) == 28


def test_runs_that_do_not_end_are_expected_to_fail() -> None:
    stopped = {result.name for result in RESULTS if not result.run.ended}
    assert stopped == {case.scenario.name for case in SUITE.cases if case.scenario.expect.error is not None}
    assert all(result.run.position.node != END for result in RESULTS if not result.run.ended)
