"""A graph as a node of another becomes a part of it: one path, one limit, one state, and only new values are merged."""

from __future__ import annotations

import asyncio
import functools
import gc
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, TypedDict

import pytest

from diagnosis.runtime import (
    END,
    REPEAT,
    START,
    Append,
    Command,
    CompiledGraph,
    Condition,
    Custom,
    Decision,
    Effect,
    EffectError,
    Fork,
    InputError,
    JoinError,
    LimitError,
    Merge,
    Model,
    OwnershipError,
    Reading,
    Replace,
    ReplaceAll,
    ReportError,
    Rule,
    Run,
    RunConfig,
    Send,
    StateGraph,
    Strategy,
    UndeclaredKeyError,
)
from diagnosis.verify import explore

Keys = Mapping[str, Strategy]

LOG: Keys = {"log": Append()}


def says(*names: str) -> Callable[[Any], dict[str, Any]]:
    return lambda state: {"log": list(names)}


def chain(*names: str, keys: Any = LOG, actions: Mapping[str, Any] | None = None, name: str = "graph") -> StateGraph:
    """START -> names in order -> END; a node says its name to the log unless another action is given."""
    graph = StateGraph(keys, name=name)
    for node in names:
        graph.add_node(node, (actions or {}).get(node) or says(node))
    for source, target in zip((START, *names), (*names, END), strict=True):
        graph.add_edge(source, target)
    return graph


def around(child: Any, *, keys: Any = LOG, before: Any = None, after: Any = None, **mapping: Any) -> CompiledGraph:
    """START -> a -> child -> c -> END."""
    graph = StateGraph(keys, name="parent")
    graph.add_node("a", before or (lambda state: {})).add_node("child", child, **mapping)
    graph.add_node("c", after or (lambda state: {}))
    return graph.add_edge(START, "a").add_edge("a", "child").add_edge("child", "c").add_edge("c", END).compile()


def below(key: str, count: int) -> Condition:
    return Condition(f"{key} below {count}", lambda state: state[key] < count, key)


def loops_until(key: str, count: int, again: str, leave: str = END) -> tuple[Decision, dict[str, str]]:
    return Decision([Rule("again", "AGAIN", (below(key, count),)), Rule("leave", "ENOUGH")]), {
        "again": again,
        "leave": leave,
    }


def both_ways(graph: CompiledGraph, input: Mapping[str, Any] | None = None, **options: Any) -> Run:
    """Run with and without a running loop; it comes to the same."""
    run = graph.run(input, **options)
    other = asyncio.run(graph.arun(input, **options))
    assert run.path == other.path
    assert run.state == other.state
    return run


# Paths


def test_an_inlined_graph_adds_no_node_of_its_own() -> None:
    """The paths of the upstream test with a child inside which a decision leads to END."""
    child = StateGraph(LOG).add_node("B1", says("B1")).add_node("B2", says("B2")).add_node("C", says("inner C"))
    child.add_edge(START, "B1").add_edge("B1", "B2").add_edge("C", END)
    child.add_conditional_edges("B2", lambda state: "c", {END: END, "c": "C"})
    graph = StateGraph(LOG).add_node("A", says("A")).add_node("B", child).add_node("C", says("C"))
    graph.add_conditional_edges(START, lambda state: "a", {"a": "A", END: END})
    graph.add_edge("A", "B").add_edge("B", "C").add_edge("C", END)
    run = both_ways(graph.compile())
    assert run.path == ("entry", "A", "B-B1", "B-B2", "B-C", "C")
    assert run.state["log"] == ["A", "B1", "B2", "inner C", "C"]


def test_a_decision_after_an_inlined_graph_is_taken_by_its_last_node() -> None:
    child = chain("B1", "B2")
    graph = StateGraph(LOG).add_node("A", says("A")).add_node("B", child)
    graph.add_node("C", says("C")).add_node("D", says("D")).add_edge(START, "A").add_edge("A", "B")
    graph.add_conditional_edges("B", lambda state: "d", {"c": "C", "d": "D"}).add_edge("C", END).add_edge("D", END)
    compiled = graph.compile()
    assert both_ways(compiled).path == ("A", "B-B1", "B-B2", "D")
    assert {edge.source for edge in compiled.topology.edges if edge.route == "d"} == {"B-B2"}


def test_commands_in_parent_and_child_say_where_to_go() -> None:
    """The order of the upstream test with a command node in the parent and one in the child."""

    def to(route: str, text: str) -> Callable[[Any], Command]:
        return lambda state: Command(route, {"log": [text]}, reason="SAID")

    child = StateGraph(LOG).add_node("command", to("one", "go to node 1"), goto={"one": "node1", "two": "node2"})
    child.add_node("node1", says("node1")).add_node("node2", says("node2"))
    child.add_edge(START, "command").add_edge("node1", "node2").add_edge("node2", END)
    graph = StateGraph(LOG).add_node("command", to("one", "go to p_node1"), goto={"one": "p_node1", "end": END})
    graph.add_node("p_node1", says("p_node1")).add_node("p_node2", says("p_node2")).add_node("sub", child)
    graph.add_edge(START, "command").add_edge("p_node1", "p_node2").add_edge("p_node2", "sub").add_edge("sub", END)
    run = both_ways(graph.compile())
    assert run.state["log"] == ["go to p_node1", "p_node1", "p_node2", "go to node 1", "node1", "node2"]
    assert run.path == ("command", "p_node1", "p_node2", "sub-command", "sub-node1", "sub-node2")


def test_a_compiled_graph_is_entered_and_left_by_a_node_each() -> None:
    graph = around(chain("x", "y").compile())
    run = both_ways(graph)
    assert run.path == ("a", "child-START", "child-x", "child-y", "child", "c")
    assert {node.name: node.kind for node in graph.topology.nodes if node.kind not in ("node", "start", "end")} == {
        "child-START": "enter",
        "child": "exit",
    }


def test_three_levels_lie_inside_each_other() -> None:
    inner = chain("x")
    middle = StateGraph(LOG).add_node("m", says("m")).add_node("inner", inner)
    middle.add_edge(START, "m").add_edge("m", "inner").add_edge("inner", END)
    outer = around(middle)
    assert both_ways(outer).path == ("a", "child-m", "child-inner-x", "c")
    compiled = StateGraph(LOG).add_node("m", says("m")).add_node("inner", inner.compile())
    compiled.add_edge(START, "m").add_edge("m", "inner").add_edge("inner", END)
    deep = around(compiled.compile(), before=says("a"))
    run = both_ways(deep, {"log": ["seed"]})
    assert run.path == (
        "a",
        "child-START",
        "child-m",
        "child-inner-START",
        "child-inner-x",
        "child-inner",
        "child",
        "c",
    )
    assert run.state["log"] == ["seed", "a", "m", "x"]


def test_one_graph_may_stand_in_another_twice() -> None:
    child = chain("x", keys={"log": Append(), "n": Replace(initial=0)})
    graph = StateGraph(LOG).add_node("one", child).add_node("two", child)
    graph.add_edge(START, "one").add_edge("one", "two").add_edge("two", END)
    run = both_ways(graph.compile())
    assert run.path == ("one-x", "two-x")
    assert run.state == {"log": ["x", "x"], "n": 0}


