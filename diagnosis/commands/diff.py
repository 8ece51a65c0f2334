"""The command ``diagnosis diff``."""

from __future__ import annotations

from pathlib import Path

import click

from diagnosis.commands.options import MEMORY, common, exploring, terminal
from diagnosis.graphs import Models
from diagnosis.process import BROKEN, print_json
from diagnosis.scenarios import write_scenario
from diagnosis.verify import compare
from diagnosis.views.terminal import progress


@click.command()
@click.argument("before")
@click.argument("after")
@exploring("the shortest script of each kind of change, as it runs in either version,")
@MEMORY
@common
def diff(
    before: str,
    after: str,
    save: Path | None,
    max_states: int,
    max_seconds: float,
    max_memory: int | None,
    graphs: tuple[str, ...],
    as_json: bool,
) -> int:
    """Compare two versions of a graph: which scripts change their path, their reasons or their end.

    BEFORE and AFTER are shipped graphs, given with --graph, or MODULE:ATTRIBUTE. The exit status is 1 on any
    difference, and where the budget was used up first.

    \b
    Example:
      diagnosis diff old_graphs:model new_graphs:model
      diagnosis diff main mine --graph main=old:model --graph mine=new:model --save changed/
    """
    models = Models(graphs)
    versions = models.chosen(before), models.chosen(after)
    with progress("comparing") as advance:
        comparison = compare(
            *versions, max_states=max_states, max_seconds=max_seconds, max_memory=max_memory, progress=advance
        )
    out = terminal(as_json)
    out.comparison(comparison)
    if save is not None:
        for change in comparison.changes:
            for scenario in (change.before, change.after):
                out.raw(f"saved {write_scenario(scenario, save)}")
    if as_json:
        print_json(comparison.to_json())
    return 0 if comparison.same else BROKEN
