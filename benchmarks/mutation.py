"""Every mutant of the Chat Diagnosis graph put to the shipped scenarios, what they miss compared over every script."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable

from benchmarks.table import Row
from diagnosis.catalog import diagnosis_model
from diagnosis.mutation import mutate
from diagnosis.scenarios import load
from diagnosis.views.shipped import shipped_scenarios


def rows(rounds: int = 3) -> Iterable[Row]:
    """Measure.

    Args:
        rounds: how many rounds.
    """
    model = diagnosis_model()
    suite = load(shipped_scenarios(), {model.name: model})
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        report = mutate(model, suite)
        times.append(time.perf_counter() - began)
        assert report.score == 1
    yield Row(
        f"all {len(report.results)} mutants against {len(report.scenarios)} scenarios",
        statistics.median(times),
        10,
        unit=" s",
    )
