"""The command ``diagnosis run``."""

from __future__ import annotations

from pathlib import Path

import click

from diagnosis.commands.options import REQUIRED_PATHS, common, loaded, pool, ran, status_of, terminal, workers_option
from diagnosis.graphs import Models
from diagnosis.process import REFUSED, print_json
from diagnosis.scale import WorkersError
from diagnosis.views.terminal import safe


@click.command()
@REQUIRED_PATHS
@workers_option
@common
def run(paths: tuple[Path, ...], workers: int | None, graphs: tuple[str, ...], as_json: bool) -> int:
    """Run scenario files or directories and compare each run with what it expects.

    \b
    Example:
      diagnosis run data/scenarios
      diagnosis run mine.yaml --graph mine=my_graphs:model
      diagnosis run data/scenarios --workers 2
    """
    suite, out = loaded(paths, Models(graphs)), terminal(as_json)
    try:
        with pool(workers) as executor:
            result = ran(suite, executor)
    except WorkersError as error:
        out.suite(error.partial)
        if not as_json:
            raise
        click.echo(f"diagnosis: {safe(str(error))}", err=True)
        print_json({**error.partial.to_json(), "error": str(error)})
        return REFUSED
    out.suite(result)
    if as_json:
        print_json(result.to_json())
    return status_of(result)
