"""The command ``diagnosis mutate``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from diagnosis.commands.options import REQUIRED_PATHS, common, exploring, loaded, ran, status_of, terminal
from diagnosis.graphs import Models
from diagnosis.mutation import MutationReport
from diagnosis.mutation import mutate as mutated
from diagnosis.process import print_json
from diagnosis.scenarios import Suite, write_scenario
from diagnosis.views.terminal import Terminal, progress, safe


@click.command()
@REQUIRED_PATHS
@exploring("the shortest scenario that kills each survivor")
@common
def mutate(
    paths: tuple[Path, ...],
    save: Path | None,
    max_states: int,
    max_seconds: float,
    graphs: tuple[str, ...],
    as_json: bool,
) -> int:
    """Change the routing in every small way and say which changes scenarios notice.

    A change that no scenario notices, although some script would, survives: it is listed with the shortest scenario
    that notices it. Changes that are proven to change nothing do not count. With more than one graph, --json prints
    one object for each, by name.

    \b
    Example:
      diagnosis mutate data/scenarios --save missing/
    """
    suite = loaded(paths, Models(graphs))
    result = ran(suite)
    found = reports(suite, max_states, max_seconds)
    out, told = terminal(as_json), Terminal(sys.stderr)
    for name, report in found.items():
        if len(found) > 1:
            out.heading(name)
        out.mutation(report)
        if save is not None:
            for killer in report.killers:
                out.raw(f"saved {write_scenario(killer, save)}")
    for refusal in result.refused:
        told.line(f"refused  {refusal.error}")
    if as_json:
        documents = {name: report.to_json() for name, report in found.items()}
        print_json(next(iter(documents.values())) if len(documents) == 1 else documents)
    for scenario in result.results:
        if not scenario.passed:
            told.line(f"FAIL  {scenario.name}: {scenario.mismatches[0]}")
    return status_of(result, not any(report.survivors for report in found.values()))


def reports(suite: Suite, max_states: int, max_seconds: float) -> dict[str, MutationReport]:
    """Put the mutants of each graph that a scenario names to the scenarios.

    Args:
        suite: the scenarios.
        max_states: the budget of control states.
        max_seconds: the budget of time.

    Returns:
        A report by the graph's name.
    """
    found = {}
    for name, model in {case.scenario.graph: case.model for case in suite.cases}.items():
        with progress(f"changing {safe(name)}") as advance:
            found[name] = mutated(model, suite, max_states=max_states, max_seconds=max_seconds, progress=advance)
    return found
