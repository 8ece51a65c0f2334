"""What the documents show works as they show it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from diagnosis import cli

DOCS = Path(__file__).parent.parent / "docs"


def block(name: str, language: str, number: int = 0) -> str:
    text = (DOCS / name).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)[number]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_graphs.py").write_text(block("your-own-graph.md", "python"))
    (tmp_path / "second_try.yaml").write_text(block("your-own-graph.md", "yaml"))
    (tmp_path / "shown.yaml").write_text(block("scenario-files.md", "yaml"))
    yield tmp_path
    sys.modules.pop("my_graphs", None)
    if str(tmp_path) in sys.path:
        sys.path.remove(str(tmp_path))


def call(*arguments: str):
    return CliRunner().invoke(cli.app, list(arguments))


def test_the_scenario_file_that_is_shown_passes(here):
    result = call("run", "shown.yaml")
    assert result.exit_code == 0, result.output


def test_the_graph_that_is_shown_has_the_fault_that_is_told(here):
    result = call("verify", "my_graphs:model", "--save", "found")
    assert result.exit_code == 1
    assert "broken" in result.stdout
    assert "for ever fetch=unknown" in result.stdout
    saved = next(Path("found").glob("*every_run_ends*"))
    assert call("run", str(saved), "--graph", "fetcher=my_graphs:model").exit_code == 0


def test_the_scenario_of_the_graph_that_is_shown_passes(here):
    result = call("run", "second_try.yaml", "--graph", "fetcher=my_graphs:model")
    assert result.exit_code == 0, result.output


def test_the_graph_that_is_shown_can_be_drawn(here):
    assert call("draw", "my_graphs:model", "-o", "fetcher.svg").exit_code == 0
    assert "give_up" in Path("fetcher.svg").read_text()


def test_every_link_leads_somewhere():
    root = DOCS.parent
    for page in (root / "README.md", root / "CONTRIBUTING.md", *DOCS.glob("*.md")):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.fixture
def branched(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_branches.py").write_text(block("branches.md", "python"))
    (tmp_path / "two_searches.yaml").write_text(block("branches.md", "yaml"))
    yield tmp_path
    sys.modules.pop("my_branches", None)
    if str(tmp_path) in sys.path:
        sys.path.remove(str(tmp_path))


def test_the_goto_that_no_outcome_takes_is_found(branched):
    result = call("verify", "my_branches:model", "--json")
    assert result.exit_code == 1
    proof = json.loads(result.stdout)
    assert [each["name"] for each in proof["properties"] if not each["holds"]] == ["route_taken:weigh.ask_again"]
    # One question: two outcomes, and then one of two winners or an end. Two questions: four outcomes, and the same.
    assert (proof["scripts"], proof["shortest_path"], proof["longest_path"]) == (2 * 3 + 4 * 3, 3, 7)


def test_the_scenario_with_branches_that_is_shown_passes(branched):
    result = call("run", "two_searches.yaml", "--graph", "research=my_branches:model")
    assert result.exit_code == 0, result.output
    assert "careful[1]" in result.stdout


def test_the_graph_with_branches_that_is_shown_can_be_drawn(branched):
    assert call("draw", "my_branches:model", "-o", "research.svg").exit_code == 0
    assert "joins draft: any_of" in Path("research.svg").read_text()


def test_the_subgraph_that_is_shown_is_scripted_by_its_outer_names(branched):
    Path("my_subgraph.py").write_text(block("branches.md", "python", 1))
    shown = block("branches.md", "yaml", 1)
    Path("found.yaml").write_text(shown)
    try:
        result = call("run", "found.yaml", "--graph", "outer=my_subgraph:model")
        assert result.exit_code == 0, result.output
        Path("found.yaml").write_text(shown.replace("child.res", "res"))
        result = call("run", "found.yaml", "--graph", "outer=my_subgraph:model")
        assert result.exit_code == 1
        assert "write 'child.res'" in result.stdout
        assert call("verify", "my_subgraph:model").exit_code == 0
    finally:
        sys.modules.pop("my_subgraph", None)


def test_the_boundary_that_is_shown_holds_and_breaks_when_its_code_leaks(here, monkeypatch):
    text = block("flow.md", "python")
    (here / "my_flow.py").write_text(text)
    (here / "my_leak.py").write_text(text.replace('if page.get("checked") is True', 'if page.get("checked")'))
    try:
        held = call("flow", "my_flow:model")
        assert held.exit_code == 0, held.output
        assert call("flow", "my_flow:model", "--scripts").exit_code == 0
        leaking = call("flow", "my_leak:model")
        assert leaking.exit_code == 1
        assert "search.unchecked reaches quotes" in leaking.stdout.replace("\n", " ")
    finally:
        for name in ("my_flow", "my_leak"):
            sys.modules.pop(name, None)


def test_the_odds_that_are_shown_can_be_computed_drawn_and_varied(here):
    (here / "odds.yaml").write_text(block("odds.md", "yaml"))
    assert call("odds", "--odds", "odds.yaml", "-o", "odds.svg").exit_code == 0
    grid = ("--grid", "0,0.1,0.5")
    varied = call("odds", "--odds", "odds.yaml", "--vary", "planner=FAILED,RETRYABLE_FAILED", *grid, "--json")
    assert [point["share"]["exact"] for point in json.loads(varied.stdout)["grid"]] == ["0", "1/10", "1/2"]
    shown: dict = {}
    exec(block("odds.md", "python"), shown)
    assert shown["chances"].odds.callers == ("planner", "verifier", "composer")
    assert len(shown["table"]) == len(shown["chances"].endings)
