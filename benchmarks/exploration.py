"""Large control spaces: exploring and proving them, beside SPIN on the same graph.

SPIN gets the graph as Promela: that of ``diagnosis.exports`` for one agent, and text by hand where several take turns.
 Its search is depth first, with partial-order reduction and dead variable elimination off (``-DNOREDUCE``,
``spin -o2``), so that both sides explore the same states, which is checked; ``gcc -O1`` is the fastest for it over all.
"""

from __future__ import annotations

import json
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.agents import agents_promela
from benchmarks.scaled import Limits, one_agent, several_agents
from benchmarks.table import Row
from diagnosis import Model, sometimes

MISSING = "spin and gcc are not installed"
BUDGET = 10**8


class Scaled(NamedTuple):
    """A graph to explore.

    Attributes:
        limits: those of each agent.
        states: the control states that it has.
        bounded: whether the ratios to SPIN have bounds; they only inform on deep, narrow spaces.
    """

    limits: tuple[Limits, ...]
    states: int
    bounded: bool = True

    @property
    def model(self) -> Model:
        return one_agent(*self.limits) if len(self.limits) == 1 else several_agents(self.limits)

    @property
    def promela(self) -> str:
        if len(self.limits) > 1:
            return agents_promela(self.limits)
        from diagnosis.exports import promela

        return promela(self.model)


GRAPHS: Mapping[str, Scaled] = {
    "1 agent, limits 6": Scaled((Limits.all(6),), 109_875),
    "1 agent, limits 12": Scaled((Limits.all(12),), 1_166_571),
    "2 agents, 10^5": Scaled((Limits(1, 0, 1, 0), Limits(1, 0, 1, 0)), 137_755),
    "2 agents, 10^6": Scaled((Limits(1, 1, 1, 1), Limits(1, 0, 1, 1)), 938_301),
    "1 agent, 1,213 levels": Scaled((Limits(2, 2, 2, 200),), 322_047, bounded=False),
}


def explored(graph: Scaled) -> dict[str, Any]:
    """Explore, check what holds and find the shortest script of what does not."""
    from diagnosis.verify.deciding import deciding
    from diagnosis.verify.space import StateSpace

    model = graph.model
    key = "evidence_count" if len(graph.limits) == 1 else "0.evidence_count"
    most = graph.limits[0].evidence
    planted = sometimes("planted", "The last retry is used.", lambda move: move.after[key] == most, reads=key)
    claims = (*(claim for claim in model.properties if claim.kind == "always"), planted)
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    space = StateSpace(model, max_states=BUDGET)
    assert space.packed is not None
    found = [
        deciding(space.packed, model, claim, lambda move, claim=claim: claim.holds(move, None) is (claim is planted))
        for claim in claims
    ]
    assert found[:-1] == [None] * (len(claims) - 1)
    assert found[-1] is not None
    script = space.script_through(found[-1])
    seconds = time.perf_counter() - began
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    return {"states": len(space.states), "seconds": seconds, "bytes": peak, "script": len(script)}


def proven(graph: Scaled) -> dict[str, Any]:
    """Give the whole proof: every property, no loop, the longest run."""
    from diagnosis.verify import prove

    model = graph.model
    began = time.perf_counter()
    proof = prove(model, max_states=BUDGET)
    longest = proof.longest_path
    return {"states": len(proof.space.states), "seconds": time.perf_counter() - began, "longest": longest}


WORK: Mapping[str, Callable[[Scaled], dict[str, Any]]] = {"explored": explored, "proven": proven}


def _own(work: str, name: str) -> tuple[float, dict[str, Any]]:
    """Do it in a Python of its own; give the wall time with start and imports, and what it said."""
    began = time.perf_counter()
    told = subprocess.run(
        [sys.executable, "-m", "benchmarks.exploration", work, name], check=True, capture_output=True, text=True
    ).stdout
    return time.perf_counter() - began, json.loads(told)


def _spin(text: str, states: int) -> tuple[float, float]:
    """Let SPIN explore; give the wall time of spin, gcc and pan together, and that of pan alone."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "model.pml").write_text(text, encoding="utf-8")

        def run(*command: str) -> str:
            return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout

        began = time.perf_counter()
        run("spin", "-a", "-o2", "model.pml")
        run("gcc", "-O1", "-w", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c")
        ready = time.perf_counter()
        told = run("./pan", "-m1000000", "-w24")
        ended = time.perf_counter()
    found = re.search(r"(\d+) states, stored", told)
    assert found is not None, told
    assert int(found[1]) == states, f"SPIN stored {found[1]} states, {states} were explored"
    return ended - began, ended - ready


def rows(rounds: int = 5) -> Iterable[Row]:
    """Measure.

    Args:
        rounds: how many times each is timed, taking turns.
    """
    spin = shutil.which("spin") is not None and shutil.which("gcc") is not None
    texts = {name: graph.promela for name, graph in GRAPHS.items()} if spin else {}
    walls: dict[tuple[str, str], list[float]] = {}
    told: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for _ in range(rounds):
        for name, graph in GRAPHS.items():
            for work in WORK:
                wall, said = _own(work, name)
                assert said["states"] == graph.states, f"{name}: {said['states']} control states"
                walls.setdefault((name, work), []).append(wall)
                told.setdefault((name, work), []).append(said)
            if spin:
                whole, pan = _spin(texts[name], graph.states)
                walls.setdefault((name, "spin"), []).append(whole)
                walls.setdefault((name, "pan"), []).append(pan)
    middle = {key: statistics.median(found) for key, found in walls.items()}
    for name, graph in GRAPHS.items():
        said = told[name, "explored"]
        search = statistics.median(each["seconds"] for each in said)
        spins = middle.get((name, "spin"))
        pan = middle.get((name, "pan"))
        most = graph.bounded
        yield Row(
            f"{name}: exploring, Python's start included / spin + gcc + pan without reduction",
            spins and middle[name, "explored"] / spins,
            0.5 if most else None,
            note=MISSING,
        )
        yield Row(f"{name}: exploring / pan alone", pan and search / pan, 1 if most else None, note=MISSING)
        yield Row(
            f"{name}: whole proof, Python's start included / spin + gcc + pan",
            spins and middle[name, "proven"] / spins,
            1 if most else None,
            note=MISSING,
        )
        peak = statistics.median(each["bytes"] for each in said) / graph.states
        # Where there are fewer states, what the code itself takes shows.
        yield Row(f"{name}: peak of exploring, of a state", peak, 64 if graph.states > 500_000 else None, unit=" B")


if __name__ == "__main__":
    print(json.dumps(WORK[sys.argv[1]](GRAPHS[sys.argv[2]])))
