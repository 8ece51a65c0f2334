"""``diagnosis flow`` and ``diagnosis odds``: exit status, JSON and width."""

from __future__ import annotations

import json
import sys

import pytest
from click.testing import CliRunner

from diagnosis import cli

GRAPH = """
from diagnosis import END, START, Barrier, Boundary, Model, Replace, StateGraph

def built(copies):
    graph = StateGraph({"found": Replace(), "answer": Replace()}, name="small")
    graph.add_node("search", lambda state: {}, kind="agent", owns=["found"])
    graph.add_node("answer", lambda state: {}, kind="code", owns=["answer"])
    graph.add_edge(START, "search").add_edge("search", "answer").add_edge("answer", END)
    return Model(
        "small",
        graph.compile(),
        {"search": {"a": {"found": "text"}, "b": {"found": "more"}}, "answer": {"done": {"answer": "x"}}},
        boundary=Boundary(
            barriers=(Barrier("clean", "What is found is not told.", sinks="answer"),),
            real={"answer": lambda state: {"answer": state["found"] if copies else "fixed"}},
        ),
    )

leaking, clean = built(True), built(False)
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flow_graphs.py").write_text(GRAPH)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("flow_graphs", None)


def call(*arguments: str):
    return CliRunner().invoke(cli.app, list(arguments))


def test_a_broken_barrier_fails_with_its_script():
    result = call("flow", "flow_graphs:leaking")
    assert result.exit_code == 1
    assert "broken" in result.stdout
    assert "search=a > answer=done" in result.stdout


def test_barriers_that_hold_succeed_and_say_what_is_shown():
    result = call("flow", "flow_graphs:clean", "--scripts")
    assert result.exit_code == 0, result.output
    assert "not shown: paraphrase" in result.stdout


def test_flow_gives_one_json_document():
    document = json.loads(call("flow", "flow_graphs:leaking", "--json").stdout)
    assert document["holds"] is False
    assert document["barriers"][0]["script"] == [["search", "a"], ["answer", "done"]]
    assert {"source": "search.found", "node": "answer", "key": "answer",
            "script": [["search", "a"], ["answer", "done"]]} in document["flows"]  # fmt: skip


def test_odds_from_a_file_are_exact(here):
    (here / "odds.yaml").write_text("outcomes: {search: {a: 0.1, b: 0.9}}\n")
    result = call("odds", "flow_graphs:clean", "--odds", "odds.yaml", "--vary", "search=a", "--grid", "0,1/3", "--json")
    document = json.loads(result.stdout)
    assert result.exit_code == 0
    assert document["assumed_uniform"] == []
    assert document["expected_model_calls"] == {"exact": "1", "value": 1.0}
    assert [point["share"]["exact"] for point in document["grid"]] == ["0", "1/3"]
    assert document["endings"][0]["exact"] == "1"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("outcomes: {search: {a: 0.1}}", "a sum of 1/10"),
        ("outcome: {}", "found 'outcome'"),
        ("[]", "found"),
        ("model_calls: nobody", "found 'nobody'"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_by_name(here, text, told):
    (here / "odds.yaml").write_text(text)
    result = call("odds", "flow_graphs:clean", "--odds", "odds.yaml")
    assert result.exit_code == 2
    assert "odds.yaml" in result.stderr
    assert told in result.stderr


def test_what_to_vary_is_checked():
    assert call("odds", "flow_graphs:clean", "--vary", "search").exit_code == 2
    assert call("odds", "flow_graphs:clean", "--vary", "search=c").exit_code == 2
    assert call("odds", "flow_graphs:clean", "--vary", "search=a", "--grid", "2").exit_code == 2


def test_odds_are_drawn(here):
    assert call("odds", "flow_graphs:clean", "-o", "odds.svg").exit_code == 0
    assert "a run" in (here / "odds.svg").read_text()


@pytest.mark.parametrize("arguments", [("flow", "flow_graphs:leaking"), ("odds", "--vary", "planner=FAILED")])
def test_tables_fit_80_columns(arguments, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = call(*arguments).stdout.splitlines()
    assert all(len(line) <= 80 for line in lines if "  " in line.strip())
