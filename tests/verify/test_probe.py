"""What single walks show where a search meets its budget, and which fork is to blame."""

from __future__ import annotations

import pytest
from branched_models import drawn, looping_branch
from graphs import retrying
from verdicts import shown, verdict

from diagnosis.runtime import END, Append, Condition, Decision, Fork, Model, Rule, always, sometimes
from diagnosis.verify import explore, prove

COUNT = 12


def wide(*claims, wait="all_of", count=COUNT, **outcomes) -> Model:
    """So many branches with two outcomes each, which the join can all tell apart."""
    names = [f"w{number}" for number in range(count)]
    lines = ["START -> plan", f"plan -> {' '.join(names)}", *(f"{name} -> join" for name in names)]
    same = Condition("same", lambda s: len(set(s["votes"])) == 1, "votes")
    agreed = ("join", Decision([Rule("end", "SAME", same), Rule("end", "MIXED")]), {"end": END})
    forks = {"plan": Fork(join="join", wait=wait)}
    graph = drawn(*lines, keys={"votes": Append()}, forks=forks, routers=[agreed], name="wide").compile()
    votes = {"yes": {"votes": ["yes"]}, "no": {"votes": ["no"]}}
    ok = {"ok": {}}
    return Model("wide", graph, {"plan": ok, "join": ok, **dict.fromkeys(names, votes), **outcomes}, claims)


def joined(name, test):
    return always(name, "x", lambda m: m.node != "join" or test(m.before["votes"]), reads="votes")


def test_the_fork_that_multiplies_is_named_where_the_budget_is_met():
    proof = prove(wide(joined("split", lambda votes: len(set(votes)) > 1)), max_states=100)
    expected = "the budget of 100 control states was used up; the fork at 'plan' multiplies: 12 branches x 2 outcomes"
    assert verdict(proof, "every_run_ends").detail == f"bound hit, not proven: {expected}"
    assert proof.reason == f"bound hit: {expected}"
    assert expected in proof.text()


def test_of_forks_inside_each_other_the_one_that_multiplies_is_named():
    names = [f"w{number}" for number in range(COUNT)]
    lines = ["START -> plan", "plan -> a b", f"a -> {' '.join(names)}", *(f"{name} -> meet" for name in names),
             "meet -> join", "b -> join", "join -> END"]  # fmt: skip
    graph = drawn(*lines, keys={"votes": Append()}).compile()
    outcomes = {f"v{number}": {"votes": [number]} for number in range(3)}
    alphabet = {name: outcomes if name in names else {"ok": {}} for name in graph.definition.names}
    read = always("read", "x", lambda m: len(m.before["votes"]) < 99, reads="votes")
    proof = prove(Model("nested", graph, alphabet, (read,)), max_states=100)
    assert "the fork at 'a[0]' multiplies: 12 branches x 3 outcomes" in verdict(proof, "read").detail


def test_no_fork_is_named_where_a_loop_is_to_blame():
    space = explore(looping_branch(50), max_states=20)
    assert space.stopped == "the budget of 20 control states was used up"
    assert explore(retrying(50), max_states=20).stopped == "the budget of 20 control states was used up"


@pytest.mark.parametrize("outcome", ["yes", "no"])
def test_the_same_outcome_everywhere_is_tried_where_the_budget_is_met(outcome):
    claim = joined("never_all", lambda votes: set(votes) != {outcome})
    proof = prove(wide(claim), max_states=100)
    found = verdict(proof, "never_all")
    assert (found.holds, found.shortest) == (False, False)
    assert found.detail == (
        "broken after 14 node executions; seen on one of the walks after the budget was met, "
        "and not promised to be the shortest"
    )
    assert found.script == (("plan", "ok"), *((f"w{number}", outcome) for number in range(COUNT)), ("join", "ok"))
    assert shown(proof, "never_all").state["votes"] == [outcome] * COUNT


@pytest.mark.parametrize("place", [0, 5, COUNT - 1])
@pytest.mark.parametrize("other", ["yes", "no"])
def test_one_outcome_that_differs_is_tried_at_every_place(place, other):
    claim = joined("never", lambda v: v[place] != other or v.count(other) > 1)
    proof = prove(wide(claim), max_states=100)
    assert [number for number, vote in enumerate(shown(proof, "never").state["votes"]) if vote == other] == [place]


def test_what_such_a_walk_shows_of_a_sometimes_holds():
    once = sometimes("all_yes", "x", lambda m: m.node == "join" and set(m.before["votes"]) == {"yes"}, reads="votes")
    mixed = sometimes("half", "x", lambda m: m.node == "join" and m.before["votes"].count("yes") == 6, reads="votes")
    proof = prove(wide(once, mixed), max_states=100)
    assert [verdict(proof, claim.name).holds for claim in (once, mixed)] == [True, None]


def test_an_error_behind_the_budget_is_found():
    proof = prove(wide(joined("read", lambda votes: True), join={"bad": {"undeclared": 1}}), max_states=100)
    found = verdict(proof, "no_error")
    assert (found.holds, len(found.script), found.shortest) == (False, 14, False)
    assert "wrote 'undeclared'" in str(shown(proof, "no_error").error)


def test_each_branch_of_a_race_is_tried_as_the_winner():
    proof = prove(wide(*(joined(f"not_{n}", lambda votes, n=n: n not in votes) for n in ("yes", "no")),
                       wait="any_of", plan={f"p{n}": {} for n in range(40)}), max_states=10)  # fmt: skip
    assert not proof.space.complete
    assert [verdict(proof, f"not_{name}").holds for name in ("yes", "no")] == [False, False]


def test_what_is_broken_within_the_explored_part_is_the_shortest():
    claim = always("no_second_no", "x", lambda m: m.node != "w1" or m.outcome != "no")
    found = verdict(prove(wide(claim, joined("read", lambda votes: True)), max_states=100), "no_second_no")
    assert (found.holds, found.shortest, found.detail) == (False, True, "broken after 3 node executions")


def test_walks_add_nothing_where_the_search_comes_to_its_end():
    space = explore(wide(count=4))
    assert (len(space.states), space.size, space.sure) == (1 + 15 + 2 * 16, 1 + 2 * 15 + 16, float("inf"))


def test_a_run_that_meets_its_recursion_limit_behind_the_budget_is_found():
    proof = prove(retrying(200), max_states=20)
    found = verdict(proof, "every_run_ends")
    assert (found.holds, found.shortest, proof.lasso) == (False, False, None)
    assert shown(proof, "every_run_ends").stop == "limit"
    assert verdict(prove(retrying(80), max_states=20), "every_run_ends").holds is None
