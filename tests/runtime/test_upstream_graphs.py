"""Graphs that Spring AI Alibaba Graph tests itself with, run here: the same paths and values, or a louder end.

Its lists of outputs hold START, END and one entry for a parallel block; ours hold the nodes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from forkgraph import WAYS, drawn, findings_of, log_of, says, waits

from diagnosis.runtime import (
    END,
    START,
    ActionError,
    Append,
    Command,
    CompiledGraph,
    Condition,
    Custom,
    Decision,
    DefinitionError,
    Fork,
    Remove,
    Replace,
    ReportError,
    Rule,
    RunConfig,
    StateGraph,
    UndeclaredKeyError,
)


def writing(**updates: Any) -> Any:
    """A chain of nodes that write the key ``messages``; agent_4 counts."""
    graph = StateGraph({"messages": Append(), "steps": Replace(initial=0)})
    before = START
    for name, update in updates.items():
        graph.add_node(name, update if callable(update) else lambda state, update=update: {"messages": update})
        graph.add_edge(before, name)
        before = name
    return graph.add_edge(before, END).compile().run()


def test_one_node() -> None:
    graph = StateGraph(("input", "prop1")).add_node("agent_1", lambda state: {"prop1": "test"})
    run = graph.add_edge(START, "agent_1").add_edge("agent_1", END).compile().run({"input": "test1"})
    assert run.state == {"input": "test1", "prop1": "test"}
    # A key has to be declared; there it need not be.
    undeclared = StateGraph("input").add_node("agent_1", lambda state: {"prop1": "test"})
    with pytest.raises(UndeclaredKeyError):
        undeclared.add_edge(START, "agent_1").add_edge("agent_1", END).compile().run()


def test_messages_are_appended() -> None:
    run = writing(agent_1=["message1"], agent_2=("message2",), agent_3=["message3"])
    assert run.state["messages"] == ["message1", "message2", "message3"]


def test_a_message_is_removed() -> None:
    def last(state: Mapping[str, Any]) -> dict[str, Any]:
        return {"messages": [Remove("message2")], "steps": len(state["messages"]) + 1}

    run = writing(agent_1=["message1"], agent_2=["message2"], agent_3=last)
    assert run.state == {"messages": ["message1"], "steps": 3}


def test_a_message_is_appended_and_another_removed() -> None:
    def last(state: Mapping[str, Any]) -> dict[str, Any]:
        return {"messages": ["message4"], "steps": len(state["messages"]) + 1}

    run = writing(agent_1=["message1"], agent_2=["message2"], agent_3=["message3", Remove("message2")], agent_4=last)
    assert run.state == {"messages": ["message1", "message3", "message4"], "steps": 3}


def commanded(*lines: str, goto: str, **update: Any) -> CompiledGraph:
    """A -> B, whose decision is a Command."""
    graph = drawn("A -> B", *lines, keys={"next_node": Replace(), "messages": Append()})
    targets = {"C1": "C1", "C2": "C2", "END": END} if "D" not in goto else {"D": "D"}
    return graph.add_conditional_edges(
        "B", lambda state: Command(goto, update, reason="ROUTED"), targets, owns=("next_node", "messages")
    ).compile()


def test_a_command_leads_to_one_of_its_targets() -> None:
    graph = commanded("C1 -> END", "C2 -> END", goto="C2", messages=["B"], next_node="C2")
    run = graph.run()
    assert run.path == ("A", "B", "C2")
    assert run.state["next_node"] == "C2"
    # The output of the source shows the update.
    assert run.steps[1].after["messages"] == ["B"]


def test_a_command_leads_to_a_node_that_opens_branches() -> None:
    # There the branches lead to END each; here they meet in a node, and without one the graph is refused.
    lines = ("D -> C1 C2", "C1 -> join", "C2 -> join", "join -> END")
    graph = commanded(*lines, goto="D", messages=["B"], next_node="C2")
    run = graph.run()
    assert run.path == ("A", "B", "D", "C1", "C2", "join")
    assert (run.steps[1].after["messages"], run.steps[1].after["next_node"]) == (["B"], "C2")
    assert [text.partition(" at ")[0] for text in findings_of(drawn("D -> C1 C2", "C1 -> END", "C2 -> END"))] == [
        "no_join"
    ]


def test_a_graph_may_begin_with_a_command() -> None:
    graph = drawn("node1 -> node2", "node2 -> END", "START -> command", keys={"messages": Append()})
    graph.add_conditional_edges(
        "command", lambda state: Command("node1", {"messages": ["go to command node"]}, reason="R"),
        {"node1": "node1"}, owns="messages",
    )  # fmt: skip
    run = graph.compile().run()
    assert run.path == ("command", "node1", "node2")
    assert run.state["messages"] == ["go to command node"]


@pytest.mark.parametrize(("prop1", "route"), [("initial_value", "route2_result"), ("value1", "route1_result")])
def test_conditional_edges_read_the_state(prop1: str, route: str) -> None:
    graph = StateGraph({"messages": Append(), "prop1": Replace()})
    said = {"start": "start", "conditional": "processing", "r1": "route1_result", "r2": "route2_result", "end": "end"}
    for name, text in said.items():
        graph.add_node(name, lambda state, text=text: {"messages": [text]})
    graph.add_edge(START, "start").add_edge("start", "conditional").add_edge(["r1", "r2"], "end").add_edge("end", END)
    is_1 = Condition("is_value1", lambda state: state["prop1"] == "value1", "prop1")
    rules = Decision([Rule("route1", "IS_VALUE1", (is_1,)), Rule("route2", "ELSE")])
    graph.add_conditional_edges("conditional", rules, {"route1": "r1", "route2": "r2"})
    run = graph.compile().run({"prop1": prop1})
    assert run.state["messages"] == ["start", "processing", route, "end"]


def test_what_a_router_is_to_know_of_the_config_an_action_writes_into_the_state() -> None:
    # There a router may read the config; here routing reads state alone, so that it can be explored.
    def notes(state: Mapping[str, Any], config: RunConfig) -> dict[str, Any]:
        return {"route": config.metadata.get("test_route", "default_route")}

    graph = StateGraph({"route": Replace(), "log": Append()}).add_node("start", notes)
    for name in ("config_route", "default_route"):
        graph.add_node(name, says(name)).add_edge(name, END)
    targets = {name: name for name in ("config_route", "default_route")}
    graph.add_edge(START, "start").add_conditional_edges("start", lambda state: state["route"], targets)
    compiled = graph.compile()
    assert log_of(compiled.run(config=RunConfig(metadata={"test_route": "config_route"}))) == ["config_route"]
    assert log_of(compiled.run()) == ["default_route"]


def test_conditional_edges_need_a_source_and_a_mapping() -> None:
    for mapping in ({}, None):
        with pytest.raises(DefinitionError, match="need a mapping from route key to node or END"):
            StateGraph("a").add_conditional_edges("x", lambda state: "y", mapping)  # type: ignore[arg-type]
    graph = drawn("a -> END").add_conditional_edges(END, lambda state: "a", {"a": "a"})
    assert "unknown_node at __END__ -> a: no node '__END__'; nodes are 'a'" in findings_of(graph)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("first", ["A", "START"])
def test_three_branches_of_which_one_is_slow(way: Callable[..., Any], first: str) -> None:
    lines = (f"{first} -> A1 A2 A3", "A1 -> B", "A2 -> B", "A3 -> B", "B -> C", "C -> END")
    run = way(drawn(*lines, actions={"A2": waits("A2", 20)}).compile())
    assert log_of(run) == [*(["A"] if first == "A" else []), "A1", "A2", "A3", "B", "C"]


@pytest.mark.parametrize("routes", ["abc", "ca", "b"])
def test_a_router_picks_three_two_or_one_of_three(routes: str) -> None:
    graph = drawn("START -> pick", "a -> end", "b -> end", "c -> end", "end -> END")
    graph.add_conditional_edges("pick", lambda state: list(routes), {name: name for name in "abc"}, fork=Fork())
    assert log_of(graph.compile().run()) == ["pick", *routes, "end"]


def test_branches_that_go_on_in_different_nodes_meet_where_those_do() -> None:
    # There this is refused, as branches are single nodes with one successor.
    graph = drawn("START -> pick", "b -> D", "c -> C1", "D -> end", "C1 -> end", "end -> END")
    graph.add_conditional_edges("pick", lambda state: ["b", "c"], {"b": "b", "c": "c"}, fork=Fork())
    compiled = graph.compile()
    assert compiled.joins == {"pick": "end"}
    assert log_of(compiled.run()) == ["pick", "b", "D", "c", "C1", "end"]


@pytest.mark.parametrize(("given", "counter", "result"), [({"counter": 50}, 150, 300), ({}, 100, 200)])
def test_numbers_stay_what_they_are(given: dict[str, Any], counter: int, result: int) -> None:
    graph = StateGraph({"counter": Replace(initial=0), "result": Replace(type=int)})
    graph.add_node("nodeA", lambda state: {"counter": state["counter"] + 100})
    graph.add_node("nodeB", lambda state: {"result": state["counter"] * 2})
    run = graph.add_edge(START, "nodeA").add_edge("nodeA", "nodeB").add_edge("nodeB", END).compile().run(given)
    assert run.state == {"counter": counter, "result": result}


def test_what_a_node_raises_is_the_cause_of_the_error_that_names_it() -> None:
    graph = StateGraph("a").add_node("agent_1", lambda state: {"a": 1 // 0})
    with pytest.raises(ActionError, match="node 'agent_1', attempt 1, raised ZeroDivisionError") as caught:
        graph.add_edge(START, "agent_1").add_edge("agent_1", END).compile().run()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_any_of_keeps_the_fast_branch_alone() -> None:
    async def slow(state: Mapping[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(60)
        return {"log": ["slow"]}

    lines = ("START -> slow fast", "slow -> merge", "fast -> merge", "merge -> END")
    forks = {"START": Fork(wait="any_of")}
    run = drawn(*lines, actions={"slow": slow, "fast": waits("fast", 3)}, forks=forks).compile().run()
    assert log_of(run) == ["fast", "merge"]


def test_three_thousand_laps_need_no_stack() -> None:
    graph = StateGraph({"count": Replace(initial=0)})
    graph.add_node("loop", lambda state: {"count": state["count"] + 1}).add_edge(START, "loop")
    below = Condition("below", lambda state: state["count"] < 3000, "count")
    rules = Decision([Rule("again", "MORE", (below,)), Rule("end", "DONE")])
    graph.add_conditional_edges("loop", rules, {"again": "loop", "end": END})
    compiled = graph.compile(recursion_limit=3000)
    assert compiled.run().state["count"] == 3000
    assert compiled.run(recursion_limit=2999, check=False).stop == "limit"


def test_a_strategy_that_raises_leaves_nothing_of_its_update() -> None:
    def refuses(old: Any, new: Any) -> Any:
        raise ValueError("not this")

    graph = StateGraph({"first": Replace(initial=0), "second": Custom(merge=refuses), "third": Append()})
    graph.add_node("a", lambda state: {"first": 1, "third": ["x"], "second": 2})
    with pytest.raises(ReportError, match="node 'a' wrote 'second': not this") as caught:
        graph.add_edge(START, "a").add_edge("a", END).compile().run()
    assert caught.value.state == {"first": 0, "second": None, "third": []}


def test_null_in_the_input_is_a_value_and_starts_an_empty_history() -> None:
    graph = StateGraph({"k": Replace(initial=1), "log": Append(initial=["x"])}).add_node("a", lambda state: {})
    compiled = graph.add_edge(START, "a").add_edge("a", END).compile()
    assert compiled.run({"k": None, "log": None}).state == {"k": None, "log": []}
    assert compiled.run().state == compiled.run({}).state == {"k": 1, "log": ["x"]}


def test_the_state_holds_the_declared_keys_and_nothing_else() -> None:
    graph = drawn("plan -> a b", "a -> join", "b -> join", "join -> END").compile()
    assert set(graph.run(config=RunConfig("thread")).state) == {"log"}
    # Another run of the same thread begins anew.
    assert log_of(graph.run(config=RunConfig("thread"))) == ["plan", "a", "b", "join"]


def test_an_empty_update_changes_nothing_and_the_run_goes_on_and_null_is_none() -> None:
    run = drawn("a -> b", "b -> END", actions={"a": lambda state: {}}).compile().run()
    assert (run.path, log_of(run), run.reports[0]) == (("a", "b"), ["b"], {})
    with pytest.raises(ReportError, match="node 'a' returned NoneType, not a mapping"):
        drawn("a -> b", "b -> END", actions={"a": lambda state: None}).compile().run()
