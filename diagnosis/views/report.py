"""The report: one self-contained HTML file to mail to a reviewer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from diagnosis import __version__
from diagnosis.scenarios import SuiteResult, scenario_text
from diagnosis.scenarios.files import write_file
from diagnosis.verify import Coverage, Proof
from diagnosis.views.coverage_tables import coverage_summary
from diagnosis.views.diagram import Diagram, draw
from diagnosis.views.tables import choices_text, path_nodes, terminations_table
from diagnosis.views.terminal import safe

MANY_PICTURES = 200
"""Scenarios that are drawn one by one; beyond, only those that failed."""


def _picture(diagram: Diagram, label: str) -> Markup:
    """Give a picture as an image that needs no network, or as text where no layout engine is there."""
    source = diagram.data_uri()
    if source is None:
        return Markup("<pre>{}</pre>").format(diagram.dot)
    return Markup('<img alt="{}" src="{}">').format(safe(label), source)


def _visible(value: Any) -> Any:
    """Show control characters and direction marks instead of handing them to the browser."""
    return safe(value) if type(value) is str else value


def report_html(result: SuiteResult, coverages: Mapping[str, Coverage], proofs: Mapping[str, Proof]) -> str:
    """Give the report as HTML without scripts or references to anything outside it.

    Args:
        result: what the scenarios came to.
        coverages: graph name -> what they cover.
        proofs: graph name -> its proof.
    """
    environment = Environment(
        loader=PackageLoader("diagnosis.views"), autoescape=True, trim_blocks=True, finalize=_visible
    )
    template = environment.get_template("report.html.j2")
    graphs: list[dict[str, Any]] = []
    for name, coverage in coverages.items():
        proof = proofs[name]
        graphs.append(
            {
                "name": name,
                "topology": draw(coverage.model),
                "covered": draw(coverage.model, coverage=coverage),
                "coverage": coverage,
                "summary": coverage_summary(coverage).to_dict("records"),
                "proof": proof,
                "good": sum(1 for verdict in proof.verdicts if verdict.holds),
                "counterexamples": [scenario_text(scenario) for scenario in proof.counterexamples],
            }
        )
    drawn = len(result.results) <= MANY_PICTURES
    scenarios = [
        {
            "result": item,
            "picture": draw(item.run) if drawn or not item.passed else None,
            "path": path_nodes(item.run),
            "branches": any(event.branch for event in item.run.events),
        }
        for item in result.results
    ]
    return template.render(
        version=__version__,
        graphs=graphs,
        result=result,
        scenarios=scenarios,
        endings=terminations_table(result).to_dict("records"),
        picture=_picture,
        choices=choices_text,
    )


def write_report(
    path: str | Path, result: SuiteResult, coverages: Mapping[str, Coverage], proofs: Mapping[str, Proof]
) -> Path:
    """Write the report to a file, wholly or not at all.

    Args:
        path: where to; missing folders are made, a file that is there is replaced.
        result: what the scenarios came to.
        coverages: graph name -> what they cover.
        proofs: graph name -> its proof.

    Returns:
        The path.

    Raises:
        FileError: the file cannot be written.
    """
    content = report_html(result, coverages, proofs).encode("utf-8", "backslashreplace")
    return write_file(path, content, make_folder=True)
