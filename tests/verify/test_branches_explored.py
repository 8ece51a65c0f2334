"""Graphs with branches, Commands and subgraphs: sizes worked out by hand, and what a proof says of them."""

from __future__ import annotations

import dataclasses

import pytest
from branched_models import (
    conflicting,
    drawn,
    looping_branch,
    mapped,
    racing,
    redirected,
    supervised,
    voting,
    with_subgraph,
)
from graphs import idle
from verdicts import shown, verdict

from diagnosis.runtime import (
    END,
    START,
    Append,
    Command,
    Condition,
    Custom,
    Decision,
    Fork,
    Model,
    Replace,
    Rule,
    Send,
    StateGraph,
    always,
    sometimes,
)
from diagnosis.scenarios import load, run_scenario, run_suite, write_scenario
from diagnosis.verify import explore, find_lasso, prove, scenario_for


def size(model):
    """Control states, transitions, scripts, longest run."""
    space = explore(model)
    assert space.counts is not None
    return len(space.states), space.size, space.counts[0][0], space.counts[1][0]


# --- sizes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 5])
def test_what_branches_write_beside_the_projection_is_forgotten(count):
    """plan, the fork, the fork with one branch ended, join, END; each outcome of a branch is a transition."""
    assert size(voting(count)) == (5, 1 + 2 * count + 1, count**2, 4)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_what_branches_write_to_a_projected_key_is_kept_until_the_join_and_after(count):
    """After the left branch a state for each vote, after the right one and at END one for each pair."""
    pairs = count**2
    assert size(voting(count, read=True)) == (2 + count + 2 * pairs, 1 + count + 2 * pairs, pairs, 4)


def test_branches_are_executed_one_after_the_other():
    """Three branches of three nodes each, one outcome a node: a state for each node, not one for each combination."""
    lines = ["START -> plan", "plan -> a b c", "join -> END"]
    lines += [f"{n} -> {n}2" for n in "abc"] + [f"{n}2 -> {n}3" for n in "abc"] + [f"{n}3 -> join" for n in "abc"]
    graph = drawn(*lines).compile()
    model = Model("wide", graph, {name: {"ok": {}} for name in graph.definition.names})
    space = explore(model)
    assert [space.node(i) for i in range(len(space.states))] == [
        "plan", "a", "a2", "a3", "b", "b2", "b3", "c", "c2", "c3", "join", END
    ]  # fmt: skip
    assert [space.branch(i) for i in range(4)] == ["", "a[0]", "a[0]", "a[0]"]


def test_as_many_branches_as_the_state_says():
    """The fork of n workers has n states, with two outcomes each; all come to one join and one END a size."""
    sizes = (1, 2, 3)
    expected = 1 + sum(sizes) + 2 * len(sizes), len(sizes) + 2 * sum(sizes) + len(sizes), sum(2**n for n in sizes), 5
    assert size(mapped(*sizes)) == expected


def test_what_was_sent_to_a_branch_is_seen_by_it_alone():
    model = mapped(2)
    seen = [
        dict(space.entered(i))["item"]
        for space in [explore(model)]
        for i in range(len(space.states))
        if space.node(i) in ("work", "join")
    ]
    assert seen == [0, 1, None]


def test_a_supervisor_is_its_own_join():
    """Twice round with two outcomes of one worker, then the end."""
    space = explore(supervised(2))
    assert space.counts == ([4, 4, 2, 2, 2, 1, 1, 1], [7, 6, 5, 4, 3, 2, 1, 0])
    assert [space.node(i) for i in range(8)] == ["boss", "dig", "scan", "boss", "dig", "scan", "boss", END]


def test_a_subgraph_is_explored_as_a_part_of_its_parent():
    """Its retries are counted in a key of its own, of which nothing is left after the join."""
    proof = prove(with_subgraph())
    assert proof.holds
    assert proof.scripts == 3
    joined = [i for i in range(len(proof.space.states)) if proof.space.node(i) == "join"]
    assert len(joined) == 1
    assert proof.space.states[joined[0]]["child.tries"] == 0


