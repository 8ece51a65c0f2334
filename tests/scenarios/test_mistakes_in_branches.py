"""A mistake in a script stops the run, also in a branch that may lose its race; an agent that fails merely loses."""

from __future__ import annotations

from typing import Any

import pytest
from branched import boxed, crowd, race, races

from diagnosis.runtime import ActionError, JoinError, Model
from diagnosis.scenarios import OutOfOutcomesError, Scenario, ScenarioResult, StrayKeyError, run_scenario
from diagnosis.verify import explore, measure

FAILS = {"raises": "no network"}


def run(model: Model, script: Any, **more: Any) -> ScenarioResult:
    return run_scenario(Scenario.parse({"name": "a", "graph": model.name, "script": script, **more}), model)


def test_a_branch_that_is_out_of_outcomes_stops_the_run_although_another_could_win() -> None:
    result = run(race(), {"fast": [], "slow": ["done"], "review": ["done"]})
    error = result.run.error
    assert isinstance(error, ActionError)
    assert isinstance(error.__cause__, OutOfOutcomesError)
    assert (error.node, error.branch, result.run.stop) == ("fast", "fast[0]", "error")
    assert str(error) == (
        "node 'fast', attempt 1, raised OutOfOutcomesError: node 'fast' in branch 'fast[0]' is out of outcomes at call "
        "1: its script has no outcome; add one for this call"
    )
    assert not result.passed
    later = run(race(), {"fast": [FAILS], "slow": ["done"], "review": []})
    assert "node 'review' in branch 'slow[1]' is out of outcomes at call 1" in str(later.error)
    assert run(race(), {"fast": [FAILS], "slow": ["done"], "review": ["done"]}).passed


@pytest.mark.parametrize(("winner", "passes"), [("fast[0]", True), ("slow[1]", False)])
def test_a_winner_that_is_out_of_outcomes_stops_the_run(winner: str, passes: bool) -> None:
    result = run(race(), {"fast": ["done"]}, winners={"ask": [winner]})
    assert result.passed is passes
    assert ("node 'slow' in branch 'slow[1]' is out of outcomes" in str(result.error)) is not passes


def test_being_out_of_outcomes_goes_through_every_fork_around_it() -> None:
    script = {"fast": [FAILS], "left": [FAILS], "right": ["done"]}
    assert run(races(), script).passed
    for key, branch in (("left", "left[1][0]"), ("right", "right[1][1]")):
        error = run(races(), {**script, key: []}).run.error
        assert error is not None
        assert isinstance(error.__cause__, OutOfOutcomesError)
        assert (error.branch, error.__cause__.branch) == (branch, branch)
    inner = run(races(), {**script, "left": []}, winners={"ask": ["split[1]"], "split[1]": ["left[1][0]"]})
    assert "node 'left' in branch 'left[1][0]' is out of outcomes" in str(inner.error)
    outer = {"fast": ["done"], "left": [], "right": []}
    assert run(races(), outer, winners={"ask": ["fast[0]"]}).passed


def test_what_lost_before_the_mistake_is_told_nowhere_and_nobody_has_won() -> None:
    model = race(first="slow")
    late = run(model, {"slow": ["done"], "review": [FAILS], "fast": []})
    assert isinstance(late.run.error.__cause__ if late.run.error else None, OutOfOutcomesError)
    assert late.path == ("ask",)
    assert measure(model, [late.run]).counts("winner")[0] == 0
    reviewed = run(race(), {"fast": [FAILS], "slow": ["done"], "review": []})
    assert (reviewed.path, reviewed.run.failed_at) == (("ask", "slow"), "review")


def test_it_may_be_expected() -> None:
    expect = {"error": "out of outcomes", "path": ["ask"]}
    assert run(race(), {"fast": [], "slow": [], "review": []}, expect=expect).passed


@pytest.mark.parametrize(
    "item",
    [{"update": {"anwser": "x"}}, {"update": {"log": [], "anwser": "x"}}],
)
def test_an_update_of_a_key_that_there_is_not_stops_the_run(item: Any) -> None:
    result = run(race(), {"fast": [item], "slow": ["done"], "review": ["done"]})
    assert isinstance(result.run.error.__cause__ if result.run.error else None, StrayKeyError)
    assert str(result.error).endswith(
        "raised StrayKeyError: node 'fast' wrote 'anwser', which the graph does not declare; its keys are 'log', "
        "'answer'"
    )


def test_a_function_of_the_alphabet_that_raises_says_that_the_agent_may_fail() -> None:
    result = run(races(), {"fast": [FAILS], "left": ["silly"], "right": ["done"]})
    assert result.run.ended
    assert not [edge.error for edge in explore(races()).transitions if edge.error]


def test_a_report_that_the_graph_refuses_is_a_failure_of_the_agent() -> None:
    result = run(race(), {"fast": [{"update": {"log": 5}}], "slow": ["done"], "review": ["done"]})
    assert result.passed
    assert result.path == ("ask", "slow", "review", "tell")


def test_a_branch_that_cannot_win_stops_the_run_in_whatever_fork() -> None:
    model = crowd("any_of")
    result = run(model, {"boss": ["one"]}, winners={"boss": ["worker[1]"]})
    assert isinstance(result.run.error, JoinError)


STRAIGHT = {"boss": [{"goto": ["worker", "sum"]}], "worker": ["done"], "check": ["done"]}


def test_a_winner_of_a_fork_that_closes_as_it_opens_is_used() -> None:
    """The second branch leads straight to the join, so that nothing of the first one is executed."""
    model = crowd("any_of")
    script = {"boss": STRAIGHT["boss"]}
    assert run(model, script).passed
    result = run(model, script, winners={"boss": ["sum[1]"]})
    assert result.passed, result.text()
    assert result.path == ("boss", "sum")
    assert result.run.unused_winners == {}
    left = run(model, script, winners={"boss": ["sum[1]", "worker[0]"]})
    assert left.run.unused_winners == {"boss": ("worker[0]",)}


def test_a_winner_beside_a_branch_that_leads_straight_to_the_join_is_refused() -> None:
    result = run(crowd("any_of"), STRAIGHT, winners={"boss": ["worker[0]"]})
    assert isinstance(result.run.error, JoinError)
    assert str(result.error) == (
        "the fork at 'boss' is to be won by 'worker[0]', but 'sum[1]' leads straight to the join, and wins; name that "
        "one, or none"
    )


@pytest.mark.parametrize(("key", "there"), [("res", "child.res"), ("found", "answer")])
def test_an_update_in_a_subgraph_needs_the_outer_name_of_a_key_and_the_error_gives_it(key: str, there: str) -> None:
    model = boxed()
    script = {"child-look": [{"update": {key: "x"}}], "other": ["done"]}
    assert str(run(model, script).error).endswith(
        f"node 'child-look' wrote {key!r}, which the graph does not declare; the {key!r} of the subgraph is called "
        f"{there!r} here: write {there!r}"
    )
    result = run(model, {**script, "child-look": [{"update": {there: "x"}}]}, winners={"ask": ["child-START[0]"]})
    assert (result.run.states[3][there], result.path) == ("x", ("ask", "child-START", "child-look", "child", "tell"))
    assert set(result.run.state) == {"log", "answer", "total"}


def test_a_key_of_a_subgraph_that_is_another_key_around_it_is_told_by_its_outer_name() -> None:
    error = run(boxed(), {"child-look": [{"update": {"total": 1}}]}).error
    assert str(error).endswith(
        "raised StrayKeyError: node 'child-look' wrote 'total', which it does not own; the 'total' of the subgraph is "
        "called 'child.total' here: write 'child.total'"
    )
