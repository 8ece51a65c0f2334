"""Graphs with branches, drawn as text, and actions whose timing a test decides."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from diagnosis.runtime import (
    END,
    START,
    Append,
    CompiledGraph,
    CompileError,
    Condition,
    Decision,
    Fork,
    Rule,
    Run,
    StateGraph,
    Strategy,
)

Action = Callable[..., Any]


def says(name: str, **update: Any) -> Action:
    """Give an action that adds its name to the log, and what else it is to write."""

    def action(state: Mapping[str, Any]) -> dict[str, Any]:
        return {"log": [name], **update}

    return action


def waits(name: str, times: int = 1, **update: Any) -> Action:
    """Give the async action that lets others go on so many times before it does what ``says`` does."""

    async def action(state: Mapping[str, Any]) -> dict[str, Any]:
        for _ in range(times):
            await asyncio.sleep(0)
        return {"log": [name], **update}

    return action


def fails(name: str, times: int | None = None) -> Action:
    """Give an action that raises, at once or after letting others go on so many times."""

    def at_once(state: Mapping[str, Any]) -> dict[str, Any]:
        raise ValueError(f"{name} failed")

    async def later(state: Mapping[str, Any]) -> dict[str, Any]:
        for _ in range(times or 0):
            await asyncio.sleep(0)
        raise ValueError(f"{name} failed")

    return at_once if times is None else later


class Turns:
    """An order in which async actions go on, whatever the order in which they were called."""

    def __init__(self, order: Iterable[str]) -> None:
        self._left = list(order)
        self._changed: asyncio.Event | None = None

    async def come(self, name: str) -> None:
        """Wait until it is the turn of a name."""
        while self._left[0] != name:
            self._changed = self._changed or asyncio.Event()
            await self._changed.wait()
        del self._left[0]
        if self._changed is not None:
            self._changed.set()
            self._changed = None

    def after(self, name: str, action: Action) -> Action:
        """Give the action that waits for its turn first."""

        async def waiting(state: Mapping[str, Any]) -> Any:
            await self.come(name)
            return action(state)

        return waiting


def drawn(
    *lines: str,
    actions: Mapping[str, Action] | None = None,
    keys: Mapping[str, Strategy] | None = None,
    forks: Mapping[str, Fork] | None = None,
    owns: Mapping[str, Any] | None = None,
    goto: Mapping[str, Mapping[str, str]] | None = None,
) -> StateGraph:
    """Give a graph of fixed edges from lines such as ``plan -> a b``.

    START leads to the first node unless a line says otherwise; a node says its name to the log unless ``actions`` gives
    another action; a fork of ``forks`` is given to the edges of its source, or to its Commands where it has a goto.
    """
    graph = StateGraph({"log": Append(), **(keys or {})}, name="forks")
    edges = [(source, targets.split()) for source, _, targets in (line.partition(" -> ") for line in lines)]
    names = dict.fromkeys(itertools.chain.from_iterable((source, *targets) for source, targets in edges))
    places = {"START": START, "END": END}
    for name in names:
        if name not in places:
            graph.add_node(
                name,
                (actions or {}).get(name) or says(name),
                owns=(owns or {}).get(name),
                goto=(goto or {}).get(name),
                fork=(forks or {}).get(name) if name in (goto or {}) else None,
            )
    if "START" not in names:
        graph.add_edge(START, next(iter(names)))
    for source, targets in edges:
        for target in targets:
            fork = None if source in (goto or {}) else (forks or {}).get(source)
            graph.add_edge(places.get(source, source), places.get(target, target), fork=fork)
    return graph


def laps(graph: StateGraph, source: str, again: str, times: int) -> StateGraph:
    """Lead a node back until it was executed so often, then to END."""
    more = Condition("more", lambda state: list(state["log"]).count(source) < times, "log")
    rules = Decision([Rule("again", "AGAIN", (more,)), Rule("end", "ENOUGH")])
    return graph.add_conditional_edges(source, rules, {"again": again, "end": END})


def log_of(run: Run) -> list[Any]:
    """Give what the nodes of a run added to the log."""
    return list(run.state["log"])


def findings_of(graph: StateGraph) -> list[str]:
    """Give what is wrong with a graph, as text."""
    try:
        graph.compile()
    except CompileError as error:
        return [str(finding) for finding in error.findings]
    return []


def from_plain_code(graph: CompiledGraph, *args: Any, **options: Any) -> Run:
    return graph.run(*args, **options)


def from_a_coroutine(graph: CompiledGraph, *args: Any, **options: Any) -> Run:
    return asyncio.run(graph.arun(*args, **options))


def inside_a_running_loop(graph: CompiledGraph, *args: Any, **options: Any) -> Run:
    async def cell() -> Run:
        return graph.run(*args, **options)

    return asyncio.run(cell())


WAYS = [from_plain_code, from_a_coroutine, inside_a_running_loop]


DIAMOND = ("plan -> a b c", "a -> join", "b -> join", "c -> join", "join -> END")
ORDERS = list(itertools.permutations("abc"))
ANY = Fork(wait="any_of")


def diamond(actions: Mapping[str, Action] | None = None, fork: Fork | None = None, **options: Any) -> CompiledGraph:
    """plan -> a, b and c -> join -> END."""
    forks = {} if fork is None else {"plan": fork}
    return drawn(*DIAMOND, actions=actions, forks=forks, **options).compile()


def in_turn(order: tuple[str, ...], actions: Mapping[str, Action] | None = None) -> dict[str, Action]:
    """Let the branches of the diamond end in an order."""
    turns = Turns(order)
    return {name: turns.after(name, (actions or {}).get(name) or says(name)) for name in order}


class Watch:
    """Async actions that wait for ever, and what becomes of them."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.cleaned: list[str] = []

    def stuck(self, name: str) -> Action:
        async def action(state: Mapping[str, Any]) -> Any:
            self.begun.append(name)
            try:
                await asyncio.Event().wait()
            finally:
                self.cleaned.append(name)

        return action


async def settled_tasks() -> None:
    """Fail where a task other than the test's own is left."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left, left
