"""Odds give exact expectations, which two other ways of counting agree with."""

from __future__ import annotations

from fractions import Fraction

import pytest
from branched_models import racing, voting
from graphs import retrying

from diagnosis import (
    END,
    START,
    Condition,
    Decision,
    Model,
    Odds,
    OddsError,
    Replace,
    Rule,
    StateGraph,
    diagnosis_model,
    draw,
    ending_odds_table,
    executions_table,
    explore,
    outcome_odds,
    sensitivity_table,
    vary_table,
)
from diagnosis.verify import EndingChance
from diagnosis.views.overlay import TIMES

LIKELY = {
    "planner": {"COMPLETED": 0.9, "INVALID_OUTPUT": 0.05, "RETRYABLE_FAILED": 0.03, "FAILED": 0.01, "UNKNOWN": 0.01},
    "executor": {"COMPLETED": 19, "FAILED": 1},
    "gatekeeper": {"PASS/1": "2/3", "LOW_CONFID/1": "1/6", "REJECT/0": "1/6"},
    "verifier": {"LOW_CONFID/gap": 0.5, "PASS/no_gap": 0.3, "RETRYABLE_FAILED": 0.2},
    "composer": {"COMPLETED": 0.8, "RETRYABLE_FAILED": 0.2},
}


def over_all_scripts(model, space, odds):
    """Sum over every script what it adds, on the model's own runs of it: no control states, no equations."""
    executions, calls, endings, total = Fraction(0), Fraction(0), {}, Fraction(0)
    for script in space.scripts():
        share = Fraction(1)
        for node, outcome in script:
            share *= odds.outcomes[node][outcome]
        total += share
        executions += share * len(script)
        calls += share * sum(node in odds.callers for node, _ in script)
        endings[script[-1][0]] = endings.get(script[-1][0], Fraction(0)) + share
    assert total == 1
    return executions, calls, endings


@pytest.fixture(scope="module")
def contract_space():
    return explore(diagnosis_model())


@pytest.mark.parametrize("given", [None, LIKELY])
def test_the_contract_graph_agrees_with_the_sum_over_its_10_903_scripts(given, contract_space):
    model = diagnosis_model()
    odds = Odds.of(model, given)
    chances = outcome_odds(model, odds, space=contract_space)
    executions, calls, endings = over_all_scripts(model, contract_space, odds)
    assert chances.expected_executions == executions
    assert chances.expected_calls == calls
    found = {}
    for end, share in chances.endings.items():
        found[end.final_node] = found.get(end.final_node, Fraction(0)) + share
    assert found == endings


def test_uniform_odds_of_the_contract_graph_have_known_figures(contract_space):
    chances = outcome_odds(diagnosis_model(), space=contract_space)
    assert round(float(chances.expected_executions), 4) == 2.8360
    assert round(float(chances.expected_calls), 4) == 1.7203
    assert chances.odds.assumed == ("planner", "executor", "gatekeeper", "verifier", "composer")
    assert sum(chances.endings.values()) == 1
    assert len(chances.endings) == 17


def test_a_small_graph_agrees_with_a_count_by_hand():
    chances = outcome_odds(voting(2, read=True), {"left": {"v0": "1/3", "v1": "2/3"}, "right": {"v0": 1}})
    assert chances.endings == {
        EndingChance("join", "SPLIT"): Fraction(2, 3),
        EndingChance("join", "AGREED"): Fraction(1, 3),
    }
    assert chances.executions == {"plan": 1, "left": 1, "right": 1, "join": 1}


def test_slopes_are_those_of_computing_anew(contract_space):
    chances = outcome_odds(diagnosis_model(), LIKELY, space=contract_space)
    step = Fraction(1, 10**9)
    for node, outcomes in (("planner", ["FAILED", "UNKNOWN"]), ("verifier", ["RETRYABLE_FAILED"])):
        here = chances.odds.share(node, outcomes)
        (_, up), (_, down) = chances.vary(node, outcomes, [here + step, here - step])
        slopes = {slope.quantity: slope.slope for slope in chances.slopes(node, outcomes)}
        near = (up.expected_executions - down.expected_executions) / (2 * step)
        assert abs(float(slopes["executions"] - near)) < 1e-12
        near = (up.expected_calls - down.expected_calls) / (2 * step)
        assert abs(float(slopes["model calls"] - near)) < 1e-12
        for end in chances.endings:
            assert abs(float(slopes[end] - (up.endings[end] - down.endings[end]) / (2 * step))) < 1e-12
        assert sum(slopes[end] for end in chances.endings) == 0


def tossing(share_of_more) -> tuple[Model, dict]:
    """A loop that is left with a given probability, and counts nothing."""
    graph = StateGraph({"more": Replace()}, name="tossing")
    graph.add_node("toss", lambda state: {}, owns=["more"], kind="agent")
    graph.add_edge(START, "toss")
    rules = Decision([Rule("again", "MORE", Condition("more", lambda s: s["more"], "more")), Rule("end", "ENOUGH")])
    graph.add_conditional_edges("toss", rules, {"again": "toss", "end": END})
    model = Model("tossing", graph.compile(), {"toss": {"more": {"more": True}, "enough": {"more": False}}})
    return model, {"toss": {"more": share_of_more, "enough": 1 - share_of_more}}