def test_a_graph_that_is_changed_after_it_was_added_is_taken_as_it_is_at_the_end() -> None:
    child = StateGraph(LOG)
    graph = StateGraph(LOG).add_node("child", child).add_edge(START, "child").add_edge("child", END)
    child.add_node("x", says("x")).add_edge(START, "x").add_edge("x", END)
    assert graph.compile().run().path == ("child-x",)


# Ways out


def test_a_fan_out_after_an_inlined_graph_leaves_from_its_last_node() -> None:
    graph = StateGraph(LOG).add_node("child", chain("x", "y"))
    for name in ("left", "right", "join"):
        graph.add_node(name, says(name))
    graph.add_edge(START, "child").add_edge("child", ["left", "right"]).add_edge(["left", "right"], "join")
    compiled = graph.add_edge("join", END).compile()
    assert compiled.joins == {"child-y": "join"}
    assert both_ways(compiled).path == ("child-x", "child-y", "left", "right", "join")


def ending(by: str) -> StateGraph:
    """x -> END by a decision or a Command, or x -> y -> END."""
    graph = StateGraph({"log": Append(), "n": Replace(initial=0)}).add_node("y", says("y")).add_edge("y", END)
    graph.add_edge(START, "x")
    if by == "decision":
        rules = Decision([Rule("on", "ON", (below("n", 1),)), Rule("stop", "STOP")])
        return graph.add_node("x", says("x")).add_conditional_edges("x", rules, {"on": "y", "stop": END})

    def go(state: Any) -> Command:
        return Command("on" if state["n"] < 1 else "stop", {"log": ["x"]}, reason="ON" if state["n"] < 1 else "STOP")

    return graph.add_node("x", go, goto={"on": "y", "stop": END})


@pytest.mark.parametrize("by", ["decision", "Command"])
def test_a_decision_for_the_end_leads_straight_on_where_one_edge_leads_on(by: str) -> None:
    graph = around(ending(by), keys={"log": Append(), "n": Replace(initial=0)})
    assert both_ways(graph, {"n": 1}).path == ("a", "child-x", "c")
    assert both_ways(graph, {"n": 0}).path == ("a", "child-x", "child-y", "c")
    assert [event.reason for event in graph.run({"n": 1}).events] == ["FIXED", "STOP", "FIXED"]


@pytest.mark.parametrize("by", ["decision", "Command"])
def test_both_are_evaluated_where_a_decision_of_the_child_and_one_of_the_parent_meet(by: str) -> None:
    graph = StateGraph(LOG).add_node("child", ending(by)).add_node("c", says("c")).add_edge(START, "child")
    rules = Decision([Rule("c", "ODD", (Condition("odd", lambda s: s["n"] % 2 == 1, "n"),)), Rule("end", "EVEN")])
    compiled = graph.add_conditional_edges("child", rules, {"c": "c", "end": END}).add_edge("c", END).compile()
    # The last node takes the decision itself; from elsewhere the exit takes it.
    assert both_ways(compiled, {"n": 0}).path == ("child-x", "child-y")
    assert both_ways(compiled, {"n": 1}).path == ("child-x", "child", "c")
    assert both_ways(compiled, {"n": 2}).path == ("child-x", "child")
    assert [event.reason for event in compiled.run({"n": 1}).events] == ["STOP", "ODD", "FIXED"]


def test_a_fan_out_after_a_decision_for_the_end_leaves_from_an_exit() -> None:
    graph = StateGraph(LOG).add_node("child", ending("decision"))
    for name in ("left", "right", "join"):
        graph.add_node(name, says(name))
    graph.add_edge(START, "child").add_edge("child", ["left", "right"]).add_edge(["left", "right"], "join")
    compiled = graph.add_edge("join", END).compile()
    assert compiled.joins == {"child-y": "join", "child": "join"}
    assert both_ways(compiled, {"n": 1}).path == ("child-x", "child", "left", "right", "join")
    assert both_ways(compiled, {"n": 0}).path == ("child-x", "child-y", "left", "right", "join")


def test_the_reasons_of_the_child_are_kept_and_that_of_the_parent_stands_where_it_gives_none() -> None:
    child = StateGraph(LOG).add_node("x", says("x")).add_node("y", says("y")).add_edge(START, "x")
    child.add_edge("x", "y", reason="ONWARD").add_edge("y", END, reason="THROUGH")
    plain = chain("z")
    graph = StateGraph(LOG).add_node("child", child).add_node("plain", plain).add_node("c", says("c"))
    graph.add_edge(START, "child").add_edge("child", "plain", reason="LATER").add_edge("plain", "c", reason="LAST")
    run = graph.add_edge("c", END, reason="END").compile().run()
    assert [event.reason for event in run.events] == ["ONWARD", "THROUGH", "LAST", "END"]


def test_a_repeated_reason_goes_through_a_subgraph() -> None:
    child = StateGraph(LOG).add_node("x", says("x")).add_node("y", says("y")).add_edge(START, "x")
    child.add_edge("x", "y", reason=REPEAT).add_edge("y", END, reason=REPEAT)
    graph = StateGraph(LOG).add_node("a", says("a")).add_node("child", child).add_node("c", says("c"))
    graph.add_edge(START, "a").add_conditional_edges("a", lambda state: "on", {"on": "child", "end": END})
    run = graph.add_edge("child", "c", reason=REPEAT).add_edge("c", END, reason=REPEAT).compile().run()
    assert [event.reason for event in run.events] == ["on"] * 4


@pytest.mark.parametrize("compiled", [False, True])
def test_a_parent_that_repeats_the_reason_repeats_the_one_that_the_child_was_left_with(compiled: bool) -> None:
    child = StateGraph(LOG).add_node("x", says("x")).add_node("y", says("y")).add_edge(START, "x")
    child.add_edge("x", "y", reason="ONWARD").add_edge("y", END)
    graph = StateGraph(LOG).add_node("child", child.compile() if compiled else child).add_node("c", says("c"))
    graph.add_edge(START, "child").add_edge("child", "c", reason=REPEAT).add_edge("c", END, reason=REPEAT)
    assert graph.compile().run().reason == "FIXED"


def test_an_edge_that_opens_one_branch_leaves_from_an_exit_where_a_decision_leads_to_the_end() -> None:
    graph = StateGraph(LOG).add_node("child", ending("decision")).add_node("one", says("one"))
    graph.add_node("join", says("join")).add_edge(START, "child").add_edge("child", "one", fork=Fork("join"))
    run = both_ways(graph.add_edge("one", "join").add_edge("join", END).compile(), {"n": 1})
    assert [(event.node, event.branch) for event in run.events[1:]] == [("child", ""), ("one", "one[0]"), ("join", "")]


