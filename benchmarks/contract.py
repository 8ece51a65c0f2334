"""Every complete script of the Chat Diagnosis graph, executed by the real runtime with scripted async actions."""

from __future__ import annotations

import importlib.util
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, TypedDict

from benchmarks import bare
from benchmarks.loop import MISSING
from benchmarks.rounds import Job, async_medians
from benchmarks.table import Row
from diagnosis.catalog import diagnosis_model
from diagnosis.runtime import Model, freeze, resolve
from diagnosis.verify import Script, explore

EVERY = 200
"""Which scripts are the sample that LangGraph runs: one of so many."""

Reports = dict[str, list[Mapping[str, Any]]]


class Fakes:
    """Async actions that report what a script says, a new mapping at each call.

    Args:
        nodes: the nodes of the graph.
    """

    def __init__(self, nodes: Iterable[str]) -> None:
        self._left: dict[str, Iterator[Mapping[str, Any]]] = {}
        self.actions = {node: self._action(node) for node in nodes}

    def play(self, reports: Reports) -> None:
        """Take up a script."""
        self._left.clear()
        for node, calls in reports.items():
            self._left[node] = iter(calls)

    def _action(self, node: str) -> Callable[..., Any]:
        left = self._left

        async def action(state: Mapping[str, Any], config: object) -> dict[str, Any]:
            return {**next(left[node])}

        return action


def reports_of(model: Model, script: Script) -> Reports:
    """Give node -> the reports of its calls; what plain code would report is taken from the start of a run."""
    reports: Reports = {}
    _, start = model.graph.step.begin({})
    for node, outcome in script:
        reports.setdefault(node, []).append(freeze(resolve(model.alphabet[node][outcome], start)))
    return reports


async def run_all(model: Model, scripts: Iterable[tuple[Script, Reports]]) -> list[int]:
    """Run script after script in the running event loop; give the node executions of each, 0 where one did not end."""
    fakes = Fakes(model.graph.definition.names)
    graph = model.graph.with_actions(fakes.actions)
    lengths = []
    for _, reports in scripts:
        fakes.play(reports)
        run = await graph.arun({"run_id": "benchmark"})
        lengths.append(len(run.events) if run.ended else 0)
    return lengths


def langgraph(model: Model, path: list[str]) -> Any:
    """Give the graph for LangGraph, which is spared the guards and the wrapper: its router is told where to go."""
    from langgraph import graph as peer

    keys: dict[str, Any] = dict.fromkeys(model.graph.definition.keys, Any)
    keys["orchestration_events"] = Annotated[list[Any], operator.add]
    built = peer.StateGraph(TypedDict("state", keys))  # type: ignore[operator]
    names = model.graph.definition.names
    turn = {"at": 0}

    def following(state: Mapping[str, Any]) -> str:
        turn["at"] += 1
        return path[turn["at"]] if turn["at"] < len(path) else "end"

    def named(node: str) -> Callable[..., Any]:
        async def action(state: Mapping[str, Any]) -> dict[str, Any]:
            return {"final_answer": node, "orchestration_events": [node]}

        return action

    for node in names:
        built.add_node(node, named(node))
        built.add_conditional_edges(node, following, {**{name: name for name in names}, "end": peer.END})
    built.add_edge(peer.START, path[0])
    compiled = built.compile()

    async def once() -> Any:
        turn["at"] = 0
        return await compiled.ainvoke({"orchestration_events": []}, {"recursion_limit": 100})

    return once


def rows(rounds: int = 5) -> Iterable[Row]:
    """Measure.

    Args:
        rounds: how many rounds.
    """
    model = diagnosis_model()
    scripts = [(script, reports_of(model, script)) for script in explore(model).scripts()]
    lengths = [len(script) for script, _ in scripts]
    nodes, routes = bare.async_nodes(), {length: bare.router(length) for length in set(lengths)}

    async def bare_all() -> int:
        # The bare loop goes round in threes, so that a run may be up to two steps longer than asked for.
        return sum([len((await bare.arun(nodes, routes[length]))["events"]) for length in lengths])

    steps = sum(-(-length // 3) * 3 for length in lengths)

    def bare_is_right(found: int) -> None:
        assert found == steps

    def all_right(found: list[int]) -> None:
        assert found == lengths

    sample = scripts[::EVERY]

    def sample_right(found: list[int]) -> None:
        assert found == lengths[::EVERY]

    jobs = {
        "bare": Job(bare_all, bare_is_right),
        "own": Job(lambda: run_all(model, scripts), all_right),
        "sample": Job(lambda: run_all(model, sample), sample_right, repeat=20),
    }
    if importlib.util.find_spec("langgraph") is not None:
        paths = [[node for node, _ in script] for script, _ in sample]
        peers = [langgraph(model, path) for path in paths]

        async def peer_all() -> list[Any]:
            return [await once() for once in peers]

        def peer_is_right(found: list[Any]) -> None:
            assert [state["orchestration_events"] for state in found] == paths

        jobs["peer"] = Job(peer_all, peer_is_right)
    times = async_medians(jobs, rounds)
    executions = sum(lengths)
    per_step, bare_step = times["own"] / executions, times["bare"] / steps
    yield Row(
        f"all {len(scripts)} scripts, {executions} node executions / bare loop for as many", per_step / bare_step, 10
    )
    yield Row("all scripts", times["own"], 2, unit=" s")
    peer = times.get("peer")
    yield Row(
        f"LangGraph ainvoke / arun, {len(sample)} scripts", peer and peer / times["sample"], 60, "least", note=MISSING
    )
