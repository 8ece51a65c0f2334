"""Why a node goes where it goes, and what a graph looks like."""

from typing import Any

import pytest
from loopgraph import loop

from diagnosis.runtime import (
    END,
    REPEAT,
    START,
    Condition,
    Decision,
    DefinitionError,
    Rule,
    StateGraph,
    TopologyEdge,
    TopologyNode,
    display,
)
from diagnosis.runtime.explain import explain


def decided(state_test: Any = None) -> StateGraph:
    graph = StateGraph(("n", "m")).add_node("x", lambda state: {}).add_node("y", lambda state: {}, kind="code")
    big = Condition("big", lambda state: state["n"] > 5, "n")
    odd = Condition("odd", state_test or (lambda state: state["n"] % 2 == 1), "n")
    rules = [Rule("y", "BIG_ODD", (big, odd)), Rule("end", "BIG", (big,)), Rule("y", "SMALL")]
    graph.add_edge(START, "x").add_edge("y", END, reason="OVER")
    return graph.add_conditional_edges("x", Decision(rules), {"y": "y", "end": END})


def test_an_explanation_shows_every_rule_with_every_condition() -> None:
    told = decided().compile().explain("x", {"n": 8, "m": 0})
    assert (told.rule, told.route, told.reason, told.target, told.error) == ("BIG", "end", "BIG", END, None)
    assert [row.truths for row in told.rows] == [(True, False), (True,), ()]
    assert [row.holds for row in told.rows] == [False, True, True]
    assert told.text() == (
        "x: goes to __END__ because BIG\n   BIG_ODD [y]: big=T, odd=F\n-> BIG [end]: big=T\n   SMALL [y]: anything else"
    )
    records = told.records()
    assert len(records) == 4
    assert records[1] == {
        "source": "x",
        "rule": "BIG_ODD",
        "route": "y",
        "reason": "BIG_ODD",
        "target": "y",
        "condition": "odd",
        "truth": False,
        "error": None,
        "holds": False,
        "decided": False,
    }
    assert (records[3]["condition"], records[3]["truth"], records[2]["decided"]) == (None, None, True)


def test_a_condition_that_fails_where_it_would_be_asked_leaves_no_decision() -> None:
    graph = decided(lambda state: state["zz"]).compile()
    told = graph.explain("x", {"n": 8})
    error = (
        "condition 'odd' of rule 'BIG_ODD' raised ReadError: "
        "condition 'odd' of x.BIG_ODD reads 'zz', which is no key of the state; see its spelling"
    )
    assert (told.error, told.rule, told.target) == (error, None, None)
    assert told.text().splitlines()[1] == "   BIG_ODD [y]: big=T, odd=!"
    assert told.records()[1]["error"].startswith("ReadError: ")


def test_a_condition_that_would_not_be_asked_may_fail() -> None:
    told = decided(lambda state: state["zz"]).compile().explain("x", {"n": 1})
    assert (told.reason, told.error) == ("SMALL", None)
    assert told.rows[0].truths == (False, None)


def test_an_undeclared_read_is_found() -> None:
    told = decided(lambda state: state["m"]).compile().explain("x", {"n": 8, "m": 1})
    assert "reads 'm', which it does not declare" in (told.error or "")


def test_no_rule_that_holds_is_told() -> None:
    graph = StateGraph("n").add_node("x", lambda state: {}).add_edge(START, "x")
    never = Condition("never", lambda state: False, "n")
    graph.add_conditional_edges("x", Decision([Rule("end", "R", (never,))]), {"end": END})
    assert graph.compile().explain("x", {}).text() == "x: no rule holds\n   R [end]: never=F"


