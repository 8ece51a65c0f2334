"""The topology holds every edge, what opens branches, and where they meet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from diagnosis.runtime import (
    END,
    REPEAT,
    START,
    CompiledGraph,
    Condition,
    Decision,
    Fork,
    Rule,
    StateGraph,
    TopologyEdge,
    TopologyFork,
)


def idle(state: Mapping[str, Any]) -> dict[str, Any]:
    return {}


def graph(*nodes: str) -> StateGraph:
    made = StateGraph(["flag"], name="g").add_edge(START, nodes[0])
    for node in nodes:
        made.add_node(node, idle)
    return made


def edges(made: CompiledGraph, source: str) -> list[TopologyEdge]:
    return [edge for edge in made.topology.edges if edge.source == source]


def holds(name: str) -> Condition:
    return Condition(name, lambda state: bool(state["flag"]), "flag")


def fixed_fork(fork: Fork | None = None) -> CompiledGraph:
    made = graph("plan", "a", "b", "join").add_edge("plan", "a", reason="ONE", fork=fork)
    made.add_edge("plan", "b", reason="OTHER").add_edge(["a", "b"], "join")
    return made.add_edge("join", END, reason=REPEAT).compile()


def ruled_fork() -> CompiledGraph:
    made = graph("plan", "a", "b", "join")
    rules = [
        Rule(("left", "right"), "BOTH", holds("both"), name="both"),
        Rule("left", "LEFT", holds("left")),
        Rule(("right", "right"), "TWICE", holds("twice")),
        Rule("done", "DONE"),
    ]
    targets = {"left": "a", "right": "b", "done": "join"}
    made.add_conditional_edges("plan", Decision(rules), targets, fork=Fork("join", max_concurrency=1))
    return made.add_edge(["a", "b"], "join").add_edge("join", END).compile()


def routed_fork(routes: tuple[str, ...] | None = None) -> CompiledGraph:
    made = graph("split", "work", "join")
    targets = {"work": "work", "none": "join", "end": END}
    made.add_conditional_edges("split", lambda state: "end", targets, fork=Fork("join", "any_of", routes=routes))
    return made.add_edge("work", "join").add_edge("join", END).compile()


def commanding(fork: Fork | None = None) -> CompiledGraph:
    made = StateGraph(["flag"], name="g").add_edge(START, "desk")
    made.add_node("desk", idle, goto={"a": "a", "b": "b", "stop": END}, fork=fork)
    for node in ("a", "b"):
        made.add_node(node, idle).add_edge(node, "desk")
    rules = [Rule("a", "FLAGGED", holds("flagged")), Rule("stop", "SILENT")]
    return made.add_conditional_edges("desk", Decision(rules), {"a": "a", "stop": END}).compile()


def test_every_fixed_edge_of_a_fork_has_its_own_reason_and_opens_a_branch() -> None:
    made = fixed_fork(Fork(wait="any_of", max_concurrency=3))
    assert edges(made, "plan") == [
        TopologyEdge("plan", "a", "fixed", None, ("ONE",), parallel=True),
        TopologyEdge("plan", "b", "fixed", None, ("OTHER",), parallel=True),
    ]
    assert edges(made, "a") == [TopologyEdge("a", "join", "fixed", None, ("FIXED",))]
    assert made.topology.forks == (TopologyFork("plan", "edges", None, ("a", "b"), "join", "any_of", 3),)


def test_a_rule_with_several_routes_gives_its_reason_to_each_of_their_edges() -> None:
    made = ruled_fork()
    assert edges(made, "plan") == [
        TopologyEdge("plan", "a", "conditional", "left", ("BOTH", "LEFT"), parallel=True),
        TopologyEdge("plan", "b", "conditional", "right", ("BOTH", "TWICE"), parallel=True),
        TopologyEdge("plan", "join", "conditional", "done", ("DONE",)),
    ]
    assert made.topology.forks == (
        TopologyFork("plan", "rule", "both", ("a", "b"), "join", "all_of", 1, ("left", "right"), "BOTH"),
        TopologyFork("plan", "rule", "TWICE", ("b",), "join", "all_of", 1, ("right", "right"), "TWICE"),
    )


@pytest.mark.parametrize(("routes", "opening"), [(None, ("work", "none")), (("work",), ("work",))])
def test_a_router_opens_branches_along_the_routes_of_its_fork_but_never_to_end(
    routes: tuple[str, ...] | None, opening: tuple[str, ...]
) -> None:
    made = routed_fork(routes)
    assert {edge.route: edge.parallel for edge in edges(made, "split")} == {
        "work": True,
        "none": "none" in opening,
        "end": False,
    }
    assert [edge.reasons for edge in edges(made, "split")] == [("work",), ("none",), ("end",)]
    (fork,) = made.topology.forks
    assert (fork.origin, fork.wait, fork.routes) == ("router", "any_of", opening)


def test_gotos_come_after_the_own_edges_of_a_node_and_have_no_reasons() -> None:
    made = commanding()
    assert edges(made, "desk") == [
        TopologyEdge("desk", "a", "conditional", "a", ("FLAGGED",)),
        TopologyEdge("desk", END, "conditional", "stop", ("SILENT",)),
        TopologyEdge("desk", "a", "goto", "a", ()),
        TopologyEdge("desk", "b", "goto", "b", ()),
        TopologyEdge("desk", END, "goto", "stop", ()),
    ]
    assert made.topology.forks == ()


def test_a_fork_of_commands_marks_the_gotos_and_not_the_conditional_edges_of_the_same_keys() -> None:
    made = commanding(Fork("desk"))
    assert [(edge.kind, edge.route) for edge in edges(made, "desk") if edge.parallel] == [("goto", "a"), ("goto", "b")]
    assert made.topology.forks == (TopologyFork("desk", "goto", None, ("a", "b"), "desk", "all_of", None, ("a", "b")),)


def test_an_edge_to_end_inside_a_branch_ends_the_branch() -> None:
    made = graph("plan", "a", "b", "join", "last").add_edge("plan", ["a", "b"], fork=Fork("join"))
    rules = [Rule("on", "ON", holds("on")), Rule("off", "OFF")]
    made.add_conditional_edges("a", Decision(rules), {"on": "join", "off": END})
    made.add_edge("b", "join").add_edge("join", "last").add_edge("last", END)
    topology = made.compile().topology
    assert [(edge.source, edge.target) for edge in topology.edges if edge.ends_branch] == [("a", END)]
    assert "  -> __END__ [off] OFF (ends its branch)" in topology.text().splitlines()


def test_forks_stand_in_the_order_of_their_nodes() -> None:
    made = StateGraph(["flag"], name="g").add_edge(START, "a")
    made.add_node("a", idle, goto={"b": "b", "c": "c"}, fork=Fork("d"))
    for node in ("b", "c", "d", "e", "f", "g"):
        made.add_node(node, idle)
    made.add_edge("a", "d").add_edge(["b", "c"], "d").add_edge("d", ["e", "f"]).add_edge(["e", "f"], "g")
    topology = made.add_edge("g", END).compile().topology
    assert [(fork.source, fork.origin, fork.join) for fork in topology.forks] == [
        ("a", "goto", "d"),
        ("d", "edges", "g"),
    ]


def test_the_text_names_forks_and_gotos() -> None:
    assert ruled_fork().topology.text() == (
        "g: 4 nodes, 7 edges\n"
        "__START__ (start)\n"
        "  -> plan\n"
        "plan (node)\n"
        "  => a [left] BOTH, LEFT\n"
        "  => b [right] BOTH, TWICE\n"
        "  -> join [done] DONE\n"
        "  fork by rule both: [left], [right]; joined at join: all_of, at most 1 at once\n"
        "  fork by rule TWICE: [right], [right]; joined at join: all_of, at most 1 at once\n"
        "a (node)\n"
        "  -> join FIXED\n"
        "b (node)\n"
        "  -> join FIXED\n"
        "join (node)\n"
        "  -> __END__ FIXED"
    )
    assert commanding(Fork("desk", "any_of")).topology.text() == (
        "g: 3 nodes, 8 edges\n"
        "__START__ (start)\n"
        "  -> desk\n"
        "desk (node)\n"
        "  -> a [a] FLAGGED\n"
        "  -> __END__ [stop] SILENT\n"
        "  => a [a] goto\n"
        "  => b [b] goto\n"
        "  -> __END__ [stop] goto\n"
        "  fork by its Commands: [a], [b]; joined at desk: any_of\n"
        "a (node)\n"
        "  -> desk FIXED\n"
        "b (node)\n"
        "  -> desk FIXED"
    )
    assert "  fork by its edges: a, b; joined at join: all_of" in fixed_fork().topology.text().splitlines()
    assert "  fork by its router: [work], [none]; joined at join: any_of" in routed_fork().topology.text().splitlines()


def test_graphs_that_branch_differently_have_different_fingerprints() -> None:
    made = [
        fixed_fork(),
        fixed_fork(Fork(wait="any_of")),
        fixed_fork(Fork(max_concurrency=1)),
        routed_fork(),
        routed_fork(("work",)),
        commanding(),
        commanding(Fork("desk")),
        commanding(Fork("desk", routes=("a",))),
    ]
    assert len({each.fingerprint for each in made}) == len(made)


def test_a_node_of_the_kind_end_keeps_its_line_and_its_edges() -> None:
    made = StateGraph(["flag"], name="g").add_node("go", idle, kind="end").add_edge(START, "go").add_edge("go", END)
    assert made.compile().topology.text().splitlines()[3:] == ["go (end)", "  -> __END__ FIXED"]
