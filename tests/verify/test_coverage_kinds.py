"""What is counted, what of it no run can show, and how each finer kind is told apart."""

from __future__ import annotations

from itertools import product

import pytest
from branched_models import conflicting, looping_branch, mapped, racing, supervised, voting, with_subgraph
from graphs import idle, retrying, unreachable_guard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_forks import forked_terms, model_of

from diagnosis.catalog import diagnosis_model
from diagnosis.runtime import END, START, Condition, Decision, Model, Replace, Rule, StateGraph
from diagnosis.scenarios import Scenario, load, run_scenario, run_suite
from diagnosis.verify import FURTHER, KINDS, CoverageError, StateSpace, explore, measure, scenario_for

TOTALS = {"node": 8, "route": 14, "edge": 18, "reason": 28, "rule": 26, "outcome": 36, "condition": 56, "mcdc": 28}
FURTHER_TOTALS = {"edge_pair": 31, "outcome_edge": 43, "transition": 1517, "masking": 28, "decisive": 28}


def runs_of(model, *scripts):
    scenarios = [{"name": f"s{i}", "graph": model.name, "script": script} for i, script in enumerate(scripts)]
    return [run_scenario(Scenario.parse(each), model).run for each in scenarios]


def every_run(model, space):
    return [run_scenario(scenario_for(model, script, name="s", title=""), model).run for script in space.scripts()]


@pytest.fixture(scope="module")
def contract():
    model = diagnosis_model()
    return measure(model, [], kinds=FURTHER)


def test_the_contract_graph_has_the_known_totals_of_every_kind(contract):
    assert contract.kinds == (*KINDS, *FURTHER)
    assert {kind: contract.counts(kind) for kind in contract.kinds} == {
        kind: (0, total) for kind, total in (TOTALS | FURTHER_TOTALS).items()
    }


def test_no_node_of_the_contract_graph_is_retried_twice_and_that_is_proven(contract):
    assert contract.standing("edge_pair", "infeasible") == (
        "planner->planner->planner",
        "verifier->verifier->verifier",
        "composer->composer->composer",
    )


def test_an_outcome_that_leads_along_no_edge_is_proven_to(contract):
    infeasible = contract.standing("outcome_edge", "infeasible")
    assert len(infeasible) == 60
    assert "gatekeeper.REJECT/1->verified_input" in infeasible
    assert "planner.RETRYABLE_FAILED->fallback" in contract.missing("outcome_edge")


def test_transitions_have_names_of_their_own_that_tell_the_state(contract):
    names = [item.name for item in contract.of("transition")]
    assert len(set(names)) == 1517
    assert not any("#" in name for name in names)
    assert names[0] == "planner.COMPLETED"
    assert "planner{planner_status=INVALID_OUTPUT}.FAILED" in names


def test_further_kinds_come_behind_the_others_and_only_where_they_are_asked_for():
    model = racing("fast")
    assert list(measure(model, []).to_json()) == [*KINDS, "winner"]
    asked = measure(model, [], kinds=["decisive", "edge_pair", "mcdc"])
    assert list(asked.to_json()) == [*KINDS, "winner", "edge_pair", "decisive"]


def test_an_unknown_kind_is_refused_with_those_there_are():
    with pytest.raises(CoverageError, match="no coverage of kind 'branch'; kinds are 'node', 'route'"):
        measure(retrying(), [], kinds=["branch"])


def half():
    """A node of four that nothing leads to, and an outcome that always fails."""
    graph = StateGraph(["x"], name="half").add_edge(START, "a")
    for name in ("a", "b", "c", "lost"):
        graph.add_node(name, idle)
    graph.add_conditional_edges("a", lambda s: s["x"], {"b": "b", "c": "c", "lost": "lost"}, reads=["x"])
    for name in ("b", "c", "lost"):
        graph.add_edge(name, END)
    outcomes = {"b": {"x": "b"}, "c": {"x": "c"}, "bad": {"x": "nowhere"}}
    return Model("half", graph.compile(), {"a": outcomes, "b": {"ok": {}}, "c": {"ok": {}}, "lost": {"ok": {}}})


