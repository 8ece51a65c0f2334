"""Everything that is wrong with a graph is found before it runs, and all at once."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import pytest
from forkgraph import drawn, findings_of
from refused import chain, found, nothing

from diagnosis.runtime import (
    END,
    REPEAT,
    START,
    Append,
    CompiledGraph,
    CompileError,
    Condition,
    Conditional,
    Decision,
    DefinitionError,
    Effect,
    Fork,
    Reading,
    Replace,
    RouterDecision,
    Rule,
    StateGraph,
)
from diagnosis.runtime.checks import findings


def test_a_graph_without_nodes_is_refused() -> None:
    assert found(StateGraph("a")) == ["no_nodes at graph: the graph has no node; add one with add_node"]


def test_a_node_name_is_given_once() -> None:
    assert found(chain("x").add_node("x", nothing)) == [
        "duplicate_node at x: added more than once; give each node its own name"
    ]


def test_start_and_end_are_no_names_for_nodes() -> None:
    texts = found(chain("x").add_node(START, nothing).add_node(END, nothing))
    for name in (START, END):
        assert f"reserved_name at {name}: START and END are no nodes of one's own; choose another name" in texts


def test_an_action_is_a_function_of_state_and_maybe_config() -> None:
    graph = StateGraph("a").add_edge(START, "x").add_edge("x", END)
    assert found(graph.add_node("x", 5)) == ["no_action at x: its action is 5; it needs a function"]


@pytest.mark.parametrize(
    "action",
    [lambda: {}, lambda a, b, c: {}, lambda state, *, extra: {}, lambda **state: {}, functools.partial(nothing, 1)],
)
def test_an_action_with_other_parameters_is_refused(action: Callable[..., Any]) -> None:
    graph = StateGraph("a").add_edge(START, "x").add_edge("x", END).add_node("x", action)
    assert found(graph) == ["bad_action at x: its action must take (state) or (state, config)"]


def test_a_key_has_a_strategy() -> None:
    assert found(chain("x", keys={"a": 5})) == [
        "bad_strategy at a: found 5; a key takes Replace, Append, Merge or Custom"
    ]


def test_every_declared_key_exists() -> None:
    graph = StateGraph(("a", "b"), inputs=["q"], id_key="r")
    graph.add_node(
        "x",
        nothing,
        owns=["a", "k1"],
        entry=Effect("in", nothing, reads="k2"),
        exit=Effect("out", nothing, writes=["k3", "a"]),
        attempt=Reading(lambda state: 1, "k4"),
        outcome=Reading(lambda state: "o", "k5"),
    )
    graph.add_node("y", nothing)
    graph.add_edge(START, "x").log_events("k8")
    rules = Decision([Rule("end", "R", (Condition("c", bool, ["a", "k6"]),)), Rule("y", "S")])
    graph.add_conditional_edges("x", rules, {"end": END, "y": "y"})
    graph.add_conditional_edges("y", lambda state: "end", {"end": END}, reads=["k7"])
    keys = "the keys of the graph are 'a', 'b'"
    assert found(graph) == [
        f"unknown_key at node 'x', owned keys: declares 'k1'; {keys}",
        f"unknown_key at node 'x', update 'in': declares 'k2'; {keys}",
        f"unknown_key at node 'x', update 'out': declares 'k3'; {keys}",
        f"unknown_key at node 'x', attempt: declares 'k4'; {keys}",
        f"unknown_key at node 'x', outcome: declares 'k5'; {keys}",
        f"unknown_key at node 'x', rule 'R', condition 'c': declares 'k6'; {keys}",
        f"unknown_key at node 'y', router: declares 'k7'; {keys}",
        f"unknown_key at input keys: declares 'q'; {keys}",
        f"unknown_key at id key: declares 'r'; {keys}",
        f"unknown_key at event key: declares 'k8'; {keys}",
    ]


def test_the_event_key_appends() -> None:
    assert found(chain("x").log_events("a")) == ["bad_strategy at a: the event key must be an Append key"]
    assert chain("x", keys={"a": Append()}).log_events("a").compile().run().ended


def test_something_leads_from_start() -> None:
    graph = StateGraph("a").add_node("x", nothing).add_edge("x", END)
    assert found(graph) == ["no_entry_point at __START__: nothing leads from START; add_edge(START, first node)"]


def test_edges_join_nodes_that_exist() -> None:
    graph = chain("x").add_edge("ghost", "x").add_node("y", nothing)
    graph.add_conditional_edges("y", lambda state: "r", {"r": "phantom", "e": END})
    texts = found(graph)
    assert "unknown_node at ghost -> x: no node 'ghost'; nodes are 'x', 'y'" in texts
    assert "unknown_node at y -> phantom: no node 'phantom'; targets are 'x', 'y', '__END__'" in texts


def test_an_edge_is_added_once() -> None:
    assert found(chain("x").add_edge("x", END)) == [
        "duplicate_edge at x -> __END__: the same fixed edge was added more than once"
    ]


def test_a_node_has_fixed_edges_or_one_decision() -> None:
    both = chain("x").add_conditional_edges("x", lambda state: "e", {"e": END})
    assert found(both) == ["several_edges at x: has a fixed edge and conditional edges; keep one of them"]
    first = StateGraph("a").add_node("x", nothing).add_edge(START, "x")
    first.add_conditional_edges("x", lambda state: "e", {"e": END}).add_edge("x", END)
    assert found(first) == ["several_edges at x: has a fixed edge and conditional edges; keep one of them"]
    twice = StateGraph("a").add_node("x", nothing).add_edge(START, "x")
    for _ in range(2):
        twice.add_conditional_edges("x", lambda state: "e", {"e": END})
    assert found(twice) == ["duplicate_edge at x: conditional edges were added more than once; use one decision"]


def test_start_has_fixed_edges_or_one_decision() -> None:
    graph = chain("x").add_conditional_edges(START, lambda state: "x", {"x": "x"})
    assert found(graph) == ["several_edges at entry: has a fixed edge and conditional edges; keep one of them"]


def test_the_builder_gives_start_a_node_that_decides_and_a_definition_made_by_hand_has_to() -> None:
    graph = StateGraph("a").add_node("x", nothing).add_edge("x", END)
    graph.add_conditional_edges(START, lambda state: "x", {"x": "x"})
    assert graph.compile().run().path == ("entry", "x")
    definition = dataclasses.replace(
        chain("x").definition(), conditionals=(Conditional(START, RouterDecision(lambda state: "x"), {"x": "x"}),)
    )
    with pytest.raises(CompileError) as caught:
        CompiledGraph(definition)
    assert "conditional_start at __START__: START takes one fixed edge; decide in a first node" in [
        str(finding) for finding in caught.value.findings
    ]


def test_the_node_behind_start_takes_a_name_that_is_free() -> None:
    graph = StateGraph("a").add_edge(START, ["entry", "entry_2"]).add_edge(["entry", "entry_2"], "join")
    for name in ("entry", "entry_2", "join"):
        graph.add_node(name, nothing)
    assert graph.add_edge("join", END).compile().run().path == ("entry_3", "entry", "entry_2", "join")


def test_nothing_leads_out_of_end_or_into_start() -> None:
    assert "unknown_node at __END__ -> x: no node '__END__'; nodes are 'x'" in found(chain("x").add_edge(END, "x"))
    graph = chain("x", "y")
    graph.add_node("z", nothing).add_edge("z", START)
    assert "unknown_node at z -> __START__: no node '__START__'; targets are 'x', 'y', 'z', '__END__'" in found(graph)


def test_a_graph_that_leads_from_start_to_end_at_once_does_nothing_and_is_refused() -> None:
    graph = StateGraph("a").add_edge(START, END)
    assert found(graph) == ["no_nodes at graph: the graph has no node; add one with add_node"]


def test_a_key_of_the_mapping_that_no_rule_gives_is_refused() -> None:
    graph = decided([Rule("end", "R")], {"end": END, "spare": "x"})
    assert "unused_route at x: the mapping holds 'spare', which no rule gives; remove it" in found(graph)


def test_one_graph_may_be_compiled_again_and_changed_in_between() -> None:
    graph = StateGraph("a").add_node("x", nothing).add_edge(START, "x")
    graph.add_conditional_edges("x", lambda state: "end", {"end": END, "y": "y"})
    with pytest.raises(CompileError):
        graph.compile()
    first = graph.add_node("y", nothing).add_edge("y", END).compile(recursion_limit=7)
    second = graph.compile()
    assert (first.run().path, second.run().path) == (("x",), ("x",))
    assert (first.recursion_limit, second.recursion_limit) == (7, 100)
    graph.add_edge("y", "x")
    assert found(graph)
    assert first.run().path == ("x",)
    # What is made from a compiled graph keeps its limit.
    assert first.with_actions({"x": nothing}).recursion_limit == 7


def decided(rules: list[Rule], targets: dict[str, str]) -> StateGraph:
    graph = StateGraph(("a", "b")).add_node("x", nothing).add_edge(START, "x")
    return graph.add_conditional_edges("x", Decision(rules), targets)


def test_every_rule_gives_a_route_key_of_the_mapping() -> None:
    assert found(decided([Rule("gone", "R")], {"end": END})) == [
        "unmapped_route at x, rule 'R': routes to 'gone'; the mapping holds 'end'",
        "unused_route at x: the mapping holds 'end', which no rule gives; remove it",
    ]


def test_a_rule_that_gives_end_needs_end_in_the_mapping() -> None:
    condition = Condition("c", bool, "a")
    assert found(decided([Rule(END, "R", (condition,)), Rule("end", "S")], {"end": END})) == [
        "unmapped_route at x, rule 'R': routes to '__END__'; END must be in the mapping; the mapping holds 'end'"
    ]
    assert decided([Rule(END, "R")], {END: END}).compile().run().reason == "R"


def test_a_rule_after_one_that_always_holds_is_refused() -> None:
    assert found(decided([Rule("end", "R"), Rule("end", "S")], {"end": END})) == [
        "shadowed_rule at x, rule 'S': stands after 'R', which always holds"
    ]


def test_every_dead_end_is_named() -> None:
    graph = chain("x")
    for name in ("p", "q"):
        graph.add_node(name, nothing)
    texts = found(graph)
    for name in ("p", "q"):
        assert f"dead_end at {name}: has no way out; add an edge, to END if the run ends here" in texts
        assert f"unreachable_node at {name}: no path from START leads to it; add an edge or remove it" in texts
    assert len(texts) == 4


def test_a_loop_that_nothing_leaves_is_refused() -> None:
    graph = StateGraph("a").add_node("x", nothing).add_node("y", nothing).add_node("z", nothing)
    graph.add_edge(START, "x").add_edge("x", "y").add_edge("y", "z").add_edge("z", "y")
    assert found(graph) == [
        "cannot_reach_end at x: no path from it leads to END",
        "cannot_reach_end at y: no path from it leads to END",
        "cannot_reach_end at z: no path from it leads to END",
        "loop_without_exit at y -> z -> y: nothing leads out of the loop",
    ]


def test_all_findings_come_in_one_error() -> None:
    graph = StateGraph({"a": 5}).add_node("x", 1).add_node("x", nothing).add_edge("x", "ghost")
    with pytest.raises(CompileError) as caught:
        graph.compile()
    assert [finding.kind for finding in caught.value.findings] == [
        "duplicate_node",
        "no_action",
        "bad_strategy",
        "no_entry_point",
        "unknown_node",
    ]
    lines = str(caught.value).split("\n")
    assert lines[0] == "the graph has 5 findings:"
    assert lines[1] == "  - duplicate_node at x: added more than once; give each node its own name"
    assert str(CompileError(caught.value.findings[:1])).startswith("the graph has 1 finding:\n")


def test_a_loop_head_with_two_ways_in_is_no_join() -> None:
    graph = StateGraph({"n": Replace(initial=0)})
    graph.add_node("head", lambda state: {"n": state["n"] + 1}).add_node("body", nothing)
    graph.add_edge(START, "head").add_edge("body", "head")
    below = Condition("below", lambda state: state["n"] < 3, "n")
    graph.add_conditional_edges(
        "head", Decision([Rule("on", "ON", (below,)), Rule("off", "OFF")]), {"on": "body", "off": END}
    )
    run = graph.compile().run()
    assert run.path == ("head", "body", "head", "body", "head")
    assert run.stop == "ended"


@pytest.mark.parametrize("limit", [0, -1, True, 2.5, "3", None])
def test_a_recursion_limit_is_a_number_from_1(limit: Any) -> None:
    graph = chain("x")
    with pytest.raises(DefinitionError) as caught:
        graph.compile(recursion_limit=limit)
    assert str(caught.value) == f"recursion_limit is a number of node executions from 1, found {limit!r}"
    if limit is not None:
        with pytest.raises(DefinitionError):
            graph.compile().run(recursion_limit=limit)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: StateGraph([""]), "a state key is a non-blank text, found ''"),
        (lambda: StateGraph({5: Replace()}), "a state key is a non-blank text, found 5"),
        (lambda: StateGraph("a").add_edge([], "x"), "an edge needs a source and a target, found an empty list"),
        (lambda: StateGraph("a").add_edge("x", []), "an edge needs a source and a target, found an empty list"),
        (lambda: StateGraph("a").add_node(" ", nothing), "a node's name is a non-blank text, found ' '"),
        (
            lambda: StateGraph("a").add_conditional_edges("x", nothing, {}),
            "conditional edges of 'x' need a mapping from route key to node or END",
        ),
        (
            lambda: StateGraph("a").add_conditional_edges("x", nothing, ["y"]),
            "conditional edges of 'x' need a mapping from route key to node or END",
        ),
        (
            lambda: StateGraph("a").add_conditional_edges("x", nothing, {"r": 5}),
            "conditional edges of 'x': route keys and targets are texts, found 'r': 5",
        ),
    ],
)
def test_the_builder_refuses_what_can_be_no_graph(make: Callable[[], Any], text: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        make()
    assert str(caught.value) == text


def test_a_repeated_reason_travels_along_a_fixed_edge() -> None:
    graph = StateGraph({"n": Replace(initial=0)})
    graph.add_node("pick", lambda state: {"n": state["n"] + 1}).add_node("pass", nothing).add_node("again", nothing)
    graph.add_edge(START, "pick").add_edge("pass", END, reason=REPEAT).add_edge("again", "pick", reason=REPEAT)
    odd = Condition("first", lambda state: state["n"] == 1, "n")
    rules = Decision([Rule("again", "ONCE_MORE", (odd,)), Rule("pass", "ENOUGH")])
    graph.add_conditional_edges("pick", rules, {"again": "again", "pass": "pass"})
    compiled = graph.compile()
    assert compiled.run().events == compiled.run().events
    run = compiled.run()
    assert [event.reason for event in run.events] == ["ONCE_MORE", "ONCE_MORE", "ENOUGH", "ENOUGH"]
    assert run.reason == "ENOUGH"


def test_a_repeated_reason_right_after_start_is_empty() -> None:
    graph = StateGraph("a").add_node("x", nothing).add_edge(START, "x").add_edge("x", END, reason=REPEAT)
    assert graph.compile().run().events[0].reason == ""


# --- forks ----------------------------------------------------------------------------------------------------------


def forked(*lines: str, fork: Fork | None = None, at: str = "plan") -> list[str]:
    return findings_of(drawn(*lines, forks={} if fork is None else {at: fork}))


def test_branches_meet_in_a_node() -> None:
    told = "name the node that goes on after them with Fork(join=...)"
    assert forked("plan -> a b", "a -> END", "b -> END") == [
        f"no_join at plan, fan-out: its branches 'a', 'b' meet nowhere before END; {told}"
    ]
    assert forked("plan -> a b", "a -> x", "x -> END", "b -> y", "y -> END") == [
        f"no_join at plan, fan-out: its branches 'a', 'b' meet nowhere before END; {told}"
    ]


def test_a_branch_that_may_end_early_needs_the_join_to_be_named() -> None:
    def graph(fork: Fork) -> StateGraph:
        made = drawn("plan -> a b", "b -> join", "join -> END", forks={"plan": fork})
        return made.add_conditional_edges("a", lambda state: "end", {"on": "join", "end": END})

    assert [text.partition(" at ")[0] for text in findings_of(graph(Fork()))] == ["no_join"]
    assert graph(Fork(join="join")).compile().joins == {"plan": "join"}


def test_every_branch_does_something() -> None:
    assert ("branch_to_end at plan, fan-out: a branch that leads straight to END does nothing; remove it") in forked(
        "plan -> a b END", "a -> join", "b -> join", "join -> END"
    )


def test_a_join_that_is_named_exists() -> None:
    assert forked("plan -> a b", "a -> join", "b -> join", "join -> END", fork=Fork(join="jion")) == [
        "unknown_join at plan, fan-out: joins at 'jion'; a join is one of 'plan', 'a', 'b', 'join'"
    ]
    assert any(
        text.startswith("unknown_join at plan, fan-out: joins at '__END__'")
        for text in forked("plan -> a b", "a -> END", "b -> END", fork=Fork(join=END))
    )


def test_no_edge_leads_into_the_nodes_of_a_sibling() -> None:
    lines = ("plan -> a b", "a -> x", "x -> join", "b -> y", "y -> join", "join -> END")
    assert forked(*lines) == []
    graph = drawn(*(line for line in lines if line != "x -> join"))
    graph.add_conditional_edges("x", lambda state: "on", {"on": "join", "over": "y"})
    assert findings_of(graph) == [
        "shared_branch_node at plan, fan-out: both branch 'a' and branch 'b' lead to 'y' before the join 'join'; "
        "join there with Fork(join='y'), or give each branch a node of its own"
    ]
    graph = drawn(*(line for line in lines if line != "x -> join"))
    graph.add_conditional_edges("x", lambda state: "on", {"on": "join", "over": "b"})
    assert [text.partition(" at ")[0] for text in findings_of(graph)] == ["shared_branch_node"]


def test_a_command_leads_into_no_node_of_a_sibling_either() -> None:
    goto = {"a": {"over": "b", "on": "join"}}
    wrong = drawn("plan -> a b", "a -> join", "b -> y", "y -> join", "join -> END", goto=goto)
    assert [text.partition(" at ")[0] for text in findings_of(wrong)] == ["shared_branch_node"]


def test_no_branch_leads_past_the_join() -> None:
    lines = ("plan -> a b", "b -> join", "join -> after", "after -> END")
    graph = drawn(*lines, forks={"plan": Fork(join="join")})
    graph.add_conditional_edges("a", lambda state: "on", {"on": "join", "past": "after"})
    assert findings_of(graph) == [
        "past_the_join at plan, fan-out: branch 'a' leads to 'after' without passing the join 'join', which 'after' "
        "comes after; lead the branch to the join, or to END if it is through"
    ]


def test_no_branch_leads_back_to_the_fork_around_the_join() -> None:
    graph = drawn("plan -> a b", "b -> join", "join -> END", forks={"plan": Fork(join="join")})
    graph.add_conditional_edges("a", lambda state: "on", {"on": "join", "back": "plan"})
    assert findings_of(graph) == [
        "loop_around_fork at plan, fan-out: branch 'a' leads back to the fork itself without passing the join 'join'; "
        "name another join with Fork(join=...), or the routes that open branches with Fork(routes=...)"
    ]


def test_an_inner_fork_joins_inside_its_branch_or_where_the_outer_one_does() -> None:
    lines = ("plan -> a b", "a -> x y", "x -> m", "y -> m", "m -> join", "b -> join", "join -> after", "after -> END")
    assert forked(*lines) == []
    assert forked(*lines, fork=Fork(join="join"), at="a") == [
        "shared_branch_node at a, fan-out: both branch 'x' and branch 'y' lead to 'm' before the join 'join'; join "
        "there with Fork(join='m'), or give each branch a node of its own"
    ]
    assert any(text.startswith("crossed_joins at a, fan-out: begins in branch 'a' of the fork at 'plan'") for text in
               forked(*lines, fork=Fork(join="after"), at="a"))  # fmt: skip


def test_a_fork_has_branches() -> None:
    graph = drawn("START -> plan", "plan -> END", goto={"plan": {"end": END}}, forks={"plan": Fork()})
    texts = findings_of(graph)
    assert (
        "no_branches at plan, fan-out of its Commands: no route can open a branch; remove the fork, or add routes"
        in texts
    )


def test_the_edges_of_one_source_give_one_fork() -> None:
    graph = drawn("a -> join", "b -> join", "join -> END", "START -> plan")
    graph.add_edge("plan", "a", fork=Fork(wait="any_of")).add_edge("plan", "b", fork=Fork(max_concurrency=1))
    assert findings_of(graph) == ["several_forks at plan: its fixed edges give different forks; give one"]


def test_an_edge_of_a_fork_repeats_no_reason() -> None:
    graph = drawn("a -> join", "b -> join", "join -> END", "START -> plan")
    graph.add_edge("plan", "a").add_edge("plan", "b", reason=REPEAT)
    assert findings_of(graph) == [
        "repeating_fork at plan: an edge of a fan-out has a reason of its own, it repeats none"
    ]


def test_a_rule_with_several_routes_is_checked_like_edges() -> None:
    rules = Decision([Rule(("a", "b"), "BOTH")])
    graph = drawn("START -> plan", "a -> END", "b -> END").add_conditional_edges("plan", rules, {"a": "a", "b": "b"})
    assert findings_of(graph) == [
        "no_join at plan, rule 'BOTH': its branches 'a', 'b' meet nowhere before END; name the node that goes on after "
        "them with Fork(join=...)"
    ]
    rules = Decision([Rule(("a", "zz"), "BOTH")])
    graph = drawn("START -> plan", "a -> END").add_conditional_edges("plan", rules, {"a": "a"})
    assert "unmapped_route at plan, rule 'BOTH': routes to 'zz'; the mapping holds 'a'" in findings_of(graph)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"join": ""}, "a fork's join is the name of a node, found ''"),
        ({"join": 5}, "a fork's join is the name of a node, found 5"),
        ({"wait": "first"}, "a fork waits for 'all_of' or 'any_of' its branches, found 'first'"),
        ({"max_concurrency": 0}, "max_concurrency is a number of branches from 1, found 0"),
        ({"max_concurrency": True}, "max_concurrency is a number of branches from 1, found True"),
    ],
)
def test_the_options_of_a_fork_are_checked_where_it_is_made(options: dict[str, Any], text: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        Fork(**options)
    assert str(caught.value) == text


def test_joins_are_reported_for_every_fork() -> None:
    lines = ("START -> a b", "a -> x y", "x -> m", "y -> m", "m -> j", "b -> j", "j -> k l", "k -> o", "l -> o")
    graph = drawn(*lines, "o -> END").compile()
    assert graph.joins == {"entry": "j", "a": "m", "j": "o"}
    assert drawn("a -> b", "b -> END").compile().joins == {}


def test_a_branch_of_an_inner_fork_cannot_run_past_the_join_of_the_outer_one() -> None:
    lines = ("plan -> a b", "a -> x y", "y -> m", "m -> END", "b -> join", "join -> END")
    graph = drawn(*lines).add_conditional_edges("x", lambda state: "m", {"m": "m", "join": "join"})
    definition = graph.definition()
    forks = {"plan": Fork(join="join"), "a": Fork(join="m")}
    edges = tuple(dataclasses.replace(edge, fork=forks.get(edge.source)) for edge in definition.edges)
    assert [str(each) for each in findings(dataclasses.replace(definition, edges=edges))] == [
        "crossed_joins at a, fan-out: branch 'x' leads to 'join', the join of the fork around it at 'plan', without "
        "passing its own join 'm'; lead it to its own join, or join both forks at 'join'"
    ]


def test_a_branch_that_ends_does_not_end_the_run() -> None:
    lines = ("START -> plan", "a -> END", "b -> join")
    for last, lost in (("join -> END", []), ("join -> plan", ["plan", "a", "b", "join"])):
        graph = drawn(*lines, last).add_edge("plan", ["a", "b"], fork=Fork(join="join"))
        told = {str(each) for each in findings(graph.definition())}
        assert told == {f"cannot_reach_end at {name}: no path from it leads to END" for name in lost}