def test_a_subgraph_may_be_led_back_to() -> None:
    keys = {"log": Append(), "n": Replace(initial=0)}
    child = chain("x", keys=keys, actions={"x": lambda state: {"n": state["n"] + 1, "log": ["x"]}})
    graph = StateGraph(keys).add_node("child", child).add_edge(START, "child")
    graph.add_conditional_edges("child", *loops_until("n", 3, "child"))
    assert both_ways(graph.compile()).path == ("child-x",) * 3
    compiled = StateGraph(keys).add_node("child", child.compile()).add_edge(START, "child")
    compiled.add_conditional_edges("child", *loops_until("n", 3, "child"))
    run = both_ways(compiled.compile())
    assert run.path == ("child-START", "child-x", "child") * 3
    assert run.state == {"log": ["x"] * 3, "n": 3}


# Limits


def test_the_limit_is_shared() -> None:
    inlined = around(chain("w", "x", "y", "z"), before=says("a"), after=says("c"))
    with pytest.raises(LimitError, match="limit of 5 node executions, and 'c' would come next") as caught:
        inlined.run(recursion_limit=5)
    assert caught.value.path == ("a", "child-w", "child-x", "child-y", "child-z")
    assert inlined.run(recursion_limit=6).ended
    graph = StateGraph(LOG).add_node("a", says("a")).add_node("b", says("b")).add_node("c", says("c"))
    graph.add_node("child", chain("w", "x", "y", "z").compile(recursion_limit=1))
    graph.add_edge(START, "a").add_edge("a", "b").add_edge("b", "child").add_edge("child", "c").add_edge("c", END)
    compiled = graph.compile(recursion_limit=5)
    run = asyncio.run(compiled.arun(check=False))
    assert (run.stop, run.path) == ("limit", ("a", "b", "child-START", "child-w", "child-x"))
    assert run.failed_at == "child-y"
    with pytest.raises(LimitError, match="limit of 8 node executions, and 'c' would come next"):
        compiled.run(recursion_limit=8)
    assert len(compiled.run(recursion_limit=9).path) == 9


# Histories


@pytest.mark.parametrize("compiled", [False, True])
def test_no_history_is_doubled(compiled: bool) -> None:
    child = chain("a", keys={"log": Append()})
    graph = around(child.compile() if compiled else child)
    assert both_ways(graph, {"log": ["seed"]}).state["log"] == ["seed", "a"]
    assert both_ways(around(graph), {"log": ["seed"]}).state["log"] == ["seed", "a"]


def test_no_history_is_doubled_in_series() -> None:
    graph = StateGraph(LOG).add_node("p", says("p")).add_node("one", chain("s1").compile())
    graph.add_node("two", chain("s2").compile()).add_edge(START, "p")
    graph.add_edge("p", "one").add_edge("one", "two").add_edge("two", END)
    assert both_ways(graph.compile()).state["log"] == ["p", "s1", "s2"]


def test_no_history_is_doubled_in_branches() -> None:
    graph = StateGraph(LOG).add_node("p", says("p")).add_node("one", chain("s1").compile())
    graph.add_node("two", chain("s2").compile()).add_node("join", says("j")).add_edge(START, "p")
    graph.add_edge("p", ["one", "two"]).add_edge(["one", "two"], "join").add_edge("join", END)
    run = both_ways(graph.compile(), {"log": ["seed"]})
    assert run.state["log"] == ["seed", "p", "s1", "s2", "j"]


@pytest.mark.parametrize(
    ("strategy", "write", "result"),
    [
        (Append(initial=["p"]), ["c"], ["p", "c", "c"]),
        (Append(initial=["p"], unique=True), ["c"], ["p", "c"]),
        (Merge(initial={"p": 1}), {"c": 1}, {"p": 1, "c": 1}),
        (Custom(merge=lambda old, new: old + new, initial=1), 2, 5),
        (Replace(initial="p"), "c", "c"),
    ],
)
def test_only_what_is_new_is_merged_whatever_the_strategy(strategy: Strategy, write: Any, result: Any) -> None:
    child = chain("x", "y", keys={"k": strategy}, actions=dict.fromkeys("xy", lambda state: {"k": write})).compile()
    assert both_ways(around(child, keys={"k": strategy})).state["k"] == result
    renamed = around(child, keys={"other": strategy}, inputs={"k": "other"}, outputs={"other": "k"})
    assert both_ways(renamed).state == {"other": result}


# Keys


def test_the_keys_of_an_inlined_graph_join_those_of_the_parent() -> None:
    child = chain(
        "x",
        keys={"n": Replace(initial=5), "own": Merge()},
        actions={"x": lambda state: {"n": state["n"] + 1, "own": {"seen": state["n"]}}},
    )
    graph = around(child, keys={"n": Replace(initial=5)}, after=lambda state: {"own": {"after": state["n"]}})
    assert list(graph.definition.keys) == ["n", "own"]
    assert both_ways(graph, {"own": {"in": 0}}).state == {"n": 6, "own": {"in": 0, "seen": 5, "after": 6}}


def test_all_keys_of_one_name_are_shared_and_the_others_are_private() -> None:
    seen: list[Any] = []

    def look(state: Any) -> dict[str, Any]:
        seen.append((dict(state), len(state), list(state), "n" in state, "a" in state, {**state, "z": 0}, state | {}))
        return {"log": ["x"], "n": state["n"] + 1}

    child = chain("x", keys={"log": Append(), "n": Replace(initial=0)}, actions={"x": look}).compile()
    graph = around(child, keys={"log": Append(), "a": Replace(initial=7)})
    run = graph.run({"log": ["in"]})
    assert run.full_state == {"log": ["in", "x"], "a": 7, "child.n": 1}
    assert graph.definition.private.keys() == {"child.n"}
    view = {"log": ["in"], "n": 0}
    assert seen == [(view, 2, ["log", "n"], True, False, {**view, "z": 0}, view)]


def test_a_shared_key_may_go_by_two_names() -> None:
    child = chain(
        "x",
        keys={"question": Replace(), "found": Append()},
        actions={"x": lambda state: {"found": [f"about {state['question']}"], "question": "answered"}},
    ).compile()
    graph = around(
        child,
        keys={"topic": Replace(), "facts": Append()},
        inputs={"question": "topic", "found": "facts"},
        outputs={"topic": "question", "facts": "found"},
    )
    run = both_ways(graph, {"topic": "rain", "facts": ["known"]})
    assert run.state == {"topic": "answered", "facts": ["known", "about rain"]}


def test_an_input_is_a_copy_that_the_parent_never_sees_again() -> None:
    child = chain(
        "x", keys={"log": Append(), "n": Replace()}, actions={"x": lambda state: {"log": ["x"], "n": len(state["log"])}}
    ).compile()
    graph = around(child, keys={"log": Append(), "n": Replace()}, before=says("a"), inputs=["log"], outputs="n")
    run = both_ways(graph, {"log": ["in"]})
    assert run.full_state == {"log": ["in", "a"], "n": 2, "child.log": ["in", "a", "x"], "child.n": 2}


