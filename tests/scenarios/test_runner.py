"""A run is compared with all that was expected, and the first difference is told first."""

import asyncio
import copy
import datetime
import json
from dataclasses import replace
from typing import Any

import pytest

from diagnosis.catalog import shipped
from diagnosis.runtime import (
    END,
    START,
    DefinitionError,
    Model,
    Replace,
    RunConfig,
    Shown,
    StateGraph,
)
from diagnosis.scenarios import (
    Case,
    DocumentError,
    Expect,
    Fakes,
    NoSuchScenarioError,
    Refusal,
    Scenario,
    ScenarioResult,
    Script,
    Suite,
    case_of,
    observed,
    run_case,
    run_scenario,
    run_suite,
)
from diagnosis.scenarios.result import plain

FAILS = {"planner": ["FAILED"]}


def result_of(model: Model, expect: dict[str, Any], script: Any = FAILS, **more: Any) -> ScenarioResult:
    return run_scenario(Scenario.parse({"name": "a", "script": script, "expect": expect, **more}), model)


def test_what_is_expected_and_holds_passes(good: dict[str, Any], model: Model) -> None:
    result = run_scenario(Scenario.parse(good), model, file="somewhere.yaml")
    assert result.passed
    assert (result.name, result.file, result.mismatches, result.error) == (
        "everything_said",
        "somewhere.yaml",
        (),
        None,
    )
    assert result.path == tuple(good["expect"]["path"])
    assert result.outcomes == tuple(good["expect"]["outcomes"])
    assert result.trace is not None
    assert result.trace["transitions"] == good["expect"]["transitions"]
    assert result.counters["verifier_retry_count"] == 0


def test_nothing_expected_passes_when_the_run_ends(model: Model) -> None:
    assert result_of(model, {}).passed


MISMATCHES: list[tuple[str, Any, str]] = [
    ("path", ["planner", "executor"], "path[1]: expected 'executor', found 'fallback' (PLANNER_FAILED)"),
    ("path", ["executor"], "path[0]: expected 'executor', found 'planner'"),
    ("path", ["planner"], "path[1]: expected nothing more, found 'fallback' (PLANNER_FAILED)"),
    ("path", [], "path[0]: expected nothing more, found 'planner'"),
    (
        "path",
        ["planner", "fallback", "composer"],
        "path[2]: expected 'composer', found the end of the run (PLANNER_FAILED)",
    ),
    ("final_node", "composer", "final_node: expected 'composer', found 'fallback' (PLANNER_FAILED)"),
    ("final_node", None, "final_node: expected null, found 'fallback' (PLANNER_FAILED)"),
    ("termination_reason", "PLAN_READY", "termination_reason: expected 'PLAN_READY', found 'PLANNER_FAILED'"),
    ("degraded", False, "degraded: expected false, found true (PLANNER_FAILED)"),
    ("degraded", None, "degraded: expected null, found true (PLANNER_FAILED)"),
    ("evidence_retry_count", 1, "evidence_retry_count: expected 1, found 0 (PLANNER_FAILED)"),
    ("outcomes", ["COMPLETED", "COMPLETED"], "outcomes[0]: expected 'COMPLETED', found 'FAILED' (of planner)"),
    ("outcomes", ["FAILED"], "outcomes[1]: expected nothing more, found 'COMPLETED' (of fallback)"),
    ("outcomes", ["FAILED", "COMPLETED", "PASS"], "outcomes[2]: expected 'PASS', found the end of the run"),
    ("counters", {"planner_retry_count": 2}, "counters.planner_retry_count: expected 2, found 0"),
    (
        "transitions",
        [],
        "transitions[0]: expected nothing more, found planner -> fallback (PLANNER_FAILED, attempt 1)",
    ),
    (
        "error",
        "boom",
        "error: expected one with 'boom', but the run ended at fallback (PLANNER_FAILED)",
    ),
]


