"""Scenarios that close the gaps of coverage: they pass, they close them, and they are few."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from branched_models import conflicting, looping_branch, mapped, racing, supervised, voting, with_subgraph
from graphs import idle, misspelt, retrying, unreachable_guard
from hypothesis import HealthCheck, given, settings
from random_forks import forked_terms, model_of
from random_sequences import sequential_models

from diagnosis.catalog import diagnosis_model
from diagnosis.runtime import END, START, Condition, Decision, Model, Replace, Rule, StateGraph
from diagnosis.scenarios import Scenario, run_scenario, scenario_text
from diagnosis.verify import FURTHER, KINDS, CoverageError, explore, measure, scenario_for, shortest_scenarios, suggest
from diagnosis.verify.coverage import candidates
from diagnosis.verify.coverage.cover import cover, maximal


def closed_by_runs(model, suggestion, coverage, space):
    """Measure what the suggested scenarios cover when they are run anew."""
    results = [run_scenario(scenario, model) for scenario in suggestion.scenarios]
    assert all(result.passed for result in results)
    return coverage | measure(model, [result.run for result in results], space=space, kinds=FURTHER)


@pytest.mark.parametrize(
    "model",
    [
        voting(2, read=True),
        racing("fast"),
        supervised(),
        mapped(1, 2),
        with_subgraph(),
        looping_branch(2),
        looping_branch(),
        conflicting(),
        retrying(2),
        misspelt(),
    ],
    ids=lambda model: model.name,
)
def test_the_suggested_scenarios_pass_and_close_every_gap(model):
    space = explore(model)
    coverage = measure(model, [], space=space, kinds=FURTHER)
    suggestion = suggest(coverage, coverage.kinds)
    assert suggestion.left == ()
    assert suggestion.coverage.complete
    assert closed_by_runs(model, suggestion, coverage, space).complete
    assert len(suggestion.scenarios) >= suggestion.at_least >= 1
    assert all(each.title.startswith(("Closes ", "Shows one side of ")) for each in suggestion.scenarios)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(forked_terms())
def test_on_random_graphs_the_suggested_scenarios_close_every_gap(terms):
    model = model_of(terms)
    space = explore(model, max_states=2_000)
    if not space.complete:
        return
    coverage = measure(model, [], space=space, kinds=FURTHER)
    suggestion = suggest(coverage, coverage.kinds)
    assert suggestion.left == ()
    assert closed_by_runs(model, suggestion, coverage, space).complete


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(sequential_models())
def test_on_random_graphs_without_branches_feasible_items_and_suggestions_are_right(model):
    space = explore(model)
    every = [
        measure(model, [run_scenario(scenario_for(model, script, name="s", title=""), model).run], space=space)
        for script in space.scripts()
    ]
    runs = [run_scenario(scenario_for(model, s, name="s", title=""), model).run for s in space.scripts()]
    whole = measure(model, runs, space=space, kinds=FURTHER)
    assert all(item.covered == item.feasible for item in whole.items)
    coverage = measure(model, [], space=space, kinds=FURTHER)
    suggestion = suggest(coverage, coverage.kinds)
    assert closed_by_runs(model, suggestion, coverage, space).complete
    # As few as any choice among all scripts has.
    for kind in ("edge", "outcome"):
        wanted = {item.name for item in whole.of(kind) if item.feasible}
        shown = {frozenset(each.standing(kind, "covered")) for each in every}
        few = suggest(coverage, [kind])
        assert few.minimal
        size = len(few.scenarios)
        assert size == 1 or size > 4 or not any(set().union(*each) >= wanted for each in combinations(shown, size - 1))


@pytest.mark.parametrize(
    "model", [voting(2, read=True), supervised(), looping_branch(2), retrying(2)], ids=lambda model: model.name
)
def test_a_set_that_is_called_minimal_is_the_smallest_of_all_scripts(model):
    space = explore(model)
    coverage = measure(model, [], space=space)
    suggestion = suggest(coverage)
    assert suggestion.minimal
    needed = {(item.kind, item.name) for item in coverage.items if item.feasible and item.kind != "mcdc"}
    shown = []
    for script in space.scripts():
        run = run_scenario(scenario_for(model, script, name="s", title=""), model).run
        one = measure(model, [run], space=space)
        shown.append({(item.kind, item.name) for item in one.items if item.covered} & needed)
    without = suggest(coverage, [kind for kind in KINDS if kind != "mcdc"])
    smallest = next(
        size for size in range(1, 9) if any(set().union(*each) == needed for each in combinations(shown, size))
    )
    assert len(without.scenarios) == without.at_least == smallest


def test_the_known_suites_of_the_contract_graph_are_minimal():
    model = diagnosis_model()
    space = explore(model)
    found = {}
    for kind in ("node", "edge", "edge_pair", "outcome", "outcome_edge", "mcdc", "decisive"):
        coverage = measure(model, [], space=space, kinds=[kind])
        suggestion = suggest(coverage, [kind])
        assert suggestion.minimal, kind
        assert suggestion.coverage.missing(kind) == ()
        found[kind] = (len(suggestion.scenarios), sum(len(each.expect.path) for each in suggestion.scenarios))
    assert found == {
        "node": (1, 13),
        "edge": (6, 37),
        "edge_pair": (11, 76),
        "outcome": (19, 102),
        "outcome_edge": (25, 134),
        "mcdc": (12, 68),
        "decisive": (13, 74),
    }


def test_only_what_is_missing_is_closed():
    model = retrying(1)
    run = run_scenario(Scenario.parse({"name": "s", "graph": "retrying", "script": {"fetch": ["fine"]}}), model).run
    suggestion = suggest(measure(model, [run]))
    assert [scenario.expect.path for scenario in suggestion.scenarios] == [("fetch", "fetch", "give_up")]
    assert suggestion.minimal
    assert suggest(suggestion.coverage).scenarios == ()
    assert suggest(suggestion.coverage).summary == "no scenario is needed"


def test_names_and_titles_say_what_is_closed_and_no_name_is_taken_twice():
    model = retrying(1)
    coverage = measure(model, [])
    (scenario,) = suggest(coverage, ["node"]).scenarios
    assert (scenario.name, scenario.title) == ("closes_node_fetch", "Closes node fetch, node give_up")
    again = suggest(coverage, ["node"], taken=["closes_node_fetch"])
    assert again.scenarios[0].name == "closes_node_fetch_2"


def test_two_scenarios_for_one_condition_are_both_kept_and_say_so():
    graph = StateGraph({"x": Replace()}, name="asked").add_node("ask", idle).add_edge(START, "ask")
    rules = [Rule("end", "YES", Condition("fine", lambda s: s["x"] == 1, "x")), Rule("end", "NO")]
    graph.add_conditional_edges("ask", Decision(rules), {"end": END})
    model = Model("asked", graph.compile(), {"ask": {"good": {"x": 1}, "bad": {"x": 0}}})
    suggestion = suggest(measure(model, []), ["mcdc"])
    assert [scenario.title for scenario in suggestion.scenarios] == [
        "Shows one side of mcdc ask.YES.fine",
        "Closes mcdc ask.YES.fine",
    ]
    assert suggestion.scenarios[0].name == "shows_one_side_of_mcdc_ask_YES_fine"
    assert suggestion.coverage.missing("mcdc") == ()
    assert suggestion.summary == "2 scenarios close 1 gap: proven minimal"
    assert "shows_one_side_of_mcdc_ask_YES_fine: Shows one side of mcdc ask.YES.fine" in suggestion.text()


def test_what_a_title_has_no_room_for_is_told_below_it():
    (scenario, *_) = suggest(measure(diagnosis_model(), [])).scenarios
    assert scenario.title.endswith(" more")
    assert len(scenario.title) < 200
    assert "condition planner.PLAN_READY.completed=T" in scenario.why


def test_every_suggested_scenario_can_be_written_to_a_file():
    for scenario in suggest(measure(diagnosis_model(), [])).scenarios:
        assert scenario.name in scenario_text(scenario)


def test_a_kind_that_was_not_measured_cannot_be_closed():
    with pytest.raises(CoverageError, match="'masking' was not measured"):
        suggest(measure(retrying(), []), ["masking"])


def test_the_shortest_scenario_is_given_for_each_missing_item():
    model = retrying(1)
    coverage = measure(model, [])
    found = shortest_scenarios(coverage, coverage.items)
    assert [scenario.expect.path for scenario in found["node", "give_up"]] == [("fetch", "fetch", "give_up")]
    assert [scenario.expect.outcomes for scenario in found["mcdc", "fetch.FETCHED.fine"]] == [("COMPLETED",) * 2]
    for (kind, name), scenarios in found.items():
        runs = [run_scenario(scenario, model).run for scenario in scenarios]
        assert name in measure(model, runs).standing(kind, "covered"), (kind, name)


def test_a_shortest_scenario_of_the_contract_graph_is_as_short_as_any_script():
    model = diagnosis_model()
    space = explore(model)
    coverage = measure(model, [], space=space)
    items = [item for item in coverage.items if item.kind == "rule"]
    shortest = {name: len(each[0].expect.path) for (_, name), each in shortest_scenarios(coverage, items).items()}
    lengths = {}
    for edge in space.transitions:
        name = f"{space.node(edge.source)}.{edge.choice.rule}"
        if edge.choice.rule:
            lengths[name] = min(lengths.get(name, 99), space.through(edge))
    assert shortest == lengths


def test_gaps_that_exploration_did_not_reach_are_left_open_and_said_to_be():
    model = unreachable_guard()
    coverage = measure(model, [], space=explore(model, max_states=30))
    suggestion = suggest(coverage)
    assert "rule router.TOO_MANY" in coverage.undecided
    assert "left open: rule router.TOO_MANY" in suggestion.text()


def test_a_run_that_never_ends_closes_gaps_up_to_its_limit():
    model = unreachable_guard(recursion_limit=120)
    space = explore(model, max_states=2_000)
    coverage = measure(model, [], space=space)
    suggestion = suggest(coverage)
    assert [scenario.expect.error is not None for scenario in suggestion.scenarios] == [True]
    assert suggestion.coverage.standing("node", "missing") == ()
    assert {item.standing for item in suggestion.left} == {"undecided"}
    assert run_scenario(suggestion.scenarios[0], model).passed
    shortest = shortest_scenarios(coverage, [item for item in coverage.items if item.name == "note"])
    assert run_scenario(shortest["node", "note"][0], model).passed


def test_where_not_every_script_is_gone_through_the_bound_is_still_proven(monkeypatch):
    model = diagnosis_model()
    coverage = measure(model, [], kinds=["outcome_edge"])
    exact = suggest(coverage, ["outcome_edge", "mcdc"])
    monkeypatch.setattr(candidates, "MAX_MASKS", 10)
    greedy = suggest(coverage, ["outcome_edge", "mcdc"])
    assert greedy.left == ()
    assert greedy.at_least <= len(exact.scenarios) <= len(greedy.scenarios) <= 2 * len(exact.scenarios)
    if not greedy.minimal:
        assert "% above the proven minimum of" in greedy.summary


def test_a_cover_is_the_smallest_there_is_where_its_bound_says_so():
    chance = random.Random(7)
    proven = 0
    for _ in range(150):
        size = chance.randint(1, 9)
        sets = [chance.getrandbits(size) for _ in range(chance.randint(1, 9))]
        wanted = 0
        for each in sets:
            wanted |= each
        found = cover(sets, wanted)
        smallest = next(
            count
            for count in range(len(sets) + 1)
            if any(_union(chosen) == wanted for chosen in combinations(sets, count))
        )
        assert _union(sets[place] for place in found.chosen) == wanted
        assert found.bound <= smallest <= len(found.chosen)
        proven += found.bound == len(found.chosen)
    assert proven == 150


def _union(sets):
    found = 0
    for each in sets:
        found |= each
    return found


def test_of_sets_that_are_in_others_only_the_others_are_kept():
    assert maximal([0b001, 0b011, 0b110, 0b011, 0b100, 0]) == [0b011, 0b110]
    assert maximal([0]) == [0]
