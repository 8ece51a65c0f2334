"""The command ``diagnosis run``."""

from __future__ import annotations

from pathlib import Path

import click

from diagnosis.commands.options import JUNIT, REQUIRED_PATHS, common, loaded, ran, status_of, terminal
from diagnosis.graphs import Models
from diagnosis.process import print_json


@click.command()
@REQUIRED_PATHS
@JUNIT
@common
def run(paths: tuple[Path, ...], junit: Path | None, graphs: tuple[str, ...], as_json: bool) -> int:
    """Run scenario files or directories and compare each run with what it expects.

    \b
    Example:
      diagnosis run data/scenarios
      diagnosis run mine.yaml --graph mine=my_graphs:model
    """
    from diagnosis.views.files import write_file
    from diagnosis.views.junit import suite_junit

    result = ran(loaded(paths, Models(graphs)))
    terminal(as_json).suite(result)
    if junit is not None:
        write_file(junit, suite_junit(result).encode())
    if as_json:
        print_json(result.to_json())
    return status_of(result)
