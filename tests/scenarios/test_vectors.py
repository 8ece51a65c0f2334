"""Eighty recorded runs of the Chat Diagnosis graph come out exactly as they were recorded."""

import json
from pathlib import Path

import pytest

from diagnosis.catalog import diagnosis_model
from diagnosis.scenarios import Case, load, run_case, run_suite

VECTORS = Path(__file__).parents[1] / "data" / "vectors"
MODEL = diagnosis_model()
SUITE = load(VECTORS, {"diagnosis": MODEL})


def test_all_vectors_load() -> None:
    assert SUITE.refused == ()
    assert len(SUITE.cases) == 80


@pytest.mark.parametrize("case", SUITE.cases, ids=[case.scenario.name for case in SUITE.cases])
def test_a_vector_runs_as_recorded(case: Case) -> None:
    assert case.file is not None
    recorded = json.loads(Path(case.file).read_text(encoding="utf-8"))["expect"]
    result = run_case(case)
    assert result.mismatches == ()
    assert result.trace is not None
    assert {
        "path": list(result.path),
        "final_node": result.run.final_node,
        "termination_reason": result.run.reason,
        "degraded": result.trace["degraded"],
        "evidence_retry_count": result.trace["evidence_retry_count"],
        "counters": dict(result.counters),
        "outcomes": list(result.outcomes),
        "transitions": result.trace["transitions"],
    } == recorded


def test_the_vectors_run_as_one_suite() -> None:
    result = run_suite(SUITE)
    assert (result.passed, result.failed) == (80, 0)
