"""The bare Python loop: what the same work costs with no engine at all."""

from __future__ import annotations

import operator
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

State = dict[str, Any]
Node = Callable[[Mapping[str, Any]], dict[str, Any]]
AsyncNode = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]

NAMES = ("a", "b", "c")
STOP = "stop"


def nodes() -> dict[str, Node]:
    """Three functions that count and say their name."""

    def named(name: str) -> Node:
        def node(state: Mapping[str, Any]) -> dict[str, Any]:
            return {"n": state["n"] + 1, "events": [name]}

        return node

    return {name: named(name) for name in NAMES}


def async_nodes() -> dict[str, AsyncNode]:
    """The same three as coroutine functions."""

    def named(name: str) -> AsyncNode:
        async def node(state: Mapping[str, Any]) -> dict[str, Any]:
            return {"n": state["n"] + 1, "events": [name]}

        return node

    return {name: named(name) for name in NAMES}


def expected(steps: int) -> list[str]:
    """The events of a run of so many steps."""
    return [NAMES[i % len(NAMES)] for i in range(steps)]


def router(steps: int) -> Callable[[str, Mapping[str, Any]], str]:
    """Lead from each node to the next, and out of the last one after so many steps."""

    def route(node: str, state: Mapping[str, Any]) -> str:
        if node == "a":
            return "b"
        if node == "b":
            return "c"
        return "a" if state["n"] < steps else STOP

    return route


def run(nodes: Mapping[str, Node], route: Callable[[str, Mapping[str, Any]], str]) -> State:
    """Merge each update into a new dictionary; the list of events is copied each time."""
    state: State = {"n": 0, "events": []}
    node = "a"
    while node != STOP:
        update = nodes[node](state)
        state = {**state, **update, "events": operator.add(state["events"], update["events"])}
        node = route(node, state)
    return state


async def arun(nodes: Mapping[str, AsyncNode], route: Callable[[str, Mapping[str, Any]], str]) -> State:
    """Do the same with awaited nodes."""
    state: State = {"n": 0, "events": []}
    node = "a"
    while node != STOP:
        update = await nodes[node](state)
        state = {**state, **update, "events": operator.add(state["events"], update["events"])}
        node = route(node, state)
    return state


def run_in_place(nodes: Mapping[str, Node], route: Callable[[str, Mapping[str, Any]], str]) -> State:
    """Keep one dictionary and one list for the whole run: nothing of an earlier step can be looked at later."""
    state: State = {"n": 0, "events": []}
    node = "a"
    while node != STOP:
        update = nodes[node](state)
        state["events"] += update.pop("events")
        state.update(update)
        node = route(node, state)
    return state


async def arun_in_place(nodes: Mapping[str, AsyncNode], route: Callable[[str, Mapping[str, Any]], str]) -> State:
    """Do the same with awaited nodes."""
    state: State = {"n": 0, "events": []}
    node = "a"
    while node != STOP:
        update = await nodes[node](state)
        state["events"] += update.pop("events")
        state.update(update)
        node = route(node, state)
    return state