def test_a_branch_that_is_routed_to_end_does_not_end_the_run():
    graph = drawn("START -> plan", "plan -> a b", "b -> join", "join -> END",
                  routers=[("a", lambda s: s["x"], {"join": "join", "end": END}, {"reads": ["x"]})],
                  forks={"plan": Fork(join="join")})  # fmt: skip
    outcomes = {"a": {"joins": {"x": "join"}, "leaves": {"x": "end"}}}
    seen = sometimes("a_branch_left", "x", lambda m: m.node == "a" and m.choice.target == END)
    early = sometimes("the_run_ended_there", "x", lambda m: m.node == "a" and m.last)
    last = always("join_is_last", "x", lambda m: m.last == (m.node == "join"))
    model = Model(
        "left", graph.compile(), {n: {"ok": {}} for n in ("plan", "b", "join")} | outcomes, (seen, early, last)
    )
    proof = prove(model)
    assert (proof.scripts, proof.shortest_path, proof.longest_path) == (2, 4, 4)
    assert [verdict(proof, claim.name).holds for claim in (seen, early, last)] == [True, False, True]


# --- winners ----------------------------------------------------------------------------------------------------------


def winners(model):
    space = explore(model)
    return [edge.winner for edge in space.outgoing[0]]


def test_any_branch_may_win():
    space = explore(racing())
    assert winners(racing()) == ["fast[0]", "slow[1]", "late[2]"]
    assert sorted(space.scripts()) == [
        (("plan", "go", "fast[0]"), ("fast", "ok"), ("join", "ok")),
        (("plan", "go", "late[2]"), ("late", "ok"), ("join", "ok")),
        (("plan", "go", "slow[1]"), ("slow", "ok"), ("slower", "ok"), ("join", "ok")),
    ]


def test_a_branch_that_fails_is_no_winner_and_no_error():
    proof = prove(racing("fast", "late"))
    assert proof.holds
    assert proof.scripts == 3


def test_where_every_branch_may_fail_the_run_may():
    model = racing("fast", "slow", "late")
    proof = prove(model)
    assert winners(model) == ["fast[0]", "slow[1]", "late[2]", None]
    assert verdict(proof, "no_error").script == (("plan", "go"), ("fast", "bad"), ("slow", "bad"), ("late", "bad"))
    run = shown(proof, "no_error")
    assert run.failed_at == "fast"
    assert run.path == ("plan",)


def test_of_the_branches_that_all_fail_the_run_tells_of_the_first_only():
    told = sometimes("told", "x", lambda m: m.node == "fast" and m.outcome == "bad")
    space = explore(racing("fast", "slow", "late", claims=[told]))
    failing = [edge for edge in space.transitions if edge.outcome == "bad"]
    assert [(space.node(edge.source), edge.hidden, edge.choice) for edge in failing] == [
        ("fast", False, None), ("slow", True, None), ("late", True, None)
    ]  # fmt: skip


def test_the_length_of_a_run_is_without_the_branches_that_lost():
    """The fork's first branch is short, the other long; both fail, and the run tells of the first only."""
    keys = {"x": Replace(), "y": Replace()}
    graph = StateGraph(keys, name="lost")
    for name in ("plan", "a", "b1", "b2", "b3", "join"):
        graph.add_node(name, idle)
    graph.add_edge(START, "plan").add_edge("plan", ["a", "b1"], fork=Fork(join="join", wait="any_of"))
    graph.add_edge("b1", "b2").add_edge("b2", "b3").add_edge("join", END)
    for name in ("a", "b3"):
        graph.add_conditional_edges(name, lambda s: "nowhere", {"on": "join"}, reads=[])
    silent = always("silent", "Nothing is told of the other.", lambda m: m.node in ("plan", "a"))
    outcomes = {name: {"ok": {}} for name in graph.definition().names}
    model = Model("lost", graph.compile(), outcomes, (silent,), bound=2)
    proof = prove(model)
    assert verdict(proof, "silent").holds is True
    assert (proof.scripts, proof.shortest_path, proof.longest_path) == (1, 2, 2)
    assert verdict(proof, "at_most_2_executions").holds is True
    assert len(next(proof.space.scripts())) == 5


