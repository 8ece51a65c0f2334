"""The command ``diagnosis draw``."""

from __future__ import annotations

from pathlib import Path

import click

from diagnosis.commands.options import FILE, common, terminal
from diagnosis.graphs import Models
from diagnosis.process import print_json


@click.command()
@click.argument("graph", required=False)
@click.option(
    "-o",
    "--output",
    type=FILE,
    help="The file; its ending chooses: .svg, .png, .dot or .gv, .mmd or .mermaid, .puml or .plantuml.",
)
@common
def draw(graph: str | None, output: Path | None, graphs: tuple[str, ...], as_json: bool) -> int:
    """Draw a graph's topology; without a file, print it as text.

    \b
    Example:
      diagnosis draw -o topology.svg
      diagnosis draw my_graphs:model -o mine.mmd
    """
    model = Models(graphs).chosen(graph)
    if output is not None:
        from diagnosis.views import draw as drawn

        drawn(model).save(output)
    topology = model.graph.topology
    if as_json:
        print_json(
            {
                "graph": model.name,
                "file": None if output is None else str(output),
                "nodes": [{"name": node.name, "kind": node.kind} for node in topology.nodes],
                "edges": [
                    {"from": e.source, "to": e.target, "kind": e.kind, "route": e.route, "reasons": list(e.reasons)}
                    for e in topology.edges
                ],
            }
        )
    elif output is None:
        terminal(as_json).raw(topology.text())
    else:
        terminal(as_json).raw(str(output))
    return 0
