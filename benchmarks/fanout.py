"""A fan-out of 64 branches and its join: the engine beside LangGraph, with edges and with Sends."""

from __future__ import annotations

import importlib.util
import operator
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, TypedDict

from benchmarks.loop import MISSING
from benchmarks.rounds import Job, async_medians, medians
from benchmarks.table import Row
from diagnosis.runtime import END, START, Append, CompiledGraph, Fork, Replace, Run, Send, StateGraph

WIDTH = 64


def worker(state: Mapping[str, Any]) -> dict[str, Any]:
    """What each branch does."""
    return {"found": ["x"]}


async def async_worker(state: Mapping[str, Any]) -> dict[str, Any]:
    """The same, to be awaited."""
    return {"found": ["x"]}


def nothing(state: Mapping[str, Any]) -> dict[str, Any]:
    """What the first and the last node do."""
    return {}


def by_edges(work: Any) -> CompiledGraph:
    """Give a graph of 64 nodes side by side."""
    names = [f"worker_{number}" for number in range(WIDTH)]
    built = StateGraph({"found": Append()}, name="fan-out").add_node("first", nothing).add_node("last", nothing)
    for name in names:
        built.add_node(name, work)
    built.add_edge(START, "first").add_edge("first", names).add_edge(names, "last").add_edge("last", END)
    return built.compile(recursion_limit=WIDTH + 2)


def by_sends(work: Any) -> CompiledGraph:
    """Give a graph that sends 64 items to one node."""
    built = StateGraph({"found": Append(), "item": Replace()}, name="fan-out")
    built.add_node("first", nothing).add_node("worker", work).add_node("last", nothing)
    built.add_edge(START, "first").add_edge("worker", "last").add_edge("last", END)
    built.add_conditional_edges(
        "first", lambda state: [Send("work", {"item": n}) for n in range(WIDTH)], {"work": "worker"}, fork=Fork()
    )
    return built.compile(recursion_limit=WIDTH + 2)


def peer_by_edges(work: Any) -> Any:
    """Give LangGraph's graph of 64 nodes side by side."""
    from langgraph import graph as peer

    state = TypedDict("state", {"found": Annotated[list[str], operator.add]})  # noqa: UP013
    names = [f"worker_{number}" for number in range(WIDTH)]
    built = peer.StateGraph(state)
    built.add_node("first", nothing)
    built.add_node("last", nothing)
    built.add_edge(peer.START, "first")
    for name in names:
        built.add_node(name, work)
        built.add_edge("first", name)
    built.add_edge(names, "last")
    built.add_edge("last", peer.END)
    return built.compile()


def peer_by_sends(work: Any) -> Any:
    """Give LangGraph's graph that sends 64 items to one node."""
    from langgraph import graph as peer
    from langgraph import types

    state = TypedDict("state", {"found": Annotated[list[str], operator.add], "item": int})  # noqa: UP013
    built = peer.StateGraph(state)
    built.add_node("first", nothing)
    built.add_node("worker", work)
    built.add_node("last", nothing)
    built.add_edge(peer.START, "first")
    built.add_conditional_edges(
        "first", lambda state: [types.Send("worker", {"item": n}) for n in range(WIDTH)], ["worker"]
    )
    built.add_edge("worker", "last")
    built.add_edge("last", peer.END)
    return built.compile()


def _run_is_right(run: Run) -> None:
    assert run.ended
    assert len(run.events) == WIDTH + 2
    assert run.events[-1].after == tuple(range(1, WIDTH + 1))
    assert list(run.state["found"]) == ["x"] * WIDTH


def _state_is_right(state: Mapping[str, Any]) -> None:
    assert state["found"] == ["x"] * WIDTH


def rows(rounds: int = 40) -> Iterable[Row]:
    """Measure.

    Args:
        rounds: how many rounds.
    """
    compared = importlib.util.find_spec("langgraph") is not None
    for awaited, method in ((False, "run"), (True, "arun")):
        work = async_worker if awaited else worker
        found: dict[str, Job] = {}
        for name, own, peer in (("edges", by_edges, peer_by_edges), ("Sends", by_sends, peer_by_sends)):
            graph = own(work)
            found[f"own {name}"] = Job(graph.arun if awaited else graph.run, _run_is_right, repeat=4)
            if compared:
                other = peer(work)
                call = other.ainvoke if awaited else other.invoke
                found[f"peer {name}"] = Job(lambda call=call: call({"found": []}), _state_is_right)
        times = (async_medians if awaited else medians)(found, rounds)
        for name in ("edges", "Sends"):
            theirs = times.get(f"peer {name}")
            yield Row(
                f"LangGraph / {method}, fan-out of {WIDTH} by {name}",
                theirs and theirs / times[f"own {name}"],
                20,
                "least",
                note=MISSING,
            )
