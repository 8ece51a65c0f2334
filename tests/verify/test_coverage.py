from __future__ import annotations

import pytest
from graphs import misspelt, retrying, unreachable_guard

from diagnosis.catalog import diagnosis_model
from diagnosis.runtime import END, START, Model, StateGraph
from diagnosis.scenarios import Scenario, load, run_scenario, run_suite
from diagnosis.verify import KINDS, explore, measure
from diagnosis.verify.coverage import declared_items

TOTALS = {"node": 8, "route": 14, "edge": 18, "reason": 28, "rule": 26, "outcome": 36, "condition": 56, "mcdc": 28}


def runs_of(model, *scripts):
    return [
        run_scenario(Scenario.parse({"name": f"s{i}", "graph": model.name, "script": script}), model).run
        for i, script in enumerate(scripts)
    ]


def test_the_contract_graph_has_the_known_totals():
    coverage = measure(diagnosis_model(), [])
    assert {kind: coverage.counts(kind) for kind in KINDS} == {kind: (0, total) for kind, total in TOTALS.items()}
    assert coverage.proven
    assert coverage.infeasible == ()


def test_nothing_is_covered_by_no_run():
    coverage = measure(diagnosis_model(), [])
    assert not coverage.complete
    assert coverage.missing("node") == tuple(diagnosis_model().graph.definition.names)


def test_the_happy_path_covers_what_it_shows_and_no_more():
    model = diagnosis_model()
    script = {
        "planner": ["COMPLETED"],
        "executor": ["COMPLETED"],
        "gatekeeper": ["PASS"],
        "verifier": [{"verdict": "PASS"}],
        "composer": ["COMPLETED"],
    }
    coverage = measure(model, runs_of(model, script))
    assert coverage.missing("node") == ("evidence_retry", "fallback")
    assert coverage.counts("route") == (5, 14)
    assert coverage.counts("edge") == (7, 18)
    assert coverage.counts("rule") == (5, 26)
    assert coverage.hits("outcome")["verifier.PASS/no_gap"] == 1
    assert coverage.hits("condition")["planner.PLAN_READY.completed=T"] == 1
    assert coverage.hits("condition")["planner.PLANNER_RETRY.retryable=F"] == 1
    assert coverage.hits("condition")["planner.PLANNER_RETRY.retryable=T"] == 0
    assert coverage.counts("mcdc")[0] == 0


def test_mcdc_needs_the_pair_in_which_one_condition_alone_decides():
    model = retrying(1)
    only_true = measure(model, runs_of(model, {"fetch": ["fine"]}))
    assert only_true.missing("mcdc") == ("fetch.FETCHED.fine", "fetch.RETRY.tries_left")
    both = measure(model, runs_of(model, {"fetch": ["failed", "fine"]}))
    assert both.missing("mcdc") == ()


def test_items_that_no_run_can_show_are_in_no_total():
    graph = StateGraph(["x"], name="half").add_node("a", lambda s: {}).add_edge(START, "a")
    graph.add_conditional_edges("a", lambda s: "left", {"left": END, "right": END}, reads=["x"])
    model = Model("half", graph.compile(), {"a": {"ok": {}}})
    coverage = measure(model, runs_of(model, {}))
    assert coverage.counts("route") == (1, 1)
    assert coverage.infeasible == ("route a.right", "reason right")
    assert coverage.complete


def test_without_a_complete_exploration_every_declared_item_counts():
    model = unreachable_guard()
    coverage = measure(model, [], space=explore(model, max_states=50))
    assert not coverage.proven
    assert coverage.counts("rule") == (0, 3)
    assert "still in the totals" in coverage.text()


def test_a_condition_that_raises_covers_neither_true_nor_false():
    """C05: an error is an error to coverage, never false."""
    model = misspelt()
    coverage = measure(model, runs_of(model, {"ask": ["fine"]}))
    hits = coverage.hits("condition")
    assert hits["ask.OK.fine=T"] == 1
    assert hits["ask.ODD.odd=T"] == hits["ask.ODD.odd=F"] == 0
    assert len(coverage.errors) == 1
    assert coverage.errors[0].startswith("ask.ODD.odd: ")


def test_a_failed_run_counts_up_to_where_it_failed():
    model = diagnosis_model()
    coverage = measure(model, runs_of(model, {"planner": ["COMPLETED"], "executor": [{"raises": "boom"}]}))
    assert coverage.counts("node")[0] == 2
    assert coverage.counts("rule")[0] == 1


def test_reports_outside_the_alphabet_are_named():
    model = retrying(1)
    coverage = measure(model, runs_of(model, {"fetch": [{"update": {"status": "weird"}}, "fine"]}))
    assert coverage.outside == ("fetch {'status': 'weird'}",)


def test_any_unknown_status_is_the_unknown_outcome():
    model = diagnosis_model()
    coverage = measure(model, runs_of(model, {"planner": ["completed"]}, {"planner": [{"update": {}}]}))
    assert coverage.hits("outcome")["planner.UNKNOWN"] == 2
    assert coverage.outside == ()


@pytest.fixture(scope="module")
def vectors(request):
    model = diagnosis_model()
    folder = request.path.parent.parent / "data" / "vectors"
    return measure(model, [r.run for r in run_suite(load([str(folder)], {"diagnosis": model})).results])


def test_coverage_is_the_same_whatever_the_order_of_runs(vectors):
    model = diagnosis_model()
    script = {"planner": ["FAILED"]}, {"planner": ["RETRYABLE_FAILED", "FAILED"]}
    assert measure(model, runs_of(model, *script)).items == measure(model, runs_of(model, *reversed(script))).items


def test_the_json_has_the_kinds_in_order(vectors):
    document = vectors.to_json()
    assert list(document) == list(KINDS)
    assert document["rule"] == {"covered": 26, "total": 26, "missing": []}
    assert document["mcdc"]["missing"] == ["verifier.EVIDENCE_GAP.evidence_gap"]


def test_the_text_names_what_is_missing(vectors):
    assert "missing: verifier.EVIDENCE_GAP.evidence_gap" in vectors.text()
    assert vectors.below(100) == ("outcome", "mcdc")
    assert vectors.percent("mcdc") == pytest.approx(100 * 27 / 28)


def test_declared_items_follow_the_declaration():
    items = declared_items(diagnosis_model())
    assert items["edge"][:4] == ["__START__->planner", "planner->executor", "planner->planner", "planner->fallback"]
    assert items["route"][0] == "planner.executor"
    assert items["condition"][2:4] == ["planner.PLANNER_RETRY.retryable=T", "planner.PLANNER_RETRY.retryable=F"]
