"""What people look at: pictures of graphs, runs and coverage, tables, and the displays of notebooks."""

from diagnosis.scenarios.files import FileError
from diagnosis.views.chance_tables import ending_odds_table, executions_table, sensitivity_table, vary_table
from diagnosis.views.coverage_files import load_coverage, save_coverage
from diagnosis.views.coverage_tables import coverage_summary, coverage_table, production_table
from diagnosis.views.diagram import ENDINGS, Diagram, Drawable, draw
from diagnosis.views.dot import DrawError, dot_text
from diagnosis.views.flow_tables import barriers_table, flow_table
from diagnosis.views.frames import TableError
from diagnosis.views.junit import proof_junit, suite_junit
from diagnosis.views.mermaid import mermaid_text
from diagnosis.views.plantuml import plantuml_text
from diagnosis.views.proof_tables import changes_table, endings_table, findings_table, lengths_table
from diagnosis.views.render import Engine, RenderError, find_engine, render
from diagnosis.views.report import report_html, write_report
from diagnosis.views.shipped import ShippedError, shipped_notebooks, shipped_scenarios, shipped_traces
from diagnosis.views.tables import (
    events_table,
    explanation_table,
    proof_table,
    rules_table,
    runs_table,
    terminations_table,
)
from diagnosis.views.trace_tables import (
    classes_table,
    deviations_table,
    durations_table,
    routes_table,
    trace_endings_table,
)

__all__ = [
    "ENDINGS",
    "Diagram",
    "DrawError",
    "Drawable",
    "Engine",
    "FileError",
    "RenderError",
    "ShippedError",
    "TableError",
    "barriers_table",
    "changes_table",
    "classes_table",
    "coverage_summary",
    "coverage_table",
    "deviations_table",
    "dot_text",
    "draw",
    "durations_table",
    "ending_odds_table",
    "endings_table",
    "events_table",
    "executions_table",
    "explanation_table",
    "find_engine",
    "findings_table",
    "flow_table",
    "lengths_table",
    "load_coverage",
    "mermaid_text",
    "plantuml_text",
    "production_table",
    "proof_junit",
    "proof_table",
    "render",
    "report_html",
    "routes_table",
    "rules_table",
    "runs_table",
    "save_coverage",
    "sensitivity_table",
    "shipped_notebooks",
    "shipped_scenarios",
    "shipped_traces",
    "suite_junit",
    "terminations_table",
    "trace_endings_table",
    "vary_table",
    "write_report",
]
