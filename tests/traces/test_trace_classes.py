"""Each deviation has one class, its place, and what should have held."""

from __future__ import annotations

import dataclasses
import json

import pytest
from branched_models import drawn, voting
from graphs import retrying
from interleavings import replayed
from traces_made import DATA, changed, contract_checker, step

from diagnosis import check_traces, explore
from diagnosis.runtime import CompiledGraph, Model
from diagnosis.traces import CLASSES, TraceChecker, TraceFileError

NODES = "'planner', 'executor', 'gatekeeper', 'verified_input', 'verifier', 'composer', 'evidence_retry', 'fallback'"
KEYS = "'version', 'transitions', 'final_node', 'termination_reason', 'degraded', 'evidence_retry_count'"

SHIPPED = [
    ("attempt_is_a_text", "malformed", 0, "transitions[0].attempt is '1'; allowed: a whole number from 1"),
    (
        "from_a_newer_release",
        "version_skew",
        None,
        "the trace says version 2; traces of this graph have version 1",
    ),
    ("a_node_nobody_knows", "unknown_node", 1, f"'cache' is no node of the graph; nodes are {NODES}"),
    ("a_reason_nobody_knows", "unknown_reason", 1, "'EVIDENCE_CACHED' is no reason code of the graph"),
    (
        "the_gatekeeper_was_skipped",
        "illegal_edge",
        1,
        "no edge leads from executor to verified_input; from executor edges lead to 'fallback', 'gatekeeper'",
    ),
    (
        "three_times_the_planner",
        "limit_exceeded",
        1,
        "planner may not go to planner here: PLANNER_RETRY needs retry_count_below_1, which is false",
    ),
    (
        "gives_up_at_the_first_failure",
        "guard_violated",
        0,
        "planner may not go to fallback here: PLANNER_RETRY decides before PLANNER_RETRY_EXHAUSTED, because retryable "
        "and retry_count_below_1 hold",
    ),
    (
        "moved_on_for_no_reason",
        "reason_mismatch",
        1,
        "executor goes to gatekeeper here with 'EVIDENCE_COLLECTED', not with 'PLAN_READY'",
    ),
    ("counted_wrongly", "reason_mismatch", 4, "it is attempt 1 of verifier, not 2"),
    ("not_degraded_they_say", "summary_mismatch", None, "degraded is False, but by the transitions True"),
    (
        "a_third_look_at_the_evidence",
        "limit_exceeded",
        10,
        "verifier may not go to evidence_retry here: EVIDENCE_GAP needs evidence_retry_count_below_1, which is false",
    ),
    (
        "the_answer_is_missing",
        "incomplete",
        None,
        "the record stops at verifier with VERDICT_PASS, which leads on to 'composer'",
    ),
]


def test_the_shipped_deviations_are_found_one_each_with_place_and_detail():
    report = check_traces(contract_checker(), DATA / "deviating.jsonl")
    assert [(each.run_id, each.kind, each.at, each.detail) for each in report.deviations] == SHIPPED
    assert [each.line for each in report.deviations] == list(range(1, len(SHIPPED) + 1))
    assert {kind for kind, hits in report.by_class.items() if hits} == set(CLASSES)
    assert (report.log_faults, report.behaviour_faults) == (2, 10)


def test_the_conditions_that_should_have_held_are_named_as_coverage_names_them():
    report = check_traces(contract_checker(), DATA / "deviating.jsonl")
    assert {each.run_id: each.conditions for each in report.deviations if each.conditions} == {
        "three_times_the_planner": ("planner.PLANNER_RETRY.retry_count_below_1=T",),
        "gives_up_at_the_first_failure": ("planner.PLANNER_RETRY.retry_count_below_1=F",),
        "a_third_look_at_the_evidence": ("verifier.EVIDENCE_GAP.evidence_retry_count_below_1=T",),
    }


def test_the_shipped_conforming_traces_conform():
    for name, count in (("conforming.jsonl", 42), ("timed.jsonl", 4), ("one_trace.json", 1)):
        report = check_traces(contract_checker(), DATA / name)
        assert (report.conforming, report.checked, report.conforms) == (count, count, True), name