def test_an_output_is_one_write_at_the_end() -> None:
    child = chain(
        "x",
        "y",
        keys={"log": Append(), "facts": Merge(initial={"i": 0}), "n": Replace(initial=0)},
        actions={
            "x": lambda state: {"log": ["x"], "facts": {"x": 1}, "n": state["n"] + 1},
            "y": lambda state: {"log": ["y"], "facts": {"y": 1}, "n": state["n"] + 1},
        },
    ).compile()
    keys = {"log": Append(), "facts": Merge(), "n": Replace(initial=40), "total": Custom(merge=int.__add__, initial=1)}
    graph = around(
        child, keys=keys, before=says("a"), inputs=(), outputs={"log": "log", "facts": "facts", "n": "n", "total": "n"}
    )
    run = both_ways(graph, {"facts": {"p": 0}})
    assert {key: run.state[key] for key in keys} == {
        "log": ["a", "x", "y"],
        "facts": {"p": 0, "i": 0, "x": 1, "y": 1},
        "n": 2,
        "total": 3,
    }
    # The parent sees none of it before the exit.
    assert [(len(step.after["log"]), step.after["n"]) for step in run.steps[:-2]] == [(1, 40)] * 4


def test_what_is_both_but_not_between_the_same_keys_is_seeded_and_written_in_full() -> None:
    child = chain("x").compile()
    graph = around(child, keys={"log": Append(), "copy": Append()}, inputs=["log"], outputs={"copy": "log"})
    assert both_ways(graph, {"log": ["in"], "copy": ["old"]}).full_state == {
        "log": ["in"],
        "copy": ["old", "in", "x"],
        "child.log": ["in", "x"],
    }


def test_null_is_the_empty_history_of_an_input() -> None:
    child = chain("x", keys={"log": Append(), "facts": Merge()}, actions={"x": says("x")}).compile()
    graph = around(
        child,
        keys={"given": Replace(), "out": Append()},
        inputs={"log": "given", "facts": "given"},
        outputs={"out": "log"},
    )
    assert both_ways(graph).state["out"] == ["x"]


def test_each_graph_sees_its_own_keys_and_none_of_what_is_private_to_its_parts() -> None:
    seen: dict[str, list[str]] = {}

    def look(name: str) -> Callable[[Any], dict[str, Any]]:
        return lambda state: seen.update({name: list(state)}) or {}

    inner = chain("x", keys=("k", "i"), actions={"x": look("inner")}).compile()
    middle = StateGraph(("k", "m")).add_node("x", look("middle")).add_node("inner", inner).add_edge(START, "x")
    middle.add_edge("x", "inner").add_edge("inner", END)
    graph = around(middle.compile(), keys=("k", "p"))
    graph.run()
    assert seen == {"middle": ["k", "m"], "inner": ["k", "i"]}
    assert graph.definition.private == {
        "child.m": {"child-START", "child-x", "child-inner-START", "child-inner-x", "child-inner", "child"},
        "child.inner.i": {"child-inner-START", "child-inner-x", "child-inner"},
    }


@pytest.mark.parametrize("given", [0, 3])
def test_private_keys_start_afresh_each_time(given: int) -> None:
    keys: Keys = {
        "log": Append(initial=["first"]),
        "unique": Append(unique=True),
        "facts": Merge(initial={"i": 0}),
        "sum": Custom(merge=lambda old, new: old + new, initial=10),
        "n": Replace(initial=0),
        "typed": Replace(type=int),
        "given": Replace(initial=0),
        "seen": Append(),
    }

    def write(state: Any) -> dict[str, Any]:
        seen = {key: state[key] for key in keys if key not in ("given", "seen")}
        n = state["n"] + 1
        return {"log": [n], "unique": [n], "facts": {n: n}, "sum": n, "n": n, "typed": n, "seen": [seen]}

    inner = chain("x", "y", keys=keys, actions={"x": write, "y": write}).compile()
    start = {"log": ["first"], "unique": [], "facts": {"i": 0}, "sum": 10, "n": given, "typed": None}
    then = {
        "log": ["first", given + 1],
        "unique": [given + 1],
        "facts": {"i": 0, given + 1: given + 1},
        "sum": 11 + given,
        "n": given + 1,
        "typed": given + 1,
    }
    graph = StateGraph({"seen": Append(), "laps": Replace(initial=0), "given": Replace(initial=given)})
    graph.add_node("child", inner, inputs={"n": "given", "seen": "seen"}, outputs=["seen"])
    graph.add_node("count", lambda state: {"laps": state["laps"] + 1}).add_edge(START, "child")
    graph.add_edge("child", "count").add_conditional_edges("count", *loops_until("laps", 2, "child"))
    compiled = graph.compile()
    assert both_ways(compiled).state["seen"] == [start, then, start, then]
    # The same inside another graph of its own keys, which is gone through twice.
    outer = StateGraph({"seen": Append(), "laps": Replace(initial=0)})
    outer.add_node("deep", compiled, inputs=["seen"], outputs=["seen"]).add_node(
        "count", lambda state: {"laps": state["laps"] + 1}
    )
    outer.add_edge(START, "deep").add_edge("deep", "count")
    outer.add_conditional_edges("count", *loops_until("laps", 2, "deep"))
    run = both_ways(outer.compile())
    assert run.state["seen"] == [start, then] * 4
    assert "deep.child.n" in run.full_state


def test_an_input_that_the_key_of_the_child_cannot_hold_is_refused_at_the_entry() -> None:
    child = chain("x", keys={"n": Replace(type=int)}, actions={"x": lambda state: {}}).compile()
    graph = around(child, keys={"n": Replace()}, inputs=["n"], outputs=())
    assert both_ways(graph, {"n": 3}).full_state["child.n"] == 3
    with pytest.raises(EffectError, match=r"node 'child-START', update \"input 'n'\": MergeError: .*int") as caught:
        graph.run({"n": "3"})
    assert caught.value.path == ("a",)


def test_private_keys_are_no_input_of_the_parent_and_no_node_of_it_may_write_them() -> None:
    child = chain("x", keys={"log": Append(), "n": Replace()}).compile()
    with pytest.raises(InputError, match=r"holds 'child\.n'; it takes 'log'"):
        around(child).run({"child.n": 1})
    with pytest.raises(OwnershipError, match=r"node 'a' wrote 'child\.n', which it does not own; it may write 'log'"):
        around(child, before=lambda state: {"child.n": 1}).run()


def test_a_report_of_the_parent_that_is_whole_leaves_private_keys_alone() -> None:
    child = chain("x", keys={"n": Replace(initial=3)}, actions={"x": lambda state: {}}).compile()
    graph = StateGraph({"p": Replace(initial=1)}).add_node("child", child)
    graph.add_node("a", lambda state: {}, whole_report=True).add_edge(START, "child").add_edge("child", "a")
    assert graph.add_edge("a", END).compile().run().full_state == {"p": None, "child.n": 3}


# Who may write what


