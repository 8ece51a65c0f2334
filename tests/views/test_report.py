from __future__ import annotations

import re

import pytest
from drawn_graphs import branched, failing, fixed_fork, mapped

from diagnosis.catalog import diagnosis_model
from diagnosis.scenarios import Scenario, SuiteResult, run_scenario
from diagnosis.scenarios.files import FileError
from diagnosis.verify import measure, prove
from diagnosis.views import report
from diagnosis.views.render import RenderError
from diagnosis.views.report import report_html, write_report


def parts(*scripts):
    model = diagnosis_model()
    results = tuple(
        run_scenario(Scenario.parse({"name": f"s{i}", "title": f"title {i}", **script}), model)
        for i, script in enumerate(scripts)
    )
    coverage = measure(model, [result.run for result in results])
    return SuiteResult(results), {"diagnosis": coverage}, {"diagnosis": prove(model)}


FAILS = {"script": {"planner": ["FAILED"]}, "expect": {"final_node": "composer"}}
PASSES = {"script": {"planner": ["FAILED"]}, "why": "It shows the shortest run."}


def test_the_report_holds_pictures_tables_and_the_proof():
    html = report_html(*parts(PASSES, FAILS))
    assert html.count("data:image/svg+xml;base64,") == 4
    assert "10903 complete scripts of 2 to 18 node executions" in html
    assert "It shows the shortest run." in html
    assert "final_node: expected &#39;composer&#39;, found &#39;fallback&#39;" in html
    assert "1 passed, 1 failed" in html


def test_a_scenario_with_branches_has_a_column_for_them():
    html = report_html(SuiteResult((branched("fine", mapped()), branched("lost", fixed_fork(), zoom=failing))), {}, {})
    assert "<p>split → worker[0] → check[0] → worker[1] → check[1] → worker[2] → check[2] → collect</p>" in html
    assert html.count("<th>branch</th>") == 2
    assert (
        '<td class="number">1</td><td>split</td><td></td><td class="number">1</td><td>COMPLETED</td>'
        "<td>worker + worker + worker</td><td>worker</td><td>worker + worker + worker</td>"
    ) in html
    assert (
        '<td class="number">5</td><td>check</td><td>worker[1]</td><td class="number">1</td><td>COMPLETED</td>'
        "<td></td><td>FIXED</td><td>collect</td>"
    ) in html
    assert "<tr><td>error (ActionError)</td><td>zoom</td>" in html


def test_a_scenario_without_branches_has_no_such_column():
    assert "<th>branch</th>" not in report_html(*parts(PASSES))


def test_nothing_in_the_report_comes_from_elsewhere():
    html = report_html(*parts(PASSES))
    assert "default-src 'none'" in html
    assert not re.search(r"(src|href)=\"(?!data:|#)", html)
    assert "<script" not in html


def test_without_a_layout_engine_the_report_shows_the_source_of_the_pictures(monkeypatch):
    def none(self, **kwargs):
        raise RenderError("no engine")

    monkeypatch.setattr(report.Diagram, "svg", none)
    html = report_html(*parts(PASSES))
    assert "data:image" not in html
    assert "<pre>" in html
    assert "digraph" in html


def test_a_large_suite_is_drawn_only_where_it_failed(monkeypatch):
    monkeypatch.setattr(report, "MANY_PICTURES", 1)
    html = report_html(*parts(PASSES, FAILS, PASSES))
    assert html.count("data:image/svg+xml;base64,") == 3


def test_a_report_is_written_wholly_or_not_at_all(tmp_path):
    found = parts(PASSES)
    path = write_report(tmp_path / "deep" / "folder" / "report.html", *found)
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [file.name for file in path.parent.iterdir()] == ["report.html"]
    with pytest.raises(FileError, match="it is a directory"):
        write_report(tmp_path / "deep", *found)
