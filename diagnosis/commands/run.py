"""The command ``diagnosis run``."""

from __future__ import annotations

from pathlib import Path

import click

from diagnosis.commands.options import (
    FOLDER,
    JUNIT,
    REQUIRED_PATHS,
    common,
    loaded,
    pool,
    ran,
    status_of,
    terminal,
    workers_option,
)
from diagnosis.graphs import Models
from diagnosis.process import REFUSED, print_json
from diagnosis.scale import WorkersError
from diagnosis.scenarios import Suite, SuiteResult, write_scenario
from diagnosis.scenarios import minimise as minimised
from diagnosis.views.terminal import Terminal, progress, safe


@click.command()
@REQUIRED_PATHS
@JUNIT
@click.option(
    "--minimise",
    is_flag=False,
    flag_value="build/minimised",
    type=FOLDER,
    metavar="[=DIR]",
    help="Make each failing scenario as small as it can be, and save it there (build/minimised).",
)
@workers_option
@common
def run(
    paths: tuple[Path, ...],
    junit: Path | None,
    minimise: Path | None,
    workers: int | None,
    graphs: tuple[str, ...],
    as_json: bool,
) -> int:
    """Run scenario files or directories and compare each run with what it expects.

    \b
    Example:
      diagnosis run data/scenarios
      diagnosis run mine.yaml --graph mine=my_graphs:model
      diagnosis run data/scenarios --junit run.xml --minimise
      diagnosis run data/scenarios --workers 2
    """
    from diagnosis.scenarios.files import write_file
    from diagnosis.views.junit import suite_junit

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
    saved = [] if minimise is None else _minimised(suite, result, minimise, out)
    if junit is not None:
        write_file(junit, suite_junit(result).encode())
    if as_json:
        print_json(result.to_json() | ({} if minimise is None else {"minimised": saved}))
    return status_of(result)


def _minimised(suite: Suite, result: SuiteResult, folder: Path, out: Terminal) -> list[dict[str, str]]:
    """Save the smallest form of each scenario that failed; give names and files."""
    failed = {each.name for each in result.results if not each.passed}
    saved = []
    with progress("making scenarios smaller", len(failed)) as advance:
        for case in suite.cases:
            if case.scenario.name in failed:
                file = str(write_scenario(minimised(case), folder))
                saved.append({"name": case.scenario.name, "file": file})
                advance()
    for each in saved:
        out.line(f"minimised {each['name']}: saved {each['file']}")
    return saved