@pytest.mark.parametrize(("name", "value", "says"), MISMATCHES)
def test_every_expectation_can_fail(name: str, value: Any, says: str, model: Model) -> None:
    result = result_of(model, {name: value})
    assert not result.passed
    assert result.mismatches[0] == says


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"from": "executor"}, "transitions[0].from: expected 'executor', found 'planner'"),
        ({"to": "executor"}, "transitions[0].to: expected 'executor', found 'fallback'"),
        ({"reason_code": "X"}, "transitions[0].reason_code: expected 'X', found 'PLANNER_FAILED'"),
        ({"attempt": 2}, "transitions[0].attempt: expected 2, found 1"),
    ],
)
def test_every_field_of_a_transition_counts(change: dict[str, Any], says: str, model: Model) -> None:
    right = {"from": "planner", "to": "fallback", "reason_code": "PLANNER_FAILED", "attempt": 1}
    assert result_of(model, {"transitions": [right]}).passed
    assert result_of(model, {"transitions": [right | change]}).mismatches == (says,)
    assert result_of(model, {"transitions": [right, right]}).mismatches == (
        "transitions[1]: expected planner -> fallback (PLANNER_FAILED, attempt 1), found the end of the run",
    )


def test_all_mismatches_are_listed_the_path_first(model: Model) -> None:
    expect = {"counters": {"planner_retry_count": 9}, "final_node": "composer", "path": ["executor"], "outcomes": []}
    found = result_of(model, expect, {"planner": ["FAILED"], "composer": ["FAILED"]}).mismatches
    assert [text.split(":")[0] for text in found] == [
        "path[0]",
        "outcomes[0]",
        "final_node",
        "counters.planner_retry_count",
        "unused outcomes",
    ]


BOOM = {"planner": ["COMPLETED", "FAILED"], "executor": [{"raises": "boom"}], "composer": ["COMPLETED"]}


def test_a_run_that_did_not_end_fails_its_scenario(model: Model) -> None:
    result = result_of(model, {"path": ["planner"]}, BOOM)
    assert result.mismatches == ("the run did not end: node 'executor', attempt 1, raised ScriptedError: boom",)
    assert result.error == "node 'executor', attempt 1, raised ScriptedError: boom"
    assert (
        "path[1]: expected 'executor', found the error (PLAN_READY)"
        in result_of(model, {"path": ["planner", "executor"]}, BOOM).mismatches
    )


def test_an_expected_error_passes_and_compares_as_far_as_the_run_got(model: Model) -> None:
    expect = {
        "error": "boom",
        "path": ["planner"],
        "outcomes": ["COMPLETED"],
        "transitions": [],
        "final_node": None,
        "termination_reason": None,
        "degraded": None,
        "evidence_retry_count": 0,
        "counters": {"planner_retry_count": 0},
    }
    result = result_of(model, expect, BOOM)
    assert result.passed
    assert result.unused == ("planner[1]", "composer[0]")
    assert result_of(model, {"error": "boom", "final_node": "planner"}, BOOM).mismatches == (
        "final_node: expected 'planner', found null",
    )
    assert result_of(model, {"error": "bang"}, BOOM).mismatches == (
        "error: expected one with 'bang', found \"node 'executor', attempt 1, raised ScriptedError: boom\"",
    )


def test_an_error_before_any_event_has_no_trace(model: Model) -> None:
    expect = {"error": "boom", "path": [], "degraded": None, "final_node": None}
    result = result_of(model, expect, {"planner": [{"raises": "boom"}]})
    assert result.passed
    assert result.trace is None
    assert result.to_json()["trace"] is None
    assert result_of(
        model, {"error": "boom", "evidence_retry_count": 0}, {"planner": [{"raises": "boom"}]}
    ).mismatches == ("evidence_retry_count: expected 0, found null",)


def test_meeting_the_recursion_limit_is_an_error_that_can_be_expected(model: Model) -> None:
    short = replace(model, graph=type(model.graph)(model.graph.definition, recursion_limit=1))
    assert result_of(short, {"error": "recursion limit of 1"}).passed
    assert "the run did not end" in result_of(short, {}).mismatches[0]


def test_the_run_is_named_after_its_scenario(model: Model) -> None:
    assert result_of(model, {}).run.state["run_id"] == "a"
    assert result_of(model, {}).run.config.thread_id == "a"
    assert result_of(model, {}, input={"run_id": "mine", "user_query": "why?"}).run.state["run_id"] == "mine"


def test_a_scenario_that_does_not_fit_its_model_is_refused(model: Model) -> None:
    with pytest.raises(DocumentError, match=r"script\.nobody: found the unknown node 'nobody'"):
        result_of(model, {}, {"nobody": []})


