"""The commands that a review rests on: findings, baselines, JUnit files, two versions, and an interrupt."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from diagnosis import cli

OWN = """
import os, signal
from diagnosis import END, START, Condition, Decision, Model, Replace, Rule, StateGraph, always

def idle(state):
    return {}

def build(first="ONE", shadowed=True, claims=()):
    graph = StateGraph(["status"], name="own").add_node("a", idle).add_node("b", idle).add_edge(START, "a")
    graph.add_edge("b", END)
    fine = Condition("fine", lambda s: s["status"] == "fine", "status")
    rules = [Rule("end", first, fine, name="ONE"), Rule("end", "TWO", fine), Rule("on", "THREE")]
    if not shadowed:
        del rules[1]
    graph.add_conditional_edges("a", Decision(rules), {"end": END, "on": "b"})
    outcomes = {"a": {"fine": {"status": "fine"}, "other": {}}, "b": {"ok": {}}}
    return Model("own", graph.compile(), outcomes, claims)

model = build()
good = build(shadowed=False)
other = build(first="UNO", shadowed=False)

def interrupting(signals=1, claims=()):
    graph = StateGraph({"n": Replace(initial=0)}, name="endless").add_node("a", idle).add_edge(START, "a")
    more = Condition("more", lambda s: s["n"] >= 0, "n")
    graph.add_conditional_edges("a", Decision([Rule("on", "ON", more), Rule("end", "NO")]), {"on": "a", "end": END})

    left = [signals]

    def count(state):
        while state["n"] >= 500 and left[0]:
            left[0] -= 1
            os.kill(os.getpid(), signal.SIGINT)
        return {"n": state["n"] + 1}

    outcomes = {"one": count, "two": lambda s: {"n": s["n"] + 2}}
    return Model("endless", graph.compile(recursion_limit=100_000), {"a": outcomes}, claims)

endless = interrupting()
insistent = interrupting(signals=10)
broken = interrupting(claims=(always("small", "n stays small.", lambda m: m.after["n"] < 3, reads="n"),))
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_review.py").write_text(OWN)
    yield tmp_path
    sys.modules.pop("own_review", None)
    if str(tmp_path) in sys.path:
        sys.path.remove(str(tmp_path))


def call(*arguments: str):
    return CliRunner().invoke(cli.app, list(arguments))


# --- findings and baselines -------------------------------------------------------------------------------------------


def test_findings_are_told_when_asked_for(here):
    quiet, asked = call("verify", "own_review:model"), call("verify", "own_review:model", "--findings")
    assert "shadowed_rule" not in quiet.stdout
    assert "wherever it holds, ONE decides before it" in asked.stdout
    assert "Scripts by node executions" in asked.stdout
    # The rule that is never taken is a broken property either way.
    assert quiet.exit_code == asked.exit_code == 1
    document = json.loads(call("verify", "own_review:model", "--findings", "--json").stdout)
    assert document["findings"][0] == {
        "kind": "shadowed_rule",
        "where": "a.TWO",
        "detail": "wherever it holds, ONE decides before it",
        "script": None,
    }
    assert document["lengths"] == {"1": 1, "2": 1}
    assert [(each["node"], each["reason"]) for each in document["terminations"]] == [("a", "ONE"), ("b", "FIXED")]
    assert "findings" not in json.loads(call("verify", "own_review:model", "--json").stdout)


def test_strict_fails_on_findings_until_they_are_accepted(here):
    assert call("verify", "own_review:good").exit_code == 0
    assert call("verify", "own_review:good", "--strict").exit_code == 1
    assert call("verify", "own_review:good", "--write-baseline", "accepted.json").exit_code == 0
    assert call("verify", "own_review:good", "--strict", "--baseline", "accepted.json").exit_code == 0
    # A finding that is new fails.
    assert call("verify", "own_review:model", "--strict", "--baseline", "accepted.json").exit_code == 1


def test_a_baseline_accepts_broken_properties_and_tells_what_is_gone(here):
    assert call("verify", "own_review:model", "--write-baseline", "accepted.json").exit_code == 0
    assert call("verify", "own_review:model", "--baseline", "accepted.json").exit_code == 0
    result = call("verify", "own_review:good", "--baseline", "accepted.json")
    assert result.exit_code == 0
    assert "accepted, but not found any more: shadowed_rule at a.TWO" in result.stdout
    assert "accepted, but not found any more: property at rule_taken:a.TWO" in result.stdout


def test_a_baseline_that_cannot_be_used_is_refused(here):
    assert call("verify", "own_review:good", "--write-baseline", "accepted.txt").exit_code == 2
    assert not Path("accepted.txt").exists()
    assert call("verify", "own_review:good", "--baseline", "none.json").exit_code == 2
    call("verify", "own_review:good", "--write-baseline", "accepted.json")
    result = call("verify", "diagnosis", "--baseline", "accepted.json")
    assert result.exit_code == 2
    assert "the baseline is of graph 'own'" in result.stderr


