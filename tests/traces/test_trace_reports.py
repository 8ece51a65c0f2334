"""What a report tells beside deviations: routes, endings, durations, names outside the graph; and event logs."""

from __future__ import annotations

import csv
import io
import json
from xml.etree import ElementTree

import pytest
from branched_models import voting
from traces_made import DATA, changed, contract_checker, plain, straight, traces_of

from diagnosis import (
    check_traces,
    coverage_table,
    deviations_table,
    diagnosis_model,
    durations_table,
    event_log,
    load,
    measure,
    models,
    routes_table,
    run_suite,
    shipped_scenarios,
    trace_endings_table,
    trace_items,
    write_csv,
    write_xes,
)
from diagnosis.traces import SHOWN, TraceChecker, TraceFileError, documents
from diagnosis.views.display import bundle
from diagnosis.views.trace_tables import classes_table

XES = "{http://www.xes-standard.org/}"


def report_of(name):
    return check_traces(contract_checker(), DATA / name)


def test_transitions_and_endings_are_counted_the_same_in_the_short_way_and_the_long_way():
    short = report_of("conforming.jsonl")
    with (DATA / "conforming.jsonl").open("rb") as stream:
        long = check_traces(contract_checker(), documents(stream))
    assert short.transition_counts == long.transition_counts
    assert short.terminations == long.terminations
    assert sum(short.terminations.values()) == 42
    assert short.transition_counts["__START__", "planner", ""] == 42
    assert sum(hits for (_, target, _), hits in short.transition_counts.items() if target == "__END__") == 42


def test_traces_show_the_coverage_items_that_the_runs_behind_them_show():
    suite = run_suite(load([shipped_scenarios()], models()))
    recorded = {json.loads(line)["run_id"] for line in (DATA / "conforming.jsonl").read_text().splitlines()}
    runs = [result.run for result in suite.results if result.name in recorded]
    assert len(runs) == 42
    coverage = measure(diagnosis_model(), runs)
    items = report_of("conforming.jsonl").items
    for kind in SHOWN:
        hits = {name: count for name, count in coverage.hits(kind).items() if count}
        # A trace counts the reason that fallback repeats for the node that gave it only, as coverage does.
        assert {name: count for (each, name), count in items.items() if each == kind} == hits, kind


def test_the_items_of_each_trace_are_given_one_by_one():
    first, second, third = trace_items(contract_checker(), [straight(), {"no": "trace"}, straight()])
    assert first == third
    assert second == frozenset()
    assert ("route", "verifier.composer") in first
    assert ("edge", "composer->__END__") in first
    assert ("reason", "ANSWER_COMPOSED") in first


def test_traces_with_branches_show_the_items_that_their_runs_show():
    model = voting(3, read=True)
    ended, _, every = traces_of(model, 100)
    assert every
    items = check_traces(model, ended).items
    declared = {(item.kind, item.name) for item in measure(model, []).items if item.kind in SHOWN and item.feasible}
    assert set(items) == declared


def test_what_the_graph_does_not_have_is_told():
    assert report_of("deviating.jsonl").outside == {"node cache": 1, "reason EVIDENCE_CACHED": 1}
    model = voting(2)
    trace = traces_of(model, 1)[0][0]
    trace["events"][0]["outcome"] = "TIMED_OUT"
    report = check_traces(model, [trace])
    assert report.outside == {f"outcome {trace['events'][0]['node']}.TIMED_OUT": 1}
    assert [each.kind for each in report.deviations] == ["reason_mismatch"]


def test_durations_are_given_only_where_lines_carry_times():
    assert durations_table(report_of("conforming.jsonl")).empty
    table = durations_table(report_of("timed.jsonl"))
    assert list(table.columns) == ["node", "executions", "mean", "shortest", "longest"]
    planner = table[table["node"] == "planner"].iloc[0]
    assert (planner["executions"], planner["shortest"], planner["longest"]) == (6, 2.5, 3.25)
    # The last node of a chain has no transition that would tell when it was through.
    assert "composer" not in set(table["node"])


def test_times_may_be_texts_or_numbers_and_count_from_the_event_before():
    def timed(steps, trace):
        trace["at"] = 1_000
        for index, step in enumerate(steps):
            step["at"] = 1_001.5 + index if index != 2 else None

    result = contract_checker().check(changed(timed))
    assert result.conforms
    # Without the time of one transition, neither it nor the next can be timed.
    assert result.durations == (("planner", 1.5), ("executor", 1.0), ("verifier", 1.0))


@pytest.mark.parametrize("wrapped", [True, False])
def test_times_come_to_the_same_in_the_short_way_and_the_long_way(wrapped):
    def timed(steps, trace):
        for index, each in enumerate(steps):
            each["at"] = f"2026-11-30T10:00:0{index}.25+01:00" if index != 2 else None

    trace = changed(timed)
    lines = [{"run_id": "r", "orchestration_trace": trace} if wrapped else {"run_id": "r", **trace}] * 600
    lines = [{**line, "at": "2026-11-30T09:59:59+01:00"} for line in lines]
    short = check_traces(contract_checker(), [json.dumps(line) for line in lines])
    long = check_traces(contract_checker(), lines)
    assert (short.conforming, short.transition_counts) == (600, long.transition_counts)
    assert short.durations == long.durations
    assert [(node, each.count, each.mean) for node, each in short.durations.items()] == [
        ("planner", 600, 1.25),
        ("executor", 600, 1.0),
        ("verifier", 600, 1.0),
    ]