@pytest.mark.parametrize(
    ("risky", "expected"),
    [
        ((), ["fast[0]"]),
        (("late",), ["fast[0]"]),
        (("fast",), ["fast[0]", "slow[1]"]),
        (("slow",), ["fast[0]"]),
        (("fast", "slow"), ["fast[0]", "slow[1]", "late[2]"]),
    ],
)
def test_a_branch_that_must_wait_wins_only_if_those_before_it_may_fail(risky, expected):
    assert winners(racing(*risky, max_concurrency=1)) == expected


def test_a_scenario_says_who_wins(tmp_path):
    claim = always("never_slow", "The slow branch does not win.", lambda m: m.node != "slower")
    proof = prove(racing(claims=[claim]))
    scenario = proof.counterexample(verdict(proof, "never_slow"))
    assert scenario.to_map()["winners"] == {"plan": ["slow[1]"]}
    assert shown(proof, "never_slow").state["answer"] == "slower"
    write_scenario(scenario, tmp_path)
    results = run_suite(load([str(tmp_path)], {"racing": proof.model}))
    assert (results.passed, results.failed, results.refused) == (1, 0, ())


def test_the_winner_of_a_fork_inside_a_branch_is_named_by_its_path():
    graph = drawn("START -> plan", "plan -> a b", "a -> c d", "c -> meet", "d -> meet", "meet -> join", "b -> join",
                  "join -> END", forks={"a": Fork(wait="any_of")})  # fmt: skip
    compiled = graph.compile()
    model = Model("inner", compiled, {name: {"ok": {}} for name in compiled.definition.names})
    scripts = sorted(explore(model).scripts())
    assert [script[1] for script in scripts] == [("a", "ok", "c[0][0]"), ("a", "ok", "d[0][1]")]
    scenario = scenario_for(model, scripts[1], name="d_wins", title="d wins")
    assert scenario.to_map()["winners"] == {"a[0]": ["d[0][1]"]}
    assert run_scenario(scenario, model).path == ("plan", "a", "d", "meet", "b", "join")


# --- errors -----------------------------------------------------------------------------------------------------------


def test_a_write_conflict_is_found_and_saved_as_a_scenario_that_shows_it(tmp_path):
    assert size(conflicting()) == (6, 8, 4, 4)
    proof = prove(conflicting())
    found = verdict(proof, "no_error")
    assert found.script == (("plan", "go"), ("left", "answers"), ("right", "answers"))
    assert found.detail.startswith("the fork at 'plan': 'left[0]' and 'right[1]' both wrote 'answer'")
    assert shown(proof, "no_error").path == ("plan", "left", "right")
    write_scenario(proof.counterexample(found), tmp_path)
    results = run_suite(load([str(tmp_path)], {"conflicting": proof.model}))
    assert (results.passed, results.failed, results.refused) == (1, 0, ())


def test_the_move_that_a_join_cannot_take_is_a_move_like_any_other():
    claim = sometimes("right_answers", "x", lambda m: m.node == "right" and m.after["answer"] == 1, reads="answer")
    model = dataclasses.replace(
        conflicting(),
        alphabet={**conflicting().alphabet, "left": {"answers": {"answer": 0}}, "right": {"answers": {"answer": 1}}},
        properties=(claim,),
    )
    assert verdict(prove(model), "right_answers").holds is True


def test_a_bound_that_only_a_failing_run_breaks_is_broken():
    graph = drawn(
        "START -> a", "b -> END", routers=[("a", lambda s: s["x"], {"end": END, "on": "b"}, {"reads": ["x"]})]
    )
    outcomes = {"a": {"end": {"x": "end"}, "on": {"x": "on"}}, "b": {"fails": {"nothing": 1}}}
    proof = prove(Model("failing", graph.compile(), outcomes, bound=1))
    assert verdict(proof, "at_most_1_executions").script == (("a", "on"), ("b", "fails"))


