"""Scenario sweeps and commands with workers: the same output, and nothing lost where a worker is."""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner

from diagnosis import cli
from diagnosis.catalog import models
from diagnosis.graphs import Models
from diagnosis.scale import NotImportableError, WorkersError, process_pool
from diagnosis.scenarios import load, run_suite
from diagnosis.verify import explore, prove

SCENARIOS = Path(__file__).parent.parent / "data" / "scenarios"

MODULE = '''
import os, signal, time
from diagnosis import END, START, Append, Command, Condition, Decision, Model, Replace, Rule, StateGraph

HOME = {home}

def idle(state):
    return {{}}

def after(state):
    """Kill the worker that is to decide on the word ``die``."""
    if state["word"] == "die" and os.getpid() != HOME:
        os.kill(os.getpid(), signal.SIGKILL)
    if state["word"] == "raise":
        raise ValueError("no such word")
    if state["word"] == "slow":
        time.sleep(0.02)
    return "end"

graph = StateGraph({{"word": Replace(), "log": Append()}}, name="words")
graph.add_node("say", idle).add_edge(START, "say")
graph.add_conditional_edges("say", after, {{"end": END}}, reads=["word"])
words = ("fine", "raise", "slow", "die")
model = Model("words", graph.compile(), {{"say": {{word: {{"word": word, "log": [word]}} for word in words}}}})

def report(state):
    time.sleep(0.002)
    return {{"sum": state["sum"] + 1, "laps": state["laps"] + 1}}

laps = StateGraph({{"sum": Replace(initial=0), "laps": Replace(initial=0)}}, name="laps")
laps.add_node("add", idle).add_edge(START, "add")
enough = Condition("enough", lambda s: s["laps"] >= 12, "laps")
odd = Condition("odd", lambda s: s["sum"] < 0, "sum")
rules = Decision([Rule("end", "ODD", odd), Rule("end", "ENOUGH", enough), Rule("again", "MORE")])
laps.add_conditional_edges("add", rules, {{"end": END, "again": "add"}})
lapping = Model("laps", laps.compile(), {{"add": {{
    "one": report, "none": lambda s: {{**report(s), "sum": s["sum"]}}
}}}})
'''


@pytest.fixture
def words(tmp_path, monkeypatch):
    """A module of graphs in a folder of its own."""
    (tmp_path / "worded_graphs.py").write_text(MODULE.format(home=os.getpid()))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    importlib.invalidate_caches()
    yield Models(["words=worded_graphs:model"])
    sys.modules.pop("worded_graphs", None)


def files(folder: Path, *said: str) -> Path:
    """Write a file of scenarios, one a word."""
    expected = [
        {"name": f"s{at:03}", "graph": "words", "script": {"say": [word]}, "expect": {"final_node": "say"}}
        for at, word in enumerate(said)
    ]
    (folder / "words.json").write_text(json.dumps(expected))
    return folder / "words.json"


def text_of(result):
    return json.dumps([result.to_json(), result.text(), *(each.text() for each in result)])


def test_the_shipped_scenarios_come_out_the_same_to_the_byte_with_any_workers():
    suite = load(SCENARIOS, models())
    expected = text_of(run_suite(suite))
    for workers in (1, 2, 3):
        with ThreadPoolExecutor(workers) as pool:
            assert text_of(run_suite(suite, executor=pool)) == expected
    with process_pool(2) as pool:
        found = run_suite(suite, executor=pool)
        assert text_of(found) == expected
    assert [each.run.states for each in found] == [each.run.states for each in run_suite(suite)]


def test_a_scenario_that_fails_or_whose_functions_raise_comes_out_the_same(words, tmp_path):
    suite = load(files(tmp_path, "fine", "raise", "fine", "raise"), words)
    expected = run_suite(suite)
    with process_pool(1) as pool:
        found = run_suite(suite, executor=pool)
    assert text_of(found) == text_of(expected)
    assert (found.passed, found.failed) == (2, 2)
    assert "raised ValueError: no such word" in found["s001"].error


def test_progress_is_told_of_each_scenario_in_order():
    suite, told = load(SCENARIOS, models()), []
    with ThreadPoolExecutor(3) as pool:
        run_suite(suite, executor=pool, progress=lambda result: told.append(result.name))
    assert told == [case.scenario.name for case in suite.cases]