def found(trace):
    return [(finding.kind, finding.at) for finding in contract_checker().check(trace).findings]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda steps, trace: steps[2].update({"from": "planner"}), [("illegal_edge", 2)]),
        (lambda steps, trace: steps[0].update({"from": "executor"}), [("illegal_edge", 0)]),
        (lambda steps, trace: steps.pop(1), [("illegal_edge", 1)]),
        (lambda steps, trace: steps[1].update(to="__END__"), [("unknown_node", 1)]),
        (lambda steps, trace: trace.update(final_node="fallback"), [("summary_mismatch", None)]),
        (lambda steps, trace: trace.update(final_node="ghost"), [("unknown_node", None)]),
        (lambda steps, trace: trace.update(termination_reason="GHOST"), [("unknown_reason", None)]),
        (lambda steps, trace: trace.update(termination_reason="PLAN_READY"), [("summary_mismatch", None)]),
        (lambda steps, trace: trace.update(termination_reason="COMPOSER_RETRY"), [("incomplete", None)]),
        (lambda steps, trace: trace.update(evidence_retry_count=1), [("summary_mismatch", None)]),
        (lambda steps, trace: trace.update(degraded=0), [("summary_mismatch", None)]),
        (lambda steps, trace: trace.update(final_node=None), [("summary_mismatch", None)]),
        (lambda steps, trace: trace.update(version=1.0), [("malformed", None)]),
        (lambda steps, trace: trace.update(version=2, transitions=[{}]), [("malformed", 0)]),
        (lambda steps, trace: trace.update(version=2, events=[]), [("version_skew", None)]),
        (lambda steps, trace: trace.pop("degraded"), [("malformed", None)]),
        (lambda steps, trace: steps[3].pop("to"), [("malformed", 3)]),
        (lambda steps, trace: steps[3].update(note="x"), [("malformed", 3)]),
        (lambda steps, trace: steps[3].update(at="yesterday"), [("malformed", 3)]),
        (lambda steps, trace: trace.update(transitions=[]), [("summary_mismatch", None)]),
    ],
)
def test_the_first_class_that_fits_is_given(change, expected):
    assert found(changed(change)) == expected


def test_each_of_two_deviations_is_told_after_going_on_in_between():
    def twice(steps, trace):
        steps[1]["reason_code"] = "PLAN_READY"
        steps[4]["attempt"] = 2

    assert found(changed(twice)) == [("reason_mismatch", 1), ("reason_mismatch", 4)]


def test_a_deviation_does_not_hide_what_the_final_node_alone_settles():
    def both(steps, trace):
        steps[1]["reason_code"] = "PLAN_READY"
        trace["degraded"] = True

    assert found(changed(both)) == [("reason_mismatch", 1), ("summary_mismatch", None)]


def without_answer(steps, trace):
    steps.pop()
    trace.update(final_node="verifier", termination_reason="VERDICT_PASS")


def with_a_stranger(steps, trace):
    steps[1]["to"] = "x"
    steps.insert(2, step("x", "gatekeeper", "PLAN_READY"))


@pytest.mark.parametrize(
    ("change", "fitness"),
    [
        (lambda steps, trace: None, 1.0),
        # The gatekeeper is missing: one of five executions and the two of the shortest run.
        (lambda steps, trace: (steps[1].update(to="verified_input"), steps.pop(2)), 1 - 1 / 7),
        # The last one is missing.
        (
            lambda steps, trace: (steps.pop(), trace.update(final_node="verifier", termination_reason="VERDICT_PASS")),
            1 - 1 / 7,
        ),
        # A strange node too many.
        (
            lambda steps, trace: (steps.insert(2, step("x", "gatekeeper", "PLAN_READY")), steps[1].update(to="x")),
            1 - 1 / 9,
        ),
        # One execution in place of another: one out, one in.
        (lambda steps, trace: steps[0].update(reason_code="GHOST"), 1 - 2 / 8),
        (lambda steps, trace: trace.update(degraded=True), 1.0),
    ],
)
def test_fitness_counts_what_is_skipped_and_inserted(change, fitness):
    assert contract_checker().check(changed(change)).fitness == pytest.approx(fitness)


def test_a_run_that_failed_is_incomplete_and_says_where():
    trace = changed(lambda steps, trace: steps.pop())
    trace.update(final_node=None, termination_reason=None, degraded=None)
    finding = contract_checker().check(trace).findings[0]
    assert (finding.kind, finding.detail) == ("incomplete", "the run did not end: its record stops at verifier")
    assert found({"run_id": "r", "orchestration_trace": None}) == [("incomplete", None)]


def test_a_trace_with_many_strange_steps_is_explained_without_looking_at_everything():
    trace = changed(lambda steps, trace: steps.extend(steps * 2_000))
    result = contract_checker().check(trace)
    assert (result.findings[0].kind, result.findings[0].at, result.fitness) == ("illegal_edge", 5, None)


def fetcher(retries, ending=("give_up", "GAVE_UP"), **summary):
    steps = [step("fetch", "fetch", "RETRY")] * retries
    steps += [step("fetch", "give_up", "EXHAUSTED")] if ending[0] == "give_up" else []
    return {"version": 1, "transitions": steps, "final_node": ending[0], "termination_reason": ending[1], **summary}


