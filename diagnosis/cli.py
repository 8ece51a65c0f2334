"""The command ``diagnosis``: parse, call, print."""

from __future__ import annotations

import importlib.util
import math
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from diagnosis import __version__
from diagnosis.graphs import Models
from diagnosis.process import BROKEN, REFUSED, Group, RefusedError, print_json
from diagnosis.runtime import Model
from diagnosis.scenarios import Suite, SuiteResult, load, run_suite, scenario_text, write_scenario
from diagnosis.verify import MAX_STATES, Coverage, Proof, StateSpace, explore, measure, prove
from diagnosis.views.terminal import Terminal, progress, safe

MAX_SECONDS = 30.0
"""Seconds that exploring a graph may take where no other budget is given."""

F = TypeVar("F", bound=Callable[..., Any])


def _common(command: F) -> F:
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


def _out(as_json: bool) -> Terminal:
    return Terminal(sys.stderr if as_json else sys.stdout)


def _loaded(paths: tuple[Path, ...], models: Models) -> Suite:
    return load([str(path) for path in paths], models)


def _run(suite: Suite) -> SuiteResult:
    with progress("running scenarios", len(suite.cases)) as advance:
        return run_suite(suite, progress=lambda result: advance())


def _status(result: SuiteResult, holds: bool = True) -> int:
    if result.refused or not result.results:
        if not result.results and not result.refused:
            click.echo("diagnosis: nothing was found to check; scenario files end in .yaml, .yml or .json", err=True)
        return REFUSED
    return 0 if holds and not result.failed else BROKEN


def _covered(suite: Suite, result: SuiteResult, spaces: dict[str, StateSpace]) -> dict[str, Coverage]:
    """Measure coverage for each graph that a scenario names."""
    found: dict[str, Coverage] = {}
    models = {case.scenario.graph: case.model for case in suite.cases}
    for name, model in models.items():
        runs = [scenario.run for scenario in result.results if scenario.scenario.graph == name]
        space = spaces.get(name) or explore(model, max_seconds=MAX_SECONDS)
        found[name] = measure(model, runs, space=space)
    return found


def _proven(name: str, model: Model, max_states: int, max_seconds: float | None) -> Proof:
    with progress(f"exploring {safe(name)}") as advance:
        return prove(model, max_states=max_states, max_seconds=max_seconds, progress=advance)


class _Number(click.FloatRange):
    """A number in a range; what is no number is in none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        return number if math.isfinite(number) else self.fail(f"{value} is no finite number.", param, ctx)


class _Path(click.Path):
    """A path that is not empty, as an unset variable of a shell would make it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if str(value) == "":
            self.fail("the path is empty; name a file or directory", param, ctx)
        return super().convert(value, param, ctx)


PATHS = click.argument("paths", nargs=-1, type=_Path(path_type=Path))
REQUIRED_PATHS = click.argument("paths", nargs=-1, required=True, type=_Path(path_type=Path))


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="diagnosis")
def app() -> None:
    """Script, run, draw, tally and prove the routing of agent graphs.

    Exit status: 0 if all that was checked holds, 1 if something does not, 2 if something was refused or missing.
    """


