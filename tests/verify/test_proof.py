from __future__ import annotations

import dataclasses
import json

import pytest
from graphs import idle, misspelt, never_gives_up, retrying, unreachable_guard
from verdicts import shown, verdict

from diagnosis.catalog import diagnosis_model
from diagnosis.runtime import (
    END,
    START,
    Condition,
    Decision,
    DefinitionError,
    Effect,
    Model,
    Reading,
    Replace,
    Rule,
    StateGraph,
    always,
    ends,
    sometimes,
)
from diagnosis.verify import PropertyError, find_lasso, prove


def test_every_property_of_the_contract_graph_holds():
    proof = prove(diagnosis_model())
    assert proof.holds
    assert len(proof.verdicts) == 40
    assert sum(found.claim.name.startswith("rule_taken:") for found in proof.verdicts) == 26
    assert (proof.scripts, proof.longest_path, proof.shortest_path) == (10903, 18, 2)
    assert proof.counterexamples == ()
    assert proof.never_taken == ()


def test_the_json_has_what_tools_rely_on():
    document = json.loads(json.dumps(prove(diagnosis_model()).to_json()))
    assert list(document) == [
        "graph", "projection", "control_states", "transitions", "scripts", "longest_path", "shortest_path", "properties"
    ]  # fmt: skip
    assert document["graph"] == "diagnosis"
    assert all(item["holds"] is True and item["counterexample"] is None for item in document["properties"])
    assert {item["kind"] for item in document["properties"]} == {"always", "sometimes", "eventually", "bound"}


def test_the_first_counterexample_is_the_shortest():
    proof = prove(retrying(2, claims=(never_gives_up(),)))
    assert verdict(proof, "never_gives_up").holds is False
    assert shown(proof, "never_gives_up").path == ("fetch", "fetch", "fetch", "give_up")


def test_counterexamples_are_shortest_with_several_properties_open():
    late = always("no_third", "Never three tries.", lambda move: move.attempt < 9 and not move.last, reads=())
    proof = prove(retrying(3, claims=(never_gives_up(), late)))
    assert shown(proof, "no_third").path == ("fetch",)
    assert shown(proof, "never_gives_up").path == ("fetch",) * 4 + ("give_up",)


def test_a_broken_bound_is_shown_by_a_shortest_run_beyond_it():
    proof = prove(retrying(4, bound=3))
    assert verdict(proof, "at_most_3_executions").detail == "the longest run executes 6"
    assert len(shown(proof, "at_most_3_executions").path) == 4


def test_a_bound_that_is_not_reached_does_not_hold():
    proof = prove(retrying(1, bound=9))
    found = verdict(proof, "at_most_9_executions")
    assert found.holds is False
    assert found.detail == "never exceeded, but not reached either: the longest run executes 3"
    assert proof.counterexample(found) is None


def test_a_property_may_remember_earlier_moves():
    twice = always(
        "one_retry",
        "Fetch is executed at most twice.",
        lambda move, count: count <= 2,
        start=0,
        remember=lambda count, move: count + (move.node == "fetch"),
    )
    proof = prove(retrying(3, claims=(twice,)))
    assert shown(proof, "one_retry").path == ("fetch", "fetch", "fetch")
    assert verdict(prove(retrying(1, claims=(twice,))), "one_retry").holds is True


def test_a_property_that_reads_beside_the_projection_gets_a_space_of_its_own():
    """Without ``note`` in the projection both reports are one state, and the second would never be looked at."""
    graph = StateGraph(["status", "note"], name="notes").add_node("a", idle).add_node("b", idle)
    graph.add_edge(START, "a").add_edge("a", "b").add_edge("b", END)
    claim = always("no_bad_note", "No bad note.", lambda m: m.after["note"] != "bad" or m.node == "a", reads="note")
    model = Model(
        "notes", graph.compile(), {"a": {"good": {"note": "good"}, "bad": {"note": "bad"}}, "b": {"ok": {}}}, (claim,)
    )
    proof = prove(model)
    assert proof.space.projection == ()
    assert verdict(proof, "no_bad_note").holds is False
    assert shown(proof, "no_bad_note").path == ("a", "b")


def test_a_property_that_reads_what_it_does_not_declare_is_refused():
    claim = always("sloppy", "Sloppy.", lambda move: move.after["tries"] < 9)
    with pytest.raises(PropertyError, match=r"'sloppy'.*reads 'tries', which it does not declare"):
        prove(retrying(claims=(claim,)))