def test_a_key_that_decides_whether_two_branches_write_the_same_joins_the_projection():
    """What decides is read by an outcome only, and what it writes is read by nobody; yet the run fails by it."""
    graph = StateGraph({"mode": Replace(), "answer": Replace()}, name="modes")
    graph.add_node("plan", idle, owns=["mode"])
    for name in ("left", "right", "join"):
        graph.add_node(name, idle, owns=["answer"])
    graph.add_edge(START, "plan").add_edge("plan", ["left", "right"]).add_edge(["left", "right"], "join")
    graph.add_edge("join", END)
    answers = {"answers": lambda s: {"answer": 1} if s["mode"] == "both" else {}}
    outcomes = {"plan": {"one": {"mode": "one"}, "both": {"mode": "both"}}, "left": answers, "join": {"ok": {}}}
    space = explore(Model("modes", graph.compile(), {**outcomes, "right": {"answers": {"answer": 2}}}))
    assert space.projection == ("mode",)
    assert [space.script_through(edge)[0][1] for edge in space.transitions if edge.error] == ["both"]


# --- properties -------------------------------------------------------------------------------------------------------


def test_a_move_in_a_branch_shows_what_the_branch_sees():
    keys = {"log": Append(), "total": Custom(lambda old, new: old + new, initial=0)}
    graph = drawn("START -> plan", "plan -> a b", "a -> join", "b -> join", "join -> END", keys=keys)
    outcomes = {name: {"ok": {"log": [name], "total": 1}} for name in ("plan", "a", "b", "join")}
    seen = {"plan": (0, 1), "a": (1, 2), "b": (1, 2), "join": (3, 4)}
    claims = (
        always("seen", "x", lambda m: (m.before["total"], m.after["total"]) == seen[m.node], reads="total"),
        always("where", "x", lambda m: m.branch == {"a": "a[0]", "b": "b[1]"}.get(m.node, "")),
        always("ways", "x", lambda m: len(m.choices) == (2 if m.node == "plan" else 1)),
    )
    proof = prove(Model("seen", graph.compile(), outcomes, claims))
    assert proof.holds, proof.text()


def test_a_property_with_a_memory_goes_through_the_branches_in_order():
    order = always(
        "order", "x", lambda m, path: path == ("plan", "left", "right", "join")[: len(path)],
        start=(), remember=lambda path, m: (*path, m.node),
    )  # fmt: skip
    assert verdict(prove(dataclasses.replace(voting(2), properties=(order,))), "order").holds is True


def test_a_property_with_a_memory_sees_nothing_of_a_branch_that_loses():
    calm = always("calm", "x", lambda m, n: n < 2, start=0, remember=lambda n, m: n + (m.node in ("slow", "late")))
    assert verdict(prove(racing("fast", "slow", "late", claims=[calm])), "calm").holds is True


# --- Commands and routers ---------------------------------------------------------------------------------------------


def test_a_goto_that_nothing_takes_is_named():
    proof = prove(redirected())
    assert proof.never_taken == ("desk.lawyer",)
    assert verdict(proof, "route_taken:desk.sales").holds is True
    assert verdict(proof, "route_taken:desk.lawyer").holds is False


def test_the_report_of_a_command_is_its_update():
    claim = sometimes("sold", "x", lambda m: m.report == {"x": 1} and m.choice.reason == "WANTS_TO_BUY")
    assert verdict(prove(dataclasses.replace(redirected(), properties=(claim,))), "sold").holds is True


def test_a_key_that_decides_where_a_command_goes_joins_the_projection():
    """The node owns nothing that is projected: only the way depends on what its function reads."""
    graph = StateGraph({"kind": Replace()}, name="asks").add_node("ask", idle, owns=["kind"])
    graph.add_node("desk", idle, owns=(), goto={"left": "left", "right": "right"})
    for name in ("left", "right"):
        graph.add_node(name, idle, owns=()).add_edge(name, END)
    graph.add_edge(START, "ask").add_edge("ask", "desk")
    alphabet = {
        "ask": {"a": {"kind": "left"}, "b": {"kind": "right"}},
        "desk": {"sends": lambda s: Command(s["kind"], reason="ASKED")},
        "left": {"ok": {}},
        "right": {"ok": {}},
    }
    space = explore(Model("asks", graph.compile(), alphabet))
    assert space.projection == ("kind",)
    assert {space.node(i) for i in range(len(space.states))} >= {"left", "right"}


