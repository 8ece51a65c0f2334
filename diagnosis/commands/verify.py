"""The command ``diagnosis verify``."""

from __future__ import annotations

from pathlib import Path

import click

from diagnosis import __version__
from diagnosis.commands.options import (
    FILE,
    JUNIT,
    MEMORY,
    common,
    exploring,
    pool,
    proven,
    terminal,
    workers_option,
)
from diagnosis.exports import certificate, certificate_differences, certificate_text, read_certificate
from diagnosis.graphs import Models
from diagnosis.process import BROKEN, REFUSED, RefusedError, print_json, stopping
from diagnosis.scenarios import scenario_text, write_scenario
from diagnosis.scenarios.files import write_file
from diagnosis.verify import INTERRUPTED, Baseline, Proof, read_baseline


@click.command()
@click.argument("graph", required=False)
@exploring("each counterexample")
@MEMORY
@click.option("--findings", is_flag=True, help="Tell what else a reviewer should know, and count scripts by length.")
@click.option("--strict", is_flag=True, help="Fail on every finding too that the baseline does not accept.")
@click.option(
    "--baseline",
    type=FILE,
    metavar="FILE",
    help="Accept what this file lists: it does not fail.",
)
@click.option(
    "--write-baseline",
    type=FILE,
    metavar="FILE",
    help="Accept all that is found now: write it to this .json file.",
)
@click.option("--interleave", is_flag=True, help="Let branches move in any order too, and count that.")
@JUNIT
@click.option(
    "--certificate",
    "written",
    type=FILE,
    help="Write there what was proven, so that it can be checked again.",
)
@click.option(
    "--check",
    "checked",
    type=FILE,
    help="Prove again what a certificate says, with its budgets, and say what differs.",
)
@workers_option
@common
def verify(
    graph: str | None,
    save: Path | None,
    findings: bool,
    strict: bool,
    baseline: Path | None,
    write_baseline: Path | None,
    junit: Path | None,
    max_states: int,
    max_seconds: float,
    interleave: bool,
    max_memory: int | None,
    written: Path | None,
    checked: Path | None,
    workers: int | None,
    graphs: tuple[str, ...],
    as_json: bool,
) -> int:
    """Explore every outcome script of a graph and give a verdict on each property.

    GRAPH is a shipped graph, one given with --graph, or MODULE:ATTRIBUTE. Ctrl-C tells what was found so far.

    \b
    Example:
      diagnosis verify
      diagnosis verify my_graphs:model --save counterexamples/
      diagnosis verify my_branches:model --interleave
      diagnosis verify my_graphs:model --strict --baseline accepted.json --junit verify.xml
      diagnosis verify --certificate proof.json
      diagnosis verify --check proof.json
      diagnosis verify my_slow_graphs:model --workers 4
    """
    from diagnosis.views.junit import proof_junit

    if write_baseline is not None and write_baseline.suffix != ".json":
        raise RefusedError(f"--write-baseline: found {str(write_baseline)!r}; allowed: a file that ends in .json")
    model = Models(graphs).chosen(graph)
    accepted = None if baseline is None else read_baseline(baseline)
    old = None
    if checked is not None:
        old = read_certificate(checked, model)
        max_states, max_seconds = old["budgets"]["max_states"], old["budgets"]["max_seconds"]
        interleave = bool(old.get("interleaved"))
    with stopping() as interrupted, pool(workers) as executor:
        proof = proven(
            model.name,
            model,
            max_states,
            max_seconds,
            max_memory,
            interrupted,
            interleave=interleave,
            executor=executor,
        )
    if write_baseline is not None:
        accepted = Baseline.of(proof)
        write_file(write_baseline, accepted.text().encode())
    if accepted is not None:
        accepted.must_fit(proof)
    told = findings or strict or accepted is not None
    out = terminal(as_json)
    shown = proof.counterexamples
    saved = [] if save is None else [write_scenario(scenario, save) for scenario in shown]
    out.proof(proof)
    if shown:
        sure = all(verdict.shortest for verdict in proof.verdicts if not verdict.holds)
        out.heading(f"The shortest counterexample{'' if sure else ' that was found'}, as a scenario")
        out.raw(scenario_text(min(shown, key=lambda scenario: len(scenario.expect.path or ()))))
    for file in saved:
        out.raw(f"saved {file}")
    if told:
        out.findings(proof, accepted)
    if junit is not None:
        write_file(junit, proof_junit(proof, accepted, strict=strict).encode())
    document = proof.to_json(findings=told)
    if accepted is not None:
        document["accepted"] = [
            {"kind": kind, "where": where} for kind, where in sorted(accepted.accepted - set(accepted.stale(proof)))
        ]
    differing: list[str] = []
    if written is not None or old is not None:
        new = certificate(proof, max_states=max_states, max_seconds=max_seconds, version=__version__)
        if old is not None:
            differing = certificate_differences(old, new)
            document["certificate"] = {"file": str(checked), "stale": bool(differing), "differences": differing}
            out.heading(f"The certificate {checked} {'is stale' if differing else 'still stands'}")
            for line in differing:
                out.raw(line)
        if written is not None:
            out.raw(f"saved {write_file(written, certificate_text(new))}")
    if as_json:
        print_json(document)
    if old is not None:
        return BROKEN if differing else 0
    return _status(proof, accepted, strict=strict)


def _status(proof: Proof, accepted: Baseline | None, *, strict: bool) -> int:
    """Tell the exit status: what is accepted does not count; of an interrupted proof only what is broken does."""
    open_ones = [each for each in proof.verdicts if not each.holds and not (accepted and accepted.accepts(each))]
    remarks = [each for each in proof.findings if not (accepted and accepted.accepts(each))] if strict else []
    interrupted = any(each.holds is None and INTERRUPTED in each.detail for each in open_ones)
    if interrupted and not any(each.holds is False for each in open_ones):
        return REFUSED
    return BROKEN if open_ones or remarks else 0
