"""Running scenarios: script in, result out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from types import MappingProxyType
from typing import Any

from diagnosis.runtime import CompiledGraph, Model, Run, Winners, thaw
from diagnosis.scale import WorkersError
from diagnosis.scenarios.compare import differences, transitions_of
from diagnosis.scenarios.fakes import Fakes
from diagnosis.scenarios.result import ScenarioResult, SuiteResult
from diagnosis.scenarios.scenario import Expect, Scenario
from diagnosis.scenarios.script import Script
from diagnosis.scenarios.suite import Case, Models, Suite, model_named


def run_scenario(scenario: Scenario, model: Model, *, file: str | None = None) -> ScenarioResult:
    """Run a scenario and compare the run with what it expects.

    Args:
        scenario: the scenario.
        model: the model of its graph.
        file: where it came from, for the result.

    Raises:
        DocumentError: the scenario does not fit the graph.
    """
    return run_case(Case(scenario, file, model, Script.of(scenario, model)))


def run_case(case: Case) -> ScenarioResult:
    """Run a scenario that was loaded, and compare the run with what it expects.

    Args:
        case: the scenario with its model and script.
    """
    scenario, model = case.scenario, case.model
    run, unused = play(case)
    left = tuple(f"{branch} of {fork}" for fork, branches in run.unused_winners.items() for branch in branches)
    trace = model.trace_of(run)
    counters = MappingProxyType({key: run.full_state[key] for key in model.counters})
    mismatches = tuple(differences(scenario.expect, run, trace, counters, unused, left))
    return ScenarioResult(scenario, case.file, mismatches, run, trace, counters, unused, left)


def play(case: Case) -> tuple[Run, tuple[str, ...]]:
    """Run a scenario that was loaded, and compare nothing.

    Args:
        case: the scenario with its model and script.

    Returns:
        The run, and the outcomes that no call asked for, such as ``verifier[1]``.
    """
    fakes = Fakes(case.script, case.model)
    graph = case.model.graph
    run = _run(graph.with_actions(fakes.actions), _input(case.scenario, graph), case.scenario.winners)
    return run, fakes.unused


def run_suite(
    suite: Suite,
    models: Models | None = None,
    progress: Callable[[ScenarioResult], object] | None = None,
    *,
    executor: Executor | None = None,
) -> SuiteResult:
    """Run every scenario of a suite.

    Args:
        suite: the suite.
        models: the models to run with; those it was loaded with where absent.
        progress: called with each result as it comes.
        executor: workers that run them, such as a ``ProcessPoolExecutor``, or Dask's ``Client.get_executor()``; none
            where absent. What comes out is the same.

    Raises:
        DocumentError: a scenario does not fit its graph among ``models``.
        NotImportableError: there is an executor, and its workers cannot import a model.
        WorkersError: they were lost; its ``partial`` is a result with the scenarios that had run.
    """
    cases = suite.cases if models is None else [_case_with(case, models) for case in suite.cases]
    results: list[ScenarioResult] = []
    coming: Iterator[ScenarioResult] = map(run_case, cases)
    if executor is not None:
        from diagnosis.scenarios.sweep import sweep  # it runs scenarios one by one as well

        coming = sweep(cases, executor)
    try:
        for result in coming:
            results.append(result)
            if progress is not None:
                progress(result)
    except WorkersError as error:
        raise WorkersError(
            f"{error}; {len(results)} of {len(cases)} scenarios had run, and are in the error's 'partial'; "
            "run the others again with other workers, or without an executor",
            SuiteResult(tuple(results), suite.refused),
        ) from error
    return SuiteResult(tuple(results), suite.refused)


def _case_with(case: Case, models: Models) -> Case:
    model = model_named(case.scenario.graph, models)
    return case if model is case.model else Case(case.scenario, case.file, model, Script.of(case.scenario, model))


def observed(run: Run, model: Model) -> Expect:
    """Give the expectation that a run fulfils, such as for saving it as a scenario.

    Args:
        run: a run of the model's graph.
        model: the model.

    Returns:
        All that a file can expect of it. A counter that holds no whole number is left out, and so is what the model's
        trace does not tell.
    """
    trace = model.trace_of(run) or {}
    seen: dict[str, Any] = {
        "path": run.path,
        "final_node": run.final_node,
        "termination_reason": run.reason,
        "outcomes": tuple(event.outcome for event in run.events),
        "counters": {key: run.full_state[key] for key in model.counters if type(run.full_state[key]) is int},
        "transitions": transitions_of(run),
    }
    if model.graph.step.fan_outs.all:
        seen["branches"] = tuple(event.branch for event in run.events)
    seen |= {name: trace[name] for name in ("degraded", "evidence_retry_count") if name in trace}
    if run.error is not None:
        seen["error"] = str(run.error)
    return Expect.model_validate(thaw(seen))


def _input(scenario: Scenario, graph: CompiledGraph) -> dict[str, Any]:
    """Give the input of a run, named after its scenario so that outputs repeat."""
    values = dict(scenario.input)
    id_key = graph.definition.id_key
    if id_key is not None:
        values.setdefault(id_key, scenario.name)
    return values


def _run(graph: CompiledGraph, values: dict[str, Any], winners: Winners | None = None) -> Run:
    """Run to the end without an event loop, which scripted actions do not need: none of them ever waits."""
    running = graph.arun(values, check=False, winners=winners)
    try:
        running.send(None)
    except StopIteration as done:
        run: Run = done.value
        return run
    running.close()
    raise AssertionError("a scripted action waited for something")