@pytest.mark.parametrize("more", [Fraction(0), Fraction(1, 2), Fraction(9, 10)])
def test_a_loop_without_a_bound_is_solved_exactly(more):
    model, given = tossing(more)
    chances = outcome_odds(model, given)
    assert chances.expected_executions == chances.expected_calls == 1 / (1 - more)
    assert chances.endings == {EndingChance("toss", "ENOUGH"): 1}
    slope = chances.slopes("toss", ["more"])[0]
    assert slope.slope == 1 / (1 - more) ** 2


def test_a_loop_that_is_never_left_is_refused():
    model, given = tossing(Fraction(1))
    with pytest.raises(OddsError, match="goes on for ever"):
        outcome_odds(model, given)


def test_a_retry_agrees_with_brute_force():
    model = retrying(3)
    space = explore(model)
    odds = Odds.of(model)
    executions, _, endings = over_all_scripts(model, space, odds)
    chances = outcome_odds(model, odds, space=space)
    assert chances.expected_executions == executions
    assert sum(chances.endings.values()) == sum(endings.values()) == 1


def test_who_wins_is_uniform_unless_it_is_declared():
    model = racing()
    uniform = outcome_odds(model)
    assert "winner of plan" in uniform.odds.assumed
    assert uniform.executions["fast"] == uniform.executions["slow"] == Fraction(1, 3)
    declared = outcome_odds(model, Odds.of(model, winners={"plan": {"fast": 0.9, "slow": 0.1}}))
    assert (declared.executions["fast"], declared.executions["slow"]) == (Fraction(9, 10), Fraction(1, 10))
    assert declared.executions["slower"] == Fraction(1, 10)
    assert declared.executions["late"] == 0


def test_an_error_of_a_run_is_an_ending():
    chances = outcome_odds(racing("fast", "slow", "late"))
    assert any(end.reason == "(error)" for end in chances.endings)
    assert sum(chances.endings.values()) == 1


@pytest.mark.parametrize(
    ("outcomes", "told"),
    [
        ({"nobody": {}}, "'nobody'"),
        ({"planner": {"NEVER": 1}}, "'NEVER'"),
        ({"planner": {"COMPLETED": 0.9}}, "a sum of 9/10"),
        ({"planner": {"COMPLETED": -1, "FAILED": 2}}, "found -1"),
        ({"planner": {"COMPLETED": True}}, "found True"),
        ({"planner": {"COMPLETED": "1e999999999"}}, "1e999999999"),
        ({"planner": {"COMPLETED": float("nan")}}, "found nan"),
        ({"planner": {"COMPLETED": "1/0"}}, "1/0"),
        ({"planner": {"COMPLETED": 0}}, "a sum of 0"),
        ({"planner": ["COMPLETED"]}, "found list"),
    ],
)
def test_what_is_no_probability_is_refused(outcomes, told):
    with pytest.raises(OddsError) as caught:
        Odds.of(diagnosis_model(), outcomes)
    assert told in str(caught.value)
    assert "allowed" in str(caught.value)


def test_all_outcomes_cannot_give_way_to_themselves(contract_space):
    chances = outcome_odds(diagnosis_model(), space=contract_space)
    with pytest.raises(OddsError, match="but not all"):
        chances.slopes("executor", ["COMPLETED", "FAILED", "UNKNOWN"])


def test_a_search_that_met_its_budget_gives_no_odds():
    with pytest.raises(OddsError, match="need every control state"):
        outcome_odds(diagnosis_model(), max_states=10)


def test_tables_are_tidy_and_exact(contract_space):
    chances = outcome_odds(diagnosis_model(), LIKELY, space=contract_space)
    executions = executions_table(chances)
    assert list(executions.columns) == ["node", "calls_model", "expected", "exact"]
    assert sum(map(Fraction, executions.exact)) == chances.expected_executions
    endings = ending_odds_table(chances)
    assert sum(map(Fraction, endings.exact)) == 1
    assert list(endings.probability) == sorted(endings.probability, reverse=True)
    grid = vary_table(chances, "planner", ["FAILED"], [Fraction(0), Fraction(1)])
    assert list(grid[grid.quantity == "executions"].value)[1] == 2.0
    assert set(grid.columns) == {"node", "outcomes", "share", "quantity", "value", "exact"}


def test_sensitivities_have_a_row_an_outcome_and_quantity():
    model, given = tossing(Fraction(1, 2))
    table = sensitivity_table(outcome_odds(model, given))
    assert list(table.quantity) == ["executions", "model calls", "P(ENOUGH at toss)"] * 2
    assert list(table.slope) == [4.0, 4.0, 0.0, -4.0, -4.0, 0.0]


def test_the_picture_shows_probabilities_on_its_edges():
    model, given = tossing(Fraction(3, 4))
    dot = draw(model, chances=outcome_odds(model, given)).dot
    assert f"4{TIMES} a run" in dot
    assert "p = 0.75" in dot
    assert "p = 0.25" in dot
    assert "penwidth=4.00" in dot
    assert "penwidth=2.00" in dot
