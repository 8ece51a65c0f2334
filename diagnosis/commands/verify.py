"""The command ``diagnosis verify``."""

from __future__ import annotations

from pathlib import Path

import click

from diagnosis.commands.options import common, exploring, proven, terminal
from diagnosis.graphs import Models
from diagnosis.process import BROKEN, print_json
from diagnosis.scenarios import scenario_text, write_scenario


@click.command()
@click.argument("graph", required=False)
@exploring("each counterexample")
@common
def verify(
    graph: str | None,
    save: Path | None,
    max_states: int,
    max_seconds: float,
    graphs: tuple[str, ...],
    as_json: bool,
) -> int:
    """Explore every outcome script of a graph and give a verdict on each property.

    GRAPH is a shipped graph, one given with --graph, or MODULE:ATTRIBUTE.

    \b
    Example:
      diagnosis verify
      diagnosis verify my_graphs:model --save counterexamples/
    """
    model = Models(graphs).chosen(graph)
    proof = proven(model.name, model, max_states, max_seconds)
    out = terminal(as_json)
    shown = proof.counterexamples
    saved = [] if save is None else [write_scenario(scenario, save) for scenario in shown]
    out.proof(proof)
    if shown:
        out.heading("The shortest counterexample, as a scenario")
        out.raw(scenario_text(min(shown, key=lambda scenario: len(scenario.expect.path or ()))))
    for file in saved:
        out.raw(f"saved {file}")
    if as_json:
        print_json(proof.to_json())
    return 0 if proof.holds else BROKEN
