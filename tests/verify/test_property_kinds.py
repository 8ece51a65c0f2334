"""Claims that span moves: never after, and eventually; and that what was found first is what is told."""

from __future__ import annotations

import json

import pytest
from graphs import idle, retrying, unreachable_guard
from random_models import random_model, runs_of

from diagnosis.runtime import (
    END,
    START,
    Condition,
    Decision,
    DefinitionError,
    Effect,
    Model,
    Replace,
    Rule,
    StateGraph,
    always,
    eventually,
    never_after,
    sometimes,
)
from diagnosis.scenarios import run_scenario
from diagnosis.verify import prove


def verdict(proof, name):
    return next(found for found in proof.verdicts if found.claim.name == name)


def at(node):
    return lambda move: move.node == node


def chain(*nodes, claims=()):
    graph = StateGraph([], name="chain")
    for node in nodes:
        graph.add_node(node, idle)
    for left, right in zip((START, *nodes), (*nodes, END), strict=True):
        graph.add_edge(left, right)
    return Model("chain", graph.compile(), {node: {"ok": {}} for node in nodes}, claims)


# --- never after ------------------------------------------------------------------------------------------------------


def test_what_must_not_come_later_is_found_with_the_shortest_run():
    claim = never_after("no_retry_after_a_failure", "Nothing is fetched twice.", at("fetch"), at("fetch"))
    found = verdict(proof := prove(retrying(2, claims=(claim,))), claim.name)
    assert (found.holds, found.detail) == (False, "broken after 2 node executions")
    scenario = proof.counterexample(found)
    assert run_scenario(scenario, proof.model).passed
    assert scenario.expect.path == ("fetch", "fetch")
    item = next(item for item in proof.to_json()["properties"] if item["name"] == claim.name)
    assert (item["kind"], item["holds"]) == ("never_after", False)


def test_the_move_that_begins_the_claim_is_not_a_later_one():
    claim = never_after("once", "It is given up once.", at("give_up"), at("give_up"))
    found = verdict(prove(retrying(2, claims=(claim,))), "once")
    assert (found.holds, found.detail) == (True, "true of all 7 transitions")


def test_what_came_before_does_not_count():
    claims = (never_after("b_then_a", "No a after b.", at("b"), at("a")), never_after("a_b", "x", at("a"), at("b")))
    proof = prove(chain("a", "b", claims=claims))
    assert [verdict(proof, name).holds for name in ("b_then_a", "a_b")] == [True, False]


def test_a_claim_that_never_begins_says_so():
    claim = never_after("empty", "Nothing.", lambda move: move.attempt == 9, at("fetch"))
    found = verdict(prove(retrying(2, claims=(claim,))), "empty")
    assert found.holds is True
    assert found.detail == "nothing to forbid: no script comes to what it is claimed after"


def test_it_is_not_proven_where_the_budget_was_used_up():
    claim = never_after("n", "x", at("work"), at("nowhere"))
    model = unreachable_guard()
    found = verdict(prove(Model("w", model.graph, model.alphabet, (claim,)), max_states=50), "n")
    assert found.holds is None
    assert found.detail == "bound hit, not proven: the budget of 50 control states was used up"


def test_only_plain_functions_are_taken():
    async def later(move):
        return True

    with pytest.raises(DefinitionError, match="'never' of property 'x' is a coroutine function"):
        never_after("x", "x", at("a"), later)
    with pytest.raises(DefinitionError, match="'after' of property 'x' needs a function"):
        never_after("x", "x", True, at("a"))


@pytest.mark.parametrize("seed", range(60))
def test_never_after_agrees_with_every_run(seed):
    first, then = f"n{seed % 2}", f"o{seed % 3}"
    after, never = at(first), lambda move: move.outcome == then and move.after["b"] == 1
    proof = prove(random_model(seed, claims=(never_after("c", "c", after, never, reads="b"),)))
    broken = [
        run
        for run in runs_of(proof.model)
        if any(
            one.node == first and any(two.outcome == then and two.after["b"] == 1 for two in run[place + 1 :])
            for place, one in enumerate(run)
        )
    ]
    found = verdict(proof, "c")
    assert found.holds is not bool(broken)
    if broken:
        assert len(found.script) == min(map(len, broken))


# --- eventually -------------------------------------------------------------------------------------------------------


def test_a_run_that_does_without_is_the_counterexample():
    claim = eventually("gives_up", "Every run gives up.", at("give_up"))
    proof = prove(retrying(2, claims=(claim,)))
    found = verdict(proof, "gives_up")
    assert (found.holds, found.detail) == (False, "a run of 1 node execution does without")
    assert run_scenario(proof.counterexample(found), proof.model).path == ("fetch",)
    # That every run ends is claimed beside it.
    assert verdict(proof, "every_run_ends").holds is True


