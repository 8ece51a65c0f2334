"""The retry wrapper: counters, ceiling, verdict, answers, and the run's start."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest
from graph_ports import GAP, GOOD, Ports, arun, events, failed, good, run

from diagnosis.catalog import diagnosis_model
from diagnosis.factory import EXIT
from diagnosis.runtime import EffectError, Executed, InputError, LimitError, OwnershipError, Position, RunConfig
from diagnosis.state import KEYS
from diagnosis.status import GatekeeperStatus, PlannerMode, PlannerStatus, Verdict

STEP = diagnosis_model().graph.step
FAILING = ("INVALID_OUTPUT", "RETRYABLE_FAILED")
LOW = good("verifier", effective_verdict="LOW_CONFID", verifier_output=GAP)


def entered(node: str, **given: Any) -> tuple[Mapping[str, Any], int]:
    state = {**STEP.begin({"run_id": "r"})[1], **given}
    made = STEP.enter(Position(node), state)
    return made.view, made.attempt


def left(node: str, report: Mapping[str, Any], **given: Any) -> tuple[Mapping[str, Any], str, str]:
    """The state after a node, where the graph goes and why."""
    state = {**STEP.begin({"run_id": "r"})[1], **given}
    position, after, event, _ = STEP.leave(Position(node, "BECAUSE"), state, report)
    return after, position.node, event.outcome


# --- the start ----------------------------------------------------------------------------------------------------


def test_a_run_starts_clean_with_all_26_keys() -> None:
    position, state = STEP.begin({"run_id": "r"})
    assert position == Position("planner", None)
    assert state == {
        **dict.fromkeys(KEYS),
        "run_id": "r",
        "planner_mode": PlannerMode.INITIAL,
        "planner_retry_count": 0,
        "verifier_retry_count": 0,
        "composer_retry_count": 0,
        "evidence_retry_count": 0,
        "orchestration_events": [],
    }
    assert list(state) == list(KEYS)
    assert len(state) == 26


def test_the_input_is_kept_and_the_thread_is_named_after_the_run() -> None:
    found = run({"run_id": "r", "session_id": "s", "user_query": "why?"})
    assert [found.state[key] for key in ("run_id", "session_id", "user_query")] == ["r", "s", "why?"]
    assert found.config.thread_id == "r"


@pytest.mark.parametrize("values", [None, {}, {"user_query": "why?"}, {"run_id": None}])
def test_an_absent_run_id_is_made_anew_each_time(values: dict[str, Any] | None) -> None:
    graph = Ports().graph
    first, second = arun(graph, values), arun(graph, values)
    assert isinstance(first.state["run_id"], str)
    assert first.state["run_id"].strip()
    assert first.state["run_id"] != second.state["run_id"]
    assert first.config.thread_id == first.state["run_id"]


def test_a_thread_of_ones_own_is_kept_and_a_new_run_on_it_starts_clean() -> None:
    ports = Ports(planner=[{"planner_status": "INVALID_OUTPUT"}, GOOD["planner"]])
    graph = ports.graph
    first = arun(graph, {"run_id": "a"}, config=RunConfig(thread_id="t"))
    second = arun(graph, {"run_id": "b"}, config=RunConfig(thread_id="t"))
    assert (first.config.thread_id, second.config.thread_id) == ("t", "t")
    assert (first.state["planner_retry_count"], second.state["planner_retry_count"]) == (1, 0)
    assert len(second.state["orchestration_events"]) == 6
    assert [config.thread_id for _, _, config in ports.calls] == ["t"] * 13


@pytest.mark.parametrize("key", [*(key for key in KEYS if key not in ("run_id", "session_id", "user_query")), "else"])
def test_any_other_input_is_refused_by_name(key: str) -> None:
    with pytest.raises(InputError, match=rf"holds '{key}'; it takes 'run_id', 'session_id', 'user_query'"):
        run({"user_query": "why?", key: None})


@pytest.mark.parametrize("key", ["run_id", "session_id", "user_query"])
@pytest.mark.parametrize("value", [1, b"r", ["r"], {"r": 1}, True])
def test_an_input_that_is_no_text_is_refused_by_name(key: str, value: object) -> None:
    with pytest.raises(InputError, match=f"'{key}' must be a str, found {type(value).__name__}"):
        run({key: value})


@pytest.mark.parametrize("values", ["run_id", ["run_id"], 1])
def test_an_input_that_is_no_mapping_is_refused(values: Any) -> None:
    with pytest.raises(InputError, match="is a mapping from key to value"):
        run(values)


# --- technical retries --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("node", ["planner", "verifier", "composer"])
@pytest.mark.parametrize("status", FAILING)
def test_the_first_failure_is_retried_and_the_second_falls_back(node: str, status: str) -> None:
    ports = Ports(**{node: {f"{node}_status": status}})
    found = arun(ports.graph)
    upper = node.upper()
    assert events(found)[-3:] == [
        (node, status, f"{upper}_RETRY", 1),
        (node, status, f"{upper}_RETRY_EXHAUSTED", 2),
        ("fallback", "COMPLETED", f"{upper}_RETRY_EXHAUSTED", 1),
    ]
    assert found.state[f"{node}_retry_count"] == 1
    assert found.state["evidence_retry_count"] == 0
    assert ports.seen(node, f"{node}_retry_count") == [0, 1]
    assert ports.attempts(node) == [1, 2]


@pytest.mark.parametrize("node", ["planner", "verifier", "composer"])
def test_a_second_try_may_succeed_and_keeps_its_count(node: str) -> None:
    found = run(**{node: [{f"{node}_status": "RETRYABLE_FAILED"}, GOOD[node]]})
    assert found.final_node == "composer"
    assert [each[3] for each in events(found) if each[0] == node] == [1, 2]
    assert found.state[f"{node}_retry_count"] == 1


@pytest.mark.parametrize("node", ["planner", "verifier", "composer"])
@pytest.mark.parametrize("status", ["COMPLETED", "FAILED", None, "???", " INVALID_OUTPUT", True])
def test_entering_counts_nothing_unless_the_status_is_retryable(node: str, status: Any) -> None:
    state, attempt = entered(node, **{f"{node}_status": status, f"{node}_retry_count": 0})
    assert (state[f"{node}_retry_count"], attempt) == (0, 1)


@pytest.mark.parametrize("node", ["planner", "verifier", "composer"])
def test_a_null_counter_counts_from_0(node: str) -> None:
    state, attempt = entered(node, **{f"{node}_status": "INVALID_OUTPUT", f"{node}_retry_count": None})
    assert (state[f"{node}_retry_count"], attempt) == (1, 2)


@pytest.mark.parametrize("node", ["planner", "verifier", "composer"])
@pytest.mark.parametrize("garbage", [True, False, -1, "0", 0.0, [], {}])
@pytest.mark.parametrize("status", ["INVALID_OUTPUT", "COMPLETED"])
def test_a_garbage_counter_stays_as_it_is_and_is_attempt_2(node: str, garbage: Any, status: str) -> None:
    state, attempt = entered(node, **{f"{node}_status": status, f"{node}_retry_count": garbage})
    assert state[f"{node}_retry_count"] is garbage
    assert attempt == 2


@pytest.mark.parametrize("node", ["executor", "gatekeeper", "verified_input", "evidence_retry", "fallback"])
def test_the_other_nodes_have_no_second_attempt(node: str) -> None:
    given = {f"{each}_status": "INVALID_OUTPUT" for each in ("planner", "verifier", "composer", "executor")}
    before = {**STEP.begin({"run_id": "r"})[1], **given}
    _, _, state, attempt = STEP.enter(Position(node), before)
    assert state == before
    assert attempt == 1


@pytest.mark.parametrize("status", [*FAILING, "FAILED"])
def test_the_executor_is_never_retried(status: str) -> None:
    found = run(executor={"executor_status": status})
    assert found.path == ("planner", "executor", "fallback")


def test_evidence_is_retried_once_and_the_counters_of_the_rounds_are_reset_where_they_should() -> None:
    ports = Ports(
        planner=[
            {"planner_status": "INVALID_OUTPUT"},
            GOOD["planner"],
            {"planner_status": "INVALID_OUTPUT"},
            GOOD["planner"],
        ],
        verifier=[{"verifier_status": "INVALID_OUTPUT"}, LOW, {"verifier_status": "RETRYABLE_FAILED"}, LOW],
        composer=[{"composer_status": "INVALID_OUTPUT"}, GOOD["composer"]],
    )
    found = arun(ports.graph)
    assert found.path == (
        *("planner", "planner", "executor", "gatekeeper", "verified_input", "verifier", "verifier", "evidence_retry"),
        *("planner", "planner", "executor", "gatekeeper", "verified_input", "verifier", "verifier"),
        *("composer", "composer"),
    )
    assert ports.seen("planner", "planner_retry_count") == [0, 1, 0, 1]
    assert ports.seen("planner", "planner_mode") == ["INITIAL", "INITIAL", "EVIDENCE_GAP_ONLY", "EVIDENCE_GAP_ONLY"]
    assert ports.seen("verified_input", "verifier_retry_count") == [0, 1]
    assert ports.seen("verifier", "verifier_retry_count") == [0, 1, 0, 1]
    assert ports.seen("executor", "evidence_retry_count") == [0, 1]
    assert {key: found.state[key] for key in found.state if key.endswith("_count")} == {
        "planner_retry_count": 1,
        "verifier_retry_count": 1,
        "composer_retry_count": 1,
        "evidence_retry_count": 1,
    }
    assert [reason for node, _, reason, _ in events(found) if node == "verifier"] == [
        "VERIFIER_RETRY",
        "EVIDENCE_GAP",
        "VERIFIER_RETRY",
        "VERDICT_LOW_CONFID",
    ]


def test_a_run_that_falls_back_early_in_round_two_still_shows_round_ones_verifier_count() -> None:
    found = run(
        planner=[GOOD["planner"], {"planner_status": "FAILED"}],
        verifier=[{"verifier_status": "INVALID_OUTPUT"}, LOW],
    )
    assert found.path[-3:] == ("evidence_retry", "planner", "fallback")
    assert found.state["verifier_retry_count"] == 1
    assert found.state["planner_mode"] is PlannerMode.EVIDENCE_GAP_ONLY


def test_the_completed_status_of_round_one_is_no_retry_in_round_two() -> None:
    ports = Ports(verifier=[LOW, GOOD["verifier"]])
    arun(ports.graph)
    assert ports.attempts("planner") == [1, 1]
    assert ports.attempts("verifier") == [1, 1]


@pytest.mark.parametrize("garbage", [True, -1, "1", []])
def test_verified_input_and_evidence_retry_reset_garbage_too(garbage: Any) -> None:
    after, _, _ = left("verified_input", {}, verifier_retry_count=garbage)
    assert after["verifier_retry_count"] == 0
    after, _, _ = left("evidence_retry", {}, planner_retry_count=garbage, evidence_retry_count=garbage)
    assert after["planner_retry_count"] == 0
    assert after["evidence_retry_count"] is garbage
    after, _, _ = left("evidence_retry", {}, evidence_retry_count=None)
    assert after["evidence_retry_count"] == 1


# --- ceiling and verdict ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "ceiling"),
    [
        ("PASS", Verdict.PASS),
        ("LOW_CONFID", Verdict.LOW_CONFID),
        (GatekeeperStatus.PASS, Verdict.PASS),
        (GatekeeperStatus.LOW_CONFID, Verdict.LOW_CONFID),
        ("REJECT", None),
        (GatekeeperStatus.REJECT, None),
        (Verdict.PASS, None),
        ("pass", None),
        (" PASS", None),
        (None, None),
        (True, None),
        (["PASS"], None),
    ],
)
def test_the_ceiling_is_derived_from_the_gatekeepers_status(status: Any, ceiling: Verdict | None) -> None:
    after, _, _ = left("gatekeeper", {"gatekeeper_status": status}, verifier_verdict_ceiling=Verdict.PASS)
    assert after["verifier_verdict_ceiling"] is ceiling


WORSE = {"PASS": 0, "LOW_CONFID": 1, "REJECT": 2}
REPORTED: tuple[Any, ...] = ("PASS", "LOW_CONFID", "REJECT", "???", None, Verdict.PASS, GatekeeperStatus.PASS, "pass")
CEILINGS: tuple[Any, ...] = (Verdict.PASS, Verdict.LOW_CONFID, Verdict.REJECT, None, "PASS", "REJECT", "???")
STATUSES: tuple[Any, ...] = ("COMPLETED", *FAILING, "FAILED", "???", None, PlannerStatus.COMPLETED)


@pytest.mark.parametrize(("reported", "ceiling", "status"), list(product(REPORTED, CEILINGS, STATUSES)))
def test_the_verdict_never_ranks_above_the_ceiling(reported: Any, ceiling: Any, status: Any) -> None:
    known = reported if isinstance(reported, str) and type(reported) in (str, Verdict) and reported in WORSE else None
    highest = ceiling if ceiling in WORSE else None
    if status != "COMPLETED" or type(status) is PlannerStatus:
        expected = None
    elif known is None:
        expected = reported
    elif highest is None:
        expected = None
    else:
        expected = max(known, highest, key=WORSE.__getitem__)
    after, _, outcome = left(
        "verifier", {"verifier_status": status, "effective_verdict": reported}, verifier_verdict_ceiling=ceiling
    )
    assert after["effective_verdict"] == expected
    if expected is not None and known is None:
        assert after["effective_verdict"] is reported
    if status == "COMPLETED" and type(status) is str:
        assert outcome == (expected if known is not None and highest is not None else "UNKNOWN")


def test_the_verdict_for_the_reader_decides_nothing() -> None:
    found = run(verifier=good("verifier", effective_verdict=None, verifier_output={"verdict": "PASS"}))
    assert found.reason == "VERDICT_UNKNOWN"
    found = run(verifier=good("verifier", verifier_output={"verdict": "REJECT"}))
    assert found.reason == "ANSWER_COMPOSED"


def test_a_second_visit_never_decides_on_what_a_first_visit_left() -> None:
    found = run(verifier=[LOW, {"verifier_status": "COMPLETED"}])
    assert found.reason == "VERDICT_UNKNOWN"
    assert found.state["effective_verdict"] is None
    assert found.state["verifier_output"] is None


@pytest.mark.parametrize("node", GOOD)
def test_an_owned_key_that_is_left_out_becomes_null(node: str) -> None:
    owned = dict.fromkeys(GOOD[node], "old")
    if node == "fallback":
        return
    after, _, _ = left(node, {}, **owned, planner_mode="old", run_id="old")
    assert {key: after[key] for key in owned} == dict.fromkeys(owned)
    assert (after["planner_mode"] in ("old", "EVIDENCE_GAP_ONLY"), after["run_id"]) == (True, "old")
    assert len(after["orchestration_events"]) == 1


def test_an_unknown_value_stays_as_it_was_reported() -> None:
    found = run(planner={"planner_status": " completed "})
    assert found.state["planner_status"] == " completed "
    assert events(found)[0] == ("planner", "UNKNOWN", "PLANNER_STATUS_UNKNOWN", 1)
    found = run(verifier=good("verifier", effective_verdict={"PASS": 1}))
    assert found.state["effective_verdict"] == {"PASS": 1}


# --- answers ------------------------------------------------------------------------------------------------------

BLANK: tuple[Any, ...] = (None, "", "  ", "\n\t\u00a0\u2003", 1, True, b"text", ["text"], {"text": 1})


@pytest.mark.parametrize("answer", BLANK)
def test_a_completed_composer_without_an_answer_is_stored_as_invalid_output(answer: Any) -> None:
    found = run(composer=[good("composer", final_answer=answer), GOOD["composer"]])
    assert events(found)[-2:] == [
        ("composer", "INVALID_OUTPUT", "COMPOSER_RETRY", 1),
        ("composer", "COMPLETED", "ANSWER_COMPOSED", 2),
    ]
    stopped = found.states[-2]
    assert (stopped["composer_status"], stopped["final_answer"]) == ("INVALID_OUTPUT", None)
    assert stopped["composer_output"] == {}


@pytest.mark.parametrize("status", [*FAILING, "FAILED", "???", None, PlannerStatus.COMPLETED])
def test_an_answer_stays_only_when_the_composer_completed(status: Any) -> None:
    after, _, _ = left("composer", good("composer", composer_status=status))
    assert after["final_answer"] is None
    assert after["composer_status"] == status
    after, target, _ = left("composer", GOOD["composer"])
    assert (after["final_answer"], target) == ("because", "__END__")


def test_an_unfinished_answer_never_reaches_the_fallback() -> None:
    ports = Ports(composer=good("composer", composer_status="FAILED"))
    found = arun(ports.graph)
    assert ports.seen("fallback", "final_answer") == [None]
    assert found.state["final_answer"] == "sorry"


@pytest.mark.parametrize("answer", BLANK)
def test_a_fallback_without_an_answer_is_an_error(answer: Any) -> None:
    error = failed(planner={}, fallback={"final_answer": answer})
    assert isinstance(error, EffectError)
    assert error.node == "fallback"
    assert "final_answer is" in str(error)
    assert "the fallback must answer with a non-blank text" in str(error)
    assert error.path == ("planner",)
    assert failed(planner={}, fallback={}).node == "fallback"


# --- the limit ----------------------------------------------------------------------------------------------------


def test_ending_at_the_limit_is_no_error_and_one_more_execution_is() -> None:
    graph = Ports().graph
    assert arun(graph, recursion_limit=6).ended
    stopped = arun(graph, recursion_limit=5, check=False)
    assert (stopped.stop, len(stopped.events)) == ("limit", 5)
    assert isinstance(stopped.error, LimitError)
    assert "recursion limit of 5 node executions, and 'composer' would come next" in str(stopped.error)
    with pytest.raises(LimitError):
        arun(graph, recursion_limit=1)


def test_the_wrapper_is_all_that_stands_between_an_action_and_the_counters() -> None:
    error = failed(planner=good("planner", planner_retry_count=0))
    assert isinstance(error, OwnershipError)
    assert set(EXIT) == {"gatekeeper", "verified_input", "verifier", "composer", "evidence_retry", "fallback"}


def test_the_steps_of_a_run_show_the_state_before_the_entry_update() -> None:
    found = run(planner=[{"planner_status": "INVALID_OUTPUT"}, GOOD["planner"]])
    second: Executed = found.steps[1]
    assert (second.before["planner_retry_count"], second.after["planner_retry_count"]) == (0, 1)
