"""The command ``diagnosis export``."""

from __future__ import annotations

from pathlib import Path

import click

from diagnosis.commands.options import FILE, budgets, common, terminal
from diagnosis.exports import Options, ending_of
from diagnosis.exports import export as exported
from diagnosis.graphs import Models
from diagnosis.process import print_json
from diagnosis.views.terminal import progress, safe


@click.command()
@click.argument("graph", required=False)
@click.option(
    "-o",
    "--output",
    required=True,
    type=FILE,
    help="The file; its ending chooses: .pml (Promela, for SPIN), .json (vectors: each script with its run), .xes or "
    ".csv (event log).",
)
@click.option("--interleave", is_flag=True, help="For .pml: every order in which branches may move.")
@budgets
@common
def export(
    graph: str | None,
    output: Path,
    interleave: bool,
    max_states: int,
    max_seconds: float,
    graphs: tuple[str, ...],
    as_json: bool,
) -> int:
    """Write a graph for other tools.

    GRAPH is a shipped graph, one given with --graph, or MODULE:ATTRIBUTE.

    \b
    Example:
      diagnosis export -o model.pml
      diagnosis export my_graphs:model -o vectors.json
    """
    ending = ending_of(output)
    model = Models(graphs).chosen(graph)
    with progress(f"exporting {safe(model.name)}") as advance:
        exported(model, output, Options(interleave, max_states, max_seconds, advance))
    terminal(as_json).raw(str(output))
    if as_json:
        print_json({"graph": model.name, "file": str(output), "what": ending.what})
    return 0
