"""Actions for the Chat Diagnosis graph that report what a test says, call by call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from diagnosis.actions import Actions
from diagnosis.factory import build_graph
from diagnosis.runtime import CompiledGraph, Run, RunConfig, RunError

NODES = (
    "planner",
    "executor",
    "gatekeeper",
    "verified_input",
    "verifier",
    "composer",
    "evidence_retry",
    "fallback",
)

TRUSTED = {"claim_id": "c1", "claim": "c", "tool_call_id": "t1", "quote": "q", "trusted": True, "reason": "found"}
GAP = {"facts_checked": [{"fact": "f", "verification": "no_evidence"}]}

GOOD: dict[str, Any] = {
    "planner": {"planner_status": "COMPLETED", "planner_output": {"goal": "g"}},
    "executor": {"executor_status": "COMPLETED", "executor_output": {"claims": []}, "tool_trace_summary": []},
    "gatekeeper": {"gatekeeper_status": "PASS", "gatekeeper_output": {}, "checked_bindings": [TRUSTED]},
    "verified_input": {"verified_input": {"bindings": [TRUSTED]}},
    "verifier": {"verifier_status": "COMPLETED", "effective_verdict": "PASS", "verifier_output": {}},
    "composer": {"composer_status": "COMPLETED", "composer_output": {}, "final_answer": "because"},
    "evidence_retry": {"evidence_retry_context": {"gaps": []}},
    "fallback": {"final_answer": "sorry"},
}
"""A report of each node, with which every node is content."""


class Ports:
    """Actions that keep what they were handed.

    A node's reports come in order, and the last one for ever. A report may be an exception, which is raised, or a
    function of (state, config), whose result is the report.
    """

    def __init__(self, **reports: Any) -> None:
        self.reports = {node: [GOOD[node]] for node in NODES}
        for node, given in reports.items():
            self.reports[node] = list(given) if isinstance(given, list) else [given]
        self.calls: list[tuple[str, dict[str, Any], RunConfig]] = []

    def action(self, node: str) -> Callable[..., Any]:
        async def act(state: Mapping[str, Any], config: RunConfig) -> Any:
            number = sum(1 for name, _, _ in self.calls if name == node)
            self.calls.append((node, dict(state), config))
            reports = self.reports[node]
            report = reports[min(number, len(reports) - 1)]
            if isinstance(report, Exception):
                raise report
            return report(state, config) if callable(report) else report

        return act

    @property
    def graph(self) -> CompiledGraph:
        return build_graph(Actions(**{node: self.action(node) for node in NODES}))

    def seen(self, node: str, key: str) -> list[Any]:
        """What each call of a node saw under a key."""
        return [state[key] for name, state, _ in self.calls if name == node]

    def attempts(self, node: str) -> list[int]:
        return [config.attempt for name, _, config in self.calls if name == node]


def arun(graph: CompiledGraph, values: Mapping[str, Any] | None = None, **options: Any) -> Run:
    return asyncio.run(graph.arun(values, **options))


def run(values: Mapping[str, Any] | None = None, **reports: Any) -> Run:
    """Run to the end with these reports in place of the good ones."""
    return arun(Ports(**reports).graph, values)


def failed(**reports: Any) -> RunError:
    """Run with reports that stop the run, and give its error."""
    found = arun(Ports(**reports).graph, check=False)
    assert found.stop == "error", found.summary
    assert found.error is not None
    return found.error


def good(node: str, **changes: Any) -> dict[str, Any]:
    """A good report with some keys changed."""
    return {**GOOD[node], **changes}


def events(run: Run) -> list[tuple[str, str, str, int]]:
    """The events in the state as plain values."""
    return [
        (event.node, event.outcome, event.reason_code, event.attempt) for event in run.state["orchestration_events"]
    ]