def test_a_model_of_ones_own_is_checked_by_transitions_and_ending():
    checker = TraceChecker(retrying(limit=2))
    assert checker.check(fetcher(2)).conforms
    assert checker.check(fetcher(2, ("fetch", "FETCHED"))).conforms
    assert checker.check(fetcher(0, ("fetch", "FETCHED"))).conforms
    report = check_traces(checker, [fetcher(3), fetcher(1)])
    assert [(each.line, each.kind, each.at, each.conditions) for each in report.deviations] == [
        (1, "limit_exceeded", 2, ("fetch.RETRY.tries_left=T",)),
        (2, "guard_violated", 1, ("fetch.RETRY.tries_left=F",)),
    ]


def test_a_guard_that_reads_no_counter_is_no_limit():
    model = dataclasses.replace(retrying(limit=2), counters=())
    finding = TraceChecker(model).check(fetcher(3)).findings[0]
    assert (finding.kind, finding.at) == ("guard_violated", 2)


def test_a_summary_of_ones_own_is_checked_by_the_keys_that_it_reads():
    model = dataclasses.replace(
        retrying(limit=2), summary=lambda node, state: {"tries": state["tries"], "happy": node == "fetch"}
    )
    checker = TraceChecker(model)
    assert checker.check(fetcher(2, tries=2, happy=False)).conforms
    assert check_traces(checker, [json.dumps(fetcher(2, tries=2, happy=False))]).conforms
    for wrong in ({"tries": 1, "happy": False}, {"tries": 2, "happy": True}, {"tries": 2, "happy": 0}):
        assert [each.kind for each in checker.check(fetcher(2, **wrong)).findings] == ["summary_mismatch"], wrong
    assert [each.kind for each in checker.check(fetcher(2, tries=2)).findings] == ["malformed"]


def test_a_graph_that_cannot_be_explored_is_refused_before_anything_is_checked():
    with pytest.raises(TraceFileError, match="cannot be checked: the budget of 2 control states was used up"):
        TraceChecker(retrying(limit=9), max_states=2)


def row(limit):
    graph = drawn("START -> a", "a -> b", "b -> c", "c -> END", name="row").compile(recursion_limit=limit)
    return Model("row", graph, {name: {"ok": {}} for name in "abc"})


@pytest.mark.parametrize("stamped", [False, True])
def test_a_run_beyond_its_recursion_limit_deviates_where_it_should_have_stopped(stamped):
    trace = json.loads(json.dumps(row(3).trace_of(replayed(row(3), [(name, "ok") for name in "abc"]))))
    if stamped:
        trace["at"] = "2026-01-01T00:00:00Z"
        for each in trace["transitions"]:
            each["at"] = "2026-01-01T00:00:01Z"
    text = json.dumps(trace)
    assert check_traces(row(3), [text] * 600).conforming == 600
    for given in ([trace], [text], [text] * 600):
        report = check_traces(row(2), given)
        assert (report.conforming, report.deviating) == (0, len(given))
        assert {(each.kind, each.at) for each in report.deviations} == {("limit_exceeded", 1)}
        assert "3 node executions; the recursion limit of 2" in report.deviations[0].detail


def test_a_run_with_branches_is_counted_as_a_whole():
    model = voting(2)
    script = max(explore(model).scripts(), key=len)
    run = replayed(model, script)
    trace, count = json.loads(json.dumps(model.trace_of(run))), len(run.events)
    for limit in (count, count - 1):
        short = dataclasses.replace(model, graph=CompiledGraph(model.graph.definition, recursion_limit=limit))
        report = check_traces(short, [trace])
        assert [each.kind for each in report.deviations] == ["limit_exceeded"] * (limit < count)
        assert all(trace["transitions"][each.at]["to"] == run.events[limit].node for each in report.deviations)
        stopped = json.loads(json.dumps(short.trace_of(replayed(short, script, limit=limit))))
        assert {each.kind for each in check_traces(short, [stopped]).deviations} <= {"incomplete"}


@pytest.mark.parametrize(
    ("change", "kinds"), [({"attempt": 7}, ["limit_exceeded"]), ({"to": "a"}, ["illegal_edge"])], ids=str
)
def test_what_the_limit_forbids_has_the_first_class_that_fits(change, kinds):
    trace = json.loads(json.dumps(row(3).trace_of(replayed(row(3), [(name, "ok") for name in "abc"]))))
    trace["transitions"][1].update(change)
    found = TraceChecker(row(2)).check(trace).findings
    assert [finding.kind for finding in found if finding.at == 1] == kinds