def routed(router, **options):
    graph = StateGraph({"n": Replace(initial=0), "seen": Replace(initial=0)}, name="routed")
    for name in ("plan", "work", "join"):
        graph.add_node(name, idle)
    graph.add_edge(START, "plan").add_edge("work", "join").add_edge("join", END)
    targets = {"work": "work", "join": "join"}
    graph.add_conditional_edges("plan", router, targets, **options)
    outcomes = {"plan": {str(n): {"n": n} for n in range(4)}, "work": {"ok": {}}, "join": {"ok": {}}}
    return Model("routed", graph.compile(), outcomes)


def test_a_router_may_update_what_it_reads():
    """Asked again after its own update, it would decide otherwise; it is judged by what it read."""
    router = lambda s: Command("work" if s["n"] < 3 else "join", {"n": 3}, reason="ON")  # noqa: E731
    proof = prove(routed(router, reads=["n"], owns="n"))
    assert verdict(proof, "no_error").holds is True
    assert {state["n"] for i, state in enumerate(proof.space.states) if proof.space.node(i) == "work"} == {3}


@pytest.mark.parametrize(
    "odd",
    [
        lambda n: [Send("work", {"seen": n})],
        lambda n: ["work"] * n,
        lambda n: Command("work", {"seen": n}, reason="ON"),
        lambda n: Command("work", reason=f"R{n}"),
        lambda n: Send("work", {"seen": n}),
    ],
)
def test_a_router_that_is_no_function_of_its_reads_is_an_error_whatever_it_gives(odd):
    calls = []

    def router(state):
        calls.append(1)
        return odd(len(calls))

    space = explore(routed(router, reads=["seen"], owns="seen", fork=Fork()))
    errors = [edge.error for edge in space.transitions if edge.error]
    assert len(errors) == 3
    assert all("decides differently for the same reads" in error for error in errors)


def test_a_router_of_a_branch_is_judged_though_its_branch_may_lose():
    calls = []

    def router(state):
        calls.append(1)
        return "join" if len(calls) < 2 else "end"

    graph = drawn("START -> plan", "plan -> a b", "b -> join", "join -> END",
                  routers=[("a", router, {"join": "join", "end": END}, {"reads": ["x"]})],
                  forks={"plan": Fork(join="join", wait="any_of")})  # fmt: skip
    outcomes = {"a": {"one": {}, "two": {}}, **{name: {"ok": {}} for name in ("plan", "b", "join")}}
    assert verdict(prove(Model("odd", graph.compile(), outcomes)), "no_error").holds is False


def test_an_undeclared_read_in_a_branch_is_found():
    sneaky = Condition("sneaky", lambda s: s["y"] is None, "x")
    graph = drawn("START -> plan", "plan -> a b", "b -> join", "join -> END", keys=["x", "y"],
                  routers=[("a", Decision([Rule("on", "ON", sneaky), Rule("on", "OFF")]), {"on": "join"})])  # fmt: skip
    found = verdict(
        prove(Model("sneaky", graph.compile(), {n: {"ok": {}} for n in ("plan", "a", "b", "join")})), "no_error"
    )
    assert found.holds is False
    assert "reads 'y', which it does not declare" in found.detail


# --- loops ------------------------------------------------------------------------------------------------------------


def test_a_loop_inside_a_branch_is_a_lasso():
    proof = prove(looping_branch())
    assert proof.lasso is not None
    assert proof.lasso.stem == (("plan", "go"), ("note", "ok"), ("try", "failed"))
    assert proof.lasso.loop == (("try", "failed"),)
    run = shown(proof, "every_run_ends")
    assert run.stop == "limit"
    assert run.path[:3] == ("plan", "note", "try")
    assert prove(looping_branch(3)).holds


