"""A compiled subgraph hands on what it wrote since it was entered, and leaves every other key around it alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from diagnosis.runtime import (
    END,
    START,
    Append,
    Command,
    CompiledGraph,
    Condition,
    Custom,
    Decision,
    Effect,
    Fork,
    JoinError,
    Merge,
    Model,
    Replace,
    Rule,
    Run,
    StateGraph,
    always,
    sometimes,
)
from diagnosis.scenarios import Scenario, run_scenario
from diagnosis.verify import explore, prove

Action = Callable[[Any], Any]


def nothing(state: Any) -> dict[str, Any]:
    return {}


def one(action: Action, keys: Any = ("res", "note"), **options: Any) -> StateGraph:
    """START -> x -> END."""
    graph = StateGraph(keys, name="child").add_node("x", action, **options)
    return graph.add_edge(START, "x").add_edge("x", END)


def twice(child: Any, keys: Mapping[str, Any], **mapping: Any) -> CompiledGraph:
    """START -> child -> count -> child -> count -> END."""
    graph = StateGraph({**keys, "lap": Replace(initial=0)}, name="laps").add_node("child", child, **mapping)
    graph.add_node("count", lambda state: {"lap": state["lap"] + 1})
    again = Condition("again", lambda state: state["lap"] < 2, "lap")
    rules = Decision([Rule("again", "AGAIN", (again,)), Rule("end", "ENOUGH")])
    graph.add_edge(START, "child").add_edge("child", "count")
    return graph.add_conditional_edges("count", rules, {"again": "child", "end": END}).compile()


def both(graph: CompiledGraph) -> Run:
    run = graph.run()
    assert asyncio.run(graph.arun()).state == run.state
    return run


def laps(first: Any, *others: Any) -> Action:
    """Give each of these by the lap."""
    return lambda state: (first, *others)[state["lap"]]


CHILD_KEYS = ("res", "lap")


@pytest.mark.parametrize(
    ("reports", "result"),
    [
        (({"res": 1}, {}), 1),
        (({"res": 1}, {"res": None}), None),
        (({}, {"res": 2}), 2),
        (({}, {}), "before"),
        (({"res": "before"}, {}), "before"),
    ],
)
def test_what_a_second_lap_does_not_write_keeps_its_value(reports: Any, result: Any) -> None:
    child = one(laps(*reports), CHILD_KEYS).compile()
    run = both(twice(child, {"out": Replace(initial="before")}, inputs=["lap"], outputs={"out": "res"}))
    assert run.state == {"out": result, "lap": 2}


def test_an_input_that_is_not_written_is_no_output() -> None:
    """Even where the same value was written: what counts is the write."""
    for report, result in (({}, "old"), ({"res": "given"}, "given")):
        child = one(lambda state, report=report: report).compile()
        keys = {"given": Replace(initial="given"), "out": Replace(initial="old")}
        graph = twice(child, keys, inputs={"res": "given"}, outputs={"out": "res"})
        assert both(graph).state["out"] == result


@pytest.mark.parametrize(
    ("strategy", "write", "once"),
    [
        (Append(initial=["i"]), ["a"], ["i", "a"]),
        (Merge(initial={"i": 0}), {"a": 1}, {"i": 0, "a": 1}),
        (Custom(merge=lambda old, new: old + new, initial=10), 1, 21),
    ],
)
def test_a_key_that_merges_takes_nothing_where_nothing_was_written(strategy: Any, write: Any, once: Any) -> None:
    keys = {"res": strategy, "lap": Replace()}
    outer = type(strategy)(**{**strategy.__dict__, "initial": strategy.initial if type(strategy) is Custom else None})
    child = one(laps({}, {"res": write}), keys).compile()
    run = both(twice(child, {"out": outer}, inputs=["lap"], outputs={"out": "res"}))
    assert run.state["out"] == once
    silent = both(twice(one(nothing, keys).compile(), {"out": outer}, inputs=["lap"], outputs={"out": "res"}))
    assert silent.state["out"] == outer.initial


WRITES: list[tuple[str, Callable[[], StateGraph]]] = [
    ("action", lambda: one(lambda state: {"res": 1})),
    ("async", lambda: one(_later)),
    ("entry", lambda: one(nothing, entry=Effect("e", lambda state: {"res": 1}, writes="res"))),
    ("exit", lambda: one(nothing, exit=Effect("e", lambda state: {"res": 1}, writes="res"))),
    ("whole", lambda: one(nothing, owns=["res"], whole_report=True)),
    ("command", lambda: one(lambda state: Command("end", {"res": 1}, reason="DONE"), goto={"end": END})),
    ("router", lambda: _routing()),
    ("fork", lambda: _forking()),
    ("deeper", lambda: _deeper()),
    ("inlined", lambda: StateGraph(("res", "note")).add_node("in", one(lambda s: {"res": 1})).add_edge(START, "in")),
]


async def _later(state: Any) -> dict[str, Any]:
    await asyncio.sleep(0)
    return {"res": 1}


def _routing() -> StateGraph:
    graph = StateGraph(("res", "note")).add_node("x", nothing).add_edge(START, "x")
    return graph.add_conditional_edges(
        "x", lambda state: Command("end", {"res": 1}, reason="DONE"), {"end": END}, owns="res"
    )


def _forking() -> StateGraph:
    graph = StateGraph(("res", "note"))
    for node in ("p", "b", "j"):
        graph.add_node(node, nothing)
    graph.add_node("a", lambda state: {"res": 1}).add_edge(START, "p").add_edge("p", ["a", "b"])
    return graph.add_edge(["a", "b"], "j").add_edge("j", END)


def _deeper() -> StateGraph:
    inner = one(lambda state: {"deep": 1}, ("deep", "other")).compile()
    graph = StateGraph(("res", "note")).add_node("in", inner, outputs={"res": "deep", "note": "other"})
    return graph.add_edge(START, "in").add_edge("in", END)


@pytest.mark.parametrize("make", [make for _, make in WRITES], ids=[name for name, _ in WRITES])
def test_whatever_way_a_key_is_written_it_is_handed_on_and_no_other(make: Callable[[], StateGraph]) -> None:
    child = make()
    if child.definition().links() and not any(target == END for _, target in child.definition().links()):
        child.add_edge("in", END)
    keys = {"out": Replace(initial="old"), "aside": Replace(initial="old")}
    graph = twice(child.compile(), keys, inputs=(), outputs={"out": "res", "aside": "note"})
    wrote = None if make is dict(WRITES)["whole"] else 1
    run = both(graph)
    assert (run.state["out"], run.state["aside"]) == (wrote, "old")


def test_an_entry_and_exit_of_a_subgraph_inside_a_graph_that_is_inlined_does_the_same() -> None:
    inner = one(laps({"res": 1}, {}), CHILD_KEYS).compile()
    middle = StateGraph({"out": Replace(), "lap": Replace(initial=0)})
    middle.add_node("in", inner, inputs=["lap"], outputs={"out": "res"}).add_edge(START, "in").add_edge("in", END)
    assert both(twice(middle, {})).state == {"out": 1, "lap": 2}


def side_by_side(reports: Mapping[str, Any], fork: Fork | None = None) -> CompiledGraph:
    """One subgraph in each branch, with two outputs that both map to the same keys."""
    graph = StateGraph({"out": Replace(initial="old"), "aside": Replace(initial="old")}, name="sides")
    graph.add_node("plan", nothing).add_node("join", nothing).add_edge(START, "plan")
    for name, report in reports.items():
        child = one(lambda state, report=report: report).compile()
        graph.add_node(name, child, inputs=(), outputs={"out": "res", "aside": "note"}).add_edge(name, "join")
    return graph.add_edge("plan", list(reports), fork=fork).add_edge("join", END).compile()


def test_branches_conflict_only_where_both_wrote() -> None:
    run = both(side_by_side({"a": {"res": 1}, "b": {"note": 2}}))
    assert run.state == {"out": 1, "aside": 2}
    assert both(side_by_side({"a": {}, "b": {"res": None}})).state == {"out": None, "aside": "old"}
    with pytest.raises(JoinError, match=r"'a\[0\]' of branch .* and 'b\[1\]' of branch .* both wrote 'out'"):
        side_by_side({"a": {"res": 1}, "b": {"res": 1, "note": 2}}).run()


def test_exploration_sees_the_same() -> None:
    child = one(nothing).compile()
    graph = twice(child, {"out": Replace(initial="old")}, inputs=(), outputs={"out": "res"})
    alphabet = {
        "child-x": {"none": {}, "zero": {"child.res": 0}},
        "count": {"one": lambda state: {"lap": state["lap"] + 1}},
    }
    never = always("no_null", "It is written or kept.", lambda move: move.after["out"] in ("old", 0), reads="out")
    kept = sometimes(
        "kept",
        "A lap that writes nothing keeps it.",
        lambda move: move.node == "count" and move.before["out"] == 0 and not move.before["child.(written)"],
        reads=("out", "child.(written)"),
    )
    model = Model("laps", graph, alphabet, (never, kept))
    proof = prove(model)
    assert [verdict.claim.name for verdict in proof.verdicts if not verdict.holds] == []
    space = explore(model)
    assert [edge.error for edge in space.transitions if edge.error] == []
    for first, second, out in (("none", "none", "old"), ("none", "zero", 0), ("zero", "none", 0)):
        script = {"name": "s", "graph": "laps", "script": {"child-x": [first, second]}}
        result = run_scenario(Scenario.parse(script), model)
        assert (result.passed, result.run.state["out"]) == (True, out)


def test_the_final_state_holds_the_keys_of_the_graph_and_the_full_one_those_of_its_parts_as_well() -> None:
    run = side_by_side({"a": {"res": 1}}).run()
    assert run.state == {"out": 1, "aside": "old"}
    child = one(lambda state: {"res": 1}).compile()
    graph = StateGraph({"out": Replace()}).add_node("child", child, outputs={"out": "res"})
    run = graph.add_edge(START, "child").add_edge("child", END).compile().run()
    assert run.state == {"out": 1}
    assert run.full_state == {"out": 1, "child.res": 1, "child.note": None}
