"""The command ``diagnosis``: parse, call, print."""

from __future__ import annotations

import importlib
import importlib.util
import json
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from diagnosis import __version__
from diagnosis.catalog import shipped, shipped_names
from diagnosis.runtime import DiagnosisError, Model, one_of, told
from diagnosis.scenarios import Suite, SuiteResult, load, run_suite, scenario_text, write_scenario
from diagnosis.verify import MAX_STATES, Coverage, Proof, StateSpace, measure, prove
from diagnosis.views.terminal import Terminal, progress, safe

BROKEN = 1
"""Exit status: something that was checked does not hold."""

REFUSED = 2
"""Exit status: something was refused, missing, or there was nothing to check."""

F = TypeVar("F", bound=Callable[..., Any])


class _Group(click.Group):
    """Turns the package's own errors into a message and exit status 2."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except DiagnosisError as error:
            _refuse(str(error))
        except KeyboardInterrupt:
            _refuse("interrupted")


def _refuse(message: str) -> NoReturn:
    click.echo(f"diagnosis: {safe(message)}", err=True)
    sys.exit(REFUSED)


def _model_at(spec: str) -> Model:
    """Import the model named by ``module:attribute``."""
    module, _, attribute = spec.partition(":")
    if not module or not attribute:
        _refuse(f"--graph: found {spec!r}; allowed: NAME=module:attribute, such as mine=my_graphs:model")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
        if callable(found) and not isinstance(found, Model):
            found = found()
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        where = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
        _refuse(f"--graph: {spec} cannot be loaded: {told(error)}{where}")
    if not isinstance(found, Model):
        _refuse(f"--graph: {spec} is {type(found).__name__}; allowed: a diagnosis.Model, or a function that gives one")
    return found


class _Models(Mapping[str, Model]):
    """The models by name: those given with --graph, then the shipped ones."""

    def __init__(self, given: tuple[str, ...]) -> None:
        self.own: dict[str, Model] = {}
        for text in given:
            name, sign, spec = text.partition("=")
            if not sign or not name.strip():
                _refuse(f"--graph: found {text!r}; allowed: NAME=module:attribute, such as mine=my_graphs:model")
            if name in self.own:
                _refuse(f"--graph: {name!r} is given twice; give each graph its own name")
            self.own[name] = _model_at(spec)

    def __getitem__(self, name: str) -> Model:
        if name in self.own:
            return self.own[name]
        if name in shipped_names():
            return shipped(name)
        raise KeyError(name)

    def __iter__(self) -> Any:
        return iter(dict.fromkeys((*self.own, *shipped_names())))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def chosen(self, name: str | None) -> tuple[str, Model]:
        """Give the graph that a command is about: the named one, the only one given, or the shipped one."""
        if name is None:
            name = next(iter(self.own)) if len(self.own) == 1 else next(iter(shipped_names()))
        if name not in self and ":" in name:
            model = _model_at(name)
            return model.name, model
        if name not in self:
            _refuse(
                f"no graph named {name!r}; there is {one_of(self)}; bring your own with --graph NAME=module:attribute"
            )
        return name, self[name]


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


def _print_json(document: object) -> None:
    click.echo(json.dumps(document, indent=2, default=str))


def _out(as_json: bool) -> Terminal:
    return Terminal(sys.stderr if as_json else sys.stdout)


def _loaded(paths: tuple[Path, ...], models: _Models) -> Suite:
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
        found[name] = measure(model, runs, space=spaces.get(name))
    return found


def _proven(name: str, model: Model, max_states: int, max_seconds: float | None) -> Proof:
    with progress(f"exploring {safe(name)}") as advance:
        return prove(model, max_states=max_states, max_seconds=max_seconds, progress=advance)


PATHS = click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
REQUIRED_PATHS = click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
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
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("build/report.html"),
    show_default=True,
    help="Where the report goes.",
)
@_common
def tour(paths: tuple[Path, ...], output: Path, graphs: tuple[str, ...], as_json: bool) -> None:
    """Run all scenarios, tally their routes, prove the graph, write a report.

    Without PATH the shipped scenarios are run.

    \b
    Example:
      diagnosis tour
      diagnosis tour my_scenarios/
    """
    from diagnosis.views.report import write_report
    from diagnosis.views.shipped import shipped_scenarios

    models = _Models(graphs)
    suite = _loaded(paths or (shipped_scenarios(),), models)
    result = _run(suite)
    used = {case.scenario.graph: case.model for case in suite.cases}
    proofs = {name: _proven(name, model, MAX_STATES, None) for name, model in used.items()}
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
    written = None
    if result.results:
        with progress("drawing the report", None):
            written = write_report(output, result, coverages, proofs)
        out.heading("Report")
        out.raw(str(written))
    if as_json:
        _print_json(
            {
                "run": result.to_json(),
                "coverage": {name: coverage.to_json() for name, coverage in coverages.items()},
                "proof": {name: proof.to_json() for name, proof in proofs.items()},
                "report": None if written is None else str(written),
            }
        )
    sys.exit(status)


@app.command()
@REQUIRED_PATHS
@_common
def run(paths: tuple[Path, ...], graphs: tuple[str, ...], as_json: bool) -> None:
    """Run scenario files or directories and compare each run with what it expects.

    \b
    Example:
      diagnosis run data/scenarios
      diagnosis run mine.yaml --graph mine=my_graphs:model
    """
    result = _run(_loaded(paths, _Models(graphs)))
    if as_json:
        _print_json(result.to_json())
    else:
        _out(as_json).suite(result)
    sys.exit(_status(result))


@app.command()
@REQUIRED_PATHS
@click.option(
    "--fail-under", type=click.FloatRange(0, 100), help="Fail where a kind is covered less than this per cent."
)
@_common
def coverage(paths: tuple[Path, ...], fail_under: float | None, graphs: tuple[str, ...], as_json: bool) -> None:
    """Tally which nodes, routes, edges, reasons, rules, outcomes and conditions scenarios cover.

    Only what some run can show is counted. With more than one graph, --json prints one object for each, by name.

    \b
    Example:
      diagnosis coverage data/scenarios --fail-under 100
    """
    suite = _loaded(paths, _Models(graphs))
    result = _run(suite)
    found = _covered(suite, result, {})
    out = Terminal(sys.stderr) if as_json else Terminal()
    for name, tally in found.items():
        if not as_json:
            if len(found) > 1:
                out.heading(name)
            out.coverage(tally)
    for refusal in result.refused:
        Terminal(sys.stderr).line(f"refused  {refusal.error}")
    if as_json:
        documents = {name: tally.to_json() for name, tally in found.items()}
        _print_json(next(iter(documents.values())) if len(documents) == 1 else documents)
    enough = True
    for name, tally in found.items():
        for kind in tally.below(fail_under or 0.0):
            enough = False
            Terminal(sys.stderr).line(
                f"{name}: {kind} is covered {tally.percent(kind):.1f} %, less than {fail_under:g} %"
            )
    for scenario in result.results:
        if not scenario.passed:
            Terminal(sys.stderr).line(f"FAIL  {scenario.name}: {scenario.mismatches[0]}")
    sys.exit(_status(result, enough))


@app.command()
@click.argument("graph", required=False)
@click.option(
    "--save",
    type=click.Path(path_type=Path, file_okay=False),
    help="Save each counterexample there as a scenario file.",
)
@click.option("--max-states", type=click.IntRange(1), default=MAX_STATES, show_default=True, help="Budget of states.")
@click.option("--max-seconds", type=click.FloatRange(0, min_open=True), help="Budget of time.")
@_common
def verify(
    graph: str | None,
    save: Path | None,
    max_states: int,
    max_seconds: float | None,
    graphs: tuple[str, ...],
    as_json: bool,
) -> None:
    """Explore every outcome script of a graph and give a verdict on each property.

    GRAPH is a shipped graph, one given with --graph, or MODULE:ATTRIBUTE.

    \b
    Example:
      diagnosis verify
      diagnosis verify my_graphs:model --save counterexamples/
    """
    name, model = _Models(graphs).chosen(graph)
    proof = _proven(name, model, max_states, max_seconds)
    out = _out(as_json)
    out.proof(proof)
    shown = proof.counterexamples
    if shown:
        out.heading("The first counterexample, as a scenario")
        out.raw(scenario_text(shown[0]))
    if save is not None:
        for scenario in shown:
            out.raw(f"saved {write_scenario(scenario, save)}")
    if as_json:
        _print_json(proof.to_json())
    sys.exit(0 if proof.holds else BROKEN)


@app.command()
@click.argument("graph", required=False)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file; its ending chooses .svg, .png, .dot, .mmd or .puml.",
)
@_common
def draw(graph: str | None, output: Path | None, graphs: tuple[str, ...], as_json: bool) -> None:
    """Draw a graph's topology; without a file, print it as text.

    \b
    Example:
      diagnosis draw -o topology.svg
      diagnosis draw my_graphs:model -o mine.mmd
    """
    name, model = _Models(graphs).chosen(graph)
    if output is not None:
        from diagnosis.views import draw as drawn

        drawn(model).save(output)
    topology = model.graph.topology
    if as_json:
        _print_json(
            {
                "graph": name,
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


@app.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--json", "as_json", is_flag=True, help="Print what would be opened, and open nothing.")
def lab(arguments: tuple[str, ...], as_json: bool) -> None:
    """Open JupyterLab on the notebooks; further ARGUMENTS go to JupyterLab.

    From an installed package the notebooks are copied to ./diagnosis-notebooks first; what is there is kept.

    \b
    Example:
      diagnosis lab
      diagnosis lab --no-browser --port 8899
    """
    from diagnosis.views.shipped import shipped_notebooks

    if importlib.util.find_spec("jupyterlab") is None:
        _refuse("JupyterLab is not installed; install it with: pip install 'diagnosis[lab]'")
    folder = shipped_notebooks()
    if folder.is_relative_to(Path(__file__).parent):
        copy = Path.cwd() / "diagnosis-notebooks"
        if not as_json:
            copy.mkdir(exist_ok=True)
            for notebook in sorted(folder.glob("*.ipynb")):
                if not (copy / notebook.name).exists():
                    shutil.copyfile(notebook, copy / notebook.name)
        folder = copy
    command = [sys.executable, "-m", "jupyterlab", str(folder), *arguments]
    if as_json:
        _print_json({"notebooks": str(folder), "command": command})
        return
    sys.exit(subprocess.run(command, check=False).returncode)


def main() -> None:
    """Run the command with the arguments of the process."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="diagnosis")
