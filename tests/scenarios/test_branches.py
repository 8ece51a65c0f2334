"""Scenarios of graphs with branches: whose calls a script means, who wins, what is expected, and the trace."""

from __future__ import annotations

import inspect
import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from branched import brackets, crew, crowd, decided, enclosed, nested, race, rounds
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnosis.runtime import Model, RunConfig, bracketed, resolve
from diagnosis.scenarios import (
    DocumentError,
    Fakes,
    OutOfOutcomesError,
    Scenario,
    ScenarioResult,
    Script,
    load,
    observed,
    run_scenario,
    scenario_text,
    write_scenario,
)
from diagnosis.scenarios.branch_names import BranchNames

DOCS = Path(__file__).parents[2] / "docs" / "scenario-files.md"


def parsed(model: Model, script: Any, **more: Any) -> Scenario:
    return Scenario.parse({"name": "a", "graph": model.name, "script": script, **more})


def run(model: Model, script: Any, **more: Any) -> ScenarioResult:
    return run_scenario(parsed(model, script, **more), model)


def log_of(result: ScenarioResult) -> list[str]:
    return list(result.run.state["log"])


def seen(result: ScenarioResult) -> list[tuple[str, str]]:
    return [(event.node, event.branch) for event in result.run.events]


ROUNDS: dict[str, Any] = {
    "plan": ["done", "done"],
    "look": ["poor", "done"],
    "check": ["done", "done"],
    "recheck": ["done", "poor"],
    "meet": ["poor", "done"],
}


def test_a_plain_key_scripts_all_calls_of_a_node_in_the_order_of_the_event_log() -> None:
    result = run(nested(), {**NESTED, "merge": ["poor", "done"], "fast": ["done", "poor"]})
    assert result.passed, result.text()
    assert seen(result) == [
        ("plan", ""),
        ("web", "web[0]"),
        ("fast", "fast[0][0]"),
        ("slow", "slow[0][1]"),
        ("merge", "web[0]"),
        ("web", "web[0]"),
        ("fast", "fast[0][0]"),
        ("slow", "slow[0][1]"),
        ("merge", "web[0]"),
        ("paper", "paper[1]"),
        ("meet", ""),
    ]
    reports = [report["log"][0] for event, report in zip(result.run.events, result.run.reports, strict=True) if report]
    assert reports == ["done", "done", "done", "poor", "poor", "done", "poor", "done", "done", "done"]


NESTED: dict[str, Any] = {
    "plan": ["done"],
    "web": ["done", "done"],
    "fast": ["done", "done"],
    "slow": ["poor", "done"],
    "merge": ["poor", "done"],
    "paper": ["done"],
}


def test_a_key_for_a_branch_scripts_its_calls_in_every_lap() -> None:
    """The node that a key names need not be the one that the branch is called after."""
    script = {**ROUNDS, "recheck[1]": ROUNDS["recheck"], "check[1]": ROUNDS["check"], "look[0]": ROUNDS["look"]}
    for key in ("recheck", "check", "look"):
        del script[key]
    by_branch, plain = run(rounds(), script), run(rounds(), ROUNDS)
    assert by_branch.passed
    assert (
        log_of(by_branch)
        == log_of(plain)
        == ["done", "poor", "done", "done", "poor"]
        + ["done"] * 3
        + [
            "poor",
            "done",
        ]
    )
    inner = run(
        nested(), {**NESTED, "fast[0][0]": ["done", "poor"], "fast": [], "merge[0]": ["poor", "done"], "merge": []}
    )
    assert inner.passed, inner.text()


def test_a_key_for_a_branch_goes_before_the_plain_one_which_has_all_other_calls() -> None:
    two = {"boss": ["two"], "check": ["done", "done"]}
    assert log_of(run(crowd(), {**two, "worker": ["done"], "worker[1]": ["poor"]})) == ["done", "done", "poor", "done"]
    assert log_of(run(crowd(), {**two, "worker": ["done"], "worker[0]": ["poor"]})) == ["poor", "done", "done", "done"]
    three = {"boss": [{"goto": ["worker", "worker", "worker"]}], "check": ["done"] * 3}
    result = run(crowd(), {**three, "worker": ["done", "poor"], "worker[1]": ["copies"]})
    assert log_of(result) == ["done", "done", None, "done", "poor", "done"]


