"""The command ``diagnosis trace``."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import click

from diagnosis.commands.options import FILE, MAX_SECONDS, NonEmptyPath, common, terminal
from diagnosis.graphs import Models
from diagnosis.process import BROKEN, REFUSED, RefusedError, print_json_around
from diagnosis.runtime import Model
from diagnosis.traces import (
    Deviation,
    TraceChecker,
    TraceReport,
    TraceTally,
    documents,
    event_log,
    write_csv,
    write_xes,
)
from diagnosis.views.terminal import progress, safe

STDIN = "-"


@click.command()
@click.argument("files", nargs=-1, required=True, type=NonEmptyPath(path_type=Path, allow_dash=True), metavar="FILE...")
@click.option(
    "-o",
    "--output",
    type=FILE,
    help="Write the node executions as an event log; its ending says how: .xes or .csv.",
)
@common
def trace(files: tuple[Path, ...], output: Path | None, graphs: tuple[str, ...], as_json: bool) -> int:
    """Check recorded orchestration traces against the graph that should have made them.

    FILE is JSON Lines (a trace a line, of any length), or one JSON document (a trace or a list of them); - is standard
    input. Each deviation is told as it is found, with its class, its place and the conditions that should have held.

    \b
    Example:
      diagnosis trace data/traces/conforming.jsonl
      diagnosis trace production.jsonl --json
      diagnosis trace mine.jsonl --graph mine=my_graphs:model -o mine.xes
    """
    if output is not None and (output.suffix not in (".xes", ".csv") or Path(STDIN) in files):
        raise RefusedError(f"-o {output}: an event log ends in .xes or .csv, and is not written from standard input")
    checker = _checker(_model(graphs))
    out = terminal(as_json)
    with tempfile.TemporaryFile("w+", encoding="ascii") as spool:

        def tell(deviation: Deviation) -> None:
            if as_json:
                spool.write(json.dumps(deviation.to_json()) + "\n")
            else:
                out.line(deviation, "yellow" if deviation.in_log else "red")

        report = _checked(TraceTally(checker, tell, keep=0), files)
        out.traces(report)
        if output is not None:
            out.line(f"wrote {_export(checker, files, output)} events to {output}")
        if as_json:
            spool.seek(0)
            print_json_around(report.to_json(), "deviations", spool)
    if not report.checked and not report.unreadable and not report.refused:
        click.echo("diagnosis: nothing was found to check: no trace is in what was given", err=True)
        return REFUSED
    if report.unreadable or report.refused:
        return REFUSED
    return BROKEN if report.deviating else 0


def _model(graphs: tuple[str, ...]) -> Model:
    if len(graphs) > 1:
        raise RefusedError("--graph: traces are checked against one graph; give it once")
    return Models(graphs).chosen(None)


def _checker(model: Model) -> TraceChecker:
    with progress(f"exploring {safe(model.name)}") as advance:
        return TraceChecker(model, max_seconds=MAX_SECONDS, progress=advance)


def _checked(tally: TraceTally, files: tuple[Path, ...]) -> TraceReport:
    for file in files:
        if str(file) == STDIN:
            tally.add(sys.stdin.buffer, name=STDIN)
            continue
        size = file.stat().st_size if file.is_file() else None
        with progress(f"checking {safe(file.name)}", size) as advance:
            tally.add(file, progress=lambda done, size=size, advance=advance: advance(done, size))  # type: ignore[misc]
    return tally.report()


def _export(checker: TraceChecker, files: tuple[Path, ...], output: Path) -> int:
    """Write the event log; give how many events it holds."""
    events = event_log(checker, _each(files), strict=False)
    stream: TextIO
    with output.open("w", encoding="utf-8", newline="") as stream:
        if output.suffix == ".csv":
            return write_csv(events, stream)
        return write_xes(events, stream, name=checker.model.name)


def _each(files: tuple[Path, ...]) -> Iterator[object]:
    for file in files:
        if file.is_file():
            with file.open("rb") as stream:
                yield from documents(stream)
