"""Events in the state, and the trace that is built from nothing else."""

import json
from collections import UserDict
from types import MappingProxyType
from typing import Any

import pytest
from graph_ports import GOOD, Ports, arun, good, run

from diagnosis.runtime import DiagnosisError, History
from diagnosis.trace import (
    OrchestrationEvent,
    TraceError,
    build_trace,
    check_own,
    event_of,
    events_of,
    trace_of,
)

FIRST = OrchestrationEvent("planner", "INVALID_OUTPUT", "PLANNER_RETRY", 1)
SECOND = OrchestrationEvent("planner", "FAILED", "PLANNER_FAILED", 2)
LAST = OrchestrationEvent("fallback", "COMPLETED", "PLANNER_FAILED", 1)
EVENTS = [FIRST, SECOND, LAST]


def as_map(event: OrchestrationEvent) -> dict[str, Any]:
    return {name: getattr(event, name) for name in ("node", "outcome", "reason_code", "attempt")}


MAP = {
    "version": 1,
    "transitions": [
        {"from": "planner", "to": "planner", "reason_code": "PLANNER_RETRY", "attempt": 1},
        {"from": "planner", "to": "fallback", "reason_code": "PLANNER_FAILED", "attempt": 2},
    ],
    "final_node": "fallback",
    "termination_reason": "PLANNER_FAILED",
    "degraded": True,
    "evidence_retry_count": 0,
}


# --- events -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["node", "outcome", "reason_code"])
@pytest.mark.parametrize("value", ["", " ", "\n\t", "\u00a0", None, 1, b"planner", ["planner"]])
def test_an_event_with_a_blank_text_is_refused(field: str, value: Any) -> None:
    with pytest.raises(TraceError) as caught:
        OrchestrationEvent(**{**as_map(FIRST), field: value})
    assert str(caught.value) == f"an event's {field} must be a text that is not blank, found {value!r}"


@pytest.mark.parametrize("value", [0, -1, True, False, 1.0, "1", None])
def test_an_event_before_the_first_attempt_is_refused(value: Any) -> None:
    with pytest.raises(TraceError) as caught:
        OrchestrationEvent("planner", "COMPLETED", "PLAN_READY", value)
    assert str(caught.value) == f"an event's attempt must be a whole number from 1, found {value!r}"


def test_an_event_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        FIRST.attempt = 2  # type: ignore[misc]


@pytest.mark.parametrize("form", [dict, UserDict, MappingProxyType])
def test_a_mapping_of_the_four_fields_is_an_event(form: Any) -> None:
    assert event_of(form(as_map(FIRST))) == FIRST
    assert event_of(FIRST) is FIRST
    assert event_of(json.loads(json.dumps(as_map(FIRST)))) == FIRST


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "here: found NoneType; an event has exactly node, outcome, reason_code, attempt"),
        ("planner", "here: found str; an event has exactly node, outcome, reason_code, attempt"),
        ({}, "here: found a mapping of []; an event has exactly node, outcome, reason_code, attempt"),
        (
            {**as_map(FIRST), 1: 2},
            "here: found a mapping of ['1', 'attempt', 'node', 'outcome', 'reason_code']; "
            "an event has exactly node, outcome, reason_code, attempt",
        ),
        ({**as_map(FIRST), "node": " "}, "here: an event's node must be a text that is not blank, found ' '"),
        ({**as_map(FIRST), "attempt": 0}, "here: an event's attempt must be a whole number from 1, found 0"),
    ],
)
def test_what_is_no_event_is_refused_with_its_place(value: Any, text: str) -> None:
    with pytest.raises(TraceError) as caught:
        event_of(value, "here")
    assert str(caught.value) == text
    assert isinstance(caught.value, DiagnosisError)