def test_results_as_json_are_the_documented_object(model: Model) -> None:
    suite = Suite(
        (case_of(Scenario.parse({"name": "a", "script": FAILS}), shipped, file="a.yaml"),),
        (Refusal("b.yaml", DocumentError("x", "y", file="b.yaml")),),
    )
    assert json.loads(json.dumps(run_suite(suite).to_json())) == {
        "scenarios": [
            {
                "name": "a",
                "file": "a.yaml",
                "passed": True,
                "mismatches": [],
                "path": ["planner", "fallback"],
                "trace": {
                    "version": 1,
                    "transitions": [
                        {"from": "planner", "to": "fallback", "reason_code": "PLANNER_FAILED", "attempt": 1}
                    ],
                    "final_node": "fallback",
                    "termination_reason": "PLANNER_FAILED",
                    "degraded": True,
                    "evidence_retry_count": 0,
                },
                "counters": {
                    "planner_retry_count": 0,
                    "verifier_retry_count": 0,
                    "composer_retry_count": 0,
                    "evidence_retry_count": 0,
                },
                "error": None,
            }
        ],
        "passed": 1,
        "failed": 0,
        "refused": [{"file": "b.yaml", "error": "b.yaml: found x; allowed: y"}],
    }


def test_results_say_themselves_as_text(model: Model) -> None:
    passed = result_of(model, {}, title="Nothing works")
    assert passed.text() == (
        "pass  a: Nothing works\n"
        "      planner > fallback\n"
        "      ended after 2 node executions at fallback (PLANNER_FAILED)"
    )
    failed = result_of(model, {"degraded": False})
    assert failed.text().endswith("\n      - degraded: expected false, found true (PLANNER_FAILED)")
    assert result_of(model, {}, {}).text().splitlines()[1] == "      nothing was executed"
    suite = run_suite(Suite((case_of(failed.scenario, shipped),), (Refusal("b", DocumentError("x", "y")),)))
    assert suite.text() == (
        "0 passed, 1 failed, 1 refused\n  FAIL  a\n        degraded: expected false, found true (PLANNER_FAILED)\n"
        "  refused: found x; allowed: y"
    )
    assert repr(suite) == suite.text()
    assert all(isinstance(each, Shown) for each in (passed, suite))


def test_progress_is_told_of_each_result_as_it_comes(model: Model) -> None:
    scenarios = [Scenario.parse({"name": name, "script": FAILS}) for name in "abc"]
    seen: list[str] = []
    result = run_suite(
        Suite(tuple(case_of(each, {"diagnosis": model}) for each in scenarios)),
        progress=lambda each: seen.append(each.name),
    )
    assert seen == ["a", "b", "c"]
    assert [each.name for each in result.results] == seen


def test_a_result_is_found_by_its_name(model: Model) -> None:
    result = run_suite(Suite((case_of(Scenario.parse({"name": "a", "script": FAILS}), {"diagnosis": model}),)))
    assert result["a"] is result.results[0]
    assert list(result) == list(result.results)
    with pytest.raises(NoSuchScenarioError, match="no scenario named 'b' ran; there are 'a'"):
        result["b"]


def test_a_suite_runs_with_other_models_than_it_was_loaded_with(model: Model) -> None:
    suite = Suite((case_of(Scenario.parse({"name": "a", "script": FAILS}), {"diagnosis": model}),))
    short = replace(model, graph=type(model.graph)(model.graph.definition, recursion_limit=1))
    assert run_suite(suite, {"diagnosis": short}).failed == 1
    assert run_suite(suite, shipped).passed == 1
    assert run_suite(suite, {"diagnosis": model}).passed == 1
    with pytest.raises(DocumentError, match="unknown graph"):
        run_suite(suite, {})


def test_scenarios_run_inside_a_running_event_loop(model: Model) -> None:
    async def inside() -> ScenarioResult:
        return result_of(model, {})

    assert asyncio.run(inside()).passed


def test_running_twice_gives_the_same(model: Model, good: dict[str, Any]) -> None:
    case = case_of(Scenario.parse(copy.deepcopy(good)), {"diagnosis": model})
    assert run_case(case).to_json() == run_case(case).to_json()


def own_model(start: Any = None, **more: Any) -> Model:
    graph = StateGraph({"word": Replace(), "tries": Replace(initial=start)}, name="own", **more)
    graph.add_node("say", lambda state: {}).add_edge(START, "say").add_edge("say", END, reason="SAID")
    return Model(
        "own", graph.compile(), {"say": {"hi": {"word": "hi"}, "ho": lambda state: {"tries": 7}}}, counters=("tries",)
    )


