"""The command ``diagnosis verify``."""

from __future__ import annotations

from pathlib import Path

import click

from diagnosis.commands.options import MAX_SECONDS, Finite, NonEmptyPath, common, pool, proven, terminal, workers_option
from diagnosis.graphs import Models
from diagnosis.process import BROKEN, print_json
from diagnosis.scenarios import scenario_text, write_scenario
from diagnosis.verify import MAX_STATES


@click.command()
@click.argument("graph", required=False)
@click.option(
    "--save",
    type=NonEmptyPath(path_type=Path, file_okay=False),
    help="Save each counterexample there as a scenario file.",
)
@click.option("--max-states", type=click.IntRange(1), default=MAX_STATES, show_default=True, help="Budget of states.")
@click.option(
    "--max-seconds",
    type=Finite(0, min_open=True),
    default=MAX_SECONDS,
    show_default=True,
    help="Budget of time; what was not found by then is not proven.",
)
@workers_option
@common
def verify(
    graph: str | None,
    save: Path | None,
    max_states: int,
    max_seconds: float,
    workers: int | None,
    graphs: tuple[str, ...],
    as_json: bool,
) -> int:
    """Explore every outcome script of a graph and give a verdict on each property.

    GRAPH is a shipped graph, one given with --graph, or MODULE:ATTRIBUTE.

    \b
    Example:
      diagnosis verify
      diagnosis verify my_graphs:model --save counterexamples/
      diagnosis verify my_slow_graphs:model --workers 4
    """
    model = Models(graphs).chosen(graph)
    with pool(workers) as executor:
        proof = proven(model.name, model, max_states, max_seconds, executor)
    out = terminal(as_json)
    shown = proof.counterexamples
    saved = [] if save is None else [write_scenario(scenario, save) for scenario in shown]
    out.proof(proof)
    if shown:
        sure = all(verdict.shortest for verdict in proof.verdicts if not verdict.holds)
        out.heading(f"The shortest counterexample{'' if sure else ' that was found'}, as a scenario")
        out.raw(scenario_text(min(shown, key=lambda scenario: len(scenario.expect.path or ()))))
    for file in saved:
        out.raw(f"saved {file}")
    if as_json:
        print_json(proof.to_json())
    return 0 if proof.holds else BROKEN