def test_the_outcome_is_the_status_as_it_was_reported_or_the_verdict_as_it_was_lowered() -> None:
    found = run(gatekeeper=good("gatekeeper", gatekeeper_status="LOW_CONFID"))
    assert [event.outcome for event in found.state["orchestration_events"]] == [
        "COMPLETED",
        "COMPLETED",
        "LOW_CONFID",
        "COMPLETED",
        "LOW_CONFID",
        "COMPLETED",
    ]
    assert all(type(event.outcome) is str for event in found.state["orchestration_events"])


@pytest.mark.parametrize("node", ["planner", "executor", "gatekeeper", "verifier", "composer"])
def test_the_outcome_of_an_unknown_value_is_unknown(node: str) -> None:
    found = run(**{node: good(node, **{f"{node}_status": "completed"})})
    event = next(each for each in found.state["orchestration_events"] if each.node == node)
    assert (event.outcome, event.reason_code) == ("UNKNOWN", f"{node.upper()}_STATUS_UNKNOWN")


def test_an_unknown_verdict_is_an_unknown_outcome() -> None:
    found = run(verifier=good("verifier", effective_verdict="pass"))
    assert [event.outcome for event in found.state["orchestration_events"]][-2:] == ["UNKNOWN", "COMPLETED"]


def test_there_is_one_event_for_each_execution_and_the_fallback_repeats_the_reason() -> None:
    found = run(executor={"executor_status": "FAILED"})
    assert [as_map(event) for event in found.state["orchestration_events"]] == [
        {"node": "planner", "outcome": "COMPLETED", "reason_code": "PLAN_READY", "attempt": 1},
        {"node": "executor", "outcome": "FAILED", "reason_code": "EXECUTOR_FAILED", "attempt": 1},
        {"node": "fallback", "outcome": "COMPLETED", "reason_code": "EXECUTOR_FAILED", "attempt": 1},
    ]


# --- the trace ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [list, tuple, History])
@pytest.mark.parametrize("plain", [False, True])
def test_n_events_make_n_minus_1_transitions(form: Any, plain: bool) -> None:
    events = [as_map(each) for each in EVENTS] if plain else EVENTS
    trace = build_trace({"orchestration_events": form(events), "evidence_retry_count": 0})
    assert trace.to_map() == MAP


def test_the_map_has_the_order_and_spelling_of_the_contract() -> None:
    assert json.dumps(build_trace({"orchestration_events": EVENTS}).to_map()) == json.dumps(MAP)


def test_the_trace_of_a_state_that_went_through_json_is_the_same() -> None:
    found = run(planner={"planner_status": "FAILED"})
    events = [as_map(event) for event in found.state["orchestration_events"]]
    state = json.loads(json.dumps({"orchestration_events": events, "evidence_retry_count": 0}))
    assert build_trace(state).to_map() == trace_of(found)


def test_one_event_makes_no_transition() -> None:
    assert build_trace({"orchestration_events": [FIRST]}).to_map() == {
        "version": 1,
        "transitions": [],
        "final_node": "planner",
        "termination_reason": "PLANNER_RETRY",
        "degraded": False,
        "evidence_retry_count": 0,
    }


@pytest.mark.parametrize(
    ("final", "degraded"), [("fallback", True), ("composer", False), ("Fallback", False), ("planner", False)]
)
def test_degraded_is_true_exactly_when_the_final_node_is_the_fallback(final: str, degraded: bool) -> None:
    events = [LAST, OrchestrationEvent(final, "COMPLETED", "R", 1)]
    assert build_trace({"orchestration_events": events}).degraded is degraded


@pytest.mark.parametrize(("stored", "count"), [(0, 0), (1, 1), (None, 0)])
def test_the_evidence_retry_count_comes_from_the_state(stored: Any, count: int) -> None:
    assert build_trace({"orchestration_events": EVENTS, "evidence_retry_count": stored}).evidence_retry_count == count


