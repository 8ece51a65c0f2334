"""What a long run keeps in memory: every event, report and state of it."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterable

from benchmarks import bare
from benchmarks.loop import graph
from benchmarks.table import Row

SHORT, LONG = 999, 10_002


def kept(steps: int) -> float:
    """Give the KiB at the peak of a run of so many steps, and nothing that the run does not keep."""
    own = graph(bare.nodes(), steps)
    own.run(recursion_limit=steps)
    gc.collect()
    tracemalloc.start()
    try:
        run = own.run(recursion_limit=steps)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert run.ended
    assert len(run.events) >= steps
    return peak / 1024


def rows() -> Iterable[Row]:
    """Measure."""
    short, long = kept(SHORT), kept(LONG)
    yield Row(f"peak memory of a run of {LONG:,} steps, a step", long / LONG, 1, unit=" KiB")
    yield Row(f"the same / that of {SHORT:,} steps", long / LONG / (short / SHORT), 1.15)
