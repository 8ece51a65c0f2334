"""Any child, however its keys are mapped, comes to the same in its parent as alone on what it is given."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from diagnosis.runtime import (
    END,
    START,
    Append,
    CompiledGraph,
    CompileError,
    Condition,
    Custom,
    Decision,
    Merge,
    Replace,
    Rule,
    Run,
    StateGraph,
    thaw,
)

LIMIT = 15

KEYS = {
    "n": Replace(initial=0),
    "log": Append(initial=["start"]),
    "facts": Merge(initial={"start": 0}),
    "sum": Custom(merge=operator.add, initial=100),
}

MERGED = {
    "n": lambda old, new: new,
    "log": lambda old, new: old + new,
    "facts": lambda old, new: {**old, **new},
    "sum": lambda old, new: old + new,
}

# How a key is mapped: to a key of its own name, to another, to one that is only read or only written, to one that is
# read and another that is written, or not at all.
MODES = ("same", "renamed", "input", "output", "through", "private")

# A node is what it adds, whether it is async, where it leads, and which keys it leaves alone. It leads to one target,
# or has rows (modulus, remainder, target) of which the first that fits the counter decides, and a last target.
targets = st.integers(0, 4)
nodes = st.tuples(
    st.integers(0, 3),
    st.booleans(),
    targets | st.tuples(st.lists(st.tuples(st.integers(2, 4), st.integers(0, 3), targets), max_size=2), targets),
    st.just(frozenset()) | st.frozensets(st.sampled_from(list(KEYS))),
)
plans = st.lists(nodes, min_size=1, max_size=4)
modes = st.fixed_dictionaries({key: st.sampled_from(MODES) for key in KEYS})


def build(plan: list[Any]) -> StateGraph:
    graph = StateGraph(KEYS)
    names = [f"node{index}" for index in range(len(plan))]
    places = [*names, *[END] * 5]
    graph.add_edge(START, "node0")
    for name, (added, is_async, leads, alone) in zip(names, plan, strict=True):

        def work(state: Any, name: str = name, added: int = added, alone: Any = alone) -> dict[str, Any]:
            n = state["n"] + added
            seen = f"{name} saw {n}, {len(state['log'])}, {len(state['facts'])}, {state['sum']}"
            report = {"n": n, "log": [seen], "facts": {name: n}, "sum": added}
            return {key: value for key, value in report.items() if key not in alone}

        async def later(state: Any, work: Any = work) -> dict[str, Any]:
            return work(state)

        graph.add_node(name, later if is_async else work)
        if isinstance(leads, int):
            graph.add_edge(name, places[leads], reason=f"after {name}")
            continue
        rows, last = leads
        rules = [
            Rule(f"r{i}", f"rule{i}", (Condition(f"c{i}", lambda state, m=m, r=r: state["n"] % m == r, "n"),))
            for i, (m, r, _) in enumerate(rows)
        ]
        ways = {f"r{i}": places[target] for i, (_, _, target) in enumerate(rows)}
        graph.add_conditional_edges(name, Decision([*rules, Rule("last", "last")]), {**ways, "last": places[last]})
    return graph


def compiled(plan: list[Any]) -> CompiledGraph | None:
    try:
        return build(plan).compile()
    except CompileError:
        return None


def alone(child: CompiledGraph, values: Mapping[str, Any]) -> Run:
    return child.run(values, check=False, recursion_limit=LIMIT)


def trail(run: Run, name: str) -> list[tuple[str, str]]:
    """Node and reason of what was executed inside a subgraph, as the child alone would tell it."""
    inside = [event for event in run.events if event.node.startswith(f"{name}-") and event.node != f"{name}-START"]
    return [(event.node.removeprefix(f"{name}-"), event.reason) for event in inside]


def own_trail(run: Run) -> list[tuple[str, str]]:
    return [(event.node, event.reason) for event in run.events]


@given(plans, modes)
def test_a_compiled_graph_comes_to_the_same_as_alone(plan: list[Any], modes: dict[str, str]) -> None:
    child = compiled(plan)
    if child is None:
        return
    keys: dict[str, Any] = {}
    inputs: dict[str, str] = {}
    outputs: dict[str, str] = {}
    for key, mode in modes.items():
        source, target = {
            "same": (key, key),
            "renamed": (f"{key}'s", f"{key}'s"),
            "input": (f"{key} in", None),
            "output": (None, f"{key} out"),
            "through": (f"{key} in", f"{key} out"),
            "private": (None, None),
        }[mode]
        if source is not None:
            keys[source] = KEYS[key]
            inputs[key] = source
        if target is not None:
            keys[target] = KEYS[key]
            outputs[target] = key
    graph = StateGraph(keys, name="parent").add_node("one", child, inputs=inputs, outputs=outputs)
    graph.add_node("two", child, inputs=inputs, outputs=outputs)
    parent = graph.add_edge(START, "one").add_edge("one", "two").add_edge("two", END).compile(recursion_limit=100)

    state = {name: thaw(strategy.initial) for name, strategy in keys.items()}
    trails: list[list[tuple[str, str]]] = []
    for _ in ("one", "two"):
        run = alone(child, {key: state[source] for key, source in inputs.items()})
        if not run.ended:
            spent = sum(len(each) + 2 for each in trails)
            assert parent.run(check=False, recursion_limit=spent + 1 + LIMIT).stop == "limit"
            return
        trails.append(own_trail(run))
        written = {key for report in run.reports for key in report}
        for target, key in outputs.items():
            if key not in written:
                continue
            end = thaw(run.state[key])
            state[target] = end if inputs.get(key) == target else MERGED[key](state[target], end)
        private = {key: run.state[key] for key in KEYS if inputs.get(key) is None or outputs.get(inputs[key]) != key}

    for run in (parent.run(), asyncio.run(parent.arun())):
        assert run.ended
        assert {key: run.state[key] for key in keys} == state
        assert [trail(run, "one"), trail(run, "two")] == trails
        assert {key: run.full_state[f"two.{key}"] for key in private} == private
        assert set(run.state) == set(keys)
        assert set(run.full_state) == {*keys, *(f"{name}.{key}" for name in ("one", "two") for key in private)}


@given(plans, st.sampled_from(["edge", "decision"]))
def test_an_inlined_graph_comes_to_the_same_as_alone(plan: list[Any], way_out: str) -> None:
    child = compiled(plan)
    if child is None:
        return
    graph = (
        StateGraph({"n": KEYS["n"]}).add_node("a", lambda state: {"n": state["n"] + 1}).add_node("child", build(plan))
    )
    graph.add_node("c", lambda state: {"n": -state["n"]}).add_edge(START, "a").add_edge("a", "child").add_edge("c", END)
    if way_out == "edge":
        graph.add_edge("child", "c", reason="ON")
    else:
        odd = Condition("odd", lambda state: state["n"] % 2 == 1, "n")
        rules = Decision([Rule("on", "ODD", (odd,)), Rule("stop", "EVEN")])
        graph.add_conditional_edges("child", rules, {"on": "c", "stop": END})
    parent = graph.compile(recursion_limit=LIMIT + 3)
    run = alone(child, {"n": 1})
    if not run.ended:
        assert parent.run(check=False, recursion_limit=1 + LIMIT).stop == "limit"
        return
    whole = parent.run()
    asynchronous = asyncio.run(parent.arun())
    assert (asynchronous.path, asynchronous.state) == (whole.path, whole.state)
    assert [node for node, _ in trail(whole, "child")] == [node for node, _ in own_trail(run)]
    # The last node takes the decision of the parent itself, unless a decision of its own led to END.
    assert trail(whole, "child")[:-1] == own_trail(run)[:-1]
    onward = way_out == "edge" or run.state["n"] % 2 == 1
    assert whole.state == {**run.state, "n": -run.state["n"] if onward else run.state["n"]}
    assert (whole.path[-1] == "c") is onward
    assert len(whole.path) - len(run.path) - 1 - onward in ((0,) if way_out == "edge" else (0, 1))