def test_no_path_is_rebuilt_from_anything_but_the_events() -> None:
    state = {"orchestration_events": [FIRST, LAST], "planner_status": "COMPLETED", "planner_retry_count": 1}
    assert [each.to_map() for each in build_trace(state).transitions] == [
        {"from": "planner", "to": "fallback", "reason_code": "PLANNER_RETRY", "attempt": 1}
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "orchestration_events: found NoneType; allowed: a non-empty list of events"),
        ("planner", "orchestration_events: found str; allowed: a non-empty list of events"),
        (as_map(FIRST), "orchestration_events: found dict; allowed: a non-empty list of events"),
        (FIRST, "orchestration_events: found OrchestrationEvent; allowed: a non-empty list of events"),
        ([], "orchestration_events: found an empty list; a trace needs at least one event"),
        ((), "orchestration_events: found an empty list; a trace needs at least one event"),
        (History(), "orchestration_events: found an empty list; a trace needs at least one event"),
        (
            [FIRST, "planner"],
            "orchestration_events[1]: found str; an event has exactly node, outcome, reason_code, attempt",
        ),
        (
            [FIRST, SECOND, {**as_map(LAST), "attempt": 0}],
            "orchestration_events[2]: an event's attempt must be a whole number from 1, found 0",
        ),
    ],
)
def test_events_that_are_none_are_refused_with_what_and_where(value: Any, text: str) -> None:
    for refuse in (lambda: events_of(value), lambda: build_trace({"orchestration_events": value})):
        with pytest.raises(TraceError) as caught:
            refuse()
        assert str(caught.value) == text
    with pytest.raises(TraceError, match="found NoneType"):
        build_trace({})


def test_a_run_that_ended_is_traced_to_its_end() -> None:
    assert trace_of(run(planner=[{"planner_status": "INVALID_OUTPUT"}, {"planner_status": "FAILED"}])) == MAP
    good_run = trace_of(run())
    assert good_run is not None
    assert (good_run["final_node"], good_run["termination_reason"]) == ("composer", "ANSWER_COMPOSED")
    assert good_run["degraded"] is False
    assert len(good_run["transitions"]) == 5


def test_a_run_that_failed_keeps_the_trace_of_what_had_happened_and_tells_no_end() -> None:
    stopped = arun(Ports(gatekeeper=ValueError("no")).graph, check=False)
    assert trace_of(stopped) == {
        "version": 1,
        "transitions": [{"from": "planner", "to": "executor", "reason_code": "PLAN_READY", "attempt": 1}],
        "final_node": None,
        "termination_reason": None,
        "degraded": None,
        "evidence_retry_count": 0,
    }


def test_a_run_that_met_the_limit_keeps_the_trace_of_what_had_happened() -> None:
    stopped = arun(Ports().graph, recursion_limit=3, check=False)
    trace = trace_of(stopped)
    assert trace is not None
    assert [each["to"] for each in trace["transitions"]] == ["executor", "gatekeeper"]
    assert trace["final_node"] is None


def test_a_run_in_which_nothing_happened_has_no_trace() -> None:
    assert trace_of(arun(Ports(planner=ValueError("no")).graph, check=False)) is None


def test_the_error_of_a_run_is_not_in_its_trace() -> None:
    stopped = arun(Ports(executor=ValueError("a secret")).graph, check=False)
    assert "secret" not in json.dumps(trace_of(stopped))


def test_state_holds_no_second_copy_of_the_transitions() -> None:
    found = run()
    assert [key for key in found.state if "trace" in key or "transition" in key] == ["tool_trace_summary"]


def test_an_action_that_tells_the_truth_is_not_refused() -> None:
    assert check_own([FIRST], FIRST) is None
    assert check_own([as_map(FIRST)], FIRST) is None
    assert check_own([FIRST], SECOND) == (
        f"the event it reported, {FIRST}, is not what happened, {SECOND}; leave it out, the wrapper writes it"
    )


def test_good_reports_write_no_events_themselves() -> None:
    assert all("orchestration_events" not in report for report in GOOD.values())