@pytest.mark.parametrize(
    ("compiled", "error", "text"),
    [
        (False, OwnershipError, "node 'child-x' wrote 'p', which it does not own; it may write 'a', 'b'"),
        (True, UndeclaredKeyError, r"node 'child-x' wrote 'p \(of subgraph child\)', which the graph does not declare"),
    ],
)
def test_a_child_writes_no_key_of_the_parent_that_it_does_not_have(compiled: bool, error: Any, text: str) -> None:
    child = chain("x", keys=("a", "b"), actions={"x": lambda state: {"p": 1}})
    with pytest.raises(error, match=text):
        around(child.compile() if compiled else child, keys=("p", "a")).run()


def test_a_name_that_means_another_key_in_the_parent_is_taken_as_the_child_means_it() -> None:
    child = chain("x", keys={"n": Replace(initial=0)}, actions={"x": lambda state: {"n": state["n"] + 1}}).compile()
    graph = around(child, keys={"n": Replace(initial=10), "out": Replace()}, inputs=(), outputs={"out": "n"})
    assert both_ways(graph).full_state == {"n": 10, "out": 1, "child.n": 1}
    swapped = chain("x", keys=("a", "b"), actions={"x": lambda state: {"a": "to a", "b": state["a"]}}).compile()
    ways = {"a": "b", "b": "a"}
    run = around(swapped, keys=("a", "b"), inputs=ways, outputs=ways).run({"a": 1, "b": 2})
    assert run.state == {"a": 2, "b": "to a"}


def test_a_node_of_a_child_writes_what_it_owns_under_any_name() -> None:
    child = StateGraph(("a", "b")).add_node("x", lambda state: {"b": 1}, owns="a").add_edge(START, "x")
    child.add_edge("x", END)
    renamed = around(child.compile(), keys="p", inputs={"a": "p"}, outputs={"p": "a"})
    with pytest.raises(OwnershipError, match=r"node 'child-x' wrote 'child\.b', .* it may write 'p'"):
        renamed.run()


def test_an_update_of_a_child_writes_only_what_it_declares() -> None:
    def slip(state: Any) -> dict[str, Any]:
        return {"b": 1}

    child = StateGraph(("a", "b")).add_node("x", lambda state: {}, entry=Effect("slip", slip, writes="a"))
    graph = around(child.add_edge(START, "x").add_edge("x", END).compile(), keys=())
    with pytest.raises(
        EffectError, match=r"node 'child-x', update 'slip': .*it wrote 'child\.b'; it declares 'child\.a'"
    ):
        graph.run()


def test_a_private_key_that_is_no_history_takes_no_marker() -> None:
    child = chain("x", keys=("a",), actions={"x": lambda state: {"a": ReplaceAll([1])}}).compile()
    with pytest.raises(ReportError, match=r"node 'child-x' wrote 'child\.a': .* is a marker"):
        around(child).run()


def test_a_child_cannot_hand_back_the_history_that_it_was_given() -> None:
    child = chain("x", actions={"x": lambda state: {"log": state["log"]}}).compile()
    graph = around(child, keys={"other": Append()}, inputs={"log": "other"}, outputs={"other": "log"})
    with pytest.raises(ReportError, match="node 'child-x' wrote 'other': the update hands back the history"):
        graph.run()


# Code of the child under other names


class Counting:
    def __init__(self, by: int) -> None:
        self.by = by

    def __call__(self, state: Mapping[str, Any]) -> dict[str, Any]:
        return {"n": state["n"] + self.by}


class CountingLater(Counting):
    async def __call__(self, state: Mapping[str, Any], config: RunConfig) -> dict[str, Any]:  # type: ignore[override]
        await asyncio.sleep(0)
        return {"n": state["n"] + self.by * config.attempt + config.metadata["more"]}


def plain(state: Any) -> dict[str, Any]:
    return {"n": state["n"] + 1}


def told(state: Any, config: RunConfig) -> dict[str, Any]:
    return {"n": state["n"] + config.metadata["more"]}


def by(count: int, state: Any) -> dict[str, Any]:
    return {"n": state["n"] + count}


async def later(state: Any) -> dict[str, Any]:
    await asyncio.sleep(0)
    return {"n": state["n"] + 1}


async def told_later(state: Any, config: RunConfig) -> dict[str, Any]:
    return {"n": state["n"] + config.metadata["more"]}


async def by_later(count: int, state: Any) -> dict[str, Any]:
    return {"n": state["n"] + count}


def awaitable(state: Any) -> Any:
    return later(state)


ACTIONS = [
    (plain, 1),
    (told, 7),
    (later, 1),
    (told_later, 7),
    (awaitable, 1),
    (Counting(5), 5),
    (CountingLater(5), 12),
    (functools.partial(by, 3), 3),
    (functools.partial(by_later, 3), 3),
    (lambda state, more=4: {"n": state["n"] + more}, 4),
    (Counting(2).__call__, 2),
]


@pytest.mark.parametrize(("action", "more"), ACTIONS)
def test_actions_of_every_kind_run_under_other_names(action: Any, more: int) -> None:
    child = chain("x", keys={"n": Replace(initial=0)}, actions={"x": action}).compile()
    config = RunConfig(metadata={"more": 7})
    renamed = around(child, keys={"p": Replace(initial=1)}, inputs={"n": "p"}, outputs={"p": "n"})
    assert both_ways(renamed, config=config).state == {"p": 1 + more}
    private = around(child, keys=("out",), inputs=(), outputs={"out": "n"})
    assert both_ways(private, config=config).full_state == {"out": more, "child.n": more}
    same = around(child, keys={"n": Replace(initial=1)})
    assert both_ways(same, config=config).state == {"n": 1 + more}
    assert same.definition.node("child-x").action is action


def test_a_compiled_graph_keeps_the_actions_that_were_put_into_it() -> None:
    child = chain("x", "y").compile().with_actions({"x": says("other")})
    assert around(child).run().state["log"] == ["other", "y"]


def test_conditions_updates_readings_and_routers_see_the_names_of_the_child() -> None:
    keys = {"n": Replace(initial=0), "tries": Replace(initial=0), "word": Replace(initial="none"), "log": Append()}
    child = StateGraph(keys).add_node(
        "x",
        lambda state: {"n": state["n"] + 1, "log": [f"x{state['tries']}"]},
        entry=Effect("try", lambda state: {"tries": state["tries"] + 1}, reads="tries", writes="tries"),
        exit=[Effect("say", lambda state: {"word": f"at {state['n']}"}, reads="n", writes="word")],
        attempt=Reading(lambda state: state["tries"], "tries"),
        outcome=Reading(lambda state: state["word"], "word"),
    )
    child.add_node("y", lambda state: {"log": ["y"]}).add_edge(START, "x")
    child.add_conditional_edges("x", *loops_until("n", 2, "x", "y"))
    child.add_conditional_edges("y", lambda state: "done" if state["n"] else "x", {"done": END, "x": "x"}, reads="n")
    graph = around(child.compile(), keys={"p": Replace(initial=0)}, inputs={"n": "p"}, outputs={"p": "n"})
    run = both_ways(graph)
    told = [(event.node, event.attempt, event.outcome, event.reason) for event in run.events[1:-1]]
    assert told == [
        ("child-START", 1, "COMPLETED", "FIXED"),
        ("child-x", 1, "at 1", "AGAIN"),
        ("child-x", 2, "at 2", "ENOUGH"),
        ("child-y", 1, "COMPLETED", "done"),
        ("child", 1, "COMPLETED", "FIXED"),
    ]
    assert run.full_state == {"p": 2, "child.tries": 2, "child.word": "at 2", "child.log": ["x1", "x2", "y"]}
    assert "p below" not in str(graph.explain("child-x", run.states[3]))
    assert graph.explain("child-x", run.states[3]).reason == "AGAIN"


