"""A script as a scenario that ``diagnosis run`` accepts, with what was observed as its expectation."""

from __future__ import annotations

from typing import Any

from diagnosis.runtime import Model, thaw
from diagnosis.scenarios import Scenario, observed, run_scenario
from diagnosis.verify.space import Script


def scenario_for(model: Model, script: Script, *, name: str, title: str) -> Scenario:
    """Turn a script into a scenario whose expectation is the observed run.

    Args:
        model: the graph under test.
        script: node and outcome, execution by execution.
        name: the scenario's name.
        title: what it shows.

    Returns:
        A scenario that passes, and shows the run.
    """
    calls: dict[str, list[Any]] = {}
    for node, outcome in script:
        if node not in model.unscripted:
            calls.setdefault(node, []).append(model.forms.spell(node, outcome))
    document: dict[str, Any] = {"name": name, "title": title, "graph": model.name, "script": calls}
    if model.input:
        document["input"] = thaw(model.input)
    result = run_scenario(Scenario.parse(document), model)
    if result.unused and result.run.ended:
        # The run ended sooner than the script: what it did not ask for is no part of what is shown.
        for item in reversed(result.unused):
            calls[item.rpartition("[")[0]].pop()
    run = result.run
    return Scenario.parse({**document, "expect": observed(run, model).to_map()})
