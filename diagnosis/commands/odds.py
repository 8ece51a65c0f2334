"""The command ``diagnosis odds``."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import click

from diagnosis.commands.options import FILE, budgets, common, terminal
from diagnosis.graphs import Models
from diagnosis.process import RefusedError, print_json
from diagnosis.verify import Chances, Odds, Slope, as_share, outcome_odds
from diagnosis.verify.chances import exact, told
from diagnosis.views.chance_tables import quantity_text
from diagnosis.views.terminal import Terminal, progress, safe

GRID = "0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1"
"""The probabilities that are tried where no others are given."""


@click.command()
@click.argument("graph", required=False)
@click.option(
    "--odds",
    "file",
    type=FILE,
    help="YAML or JSON: outcomes, winners, model_calls. Without it all outcomes of a node are equally likely.",
)
@click.option(
    "--vary",
    metavar="NODE=OUTCOME[,OUTCOME]",
    help="Show how everything changes with the probability of these outcomes, such as those of a failure.",
)
@click.option("--grid", default=GRID, show_default=True, help="The probabilities to try with --vary.")
@click.option(
    "-o",
    "--output",
    type=FILE,
    help="Save the picture with probabilities there; its ending chooses, as for draw.",
)
@budgets
@common
def odds(
    graph: str | None,
    file: Path | None,
    vary: str | None,
    grid: str,
    output: Path | None,
    max_states: int,
    max_seconds: float,
    graphs: tuple[str, ...],
    as_json: bool,
) -> int:
    """Compute expected calls and the probability of each ending from outcome odds.

    Everything is exact: nothing is sampled.

    \b
    Example:
      diagnosis odds
      diagnosis odds --odds odds.yaml --vary verifier=FAILED -o odds.svg
    """
    model = Models(graphs).chosen(graph)
    given = Odds.of(model) if file is None else Odds.load(file, model)
    with progress(f"exploring {safe(model.name)}") as advance:
        chances = outcome_odds(model, given, max_states=max_states, max_seconds=max_seconds, progress=advance)
    out = terminal(as_json)
    _show(out, chances)
    document = chances.to_json()
    if vary is not None:
        node, sign, names = vary.partition("=")
        if not sign:
            raise RefusedError(f"--vary: found {vary!r}; allowed: NODE=OUTCOME, such as planner=FAILED")
        outcomes = tuple(names.split(","))
        document["slopes"] = [
            {"node": node, "outcomes": list(outcomes), "quantity": quantity_text(slope.quantity), **exact(slope.slope)}
            for slope in _slopes(out, chances, node, outcomes)
        ]
        document["grid"] = _grid(out, chances, node, outcomes, tuple(map(as_share, grid.split(","))))
    if output is not None:
        from diagnosis.views import draw

        draw(model, chances=chances).save(output)
        out.raw(f"saved {output}")
    if as_json:
        print_json(document)
    return 0


def _show(out: Terminal, chances: Chances) -> None:
    out.line(
        f"{told(chances.expected_executions)} node executions and {told(chances.expected_calls)} model calls a run"
    )
    if chances.odds.assumed:
        out.line(f"uniform, because no odds were given: {', '.join(chances.odds.assumed)}")
    rows = [
        (node, told(number), "yes" if node in chances.odds.callers else "")
        for node, number in chances.executions.items()
    ]
    out.heading("Expected executions")
    out.table(("node", "expected", "calls a model"), rows, numbers=("expected",))
    out.heading("Endings")
    ends = [(end.reason, end.final_node, told(share)) for end, share in chances.endings.items()]
    out.table(("termination reason", "final node", "probability"), ends, numbers=("probability",))


def _slopes(out: Terminal, chances: Chances, node: str, outcomes: tuple[str, ...]) -> tuple[Slope, ...]:
    slopes = chances.slopes(node, outcomes)
    here = told(chances.odds.share(node, outcomes))
    out.heading(f"Change with the probability of {node} {', '.join(outcomes)}, now {here}")
    rows = [
        (quantity_text(slope.quantity), "runs would not end" if slope.slope is None else told(slope.slope))
        for slope in slopes
        if slope.slope != 0
    ]
    out.table(("quantity", "slope"), rows, numbers=("slope",))
    return slopes


def _grid(
    out: Terminal, chances: Chances, node: str, outcomes: tuple[str, ...], shares: tuple[Fraction, ...]
) -> list[dict[str, object]]:
    tried = chances.vary(node, outcomes, shares)
    likeliest = next(iter(chances.endings), None)
    rows = [
        (
            told(share),
            told(found.expected_executions),
            told(found.expected_calls),
            "" if likeliest is None else told(found.endings[likeliest]),
        )
        for share, found in tried
    ]
    columns = ("probability", "executions", "model calls", "" if likeliest is None else quantity_text(likeliest))
    out.table(columns, rows, numbers=columns)
    return [{"share": exact(share), **found.to_json()} for share, found in tried]