def test_routers_update_and_send_under_the_names_of_the_child() -> None:
    keys = {"n": Replace(initial=0), "part": Replace(), "found": Append()}

    def split(state: Any) -> Command:
        return Command([Send("each", {"part": part}) for part in "ab"], {"n": 2}, reason="SPLIT")

    child = StateGraph(keys).add_node("plan", lambda state: {}).add_node("join", lambda state: {})
    child.add_node("each", lambda state: {"found": [f"{state['part']}{state['n']}"]}).add_edge(START, "plan")
    child.add_conditional_edges("plan", split, {"each": "each", "none": END}, owns="n", fork=Fork("join"))
    child.add_edge("each", "join").add_edge("join", END)
    graph = around(child.compile(), keys={"facts": Append()}, inputs={"found": "facts"}, outputs={"facts": "found"})
    run = both_ways(graph)
    assert run.path == ("a", "child-START", "child-plan", "child-each", "child-each", "child-join", "child", "c")
    assert run.full_state == {"facts": ["a2", "b2"], "child.n": 2, "child.part": None}


def test_commands_update_and_send_under_the_names_of_the_child() -> None:
    keys = {"part": Replace(), "found": Append()}

    def plan(state: Any) -> Command:
        ways = ["end"] if state["found"] else [Send("each", {"part": 1}), "each"]
        return Command("end" if state["found"] else ways, {"found": ["plan"]}, reason="SAID")

    child = StateGraph(keys).add_node("plan", plan, goto={"each": "each", "end": END}, fork=Fork("join"))
    child.add_node("each", lambda state: {"found": [state["part"]]}).add_edge(START, "plan")
    child.add_node("join", lambda state: {}).add_edge("each", "join").add_edge("join", "plan")
    for given in (child, child.compile()):
        graph = around(given, keys={"found": Append(), "part": Replace()})
        assert graph.definition.node("child-plan").fork == Fork("child-join", routes=("each",))
        assert both_ways(graph).state["found"] == ["plan", 1, None, "plan"]
    renamed = around(child.compile(), keys={"f": Append()}, inputs={"found": "f"}, outputs={"f": "found"})
    assert both_ways(renamed).full_state == {"f": ["plan", 1, None, "plan"], "child.part": None}


def test_a_key_that_a_command_of_a_child_must_not_write_is_refused_by_name() -> None:
    def go(state: Any) -> Command:
        return Command("end", {"p": 1}, reason="SAID")

    child = StateGraph("a").add_node("x", go, goto={"end": END}).add_edge(START, "x").compile()
    graph = around(child, keys=("p", "q"), inputs={"a": "q"}, outputs={"q": "a"})
    with pytest.raises(UndeclaredKeyError, match=r"wrote 'p \(of subgraph child\)'"):
        graph.run()


def test_a_whole_report_of_a_child_is_whole_in_its_own_keys() -> None:
    child = StateGraph({"a": Replace(initial=1), "b": Replace(initial=2), "log": Append()})
    child.add_node("x", lambda state: {"log": ["x"]}, whole_report=True).add_edge(START, "x").add_edge("x", END)
    keys = {"p": Replace(initial=3), "q": Replace(initial=4)}
    graph = around(child.compile(), keys=keys, inputs={"a": "p"}, outputs={"p": "a"})
    assert both_ways(graph).full_state == {"p": None, "q": 4, "child.b": None, "child.log": ["x"]}
    inlined = around(child, keys={"q": Replace(initial=4)})
    assert both_ways(inlined).state == {"q": 4, "a": None, "b": None, "log": ["x"]}


def test_keys_read_from_a_schema_are_shared_and_checked() -> None:
    class Work(TypedDict):
        log: Annotated[list[str], Append]
        n: int

    class All(TypedDict):
        log: Annotated[list[str], Append]
        total: int

    child = chain("x", keys=Work, actions={"x": lambda state: {"log": ["x"], "n": len(state["log"])}}).compile()
    graph = around(child, keys=All, inputs=["log"], outputs={"log": "log", "total": "n"})
    assert both_ways(graph, {"log": ["in"]}).full_state == {"log": ["in", "x"], "total": 1, "child.n": 1}
    wrong = chain("x", keys=Work, actions={"x": lambda state: {"n": "1"}}).compile()
    with pytest.raises(ReportError, match=r"node 'child-x' wrote 'child\.n': .*int"):
        around(wrong, keys=All).run()
    shared = chain("x", keys=Work, actions={"x": lambda state: {"log": [1]}}).compile()
    with pytest.raises(ReportError, match=r"node 'child-x' wrote 'log': .*str"):
        around(shared, keys=All).run()


# Branches


def mapped(child: Any, sends: Iterable[Mapping[str, Any]], **mapping: Any) -> CompiledGraph:
    """plan sends parts to one subgraph, a branch each; join comes after them."""
    graph = StateGraph({"part": Replace(), "found": Append(), "note": Replace()}, name="parent")
    graph.add_node("plan", lambda state: {}).add_node("child", child, **mapping).add_node("join", lambda state: {})
    graph.add_edge(START, "plan").add_edge("child", "join").add_edge("join", END)
    ways = [Send("child", send) for send in sends]
    return graph.add_conditional_edges("plan", lambda state: ways, {"child": "child"}, fork=Fork()).compile()


def worker(name: str = "n") -> StateGraph:
    """x, twice y: counts in a key of its own."""

    def count(state: Any) -> dict[str, Any]:
        return {name: state[name] + 1, "found": [f"{state['part']}{state[name]}"]}

    keys: Keys = {"part": Replace(), "found": Append(), name: Replace(initial=0)}
    return chain("x", "y", "z", keys=keys, actions=dict.fromkeys("xyz", count))


def test_branches_may_run_the_same_subgraph() -> None:
    graph = mapped(worker().compile(), [{"part": "a"}, {"part": "b"}])
    run = both_ways(graph)
    assert run.full_state == {
        "part": None,
        "found": ["a0", "a1", "a2", "b0", "b1", "b2"],
        "note": None,
        "child.n": 0,
    }
    assert run.path == ("plan", *("child-START", "child-x", "child-y", "child-z", "child") * 2, "join")
    assert [event.branch for event in run.events[1:-1:5]] == ["child-START[0]", "child-START[1]"]


