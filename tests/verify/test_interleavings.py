"""The explorer against every interleaving: branches one after the other, and who wins, must be all there is."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import HealthCheck, given, settings
from interleavings import TooManyError, every_outcome, outcome_of, replayed
from random_forks import AWAY, BAD, FAIL, GO, MISFIT, Fan, Lap, Task, Work, forked_terms, model_of, tasks
from verdicts import verdict

from diagnosis.runtime import END, CompiledGraph, Forked, Position, always, sometimes
from diagnosis.verify import explore, measure, prove
from diagnosis.verify.counterexample import fork_of
from diagnosis.verify.keys import StateKeys

PLACES = 2_500
"""Places of the product that are walked at most; larger graphs are left out."""


def compared(terms, seeds=1) -> bool:
    """Compare the explorer with the product; tell whether the graph was small enough."""
    model = model_of(terms, seeds=seeds)
    space = explore(model, max_states=5_000)
    assert space.complete
    assert space.counts is not None
    if space.counts[0][0] > 500:
        return False
    try:
        walked = every_outcome(model, PLACES)
    except TooManyError:
        return False
    scripts = list(space.scripts())
    assert len(scripts) == len(set(scripts)) == space.counts[0][0]
    assert {script: {outcome_of(replayed(model, script))} for script in scripts} == walked.outcomes
    errors = {outcome.error[1] for outcomes in walked.outcomes.values() for outcome in outcomes if outcome.error}
    assert {edge.error for edge in space.transitions if edge.error is not None} <= errors
    assert min(map(len, scripts)) == space.to_end[0]
    if not any(edge.hidden for edge in space.transitions):
        assert max(map(len, scripts)) == space.counts[1][0]
        assert space.shortest == space.to_end[0]
    told_of_races(terms, space, scripts, errors, walked.mistakes)
    if len(walked.places) <= 1_000:
        told_of_orders(space, walked, errors)
    told_of_limits(model, space, max(scripts, key=len))
    return True


def told_of_orders(space, walked, errors):
    """The full product has the control states and interleavings that were walked, and its runs come to the same."""
    full = explore(space.model, interleave=True)
    keys = StateKeys(space.model.graph.definition, full.projection, free=True)
    assert full.complete
    assert len(full.states) == len({keys.of(*place) for place in walked.places})
    assert full.counts == ([walked.orders, *full.counts[0][1:]], [space.counts[1][0], *full.counts[1][1:]])
    assert full.shortest == space.shortest
    # Which of two nodes wrote a key that meets another is no part of a control state: not every text need be there.
    found = {edge.error for edge in full.transitions if edge.error is not None}
    assert found <= errors
    assert bool(found) == bool(errors)
    # Each search may execute what the other does not, and find by it that a further key decides.
    both = [key for key in full.projection if key in space.projection]
    common = StateKeys(space.model.graph.definition, both)
    assert ends_of(full, common) == ends_of(space, common)
    # In order, what follows a branch that fails each time is not executed, so that fewer races may be seen.
    assert set(space.races.never_won) <= set(full.races.never_won)


def ends_of(space, keys):
    return {
        keys.of(place, state)
        for place, state in zip(space.positions, space.states, strict=True)
        if isinstance(place, Position) and place.node == END
    }


def follows(first, second):
    return always(
        f"{second}_after_{first}",
        "x",
        lambda m, last: m.node != second or last[0] != first,
        start=(None, None),
        remember=lambda last, m: (last[1], m.node),
    )


def claims_on(model):
    """Properties on nodes, outcomes, what branches see and the order of what is told, some of which are broken."""
    names = model.graph.definition.names
    for node in names:
        for outcome in model.alphabet[node]:
            yield sometimes(f"{node}_{outcome}", "x", lambda m, n=node, o=outcome: (m.node, m.outcome) == (n, o))
        yield always(f"{node}_even", "x", lambda m, n=node: m.node != n or m.after["sum"] % 2 == 0, reads="sum")
        yield follows(names[-1], node)


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(forked_terms())
def test_what_holds_with_branches_in_order_holds_in_any_order(terms):
    agreeing(terms)


def agreeing(terms) -> bool:
    """Prove a model both ways, which raises where verdicts differ; tell whether it was small enough."""
    model = model_of(terms)
    space = explore(model, interleave=True, max_states=300)
    if not space.complete or space.counts[0][0] > 500:
        return False
    proof = prove(dataclasses.replace(model, properties=tuple(claims_on(model))), interleave=True)
    assert proof.space.interleaved
    assert all(found.holds is not None for found in proof.verdicts), proof.text()
    return True


def told_of_limits(model, space, script):
    """A run takes as many node executions as its limit allows, and not one more; and so it is proven."""
    run = replayed(model, script)
    if run.ended:
        assert outcome_of(replayed(model, script, limit=len(run.events))) == outcome_of(run)
        assert replayed(model, script, limit=len(run.events) - 1).stop == "limit"
    if any(edge.error for edge in space.transitions) or space.races.absorbed or space.counts[1][0] < 2:
        return
    for limit in (space.counts[1][0], space.counts[1][0] - 1):
        graph = CompiledGraph(model.graph.definition, recursion_limit=limit)
        proof = prove(dataclasses.replace(model, graph=graph))
        found = verdict(proof, "every_run_ends")
        assert found.holds is (limit == space.counts[1][0])
        assert found.holds or replayed(proof.model, found.script, limit=limit).stop == "limit"


def told_of_races(terms, space, scripts, errors, mistakes):
    """What is told of branches that can never win, and of mistakes by which a branch merely loses, is true."""
    model, races = space.model, space.races
    won = {(fork_of(model, node, winner), winner) for script in scripts for node, _, *won in script for winner in won}
    assert not won & set(races.never_won)
    outermost = [place for place in space.positions if isinstance(place, Forked) and place.wait == "any_of"]
    open_to_win = {(place.name, child.branch) for place in outermost for child in place.children}
    assert open_to_win - won == {found for found in races.never_won if found in open_to_win}
    if races.absorbed is not None:
        text = races.absorbed.error
        assert text in mistakes or text.startswith("the fork at") or " sent " in text
        assert replayed(model, races.absorbed.script).error.args == (text,)
    elif mistakes and not errors:
        # The only way for a mistake to go untold: an earlier branch under the same join fails on purpose.
        assert any(lead == FAIL for task in tasks(terms) for _, lead in task.outcomes)


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(forked_terms())
def test_the_explorer_finds_what_every_interleaving_can_come_to_and_nothing_else(terms):
    compared(terms)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(forked_terms())
def test_what_the_explorer_calls_feasible_is_what_its_scripts_cover_when_they_are_run(terms):
    model = model_of(terms)
    space = explore(model, max_states=5_000)
    if space.counts[0][0] > 300:
        return
    coverage = measure(model, [replayed(model, script) for script in space.scripts()], space=space)
    assert coverage.proven
    for item in coverage.items:
        assert item.covered == item.feasible, item


def work(name, *outcomes, **options):
    """Give a node that goes on; an outcome is what it writes, or what it writes and where it leads."""
    made = tuple((outcome, GO) if isinstance(outcome, str) else outcome for outcome in outcomes)
    return Work(Task(name, made, **options))


def fan(*branches, kind="edges", start=("nothing",), **options):
    return Fan(Task("plan", tuple((write, GO) for write in start)), kind, tuple(branches), **options)


def ends(gate="log"):
    return work("last", "nothing", gate=gate), work("end", "nothing")


ANY = {"wait": "any_of"}

CASES = {
    "a fork of one branch, and one of several": (
        fan(
            (work("a", "nothing", ("nothing", BAD)),),
            kind="goto",
            start=("nothing", "nothing"),
            calls=(((0, None), (0, None)), ((0, None),)),
            **ANY,
        ),
        *ends(),
    ),
    "the value of a Replace key that is read after the join": (
        fan((work("a", "shared", "again"),), (work("b", "nothing"),)),
        *ends("shared"),
    ),
    "which Replace key was written, though nobody reads it": (
        fan((work("a", "shared", "other"),), (work("b", "shared", "nothing"),)),
        *ends(),
    ),
    "the order in which values were written": (
        fan((work("a", "mix", "mixed"), work("a2", "mix", "mixed")), (work("b", "mix"),)),
        *ends("mix"),
    ),
    "with which error the first branch failed": (
        fan((work("a", "seed", ("nothing", BAD)),), (work("b", ("nothing", BAD)),), **ANY),
        *ends(),
    ),
    "a history that one branch replaces": (
        fan((work("a", "clear", "nothing"),), (work("b", "note", "nothing"),)),
        *ends(),
    ),
    "an element that two branches take out": (
        fan((work("a", "seed", "nothing"),), (work("b", "seed", "nothing"),)),
        *ends(),
    ),
    "an element that a loop takes out": (
        Lap((work("a", "seed", "nothing"),), Task("again", (("nothing", GO),)), 2),
        fan((work("b", "nothing"),), (work("c", "nothing"),)),
        *ends(),
    ),
    "a key that decides what a branch writes": (
        work("first", "sum", "nothing"),
        fan((work("a", "odd"),), (work("b", "shared", "nothing"),)),
        *ends(),
    ),
    "a branch that was sent something": (
        fan(
            (work("a", "given", "nothing"),),
            kind="router",
            start=("nothing",),
            calls=(((0, 1), (0, 2)),),
        ),
        *ends("sum"),
    ),
    "a branch that is sent what it cannot take, around which others go on": (
        fan(
            (
                work("a", "nothing"),
                Fan(Task("inner", (("nothing", GO),)), "router", ((work("c", "nothing"),),), calls=(((0, MISFIT),),)),
            ),
            (work("b", "nothing", ("nothing", BAD)),),
            **ANY,
        ),
        *ends(),
    ),
    "the same below all_of, where an earlier branch may fail too": (
        fan(
            (work("b", "nothing", ("nothing", BAD)),),
            (Fan(Task("inner", (("nothing", GO),)), "router", ((work("c", "nothing"),),), calls=(((0, MISFIT),),)),),
        ),
        *ends(),
    ),
    "a winner that must wait for others to fail": (
        fan(
            (work("a", "nothing", ("nothing", BAD)),),
            (work("b", "nothing", ("log", AWAY)),),
            (work("c", "nothing"),),
            max_concurrency=1,
            **ANY,
        ),
        *ends(),
    ),
    "a winner that may begin once one of two has failed": (
        fan(
            (work("a", "nothing"),),
            (work("b", "nothing", ("nothing", BAD)),),
            (work("c", "nothing"),),
            max_concurrency=2,
            **ANY,
        ),
        *ends(),
    ),
    "a winner that waits for a branch whose own fork may fail": (
        fan(
            (
                Fan(
                    Task("inner", (("nothing", GO),)),
                    "edges",
                    ((work("a", "nothing", ("nothing", BAD)),), (work("b", "nothing", ("nothing", BAD)),)),
                    "any_of",
                ),
            ),
            (work("c", "nothing"),),
            max_concurrency=1,
            **ANY,
        ),
        *ends(),
    ),
    "a winner that waits in vain, since the fork before it cannot fail": (
        fan(
            (
                Fan(
                    Task("inner", (("nothing", GO),)),
                    "edges",
                    ((work("a", "nothing", ("nothing", BAD)),), (work("b", "nothing"),)),
                    "any_of",
                ),
            ),
            (work("c", "nothing"),),
            max_concurrency=1,
            **ANY,
        ),
        *ends(),
    ),
    "branches that all fail, inside one that may lose": (
        fan(
            (
                Fan(
                    Task("inner", (("nothing", GO),)),
                    "edges",
                    ((work("a", ("nothing", BAD)),), (work("b", "nothing", ("nothing", BAD)),)),
                    "any_of",
                ),
            ),
            (work("c", "nothing", ("nothing", BAD)),),
            **ANY,
        ),
        *ends(),
    ),
    "a branch that ends well where all are to fail, and a join around it that cannot be made": (
        fan(
            (work("d", "shared"),),
            (
                Fan(
                    Task("inner", (("nothing", GO),)),
                    "edges",
                    ((work("a", "shared", ("nothing", BAD)),), (work("b", "nothing", ("nothing", BAD)),)),
                    "any_of",
                ),
            ),
        ),
        *ends(),
    ),
    "a branch that leads straight to the join": (
        fan((work("a", "shared", "log"),), (), (work("b", "shared", ("nothing", BAD)),), **ANY),
        *ends(),
    ),
    "what a race inside a branch writes, which the join around it cannot merge": (
        fan(
            (
                Fan(
                    Task("inner", (("nothing", GO),)),
                    "edges",
                    ((work("a", "shared", "nothing"), work("a2", "nothing")), (work("b", "nothing"),)),
                    "any_of",
                ),
            ),
            (work("c", "shared"),),
        ),
        *ends(),
    ),
    "forks that open again, lap by lap": (
        Lap(
            (fan((work("a", "log", ("nothing", BAD)),), (work("b", "sum"),), **ANY),),
            Task("again", (("nothing", GO),)),
            2,
        ),
        *ends(),
    ),
}


def test_a_branch_that_fails_in_two_ways_gives_the_run_two_errors():
    space = explore(model_of(CASES["with which error the first branch failed"], seeds=0))
    assert len({edge.error for edge in space.transitions if edge.error is not None}) == 2


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seeds", [1, 0])
def test_what_tells_control_states_apart(case, seeds):
    assert compared(CASES[case], seeds)
