"""Legal traces conform and no others do, for the Chat Diagnosis graph and for random graphs with branches."""

from __future__ import annotations

import copy
import json
from functools import cache

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_forks import forked_terms, model_of
from traces_made import contract_checker, legal_texts, traces_of

from diagnosis import check_traces
from diagnosis.traces import TraceChecker


def test_every_legal_trace_of_the_contract_graph_conforms():
    # 10,903 scripts, of which a trace shows no outcomes.
    assert len(legal_texts()) == 445
    report = check_traces(contract_checker(), legal_texts())
    assert (report.conforming, report.checked, report.fitness) == (445, 445, 1.0)
    assert all(contract_checker().check(json.loads(text)).conforms for text in legal_texts())


NODES = [
    "planner",
    "executor",
    "gatekeeper",
    "verifier",
    "composer",
    "evidence_retry",
    "fallback",
    "ghost",
    "",
    None,
    3,
]
REASONS = ["PLAN_READY", "PLANNER_RETRY", "PLANNER_RETRY_EXHAUSTED", "PLANNER_FAILED", "EVIDENCE_GAP", "VERDICT_PASS"]
REASONS += ["COMPOSER_RETRY", "ANSWER_COMPOSED", "COMPOSER_FAILED", "NO_SUCH_REASON", " ", None]
VALUES = {
    "from": NODES,
    "to": NODES,
    "reason_code": REASONS,
    "attempt": [1, 2, 3, 0, True, 1.0, "1", None],
    "final_node": NODES,
    "termination_reason": REASONS,
    "degraded": [True, False, 0, 1, None, "false"],
    "evidence_retry_count": [0, 1, 2, False, True, 0.0, None, "0"],
    "version": [1, 2, True, 1.0, "1", None],
    "transitions": [[], None, {}, "x"],
}


def one_edit(draw, trace):
    """Change one thing of a trace."""
    trace = copy.deepcopy(trace)
    steps = trace["transitions"]
    kind = draw(st.sampled_from(["value", "value", "drop", "double", "swap", "lose", "add", "summary"]))
    where = draw(st.integers(0, max(0, len(steps) - 1)))
    if kind == "summary" or not steps:
        key = draw(st.sampled_from([key for key in VALUES if key in trace]))
        trace[key] = draw(st.sampled_from(VALUES[key]))
    elif kind == "value":
        key = draw(st.sampled_from(sorted(steps[where].keys() & VALUES.keys())))
        steps[where][key] = draw(st.sampled_from(VALUES[key]))
    elif kind == "drop":
        del steps[where]
    elif kind == "double":
        steps.insert(where, copy.deepcopy(steps[where]))
    elif kind == "swap":
        steps[where - 1], steps[where] = steps[where], steps[where - 1]
    elif kind == "lose":
        holder = draw(st.sampled_from([trace, steps[where]]))
        del holder[draw(st.sampled_from(sorted(holder)))]
    else:
        draw(st.sampled_from([trace, steps[where]]))["surprise"] = 1
    return trace


@cache
def legal_keys():
    return {key(json.loads(text)) for text in legal_texts()}


def key(trace):
    """Tell values of different types apart, but not the order of keys."""
    return json.dumps(trace, sort_keys=True)


@settings(max_examples=400)
@given(st.data())
def test_a_single_edit_is_reported_exactly_when_it_leaves_the_legal_traces(data):
    legal = legal_keys()
    trace = one_edit(data.draw, json.loads(data.draw(st.sampled_from(legal_texts()))))
    result = contract_checker().check(trace)
    assert result.conforms == (key(trace) in legal), (trace, result.findings)
    # The short way and the long way are of one opinion, wherever the trace stands.
    for text in (json.dumps(trace), json.dumps({"run_id": "x", "orchestration_trace": trace}, indent=1)):
        report = check_traces(contract_checker(), [text.encode()])
        assert report.conforming == result.conforms
        assert [(each.kind, each.at) for each in report.deviations] == [
            (each.kind, each.at) for each in result.findings
        ]


@settings(max_examples=50, suppress_health_check=list(HealthCheck))
@given(forked_terms())
def test_runs_of_random_graphs_with_branches_conform(terms):
    model = model_of(terms)
    ended, stopped, _ = traces_of(model, 25)
    checker = TraceChecker(model)
    for trace in ended:
        result = checker.check(trace)
        assert result.conforms, (trace, result.findings)
        assert result.fitness == 1.0
    for trace in stopped:
        assert {finding.kind for finding in checker.check(trace).findings} == {"incomplete"}


def branch_edit(draw, trace):
    """Change one thing of a trace of version 2."""
    trace = copy.deepcopy(trace)
    nodes = sorted({event["node"] for event in trace["events"]} | {"ghost"})
    branches = sorted({event["branch"] for event in trace["events"]} | {"other[0]"})
    values = {
        "node": nodes,
        "from": nodes,
        "to": nodes,
        "outcome": ["COMPLETED", "ODD"],
        "attempt": [1, 2],
        "branch": branches,
        "reason_code": sorted({step["reason_code"] for step in trace["transitions"]} | {"ODD"}),
        "after": [0, 1, [0], [], [0, 1], 99],
    }
    holder = draw(st.sampled_from([*trace["events"], *trace["transitions"]]))
    name = draw(st.sampled_from(sorted(holder)))
    kind = draw(st.sampled_from(["value", "value", "drop", "swap"]))
    rows = trace["events"] if any(holder is each for each in trace["events"]) else trace["transitions"]
    where = next(place for place, each in enumerate(rows) if each is holder)
    if kind == "value":
        holder[name] = draw(st.sampled_from(values[name]))
    elif kind == "drop":
        del rows[where]
    else:
        rows[where - 1], rows[where] = rows[where], rows[where - 1]
    return trace


@settings(max_examples=80, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_single_edit_of_a_trace_with_branches_is_reported_when_it_leaves_the_legal_traces(data):
    model = model_of(data.draw(forked_terms()))
    ended, _, every = traces_of(model, 25)
    if not every or not ended:
        return
    legal = {key(trace) for trace in ended}
    trace = branch_edit(data.draw, data.draw(st.sampled_from(ended)))
    result = TraceChecker(model).check(trace)
    assert result.conforms == (key(trace) in legal), (trace, result.findings)