def test_a_memory_that_raises_is_refused():
    claim = always("odd", "Odd.", lambda move, memory: True, start=0, remember=lambda memory, move: 1 // memory)
    with pytest.raises(PropertyError, match="memory of property 'odd' raised ZeroDivisionError"):
        prove(retrying(claims=(claim,)))


def test_sometimes_is_shown_or_refuted():
    yes = sometimes("gives_up", "Some run gives up.", lambda move: move.node == "give_up")
    no = sometimes("tenth", "Some run has a tenth attempt.", lambda move: move.attempt == 10)
    proof = prove(retrying(2, claims=(yes, no)))
    assert verdict(proof, "gives_up").detail == "first shown after 4 node executions"
    assert verdict(proof, "tenth").holds is False
    assert proof.counterexample(verdict(proof, "tenth")) is None


def test_a_rule_that_no_script_takes_is_named():
    graph = StateGraph(["status"], name="dead").add_node("a", idle).add_edge(START, "a")
    fine = Condition("fine", lambda s: s["status"] == "fine", "status")
    graph.add_conditional_edges(
        "a", Decision([Rule("end", "ONE", fine), Rule("end", "TWO", fine), Rule("end", "THREE")]), {"end": END}
    )
    proof = prove(Model("dead", graph.compile(), {"a": {"fine": {"status": "fine"}, "other": {}}}))
    assert proof.never_taken == ("a.TWO",)
    assert verdict(proof, "rule_taken:a.TWO").holds is False


# --- runs that never end ----------------------------------------------------------------------------------------------


def test_an_unbounded_counter_behind_a_loop_is_a_lasso_and_its_guard_is_never_taken():
    """C01: the guard on steps can never be reached while a worker is named."""
    proof = prove(unreachable_guard(), max_states=2000)
    assert not proof.holds
    assert proof.reason == "bound hit: the budget of 2000 control states was used up"
    assert (proof.scripts, proof.longest_path) == (None, None)
    assert proof.lasso is not None
    assert [node for node, _ in proof.lasso.loop].count("work") == 1
    assert len(proof.lasso.loop) == 4
    assert proof.lasso.growing == ("steps",)
    assert "router.TOO_MANY" in proof.never_taken
    assert verdict(proof, "every_run_ends").holds is False
    assert verdict(proof, "rule_taken:router.TOO_MANY").holds is None
    path = shown(proof, "every_run_ends").path
    assert len(path) == 60
    assert path[:6] == ("router", "work", "review", "note", "router", "work")


def test_a_growing_counter_that_does_end_the_loop_is_not_called_a_lasso():
    """The loop looks the same but for the counter, and the counter is what ends it."""
    graph = StateGraph({"steps": Replace(initial=0)}, name="counting").add_node("a", idle).add_edge(START, "a")
    over = Condition("over", lambda s: s["steps"] > 5000, "steps")
    graph.add_conditional_edges(
        "a", Decision([Rule("end", "OVER", over), Rule("again", "MORE")]), {"end": END, "again": "a"}
    )
    outcomes = {"a": {"step": lambda s: {"steps": s["steps"] + 1}}}
    model = Model("counting", graph.compile(recursion_limit=6000), outcomes)
    proof = prove(model, max_states=1000)
    assert proof.lasso is None
    assert verdict(proof, "every_run_ends").holds is None
    assert "not proven" in proof.text()
    assert prove(model).holds
    # Within the budget it is seen to meet a smaller limit.
    short = prove(dataclasses.replace(model, graph=graph.compile(recursion_limit=100)), max_states=1000)
    assert (short.lasso, verdict(short, "every_run_ends").holds) == (None, False)
    assert shown(short, "every_run_ends").stop == "limit"


@pytest.mark.parametrize("limit", [2, 3])
def test_a_run_that_would_end_after_its_recursion_limit_does_not_end(limit):
    graph = StateGraph(["x"], name="long")
    for name in "abc":
        graph.add_node(name, idle)
    graph.add_edge(START, "a").add_edge("a", "b").add_edge("b", "c").add_edge("c", END)
    proof = prove(Model("long", graph.compile(recursion_limit=limit), {name: {"ok": {}} for name in "abc"}))
    assert [verdict(proof, name).holds for name in ("every_run_ends", "no_error")] == [limit == 3] * 2
    if limit == 2:
        assert (shown(proof, "no_error").stop, shown(proof, "no_error").path) == ("limit", ("a", "b"))


def test_a_cycle_of_control_states_is_a_lasso():
    proof = prove(retrying(2, count=False, bound=5))
    assert proof.space.complete
    assert proof.reason == "a run may go on for ever: the graph has an unresolved cycle"
    assert proof.lasso is not None
    assert proof.lasso.loop == (("fetch", "failed"),)
    assert len(shown(proof, "every_run_ends").path) == 100
    assert verdict(proof, "at_most_5_executions").holds is False
    document = proof.to_json()
    assert document["scripts"] is None
    assert document["reason"] == proof.reason
    assert document["lasso"]["loop"] == [["fetch", "failed"]]


def test_a_plain_router_behind_a_growing_counter_is_judged_by_what_it_reads():
    def router(state):
        return "again" if state["worker"] else "end"

    graph = StateGraph({"worker": Replace(), "steps": Replace(initial=0)}, name="plain").add_node("a", idle)
    graph.add_node("count", idle).add_edge(START, "count").add_edge("count", "a")
    graph.add_conditional_edges("a", router, {"again": "count", "end": END})
    outcomes = {"a": {"named": {"worker": "x"}}, "count": {"one": lambda s: {"steps": s["steps"] + 1}}}
    proof = prove(Model("plain", graph.compile(), outcomes), max_states=200)
    assert proof.lasso is not None
    assert proof.lasso.growing == ("steps",)


def test_a_lasso_is_unrolled_to_any_length():
    lasso = find_lasso(prove(retrying(2, count=False)).space)
    assert lasso is not None
    assert [len(lasso.unrolled(length)) for length in (0, 1, 7)] == [0, 1, 7]


def test_a_complete_space_without_cycles_has_no_lasso():
    assert find_lasso(prove(diagnosis_model()).space) is None


# --- errors -----------------------------------------------------------------------------------------------------------


def test_a_condition_that_raises_is_an_error_and_not_false():
    """C05: the misspelt key stops the run; nothing routes on as if it were false."""
    proof = prove(misspelt())
    found = verdict(proof, "no_error")
    assert found.holds is False
    assert "condition 'odd'" in found.detail
    assert shown(proof, "no_error").path == ()


def test_a_condition_that_would_raise_behind_the_one_that_decided_is_reported_too():
    model = misspelt()
    only_fine = dataclasses.replace(model, alphabet={"ask": {"fine": {"status": "fine"}}, "other": {"ok": {}}})
    proof = prove(only_fine)
    assert verdict(proof, "no_error").holds is False
    assert "sttaus" in verdict(proof, "no_error").detail
    assert shown(proof, "no_error").path == ("ask",)


def test_an_undeclared_read_is_found():
    graph = StateGraph(["a", "b"], name="sneaky").add_node("n", idle).add_edge(START, "n")
    sneaky = Condition("sneaky", lambda s: s["b"] is None, "a")
    graph.add_conditional_edges("n", Decision([Rule("end", "X", sneaky), Rule("end", "Y")]), {"end": END})
    found = verdict(prove(Model("sneaky", graph.compile(), {"n": {"ok": {}}})), "no_error")
    assert found.holds is False
    assert "reads 'b', which it does not declare" in found.detail


@pytest.mark.parametrize("part", ["entry", "exit", "attempt", "outcome", "router"])
def test_an_undeclared_read_of_any_part_is_found(part):
    effect = Effect("sneaky", lambda s: {"a": s["b"]}, reads="a", writes="a")
    extra = {
        "entry": {"entry": effect},
        "exit": {"exit": effect},
        "attempt": {"attempt": Reading(lambda s: 1 if s["b"] is None else 2, "a")},
        "outcome": {"outcome": Reading(lambda s: str(s.get("b")), "a")},
        "router": {},
    }[part]
    graph = StateGraph(["a", "b"], name="sneaky").add_node("n", idle, **extra).add_edge(START, "n")
    if part == "router":
        graph.add_conditional_edges("n", lambda s: "x" if s["b"] is None else "y", {"x": END, "y": END}, reads=["a"])
    else:
        graph.add_edge("n", END)
    found = verdict(prove(Model("sneaky", graph.compile(), {"n": {"ok": {}}})), "no_error")
    assert found.holds is False
    assert "reads 'b', which it does not declare" in found.detail


def test_a_run_that_fails_does_not_reach_the_end():
    found = verdict(prove(misspelt()), "every_run_ends")
    assert found.holds is False
    assert found.detail.startswith("a run stops with an error: node 'ask', rule 'ODD', condition 'odd' raised")


def test_ends_may_be_claimed_under_a_name_of_ones_own():
    model = retrying(1, claims=(ends("finishes", "It finishes."),))
    assert verdict(prove(model), "finishes").holds is True


def test_the_proof_shows_itself_as_text():
    lines = prove(retrying(1, bound=3)).text().splitlines()
    assert lines[0] == "Proof of retrying: 6 of 6 properties hold"
    assert lines[1].endswith("3 complete scripts of 1 to 3 node executions")


def test_a_budget_that_is_used_up_proves_nothing_that_was_not_found():
    proof = prove(diagnosis_model(), max_states=100)
    assert not proof.holds
    assert verdict(proof, "at_most_18_executions").holds is None
    assert verdict(proof, "fallback_is_last").holds is None
    assert verdict(proof, "executor_runs_once_a_round").holds is None
    assert verdict(proof, "no_error").holds is None
    assert verdict(proof, "rule_taken:planner.PLAN_READY").holds is True
    assert proof.counterexamples == ()


def test_a_bound_broken_within_the_budget_is_broken():
    proof = prove(dataclasses.replace(unreachable_guard(), bound=None), max_states=300)
    assert verdict(proof, "every_run_ends").holds is False


def test_a_move_shows_what_the_action_saw():
    """The entry update has already counted when the report is made."""
    graph = StateGraph({"tries": Replace(initial=0), "out": Replace()}, name="before")
    entry = Effect("count", lambda s: {"tries": s["tries"] + 1}, reads="tries", writes="tries")
    graph.add_node("a", idle, entry=entry).add_edge(START, "a").add_edge("a", END)
    claim = always(
        "saw", "It saw 1.", lambda move: move.before["tries"] == 1 and move.report == {"out": 1}, reads=("tries", "out")
    )
    model = Model("before", graph.compile(), {"a": {"report": lambda s: {"out": s["tries"]}}}, (claim,))
    assert verdict(prove(model), "saw").holds is True


def test_the_counterexample_is_the_shortest_whole_run():
    """The first move that breaks the claim leads a long way round; a later one ends at once."""
    graph = StateGraph(["x"], name="detour")
    for node in ("a", "b", "c", "d", "e"):
        graph.add_node(node, idle)
    graph.add_edge(START, "a").add_edge("b", "c").add_edge("c", "d").add_edge("d", END).add_edge("e", END)
    graph.add_conditional_edges("a", lambda s: s["x"], {"long": "b", "short": "e"}, reads=["x"])
    outcomes = {node: {"ok": {}} for node in ("b", "c", "d", "e")}
    outcomes["a"] = {"long": {"x": "long"}, "short": {"x": "short"}}
    plain = always("only_a", "Nothing but a.", lambda move: move.node == "a")
    counted = always("one_move", "One move.", lambda move, n: n <= 1, start=0, remember=lambda n, move: n + 1)
    proof = prove(Model("detour", graph.compile(), outcomes, (plain, counted)))
    assert shown(proof, "only_a").path == ("a", "e")
    assert shown(proof, "one_move").path == ("a", "e")


def test_a_memory_that_is_not_hashable_is_refused():
    with pytest.raises(DefinitionError, match="must be hashable"):
        always("listed", "x", lambda move, memory: True, start=[], remember=lambda memory, move: memory)
    claim = always("listed", "x", lambda move, memory: True, start=0, remember=lambda memory, move: [memory])
    with pytest.raises(PropertyError, match="must be hashable"):
        prove(retrying(claims=(claim,)))


def test_only_a_model_is_proven():
    with pytest.raises(DefinitionError, match="a proof needs a Model, found CompiledGraph"):
        prove(retrying().graph)


def test_properties_with_the_same_further_reads_share_one_space(monkeypatch):
    made = []
    from diagnosis.verify import prover

    class Counting(prover.StateSpace):
        def __init__(self, *args, **kwargs):
            made.append(kwargs.get("extra"))
            super().__init__(*args, **kwargs)

    monkeypatch.setattr(prover, "StateSpace", Counting)
    graph = StateGraph(["x", "note"], name="notes").add_node("a", idle).add_edge(START, "a").add_edge("a", END)
    claims = tuple(always(f"c{i}", "x", lambda m: m.after["note"] is None, reads="note") for i in range(5))
    assert prove(Model("notes", graph.compile(), {"a": {"ok": {}}}, claims), max_seconds=60).holds
    assert made == [None, frozenset({"note"})]


def test_a_route_of_a_plain_router_that_no_script_takes_is_named():
    graph = StateGraph(["x"], name="half").add_node("a", idle).add_edge(START, "a")
    graph.add_conditional_edges("a", lambda s: "left", {"left": END, "right": END}, reads=["x"])
    proof = prove(Model("half", graph.compile(), {"a": {"ok": {}}}))
    assert proof.never_taken == ("a.right",)
    assert verdict(proof, "route_taken:a.right").holds is False
    assert verdict(proof, "route_taken:a.left").holds is True