def test_findings_fit_a_terminal_of_80_columns(here, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for arguments in (("verify", "--findings"), ("diff", "diagnosis", "diagnosis")):
        lines = call(*arguments).stdout.splitlines()
        tables = [line for line in lines if "shown by:" not in line and "complete scripts" not in line]
        assert len(tables) > 3
        assert max(map(len, tables)) <= 80


# --- JUnit ------------------------------------------------------------------------------------------------------------


def test_junit_files_hold_what_was_said(here):
    assert call("verify", "own_review:model", "--junit", "verify.xml").exit_code == 1
    suite = ElementTree.fromstring(Path("verify.xml").read_bytes())[0]
    failed = [case.get("name") for case in suite if any(each.tag == "failure" for each in case)]
    assert failed == ["rule_taken:a.TWO"]
    Path("s.yaml").write_text("{name: s, graph: own, script: {a: [fine]}, expect: {path: [b]}}")
    Path("broken.yaml").write_text("{name: }")
    result = call("run", "s.yaml", "broken.yaml", "--graph", "own=own_review:model", "--junit", "run.xml", "--json")
    assert result.exit_code == 2
    suite = ElementTree.fromstring(Path("run.xml").read_bytes())[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "1")
    assert json.loads(result.stdout)["failed"] == 1


def test_a_junit_file_that_cannot_be_written_is_refused(here):
    result = call("verify", "--junit", "no/such/folder/x.xml")
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr


# --- two versions -----------------------------------------------------------------------------------------------------


def test_two_versions_are_compared(here):
    assert call("diff", "own_review:good", "own_review:good").exit_code == 0
    result = call("diff", "own_review:good", "own_review:other", "--save", "changed")
    assert result.exit_code == 1
    assert "scripts that run the same: 1; that changed: 1 before, 1 after" in result.stdout
    assert "call 1, a=fine: the run ends for ONE before, the run ends for UNO after" in result.stdout
    for version, graph in (("before", "good"), ("after", "other")):
        file = f"changed/diff_termination_{version}.yaml"
        assert f"saved {file}" in result.stdout
        assert call("run", file, "--graph", f"own=own_review:{graph}").exit_code == 0
    # What passed before does not any more.
    assert call("run", "changed/diff_termination_before.yaml", "--graph", "own=own_review:other").exit_code == 1


def test_versions_may_be_given_by_name(here):
    names = ("--graph", "old=own_review:good", "--graph", "new=own_review:other")
    document = json.loads(call("diff", "old", "new", *names, "--json").stdout)
    assert (document["before"], document["after"], document["same"]) == ("old", "new", False)
    assert document["changed"]["termination"] == {"before": 1, "after": 1}
    assert document["changes"][0]["before"]["graph"] == "old"


def test_a_rule_that_never_decides_makes_no_difference(here):
    assert call("diff", "own_review:model", "own_review:good").exit_code == 0


def test_a_comparison_that_met_its_budget_does_not_pass(here):
    result = call("diff", "diagnosis", "diagnosis", "--max-states", "50")
    assert result.exit_code == 1
    assert "not proven; bound hit: the budget of 50 control states was used up" in result.stdout


@pytest.mark.parametrize("arguments", [[], ["diagnosis"], ["diagnosis", "nothing"], ["a:b", "diagnosis"]])
def test_a_version_that_there_is_not_is_refused(here, arguments):
    result = call("diff", *arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_the_help_has_an_example():
    assert "diagnosis diff old_graphs:model new_graphs:model" in call("diff", "--help").output


# --- budgets and interrupts -------------------------------------------------------------------------------------------


def test_a_memory_budget_is_taken(here):
    result = call("verify", "--max-memory", "1")
    assert result.exit_code == 1
    assert "bound hit: the budget of 1 MiB was used up" in result.stdout
    assert call("verify", "--max-memory", "0").exit_code == 2


def test_an_interrupt_tells_what_was_found_so_far(here):
    result = call("verify", "own_review:endless", "--json")
    assert result.exit_code == 2
    document = json.loads(result.stdout)
    assert document["reason"] == "bound hit: it was interrupted"
    assert document["control_states"] > 400
    assert {each["name"]: each["holds"] for each in document["properties"]} == {
        "every_run_ends": None,
        "no_error": None,
        "rule_taken:a.ON": True,
        "rule_taken:a.NO": None,
    }


def test_what_was_broken_before_an_interrupt_fails(here):
    result = call("verify", "own_review:broken")
    assert result.exit_code == 1
    assert "bound hit: it was interrupted" in result.stdout
    assert "small: broken after 2 node executions" in " ".join(result.stdout.split())


def test_a_second_interrupt_stops_at_once(here):
    result = call("verify", "own_review:insistent")
    assert result.exit_code == 2
    assert result.stderr.endswith("diagnosis: interrupted\n")
    # What the process does on Ctrl-C is as before.
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_real_process_is_interrupted_from_outside(here):
    import diagnosis

    environment = {**os.environ, "PYTHONPATH": str(Path(diagnosis.__file__).parents[1])}
    code = OWN.replace("os.kill(os.getpid(), signal.SIGINT)", "print('ready', flush=True)")
    (here / "own_outside.py").write_text(code)
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "diagnosis",
            "verify",
            "own_outside:endless",
            "--max-seconds",
            "60",
            "--max-states",
            "10000000",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 2, err
    assert "bound hit: it was interrupted" in out
    assert "Traceback" not in err


def test_a_decision_that_reads_what_has_no_bound_is_warned_of(here):
    result = call("verify", "own_review:interrupting", "--max-states", "100")
    assert "warning: n: the decision of a reads it, and it took more than 8 values" in result.stdout
    assert "warning" not in call("verify").stdout


def test_what_a_baseline_accepts_is_only_counted(here):
    call("verify", "own_review:good", "--write-baseline", "accepted.json")
    arguments = ("verify", "own_review:model", "--strict", "--baseline", "accepted.json")
    result = call(*arguments)
    assert "shadowed_rule" in result.stdout
    assert "default_outcome" not in result.stdout
    assert "1 findings\naccepted by the baseline: 2 findings, 0 properties\n" in result.stdout
    document = json.loads(call(*arguments, "--json").stdout)
    assert document["accepted"] == [
        {"kind": "default_outcome", "where": "a.other"},
        {"kind": "read_before_written", "where": "status"},
    ]
