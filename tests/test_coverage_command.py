"""The options of ``diagnosis coverage``."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from diagnosis import cli
from diagnosis.verify import FURTHER, KINDS

ROOT = Path(__file__).parent.parent
SCENARIOS = str(ROOT / "data" / "scenarios")

SHORT = "name: short\nscript: {planner: [FAILED]}\n"

HALF = """
from diagnosis import END, START, Model, StateGraph

graph = StateGraph(["x"], name="half").add_edge(START, "a")
for name in ("a", "b", "lost"):
    graph.add_node(name, lambda state: {})
graph.add_conditional_edges("a", lambda s: s["x"], {"b": "b", "lost": "lost", "end": END}, reads=["x"])
graph.add_edge("b", END).add_edge("lost", END)
outcomes = {"a": {"b": {"x": "b"}, "end": {"x": "end"}}, "b": {"ok": {}}, "lost": {"ok": {}}}
model = Model("half", graph.compile(), outcomes)
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "short.yaml").write_text(SHORT)
    (tmp_path / "half_graph.py").write_text(HALF)
    (tmp_path / "half.yaml").write_text("name: half\ngraph: half\nscript: {a: [b]}\n")
    yield tmp_path
    sys.modules.pop("half_graph", None)
    if str(tmp_path) in sys.path:
        sys.path.remove(str(tmp_path))


def call(*arguments):
    return CliRunner().invoke(cli.app, ["coverage", *map(str, arguments)])


def document(*arguments):
    result = call(*arguments, "--json")
    assert result.exit_code in (0, 1), result.output
    return json.loads(result.stdout)


HALF_GRAPH = ("--graph", "half=half_graph:model")


def test_what_no_scenario_can_reach_is_told_in_the_table_and_in_json(here):
    result = call("half.yaml", *HALF_GRAPH)
    assert result.stdout.splitlines()[:2] == [
        "kind       covered  of    share  infeasible",
        "node             2   2  100.0 %           1",
    ]
    assert "proven infeasible node: lost" in result.stdout
    found = document("half.yaml", *HALF_GRAPH)
    assert found["node"] == {"covered": 2, "total": 2, "missing": [], "infeasible": ["lost"]}
    assert found["edge"]["infeasible"] == ["a->lost", "lost->__END__"]


