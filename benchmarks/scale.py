"""Two processes beside none: exploring a graph whose functions are slow, and one whose functions are quick."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.fanout import nothing
from benchmarks.rounds import Job, medians
from benchmarks.table import Row
from diagnosis.runtime import END, START, Condition, Decision, Model, Replace, Rule, StateGraph
from diagnosis.scale import process_pool
from diagnosis.verify import StateSpace, explore

LAPS = 24
BUSY = 100_000
"""Numbers that each report of the slow graph adds up: about a millisecond or two."""


def model(busy: int, name: str) -> Model:
    """Give a graph that adds 0, 1 or 2 lap by lap; each report adds up so many numbers."""

    def adding(number: int) -> Any:
        def report(state: Mapping[str, Any]) -> dict[str, int]:
            sum(range(busy))
            return {"sum": state["sum"] + number, "laps": state["laps"] + 1}

        return report

    graph = StateGraph({"sum": Replace(initial=0), "laps": Replace(initial=0)}, name=name)
    graph.add_node("add", nothing).add_edge(START, "add")
    enough = Condition("enough", lambda state: state["laps"] >= LAPS, "laps")
    below = Condition("below", lambda state: state["sum"] < 0, "sum")
    rules = [Rule("end", "BELOW", below), Rule("end", "ENOUGH", enough), Rule("again", "MORE")]
    graph.add_conditional_edges("add", Decision(rules), {"end": END, "again": "add"})
    return Model(name, graph.compile(), {"add": {f"plus_{number}": adding(number) for number in range(3)}})


SLOW = model(BUSY, "slow")
QUICK = model(0, "quick")


def rows() -> list[Row]:
    """Measure both graphs, the pool already started."""
    found = []
    with process_pool(2) as pool:
        for graph, bound, what in ((SLOW, 1.5, "slow reports"), (QUICK, None, "quick reports")):
            size = explore(graph).size

            def check(space: StateSpace, size: int = size) -> None:
                assert space.size == size

            jobs = {
                "alone": Job(lambda graph=graph: explore(graph), check),
                "workers": Job(lambda graph=graph: explore(graph, executor=pool), check),
            }
            seconds = medians(jobs, 5)
            ratio = seconds["alone"] / seconds["workers"]
            found.append(Row(f"exploring with 2 processes, {what}: times as fast as in one", ratio, bound, "least"))
    return found
