"""Branches in any order: sizes worked out by hand, and verdicts that are those of branches in order."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest
from branched_models import (
    conflicting,
    drawn,
    fails,
    looping_branch,
    mapped,
    racing,
    redirected,
    supervised,
    voting,
    with_subgraph,
)
from graphs import retrying
from test_races import MISTAKES
from verdicts import verdict

from diagnosis.runtime import Append, Fork, Model, always, sometimes
from diagnosis.verify import Budget, DisagreementError, Verdict, explore, prove
from diagnosis.verify.orders import Orders


def size(model):
    """Control states, transitions, interleavings, longest run."""
    space = explore(model, interleave=True)
    assert space.counts is not None
    return len(space.states), space.size, space.counts[0][0], space.counts[1][0]


def lattice(count, wait="all_of"):
    """So many branches of one node with one outcome each."""
    names = [f"w{number}" for number in range(count)]
    lines = ["START -> plan", f"plan -> {' '.join(names)}", *(f"{name} -> join" for name in names), "join -> END"]
    graph = drawn(*lines, keys={"log": Append()}, forks={"plan": Fork(join="join", wait=wait)}).compile()
    return Model("lattice", graph, {name: {"ok": {"log": [name]}} for name in graph.definition.names})


@pytest.mark.parametrize("count", [2, 3, 5])
def test_every_set_of_branches_may_have_ended(count):
    """A state for each set but the full one, which is the join; each order of branches is an interleaving."""
    sets = 2**count
    expected = (1 + sets - 1 + 2, 1 + count * sets // 2 + 1, math.factorial(count), count + 2)
    assert size(lattice(count)) == expected


@pytest.mark.parametrize("count", [2, 5])
def test_the_first_branch_that_ends_well_has_won(count):
    assert size(lattice(count, "any_of")) == (4, 1 + count + 1, count, 3)


def test_branches_that_lose_move_until_they_have_lost():
    """After the first node of the slow branch all three may move; two of them end the race."""
    assert size(racing()) == (5, 1 + 3 + 3 + 1, 2 + 3, 4)


def test_only_so_many_branches_are_under_way_at_once():
    """With one at a time, there is one order."""
    assert size(racing(max_concurrency=1)) == (4, 3, 1, 3)
    assert size(racing("fast", max_concurrency=1)) == (6, 1 + 2 + 1 + 1 + 1, 2, 4)


def test_a_graph_without_branches_has_one_order():
    space, full = explore(retrying(2)), explore(retrying(2), interleave=True)
    assert (len(full.states), full.size, full.counts[0], full.shortest) == (
        len(space.states), space.size, space.counts[0], space.shortest
    )  # fmt: skip
    assert full.counts[1] == space.counts[1]


def test_which_branch_moves_is_said_by_the_transition():
    full = explore(lattice(2), interleave=True)
    assert [full.mover_of(edge).branch for edge in full.transitions] == ["", "w0[0]", "w1[1]", "w1[1]", "w0[0]", ""]
    assert [full.call(edge) for edge in full.outgoing[1]] == [("w0", "ok"), ("w1", "ok")]
    assert full.entered(1, "w1[1]")["log"] == ("plan",)


SHIPPED = [
    voting(2),
    voting(3, read=True),
    conflicting(),
    racing(),
    racing("fast"),
    racing("fast", "slow", "late"),
    racing("slow", "late", max_concurrency=2),
    looping_branch(),
    looping_branch(3),
    supervised(),
    redirected(),
    mapped(1, 2, 3),
    with_subgraph(),
    retrying(2),
    *(model for model, _ in MISTAKES.values()),
]


@pytest.mark.parametrize("model", SHIPPED, ids=lambda model: model.name)
def test_every_verdict_is_that_of_branches_in_order(model):
    proof, full = prove(model), prove(model, interleave=True)
    assert [(v.claim.name, v.holds, v.script) for v in full.verdicts] == [
        (v.claim.name, v.holds, v.script) for v in proof.verdicts
    ]
    assert (full.shortest_path, full.longest_path) == (proof.shortest_path, proof.longest_path)
    assert set(full.never_won) == set(proof.never_won)
    assert full.never_taken == proof.never_taken


def test_a_property_sees_nothing_of_a_branch_that_loses():
    """The slow branch may well have moved before it lost; no run tells of it."""
    both = sometimes(
        "both", "x", lambda m, seen: {"slow", "fast"} <= seen, start=frozenset(), remember=lambda s, m: s | {m.node}
    )
    last = always("last", "x", lambda m: m.node != "slow" or m.after["answer"] == "slow", reads="answer")
    lost = sometimes("lost", "x", lambda m: m.node == "slow")
    model = racing("fast", claims=[both, last, lost])
    doomed = dataclasses.replace(model, alphabet={**model.alphabet, "slower": {"bad": fails}})
    for each, seen in ((model, True), (doomed, False)):
        full = prove(each, interleave=True)
        assert [verdict(full, name).holds for name in ("both", "last", "lost")] == [False, True, seen]


def test_a_memory_goes_through_the_branches_in_order_of_declaration():
    names = ("plan", "w0", "w1", "w2", "join")
    order = always(
        "order", "x", lambda m, path: path == names[: len(path)], start=(), remember=lambda path, m: (*path, m.node)
    )
    full = prove(dataclasses.replace(lattice(3), properties=(order,)), interleave=True)
    assert verdict(full, "order").holds is True
    assert verdict(full, "order").detail == "true of all 5 transitions; in any order too, with 14 transitions"


def test_where_every_branch_fails_a_property_sees_the_first_only():
    claims = [sometimes(name, "x", lambda m, n=name: m.node == n and m.last) for name in ("fast", "late")]
    told = [sometimes(f"told_{name}", "x", lambda m, n=name: m.node == n) for name in ("slow", "slower", "fast")]
    model = racing("fast", "late", claims=[*claims, *told])
    model = dataclasses.replace(model, alphabet={**model.alphabet, "fast": {"bad": fails}, "late": {"bad": fails},
                                                 "slower": {"bad": fails}})  # fmt: skip
    proof, full = prove(model), prove(model, interleave=True)
    assert [v.holds for v in full.verdicts] == [v.holds for v in proof.verdicts]
    assert verdict(full, "told_slow").holds is False


def test_where_a_join_fails_a_property_sees_of_a_race_inside_it_the_winner_only():
    """Both branches write the answer, so that every run fails; what lost the race inside the first is not told."""
    lines = ["START -> plan", "plan -> a b", "a -> c d", "c -> c2", "c2 -> meet", "d -> meet", "meet -> join",
             "b -> join", "join -> END"]  # fmt: skip
    graph = drawn(*lines, keys=["answer"], forks={"a": Fork(wait="any_of")}).compile()
    answers = {name: {"ok": {"answer": name}} for name in ("meet", "b")}
    both = sometimes("both", "x", lambda m, n: n == {"c", "d"}, start=frozenset(),
                     remember=lambda n, m: n | ({m.node} & {"c", "d"}))  # fmt: skip
    model = Model("torn", graph, {n: answers.get(n, {"ok": {}}) for n in graph.definition.names}, (both,))
    assert verdict(prove(model), "both").holds is False
    assert verdict(prove(model, interleave=True), "both").holds is False
    straight = drawn(*lines[:4], "c2 -> join", "d -> join", *lines[7:], keys=["answer"],
                     forks={"a": Fork(join="join", wait="any_of")}).compile()  # fmt: skip
    answers = {name: {"ok": {"answer": name}} for name in ("c2", "d", "b")}
    model = Model("torn", straight, {n: answers.get(n, {"ok": {}}) for n in straight.definition.names}, (both,))
    assert verdict(prove(model), "both").holds is False
    assert verdict(prove(model, interleave=True), "both").holds is False


def test_what_happens_in_a_branch_that_never_ends_is_told():
    model = looping_branch()
    model = dataclasses.replace(model, alphabet={**model.alphabet, "try": {"failed": model.alphabet["try"]["failed"]}})
    tried = sometimes("tried", "x", lambda m: m.node == "try")
    noted = always("noted", "x", lambda m: m.node != "note")
    model = dataclasses.replace(model, properties=(tried, noted))
    for interleave in (False, True):
        proof = prove(model, interleave=interleave)
        assert [verdict(proof, name).holds for name in ("tried", "noted", "every_run_ends")] == [True, False, False]


def test_where_the_product_is_too_large_nothing_is_proven():
    model = lattice(6)
    full = prove(model, interleave=True, max_states=20)
    assert verdict(full, "no_error").holds is None
    assert verdict(full, "no_error").detail == (
        "bound hit, not proven: the budget of 20 control states was used up; "
        "the fork at 'plan' multiplies: 6 branches x 1 outcome"
    )
    assert verdict(prove(model, max_states=20), "no_error").holds is True


def test_what_a_run_breaks_is_broken_though_the_product_is_too_large():
    model = lattice(6)
    broken = dataclasses.replace(model, alphabet={**model.alphabet, "join": {"bad": {"nothing": 1}}})
    full = prove(broken, interleave=True, max_states=20)
    assert verdict(full, "no_error").holds is False
    assert len(verdict(full, "no_error").script) == 8


def test_a_mistake_behind_a_branch_that_fails_each_time_takes_another_order():
    """In order, the second branch is never executed; the race around both hides that it fails otherwise."""
    lines = ["START -> plan", "plan -> a z", "a -> b c", "b -> meet", "c -> d e", "d -> seen", "e -> seen",
             "seen -> meet", "meet -> join", "z -> join", "join -> END"]  # fmt: skip
    race = Fork(wait="any_of")
    graph = drawn(*lines, forks={"plan": Fork(join="join", wait="any_of"), "c": race}).compile()
    special = {"b": {"fails": fails}, "d": {"bad": {"nothing": 1}}}
    model = Model("behind", graph, {name: special.get(name, {"ok": {}}) for name in graph.definition.names})
    assert verdict(prove(model), "no_error").holds is True
    found = verdict(prove(model, interleave=True), "no_error")
    assert found.holds is False
    assert "wrote 'nothing'" in found.detail
    assert found.detail.endswith("it takes another order than that of declaration, and 'd[0][1][0]' loses 'c[0][1]'")


def test_verdicts_that_differ_are_an_error():
    orders = Orders(lattice(2), max_states=100, budget=Budget())
    claim = always("calm", "x", lambda m: m.node != "w1")
    assert orders.agreed(Verdict(claim, False, "broken", (("plan", "ok"),))).holds is False
    with pytest.raises(
        DisagreementError, match="'calm' of model 'lattice' is 'holds' with branches in order, but 'broken'"
    ):
        orders.agreed(Verdict(claim, True, "true"))


def test_the_json_of_a_proof_says_that_it_is_interleaved():
    document = json.loads(json.dumps(prove(lattice(3), interleave=True).to_json()))
    assert document["interleaved"] is True
    assert (document["control_states"], document["transitions"], document["scripts"]) == (10, 14, 6)
    assert (document["shortest_path"], document["longest_path"]) == (5, 5)
    assert "interleaved" not in prove(lattice(3)).to_json()
    assert "6 interleavings of 5 to 5 node executions" in prove(lattice(3), interleave=True).text()