def test_branches_that_write_one_output_conflict_by_name() -> None:
    graph = mapped(worker("note").compile(), [{"part": "a"}, {"part": "b"}], inputs=["part", "found"])
    with pytest.raises(JoinError, match=r"'child\[0\]' of branch 'child-START\[0\]' and 'child\[1\]' .* wrote 'note'"):
        graph.run()
    single = mapped(worker("note").compile(), [{"part": "a"}], inputs=["part"], outputs=["found", "note"])
    assert both_ways(single).state["note"] == 3


def test_a_failure_in_a_subgraph_in_a_branch_is_told_with_node_and_branch() -> None:
    child = chain("x", keys=("part",), actions={"x": lambda state: {}[state["part"]]}).compile()
    with pytest.raises(Exception, match="node 'child-x', attempt 1, raised KeyError: 'a'") as caught:
        mapped(child, [{"part": "a"}]).run()
    assert caught.value.branch == "child-START[0]"


def forking(keys: Keys = LOG) -> StateGraph:
    """fork -> left and right -> join -> END."""
    graph = StateGraph(keys)
    for name in ("fork", "left", "right", "join"):
        graph.add_node(name, says(name))
    graph.add_edge(START, "fork").add_edge("fork", ["left", "right"]).add_edge(["left", "right"], "join")
    return graph.add_edge("join", END)


def test_branches_of_a_child_may_run_the_same_subgraph() -> None:
    graph = around(mapped(worker().compile(), [{"part": "a"}, {"part": "b"}]), keys={"found": Append()})
    assert both_ways(graph).state["found"] == ["a0", "a1", "a2", "b0", "b1", "b2"]


@pytest.mark.parametrize("action", [later, CountingLater(1), functools.partial(by_later, 1)])
def test_what_was_never_begun_because_a_sibling_won_is_never_complained_of(action: Any) -> None:
    graph = StateGraph({"n": Replace(initial=0)}).add_node("fork", lambda state: {}).add_node("join", lambda state: {})
    child = chain("x", keys={"n": Replace(initial=0)}, actions={"x": action}).compile()
    graph.add_node("child", child, inputs=(), outputs=()).add_node("wins", lambda state: {"n": 9}).add_edge(
        START, "fork"
    )
    graph.add_edge("fork", ["child", "wins"], fork=Fork(wait="any_of"))
    graph.add_edge(["child", "wins"], "join").add_edge("join", END)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert graph.compile().run().state["n"] == 9
        gc.collect()
    assert [str(warning.message) for warning in caught] == []


@pytest.mark.parametrize("compiled", [False, True])
def test_a_fork_of_a_child_joins_in_it(compiled: bool) -> None:
    graph = around(forking().compile() if compiled else forking())
    assert graph.joins == {"child-fork": "child-join"}
    assert both_ways(graph, {"log": ["in"]}).state["log"] == ["in", "fork", "left", "right", "join"]


def test_a_fork_of_a_child_may_stand_in_a_branch_of_the_parent() -> None:
    graph = mapped(forking().compile(), [{"part": 1}, {"part": 2}], inputs={"log": "found"}, outputs={"found": "log"})
    run = both_ways(graph, {"found": ["in"]})
    assert run.state["found"] == ["in", *["fork", "left", "right", "join"] * 2]
    assert [event.branch for event in run.events[1:7]] == [
        *["child-START[0]"] * 2,
        "child-left[0][0]",
        "child-right[0][1]",
        *["child-START[0]"] * 2,
    ]


def test_the_end_of_a_branch_of_a_child_is_not_the_end_of_the_child() -> None:
    child = StateGraph(LOG)
    for name in ("fork", "left", "right", "join"):
        child.add_node(name, says(name))
    child.add_edge(START, "fork").add_edge("fork", ["left", "right"], fork=Fork("join", wait="any_of"))
    child.add_edge("left", END).add_edge("right", "join")
    child.add_conditional_edges("join", lambda state: "end", {"end": END, "again": "fork"})
    for given in (child, child.compile()):
        graph = around(given, before=says("a"), after=says("c"))
        ways = {(edge.source, edge.target) for edge in graph.topology.edges}
        assert ("child-left", END) in ways
        assert ("child-join", END) not in ways
        run = both_ways(graph, winners={"child-fork": ["child-left[0]"]})
        assert run.state["log"] == ["a", "fork", "left", "join", "c"]
        assert run.path[-1] == "c"
        other = both_ways(graph, winners={"child-fork": ["child-right[1]"]})
        assert other.state["log"] == ["a", "fork", "right", "join", "c"]


@pytest.mark.parametrize("compiled", [False, True])
def test_the_join_of_a_parent_is_found_although_a_branch_inside_a_child_ends_before_it(compiled: bool) -> None:
    child = StateGraph(LOG)
    for name in ("fork", "left", "right", "join"):
        child.add_node(name, says(name))
    child.add_edge(START, "fork").add_edge("fork", ["left", "right"], fork=Fork("join"))
    child.add_edge("left", END).add_edge("right", "join").add_edge("join", END)
    graph = StateGraph(LOG).add_node("child", child.compile() if compiled else child)
    graph.add_node("other", says("other")).add_node("last", says("last")).add_edge(START, ["child", "other"])
    parent = graph.add_edge(["child", "other"], "last").add_edge("last", END).compile()
    assert parent.joins == {"entry": "last", "child-fork": "child-join"}
    assert both_ways(parent).state["log"] == ["fork", "left", "right", "join", "other", "last"]


def test_a_child_may_begin_with_branches() -> None:
    child = StateGraph(LOG).add_node("x", says("x")).add_node("y", says("y")).add_node("z", says("z"))
    child.add_edge(START, ["x", "y"]).add_edge(["x", "y"], "z").add_edge("z", END)
    assert both_ways(around(child)).path == ("a", "child-entry", "child-x", "child-y", "child-z", "c")


def test_a_way_past_the_fork_of_a_child_opens_no_branch_in_the_parent() -> None:
    """The router may give 'stop' alone only: it leads out of the child, wherever that is."""

    def route(state: Any) -> Any:
        return ["left", "right"] if len(state["log"]) == 2 else "stop"

    child = StateGraph(LOG)
    for name in ("plan", "left", "right", "join"):
        child.add_node(name, says(name))
    child.add_edge(START, "plan").add_edge(["left", "right"], "join").add_edge("join", "plan")
    child.add_conditional_edges("plan", route, {"left": "left", "right": "right", "stop": END}, fork=Fork())
    graph = around(child, before=says("a"), after=says("c"))
    assert graph.joins == {"child-plan": "child-join"}
    assert both_ways(graph).state["log"] == ["a", "plan", "left", "right", "join", "plan", "c"]