def test_tables_are_tidy_and_typed_even_when_empty():
    table = deviations_table(report_of("deviating.jsonl"))
    assert list(table["class"][:3]) == ["malformed", "version_skew", "unknown_node"]
    assert list(table["fault"][:3]) == ["log", "log", "behaviour"]
    assert table["at"].isna().tolist()[:3] == [False, True, False]
    empty = deviations_table(report_of("conforming.jsonl"))
    assert empty.empty
    assert dict(empty.dtypes) == dict(table.dtypes)
    assert classes_table(report_of("deviating.jsonl"))["deviations"].sum() == 12


def test_routes_come_most_frequent_first_with_their_share():
    table = routes_table(report_of("conforming.jsonl"))
    assert table["count"].is_monotonic_decreasing
    left = table[table["source"] == "planner"]
    assert left["share"].sum() == pytest.approx(1)
    ends = trace_endings_table(report_of("conforming.jsonl"))
    assert list(ends.iloc[0]) == ["ANSWER_COMPOSED", "composer", 16]
    assert set(coverage_table(measure(diagnosis_model(), []), "reason")["item"]) >= set(ends["termination_reason"])


def test_a_report_shows_itself_with_text_from_data_escaped():
    trace = changed(lambda steps, trace: steps[0].update(reason_code="<script>\u202e"))
    found = bundle(check_traces(contract_checker(), [{"run_id": "<b>", "orchestration_trace": trace}]))
    assert "<script>" not in found["text/html"]
    assert "&lt;script&gt;" in found["text/html"]
    assert "\u202e" not in found["text/html"]
    assert found["text/plain"].startswith("Traces of diagnosis: 1 checked, 0 conforming, 1 deviating, 0 unreadable")


# --- event logs -------------------------------------------------------------------------------------------------------


def test_an_event_log_as_csv_has_a_row_an_execution():
    stream = io.StringIO(newline="")
    count = write_csv(event_log(contract_checker(), [straight()]), stream)
    rows = list(csv.DictReader(io.StringIO(stream.getvalue())))
    assert (count, len(rows)) == (6, 6)
    assert rows[0] == {
        "case": "trace 1",
        "number": "0",
        "activity": "planner",
        "reason_code": "PLAN_READY",
        "attempt": "1",
        "outcome": "",
        "branch": "",
        "time": "1970-01-01T00:00:00.000+00:00",
        "stamp": "order",
    }
    assert (rows[5]["activity"], rows[5]["reason_code"], rows[5]["attempt"]) == ("composer", "ANSWER_COMPOSED", "")


def test_recorded_times_stand_in_the_log_and_others_are_labelled_as_an_order():
    with (DATA / "timed.jsonl").open("rb") as stream:
        events = list(event_log(contract_checker(), documents(stream)))
    assert {event.stamp for event in events if event.case == "straight_through"} == {"recorded"}
    assert events[0].time == "2026-11-30T09:00:02.500+00:00"
    events = list(event_log(contract_checker(), [straight(), straight()]))
    assert {event.stamp for event in events} == {"order"}
    times = [event.time for event in events]
    assert times == sorted(set(times))


def test_an_event_log_as_xes_is_well_formed_whatever_the_names_hold():
    name = 'a <b> & "c" \x00\x1b\n\ufffe\u202e'
    stream = io.StringIO()
    documents = [
        {"run_id": name, "orchestration_trace": straight()},
        {"run_id": name, "orchestration_trace": straight()},
    ]
    assert write_xes(event_log(contract_checker(), documents), stream, name=name) == 12
    log = ElementTree.fromstring(stream.getvalue())
    traces = log.findall(f"{XES}trace")
    assert [len(trace.findall(f"{XES}event")) for trace in traces] == [6, 6]
    shown = traces[0].find(f"{XES}string").get("value")
    assert shown == 'a <b> & "c" \\u0000\\u001b\n\\ufffe\u202e'
    event = traces[0].findall(f"{XES}event")[0]
    assert {(child.get("key"), child.get("value")) for child in event} == {
        ("concept:name", "planner"),
        ("time:timestamp", "1970-01-01T00:00:00.000+00:00"),
        ("diagnosis:stamp", "order"),
        ("diagnosis:reason_code", "PLAN_READY"),
        ("diagnosis:attempt", "1"),
    }


def test_an_event_log_of_branches_tells_branch_and_outcome():
    model = voting(2)
    trace = plain(traces_of(model, 1)[0][0])
    events = list(event_log(TraceChecker(model), [trace]))
    assert [event.activity for event in events] == [event["node"] for event in trace["events"]]
    assert [event.branch for event in events] == [event["branch"] for event in trace["events"]]
    assert {event.outcome for event in events} == {event["outcome"] for event in trace["events"]}


def test_a_document_that_is_no_trace_is_refused_by_an_event_log_or_left_out():
    with pytest.raises(TraceFileError, match="trace 2 cannot be exported: found 3"):
        list(event_log(contract_checker(), [straight(), 3]))
    assert len(list(event_log(contract_checker(), [straight(), 3], strict=False))) == 6


def test_the_report_as_json_has_the_documented_keys_first():
    document = json.loads(json.dumps(report_of("deviating.jsonl").to_json()))
    assert list(document)[:5] == ["checked", "conforming", "deviating", "unreadable", "deviations"]
    assert list(document["deviations"][0])[:6] == ["file", "line", "run_id", "class", "at", "detail"]