def test_a_suite_of_a_model_that_was_made_here_is_refused(tmp_path, words):
    import dataclasses

    made = dataclasses.replace(words["words"], bound=9)
    suite = load(files(tmp_path, "fine"), {"words": made})
    with ThreadPoolExecutor(1) as pool, pytest.raises(NotImportableError, match="'words' was made in this process"):
        run_suite(suite, executor=pool)


def test_a_killed_worker_of_a_pool_loses_no_scenario_that_had_run(words, tmp_path):
    said = ["fine"] * 40 + ["slow"] * 16 + ["die"] + ["fine"] * 23
    suite = load(files(tmp_path, *said), words)
    with process_pool(1) as pool, pytest.raises(WorkersError) as lost:
        run_suite(suite, executor=pool)
    done = lost.value.partial
    assert [each.name for each in done] == [f"s{at:03}" for at in range(50)]
    assert done.passed == 50
    assert "50 of 80 scenarios had run" in str(lost.value)
    assert "without an executor" in str(lost.value)


def test_run_with_workers_prints_the_same_json(monkeypatch):
    def printed(*options):
        found = CliRunner().invoke(cli.app, ["run", str(SCENARIOS), "--json", *options])
        return found.exit_code, found.stdout

    assert printed("--workers", "2") == printed()


def test_run_says_what_was_done_where_a_worker_is_killed(words, tmp_path):
    file = files(tmp_path, *["fine"] * 16, "die")
    options = ["run", str(file), "--graph", "words=worded_graphs:model", "--workers", "1"]
    found = CliRunner().invoke(cli.app, [*options, "--json"])
    assert found.exit_code == 2
    document = json.loads(found.stdout)
    assert [each["name"] for each in document["scenarios"]] == [f"s{at:03}" for at in range(15)]
    assert "15 of 17 scenarios had run" in document["error"]
    found = CliRunner().invoke(cli.app, options)
    assert found.exit_code == 2
    assert "pass  s014" in found.stdout
    assert "15 of 17 scenarios had run" in found.stderr


def test_verify_with_workers_prints_the_same_json(words):
    def printed(*options):
        found = CliRunner().invoke(cli.app, ["verify", "worded_graphs:lapping", "--json", *options])
        return found.exit_code, found.stdout

    expected = printed()
    assert json.loads(expected[1])["control_states"] > 80
    for workers in ("1", "3"):
        assert printed("--workers", workers) == expected


def test_verify_is_refused_where_a_worker_is_killed(words):
    found = CliRunner().invoke(cli.app, ["verify", "worded_graphs:model", "--workers", "2"])
    assert found.exit_code == 2
    assert "known control states had been explored" in found.stderr


@pytest.fixture
def cluster():
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    with (
        distributed.LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None) as local,
        distributed.Client(local) as client,
    ):
        yield client


def killed_midway(client, work):
    """Do work while one of two workers is killed as soon as something is under way."""
    pids = sorted(client.run(os.getpid).values())
    killed = []

    def moved(*ignored):
        if not killed:
            killed.append(pids[0])
            os.kill(pids[0], signal.SIGKILL)

    found = work(client.get_executor(), moved)
    assert killed
    deadline = time.monotonic() + 60
    while pids[0] in client.run(os.getpid).values() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert pids[0] not in client.run(os.getpid).values()
    return found


def test_a_search_survives_a_worker_of_dask_that_is_killed(words, cluster):
    model = importlib.import_module("worded_graphs").lapping
    expected = json.dumps(prove(model).to_json())
    found = killed_midway(cluster, lambda pool, moved: prove(model, executor=pool, progress=moved))
    assert json.dumps(found.to_json()) == expected
    assert found.space.complete
    assert found.space.size == explore(model).size


def test_a_sweep_survives_a_worker_of_dask_that_is_killed(words, tmp_path, cluster):
    suite = load(files(tmp_path, *["slow"] * 120), words)
    found = killed_midway(cluster, lambda pool, moved: run_suite(suite, executor=pool, progress=moved))
    assert text_of(found) == text_of(run_suite(suite))
    assert found.passed == 120