def test_what_no_script_reaches_is_listed_as_proven_infeasible_and_is_in_no_total():
    coverage = measure(half(), runs_of(half(), {"a": ["b"]}, {"a": ["c"]}))
    assert coverage.counts("node") == (3, 3)
    assert coverage.standing("node", "infeasible") == ("lost",)
    assert coverage.standing("outcome", "infeasible") == ("a.bad", "lost.ok")
    assert "node         3 of   3  proven infeasible: lost" in coverage.text()
    assert coverage.to_json()["node"] == {"covered": 3, "total": 3, "missing": [], "infeasible": ["lost"]}
    assert coverage.to_json()["mcdc"] == {"covered": 0, "total": 0, "missing": []}


def test_what_exploration_did_not_get_to_is_not_decided_and_not_called_infeasible():
    model = unreachable_guard()
    coverage = measure(model, [], space=StateSpace(model, max_depth=1))
    assert coverage.infeasible == ()
    assert coverage.counts("node") == (0, 4)
    assert coverage.standing("node", "missing") == ("router",)
    assert coverage.standing("node", "undecided") == ("work", "review", "note")
    assert "missing: router  not decided: work, review, note" in coverage.text()
    document = coverage.to_json()["node"]
    assert document["missing"] == ["router", "work", "review", "note"]
    assert document["undecided"] == ["work", "review", "note"]


def test_what_a_run_showed_is_decided_whatever_exploration_found():
    model = half()
    coverage = measure(model, runs_of(model, {"a": ["b"]}), space=explore(model, max_states=1))
    assert "b" not in coverage.standing("node", "undecided")
    assert coverage.hits("node")["b"] == 1


def deciding(tests, values, name="deciding"):
    """One decision of one rule, whose conditions are functions of one value."""
    graph = StateGraph({"x": Replace()}, name=name).add_node("ask", idle).add_edge(START, "ask")
    when = tuple(Condition(label, lambda s, test=test: test(s["x"]), "x") for label, test in tests.items())
    rules = Decision([Rule("yes", "YES", when), Rule("no", "NO")])
    graph.add_conditional_edges("ask", rules, {"yes": END, "no": END})
    return Model(name, graph.compile(), {"ask": {f"v{value}": {"x": value} for value in values}})


def test_masking_is_feasible_where_one_condition_takes_another_with_it():
    """Whoever is excellent has passed: that it has not passed is never seen beside excellent."""
    model = deciding({"passed": lambda x: x > 0, "excellent": lambda x: x > 1}, (0, 1, 2))
    coverage = measure(model, runs_of(model, *({"ask": [f"v{v}"]} for v in (0, 1, 2))), kinds=["masking"])
    assert coverage.standing("mcdc", "infeasible") == ("ask.YES.passed",)
    assert coverage.standing("mcdc", "covered") == ("ask.YES.excellent",)
    assert coverage.standing("masking", "covered") == ("ask.YES.passed", "ask.YES.excellent")


def test_masking_does_not_show_a_condition_that_was_not_looked_at():
    model = deciding({"excellent": lambda x: x > 1, "passed": lambda x: x > 0}, (0, 1, 2))
    coverage = measure(model, [], kinds=["masking"])
    assert coverage.standing("masking", "infeasible") == ("ask.YES.passed",)
    assert coverage.standing("mcdc", "infeasible") == ("ask.YES.passed",)


def test_decisive_mcdc_asks_for_a_run_in_which_the_rule_decided():
    graph = StateGraph({"x": Replace()}, name="ordered").add_node("ask", idle).add_edge(START, "ask")
    big = Condition("big", lambda s: s["x"] > 1, "x")
    some = Condition("some", lambda s: s["x"] > 0, "x")
    rules = Decision([Rule("end", "FIRST", some), Rule("end", "SECOND", big), Rule("end", "NO")])
    graph.add_conditional_edges("ask", rules, {"end": END})
    model = Model("ordered", graph.compile(), {"ask": {f"v{value}": {"x": value} for value in (0, 1, 2)}})
    coverage = measure(model, runs_of(model, {"ask": ["v0"]}, {"ask": ["v2"]}), kinds=["decisive"])
    assert coverage.missing("mcdc") == ()
    assert coverage.counts("mcdc") == (2, 2)
    assert coverage.standing("decisive", "infeasible") == ("ask.SECOND.big",)
    assert coverage.counts("decisive") == (1, 1)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*[st.booleans()] * 3), min_size=1, max_size=8, unique=True))
