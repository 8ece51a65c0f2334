"""Everything that is wrong with a graph is found before it runs, and all at once."""

import functools
from collections.abc import Callable
from typing import Any

import pytest

from diagnosis.runtime import (
    END,
    REPEAT,
    START,
    Append,
    CompileError,
    Condition,
    Decision,
    DefinitionError,
    Effect,
    Reading,
    Replace,
    Rule,
    StateGraph,
)


def nothing(state: Any) -> dict[str, Any]:
    return {}


def found(graph: StateGraph) -> list[str]:
    with pytest.raises(CompileError) as caught:
        graph.compile()
    return [str(finding) for finding in caught.value.findings]


def chain(*names: str, keys: Any = ("a", "b")) -> StateGraph:
    """START -> names in order -> END."""
    graph = StateGraph(keys)
    for name in names:
        graph.add_node(name, nothing)
    for source, target in zip((START, *names), (*names, END), strict=True):
        graph.add_edge(source, target)
    return graph


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


def test_a_node_has_one_way_out_or_one_decision() -> None:
    two = chain("x", "y").add_edge("x", END)
    assert found(two) == ["several_edges at x: has fixed edges to 'y', '__END__'; one way out, or a decision"]
    both = chain("x").add_conditional_edges("x", lambda state: "e", {"e": END})
    assert found(both) == ["several_edges at x: has a fixed edge and conditional edges; keep one of them"]
    twice = StateGraph("a").add_node("x", nothing).add_edge(START, "x")
    for _ in range(2):
        twice.add_conditional_edges("x", lambda state: "e", {"e": END})
    assert found(twice) == ["duplicate_edge at x: conditional edges were added more than once; use one decision"]


def test_start_decides_nothing() -> None:
    graph = chain("x").add_conditional_edges(START, lambda state: "x", {"x": "x"})
    assert "conditional_start at __START__: START takes one fixed edge; decide in a first node" in found(graph)


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