def test_a_branch_of_a_rule_may_end_by_a_decision_of_its_own() -> None:
    child = StateGraph(LOG)
    for name in ("plan", "left", "right", "join"):
        child.add_node(name, says(name))
    child.add_edge(START, "plan").add_edge("right", "join").add_edge("join", END)
    rules = Decision([Rule(("left", "right"), "BOTH")])
    child.add_conditional_edges("plan", rules, {"left": "left", "right": "right"}, fork=Fork("join"))
    child.add_conditional_edges("left", lambda state: "end", {"end": END, "join": "join"})
    graph = StateGraph(LOG).add_node("child", child).add_node("c", says("c")).add_edge(START, "child")
    graph.add_conditional_edges("child", lambda state: "c", {"c": "c", "end": END}).add_edge("c", END)
    run = both_ways(graph.compile())
    assert run.path == ("child-plan", "child-left", "child-right", "child-join", "c")


def test_a_router_of_a_child_sends_under_the_names_of_the_child() -> None:
    child = StateGraph({"part": Replace(), "found": Append()}).add_node("plan", lambda state: {})
    child.add_node("each", lambda state: {"found": [state["part"]]}).add_node("join", lambda state: {})
    child.add_edge(START, "plan").add_edge("each", "join").add_edge("join", END)
    ways = [Send("each", {"part": 1}), "each"]
    child.add_conditional_edges("plan", lambda state: ways, {"each": "each"}, fork=Fork("join"))
    graph = around(child.compile(), keys={"facts": Append()}, inputs={"found": "facts"}, outputs={"facts": "found"})
    assert both_ways(graph).full_state == {"facts": [1, None], "child.part": None}


def test_a_fork_of_a_child_merges_its_private_keys() -> None:
    keys: Keys = {"log": Append(), "left": Replace(), "right": Replace(), "out": Replace()}
    child = StateGraph(keys).add_node("fork", says("fork")).add_node("left", lambda s: {"log": ["l"], "left": 1})
    child.add_node("right", lambda s: {"log": ["r"], "right": 2}, owns=["log", "right"])
    child.add_node("join", lambda s: {"out": [*s["log"], s["left"], s["right"]]})
    child.add_edge(START, "fork").add_edge("fork", ["left", "right"]).add_edge(["left", "right"], "join")
    compiled = child.add_edge("join", END).compile()
    graph = around(compiled, keys=("out",))
    assert both_ways(graph).state["out"] == ["fork", "l", "r", 1, 2]
    sent = mapped(compiled, [{"part": 1}, {"part": 2}], inputs=(), outputs={"found": "out"})
    assert both_ways(sent).state["found"] == ["fork", "l", "r", 1, 2] * 2


# Events


def test_only_the_outermost_graph_keeps_events_in_state() -> None:
    keys = {"events": Append(), "n": Replace(initial=0)}
    child = chain("x", "y", keys=keys, actions=dict.fromkeys("xy", plain)).log_events("events", lambda event: "child's")
    for given, path in (
        (child, ["a", "child-x", "child-y", "c"]),
        (child.compile(), ["a", "child-START", "child-x", "child-y", "child", "c"]),
    ):
        graph = StateGraph(keys).log_events("events", lambda event: event.node)
        graph.add_node("a", lambda state: {}).add_node("child", given).add_node("c", lambda state: {})
        graph.add_edge(START, "a").add_edge("a", "child").add_edge("child", "c").add_edge("c", END)
        assert both_ways(graph.compile()).state == {"events": path, "n": 2}


# Exploration


def test_a_graph_with_subgraphs_is_explored_like_any_other() -> None:
    child = StateGraph({"n": Replace(initial=0), "good": Replace(), "log": Append()}).add_node(
        "try",
        lambda state: {"good": True},
        owns=["good", "log"],
        entry=Effect("count", lambda state: {"n": state["n"] + 1}, reads="n", writes="n"),
        attempt=Reading(lambda state: state["n"], "n"),
    )
    good = Condition("good", lambda state: state["good"] is True, "good")
    rules = Decision(
        [Rule("out", "GOOD", (good,)), Rule("again", "BAD", (below("n", 2),)), Rule("out", "GIVEN_UP", name="g")]
    )
    child.add_edge(START, "try").add_conditional_edges("try", rules, {"out": END, "again": "try"})
    graph = around(child.compile(), keys={"fine": Replace()}, inputs=(), outputs={"fine": "good"})
    alphabet = {
        "a": {"a": {}},
        "child-START": {"enter": {}},
        "child-try": {"good": {"child.good": True}, "bad": {"child.good": False}},
        "child": {"leave": {}},
        "c": {"c": {}},
    }
    space = explore(Model("nested", graph, alphabet))
    assert space.complete
    assert [edge.error for edge in space.transitions if edge.error] == []
    # a, enter, try, try again; exit, c and END, each with a good and a bad end; the count tells more apart.
    assert space.counts is not None
    assert (space.counts[0][0], space.counts[1][0]) == (3, 6)
    ends = {
        (state["fine"], state["child.n"])
        for place, state in zip(space.positions, space.states, strict=True)
        if place.node == END
    }
    assert ends == {(True, 1), (True, 2), (False, 2)}


def test_a_read_that_a_condition_of_a_child_does_not_declare_is_found_by_exploration() -> None:
    child = StateGraph({"n": Replace(initial=0), "m": Replace(initial=0)}).add_node("x", lambda state: {})
    sly = Condition("sly", lambda state: state["m"] == 0, "n")
    child.add_edge(START, "x").add_conditional_edges(
        "x", Decision([Rule("end", "SLY", (sly,)), Rule("end", "NO", name="no")]), {"end": END}
    )
    graph = around(child.compile(), keys=())
    space = explore(Model("sly", graph, {"a": {"a": {}}, "child-x": {"x": {}}, "c": {"c": {}}}))
    errors = [edge.error for edge in space.transitions if edge.error]
    assert len(errors) == 1
    assert errors[0] is not None
    assert "reads 'child.m', which it does not declare" in errors[0]


def test_a_condition_of_a_child_that_goes_through_the_state_sees_what_it_declares() -> None:
    child = StateGraph({"n": Replace(initial=0), "m": Replace()}).add_node("x", lambda state: {}, owns="n")
    full = Condition("full", lambda state: None not in {**state}.values(), "n")
    rules = Decision([Rule("end", "FULL", (full,)), Rule("end", "NOT", name="not")])
    child.add_edge(START, "x").add_conditional_edges("x", rules, {"end": END})
    graph = around(child.compile(), keys=())
    space = explore(Model("full", graph, {"a": {"a": {}}, "child-x": {"x": {}}, "c": {"c": {}}}))
    assert [(edge.choices[0].reason, edge.error) for edge in space.transitions][2] == ("FULL", None)
    assert [event.reason for event in graph.run().events][2] == "NOT"


def test_a_history_may_be_replaced_by_a_child_that_shares_it() -> None:
    child = chain("x", actions={"x": lambda state: {"log": ReplaceAll(["only"])}}).compile()
    graph = around(child, keys={"p": Append()}, inputs={"log": "p"}, outputs={"p": "log"})
    assert both_ways(graph, {"p": ["in"]}).state["p"] == ["only"]
    private = around(child, keys={"p": Append()}, inputs={"log": "p"}, outputs=())
    run = both_ways(private, {"p": ["in"]})
    assert run.full_state == {"p": ["in"], "child.log": ["only"]}
