from __future__ import annotations

import pytest
from branched_models import drawn, looping_branch, mapped, racing, redirected, supervised, voting, with_subgraph
from graphs import misspelt, retrying, unreachable_guard

from diagnosis.catalog import diagnosis_model
from diagnosis.runtime import END, START, Command, Fork, Model, StateGraph
from diagnosis.scenarios import Scenario, load, run_scenario, run_suite
from diagnosis.verify import KINDS, explore, kinds_of, measure, scenario_for
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


# --- branches and Commands --------------------------------------------------------------------------------------------


def test_every_edge_of_a_fan_out_is_an_item_and_is_covered_when_it_opens():
    model = voting(2)
    items = declared_items(model)
    assert items["edge"][:3] == ["__START__->plan", "plan->left", "plan->right"]
    coverage = measure(model, runs_of(model, {"left": ["v0"], "right": ["v1"]}))
    assert coverage.missing("edge") == coverage.missing("node") == ()
    assert coverage.missing("outcome") == ("left.v1", "right.v0")
    assert coverage.hits("node")["plan"] == coverage.hits("edge")["plan->left"] == 1


def test_a_rule_with_several_routes_is_one_rule_and_one_reason_with_several_routes_and_edges():
    model = supervised(1)
    coverage = measure(model, runs_of(model, {"dig": ["one"]}))
    assert coverage.hits("rule") == {"boss.SEND": 1, "boss.ENOUGH": 1}
    assert coverage.hits("reason")["SEND"] == 1
    assert coverage.hits("route") == {"boss.dig": 1, "boss.scan": 1, "boss.end": 1}
    assert coverage.hits("edge")["boss->scan"] == coverage.hits("edge")["scan->boss"] == 1


def test_a_goto_is_a_route_an_edge_and_a_rule_and_its_reason_is_free_text():
    model = redirected()
    items = declared_items(model)
    assert items["route"] == ["desk.sales", "desk.help", "desk.lawyer"]
    assert items["rule"] == ["desk.goto"]
    assert items["reason"] == ["FIXED"]
    coverage = measure(model, runs_of(model, {"desk": ["helps"]}))
    assert coverage.counts("route") == (1, 2)
    assert coverage.infeasible == ("node lawyer", "route desk.lawyer", "edge desk->lawyer", "edge lawyer->__END__",
                                   "outcome lawyer.ok")  # fmt: skip
    assert coverage.hits("outcome")["desk.helps"] == 1
    assert coverage.hits("rule") == {"desk.goto": 1}


def test_a_reason_that_a_command_brings_covers_no_declared_one():
    graph = StateGraph(["x"], name="same").add_node("desk", lambda s: {}, goto={"a": "a", "b": "b"})
    graph.add_node("a", lambda s: {}).add_node("b", lambda s: {}).add_edge(START, "desk")
    graph.add_edge("a", END, reason="SAME").add_edge("b", END, reason="OTHER")
    outcomes = {"desk": {"a": Command("a", reason="OTHER"), "b": Command("b", reason="SAME")}}
    model = Model("same", graph.compile(), {**outcomes, "a": {"ok": {}}, "b": {"ok": {}}})
    assert measure(model, runs_of(model, {"desk": ["a"]})).missing("reason") == ("OTHER",)


def test_a_router_covers_a_reason_only_where_it_is_one_of_its_keys():
    graph = StateGraph(["x"], name="told").add_node("a", lambda s: {}).add_edge(START, "a")
    graph.add_conditional_edges("a", lambda s: Command("end", reason=s["x"]), {"end": END, "other": END}, reads=["x"])
    model = Model("told", graph.compile(), {"a": {"other": {"x": "other"}, "free": {"x": "free text"}}})
    coverage = measure(model, runs_of(model, {"a": ["other"]}, {"a": ["free"]}))
    assert coverage.hits("reason") == {"end": 0, "other": 1}
    assert coverage.infeasible == ("route a.other", "reason end")


