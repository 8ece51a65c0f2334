"""A script as a scenario that ``diagnosis run`` accepts, with what was observed as its expectation."""

from __future__ import annotations

import re
from typing import Any

from diagnosis.runtime import Model, thaw
from diagnosis.scenarios import Scenario, ScenarioResult, observed, run_scenario
from diagnosis.verify.paths import Script


def scenario_for(model: Model, script: Script, *, name: str, title: str) -> Scenario:
    """Turn a script into a scenario whose expectation is the observed run.

    Args:
        model: the graph under test.
        script: node, outcome and, where it opens an ``any_of`` fork, winner, execution by execution.
        name: the scenario's name.
        title: what it shows.

    Returns:
        A scenario that passes, and shows the run.
    """
    document, result = played(model, script, name=name, title=title)
    return Scenario.parse({**document, "expect": observed(result.run, model).to_map()})


def played(model: Model, script: Script, **head: str) -> tuple[dict[str, Any], ScenarioResult]:
    """Play a script on the real runtime.

    Args:
        model: the graph under test.
        script: node, outcome and, where it opens an ``any_of`` fork, winner, execution by execution.
        head: the name of the scenario, and what else comes first in it.

    Returns:
        The script as a scenario that expects nothing, and what came of it.
    """
    calls: dict[str, list[Any]] = {}
    winners: dict[str, list[str]] = {}
    for node, outcome, *won in script:
        if node not in model.unscripted:
            calls.setdefault(node, []).append(model.forms.spell(node, outcome))
        for winner in won:
            winners.setdefault(fork_of(model, node, winner), []).append(winner)
    document: dict[str, Any] = {**head, "graph": model.name, "script": calls}
    if winners:
        document["winners"] = winners
    if model.input:
        document["input"] = thaw(model.input)
    result = run_scenario(Scenario.parse(document), model)
    if result.unused and result.run.ended:
        # The run ended sooner than the script: what it did not ask for is no part of what is shown.
        for item in reversed(result.unused):
            calls[item.rpartition("[")[0]].pop()
    return document, result


def fork_of(model: Model, node: str, winner: str) -> str:
    """Give the name of a fork, as scenarios use it.

    Args:
        model: the graph.
        node: the node that opens it.
        winner: the name of one of its branches.
    """
    for fan_out in model.graph.step.fan_outs.all:
        for target in fan_out.targets if fan_out.source == node else ():
            if winner.startswith(target) and re.fullmatch(r"(\[\d+\])+", path := winner[len(target) :]):
                return node + path[: path.rindex("[")]
    raise AssertionError(f"node {node!r} opens no branch {winner!r}")
