"""What mutation says of random graphs, against running every script of the graph and of the mutant."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from mutated import desk, spreading
from random_forks import forked_terms, model_of

from diagnosis.mutation import States, difference, mutate
from diagnosis.runtime import (
    END,
    START,
    CompileError,
    Condition,
    Decision,
    Effect,
    Model,
    Replace,
    Rule,
    Run,
    StateGraph,
)
from diagnosis.scenarios import Case, DocumentError, case_of, play
from diagnosis.verify import Script, explore, scenario_for
from diagnosis.verify.winners import contests_of

SCRIPTS = 60
"""Scripts of a graph that are run at most for each mutant; larger graphs are left out."""


MOST_NODES = 7
"""Nodes of a graph with branches, whose mutants grow with their square."""


def compared(model: Model) -> int:
    """Compare the results with what running every script shows; give how many mutants differ on some script."""
    space = explore(model, max_states=3_000)
    if space.counts is None or space.counts[0][0] > SCRIPTS:
        return 0
    states = States(model.graph.definition)
    runs = {script: ran(model, script) for script in space.scripts()}
    parted = 0
    for each in mutate(model, []).results:
        if each.result == "invalid" or each.detail.startswith("not decided: the budget of"):
            continue
        changed = each.mutant.applied(model)
        shown = differing(runs.values(), changed, states) or differing(added(model, changed, runs), changed, states)
        assert each.result == ("survived" if shown else "equivalent"), each.text()
        if shown:
            parted += 1
            seen = [length for length, how in shown if how != "crash"] or [length for length, _ in shown]
            length = len(each.killer.expect.path)
            # Of branches that lose an any_of, no run tells.
            assert length == min(seen) if not model.graph.step.fan_outs.all else length in seen, each.text()
    return parted


def differing(runs: Iterable[tuple[Case, Run]], changed: Model, states: States) -> list[tuple[int, str]]:
    """Give the executions, and the kind of difference, of each run that a mutant does not share."""
    found = ((run, difference(run, play(replace(case, model=changed))[0], states)) for case, run in runs)
    return [(len(run.events), each.how) for run, each in found if each is not None]


def ran(model: Model, script: Script) -> tuple[Case, Run]:
    case = case_of(scenario_for(model, script, name="x", title="x"), {model.name: model})
    return case, play(case)[0]


def added(model: Model, changed: Model, runs: Collection[Script]) -> Iterator[tuple[Case, Run]]:
    """Go through the scripts that only the mutant has: of branches that lose an any_of in the graph itself."""
    space = explore(changed, max_states=200) if contests_of(model.graph) else None
    if space is None or space.counts is None or space.counts[0][0] > 2 * SCRIPTS:
        return
    for script in space.scripts():
        if script not in runs:
            try:
                yield ran(model, script)
            except (DocumentError, AssertionError):
                continue  # a branch that the graph does not open


def test_the_small_graphs_of_these_tests_agree_with_every_script():
    assert [compared(model) for model in (desk(), spreading(), spreading("any_of"))] == [74, 22, 20]


@settings(max_examples=20, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(forked_terms())
def test_mutants_of_graphs_with_branches_agree_with_every_script(terms):
    model = model_of(terms)
    if len(model.graph.definition.names) <= MOST_NODES:
        compared(model)


places = st.integers(0, 4)
tables = st.tuples(
    st.lists(st.tuples(st.integers(2, 3), st.integers(0, 2), places), min_size=1, max_size=3),
    places,
    st.sampled_from([None, 0, 1, 2]),
)


def rest_is(modulus: int, rest: int) -> Condition:
    return Condition(f"is_{modulus}_{rest}", lambda s: (s["sum"] + s["mark"]) % modulus == rest, ("sum", "mark"))


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(st.lists(tables, min_size=1, max_size=4))
def test_mutants_of_graphs_with_counters_agree_with_every_script(plan):
    """Rules look at a sum that reports and entry updates add to; every way leads forward, so that runs end."""
    graph = StateGraph({"sum": Replace(initial=0), "mark": Replace(initial=0)}, name="sums")
    names = [f"n{number}" for number in range(len(plan))]
    alphabet = {}
    for number, (rows, last, marked) in enumerate(plan):
        name = names[number]
        entry = Effect("mark", lambda s, marked=marked: {"mark": marked}, writes="mark") if marked is not None else ()
        graph.add_node(name, lambda state: {}, owns=["sum"], entry=entry)
        ahead = [*names[number + 1 :], END]
        rules = [Rule(f"r{row}", f"{name}_R{row}", rest_is(m, r)) for row, (m, r, _) in enumerate(rows)]
        targets = {f"r{row}": ahead[place % len(ahead)] for row, (_, _, place) in enumerate(rows)}
        graph.add_conditional_edges(
            name, Decision([*rules, Rule("else", "ELSE")]), {**targets, "else": ahead[last % len(ahead)]}
        )
        alphabet[name] = {str(n): (lambda s, n=n: {"sum": s["sum"] + n}) for n in range(2 if number else 3)}
    graph.add_edge(START, names[0])
    try:
        model = Model("sums", graph.compile(), alphabet)
    except CompileError:
        return
    compared(model)
