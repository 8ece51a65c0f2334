"""Who won the ``any_of`` forks of a run."""

from __future__ import annotations

from collections.abc import Iterator

from diagnosis.runtime import CompiledGraph, Event, FanOut, Run
from diagnosis.runtime.fanouts import Origin


def contests_of(graph: CompiledGraph) -> list[FanOut]:
    """Give the fan-outs of a graph that wait for any of their branches.

    Args:
        graph: the graph.
    """
    return [fan_out for fan_out in graph.step.fan_outs.all if fan_out.fork.wait == "any_of"]


def winners_of(run: Run) -> Iterator[str]:
    """Go through the ``any_of`` forks of a run that were won, as ``source->first node of the branch``.

    Args:
        run: a run, ended or not.
    """
    if not contests_of(run.graph):
        return
    paths = [step.position.path for step in run.steps]
    if run.error is not None:
        # Where it failed: a fork around that place was not won.
        paths.append(run.error.branch_path)
    for index, event in enumerate(run.events[:-1]):
        path, inner = paths[index], paths[index + 1]
        opened = len(inner) == len(path) + 1 and inner[:-1] == path
        if opened and _fan_out(run, event).fork.wait == "any_of":
            inside = (other[: len(inner)] == inner for other in paths[index + 1 :])
            if run.ended or not all(inside):
                yield f"{event.node}->{run.events[index + 1].node}"


def _fan_out(run: Run, event: Event) -> FanOut:
    """Give the fan-out that an event opened."""
    choice, definition = event.choice, run.graph.definition
    origin: Origin = "edges" if choice.route is None else "router" if choice.rule is None else "rule"
    if definition.commanded(choice):
        origin = "goto"
    found = run.graph.step.fan_outs.of(event.node, origin, choice.rule if origin == "rule" else None)
    assert found is not None
    return found