def test_a_node_with_one_outcome_needs_no_script_in_other_branches_than_those_named() -> None:
    model = crowd()
    one = replace(model, alphabet={**model.alphabet, "worker": {"copies": model.alphabet["worker"]["copies"]}})
    script = {"boss": ["two"], "worker[1]": [{"update": {"log": ["mine"]}}], "check": ["done", "done"]}
    assert log_of(run(one, script)) == [1, "done", "mine", "done"]
    assert "in branch 'worker[0]' is out of outcomes at call 1" in str(run(one, {**script, "worker": []}).error)


def test_outcomes_left_over_are_named_with_their_key() -> None:
    script = {**ROUNDS, "look[0]": ["poor", "done", "poor"], "look": ["done"], "check": ["done"] * 4}
    result = run(rounds(), script)
    assert result.unused == ("look[0]", "check[2]", "check[3]", "'look[0]'[2]")
    assert result.mismatches == (
        "unused outcomes: look[0], check[2], check[3], 'look[0]'[2]; no call asked for them; remove them, or see why "
        "the run is short",
    )


def test_a_script_that_runs_out_in_a_branch_names_branch_and_key() -> None:
    result = run(rounds(), {**ROUNDS, "recheck[1]": ["done"]})
    error = result.run.error.__cause__ if result.run.error else None
    assert isinstance(error, OutOfOutcomesError)
    assert (error.node, error.call, error.branch, error.key) == ("recheck", 2, "check[1]", "recheck[1]")
    assert str(error) == (
        "node 'recheck' in branch 'check[1]' is out of outcomes at call 2: its script 'recheck[1]' has 1 outcome; "
        "add one for this call"
    )
    plain = run(rounds(), {**ROUNDS, "look": []}).error
    assert plain == (
        "node 'look', attempt 1, raised OutOfOutcomesError: node 'look' in branch 'look[0]' is out of outcomes at call "
        "1: its script has no outcome; add one for this call"
    )


def test_actions_of_a_graph_with_branches_are_plain_functions_so_that_calls_have_an_order() -> None:
    model = rounds()
    actions = Fakes(Script.of(parsed(model, ROUNDS), model), model).actions
    assert list(actions) == list(model.graph.definition.names)
    assert not any(inspect.iscoroutinefunction(action) for action in actions.values())


def test_a_branch_that_raises_stops_the_run() -> None:
    result = run(
        rounds(), {**ROUNDS, "check": [{"raises": "boom"}]}, expect={"error": "boom", "path": ["plan", "look"]}
    )
    assert result.passed, result.text()
    assert result.trace is not None
    assert (result.trace["final_node"], result.trace["events"][1]["branch"]) == (None, "look[0]")


def test_a_node_whose_name_ends_like_a_path_is_scripted_by_its_name() -> None:
    script = {"x": ["poor"], "x[0]": ["done"], "x[0][1]": ["done"], "y[0][0]": ["done"]}
    result = run(brackets(), script)
    assert result.passed, result.text()
    assert seen(result)[1:5] == [("x[0]", "x[0][0]"), ("y", "y[0][0]"), ("x[0][1]", "x[0][1][0][1]"), ("x", "x[1]")]
    by_branch = {"x[1]": ["poor"], "x[0][0]": ["done"], "x[0][1][0][1]": ["done"], "y[0][0]": ["done"]}
    again = run(brackets(), by_branch)
    assert again.passed, again.text()
    assert log_of(again) == log_of(result) == ["done", "done", "done", "poor"]


UNFIT_KEYS = [
    ("check[0]", "'check[0]', a branch that never executes 'check'", "'check', 'check[1]'"),
    ("recheck[1][0]", "'recheck[1][0]', a branch that never executes 'recheck'", "'recheck', 'recheck[1]'"),
    ("plan[0]", "'plan[0]', a branch that never executes 'plan'", "'plan'; no branch executes it"),
    ("meet[1]", "'meet[1]', a branch that never executes 'meet'", "'meet'; no branch executes it"),
    *(
        (key, f"{key!r}, brackets that are no path of a branch", "'check', 'check[1]'")
        for key in ("check[]", "check[x]", "check[-1]", "check[01]", "check[1", "check[1]]", "check[1]x", "check[٣]")
    ),
    ("check[1" + "0" * 9 + "]", "'check[1000000000]', brackets that are no path", "'check', 'check[1]'"),
    ("check [1]", "the unknown node 'check [1]'", "'plan', 'look', 'check', 'recheck', 'meet'"),
    ("chek[1]", "the unknown node 'chek[1]'", "'plan', 'look', 'check', 'recheck', 'meet'"),
]