@app.command()
@PATHS
@click.option(
    "-o",
    "--output",
    type=_Path(path_type=Path, dir_okay=False),
    default=Path("build/report.html"),
    show_default=True,
    help="Where the report goes.",
)
@_common
def tour(paths: tuple[Path, ...], output: Path, graphs: tuple[str, ...], as_json: bool) -> int:
    """Run all scenarios, tally their routes, prove the graph, write a report.

    Without PATH the shipped scenarios are run.

    \b
    Example:
      diagnosis tour
      diagnosis tour my_scenarios/
    """
    from diagnosis.views.files import FileError
    from diagnosis.views.report import write_report
    from diagnosis.views.shipped import shipped_scenarios

    models = Models(graphs)
    suite = _loaded(paths or (shipped_scenarios(),), models)
    result = _run(suite)
    used = {case.scenario.graph: case.model for case in suite.cases}
    proofs = {name: _proven(name, model, MAX_STATES, MAX_SECONDS) for name, model in used.items()}
    coverages = _covered(suite, result, {name: proof.space for name, proof in proofs.items()})
    out = _out(as_json)
    for name, model in used.items():
        out.heading(f"The graph {name}")
        out.raw(model.graph.text())
    if result.results or result.refused:
        out.heading("Scenarios")
        out.suite(result)
    for name, coverage in coverages.items():
        out.heading(f"Coverage of {name}")
        out.coverage(coverage)
    if result.results:
        out.heading("How the runs ended")
        out.terminations(result)
    for name, proof in proofs.items():
        out.heading(f"Proof of {name}")
        out.proof(proof)
    status = _status(result, all(proof.holds for proof in proofs.values()))
    document: dict[str, Any] = {
        "run": result.to_json(),
        "coverage": {name: coverage.to_json() for name, coverage in coverages.items()},
        "proof": {name: proof.to_json() for name, proof in proofs.items()},
        "report": None,
    }
    if result.results:
        try:
            with progress("drawing the report", None):
                document["report"] = str(write_report(output, result, coverages, proofs))
        except FileError as error:
            document["error"] = str(error)
            status = REFUSED
        out.heading("Report")
        out.raw(document["report"] or document["error"])
    if as_json:
        print_json(document)
    return status


@app.command()
@REQUIRED_PATHS
@_common
def run(paths: tuple[Path, ...], graphs: tuple[str, ...], as_json: bool) -> int:
    """Run scenario files or directories and compare each run with what it expects.

    \b
    Example:
      diagnosis run data/scenarios
      diagnosis run mine.yaml --graph mine=my_graphs:model
    """
    result = _run(_loaded(paths, Models(graphs)))
    _out(as_json).suite(result)
    if as_json:
        print_json(result.to_json())
    return _status(result)


@app.command()
@REQUIRED_PATHS
@click.option("--fail-under", type=_Number(0, 100), help="Fail where a kind is covered less than this per cent.")
@_common
def coverage(paths: tuple[Path, ...], fail_under: float | None, graphs: tuple[str, ...], as_json: bool) -> int:
    """Tally which nodes, routes, edges, reasons, rules, outcomes and conditions scenarios cover.

    Only what some run can show is counted. With more than one graph, --json prints one object for each, by name.

    \b
    Example:
      diagnosis coverage data/scenarios --fail-under 100
    """
    suite = _loaded(paths, Models(graphs))
    result = _run(suite)
    found = _covered(suite, result, {})
    out, told = _out(as_json), Terminal(sys.stderr)
    for name, tally in found.items():
        if len(found) > 1:
            out.heading(name)
        out.coverage(tally)
    for refusal in result.refused:
        told.line(f"refused  {refusal.error}")
    if as_json:
        documents = {name: tally.to_json() for name, tally in found.items()}
        print_json(next(iter(documents.values())) if len(documents) == 1 else documents)
    enough = True
    for name, tally in found.items():
        for kind in tally.below(fail_under or 0.0):
            enough = False
            told.line(f"{name}: {kind} is covered {tally.percent(kind):.1f} %, less than {fail_under:g} %")
    for scenario in result.results:
        if not scenario.passed:
            told.line(f"FAIL  {scenario.name}: {scenario.mismatches[0]}")
    return _status(result, enough)


