"""How a mutation report shows itself: in a notebook and in a terminal."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from mutated import case, desk

from diagnosis.mutation import MutationReport, mutate
from diagnosis.views.display import bundle
from diagnosis.views.terminal import Terminal


@pytest.fixture(scope="module")
def report() -> MutationReport:
    model = desk()
    return mutate(model, [case(model, "good", read=["good"])])


def test_a_notebook_shows_the_score_the_operators_and_the_survivors(report):
    shown = bundle(report)
    assert set(shown) == {"text/plain", "text/html"}
    page = shown["text/html"]
    assert page.startswith(f"<p>{report.summary}</p>")
    assert page.count("<table") == 2
    assert page.count("<td>lower_limit</td>") == 2
    assert "<td>read &gt; read &gt; bin</td>" in page


def test_a_report_without_survivors_shows_none(report):
    page = bundle(replace(report, results=report.of("assertion")))["text/html"]
    assert page.count("<table") == 1
    assert "no scenario notices" not in page


def test_text_of_a_graph_is_escaped(report):
    one = report.survivors[0]
    odd = replace(one, mutant=replace(one.mutant, place="<script>alert(1)</script>\x1b[31m"))
    changed = replace(report, results=(odd,))
    assert "<script>" not in bundle(changed)["text/html"]
    stream = io.StringIO()
    Terminal(stream).mutation(changed)
    assert "\x1b" not in stream.getvalue()


def test_a_terminal_shows_a_row_an_operator_and_every_survivor(report):
    stream = io.StringIO()
    Terminal(stream).mutation(report)
    lines = stream.getvalue().splitlines()
    assert lines[0].split() == ["operator", "killed", "survived", "crash", "equivalent", "invalid"]
    counts = report.by_operator["flip_value"]
    row = next(line.split() for line in lines if line.startswith("flip_value"))
    assert [int(cell) for cell in row[1:]] == [
        counts["assertion"], counts["survived"], counts["crash"], counts["equivalent"], counts["invalid"]
    ]  # fmt: skip
    assert sum(line.startswith("survived ") for line in lines) == len(report.survivors)
    assert lines[-1] == report.summary


def test_a_mutant_shows_itself_as_text(report):
    one = report.survivors[0]
    assert repr(one) == one.text()
    assert one._repr_mimebundle_() == {"text/plain": one.text()}