def test_each_form_of_mcdc_is_what_its_definition_says_of_the_vectors_that_can_be(vectors):
    names = ("a", "b", "c")
    tests = {name: (lambda x, place=place: vectors[x][place]) for place, name in enumerate(names)}
    model = deciding(tests, range(len(vectors)))
    coverage = measure(model, [], kinds=["masking", "decisive"])
    unique, masking = [], []
    for place, name in enumerate(names):
        pairs = [(t, f) for t, f in product(vectors, vectors) if all(t) and not f[place]]
        if any(t[:place] + t[place + 1 :] == f[:place] + f[place + 1 :] for t, f in pairs):
            unique.append(f"ask.YES.{name}")
        if any(t[:place] == f[:place] for t, f in pairs):
            masking.append(f"ask.YES.{name}")
    assert list(coverage.missing("mcdc")) == list(coverage.missing("decisive")) == unique
    assert list(coverage.missing("masking")) == masking


@pytest.mark.parametrize(
    "model",
    [
        voting(2, read=True),
        racing("fast"),
        racing("fast", "slow", "late"),
        supervised(),
        mapped(1, 2),
        with_subgraph(),
        looping_branch(2),
        conflicting(),
        half(),
    ],
    ids=lambda model: model.name,
)
def test_every_script_run_for_real_covers_what_is_feasible_and_nothing_else(model):
    space = explore(model)
    coverage = measure(model, every_run(model, space), space=space, kinds=FURTHER)
    assert coverage.proven
    for item in coverage.items:
        assert item.covered == item.feasible, item


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(forked_terms())
def test_on_random_graphs_every_script_covers_what_is_feasible_and_nothing_else(terms):
    model = model_of(terms)
    space = explore(model, max_states=5_000)
    if space.counts is None or space.counts[0][0] > 300:
        return
    coverage = measure(model, every_run(model, space), space=space, kinds=FURTHER)
    for item in coverage.items:
        assert item.covered == item.feasible, item


def test_an_outcome_that_is_a_function_is_known_by_what_it_reports():
    model = with_subgraph()
    coverage = measure(model, runs_of(model, {"child-fetch": ["failed", "ok"]}))
    assert coverage.hits("outcome")["child-fetch.failed"] == 1
    assert coverage.outside == ()


def test_outcomes_that_report_the_same_are_covered_together():
    graph = StateGraph(["x"], name="same").add_node("a", idle).add_edge(START, "a").add_edge("a", END).compile()
    model = Model("same", graph, {"a": {"one": {"x": 1}, "uno": {"x": 1}, "two": {"x": 2}}})
    coverage = measure(model, runs_of(model, {"a": ["one"]}))
    assert coverage.hits("outcome") == {"a.one": 1, "a.uno": 1, "a.two": 0}


def test_a_run_of_another_graph_is_refused():
    with pytest.raises(CoverageError, match=r"a run of graph 'retrying' .* says nothing of model 'half'"):
        measure(half(), runs_of(retrying(), {"fetch": ["fine"]}))


def test_the_shipped_scenarios_meet_the_known_shares(request):
    model = diagnosis_model()
    folder = request.path.parent.parent.parent / "data" / "scenarios"
    runs = [result.run for result in run_suite(load([str(folder)], {"diagnosis": model})).results]
    coverage = measure(model, runs, kinds=FURTHER)
    assert all(coverage.counts(kind) == (total, total) for kind, total in TOTALS.items())
    assert coverage.counts("edge_pair") == (31, 31)
    assert coverage.counts("masking") == coverage.counts("decisive") == (28, 28)