def test_winners_are_counted_where_something_can_win_and_nowhere_else():
    assert kinds_of(voting(1)) == KINDS
    model = racing("fast")
    assert kinds_of(model) == (*KINDS, "winner")
    assert declared_items(model)["winner"] == ["plan->fast", "plan->slow", "plan->late"]
    scenario = {"name": "s", "graph": "racing", "script": {"slow": ["ok"]}, "winners": {"plan": ["slow[1]"]}}
    first = run_scenario(Scenario.parse({"name": "f", "graph": "racing", "script": {"fast": ["ok"]}}), model).run
    second = run_scenario(Scenario.parse(scenario), model).run
    coverage = measure(model, [first, second])
    assert coverage.missing("winner") == ("plan->late",)
    assert coverage.to_json()["winner"] == {"covered": 2, "total": 3, "missing": ["plan->late"]}
    assert "winner" in coverage.text()
    assert list(coverage.to_json()) == [*KINDS, "winner"]


def test_a_winner_that_no_timing_gives_is_in_no_total():
    coverage = measure(racing("fast", max_concurrency=1), [])
    assert coverage.counts("winner") == (0, 2)
    assert "winner plan->late" in coverage.infeasible


def test_a_branch_that_failed_has_not_won_whatever_brackets_are_in_its_name():
    graph = drawn(
        *("START -> plan", "plan -> x[3] y", "x[3] -> z", "z -> join", "y -> join", "join -> END"),
        forks={"plan": Fork(wait="any_of")},
    )
    outcomes = {node: {"ok": {}} for node in ("plan", "x[3]", "y", "z", "join")}
    model = Model("brackets", graph.compile(), outcomes)
    script = {"name": "s", "graph": "brackets", "script": {"z": [{"raises": "boom"}]}, "winners": {"plan": ["x[3][0]"]}}
    run = run_scenario(Scenario.parse(script), model).run
    assert (run.path, run.error.branch, run.error.branch_path) == (("plan", "x[3]"), "x[3][0]", (0,))
    assert measure(model, [run]).hits("winner") == {"plan->x[3]": 0, "plan->y": 0}


def test_what_lost_covers_nothing():
    model = racing("fast")
    lost = run_scenario(Scenario.parse({"name": "s", "graph": "racing", "script": {"fast": ["bad"]}}), model).run
    assert lost.path == ("plan", "slow", "slower", "join")
    coverage = measure(model, [lost])
    assert coverage.hits("winner") == {"plan->fast": 0, "plan->slow": 1, "plan->late": 0}
    assert coverage.hits("node")["fast"] == coverage.hits("outcome")["fast.bad"] == 0
    assert "outcome fast.bad" in coverage.infeasible


def test_a_fork_that_every_branch_fails_has_no_winner():
    model = racing("fast", "slow", "late")
    script = {"fast": ["bad"], "slow": ["bad"], "late": ["bad"]}
    coverage = measure(model, runs_of(model, script))
    assert coverage.counts("winner") == (0, 3)
    assert {node for node, hits in coverage.hits("node").items() if hits} == {"plan", "fast"}


def test_a_fork_that_closed_before_the_run_failed_has_a_winner():
    model = racing()
    scenario = {"name": "s", "graph": "racing", "script": {"join": [{"raises": "boom"}]}}
    run = run_scenario(Scenario.parse(scenario), model).run
    assert run.failed_at == "join"
    assert measure(model, [run]).hits("winner")["plan->fast"] == 1


def test_a_run_that_fails_in_a_branch_counts_the_node_at_which_it_did():
    model = voting(1)
    scenario = {"name": "s", "graph": "voting", "script": {"right": [{"raises": "boom"}]}}
    coverage = measure(model, [run_scenario(Scenario.parse(scenario), model).run])
    assert coverage.missing("node") == ("join",)
    assert coverage.missing("outcome") == ("right.v0", "join.ok")


def test_exploration_finds_feasible_what_replayed_scripts_cover_and_no_more():
    """Every script of some graphs, run for real, covers every feasible item."""
    for model in (voting(2, read=True), racing("fast"), supervised(), mapped(1, 2), with_subgraph(), looping_branch(2)):
        runs = [
            run_scenario(scenario_for(model, script, name=f"s{number}", title=""), model).run
            for number, script in enumerate(explore(model).scripts())
        ]
        coverage = measure(model, runs)
        assert coverage.proven
        for kind in coverage.kinds:
            assert coverage.missing(kind) == (), (model.name, kind)
        assert all(item.hits == 0 for item in coverage.items if not item.feasible)