@pytest.mark.parametrize(("key", "found", "allowed"), UNFIT_KEYS, ids=[key for key, _, _ in UNFIT_KEYS])
@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_a_key_that_no_run_can_ask_for_is_refused(
    key: str, found: str, allowed: str, ending: str, tmp_path: Path
) -> None:
    document = {"name": "a", "graph": "rounds", "script": {"plan": [], key: []}}
    file = tmp_path / f"case.{ending}"
    file.write_text(yaml.safe_dump(document, sort_keys=False) if ending == "yaml" else json.dumps(document))
    (refusal,) = load(file, {"rounds": rounds()}).refused
    error = refusal.error
    assert isinstance(error, DocumentError)
    assert error.place == ("script", key)
    assert error.found.startswith(found)
    assert error.allowed == allowed
    assert error.line == (5 if ending == "yaml" else None)


def test_a_key_with_a_path_that_only_a_command_can_open_may_have_any_number() -> None:
    model = crowd()
    assert Script.of(parsed(model, {"check[73]": []}), model).branches == {"check": {(73,): "check[73]"}}
    with pytest.raises(DocumentError) as caught:
        Script.of(parsed(model, {"check[0][73]": []}), model)
    assert caught.value.allowed == "'check', 'check[n]', n being a number from 0"


def test_a_path_of_any_length_is_refused_at_once() -> None:
    model = nested()
    for key in ("fast" + "[0]" * 100_000, "fast[" + "1" * 100_000 + "]"):
        with pytest.raises(DocumentError) as caught:
            Script.of(parsed(model, {key: []}), model)
        assert len(str(caught.value)) < 700


def test_a_graph_in_the_place_of_a_node_is_scripted_by_the_names_of_its_nodes(tmp_path: Path) -> None:
    document = {
        "name": "a",
        "graph": "enclosed",
        "script": {"child-look[0]": ["done"], "child-judge": ["poor"]},
        "expect": {"path": ["plan", "child-START", "child-look", "child-judge", "child", "other", "meet"]},
    }
    for ending, text in (("yaml", yaml.safe_dump(document)), ("json", json.dumps(document))):
        file = tmp_path / f"case.{ending}"
        file.write_text(text)
        (case,) = load(file, {"enclosed": enclosed()}).cases
        result = run_scenario(case.scenario, case.model)
        assert result.passed, result.text()
        assert log_of(result) == ["done", "poor"]


RANDOM = {"rounds": rounds, "nested": nested, "crowd": crowd, "brackets": brackets, "decided": decided}


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(sorted(RANDOM)), seed=st.randoms(use_true_random=False))
def test_a_run_is_replayed_by_its_outcomes_under_plain_keys_and_under_keys_for_branches(
    name: str, seed: random.Random
) -> None:
    model = RANDOM[name]()
    plain: dict[str, list[str]] = {}
    keyed: dict[str, list[str]] = {}

    def action(node: str) -> Callable[[Any, RunConfig], Any]:
        def report(state: Any, config: RunConfig) -> Any:
            outcome = seed.choice(list(model.alphabet[node]))
            path = BranchNames(model.graph).path_of(config.branch)
            plain.setdefault(node, []).append(outcome)
            keyed.setdefault(node + bracketed(path), []).append(outcome)
            return resolve(model.alphabet[node][outcome], state)

        return report

    recorded = model.graph.with_actions({node: action(node) for node in model.alphabet}).run(check=False)
    for script in (plain, keyed):
        result = run(model, script)
        assert result.unused == ()
        assert result.run.events == recorded.events
        assert log_of(result) == list(recorded.state["log"])
        assert result.run.stop == recorded.stop


# --- winners --------------------------------------------------------------------------------------------------------


SLOW = {"slow": ["done"], "review": ["poor"]}


