from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from diagnosis.catalog import diagnosis_model
from diagnosis.runtime import Model
from diagnosis.scenarios import Suite, load


@pytest.fixture
def model() -> Model:
    return diagnosis_model()


@pytest.fixture
def models(model: Model) -> dict[str, Model]:
    return {"diagnosis": model}


@pytest.fixture
def good() -> dict[str, Any]:
    """A scenario that says everything a scenario can say, except an error, and passes."""
    return {
        "name": "everything_said",
        "title": "All parts are there",
        "why": "So that each of them can be spoilt.",
        "graph": "diagnosis",
        "input": {"user_query": "why?", "session_id": "s"},
        "script": {
            "planner": ["COMPLETED"],
            "executor": [{"status": "COMPLETED"}],
            "gatekeeper": [{"status": "PASS", "trusted_bindings": 2}],
            "verifier": [{"verdict": "PASS", "facts_checked": [{"fact": "f", "verification": "direct_support"}]}],
            "composer": [{"update": {"composer_status": "FAILED"}}],
        },
        "expect": {
            "path": ["planner", "executor", "gatekeeper", "verified_input", "verifier", "composer", "fallback"],
            "final_node": "fallback",
            "termination_reason": "COMPOSER_FAILED",
            "degraded": True,
            "evidence_retry_count": 0,
            "outcomes": ["COMPLETED", "COMPLETED", "PASS", "COMPLETED", "PASS", "FAILED", "COMPLETED"],
            "counters": {"planner_retry_count": 0, "evidence_retry_count": 0},
            "transitions": [
                {"from": "planner", "to": "executor", "reason_code": "PLAN_READY", "attempt": 1},
                {"from": "executor", "to": "gatekeeper", "reason_code": "EVIDENCE_COLLECTED", "attempt": 1},
                {"from": "gatekeeper", "to": "verified_input", "reason_code": "EVIDENCE_TRUSTED", "attempt": 1},
                {"from": "verified_input", "to": "verifier", "reason_code": "VERIFIED_INPUT_READY", "attempt": 1},
                {"from": "verifier", "to": "composer", "reason_code": "VERDICT_PASS", "attempt": 1},
                {"from": "composer", "to": "fallback", "reason_code": "COMPOSER_FAILED", "attempt": 1},
            ],
        },
    }


@pytest.fixture
def load_text(tmp_path: Path, models: dict[str, Model]) -> Callable[..., Suite]:
    """Write a text, or bytes, to a file and load that file."""

    def write_and_load(content: str | bytes, name: str = "case.yaml") -> Suite:
        file = tmp_path / name
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return load(file, models)

    return write_and_load
