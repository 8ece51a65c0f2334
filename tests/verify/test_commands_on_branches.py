"""The command line on a graph of one's own that has branches, winners, Commands and a subgraph."""

from __future__ import annotations

import json
import sys

import pytest
from click.testing import CliRunner

from diagnosis import cli

MODEL = """
from diagnosis import (
    END, START, Append, Command, Condition, Decision, Fork, Model, Replace, Rule, StateGraph, always
)

def idle(state):
    return {}

inner = StateGraph({"tries": Replace(initial=0), "found": Replace()}, name="search")
inner.add_node("look", idle).add_edge(START, "look")
found = Condition("found", lambda s: s["found"] is not None, "found")
spent = Condition("spent", lambda s: s["tries"] > 1, "tries")
rules = Decision([Rule("end", "FOUND", found), Rule("end", "SPENT", spent), Rule("again", "AGAIN")])
inner.add_conditional_edges("look", rules, {"end": END, "again": "look"})

graph = StateGraph({"found": Replace(), "answer": Replace(), "log": Append()}, name="desk")
graph.add_node("desk", idle, goto={"ask": "ask", "file": "file"})
graph.add_node("ask", idle)
for name in ("quick", "careful", "file", "note", "reply"):
    graph.add_node(name, idle)
graph.add_node("search", inner.compile())
graph.add_edge(START, "desk")
graph.add_edge("ask", ["quick", "careful"], fork=Fork(wait="any_of")).add_edge(["quick", "careful"], "file")
graph.add_edge("file", ["search", "note"]).add_edge(["search", "note"], "reply").add_edge("reply", END)
compiled = graph.compile()

def build():
    known = {
        "desk": {
            "asks": Command("ask", reason="UNCLEAR"),
            "files": Command("file", {"log": ["clear"]}, reason="CLEAR"),
        },
        "quick": {"guesses": {"answer": "guess"}},
        "careful": {"thinks": {"answer": "thought"}},
        "search-look": {
            "hit": {"found": "it"},
            "miss": lambda s: {"search.tries": s["search.tries"] + 1},
        },
        "note": {"notes": {"log": ["noted"]}, "finds": {"found": "elsewhere"}},
    }
    claim = always("careful", "The answer is a thought.", lambda m: m.after["answer"] != "guess", reads="answer")
    return Model(
        "desk", compiled, {name: known.get(name, {"ok": {}}) for name in compiled.definition.names}, (claim,)
    )
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "desk_graph.py").write_text(MODEL)
    yield tmp_path
    sys.modules.pop("desk_graph", None)
    if str(tmp_path) in sys.path:
        sys.path.remove(str(tmp_path))


def call(*arguments):
    result = CliRunner().invoke(cli.app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result


def test_verify_finds_what_is_wrong_and_run_shows_it(here):
    result = call("verify", "desk_graph:build", "--save", "found", "--json")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    holds = {claim["name"]: claim["holds"] for claim in document["properties"]}
    assert {name for name, held in holds.items() if not held} == {"every_run_ends", "no_error", "careful"}
    shown = {claim["name"]: claim["counterexample"] for claim in document["properties"] if claim["counterexample"]}
    assert shown["careful"]["winners"] == {"ask": ["quick[0]"]}
    assert shown["careful"]["expect"]["path"][:3] == ["desk", "ask", "quick"]
    assert "both wrote 'found'" in shown["no_error"]["expect"]["error"]
    assert shown["no_error"]["script"] == {
        "desk": ["files"], "search-look": ["hit"], "note": ["finds"]
    }  # fmt: skip
    saved = call("run", "found", "--graph", "desk=desk_graph:build")
    assert saved.exit_code == 0, saved.output
    assert "3 passed, 0 failed, 0 refused" in saved.stdout


def test_verify_explores_every_order_and_comes_to_the_same(here):
    plain = json.loads(call("verify", "desk_graph:build", "--json").stdout)
    result = call("verify", "desk_graph:build", "--interleave", "--json")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert document["interleaved"] is True
    assert document["properties"] == plain["properties"]
    assert [document[key] for key in ("shortest_path", "longest_path")] == [
        plain[key] for key in ("shortest_path", "longest_path")
    ]
    assert document["scripts"] > plain["scripts"]
    assert "interleavings of" in result.stderr


def test_verify_tells_a_mistake_that_a_race_hides_and_run_shows_it(here):
    text = MODEL.replace('{"guesses": {"answer": "guess"}}', '{"guesses": {"anwser": "guess"}}')
    (here / "desk_graph.py").write_text(text.replace('"finds": {"found": "elsewhere"}', '"adds": {"log": []}'))
    result = call("verify", "desk_graph:build", "--save", "found")
    assert result.exit_code == 1
    assert "warning: branch quick[0] of the fork at ask can never win" in result.stdout
    saved = call("run", "found", "--graph", "desk=desk_graph:build")
    assert saved.exit_code == 0, saved.output
    assert "1 passed, 0 failed, 0 refused" in saved.stdout
    assert "node 'quick' wrote 'anwser', which the graph does not declare" in saved.stdout


def test_coverage_counts_winners_and_gotos(here):
    call("verify", "desk_graph:build", "--save", "found")
    result = call("coverage", "found", "--graph", "desk=desk_graph:build", "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["winner"] == {"covered": 1, "total": 2, "missing": ["ask->careful"]}
    assert document["route"] == {"covered": 3, "total": 4, "missing": ["search-look.again"]}
    assert document["rule"]["missing"] == ["search-look.SPENT", "search-look.AGAIN"]
    assert "winner" in result.stderr


@pytest.mark.parametrize("ending", ["svg", "dot", "mmd", "puml"])
def test_draw_draws_it(here, ending):
    result = call("draw", "desk_graph:build", "-o", f"desk.{ending}")
    assert result.exit_code == 0, result.output
    assert "careful" in (here / f"desk.{ending}").read_text(encoding="utf-8")
