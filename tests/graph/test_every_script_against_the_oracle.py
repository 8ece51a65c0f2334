"""Every complete script of the alphabet, on the real runtime and on the oracle: not one may part."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from contract_oracle import ALPHABET, END, Oracle, Script, all_scripts
from graph_ports import NODES

from diagnosis.catalog import diagnosis_model
from diagnosis.runtime import CompiledGraph, Run, thaw
from diagnosis.scenarios import Scenario, run_scenario
from diagnosis.trace import build_trace, trace_of
from diagnosis.verify import explore

MODEL = diagnosis_model()

WRAPPER_KEYS = (
    "planner_mode",
    "planner_retry_count",
    "verifier_retry_count",
    "composer_retry_count",
    "evidence_retry_count",
    "verifier_verdict_ceiling",
    "effective_verdict",
    "composer_status",
)
"""What the wrapper writes or changes, ``final_answer`` aside, which it only takes away."""


@pytest.fixture(scope="module")
def oracle() -> dict[Script, Oracle]:
    return dict(all_scripts())


def as_maps(run: Run) -> list[dict[str, Any]]:
    return [
        {"node": each.node, "outcome": each.outcome, "reason_code": each.reason_code, "attempt": each.attempt}
        for each in run.state["orchestration_events"]
    ]


def feeding(feed: list[Iterator[tuple[str, Any]]]) -> CompiledGraph:
    """The shipped graph with actions that take their reports from the current feed, in the order of the script."""

    def action(node: str) -> Callable[..., Any]:
        async def act(state: Mapping[str, Any], config: Any) -> Any:
            scripted, report = next(feed[0])
            assert scripted == node
            return report(state) if callable(report) else report

        return act

    return MODEL.graph.with_actions({node: action(node) for node in NODES})


def runs(scripts: Iterable[Script], reports: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[Script, Run]]:
    feed: list[Iterator[tuple[str, Any]]] = [iter(())]
    graph = feeding(feed)

    async def each(batch: Sequence[Script]) -> list[tuple[Script, Run]]:
        found = []
        for script in batch:
            feed[0] = iter([(node, reports[node][outcome]) for node, outcome in script])
            found.append((script, await graph.arun({"run_id": "r"})))
        return found

    waiting = list(scripts)
    while waiting:
        batch, waiting = waiting[:50], waiting[50:]
        yield from asyncio.run(each(batch))


def test_the_oracle_and_the_exploration_list_the_same_10_903_scripts(oracle: dict[Script, Oracle]) -> None:
    listed = list(explore(MODEL).scripts())
    assert len(listed) == len(set(listed)) == len(oracle) == 10_903
    assert set(listed) == set(oracle)


def test_the_longest_legal_run_executes_18_nodes_and_the_shortest_2(oracle: dict[Script, Oracle]) -> None:
    assert {max(map(len, oracle)), min(map(len, oracle))} == {18, 2}


def test_every_script_runs_as_the_oracle_says_with_the_models_own_reports(oracle: dict[Script, Oracle]) -> None:
    for script, found in runs(oracle, MODEL.alphabet):
        expected = oracle[script]
        assert found.ended, script
        assert as_maps(found) == expected.state["orchestration_events"], script
        assert trace_of(found) == expected.trace(), script
        for key in WRAPPER_KEYS:
            # The oracle leaves an unknown verdict or status out; the model's reports write another word.
            if expected.state[key] is not None or found.state[key] != "UNKNOWN":
                assert found.state[key] == expected.state[key], (key, script)
        assert (found.state["final_answer"] is None) == (expected.state["final_answer"] is None), script


def test_a_fifth_of_the_scripts_leaves_the_oracles_whole_state_with_its_reports(oracle: dict[Script, Oracle]) -> None:
    for script, found in runs(list(oracle)[::5], ALPHABET):
        events = as_maps(found)
        state = {**thaw(found.state), "orchestration_events": events}
        assert state == oracle[script].state, script
        assert list(state) == list(oracle[script].state)
        assert build_trace(oracle[script].state).to_map() == oracle[script].trace(), script


def test_every_script_reports_the_outcomes_that_the_model_classifies(oracle: dict[Script, Oracle]) -> None:
    sample = list(oracle)[::25]
    for reports in (MODEL.alphabet, ALPHABET):
        for script, found in runs(sample, reports):
            named = tuple(
                (step.event.node, MODEL.outcome_of(step.event.node, step.report, step.after)) for step in found.steps
            )
            assert named == script


def test_scripted_fakes_run_as_the_oracle_says(oracle: dict[Script, Oracle]) -> None:
    """The way that scenario files take: spelled as short forms, read again, and run on fakes."""
    for number, (script, expected) in enumerate(list(oracle.items())[::60]):
        spelled: dict[str, list[Any]] = {}
        for node, outcome in script:
            if node not in MODEL.unscripted:
                spelled.setdefault(node, []).append(MODEL.forms.spell(node, outcome))
        scenario = Scenario.model_validate(
            {"name": f"s{number}", "title": "t", "graph": "diagnosis", "script": spelled, "expect": {}}
        )
        result = run_scenario(scenario, MODEL)
        assert result.passed, result.text()
        assert result.run is not None
        assert as_maps(result.run) == expected.state["orchestration_events"]


def test_the_oracle_ends_every_run(oracle: dict[Script, Oracle]) -> None:
    assert {run.node for run in oracle.values()} == {END}
