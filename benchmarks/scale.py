"""Two processes beside none: exploring a graph whose functions are slow, and one whose functions are quick."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
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

WAIT = 0.002
"""Seconds that each report of the waiting graph waits."""


def model(work: Callable[[], object], name: str) -> Model:
    """Give a graph that adds 0, 1 or 2 lap by lap; each report does some work."""

    def adding(number: int) -> Any:
        def report(state: Mapping[str, Any]) -> dict[str, int]:
            work()
            return {"sum": state["sum"] + number, "laps": state["laps"] + 1}

        return report

    graph = StateGraph({"sum": Replace(initial=0), "laps": Replace(initial=0)}, name=name)
    graph.add_node("add", nothing).add_edge(START, "add")
    enough = Condition("enough", lambda state: state["laps"] >= LAPS, "laps")
    below = Condition("below", lambda state: state["sum"] < 0, "sum")
    rules = [Rule("end", "BELOW", below), Rule("end", "ENOUGH", enough), Rule("again", "MORE")]
    graph.add_conditional_edges("add", Decision(rules), {"end": END, "again": "add"})
    return Model(name, graph.compile(), {"add": {f"plus_{number}": adding(number) for number in range(3)}})


SLOW = model(lambda: sum(range(BUSY)), "slow")
WAITING = model(lambda: time.sleep(WAIT), "waiting")
QUICK = model(lambda: None, "quick")


def added(count: int) -> int:
    """What the reports of the slow graph do, so many times."""
    return sum(sum(range(BUSY)) for _ in range(count))


def rows() -> list[Row]:
    """Measure both graphs, the pool already started, and what the bare pool gains on the machine as it is."""
    with process_pool(2) as pool:

        def alone(graph: Model) -> Job:
            return Job(lambda: explore(graph), explored(graph))

        def worked(graph: Model) -> Job:
            return Job(lambda: explore(graph, executor=pool), explored(graph))

        def explored(graph: Model) -> Callable[[StateSpace], None]:
            size = explore(graph).size

            def check(space: StateSpace) -> None:
                assert space.size == size

            return check

        def summed(given: Any) -> None:
            assert sum(given) == added(1) * 400

        jobs = {
            "slow": alone(SLOW),
            "slow, workers": worked(SLOW),
            "waiting": alone(WAITING),
            "waiting, workers": worked(WAITING),
            "quick": alone(QUICK),
            "quick, workers": worked(QUICK),
            "bare": Job(lambda: [added(20) for _ in range(20)], summed),
            "bare, workers": Job(lambda: list(pool.map(added, [20] * 20)), summed),
        }
        seconds = medians(jobs, 3)
    gain = {name: seconds[name] / seconds[f"{name}, workers"] for name in ("slow", "waiting", "quick", "bare")}
    return [
        Row("two processes, bare sums: times as fast as one", gain["bare"]),
        Row("two processes, exploring with slow reports: times as fast as one", gain["slow"]),
        Row("the same beside bare sums", gain["slow"] / gain["bare"], 0.8, "least"),
        Row("two processes, exploring with reports that wait: times as fast as one", gain["waiting"], 1.5, "least"),
        Row("two processes, exploring with quick reports: times as fast as one", gain["quick"]),
    ]
