"""The command ``diagnosis coverage``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from diagnosis.commands.options import (
    FILE,
    FOLDER,
    MAX_SECONDS,
    PATHS,
    Finite,
    NonEmptyPath,
    common,
    covered,
    loaded,
    ran,
    status_of,
    terminal,
)
from diagnosis.graphs import Models
from diagnosis.process import BROKEN, print_json
from diagnosis.runtime import Model
from diagnosis.scenarios import load, write_scenario
from diagnosis.verify import FURTHER, KINDS, Coverage, CoverageError, Suggestion, explore, suggest
from diagnosis.verify.coverage import WINNER, merged, shortest_scenarios
from diagnosis.views.terminal import Terminal, progress


@click.command()
@PATHS
@click.option("--fail-under", type=Finite(0, 100), help="Fail where a kind is covered less than this per cent.")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice((*KINDS, WINNER, *FURTHER)),
    help="Count this kind too; of --suggest, close gaps of this kind only. May be given more than once.",
)
@click.option("--all-kinds", is_flag=True, help="Count every kind there is; of --suggest, close the gaps of all.")
@click.option("--shortest", is_flag=True, help="Tell for each missing item the shortest scenario that would supply it.")
@click.option(
    "--suggest",
    "folder",
    type=FOLDER,
    help="Write the fewest scenario files that close all gaps there; no file is overwritten.",
)
@click.option(
    "--with",
    "added",
    multiple=True,
    type=NonEmptyPath(path_type=Path),
    metavar="FILE",
    help="Add the coverage that --save-data wrote; may be given more than once.",
)
@click.option(
    "--save-data",
    type=FILE,
    metavar="FILE",
    help="Write what was counted there, for --with.",
)
@common
def coverage(
    paths: tuple[Path, ...],
    fail_under: float | None,
    kinds: tuple[str, ...],
    all_kinds: bool,
    shortest: bool,
    folder: Path | None,
    added: tuple[Path, ...],
    save_data: Path | None,
    graphs: tuple[str, ...],
    as_json: bool,
) -> int:
    """Tally which nodes, routes, edges, reasons, rules, outcomes and conditions scenarios cover.

    Only what some run can show is counted; the rest is listed as proven infeasible. Kinds that are counted only when
    asked for: edge_pair, outcome_edge, transition, masking and decisive. With more than one graph, --json prints one
    object for each, by name.

    \b
    Example:
      diagnosis coverage data/scenarios --fail-under 100
      diagnosis coverage data/scenarios --kind outcome_edge --suggest more_scenarios/
    """
    if not paths and not added:
        raise click.UsageError("Missing argument 'PATHS...'.")
    wanted = FURTHER if all_kinds else kinds
    models = Models(graphs)
    suite = loaded(paths, models)
    result = ran(suite)
    found = covered(suite, result, {}, wanted)
    for file in added:
        _add(found, file, models, wanted)
    told = Terminal(sys.stderr)
    suggested = {} if folder is None else _suggested(found, kinds, all_kinds, folder, suite.scenarios, models)
    gaps = {
        name: shortest_scenarios(each, [item for item in each.items if item.standing == "missing"])
        for name, each in (found if shortest else {}).items()
    }
    out = terminal(as_json)
    for name, tally in found.items():
        if len(found) > 1:
            out.heading(name)
        out.coverage(tally, gaps.get(name))
        if name in suggested:
            out.suggestion(*suggested[name])
    for refusal in result.refused:
        told.line(f"refused  {refusal.error}")
    if save_data is not None:
        from diagnosis.views.coverage_files import save_coverage

        told.line(f"saved {save_coverage(save_data, *found.values())}")
    if as_json:
        documents = {name: _document(tally, gaps.get(name), suggested.get(name)) for name, tally in found.items()}
        print_json(next(iter(documents.values())) if len(documents) == 1 else documents)
    enough = True
    for name, tally in found.items():
        for kind in tally.below(fail_under or 0.0):
            enough = False
            told.line(f"{name}: {kind} is covered {tally.percent(kind):.1f} %, less than {fail_under:g} %")
    for scenario in result.results:
        if not scenario.passed:
            told.line(f"FAIL  {scenario.name}: {scenario.mismatches[0]}")
    if not paths:
        return 0 if enough else BROKEN
    return status_of(result, enough)


def _add(found: dict[str, Coverage], file: Path, models: Mapping[str, Model], kinds: Iterable[str]) -> None:
    """Add the coverage that a file holds."""
    from diagnosis.views.coverage_files import load_coverage, saved_graphs

    for name in saved_graphs(file):
        known = found.get(name)
        if known is None and name not in models:
            raise CoverageError(
                f"{file}: holds coverage of {name!r}, which is no graph that is known; give it with --graph "
                f"{name}=module:attribute"
            )
        model = models[name] if known is None else known.model
        space = explore(model, max_seconds=MAX_SECONDS) if known is None or not known.observed else known.observed.space
        saved = load_coverage(file, model, space=space, kinds=kinds)
        found[name] = saved if known is None else merged([known, saved])


def _suggested(
    found: Mapping[str, Coverage],
    kinds: tuple[str, ...],
    all_kinds: bool,
    folder: Path,
    scenarios: Iterable[tuple[Any, object]],
    models: Models,
) -> dict[str, tuple[Suggestion, list[Path]]]:
    """Write scenarios that close the gaps of each graph."""
    taken = {scenario.name for scenario, _ in scenarios}
    if folder.is_dir():
        # A name that a file there has already would keep the two from being run together.
        taken |= {scenario.name for scenario, _ in load(str(folder), models).scenarios}
    made = {}
    for name, tally in found.items():
        closed = tally.kinds if all_kinds else tuple(kind for kind in tally.kinds if kind in kinds) or None
        with progress(f"closing gaps of {name}"):
            suggestion = suggest(tally, closed, taken=taken)
        taken |= {scenario.name for scenario in suggestion.scenarios}
        made[name] = (suggestion, [write_scenario(scenario, folder) for scenario in suggestion.scenarios])
    return made


def _document(
    tally: Coverage,
    gaps: Mapping[tuple[str, str], tuple[Any, ...]] | None,
    suggested: tuple[Suggestion, list[Path]] | None,
) -> dict[str, Any]:
    document = tally.to_json()
    for (kind, item), scenarios in (gaps or {}).items():
        document[kind].setdefault("shortest", {})[item] = [scenario.to_map() for scenario in scenarios]
    if suggested is not None:
        suggestion, files = suggested
        document["suggested"] = suggestion.to_json() | {"files": [str(file) for file in files]}
    return document
