"""The command ``diagnosis coverage``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from diagnosis.commands.options import REQUIRED_PATHS, Finite, common, covered, loaded, ran, status_of, terminal
from diagnosis.graphs import Models
from diagnosis.process import print_json
from diagnosis.views.terminal import Terminal


@click.command()
@REQUIRED_PATHS
@click.option("--fail-under", type=Finite(0, 100), help="Fail where a kind is covered less than this per cent.")
@common
def coverage(paths: tuple[Path, ...], fail_under: float | None, graphs: tuple[str, ...], as_json: bool) -> int:
    """Tally which nodes, routes, edges, reasons, rules, outcomes and conditions scenarios cover.

    Only what some run can show is counted. With more than one graph, --json prints one object for each, by name.

    \b
    Example:
      diagnosis coverage data/scenarios --fail-under 100
    """
    suite = loaded(paths, Models(graphs))
    result = ran(suite)
    found = covered(suite, result, {})
    out, told = terminal(as_json), Terminal(sys.stderr)
    for name, tally in found.items():
        if len(found) > 1:
            out.heading(name)
        out.coverage(tally)
    for refusal in result.refused:
        told.line(f"refused  {refusal.error}")
    if as_json:
        documents = {name: tally.to_json() for name, tally in found.items()}
        print_json(next(iter(documents.values())) if len(documents) == 1 else documents)
    enough = True
    for name, tally in found.items():
        for kind in tally.below(fail_under or 0.0):
            enough = False
            told.line(f"{name}: {kind} is covered {tally.percent(kind):.1f} %, less than {fail_under:g} %")
    for scenario in result.results:
        if not scenario.passed:
            told.line(f"FAIL  {scenario.name}: {scenario.mismatches[0]}")
    return status_of(result, enough)
