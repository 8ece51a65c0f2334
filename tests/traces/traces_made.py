"""Traces to check: of the scripts of a model, run for real; and small changes of them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from interleavings import replayed

from diagnosis import diagnosis_model, explore
from diagnosis.traces import TraceChecker

DATA = Path(__file__).parents[2] / "data" / "traces"


def plain(trace: Any) -> Any:
    """Give a trace as JSON gives it."""
    return json.loads(json.dumps(trace))


@cache
def contract_checker() -> TraceChecker:
    return TraceChecker(diagnosis_model())


@cache
def legal_texts() -> tuple[str, ...]:
    """Give every different trace of the Chat Diagnosis graph: each of its scripts is run."""
    model = diagnosis_model()
    runs = (replayed(model, script) for script in explore(model).scripts())
    return tuple(dict.fromkeys(json.dumps(model.trace_of(run)) for run in runs))


def traces_of(model: Any, most: int) -> tuple[list[Any], list[Any], bool]:
    """Give traces of runs that ended, of runs that did not, and whether these are all there are."""
    ended, stopped = [], []
    space = explore(model)
    if space.counts is None:
        return [], [], False
    scripts = list(itertools.islice(space.scripts(), most + 1))
    for script in scripts[:most]:
        run = replayed(model, script)
        trace = model.trace_of(run)
        if trace is not None:
            (ended if run.ended else stopped).append(plain(trace))
    return ended, stopped, len(scripts) <= most


def step(source: str, target: str, reason: str, attempt: int = 1) -> dict[str, Any]:
    return {"from": source, "to": target, "reason_code": reason, "attempt": attempt}


def straight() -> dict[str, Any]:
    """Give the trace of the shortest answered run."""
    return {
        "version": 1,
        "transitions": [
            step("planner", "executor", "PLAN_READY"),
            step("executor", "gatekeeper", "EVIDENCE_COLLECTED"),
            step("gatekeeper", "verified_input", "EVIDENCE_TRUSTED"),
            step("verified_input", "verifier", "VERIFIED_INPUT_READY"),
            step("verifier", "composer", "VERDICT_PASS"),
        ],
        "final_node": "composer",
        "termination_reason": "ANSWER_COMPOSED",
        "degraded": False,
        "evidence_retry_count": 0,
    }


def changed(
    change: Callable[[list[Any], dict[str, Any]], object], base: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Give the straight trace with a change: a function of its transitions and of itself."""
    trace = straight()
    change(trace["transitions"], trace)
    return trace
