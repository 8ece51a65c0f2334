"""The command ``diagnosis trace``."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from diagnosis import cli

DATA = Path(__file__).parent.parent / "data" / "traces"


def call(*arguments, **options):
    return CliRunner().invoke(cli.app, ["trace", *map(str, arguments)], **options)


def test_conforming_traces_end_with_0_deviating_ones_with_1_and_unreadable_ones_with_2(tmp_path):
    assert call(DATA / "conforming.jsonl").exit_code == 0
    assert call(DATA / "deviating.jsonl").exit_code == 1
    assert call(DATA / "damaged.jsonl").exit_code == 2
    assert call(DATA / "conforming.jsonl", tmp_path / "none.jsonl").exit_code == 2
    (tmp_path / "empty.jsonl").write_bytes(b"\n\n")
    empty = call(tmp_path / "empty.jsonl")
    assert empty.exit_code == 2
    assert "nothing was found to check" in empty.stderr
    assert call().exit_code == 2


def test_json_is_the_documented_object():
    result = call(DATA / "deviating.jsonl", DATA / "conforming.jsonl", "--json")
    document = json.loads(result.stdout)
    counts = ("checked", "conforming", "deviating", "unreadable")
    assert list(document)[:5] == [*counts, "deviations"]
    assert [document[name] for name in counts] == [54, 42, 12, 0]
    assert document["deviations"][4] == {
        "file": str(DATA / "deviating.jsonl"),
        "line": 5,
        "run_id": "the_gatekeeper_was_skipped",
        "class": "illegal_edge",
        "at": 1,
        "detail": "no edge leads from executor to verified_input; from executor edges lead to 'fallback', 'gatekeeper'",
        "conditions": [],
        "item": None,
    }
    assert document["deviations"][1]["at"] is None
    assert document["outside"] == {"node cache": 1, "reason EVIDENCE_CACHED": 1}
    assert json.loads(call(DATA / "conforming.jsonl", "--json").stdout)["deviations"] == []


def test_each_deviation_stands_in_a_line_of_its_own():
    lines = call(DATA / "deviating.jsonl").stdout.splitlines()
    assert sum(line.startswith(f"{DATA / 'deviating.jsonl'}:") for line in lines) == 12
    assert lines[-1] == "12 checked, 0 conforming, 12 deviating, 0 unreadable, fitness 0.763"


def test_standard_input_is_read_by_the_name_of_a_dash():
    result = call("-", "--json", input=(DATA / "deviating.jsonl").read_bytes())
    assert result.exit_code == 1
    assert {each["file"] for each in json.loads(result.stdout)["deviations"]} == {"-"}


def test_what_the_data_says_cannot_command_the_terminal(tmp_path):
    (tmp_path / "x.jsonl").write_text(json.dumps({"run_id": "\x1b[2J", "orchestration_trace": 5}))
    assert "\x1b" not in call(tmp_path / "x.jsonl").stdout


@pytest.mark.parametrize("ending", ["xes", "csv"])
def test_an_event_log_is_written_by_its_ending(tmp_path, ending):
    target = tmp_path / f"log.{ending}"
    result = call(DATA / "timed.jsonl", DATA / "damaged.jsonl", "-o", target)
    assert f"events to {target}" in result.stdout.replace("\n", "")
    text = target.read_text(encoding="utf-8")
    if ending == "xes":
        assert len(ElementTree.fromstring(text).findall("{http://www.xes-standard.org/}trace")) == 5
    else:
        assert text.startswith("case,number,activity,")


def test_other_endings_and_several_graphs_are_refused(tmp_path):
    wrong = call(DATA / "timed.jsonl", "-o", tmp_path / "log.txt")
    assert (wrong.exit_code, "ends in .xes or .csv" in wrong.stderr) == (2, True)
    twice = call(DATA / "timed.jsonl", "--graph", "a=graphs:x", "--graph", "b=graphs:x")
    assert (twice.exit_code, "give it once" in twice.stderr) == (2, True)


def test_traces_of_a_graph_of_ones_own_are_checked_against_it(tmp_path, monkeypatch):
    from test_docs import block

    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "my_traced_graph.py").write_text(block("your-own-graph.md", "python"))
    step = {"from": "fetch", "to": "fetch", "reason_code": "RETRY", "attempt": 1}
    legal = {"version": 1, "transitions": [step], "final_node": "fetch", "termination_reason": "FETCHED"}
    (tmp_path / "mine.jsonl").write_text(json.dumps(legal))
    assert call("mine.jsonl", "--graph", "mine=my_traced_graph:model").exit_code == 0
    assert call("mine.jsonl").exit_code == 1
