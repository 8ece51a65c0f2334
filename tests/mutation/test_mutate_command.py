"""The command ``diagnosis mutate``."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from diagnosis import cli

DESK = """
from diagnosis import END, START, Condition, Decision, Model, Replace, Rule, StateGraph

graph = StateGraph({"word": Replace()}, name="desk")
for node in ("read", "file", "bin"):
    graph.add_node(node, lambda state: {})
graph.add_edge(START, "read").add_edge("file", END, reason="FILED").add_edge("bin", END, reason="THROWN_AWAY")
good = Condition("good", lambda s: s["word"] == "good", "word")
rules = Decision([Rule("on", "FINE", good), Rule("out", "BAD")])
graph.add_conditional_edges("read", rules, {"on": "file", "out": "bin"})
outcomes = {"read": {"good": {"word": "good"}, "bad": {"word": "bad"}}, "file": {"done": {}}, "bin": {"done": {}}}
model = Model("desk", graph.compile(), outcomes)
"""

OWN = ("--graph", "desk=desk_graph:model")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "desk_graph.py").write_text(DESK)
    (tmp_path / "good.yaml").write_text("{name: good, graph: desk, script: {read: [good]}}")
    (tmp_path / "bad.yaml").write_text("{name: bad, graph: desk, script: {read: [bad]}}")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("desk_graph", None)


def call(*arguments):
    result = CliRunner().invoke(cli.app, list(arguments))
    assert "Traceback" not in result.output
    return result


def test_scenarios_that_notice_everything_are_status_0(here):
    result = call("mutate", ".", *OWN)
    assert result.exit_code == 0, result.output
    assert result.stdout.rstrip().endswith("Mutation of desk against 2 scenarios: 13 of 13 mutants, 100.0% killed")


def test_a_survivor_is_status_1_and_is_shown_with_its_diff_and_the_shortest_way_to_notice_it(here):
    result = call("mutate", "good.yaml", *OWN)
    assert result.exit_code == 1
    assert "survived  condition_true at read.FINE.good\n    - good\n    + true\n" in result.stdout
    assert (
        "    execution 1: read COMPLETED -> file because FINE, not read COMPLETED -> bin because BAD" in result.stdout
    )
    assert "    the shortest scenario that notices: read > bin" in result.stdout


def test_the_scenarios_that_are_saved_pass_and_kill_every_survivor(here):
    saving = call("mutate", "good.yaml", *OWN, "--save", "missing")
    saved = sorted(Path("missing").iterdir())
    assert [f"saved {file}" for file in saved] == [line for line in saving.stdout.splitlines() if line[:5] == "saved"]
    assert call("run", "missing", *OWN).exit_code == 0
    assert call("mutate", "good.yaml", "missing", *OWN).exit_code == 0
    again = call("mutate", "good.yaml", *OWN, "--save", "missing")
    assert sorted(Path("missing").iterdir()) == saved, again.output


def test_json_is_one_object_with_a_result_for_each_mutant(here):
    result = call("mutate", "good.yaml", *OWN, "--json")
    document = json.loads(result.stdout)
    assert result.exit_code == 1
    assert list(document) == [
        "graph", "scenarios", "mutants", "assertion", "bound", "crash", "equivalent", "survived", "invalid", "killed",
        "score", "results",
    ]  # fmt: skip
    assert document["mutants"] == len(document["results"])
    assert document["score"] == document["killed"] / (document["killed"] + document["survived"])
    one = next(each for each in document["results"] if each["result"] == "survived")
    assert list(one) == ["operator", "place", "diff", "result", "scenario", "detail", "killer"]
    assert one["killer"]["script"] == {"read": ["bad"]}
    assert "Mutation of desk" in result.stderr


def test_with_two_graphs_json_has_an_object_for_each(here):
    (here / "desk.yaml").write_text("{name: other, graph: table, script: {read: [good]}}")
    document = json.loads(call("mutate", ".", *OWN, "--graph", "table=desk_graph:model", "--json").stdout)
    assert {name: each["scenarios"] for name, each in document.items()} == {"desk": 2, "table": 1}


def test_a_scenario_that_fails_is_status_1_even_if_every_mutant_is_killed(here):
    text = "{name: good, graph: desk, script: {read: [good]}, expect: {final_node: bin}}"
    (here / "good.yaml").write_text(text)
    result = call("mutate", ".", *OWN)
    assert result.exit_code == 1
    assert "FAIL  good: final_node" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["missing.yaml"], "missing.yaml"),
        (["good.yaml"], "the unknown graph 'desk'"),
        (["empty"], "nothing was found to check"),
        ([""], "the path is empty"),
        ([], "Missing argument"),
        (["good.yaml", *OWN, "--max-seconds", "0"], "--max-seconds"),
    ],
)
def test_what_cannot_be_checked_is_status_2_and_says_why(here, arguments, told):
    (here / "empty").mkdir()
    result = call("mutate", *arguments)
    assert result.exit_code == 2
    assert told in result.stderr


def test_the_help_has_an_example():
    assert "diagnosis mutate data/scenarios --save missing/" in call("mutate", "--help").stdout


def test_a_subgraph_with_keys_of_its_own_is_mutated_too(here):
    page = (Path(__file__).parents[2] / "docs" / "branches.md").read_text(encoding="utf-8")
    Path("my_subgraph.py").write_text(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[1])
    Path("found.yaml").write_text(re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)[1])
    result = call("mutate", "found.yaml", "--graph", "outer=my_subgraph:model")
    sys.modules.pop("my_subgraph", None)
    assert result.exit_code == 0, result.output
    assert "100.0% killed" in result.stdout