def test_a_loop_across_a_fork_is_a_lasso():
    proof = prove(dataclasses.replace(supervised(), alphabet={**supervised().alphabet, "boss": {"idle": {}}}))
    assert proof.lasso is not None
    assert [node for node, _ in proof.lasso.loop] == ["boss", "dig", "scan"]


def test_a_loop_of_a_branch_that_wins_is_a_lasso():
    graph = drawn("START -> plan", "plan -> a b", "b -> join", "join -> END", forks={"plan": Fork(wait="any_of")},
                  routers=[("a", lambda s: s["x"], {"again": "a", "join": "join"}, {"reads": ["x"]})])  # fmt: skip
    outcomes = {"a": {"again": {"x": "again"}, "on": {"x": "join"}}, **{n: {"ok": {}} for n in ("plan", "b", "join")}}
    lasso = find_lasso(explore(Model("racing", graph.compile(), outcomes)))
    assert lasso is not None
    assert lasso.text() == "after plan=ok (a[0] wins), a=again: for ever a=again"


def growing(fork: bool, claims_end: bool = False) -> Model:
    """A branch, or a whole round, that goes on for ever and counts; the count may end it after a long time."""
    keys = {"worker": Replace(initial="x"), "steps": Custom(lambda old, new: old + new, initial=0)}
    graph = StateGraph(keys, name="growing")
    for name in ("plan", "work", "note", "join"):
        graph.add_node(name, idle)
    named = Condition("named", lambda s: s["worker"] == "x" and not claims_end, "worker")
    over = Condition("over", lambda s: s["steps"] > 10**6, "steps")
    rules = Decision([Rule("again", "NAMED", named), Rule("on", "OVER", over), Rule("again", "MORE")])
    graph.add_edge(START, "plan").add_edge("plan", ["work", "note"]).add_edge("note", "join")
    if fork:
        graph.add_edge("work", "join").add_conditional_edges("join", rules, {"again": "plan", "on": END})
    else:
        graph.add_conditional_edges("work", rules, {"again": "work", "on": "join"}).add_edge("join", END)
    outcomes = {name: {"ok": {}} for name in ("plan", "note", "join")} | {"work": {"one": {"steps": 1}}}
    return Model("growing", graph.compile(recursion_limit=6_000 if claims_end else 30), outcomes)


@pytest.mark.parametrize("fork", [True, False])
def test_a_loop_with_a_growing_count_is_found_in_a_branch_and_across_a_fork(fork):
    proof = prove(growing(fork), max_states=200)
    assert not proof.space.complete
    assert proof.lasso is not None
    assert proof.lasso.growing == ("steps",)
    assert [node for node, _ in proof.lasso.loop] == (["plan", "work", "note", "join"] if fork else ["work"])
    assert shown(proof, "every_run_ends").stop == "limit"


@pytest.mark.parametrize("fork", [True, False])
def test_a_count_that_would_end_the_loop_makes_no_lasso(fork):
    proof = prove(growing(fork, claims_end=True), max_states=200)
    assert proof.lasso is None
    assert verdict(proof, "every_run_ends").holds is None


def test_a_search_that_stops_claims_nothing_of_a_winner_that_it_did_not_see_win():
    """Only the end of a branch tells whether it wins; here that end is beyond the budget."""
    way = ("a", lambda s: "again" if s["x"] < 50 else "nowhere", {"again": "a", "on": "join"}, {"reads": ["x"]})
    graph = drawn("START -> plan", "plan -> a b", "b -> join", "join -> END", keys={"x": Replace(initial=0)},
                  forks={"plan": Fork(join="join", wait="any_of")}, routers=[way])  # fmt: skip
    outcomes = {"a": {"one": lambda s: {"x": s["x"] + 1}}, **{n: {"ok": {}} for n in ("plan", "b", "join")}}
    claim = sometimes("a_runs", "x", lambda m: m.node == "a")
    model = Model("late", graph.compile(), outcomes, (claim,))
    assert verdict(prove(model), "a_runs").holds is False
    assert verdict(prove(model, max_states=20), "a_runs").holds is None