def test_a_graph_of_ones_own_runs_with_its_own_names() -> None:
    model = own_model()
    expect = {"path": ["say"], "outcomes": ["COMPLETED"], "final_node": "say", "termination_reason": "SAID"}
    result = result_of(model, {**expect, "counters": {"tries": 7}}, {"say": ["ho"]}, graph="own")
    assert result.passed, result.text()
    assert result.to_json()["trace"] == {
        "version": 1,
        "transitions": [],
        "final_node": "say",
        "termination_reason": "SAID",
    }
    absent = result_of(model, {"degraded": None, "evidence_retry_count": 1}, {"say": ["hi"]}, graph="own")
    assert absent.mismatches == ("evidence_retry_count: expected 1, found null (SAID)",)
    with pytest.raises(DocumentError, match=r"script\.say\[0\]: found 'hey'; allowed: 'hi', 'ho'"):
        result_of(model, {}, {"say": ["hey"]}, graph="own")


def test_counters_compare_as_they_are_stored() -> None:
    for stored in (True, 1.0, "1", None):
        result = result_of(own_model(stored), {"counters": {"tries": 1}}, {"say": ["hi"]}, graph="own")
        assert result.mismatches[0].startswith("counters.tries: expected 1, found ")


def test_what_was_observed_passes_as_an_expectation(model: Model) -> None:
    for script in (FAILS, BOOM, {"planner": [{"raises": "boom"}]}):
        seen = observed(result_of(model, {}, script).run, model)
        scenario = Scenario(name="a", script=script, expect=seen)  # type: ignore[arg-type]
        result = run_scenario(scenario, model)
        assert result.mismatches == ()
    assert observed(result_of(model, {}, FAILS).run, model) == Expect.model_validate(
        {
            "path": ["planner", "fallback"],
            "final_node": "fallback",
            "termination_reason": "PLANNER_FAILED",
            "degraded": True,
            "evidence_retry_count": 0,
            "outcomes": ["FAILED", "COMPLETED"],
            "counters": {
                "planner_retry_count": 0,
                "verifier_retry_count": 0,
                "composer_retry_count": 0,
                "evidence_retry_count": 0,
            },
            "transitions": [{"from": "planner", "to": "fallback", "reason_code": "PLANNER_FAILED", "attempt": 1}],
        }
    )


def test_what_a_file_cannot_expect_is_left_out_of_what_was_observed() -> None:
    model = own_model("many")
    seen = observed(result_of(model, {}, {"say": ["hi"]}, graph="own").run, model)
    assert seen.to_map()["counters"] == {}
    assert not seen.gives("degraded")


def test_a_fake_that_waits_is_a_fault_of_the_house(model: Model) -> None:
    async def wait(state: Any, config: RunConfig) -> dict[str, Any]:
        await asyncio.sleep(0)
        return {}

    from diagnosis.scenarios import runner

    graph = model.graph.with_actions({"planner": wait})
    with pytest.raises(AssertionError, match="waited"):
        runner._run(graph, {})


def test_a_model_given_as_a_function_may_refuse() -> None:
    def nothing(name: str) -> Model:
        raise DefinitionError("there is nothing")

    with pytest.raises(DocumentError, match="graph: found the unknown graph 'diagnosis'; allowed: there is nothing"):
        case_of(Scenario(name="a"), nothing)


def test_a_case_made_in_code_needs_no_file(model: Model) -> None:
    scenario = Scenario.parse({"name": "a", "script": FAILS})
    case = Case(scenario, None, model, Script.of(scenario, model))
    assert run_case(case).to_json()["file"] is None
    assert Fakes(case.script, model).unused == ("planner[0]",)


def test_whatever_a_state_holds_can_be_given_as_json() -> None:
    from diagnosis.status import Verdict

    value = {
        1: [True, None, 2, 1.5, float("inf"), "x"],
        "member": Verdict.PASS,
        "date": datetime.date(2024, 1, 1),
        "tuple": (1,),
    }
    assert plain(value) == {
        "1": [True, None, 2, 1.5, "inf", "x"],
        "member": "PASS",
        "date": "2024-01-01",
        "tuple": [1],
    }