def test_what_every_run_comes_to_holds():
    assert verdict(prove(chain("a", "b", claims=(eventually("b", "b", at("b")),))), "b").holds is True


def test_a_run_that_goes_on_for_ever_without_it_is_told_as_a_lasso():
    claim = eventually("succeeds", "It is fetched some day.", lambda move: move.outcome == "fine")
    found = verdict(proof := prove(retrying(2, count=False, claims=(claim,))), "succeeds")
    assert found.holds is False
    assert found.detail == "never comes: after fetch=failed: for ever fetch=failed"
    assert len(run_scenario(proof.counterexample(found), proof.model).path) == 100


def test_a_cycle_that_comes_to_it_each_time_does_not_break_it():
    claim = eventually("asks", "It fetches.", at("fetch"))
    proof = prove(retrying(2, count=False, claims=(claim,)))
    assert proof.space.cycles
    assert verdict(proof, "asks").holds is True
    assert verdict(proof, "every_run_ends").holds is False


def test_what_was_not_explored_is_not_claimed():
    model = unreachable_guard()
    claim = eventually("e", "e", lambda move: move.after["steps"] > 10**6, reads="steps")
    assert verdict(prove(Model("w", model.graph, model.alphabet, (claim,)), max_states=50), "e").holds is None


@pytest.mark.parametrize("seed", range(60))
def test_eventually_agrees_with_every_run(seed):
    claim = eventually("c", "c", lambda move: move.outcome == "o0" and move.after["a"] == 1, reads="a")
    proof = prove(random_model(seed, claims=(claim,)))
    without = [
        len(run) for run in runs_of(proof.model) if not any(one.outcome == "o0" and one.after["a"] == 1 for one in run)
    ]
    found = verdict(proof, "c")
    assert found.holds is not bool(without)
    if without:
        assert len(found.script) == min(without)


def looping(seed: int) -> Model:
    """A random graph of plain ways, which may go round for ever."""
    import random

    made = random.Random(seed)
    nodes = [f"n{number}" for number in range(4)]
    graph = StateGraph(["x"], name="ways").add_edge(START, "n0")
    alphabet = {}
    for number, node in enumerate(nodes):
        graph.add_node(node, idle)
        ways = {"on": nodes[number + 1] if number < 3 else END}
        if made.random() < 0.6:
            ways["other"] = made.choice([*nodes, END])
        graph.add_conditional_edges(node, lambda s: s["x"], ways, reads=["x"])
        alphabet[node] = {way: {"x": way} for way in ways if way == "on" or made.random() < 0.7}
        if made.random() < 0.2:
            alphabet[node] = {way: {"x": way} for way in list(ways)[-1:]}
    return Model("ways", graph.compile(), alphabet)


@pytest.mark.parametrize("seed", range(80))
def test_that_every_run_ends_is_never_claimed_of_a_graph_with_a_cycle(seed):
    model = looping(seed)
    targets = {name: model.graph.definition.conditional(name).targets for name in model.alphabet}
    ways = {node: {targets[node][outcome] for outcome in outcomes} for node, outcomes in model.alphabet.items()}
    # From n0, is there a way back to a node? Seen by going on as often as there are nodes.
    here = {"n0"}
    for _ in range(len(ways)):
        here = {target for node in here if node != END for target in ways[node]}
    endless = bool(here - {END})
    proof = prove(model)
    assert verdict(proof, "every_run_ends").holds is not endless
    assert (proof.lasso is not None) is endless
    if endless:
        # To the loop by the stem, then round: every lap ends where it began.
        node = "n0"
        for called, outcome in proof.lasso.stem:
            assert called == node
            node = targets[node][outcome]
        start = node
        for called, outcome in proof.lasso.loop:
            assert called == node
            node = targets[node][outcome]
        assert node == start


# --- the first discovery wins -----------------------------------------------------------------------------------------


def test_each_of_several_open_properties_gets_its_own_shortest_run():
    """A property that was decided early keeps its short run while others keep the search going."""
    early = always("not_at_once", "x", lambda move: not (move.node == "fetch" and move.outcome == "failed"))
    again = always("no_third", "x", lambda move, n: n < 3, start=0, remember=lambda n, move: n + (move.node == "fetch"))
    late = always("never_gives_up", "x", lambda move: move.node != "give_up")
    shown = sometimes("fetched", "x", lambda move: move.choice.target == END)
    for claims in ((early, again, late, shown), (shown, late, again, early)):
        proof = prove(retrying(4, claims=claims))
        lengths = {name: len(verdict(proof, name).script) for name in ("not_at_once", "no_third", "never_gives_up")}
        # A failed fetch needs one more that succeeds before the run can end.
        assert lengths == {"not_at_once": 2, "no_third": 3, "never_gives_up": 6}
        assert len(verdict(proof, "fetched").script) == 1


