"""Small graphs that several tests use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from diagnosis.runtime import (
    END,
    START,
    Append,
    CompiledGraph,
    Condition,
    Decision,
    Replace,
    Rule,
    StateGraph,
    Strategy,
)


def named(name: str) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    def action(state: Mapping[str, Any]) -> dict[str, Any]:
        return {"n": state["n"] + 1, "events": [name]}

    return action


def named_async(name: str) -> Callable[[Mapping[str, Any]], Any]:
    async def action(state: Mapping[str, Any]) -> dict[str, Any]:
        return {"n": state["n"] + 1, "events": [name]}

    return action


def loop(
    steps: int = 6,
    *,
    limit: int = 100,
    actions: Mapping[str, Callable[..., Any]] | None = None,
    keys: Mapping[str, Strategy] | None = None,
) -> CompiledGraph:
    """a -> b -> c -> a ..., out of c after so many steps."""
    graph = StateGraph({"n": Replace(initial=0), "events": Append(), **(keys or {})}, name="loop")
    for name in "abc":
        graph.add_node(name, (actions or {}).get(name) or named(name))
    below = Condition("below", lambda state: state["n"] < steps, "n")
    graph.add_edge(START, "a").add_edge("a", "b").add_edge("b", "c")
    rules = Decision([Rule("again", "MORE", (below,)), Rule("end", "DONE")])
    graph.add_conditional_edges("c", rules, {"again": "a", "end": END})
    return graph.compile(recursion_limit=limit)


def single(
    action: Callable[..., Any], keys: Mapping[str, Strategy] | tuple[str, ...] = ("a", "b"), **node: Any
) -> CompiledGraph:
    """START -> only -> END."""
    graph = StateGraph(keys, name="single").add_node("only", action, **node)
    return graph.add_edge(START, "only").add_edge("only", END).compile()