def test_only_the_branch_that_wins_is_asked_for_outcomes() -> None:
    result = run(race(), SLOW, winners={"ask": ["slow[1]"]}, expect={"path": ["ask", "slow", "review", "tell"]})
    assert result.passed, result.text()
    assert run(race(), {"fast": ["poor"]}, winners={"ask": ["fast[0]"]}).passed


def test_without_winners_the_first_that_does_not_raise_wins() -> None:
    assert run(race(), {"fast": ["poor"]}).path == ("ask", "fast", "tell")
    lost = run(race(), {"fast": [{"raises": "boom"}], **SLOW})
    assert lost.passed
    assert seen(lost) == [("ask", ""), ("slow", "slow[1]"), ("review", "slow[1]"), ("tell", "")]


def test_scripts_of_losers_and_winners_of_forks_that_did_not_open_are_left_over() -> None:
    result = run(race(), {**SLOW, "fast": ["done"]}, winners={"ask": ["slow[1]", "fast[0]", "fast[0]"]})
    assert result.unused == ("fast[0]",)
    assert result.unused_winners == ("fast[0] of ask", "fast[0] of ask")
    assert result.mismatches[1] == (
        "unused winners: fast[0] of ask, fast[0] of ask; no such fork opened for them; remove them, or see why the run "
        "is short"
    )
    failed = run(race(), {"slow": []}, winners={"ask": ["slow[1]", "slow[1]"]}, expect={"error": "out of outcomes"})
    assert (failed.passed, failed.unused_winners) == (True, ("slow[1] of ask",))


def test_a_branch_that_the_fork_did_not_open_fails_the_run() -> None:
    result = run(crowd("any_of"), {"boss": ["one"]}, winners={"boss": ["worker[1]"]})
    assert result.mismatches == (
        "the run did not end: the fork at 'boss' is to be won by 'worker[1]'; its branches are 'worker[0]'",
    )


def test_one_of_several_workers_wins() -> None:
    script = {"boss": ["two"], "worker": ["copies"], "check": ["done"]}
    result = run(
        crowd("any_of"), script, winners={"boss": ["worker[1]"]}, expect={"branches": ["", *["worker[1]"] * 2, ""]}
    )
    assert result.passed, result.text()
    assert log_of(result) == [2, "done"]


def test_a_fork_in_a_branch_is_named_with_the_path_of_that_branch() -> None:
    script = {"plan": ["done"], "right[0]": ["done"], "q[1][2]": ["poor"]}
    result = run(decided(), script, winners={"left[1]": ["q[1][2]"]})
    assert result.passed, result.text()
    assert seen(result)[2:5] == [("left", "left[1]"), ("q", "q[1][2]"), ("r", "left[1]")]
    alone = run(decided(), {"plan": ["poor"], "right": ["done"]})
    assert seen(alone) == [("plan", ""), ("right", ""), ("meet", "")]
    left_over = run(decided(), {"plan": ["poor"], "right": ["done"]}, winners={"left[1]": ["p[1][1]"]})
    assert left_over.unused_winners == ("p[1][1] of left[1]",)


UNFIT_WINNERS: list[tuple[Callable[[], Model], Any, tuple[str | int, ...], str, str]] = [
    (race, {"ask": ["slow[0]"]}, ("ask", 0), "'slow[0]', which is no branch of it", "'fast[0]', 'slow[1]'"),
    (
        race,
        {"ask": ["slow[1]", "review[1]"]},
        ("ask", 1),
        "'review[1]', which is no branch of it",
        "'fast[0]', 'slow[1]'",
    ),
    (race, {"ask": ["slow"]}, ("ask", 0), "'slow', which is no branch of it", "'fast[0]', 'slow[1]'"),
    (race, {"ask[0]": []}, ("ask[0]",), "the unknown fork 'ask[0]'", "'ask'"),
    (race, {"fast": []}, ("fast",), "the unknown fork 'fast'", "'ask'"),
    (race, {"nobody": []}, ("nobody",), "the unknown fork 'nobody'", "'ask'"),
    (rounds, {"plan": []}, ("plan",), "the unknown fork 'plan'", "no fork; the graph has none that waits for any_of"),
    (
        lambda: crowd("any_of"),
        {"boss": ["check[0]"]},
        ("boss", 0),
        "'check[0]', which is no branch of it",
        "'worker[n]', 'helper[n]', 'sum[n]', n being a number from 0",
    ),
    (decided, {"left": []}, ("left",), "the unknown fork 'left'", "'left[1]'"),
    (decided, {"left[0]": []}, ("left[0]",), "the unknown fork 'left[0]'", "'left[1]'"),
    (
        decided,
        {"left[1]": ["p[1]"]},
        ("left[1]", 0),
        "'p[1]', which is no branch of it",
        "'p[1][n]', 'q[1][n]', n being a number from 0",
    ),
    (race, {"ask": "slow[1]"}, ("ask",), "'slow[1]'", "a list"),
    (race, {"ask": [1]}, ("ask", 0), "int 1", "a text; put it in quotes"),
    (race, {"ask": None}, ("ask",), "null", "a list"),
    (race, ["ask"], (), "a list", "a mapping"),
    (race, None, (), "null", "a mapping"),
]