# --- C02 --------------------------------------------------------------------------------------------------------------


def repaired(*, reset: bool) -> Model:
    """A fetch that is tried again twice, then repaired; the count may be forgotten there."""
    count = Effect(
        "count",
        lambda s: {"tries": s["tries"] + 1} if s["status"] == "failed" else {},
        reads=("status", "tries"),
        writes="tries",
    )
    clear = Effect("clear", lambda s: {"tries": 0}, writes="tries")
    graph = StateGraph({"status": Replace(), "tries": Replace(initial=0), "repairs": Replace(initial=0)}, name="repair")
    graph.add_node("fetch", idle, owns=["status"], exit=count)
    more = Effect("more", lambda s: {"repairs": s["repairs"] + 1}, reads="repairs", writes="repairs")
    graph.add_node("repair", idle, owns=[], exit=(more, clear) if reset else more)
    graph.add_edge(START, "fetch").add_edge("repair", "fetch")
    fine = Condition("fine", lambda s: s["status"] == "fine", "status")
    left = Condition("tries_left", lambda s: s["tries"] <= 2, "tries")
    repair = Condition("repairs_left", lambda s: s["repairs"] < 1, "repairs")
    graph.add_conditional_edges(
        "fetch",
        Decision(
            [
                Rule("end", "FETCHED", fine),
                Rule("again", "RETRY", left),
                Rule("repair", "REPAIR", repair),
                Rule("end", "LOST"),
            ]
        ),
        {"end": END, "again": "fetch", "repair": "repair"},
    )

    def went(memory, move):
        return memory or move.node == "repair"

    claim = sometimes(
        "fetch_is_retried_after_a_repair",
        "Fetch is retried after a repair.",
        lambda move, repaired: repaired and move.choice.rule == "RETRY",
        start=False,
        remember=went,
    )
    outcomes = {"fetch": {"fine": {"status": "fine"}, "failed": {"status": "failed"}}, "repair": {"done": {}}}
    return Model("repair", graph.compile(), outcomes, (claim,), counters=("tries",))


def test_a_retry_count_that_is_never_reset_leaves_no_retry_after_a_repair():
    """C02, and the same graph put right."""
    forgotten, right = prove(repaired(reset=False)), prove(repaired(reset=True))
    assert verdict(forgotten, "fetch_is_retried_after_a_repair").holds is False
    assert verdict(right, "fetch_is_retried_after_a_repair").holds is True
    grows = {"only_grows at tries: it counts from 0 to 4, and nothing ever sets it back"}
    assert grows <= set(map(str, forgotten.findings))
    assert not [found for found in right.findings if (found.kind, found.where) == ("only_grows", "tries")]


def test_a_bound_that_is_not_reached_says_what_was_measured():
    found = verdict(prove(retrying(2, bound=9)), "at_most_9_executions")
    assert (found.holds, found.detail) == (
        False,
        "never exceeded, but not reached either: the longest run executes 4",
    )
    assert verdict(prove(retrying(2, bound=4)), "at_most_4_executions").holds is True


def test_every_rule_of_a_users_graph_is_claimed_to_be_taken():
    proof = prove(retrying(2))
    names = {found.claim.name for found in proof.verdicts if found.claim.kind == "sometimes"}
    assert names == {"rule_taken:fetch.FETCHED", "rule_taken:fetch.RETRY", "rule_taken:fetch.EXHAUSTED"}
    assert json.loads(json.dumps(proof.to_json()))["properties"]


@pytest.mark.parametrize("seed", range(80))
def test_the_lasso_is_the_one_that_is_reached_soonest(seed):
    model = looping(seed)
    targets = {name: model.graph.definition.conditional(name).targets for name in model.alphabet}

    def onward(place):
        return [] if place[0] == END else [(targets[place[0]][way], way) for way in model.alphabet[place[0]]]

    def reached(start):
        """Give each place that is reached from one, with the fewest steps to it."""
        steps, layer = {}, [start]
        for count in range(1, 20):
            layer = [there for here in layer for there in onward(here) if there not in steps]
            steps |= dict.fromkeys(layer, count)
        return steps

    start = ("n0", None)
    depths = {**reached(start), start: 0}
    on_a_cycle = [place for place in depths if place in reached(place)]
    lasso = prove(model).lasso
    assert (lasso is not None) is bool(on_a_cycle)
    if lasso is not None:
        assert len(lasso.stem) == min(depths[place] for place in on_a_cycle)
