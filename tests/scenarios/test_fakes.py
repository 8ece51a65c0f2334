"""Scripted actions report what the script says, call by call, and say so when it has ended."""

import asyncio
import inspect
from typing import Any

import pytest

from diagnosis.runtime import (
    END,
    START,
    ActionError,
    Append,
    Model,
    OwnershipError,
    Remove,
    ReplaceAll,
    RunError,
    StateGraph,
)
from diagnosis.scenarios import Fakes, OutOfOutcomesError, Scenario, Script, ScriptedError, run_scenario


def fakes(model: Model, **script: Any) -> Fakes:
    return Fakes(Script.of(Scenario.parse({"name": "a", "script": script}), model), model)


def run(model: Model, **script: Any) -> RunError | None:
    result = run_scenario(Scenario.parse({"name": "a", "script": script}), model)
    return result.run.error


REACHES_VERIFIED_INPUT = {"planner": ["COMPLETED"], "executor": ["COMPLETED"], "gatekeeper": ["PASS"]}


def test_every_node_gets_an_async_action(model: Model) -> None:
    actions = fakes(model).actions
    assert list(actions) == list(model.graph.definition.names)
    assert all(inspect.iscoroutinefunction(action) for action in actions.values())


def test_a_script_that_runs_out_names_node_and_call(model: Model) -> None:
    error = run(model, planner=["INVALID_OUTPUT"])
    assert isinstance(error, ActionError)
    assert isinstance(error.__cause__, OutOfOutcomesError)
    assert (error.__cause__.node, error.__cause__.call) == ("planner", 2)
    assert str(error) == (
        "node 'planner', attempt 2, raised OutOfOutcomesError: node 'planner' is out of outcomes at call 2: "
        "its script has 1 outcome; add one for this call"
    )


def test_a_node_with_several_outcomes_must_be_scripted(model: Model) -> None:
    assert "node 'planner' is out of outcomes at call 1: its script has no outcome" in str(run(model))
    two = run(model, **{**REACHES_VERIFIED_INPUT, "verifier": ["INVALID_OUTPUT"] * 2, "planner": []})
    assert "node 'planner' is out of outcomes at call 1" in str(two)


def test_a_node_with_one_outcome_needs_no_script_and_once_named_needs_all_of_it(model: Model) -> None:
    rest = {"verifier": [{"verdict": "PASS"}], "composer": ["COMPLETED"]}
    assert run(model, **REACHES_VERIFIED_INPUT, **rest) is None
    assert run(model, **REACHES_VERIFIED_INPUT, **rest, verified_input=["COMPLETED"]) is None
    error = run(model, **REACHES_VERIFIED_INPUT, **rest, verified_input=[])
    assert "node 'verified_input' is out of outcomes at call 1" in str(error)


def test_raises_makes_that_call_raise(model: Model) -> None:
    error = run(model, planner=["INVALID_OUTPUT", {"raises": "no network"}])
    assert isinstance(error, ActionError)
    assert isinstance(error.__cause__, ScriptedError)
    assert str(error) == "node 'planner', attempt 2, raised ScriptedError: no network"
    assert error.path == ("planner",)


def test_update_is_reported_as_it_is(model: Model) -> None:
    result = run_scenario(
        Scenario.parse({"name": "a", "script": {"planner": [{"update": {"planner_status": 5}}]}}), model
    )
    assert result.path == ("planner", "fallback")
    assert result.run.state["planner_status"] == 5
    error = run(model, planner=[{"update": {"final_answer": "mine"}}])
    assert isinstance(error, OwnershipError)
    assert "no_such_key" in str(run(model, planner=[{"update": {"no_such_key": 1}}]))


def test_fakes_of_two_runs_do_not_share_their_counts(model: Model) -> None:
    script = Script.of(Scenario.parse({"name": "a", "script": {"planner": ["FAILED"]}}), model)
    first, second = Fakes(script, model), Fakes(script, model)
    asyncio.run(first.actions["planner"]({}, None))
    assert (first.unused, second.unused) == ((), ("planner[0]",))


def test_an_update_is_read_once_and_never_again(model: Model) -> None:
    script = Script.of(Scenario.parse({"name": "a", "script": {"planner": ["COMPLETED"]}}), model)
    report = asyncio.run(Fakes(script, model).actions["planner"]({}, None))
    assert report is script.calls["planner"][0]


def test_an_outcome_may_take_something_out_of_a_history() -> None:
    graph = StateGraph({"log": Append(initial=["old"])}, name="logs")
    graph.add_node("write", lambda state: {}).add_node("clear", lambda state: {})
    graph.add_edge(START, "write").add_edge("write", "clear").add_edge("clear", END)
    outcomes = {"write": {"swap": {"log": [Remove("old"), "new"]}}, "clear": {"all": {"log": ReplaceAll(["last"])}}}
    own = Model("logs", graph.compile(), outcomes)
    run = run_scenario(Scenario(name="s", graph="logs", script={"write": ["swap"], "clear": ["all"]}), own).run
    assert [list(state["log"]) for state in run.states] == [["old"], ["new"], ["last"]]


def test_unused_outcomes_are_listed_by_place(model: Model) -> None:
    scenario = Scenario.parse({"name": "a", "script": {"planner": ["FAILED", "FAILED"], "composer": ["FAILED"]}})
    result = run_scenario(scenario, model)
    assert result.unused == ("planner[1]", "composer[0]")
    assert result.mismatches == (
        "unused outcomes: planner[1], composer[0]; no call asked for them; remove them, or see why the run is short",
    )


@pytest.mark.parametrize("outcome", ["COMPLETED", {"status": "COMPLETED"}, {}])
def test_code_nodes_do_their_own_work_when_scripted(model: Model, outcome: Any) -> None:
    result = run_scenario(
        Scenario.parse({"name": "a", "script": {"planner": ["FAILED"], "fallback": [outcome]}}), model
    )
    assert result.passed
    assert result.run.state["final_answer"].startswith("I could not work out a plan")