@pytest.mark.parametrize(("make", "winners", "at", "found", "allowed"), UNFIT_WINNERS)
def test_winners_that_cannot_be_are_refused_where_they_stand(
    make: Callable[[], Model], winners: Any, at: tuple[str | int, ...], found: str, allowed: str
) -> None:
    model = make()
    with pytest.raises(DocumentError) as caught:
        run(model, {}, winners=winners)
    assert (caught.value.place, caught.value.found, caught.value.allowed) == (("winners", *at), found, allowed)


# --- expectations, traces, files ------------------------------------------------------------------------------------


def test_transitions_lead_from_a_fork_to_every_branch_and_from_every_branch_to_the_join() -> None:
    script = {**ROUNDS, "meet": ["done"], "recheck": ["done"], "look": ["done"], "check": ["done"], "plan": ["done"]}
    rows = [
        ("plan", "look", "LOOK"),
        ("plan", "check", "CHECK"),
        ("check", "recheck", "AGAIN"),
        ("look", "meet", "LOOKED"),
        ("recheck", "meet", "CHECKED"),
    ]
    wanted = [{"from": left, "to": right, "reason_code": why, "attempt": 1} for left, right, why in rows]
    expect = {"path": ["plan", "look", "check", "recheck", "meet"], "transitions": wanted}
    assert run(rounds(), script, expect=expect).passed
    swapped = {"transitions": [wanted[1], wanted[0], *wanted[2:]]}
    assert run(rounds(), script, expect=swapped).mismatches == ("transitions[0].to: expected 'check', found 'look'",)


def test_a_path_that_differs_in_a_branch_says_why_that_node_came() -> None:
    expect = {"path": ["plan", "look", "recheck"], "branches": ["", "look[0]", "check[2]"]}
    assert run(rounds(), ROUNDS, expect=expect).mismatches[:2] == (
        "path[2]: expected 'recheck', found 'check' (CHECK)",
        "branches[2]: expected 'check[2]', found 'check[1]' (of check)",
    )
    joined = {"path": ["plan", "look", "check", "recheck", "plan"]}
    assert run(rounds(), ROUNDS, expect=joined).mismatches == (
        "path[4]: expected 'plan', found 'meet' (LOOKED, CHECKED)",
    )
    long = {**joined, "path": [*run(rounds(), ROUNDS).path, "plan"]}
    assert run(rounds(), ROUNDS, expect=long).mismatches == (
        "path[10]: expected 'plan', found the end of the run (ENOUGH)",
    )


@pytest.mark.parametrize(("value", "found"), [("web", "'web'"), (None, "null"), ([1], "int 1")])
def test_branches_that_are_no_list_of_texts_are_refused(value: Any, found: str) -> None:
    with pytest.raises(DocumentError) as caught:
        run(nested(), {}, expect={"branches": value})
    assert caught.value.place[:2] == ("expect", "branches")
    assert caught.value.found == found