def test_the_table_fits_80_columns(here, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    result = call("short.yaml", "--all-kinds")
    table = [line for line in result.stdout.splitlines() if line.startswith((*KINDS, *FURTHER, "kind"))]
    assert len(table) == 14
    assert max(map(len, table)) < 80


def test_further_kinds_are_counted_when_asked_for(here):
    assert list(document("short.yaml")) == list(KINDS)
    assert list(document("short.yaml", "--kind", "decisive", "--kind", "edge_pair")) == [
        *KINDS,
        "edge_pair",
        "decisive",
    ]
    every = document("short.yaml", "--all-kinds")
    assert list(every) == [*KINDS, *FURTHER]
    assert every["transition"]["total"] == 1517
    assert every["edge_pair"]["infeasible"][0] == "planner->planner->planner"


@pytest.fixture
def fewer(here):
    """The shipped scenarios without those that leave a node for the fallback after a failure of the retried kind."""
    copy = shutil.copytree(SCENARIOS, here / "fewer")
    for file in ("09_planner_never_comes_through.yaml", "10_verifier_never_comes_through.yaml"):
        (copy / "02_retries" / file).unlink()
    return str(copy)


def test_fail_under_holds_for_a_kind_that_is_named_and_for_no_other_further_one(fewer):
    assert call(fewer, "--fail-under", "100").exit_code == 0
    result = call(fewer, "--kind", "outcome_edge", "--fail-under", "100")
    assert result.exit_code == 1
    assert "diagnosis: outcome_edge is covered 95.3 %, less than 100 %" in result.stderr


def test_the_suggested_files_pass_and_close_all_gaps_and_nothing_is_overwritten(here):
    result = call("short.yaml", "--suggest", "more")
    assert result.exit_code == 0
    assert "21 scenarios close 199 gaps: proven minimal" in result.stdout
    files = sorted(Path("more").glob("*.yaml"))
    assert len(files) == 21
    assert f"saved {files[0]}" in result.stdout
    before = {file: file.read_bytes() for file in files}
    assert CliRunner().invoke(cli.app, ["run", "more"]).exit_code == 0
    both = call("short.yaml", "more", "--fail-under", "100", "--suggest", "more")
    assert both.exit_code == 0
    assert "no scenario is needed" in both.stdout
    again = call("short.yaml", "--suggest", "more")
    assert again.exit_code == 0
    assert {file: file.read_bytes() for file in files} == before
    assert CliRunner().invoke(cli.app, ["run", "more"]).exit_code == 0


def test_a_kind_that_is_named_is_the_one_that_is_closed(fewer):
    found = document(fewer, "--kind", "outcome_edge", "--suggest", "more")["suggested"]
    assert found["scenarios"] == {
        "closes_outcome_edge_planner_RETRYABLE_FAILED_to_fallback": ["outcome_edge planner.RETRYABLE_FAILED->fallback"],
        "closes_outcome_edge_verifier_RETRYABLE_FAILED_to_fallback": [
            "outcome_edge verifier.RETRYABLE_FAILED->fallback"
        ],
    }
    assert (found["at_least"], found["minimal"], found["left"]) == (2, True, [])
    assert [Path(file).exists() for file in found["files"]] == [True, True]
    assert call(fewer, "more", "--kind", "outcome_edge", "--fail-under", "100").exit_code == 0


def test_the_shortest_scenario_is_told_with_each_missing_item(here):
    text = call("short.yaml", "--shortest").stdout
    assert "missing node: executor\n  shortest: planner=COMPLETED > executor=FAILED > fallback=COMPLETED\n" in text
    found = document("short.yaml", "--shortest")["node"]
    assert list(found["shortest"]) == found["missing"]
    (Path("shortest.json")).write_text(json.dumps(found["shortest"]["verifier"]))
    assert "verifier" not in document("short.yaml", "shortest.json")["node"]["missing"]


def test_what_was_saved_is_added_to_other_runs(here):
    assert call("short.yaml", "--save-data", "short.json").exit_code == 0
    saved = call("half.yaml", *HALF_GRAPH, "--save-data", "half.json")
    assert "saved half.json" in saved.stderr
    assert document("--with", "short.json") == document("short.yaml")
    both = document("--with", "short.json", "--with", "half.json", *HALF_GRAPH)
    assert list(both) == ["diagnosis", "half"]
    assert both["half"] == document("half.yaml", *HALF_GRAPH)
    assert document(SCENARIOS, "--with", "short.json") == document(SCENARIOS)


def test_saved_coverage_that_does_not_fit_is_refused(here):
    call("half.yaml", *HALF_GRAPH, "--save-data", "half.json")
    for arguments, told in (
        (["--with", "half.json"], "which is no graph that is known; give it with --graph half=module:attribute"),
        (["--with", "half.json", *HALF_GRAPH, "--kind", "masking"], "save it again with --kind masking"),
        (["--with", "half.yaml"], "half.yaml: no coverage data"),
        (["--with", "none.json"], "none.json: cannot be read"),
        ([], "Missing argument 'PATHS...'"),
        (["short.yaml", "--kind", "branch"], "'branch' is not one of 'node', 'route'"),
        (["short.yaml", "--save-data", "half.yaml"], "is not overwritten"),
    ):
        result = call(*arguments)
        assert result.exit_code == 2, arguments
        assert told in result.stderr, (arguments, result.stderr)
    Path("half_graph.py").write_text(HALF.replace('"end": END', '"stop": END').replace('{"x": "end"}', '{"x": "stop"}'))
    sys.modules.pop("half_graph")
    result = call("--with", "half.json", *HALF_GRAPH)
    assert result.exit_code == 2
    assert "stale: graph 'half' has changed since" in result.stderr


def test_help_shows_an_example_with_suggestions():
    assert "--suggest more_scenarios/" in call("--help").stdout
