"""Measuring several things side by side, so that a clock that drifts slows all of them alike."""

from __future__ import annotations

import asyncio
import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Job:
    """One thing to measure.

    Attributes:
        call: does it once; a coroutine function where it is to be awaited.
        check: raises where the result is wrong; called once for every timed call.
        repeat: how many calls make one timing, so that all timings are of a like length.
        every: in which rounds it takes part: each, every second, ...
    """

    call: Callable[[], Any]
    check: Callable[[Any], None]
    repeat: int = 1
    every: int = 1


def medians(jobs: Mapping[str, Job], rounds: int) -> dict[str, float]:
    """Time every job once a round, round after round.

    Args:
        jobs: name -> job with a plain call.
        rounds: how many rounds.

    Returns:
        Name -> the median of its seconds a call.
    """
    return asyncio.run(_medians({name: (job, False) for name, job in jobs.items()}, rounds))


def async_medians(jobs: Mapping[str, Job], rounds: int) -> dict[str, float]:
    """Do the same with coroutine functions, all in one event loop."""
    return asyncio.run(_medians({name: (job, True) for name, job in jobs.items()}, rounds))


async def _medians(jobs: Mapping[str, tuple[Job, bool]], rounds: int) -> dict[str, float]:
    for job, awaited in jobs.values():
        await _timed(job, awaited)
    # What the imports left behind is of no interest to the collector while the clock runs.
    gc.collect()
    gc.freeze()
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for index in range(rounds):
        for name, (job, awaited) in jobs.items():
            if index % job.every == 0:
                gc.collect()  # so that nobody pays for the garbage of the one before
                seconds[name].append(await _timed(job, awaited))
    gc.unfreeze()
    return {name: statistics.median(found) for name, found in seconds.items()}


async def _timed(job: Job, awaited: bool) -> float:
    call, check = job.call, job.check
    spent = 0.0
    for _ in range(job.repeat):
        start = time.perf_counter()
        result = await call() if awaited else call()
        spent += time.perf_counter() - start
        check(result)
    return spent / job.repeat
