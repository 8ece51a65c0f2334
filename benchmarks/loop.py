"""The loop of three nodes: the engine beside the bare Python loop and beside LangGraph."""

from __future__ import annotations

import importlib.util
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, TypedDict

from benchmarks import bare
from benchmarks.rounds import Job, async_medians, medians
from benchmarks.table import Row
from diagnosis.runtime import (
    END,
    START,
    Append,
    CompiledGraph,
    Condition,
    Decision,
    Replace,
    Rule,
    Run,
    StateGraph,
)

SHORT, LONG = 30, 999
OTHER_KEYS = 24
"""Keys that the wide variant of the graph has beside the loop's own."""

MISSING = "not measured: langgraph is not installed"


def graph(nodes: Mapping[str, Callable[..., Any]], steps: int, more_keys: int = 0) -> CompiledGraph:
    """The loop as a graph that stops after so many steps."""
    keys = {"n": Replace(initial=0), "events": Append(), **{f"key_{i}": Replace() for i in range(more_keys)}}
    built = StateGraph(keys, name="loop")
    for name, node in nodes.items():
        built.add_node(name, node)
    below = Condition("below", lambda state: state["n"] < steps, "n")
    built.add_edge(START, "a").add_edge("a", "b").add_edge("b", "c")
    built.add_conditional_edges(
        "c", Decision([Rule("again", "MORE", (below,)), Rule("end", "DONE")]), {"again": "a", "end": END}
    )
    return built.compile(recursion_limit=steps)


def langgraph(nodes: Mapping[str, Callable[..., Any]], steps: int) -> Any:
    """The loop as a LangGraph graph, or ``None`` where it is not installed."""
    if importlib.util.find_spec("langgraph") is None:
        return None
    from langgraph import graph as peer

    state = TypedDict("state", {"n": int, "events": Annotated[list[str], operator.add]})  # noqa: UP013
    built = peer.StateGraph(state)
    for name, node in nodes.items():
        built.add_node(name, node)
    built.add_edge(peer.START, "a")
    built.add_edge("a", "b")
    built.add_edge("b", "c")
    built.add_conditional_edges("c", lambda found: "a" if found["n"] < steps else "end", {"a": "a", "end": peer.END})
    return built.compile()


def right(steps: int) -> tuple[Callable[[Mapping[str, Any]], None], Callable[[Run], None]]:
    """Give the checks of a final state, and of a run with all that it must have kept."""
    events = bare.expected(steps)

    def state_is_right(state: Mapping[str, Any]) -> None:
        assert state["n"] == steps
        assert list(state["events"]) == events

    def run_is_right(run: Run) -> None:
        state_is_right(run.state)
        assert run.ended
        assert len(run.states) == len(run.reports) + 1 == len(run.events) + 1 == steps + 1
        assert run.events[2].choice.rule in ("MORE", "DONE")

    return state_is_right, run_is_right


def jobs(steps: int, awaited: bool) -> dict[str, Job]:
    """Everything that is measured at one length."""
    state_is_right, run_is_right = right(steps)
    route = bare.router(steps)
    nodes: Mapping[str, Any] = bare.async_nodes() if awaited else bare.nodes()
    own, wide, peer = graph(nodes, steps), graph(nodes, steps, OTHER_KEYS), langgraph(nodes, steps)
    start = {"n": 0, "events": []}
    config = {"recursion_limit": 2 * LONG}
    repeat = max(1, 300 // steps)
    found = {
        "bare": Job(lambda: (bare.arun if awaited else bare.run)(nodes, route), state_is_right, repeat),
        "in place": Job(
            lambda: (bare.arun_in_place if awaited else bare.run_in_place)(nodes, route), state_is_right, repeat
        ),
        "own": Job(own.arun if awaited else own.run, run_is_right, repeat),
        "wide": Job(wide.arun if awaited else wide.run, run_is_right, repeat),
    }
    if peer is not None:
        call = peer.ainvoke if awaited else peer.invoke
        found["peer"] = Job(lambda: call(start, config), state_is_right, every=4)
    return found


def rows(rounds: int = 60) -> Iterable[Row]:
    """Measure.

    Args:
        rounds: how many rounds.
    """
    for awaited, method, peer_method in ((False, "run", "invoke"), (True, "arun", "ainvoke")):
        # Both lengths take turns in the same rounds, so that their comparison stands on one clock too.
        together = {(steps, name): job for steps in (SHORT, LONG) for name, job in jobs(steps, awaited).items()}
        measure = async_medians if awaited else medians
        times = measure({f"{name} {steps}": job for (steps, name), job in together.items()}, rounds)
        for steps in (SHORT, LONG):
            own = times[f"own {steps}"]
            yield Row(
                f"{method}, {steps} steps / bare loop", own / times[f"bare {steps}"], 4 if steps == SHORT else None
            )
            yield Row(f"{method}, {steps} steps / bare loop that appends in place", own / times[f"in place {steps}"])
            yield Row(
                f"{method}, {steps} steps, {OTHER_KEYS + 2} keys / bare loop",
                times[f"wide {steps}"] / times[f"bare {steps}"],
            )
            peer = times.get(f"peer {steps}")
            bound = 75 if steps == SHORT else None
            yield Row(
                f"LangGraph {peer_method} / {method}, {steps} steps", peer and peer / own, bound, "least", note=MISSING
            )
        growth = times[f"own {LONG}"] / LONG / (times[f"own {SHORT}"] / SHORT)
        yield Row(f"{method}, a step of {LONG} / a step of {SHORT}", growth, 1.15)
