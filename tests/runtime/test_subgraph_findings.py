"""What is wrong with a subgraph is found before anything runs, all at once, and with its name in front."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from refused import chain, found, nothing

from diagnosis.runtime import (
    END,
    START,
    Append,
    Condition,
    Custom,
    Decision,
    DefinitionError,
    Effect,
    Fork,
    Merge,
    Reading,
    Replace,
    Rule,
    StateGraph,
)


def around(child: Any, keys: Any = ("a",), **mapping: Any) -> StateGraph:
    """START -> child -> END."""
    graph = StateGraph(keys, name="parent").add_node("child", child, **mapping)
    return graph.add_edge(START, "child").add_edge("child", END)


def test_what_is_wrong_with_a_child_is_told_with_what_is_wrong_with_the_parent() -> None:
    child = StateGraph("a").add_node("x", nothing, owns="b").add_edge("x", "y")
    graph = around(child).add_node("lost", nothing)
    assert found(graph) == [
        "unknown_key at subgraph 'child', node 'x', owned keys: declares 'b'; the keys of the graph are 'a'",
        "no_entry_point at subgraph 'child', __START__: nothing leads from START; add_edge(START, first node)",
        "unknown_node at subgraph 'child', x -> y: no node 'y'; targets are 'x', '__END__'",
        "unreachable_node at lost: no path from START leads to it; add an edge or remove it",
        "dead_end at lost: has no way out; add an edge, to END if the run ends here",
    ]


def test_an_empty_child_is_told_and_so_is_a_child_of_a_child() -> None:
    empty = StateGraph("a", name="empty")
    assert found(around(empty)) == ["no_nodes at subgraph 'child', empty: the graph has no node; add one with add_node"]
    assert found(around(around(empty))) == [
        "no_nodes at subgraph 'child', subgraph 'child', empty: the graph has no node; add one with add_node"
    ]


def test_a_parent_may_read_the_keys_of_a_child_that_is_wrong() -> None:
    reads = Condition("b", lambda state: state["b"] is None, "b")
    graph = StateGraph("a").add_node("child", chain("x", keys={"b": Replace(), "c": 5})).add_edge(START, "child")
    graph.add_conditional_edges("child", Decision([Rule("end", "B", (reads,))]), {"end": END})
    assert found(graph) == [
        "bad_strategy at subgraph 'child', c: found 5; a key takes Replace, Append, Merge or Custom"
    ]


def test_a_subgraph_that_nothing_leads_to_is_unreachable() -> None:
    graph = chain("x").add_node("child", chain("y", "z")).add_edge("child", END)
    assert found(graph) == ["unreachable_node at child: no path from START leads to it; add an edge or remove it"]


def test_a_subgraph_that_leads_nowhere_is_a_dead_end() -> None:
    for child in (chain("x"), chain("x").compile()):
        graph = StateGraph("a").add_node("child", child).add_edge(START, "child")
        assert "dead_end at child: has no way out; add an edge, to END if the run ends here" in found(graph)


def test_ways_out_that_contradict_each_other_are_told_once() -> None:
    child = StateGraph("a").add_node("x", nothing).add_node("y", nothing).add_edge(START, "x").add_edge("y", END)
    child.add_conditional_edges("x", lambda state: "y", {"y": "y", "end": END})
    graph = around(child).add_conditional_edges("child", lambda state: "end", {"end": END})
    assert found(graph) == ["several_edges at child: has a fixed edge and conditional edges; keep one of them"]


def test_a_name_is_given_once() -> None:
    text = "duplicate_node at child: added more than once; give each node its own name"
    assert text in found(around(chain("x")).add_node("child", nothing))
    assert text in found(around(chain("x")).add_node("child", chain("y")))
    inner = "duplicate_node at child-x: added more than once; give each node its own name"
    assert inner in found(around(chain("x")).add_node("child-x", nothing))
    entry = "duplicate_node at child-START: added more than once; give each node its own name"
    assert entry in found(around(chain("START").compile()))


def test_start_and_end_are_no_names_for_subgraphs() -> None:
    graph = chain("x").add_node(END, chain("y"))
    assert f"reserved_name at {END}: START and END are no nodes of one's own; choose another name" in found(graph)


def test_an_edge_leads_to_a_subgraph_and_not_into_it() -> None:
    graph = StateGraph("a").add_node("child", chain("x", "y")).add_node("z", nothing).add_edge(START, "child")
    graph.add_edge("child", "z").add_conditional_edges("z", lambda state: "end", {"in": "child-y", "end": END})
    assert found(graph) == [
        "unknown_node at z -> child-y: 'child-y' is inside a subgraph; name the subgraph itself; nodes are 'child', 'z'"
    ]
    joined = StateGraph("a").add_node("child", chain("x", "y")).add_node("l", nothing).add_node("r", nothing)
    joined.add_edge(START, ["l", "r"], fork=Fork("child-y")).add_edge(["l", "r"], "child").add_edge("child", END)
    assert any("'child-y' is inside a subgraph" in text for text in found(joined))


@pytest.mark.parametrize(
    ("here", "there", "told"),
    [
        (Append(), Replace(), "is Append() here, but Replace() in graph 'parent'"),
        (Append(unique=True), Append(), "is Append(unique=True) here, but Append() in graph 'parent'"),
        (Replace(initial=1), Replace(initial=True), "is Replace(initial=1) here, but Replace(initial=True) in"),
        (Replace(type=int), Replace(), "is Replace(type=int) here, but Replace() in graph 'parent'"),
        (Merge(), Merge(initial={"a": 1}), "is Merge() here, but Merge(initial={'a': 1}) in graph 'parent'"),
        (Custom(merge=max), Custom(merge=min), "is Custom(merge=max) here, but Custom(merge=min) in graph 'parent'"),
    ],
)
def test_a_key_that_both_declare_has_one_strategy(here: Any, there: Any, told: str) -> None:
    (text,) = found(around(chain("x", keys={"k": here}), keys={"k": there}))
    assert text.startswith(f"key_conflict at subgraph 'child', key 'k': {told}")
    assert text.endswith("; give both the same strategy, or compile the subgraph, so that it has keys of its own")


def test_two_subgraphs_that_bring_one_key_agree_on_it() -> None:
    graph = StateGraph("a").add_node("one", chain("x", keys={"k": Append()})).add_node("two", chain("x", keys=("k",)))
    graph.add_edge(START, "one").add_edge("one", "two").add_edge("two", END)
    assert found(graph) == [
        "key_conflict at subgraph 'two', key 'k': is Replace() here, but Append() in subgraph 'one'; give both the "
        "same strategy, or compile the subgraph, so that it has keys of its own"
    ]


def test_a_shared_key_of_a_compiled_graph_has_one_strategy_but_starts_with_what_the_parent_has() -> None:
    child = chain("x", keys={"k": Append()}).compile()
    assert found(around(child, keys=("k",))) == [
        "key_conflict at subgraph 'child', key 'k': is Append() here, but Replace() in graph 'parent'; give both the "
        "same strategy, or say with inputs= and outputs= which keys are shared"
    ]
    assert found(around(child, keys=("p",), inputs={"k": "p"}, outputs={"p": "k"})) == [
        "key_conflict at subgraph 'child', key 'k': is Append() here, but Replace() in graph 'parent', as 'p'; give "
        "both the same strategy, or say with inputs= and outputs= which keys are shared"
    ]
    assert around(child, keys=("k",), inputs=["k"], outputs=()).compile().run({"k": ["in"]}).state["k"] == ["in"]
    assert around(child, keys={"k": Append(initial=["in"])}).compile().run().state == {"k": ["in"]}


def test_a_mapping_names_keys_of_both() -> None:
    child = chain("x", keys=("k", "m")).compile()
    assert found(around(child, keys=("p",), inputs={"n": "p", "k": "q"}, outputs={"r": "m", "p": "o"})) == [
        "unknown_key at subgraph 'child', inputs: names 'n'; the keys of the subgraph are 'k', 'm'",
        "unknown_key at subgraph 'child', inputs: names 'q'; the keys of the graph are 'p'",
        "unknown_key at subgraph 'child', outputs: names 'r'; the keys of the graph are 'p'",
        "unknown_key at subgraph 'child', outputs: names 'o'; the keys of the subgraph are 'k', 'm'",
    ]


def test_a_key_of_the_parent_cannot_be_called_like_a_private_one() -> None:
    (text,) = found(around(chain("x", keys=("k",)).compile(), keys=("child.k",)))
    assert text.startswith("key_conflict at subgraph 'child', key 'k': is called 'child.k' beside")


def test_code_of_the_parent_declares_no_private_key() -> None:
    peeking = Condition("peeking", lambda state: state["child.k"] is None, "child.k")
    graph = StateGraph("a").add_node("child", chain("x", keys=("k",)).compile()).add_node("y", nothing, owns="child.k")
    graph.add_edge(START, "child").add_edge("child", "y")
    graph.add_conditional_edges("y", Decision([Rule("end", "PEEK", (peeking,))]), {"end": END})
    assert found(graph) == [
        "unknown_key at node 'y', owned keys: declares 'child.k'; the keys of the graph are 'a'",
        "unknown_key at node 'y', rule 'PEEK', condition 'peeking': declares 'child.k'; the keys of the graph are 'a'",
    ]


@pytest.mark.parametrize("compiled", [False, True])
def test_a_child_that_logs_events_elsewhere_is_refused(compiled: bool) -> None:
    child = chain("x", keys={"events": Append()}).log_events("events")
    given = child.compile() if compiled else child
    told = (
        "event_log at subgraph 'child', log_events: keeps events under 'events', but only the outermost graph does so; "
        "remove log_events from the subgraph, or let the graph log its events under the same key"
    )
    assert found(around(given, keys={"events": Append()})) == [told]
    other = around(given, keys={"log": Append(), "events": Append()}).log_events("log")
    assert found(other) == [told]
    assert around(given, keys={"events": Append()}).log_events("events").compile().run().state["events"]


def test_an_output_is_no_event_log() -> None:
    child = chain("x", keys={"k": Append()}).compile()
    graph = around(child, keys={"events": Append()}, inputs=(), outputs={"events": "k"}).log_events("events")
    assert found(graph) == [
        "event_log at subgraph 'child', outputs: writes 'events', where only the runtime adds events; choose another "
        "key"
    ]


@pytest.mark.parametrize("compiled", [False, True])
def test_a_node_that_ends_a_branch_and_the_child_alike_is_refused(compiled: bool) -> None:
    child = StateGraph("a")
    for name in ("first", "l", "r", "plan", "x", "y", "join"):
        child.add_node(name, nothing)
    child.add_edge(START, "first").add_edge("first", ["l", "r"]).add_edge(["l", "r"], "plan")
    child.add_edge("y", "join").add_edge("join", END)
    child.add_conditional_edges("plan", lambda state: "x", {"x": "x", "y": "y"}, fork=Fork("join"))
    child.add_conditional_edges("x", lambda state: "end", {"end": END, "join": "join"})
    assert child.compile().run().path == ("first", "l", "r", "plan", "x")
    assert found(around(child.compile() if compiled else child)) == [
        "ambiguous_end at subgraph 'child', x: may lead to END both in a branch, which then ends, and outside of "
        "branches, where the subgraph is left; lead the branch to its join instead, or give it a node of its own"
    ]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("kind", "agent"),
        ("owns", "a"),
        ("whole_report", True),
        ("entry", Effect("e", nothing)),
        ("exit", [Effect("e", nothing)]),
        ("attempt", Reading(lambda state: 1)),
        ("outcome", Reading(lambda state: "x")),
        ("goto", {"end": END}),
        ("fork", Fork()),
    ],
)
def test_a_subgraph_takes_no_options_of_nodes(option: str, value: Any) -> None:
    for child in (chain("x"), chain("x").compile()):
        with pytest.raises(DefinitionError) as caught:
            StateGraph("a").add_node("child", child, **{option: value})
        assert str(caught.value) == (
            f"subgraph 'child' takes no {option}=; give that to the nodes inside it, or to a node before or after it"
        )


def refused(change: Callable[[StateGraph], Any]) -> str:
    with pytest.raises(DefinitionError) as caught:
        change(StateGraph(("a", "b")))
    return str(caught.value)


def test_mappings_are_for_compiled_graphs() -> None:
    assert refused(lambda graph: graph.add_node("x", nothing, inputs="a")) == (
        "node 'x': inputs= and outputs= are for compiled graphs; say with owns= what an action may write"
    )
    assert refused(lambda graph: graph.add_node("child", chain("x"), outputs=["a"])) == (
        "subgraph 'child' shares all its keys, since it is a StateGraph; compile it to give it inputs= and outputs="
    )


@pytest.mark.parametrize("wrong", [5, [1], [["a"]], {"a": 1}, {"": "a"}])
def test_a_mapping_is_one_of_names(wrong: Any) -> None:
    text = refused(lambda graph: graph.add_node("child", chain("x").compile(), inputs=wrong))
    assert text == (f"the inputs of subgraph 'child' are a mapping from key to key, or names of keys; found {wrong!r}")


def test_a_graph_does_not_hold_itself() -> None:
    text = "subgraph 'child' is, or holds, the graph that it is added to; lead an edge back"
    assert refused(lambda graph: graph.add_node("child", graph)) == text
    assert refused(lambda graph: graph.add_node("child", around(around(graph)))) == text