@app.command()
@click.argument("graph", required=False)
@click.option(
    "--save",
    type=_Path(path_type=Path, file_okay=False),
    help="Save each counterexample there as a scenario file.",
)
@click.option("--max-states", type=click.IntRange(1), default=MAX_STATES, show_default=True, help="Budget of states.")
@click.option(
    "--max-seconds",
    type=_Number(0, min_open=True),
    default=MAX_SECONDS,
    show_default=True,
    help="Budget of time; what was not found by then is not proven.",
)
@_common
def verify(
    graph: str | None,
    save: Path | None,
    max_states: int,
    max_seconds: float,
    graphs: tuple[str, ...],
    as_json: bool,
) -> int:
    """Explore every outcome script of a graph and give a verdict on each property.

    GRAPH is a shipped graph, one given with --graph, or MODULE:ATTRIBUTE.

    \b
    Example:
      diagnosis verify
      diagnosis verify my_graphs:model --save counterexamples/
    """
    model = Models(graphs).chosen(graph)
    proof = _proven(model.name, model, max_states, max_seconds)
    out = _out(as_json)
    shown = proof.counterexamples
    saved = [] if save is None else [write_scenario(scenario, save) for scenario in shown]
    out.proof(proof)
    if shown:
        out.heading("The shortest counterexample, as a scenario")
        out.raw(scenario_text(min(shown, key=lambda scenario: len(scenario.expect.path or ()))))
    for file in saved:
        out.raw(f"saved {file}")
    if as_json:
        print_json(proof.to_json())
    return 0 if proof.holds else BROKEN


@app.command()
@click.argument("graph", required=False)
@click.option(
    "-o",
    "--output",
    type=_Path(path_type=Path, dir_okay=False),
    help="The file; its ending chooses: .svg, .png, .dot or .gv, .mmd or .mermaid, .puml or .plantuml.",
)
@_common
def draw(graph: str | None, output: Path | None, graphs: tuple[str, ...], as_json: bool) -> int:
    """Draw a graph's topology; without a file, print it as text.

    \b
    Example:
      diagnosis draw -o topology.svg
      diagnosis draw my_graphs:model -o mine.mmd
    """
    model = Models(graphs).chosen(graph)
    if output is not None:
        from diagnosis.views import draw as drawn

        drawn(model).save(output)
    topology = model.graph.topology
    if as_json:
        print_json(
            {
                "graph": model.name,
                "file": None if output is None else str(output),
                "nodes": [{"name": node.name, "kind": node.kind} for node in topology.nodes],
                "edges": [
                    {"from": e.source, "to": e.target, "kind": e.kind, "route": e.route, "reasons": list(e.reasons)}
                    for e in topology.edges
                ],
            }
        )
    elif output is None:
        _out(as_json).raw(topology.text())
    else:
        _out(as_json).raw(str(output))
    return 0


@app.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--json", "as_json", is_flag=True, help="Print what would be opened, and open nothing.")
def lab(arguments: tuple[str, ...], as_json: bool) -> int:
    """Open JupyterLab on the notebooks; further ARGUMENTS go to JupyterLab.

    From an installed package the notebooks are copied to ./diagnosis-notebooks first; what is there is kept.

    \b
    Example:
      diagnosis lab
      diagnosis lab --no-browser --port 8899
    """
    from diagnosis.views.shipped import shipped_notebooks

    if importlib.util.find_spec("jupyterlab") is None:
        raise RefusedError("JupyterLab is not installed; install it with: pip install 'diagnosis[lab]'")
    folder = shipped_notebooks()
    if folder.is_relative_to(Path(__file__).parent):
        folder = _copied(folder, Path("diagnosis-notebooks"), really=not as_json)
    command = [sys.executable, "-m", "jupyterlab", str(folder), *arguments]
    if as_json:
        print_json({"notebooks": str(folder), "command": command})
        return 0
    return subprocess.run(command, check=False).returncode


def _copied(folder: Path, copy: Path, *, really: bool) -> Path:
    """Copy the notebooks that are not there yet."""
    try:
        if really:
            copy.mkdir(exist_ok=True)
            for notebook in sorted(folder.glob("*.ipynb")):
                if not (copy / notebook.name).exists():
                    shutil.copyfile(notebook, copy / notebook.name)
        return copy.absolute()
    except OSError as error:
        raise RefusedError(f"the notebooks cannot be copied to {copy}: {error.strerror or error}") from error


def main() -> None:
    """Run the command with the arguments of the process."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    app.main()
