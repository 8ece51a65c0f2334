"""The command ``diagnosis flow``."""

from __future__ import annotations

import click

from diagnosis.commands.options import budgets, common, terminal
from diagnosis.graphs import Models
from diagnosis.process import BROKEN, REFUSED, print_json
from diagnosis.verify import MAX_SCRIPTS, check_flow
from diagnosis.verify.chain import script_text
from diagnosis.verify.flow import SHOWN
from diagnosis.views.terminal import progress, safe


@click.command()
@click.argument("graph", required=False)
@click.option("--scripts", "as_scripts", is_flag=True, help="Show the shortest script of every flow.")
@click.option(
    "--max-scripts",
    type=click.IntRange(1),
    default=MAX_SCRIPTS,
    show_default=True,
    help="Scripts that are run in pairs; where there are more, one through each transition.",
)
@budgets
@common
def flow(
    graph: str | None,
    as_scripts: bool,
    max_states: int,
    max_scripts: int,
    max_seconds: float,
    graphs: tuple[str, ...],
    as_json: bool,
) -> int:
    """Show what untrusted text can reach, and whether the graph's barriers hold.

    Hostile fakes copy everything they are handed into everything they may write. A model without a boundary shows its
    flows, with every node untrusted; there is nothing to hold then.

    \b
    Example:
      diagnosis flow
      diagnosis flow my_graphs:model --scripts
    """
    model = Models(graphs).chosen(graph)
    with progress(f"following text through {safe(model.name)}") as advance:
        found = check_flow(
            model, max_states=max_states, max_scripts=max_scripts, max_seconds=max_seconds, progress=advance
        )
    out = terminal(as_json)
    out.line(found.counted)
    out.line(f"untrusted: {', '.join(found.sources) or 'no node'}; real actions: {', '.join(found.real) or 'none'}")
    if as_scripts:
        rows = [(r.source, r.node, r.key, len(r.script), script_text(r.script)) for r in found.reaches]
        out.table(("source", "node", "key", "executions", "script"), rows, numbers=("executions",))
    else:
        out.table(("source", "reaches"), [(source, ", ".join(keys)) for source, keys in found.reached.items()])
    if found.verdicts:
        out.heading("Barriers")
        out.table(("verdict", "barrier"), [(v.word, f"{v.barrier.name}: {v.detail}") for v in found.verdicts])
        for verdict in found.verdicts:
            if verdict.script is not None:
                out.line(f"{verdict.barrier.name}: {script_text(verdict.script) or 'with the input alone'}", "red")
    out.line(SHOWN)
    if as_json:
        print_json(found.to_json())
    if not found.reaches and not found.verdicts:
        click.echo("diagnosis: nothing was found to check: no node writes text, and no barrier is declared", err=True)
        return REFUSED
    return 0 if found.holds else BROKEN
