"""A failing scenario is made smaller while it fails alike, down to where nothing more can go."""

from __future__ import annotations

import pytest
from branched import rounds
from click.testing import CliRunner

from diagnosis import cli
from diagnosis.catalog import diagnosis_model
from diagnosis.runtime import END, START, Condition, Decision, Model, Replace, Rule, StateGraph
from diagnosis.scenarios import MinimiseError, Scenario, case_of, minimise, run_scenario, scenario_text

LONG = {
    "name": "long",
    "title": "A retry, an evidence round, two more retries",
    "input": {"user_query": "why?"},
    "script": {
        "planner": ["RETRYABLE_FAILED", "COMPLETED", "COMPLETED"],
        "executor": ["COMPLETED", "COMPLETED"],
        "gatekeeper": [{"status": "PASS", "trusted_bindings": 2}, {"status": "PASS", "trusted_bindings": 3}],
        "verifier": [
            {"verdict": "LOW_CONFID", "facts_checked": [{"fact": "f", "verification": "no_evidence"}]},
            "INVALID_OUTPUT",
            {"verdict": "PASS"},
        ],
        "composer": ["RETRYABLE_FAILED", "COMPLETED"],
    },
    "expect": {
        "path": [
            "planner", "planner", "executor", "gatekeeper", "verified_input", "verifier", "evidence_retry", "planner",
            "executor", "gatekeeper", "verified_input", "verifier", "verifier", "composer", "fallback",
        ],
        "final_node": "composer",
        "counters": {"planner_retry_count": 0, "evidence_retry_count": 1},
    },
}  # fmt: skip


def small(data, model) -> Scenario:
    return minimise(case_of(Scenario.parse(data), {data.get("graph", "diagnosis"): model}))


def test_rounds_and_retries_that_a_failure_does_not_need_are_left_out():
    model = diagnosis_model()
    found = small(LONG, model)
    result = run_scenario(found, model)
    assert result.mismatches[0] == "path[6]: expected 'fallback', found 'composer' (COMPOSER_RETRY)"
    assert result.path == ("planner", "executor", "gatekeeper", "verified_input", "verifier", "composer", "composer")
    assert found.name == "long_minimised"
    assert found.title == f"The smallest form of long that fails alike: {result.mismatches[0]}"
    assert set(found.to_map()["expect"]) == {"path"}
    assert "input" not in found.to_map()


def test_the_same_scenario_is_made_small_in_the_same_way():
    model = diagnosis_model()
    assert scenario_text(small(LONG, model)) == scenario_text(small(LONG, diagnosis_model()))


def test_a_scenario_that_passes_is_refused():
    passing = {"name": "p", "script": {"planner": ["FAILED"]}, "expect": {"path": ["planner", "fallback"]}}
    with pytest.raises(MinimiseError, match="'p' passes"):
        small(passing, diagnosis_model())


@pytest.mark.parametrize(
    ("expect", "script", "first", "left"),
    [
        (
            {"counters": {"planner_retry_count": 0, "composer_retry_count": 0}},
            {"planner": ["INVALID_OUTPUT", "FAILED"]},
            "counters.planner_retry_count: expected 0, found 1",
            {"planner": ["INVALID_OUTPUT", "FAILED"]},
        ),
        ({}, {"planner": ["FAILED", "COMPLETED", "UNKNOWN"]}, "unused outcomes: planner[1]", {"planner": 2}),
        (
            {"error": "no such text"},
            {"planner": ["INVALID_OUTPUT", {"raises": "boom"}]},
            "error: expected one with 'no such text', found",
            {"planner": [{"raises": "boom"}]},
        ),
        (
            {"transitions": [{"from": "planner", "to": "fallback", "reason_code": "WHY", "attempt": 1}]},
            {"planner": ["FAILED"]},
            "transitions[0].reason_code: expected 'WHY', found 'PLANNER_FAILED'",
            {"planner": ["FAILED"]},
        ),
    ],
)
def test_each_kind_of_mismatch_is_kept(expect, script, first, left):
    model = diagnosis_model()
    found = small({"name": "each", "script": script, "expect": {**expect, "degraded": True}}, model)
    assert run_scenario(found, model).mismatches[0].startswith(first)
    kept = found.to_map()["script"]
    if left == {"planner": 2}:
        assert len(kept["planner"]) == 2
    else:
        assert kept == left


