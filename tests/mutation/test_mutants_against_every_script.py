"""What mutation says of random graphs, against running every script of the graph and of the mutant."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
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
    StateGraph,
)
from diagnosis.scenarios import case_of, play
from diagnosis.verify import explore, scenario_for

SCRIPTS = 60
"""Scripts of a graph that are run at most for each mutant; larger graphs are left out."""


def compared(model: Model) -> int:
    """Compare the results with what running every script shows; give how many mutants differ on some script."""
    space = explore(model, max_states=3_000)
    if space.counts is None or space.counts[0][0] > SCRIPTS:
        return 0
    states = States(model.graph.definition)
    cases = [
        case_of(scenario_for(model, script, name="x", title="x"), {model.name: model}) for script in space.scripts()
    ]
    runs = [(case, play(case)[0]) for case in cases]
    parted = 0
    for each in mutate(model, []).results:
        if each.result == "invalid":
            continue
        changed = each.mutant.applied(model)
        shown = [
            (len(run.events), found.how)
            for case, run in runs
            if (found := difference(run, play(replace(case, model=changed))[0], states)) is not None
        ]
        assert each.result == ("survived" if shown else "equivalent"), each.text()
        if shown:
            parted += 1
            seen = [length for length, how in shown if how != "crash"] or [length for length, _ in shown]
            length = len(each.killer.expect.path)
            # Of branches that lose an any_of, no run tells.
            assert length == min(seen) if not model.graph.step.fan_outs.all else length in seen, each.text()
    return parted


def test_the_small_graphs_of_these_tests_agree_with_every_script():
    assert [compared(model) for model in (desk(), spreading(), spreading("any_of"))] == [74, 22, 20]


@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(forked_terms())
def test_mutants_of_graphs_with_branches_agree_with_every_script(terms):
    compared(model_of(terms))


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
