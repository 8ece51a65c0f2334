"""What the commands share."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from diagnosis.graphs import Models
from diagnosis.process import BROKEN, REFUSED
from diagnosis.runtime import Model
from diagnosis.scale import process_pool
from diagnosis.scenarios import Suite, SuiteResult, load, run_suite
from diagnosis.verify import MAX_STATES, Coverage, Proof, StateSpace, explore, measure, prove
from diagnosis.views.terminal import Terminal, progress, safe

MAX_SECONDS = 30.0
"""Seconds that exploring a graph may take where no other budget is given."""

F = TypeVar("F", bound=Callable[..., Any])


def common(command: F) -> F:
    """Give a command the options --graph and --json.

    Args:
        command: the command's function; it takes ``graphs`` and ``as_json``.

    Returns:
        The function with the options.
    """
    command = click.option("--json", "as_json", is_flag=True, help="Print machine-readable JSON on standard output.")(
        command
    )
    return click.option(
        "--graph",
        "graphs",
        multiple=True,
        metavar="NAME=MODULE:ATTRIBUTE",
        help="A model of your own by name; may be given more than once.",
    )(command)


class Finite(click.FloatRange):
    """A number in a range; what is no number is in none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Take a finite number; arguments as click's own."""
        number = float(super().convert(value, param, ctx))
        return number if math.isfinite(number) else self.fail(f"{value} is no finite number.", param, ctx)


def budgets(command: F) -> F:
    """Give a command the options --max-states and --max-seconds.

    Args:
        command: the command's function; it takes ``max_states`` and ``max_seconds``.

    Returns:
        The function with the options.
    """
    command = click.option(
        "--max-seconds",
        type=Finite(0, min_open=True),
        default=MAX_SECONDS,
        show_default=True,
        help="Budget of time; what was not found by then is not proven.",
    )(command)
    return click.option(
        "--max-states", type=click.IntRange(1), default=MAX_STATES, show_default=True, help="Budget of states."
    )(command)


def exploring(saved: str) -> Callable[[F], F]:
    """Give a command the options --save, --max-states and --max-seconds.

    Args:
        saved: what is saved, for the help.

    Returns:
        The decorator of a command's function, which takes ``save``, ``max_states`` and ``max_seconds``.
    """

    def decorated(command: F) -> F:
        return click.option(
            "--save",
            type=FOLDER,
            help=f"Save {saved} there as a scenario file.",
        )(budgets(command))

    return decorated


def workers_option(command: F) -> F:
    """Give a command the option --workers.

    Args:
        command: the command's function; it takes ``workers``.

    Returns:
        The function with the option.
    """
    return click.option(
        "--workers",
        type=click.IntRange(1, 256),
        metavar="N",
        help="Call the functions of the graph in N processes; by default in this one. The output is the same.",
    )(command)


@contextmanager
def pool(workers: int | None) -> Iterator[Executor | None]:
    """Give a pool of processes for the time of a command.

    Args:
        workers: how many; ``None`` for none.

    Yields:
        The pool, or ``None``.
    """
    if workers is None:
        yield None
        return
    executor = process_pool(workers)
    try:
        yield executor
    finally:
        executor.shutdown(cancel_futures=True)


def terminal(as_json: bool) -> Terminal:
    """Give the stream that tables go to.

    Args:
        as_json: whether standard output is kept for the JSON document.

    Returns:
        Standard output, or standard error beside a JSON document.
    """
    return Terminal(sys.stderr if as_json else sys.stdout)


def loaded(paths: tuple[Path, ...], models: Models) -> Suite:
    """Read scenario files.

    Args:
        paths: files and directories.
        models: the graphs by name.

    Returns:
        The suite, with what was refused.
    """
    return load([str(path) for path in paths], models)


def ran(suite: Suite, executor: Executor | None = None) -> SuiteResult:
    """Run a suite under a progress bar.

    Args:
        suite: the scenarios.
        executor: the workers that run them, if any.

    Returns:
        What came out.
    """
    with progress("running scenarios", len(suite.cases)) as advance:
        return run_suite(suite, progress=lambda result: advance(), executor=executor)


def status_of(result: SuiteResult, holds: bool = True) -> int:
    """Tell the exit status of a command that ran scenarios.

    Args:
        result: what came out.
        holds: whether everything else that was checked holds.

    Returns:
        2 if anything was refused or nothing was found, else 1 if something does not hold, else 0.
    """
    if result.refused or not result.results:
        if not result.results and not result.refused:
            click.echo("diagnosis: nothing was found to check; scenario files end in .yaml, .yml or .json", err=True)
        return REFUSED
    return 0 if holds and not result.failed else BROKEN


def covered(
    suite: Suite, result: SuiteResult, spaces: dict[str, StateSpace], kinds: Iterable[str] = ()
) -> dict[str, Coverage]:
    """Measure coverage for each graph that a scenario names.

    Args:
        suite: the scenarios.
        result: what came out.
        spaces: graphs that have been explored already, by name.
        kinds: what to count beside what is counted of every graph.

    Returns:
        Coverage by the graph's name.
    """
    found: dict[str, Coverage] = {}
    models = {case.scenario.graph: case.model for case in suite.cases}
    for name, model in models.items():
        runs = [scenario.run for scenario in result.results if scenario.scenario.graph == name]
        space = spaces.get(name) or explore(model, max_seconds=MAX_SECONDS)
        found[name] = measure(model, runs, space=space, kinds=kinds)
    return found


def proven(
    name: str,
    model: Model,
    max_states: int,
    max_seconds: float | None,
    max_memory: int | None = None,
    interrupted: Callable[[], bool] | None = None,
    *,
    interleave: bool = False,
    executor: Executor | None = None,
) -> Proof:
    """Prove a graph under a progress bar.

    Args:
        name: the graph's name, for the bar.
        model: the graph.
        max_states: the budget of states.
        max_seconds: the budget of time.
        max_memory: the budget of memory: MiB that the process may hold.
        interrupted: asked now and then whether to stop, as if a budget were used up.
        interleave: whether branches move in any order too.
        executor: the workers, if any.

    Returns:
        The proof.
    """
    with progress(f"exploring {safe(name)}") as advance:
        return prove(
            model,
            interleave=interleave,
            max_states=max_states,
            max_seconds=max_seconds,
            max_memory=max_memory,
            interrupted=interrupted,
            progress=advance,
            executor=executor,
        )


class NonEmptyPath(click.Path):
    """A path that is not empty, as an unset variable of a shell would make it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Take a text that is not empty; arguments as click's own."""
        if str(value) == "":
            self.fail("the path is empty; name a file or directory", param, ctx)
        return super().convert(value, param, ctx)


MEMORY = click.option(
    "--max-memory", type=click.IntRange(1), metavar="MIB", help="Budget of memory: what the process may hold."
)
FILE = NonEmptyPath(path_type=Path, dir_okay=False)
"""A path that is no directory."""

FOLDER = NonEmptyPath(path_type=Path, file_okay=False)
"""A path that is no file."""

JUNIT = click.option(
    "--junit",
    type=FILE,
    metavar="FILE",
    help="Also write the results there as JUnit XML.",
)
PATHS = click.argument("paths", nargs=-1, type=NonEmptyPath(path_type=Path))
REQUIRED_PATHS = click.argument("paths", nargs=-1, required=True, type=NonEmptyPath(path_type=Path))