def test_outcomes_that_run_out_are_kept_as_the_reason():
    model = diagnosis_model()
    found = small({"name": "out", "script": {"planner": ["INVALID_OUTPUT", "COMPLETED"], "executor": []}}, model)
    assert found.to_map()["script"] == {"planner": ["COMPLETED"]}
    assert "'executor' is out of outcomes at call 1" in run_scenario(found, model).mismatches[0]


def atoms_of(data):
    for node, items in data.get("script", {}).items():
        yield from ((("script", node), number) for number in range(len(items)))
    for name, value in data.get("expect", {}).items():
        yield (("expect",), name)
        if isinstance(value, list):
            yield from ((("expect", name), number) for number in range(len(value)))


def without(data, at, last):
    import copy

    left = copy.deepcopy(data)
    part = left
    for key in at:
        part = part[key]
    del part[last]
    if at[0] == "script" and not part:
        del left["script"][at[1]]
    return left


def told(mismatch):
    import re

    return re.sub(r"\[\d+\]", "", mismatch)


@pytest.mark.parametrize("retries", [1, 3, 6])
def test_nothing_more_can_be_left_out(retries):
    """A counting loop: every part that is left is needed."""
    graph = StateGraph({"x": Replace(), "n": Replace(initial=0)}, name="loop")
    for node in ("work", "look"):
        graph.add_node(node, lambda state: {})
    graph.add_edge(START, "work").add_edge("work", "look")
    more = Condition("more", lambda s: s["x"] == "more", "x")
    rules = Decision([Rule("again", "MORE", more), Rule("end", "DONE")])
    graph.add_conditional_edges("look", rules, {"again": "work", "end": END})
    outcomes = {"work": {"a": {"x": "a"}, "b": {"x": "b"}}, "look": {"more": {"x": "more"}, "done": {"x": "done"}}}
    model = Model("loop", graph.compile(recursion_limit=60), outcomes)
    data = {
        "name": "loop",
        "graph": "loop",
        "script": {"work": ["a"] * retries + ["b"], "look": ["more"] * retries + ["done"]},
        "expect": {"path": ["work", "look"] * retries + ["work", "look", "work"], "termination_reason": "DONE"},
    }
    found = small(data, model).to_map()
    wanted = told(run_scenario(Scenario.parse(found), model).mismatches[0])
    assert wanted == "path: expected 'work', found the end of the run (DONE)"
    assert found["script"] == {"work": ["b"], "look": ["done"]}
    assert found["expect"] == {"path": ["work", "look", "work"]}
    for at, last in atoms_of(found):
        less = Scenario.parse(without(found, at, last))
        mismatches = run_scenario(less, model).mismatches
        assert not mismatches or told(mismatches[0]) != wanted


def test_branches_are_made_small_too():
    model = rounds()
    data = {
        "name": "r",
        "graph": "rounds",
        "script": {
            "plan": ["done", "done"],
            "look": ["done", "done"],
            "check": ["done", "done"],
            "recheck": ["done", "done"],
            "meet": ["poor", "done"],
        },
        "expect": {"final_node": "plan"},
    }
    found = small(data, model)
    assert run_scenario(found, model).mismatches == ("final_node: expected 'plan', found 'meet' (ENOUGH)",)
    assert found.to_map()["script"] == {
        "plan": ["done"], "look": ["done"], "check": ["done"], "recheck": ["done"], "meet": ["done"]
    }  # fmt: skip


def test_the_command_saves_the_small_form_and_says_where(tmp_path, monkeypatch):
    import json

    monkeypatch.chdir(tmp_path)
    (tmp_path / "long.yaml").write_text(scenario_text(Scenario.parse(LONG)))
    result = CliRunner().invoke(cli.app, ["run", "long.yaml", "--minimise"])
    assert result.exit_code == 1
    file = "build/minimised/long_minimised.yaml"
    assert f"minimised long: saved {file}" in result.stdout
    again = CliRunner().invoke(cli.app, ["run", file])
    assert again.exit_code == 1
    assert "path[6]: expected 'fallback', found 'composer' (COMPOSER_RETRY)" in again.stdout
    document = json.loads(CliRunner().invoke(cli.app, ["run", "long.yaml", "--minimise=there", "--json"]).stdout)
    assert document["minimised"] == [{"name": "long", "file": "there/long_minimised.yaml"}]
    assert "minimised" not in json.loads(CliRunner().invoke(cli.app, ["run", "long.yaml", "--json"]).stdout)