def test_fixed_edges_and_routers_are_explained_too() -> None:
    graph = decided().add_node("r", lambda state: {}).add_node("s", lambda state: {})
    graph.add_conditional_edges("r", lambda state: state["n"], {"s": "s", "end": END})
    graph.add_edge("s", "r", reason=REPEAT)
    definition = graph.definition()
    fixed = explain(definition, "y", {})
    assert (fixed.target, fixed.reason, fixed.rows) == (END, "OVER", ())
    repeated = explain(definition, "s", {}, reason="WHY")
    assert (repeated.target, repeated.reason) == ("r", "WHY")
    routed = explain(definition, "r", {"n": "s"})
    assert (routed.target, routed.route, routed.reason, routed.rule) == ("s", "s", "s", None)
    for route in ("zz", [], None):
        failed = explain(definition, "r", {"n": route})
        assert failed.target is None
        assert (failed.error or "").startswith("its router gave no route: ")


def test_only_nodes_are_explained() -> None:
    with pytest.raises(DefinitionError) as caught:
        decided().compile().explain("ghost", {})
    assert str(caught.value) == "graph 'graph' has no node 'ghost'; nodes are 'x', 'y'"


def test_an_explanation_agrees_with_the_run() -> None:
    graph = loop(6)
    run = graph.run()
    for step in run.steps:
        told = graph.explain(step.event.node, step.after)
        assert (told.target, told.reason, told.rule) == (
            step.event.choice.target,
            step.event.reason,
            step.event.choice.rule,
        )


def test_a_topology_holds_nodes_and_edges_as_declared() -> None:
    graph = decided().compile()
    assert graph.topology.nodes == (
        TopologyNode(START, "start"),
        TopologyNode("x", "node"),
        TopologyNode("y", "code"),
        TopologyNode(END, "end"),
    )
    assert graph.topology.edges == (
        TopologyEdge(START, "x", "fixed", None, ()),
        TopologyEdge("x", "y", "conditional", "y", ("BIG_ODD", "SMALL")),
        TopologyEdge("x", END, "conditional", "end", ("BIG",)),
        TopologyEdge("y", END, "fixed", None, ("OVER",)),
    )
    assert (
        repr(graph)
        == graph.text()
        == (
            "graph: 2 nodes, 4 edges\n"
            "__START__ (start)\n"
            "  -> x\n"
            "x (node)\n"
            "  -> y [y] BIG_ODD, SMALL\n"
            "  -> __END__ [end] BIG\n"
            "y (code)\n"
            "  -> __END__ OVER"
        )
    )


def test_a_router_and_a_repeated_reason_in_a_topology() -> None:
    graph = StateGraph("n").add_node("r", lambda state: {}).add_node("s", lambda state: {}).add_edge(START, "r")
    graph.add_conditional_edges("r", lambda state: "s", {"s": "s"}).add_edge("s", END, reason=REPEAT)
    assert graph.compile().topology.edges[1:] == (
        TopologyEdge("r", "s", "conditional", "s", ("s",)),
        TopologyEdge("s", END, "fixed", None, ()),
    )


def test_fingerprints_differ_where_rules_differ() -> None:
    assert loop(3).fingerprint == loop(3).fingerprint
    assert len(loop(3).fingerprint) == 16
    assert loop(3).fingerprint != decided().compile().fingerprint


def test_objects_show_themselves_as_text_until_someone_draws_them(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = loop(3)
    monkeypatch.setattr(display, "_hooks", lambda: ())
    assert graph._repr_mimebundle_() == {"text/plain": graph.text()}
    monkeypatch.setattr(display, "_hooks", lambda: (lambda shown: None, lambda shown: {"text/html": "<b>"}))
    assert graph._repr_mimebundle_() == {"text/html": "<b>"}
    assert repr(display.Shown()).startswith("<diagnosis.runtime.display.Shown object")


def test_who_draws_is_looked_up_in_the_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    class Point:
        def __init__(self, name: str) -> None:
            self.name = name

        def load(self) -> str:
            return self.name

    display._hooks.cache_clear()
    monkeypatch.setattr(display, "entry_points", lambda group: [Point("b"), Point("a")])
    assert display._hooks() == ("a", "b")
    display._hooks.cache_clear()
