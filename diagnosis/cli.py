"""The command ``diagnosis``: its subcommands and its start."""

from __future__ import annotations

import sys

import click

from diagnosis import __version__
from diagnosis.commands.coverage import coverage
from diagnosis.commands.diff import diff
from diagnosis.commands.draw import draw
from diagnosis.commands.export import export
from diagnosis.commands.flow import flow
from diagnosis.commands.lab import lab
from diagnosis.commands.mutate import mutate
from diagnosis.commands.odds import odds
from diagnosis.commands.run import run
from diagnosis.commands.tour import tour
from diagnosis.commands.trace import trace
from diagnosis.commands.verify import verify
from diagnosis.process import Group


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="diagnosis")
def app() -> None:
    """Script, run, draw, tally and prove the routing of agent graphs.

    Exit status: 0 if all that was checked holds, 1 if something does not, 2 if something was refused or missing.
    """


for _command in (tour, run, coverage, mutate, verify, diff, flow, odds, trace, draw, export, lab):
    app.add_command(_command)


def main() -> None:
    """Run the command with the arguments of the process."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    app.main()
