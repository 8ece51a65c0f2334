"""The command ``diagnosis verify``."""

from __future__ import annotations

from pathlib import Path

import click

from diagnosis import __version__
from diagnosis.commands.options import MAX_SECONDS, Finite, NonEmptyPath, common, proven, terminal
from diagnosis.exports import certificate, certificate_differences, certificate_text, read_certificate
from diagnosis.graphs import Models
from diagnosis.process import BROKEN, print_json
from diagnosis.scenarios import scenario_text, write_scenario
from diagnosis.scenarios.files import write_file
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
@click.option(
    "--certificate",
    "written",
    type=NonEmptyPath(path_type=Path, dir_okay=False),
    help="Write there what was proven, so that it can be checked again.",
)
@click.option(
    "--check",
    "checked",
    type=NonEmptyPath(path_type=Path, dir_okay=False),
    help="Prove again what a certificate says, with its budgets, and say what differs.",
)
@common
def verify(
    graph: str | None,
    save: Path | None,
    max_states: int,
    max_seconds: float,
    written: Path | None,
    checked: Path | None,
    graphs: tuple[str, ...],
    as_json: bool,
) -> int:
    """Explore every outcome script of a graph and give a verdict on each property.

    GRAPH is a shipped graph, one given with --graph, or MODULE:ATTRIBUTE.

    \b
    Example:
      diagnosis verify
      diagnosis verify my_graphs:model --save counterexamples/
      diagnosis verify --certificate proof.json
      diagnosis verify --check proof.json
    """
    model = Models(graphs).chosen(graph)
    old = None
    if checked is not None:
        old = read_certificate(checked, model)
        max_states, max_seconds = old["budgets"]["max_states"], old["budgets"]["max_seconds"]
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
    document = proof.to_json()
    differing: list[str] = []
    if written is not None or old is not None:
        new = certificate(proof, max_states=max_states, max_seconds=max_seconds, version=__version__)
        if old is not None:
            differing = certificate_differences(old, new)
            document["certificate"] = {"file": str(checked), "stale": bool(differing), "differences": differing}
            out.heading(f"The certificate {checked} {'is stale' if differing else 'still stands'}")
            for line in differing:
                out.raw(line)
        if written is not None:
            out.raw(f"saved {write_file(written, certificate_text(new))}")
    if as_json:
        print_json(document)
    return 0 if proof.holds and not differing else BROKEN