def test_the_trace_of_a_graph_with_branches_says_what_led_where() -> None:
    script = {"boss": [{"goto": ["worker", "sum"], "reason": "SPLIT"}], "worker": ["done"], "check": ["done"]}
    result = run(crowd(), script)
    assert json.loads(json.dumps(result.to_json()))["trace"] == {
        "version": 2,
        "events": [
            {"node": "boss", "outcome": "COMPLETED", "attempt": 1, "branch": "", "after": []},
            {"node": "worker", "outcome": "COMPLETED", "attempt": 1, "branch": "worker[0]", "after": [0]},
            {"node": "check", "outcome": "COMPLETED", "attempt": 1, "branch": "worker[0]", "after": [1]},
            {"node": "sum", "outcome": "COMPLETED", "attempt": 1, "branch": "", "after": [2, 0]},
        ],
        "transitions": [
            {"from": "boss", "to": "worker", "reason_code": "SPLIT", "attempt": 1, "branch": "worker[0]", "after": 0},
            {"from": "worker", "to": "check", "reason_code": "FIXED", "attempt": 1, "branch": "worker[0]", "after": 1},
            {"from": "check", "to": "sum", "reason_code": "FIXED", "attempt": 1, "branch": "", "after": 2},
            {"from": "boss", "to": "sum", "reason_code": "SPLIT", "attempt": 1, "branch": "", "after": 0},
        ],
        "final_node": "sum",
        "termination_reason": "FIXED",
    }


RUNS: list[tuple[Callable[[], Model], Any, Any]] = [
    (rounds, ROUNDS, {}),
    (nested, {**NESTED, "fast[0][0]": ["poor", "done"], "fast": []}, {}),
    (race, SLOW, {"ask": ["slow[1]"]}),
    (race, {"fast": [{"raises": "boom"}], "slow": [{"raises": "bang"}]}, {}),
    (
        crowd,
        {"boss": [{"goto": [{"to": "worker", "update": {"item": 5}}]}], "worker": ["copies"], "check": ["poor"]},
        {},
    ),
    (decided, {"plan": ["done"], "right": ["done"], "p": ["poor"]}, {"left[1]": ["p[1][1]"]}),
    (brackets, {"x[1]": ["poor"], "x[0]": ["done"], "x[0][1]": ["done"], "y": ["done"]}, {}),
]


@pytest.mark.parametrize(("make", "script", "winners"), RUNS)
def test_what_was_observed_is_written_and_holds_when_it_is_loaded(
    make: Callable[[], Model], script: Any, winners: Any, tmp_path: Path
) -> None:
    model = make()
    more = {"winners": winners} if winners else {}
    expect = observed(run(model, script, **more).run, model).to_map()
    scenario = parsed(model, script, expect=expect, **more)
    file = write_scenario(scenario, tmp_path)
    (case,) = load(file, {model.name: model}).cases
    assert case.scenario == scenario
    assert case.scenario.to_map() == scenario.to_map()
    assert list(case.scenario.to_map())[-1] == "expect"
    result = run_scenario(case.scenario, model)
    assert result.mismatches == ()
    assert case.scenario.expect.branches == tuple(event.branch for event in result.run.events)


def test_a_written_scenario_with_winners_and_gotos_reads_well() -> None:
    goto = [{"to": "worker", "update": {"item": 1}}, "helper"]
    script = {"boss": [{"goto": goto, "update": {"note": "n"}, "reason": "SPLIT"}], "check[0]": ["done"]}
    scenario = Scenario.parse(
        {"name": "a", "script": script, "expect": {"path": []}, "winners": {"boss": ["helper[1]"]}}
    )
    assert scenario_text(scenario) == (
        "name: a\nscript:\n  boss:\n  - goto:\n    - to: worker\n      update: {item: 1}\n    - helper\n    update: "
        "{note: n}\n    reason: SPLIT\n  check[0]: [done]\nwinners:\n  boss: ['helper[1]']\nexpect:\n  path: []\n"
    )


def test_the_documented_scenario_with_branches_passes(tmp_path: Path) -> None:
    text = DOCS.read_text(encoding="utf-8").split("## Branches\n\n```yaml\n")[1].split("```")[0]
    file = tmp_path / "shown.yaml"
    file.write_text(text, encoding="utf-8")
    (case,) = load(file, {"crew": crew()}).cases
    result = run_scenario(case.scenario, case.model)
    assert result.passed, result.text()
    assert log_of(result) == ["done", "good", "done", "poor", "done"]
    assert result.run.state["plan"] == "split"
