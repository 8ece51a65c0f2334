"""Rich displays: what a notebook shows for the objects of this package."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from diagnosis.runtime import CompiledGraph, Explanation, Model, Run, Shown, Topology
from diagnosis.views.coverage_tables import coverage_summary
from diagnosis.views.diagram import Diagram, draw
from diagnosis.views.labels import visible, visible_lines
from diagnosis.views.render import RenderError
from diagnosis.views.tables import events_table, explanation_table, proof_table, runs_table
from diagnosis.views.trace_tables import deviations_table, routes_table, trace_endings_table

if TYPE_CHECKING:
    import pandas

    from diagnosis.mutation import MutationReport
    from diagnosis.scenarios import ScenarioResult, SuiteResult
    from diagnosis.traces import TraceReport
    from diagnosis.verify import Coverage

Bundle = dict[str, Any]
"""Mime type -> content."""

MAX_ROWS: Final = 200
"""Rows of a table that a display shows; of more, the first and the last ones."""


def bundle(shown: object) -> Bundle | None:
    """Give the rich display of an object.

    Pictures stand in the HTML as data, so that they show in notebooks that are not trusted yet; there are no scripts,
    and nothing is fetched. All text is escaped.

    Args:
        shown: any object.

    Returns:
        Mime type -> content, among them always ``text/plain``; ``None`` for objects that are not known here.
    """
    if isinstance(shown, Diagram):
        return _bundle(shown, picture=shown)
    if isinstance(shown, Model | CompiledGraph | Topology):
        return _bundle(shown, picture=draw(shown))
    if isinstance(shown, Run):
        return _bundle(shown, _table(events_table(shown)), picture=draw(shown))
    if isinstance(shown, Explanation):
        return _bundle(shown, _explanation(shown))
    return _checked(shown) if isinstance(shown, Shown) else None


def _checked(shown: Shown) -> Bundle | None:
    """Give the display of what scenarios and verification come to; they are loaded when such an object exists."""
    from diagnosis.mutation import MutationReport
    from diagnosis.scenarios import ScenarioResult, SuiteResult
    from diagnosis.traces import TraceReport
    from diagnosis.verify import Comparison, Coverage, Proof
    from diagnosis.views.proof_tables import changes_table

    if isinstance(shown, ScenarioResult):
        return _bundle(shown, _verdict(shown), _table(events_table(shown.run)), picture=draw(shown.run))
    if isinstance(shown, SuiteResult):
        return _bundle(shown, *_suite(shown))
    if isinstance(shown, Coverage):
        return _bundle(shown, _table(_covered(shown)), picture=draw(shown.model, coverage=shown))
    if isinstance(shown, Proof):
        return _bundle(shown, _line(_head(shown)), _line(shown.counted), _table(proof_table(shown)))
    if isinstance(shown, Comparison):
        return _bundle(shown, _line(_head(shown)), _table(changes_table(shown)), *map(_line, shown.alphabets))
    if isinstance(shown, TraceReport):
        return _bundle(shown, *_traces(shown))
    if isinstance(shown, MutationReport):
        return _bundle(shown, *_mutation(shown))
    return None


def _covered(coverage: Coverage) -> pandas.DataFrame:
    """Give the table of coverage, without columns that say nothing."""
    frame = coverage_summary(coverage)
    return frame.drop(columns=[name for name in ("infeasible", "undecided") if not any(frame[name])])


def _bundle(shown: Shown, *parts: str, picture: Diagram | None = None) -> Bundle:
    found: Bundle = {"text/plain": shown.text()}
    body = list(parts)
    if picture is not None:
        try:
            svg = picture.svg()
        except RenderError as error:
            body += [_line(f"No picture: {error}. This is it in DOT:"), f"<pre>{_text(picture.dot)}</pre>"]
        else:
            found["image/svg+xml"] = svg
            body.insert(0, _image(picture, _head(shown)))
    found["text/html"] = "\n".join(body)
    return found


def _image(picture: Diagram, alternative: str) -> str:
    style = "max-width:100%;height:auto;background:white"
    return f'<img alt="{_text(alternative)}" style="{style}" src="{picture.data_uri()}">'


def _head(shown: Shown) -> str:
    return shown.text().split("\n", 1)[0]


def _text(text: str) -> str:
    return html.escape(visible_lines(text))


def _line(text: str) -> str:
    return f"<p>{_text(text)}</p>"


def _table(frame: pandas.DataFrame) -> str:
    """Write a frame as HTML that depends on nothing but its content."""
    import pandas

    cells = {
        name: [
            "" if missing else visible(str(cell)) for cell, missing in zip(frame[name], frame[name].isna(), strict=True)
        ]
        for name in frame.columns
    }
    options = ("display.max_colwidth", None, "display.html.use_mathjax", False)
    with pandas.option_context(*options):
        shown = pandas.DataFrame(cells, dtype=object)
        return str(shown.to_html(index=False, border=0, max_rows=MAX_ROWS, show_dimensions=False, justify="left"))


def _explanation(explanation: Explanation) -> str:
    frame = explanation_table(explanation)
    failed = frame["error"].notna()
    truth = frame["truth"].map({True: "T", False: "F"}).astype(object).mask(failed, "!")
    marks = frame["decided"].map({True: "→ decides", False: ""})
    table = frame.drop(columns=["source", "holds", "decided"]).assign(truth=truth)
    if not failed.any():
        table = table.drop(columns="error")
    table.insert(0, "", marks)
    return f"{_line(_head(explanation))}\n{_table(table)}"


def _verdict(result: ScenarioResult) -> str:
    word = "pass" if result.passed else "FAIL"
    title = f": {result.scenario.title}" if result.scenario.title else ""
    lines = [f"<p><strong>{_text(f'{word} {result.name}{title}')}</strong></p>", _line(result.run.summary)]
    return "\n".join(lines + _list(result.mismatches))


def _suite(result: SuiteResult) -> list[str]:
    wrong = [f"{one.name}: {mismatch}" for one in result.results for mismatch in one.mismatches]
    wrong += [f"refused: {refusal.error}" for refusal in result.refused]
    return [_line(_head(result)), _table(runs_table(result)), *_list(wrong)]


def _traces(report: TraceReport) -> list[str]:
    seen = [f"outside the graph: {name} ({hits} times)" for name, hits in report.outside.items()]
    seen += [f"refused {file}: {why}" for file, why in report.refused.items()]
    tables = [deviations_table(report)] if report.deviations else []
    tables += [trace_endings_table(report), routes_table(report)]
    return [_line(_head(report)), *map(_table, tables), *_list(seen)]


def _mutation(report: MutationReport) -> list[str]:
    table = report.table
    left = table[table["result"] == "survived"].drop(columns=["result", "scenario"])
    parts = [_line(_head(report)), _table(report.operators)]
    return [*parts, _line("What no scenario notices:"), _table(left)] if len(left) else parts


def _list(lines: Iterable[str]) -> list[str]:
    """Write lines as a list, or nothing where there are none."""
    items = "".join(f"<li>{_text(line)}</li>" for line in lines)
    return [f"<ul>{items}</ul>"] if items else []
