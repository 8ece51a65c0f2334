"""The command ``diagnosis tour``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from diagnosis.commands.options import (
    FILE,
    MAX_SECONDS,
    PATHS,
    common,
    covered,
    loaded,
    proven,
    ran,
    status_of,
    terminal,
)
from diagnosis.graphs import Models
from diagnosis.process import REFUSED, print_json
from diagnosis.verify import MAX_STATES
from diagnosis.views.terminal import progress


@click.command()
@PATHS
@click.option(
    "-o",
    "--output",
    type=FILE,
    default=Path("build/report.html"),
    show_default=True,
    help="Where the report goes.",
)
@common
def tour(paths: tuple[Path, ...], output: Path, graphs: tuple[str, ...], as_json: bool) -> int:
    """Run all scenarios, tally their routes, prove the graph, write a report.

    Without PATH the shipped scenarios are run.

    \b
    Example:
      diagnosis tour
      diagnosis tour my_scenarios/
    """
    from diagnosis.scenarios.files import FileError
    from diagnosis.views.report import write_report
    from diagnosis.views.shipped import shipped_scenarios

    models = Models(graphs)
    suite = loaded(paths or (shipped_scenarios(),), models)
    result = ran(suite)
    used = {case.scenario.graph: case.model for case in suite.cases}
    proofs = {name: proven(name, model, MAX_STATES, MAX_SECONDS) for name, model in used.items()}
    coverages = covered(suite, result, {name: proof.space for name, proof in proofs.items()})
    out = terminal(as_json)
    for name, model in used.items():
        out.heading(f"The graph {name}")
        out.raw(model.graph.text())
    if result.results or result.refused:
        out.heading("Scenarios")
        out.suite(result)
    for name, coverage in coverages.items():
        out.heading(f"Coverage of {name}")
        out.coverage(coverage)
    if result.results:
        out.heading("How the runs ended")
        out.terminations(result)
    for name, proof in proofs.items():
        out.heading(f"Proof of {name}")
        out.proof(proof)
    status = status_of(result, all(proof.holds for proof in proofs.values()))
    document: dict[str, Any] = {
        "run": result.to_json(),
        "coverage": {name: coverage.to_json() for name, coverage in coverages.items()},
        "proof": {name: proof.to_json() for name, proof in proofs.items()},
        "report": None,
    }
    if result.results:
        try:
            with progress("drawing the report", None):
                document["report"] = str(write_report(output, result, coverages, proofs))
        except FileError as error:
            document["error"] = str(error)
            status = REFUSED
        out.heading("Report")
        out.raw(document["report"] or document["error"])
    if as_json:
        print_json(document)
    return status
