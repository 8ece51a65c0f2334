"""What people look at: pictures of graphs, runs and coverage, tables, and the displays of notebooks."""

from diagnosis.scenarios.files import FileError
from diagnosis.views.diagram import ENDINGS, Diagram, Drawable, draw
from diagnosis.views.dot import DrawError, dot_text
from diagnosis.views.mermaid import mermaid_text
from diagnosis.views.plantuml import plantuml_text
from diagnosis.views.render import Engine, RenderError, find_engine, render
from diagnosis.views.report import report_html, write_report
from diagnosis.views.shipped import ShippedError, shipped_notebooks, shipped_scenarios
from diagnosis.views.tables import (
    TableError,
    coverage_summary,
    coverage_table,
    events_table,
    explanation_table,
    proof_table,
    rules_table,
    runs_table,
    terminations_table,
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
    "coverage_summary",
    "coverage_table",
    "dot_text",
    "draw",
    "events_table",
    "explanation_table",
    "find_engine",
    "mermaid_text",
    "plantuml_text",
    "proof_table",
    "render",
    "report_html",
    "rules_table",
    "runs_table",
    "shipped_notebooks",
    "shipped_scenarios",
    "terminations_table",
    "write_report",
]
