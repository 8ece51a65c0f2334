"""Recorded traces: checking a log against parsing it, and against token replay in PM4Py.

PM4Py is no dependency: name an interpreter that has it in ``PM4PY_PYTHON``, else those rows are skipped.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from benchmarks.contract import Fakes, reports_of
from benchmarks.table import Row
from diagnosis.catalog import diagnosis_model
from diagnosis.traces import TraceChecker, check_traces
from diagnosis.verify import explore

COUNT, MANY = 50_000, 1_000_000
REPLAYED = 20_000
SKIPPED = "no PM4Py: name an interpreter in PM4PY_PYTHON"


def texts() -> list[str]:
    """Give every different trace of the Chat Diagnosis graph, each from a real run of one of its scripts."""
    import asyncio

    model = diagnosis_model()
    fakes = Fakes(model.graph.definition.names)
    graph = model.graph.with_actions(fakes.actions)
    found: dict[str, None] = {}

    async def run_all() -> None:
        for script in explore(model).scripts():
            fakes.play(reports_of(model, script))
            found[json.dumps(model.trace_of(await graph.arun({"run_id": "benchmark"})))] = None

    asyncio.run(run_all())
    return list(found)


def repeated(count: int) -> Iterator[bytes]:
    """Give records as they are stored: an id of its own, and a trace that is one of few."""
    known = texts()
    for number in range(count):
        yield f'{{"run_id": "run-{number:09}", "orchestration_trace": {known[number * 7 % len(known)]}}}\n'.encode()


def distinct(count: int) -> Iterator[bytes]:
    """Give traces of which no two have one text: the id stands inside the trace."""
    known = texts()
    for number in range(count):
        yield f'{{"run_id": "run-{number:09}", {known[number * 7 % len(known)][1:]}\n'.encode()


def written(path: Path, lines: Iterable[bytes]) -> Path:
    with path.open("wb") as stream:
        stream.writelines(lines)
    return path


def parsing(path: Path) -> float:
    """Give the seconds of this core that json.loads takes on the lines of a file; reading them is not counted."""
    spent, loads = 0.0, json.loads
    with path.open("rb") as stream:
        while block := list(islice(stream, 2_000)):
            start = time.process_time()
            for line in block:
                loads(line)
            spent += time.process_time() - start
    return spent


def checking(checker: TraceChecker, path: Path, count: int) -> float:
    """Give the seconds of this core that checking a file takes; reading it is counted."""
    start = time.process_time()
    report = check_traces(checker, path)
    spent = time.process_time() - start
    assert (report.conforming, report.checked) == (count, count), report.summary
    return spent


def compared(checker: TraceChecker, path: Path, count: int, rounds: int) -> float:
    """Give the median over rounds of the time of checking in that of parsing, one right after the other."""
    ratios = []
    for _ in range(rounds):
        gc.collect()
        ratios.append(checking(checker, path, count) / parsing(path))
    return statistics.median(ratios)


def _peak() -> float:
    """Give the MiB at the peak of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return float("nan")


def child(path: str, count: str) -> None:
    """Check a file in a process of its own, and print the ratio and the peaks of a tenth and of the whole."""
    checker = TraceChecker(diagnosis_model())
    with Path(path).open("rb") as stream:
        check_traces(checker, islice(stream, int(count) // 10))
    tenth = _peak()
    spent = checking(checker, Path(path), int(count))
    whole = _peak()
    print(json.dumps({"ratio": spent / parsing(Path(path)), "tenth": tenth, "whole": whole, "seconds": spent}))


def replayed(path: Path) -> float | None:
    """Give the seconds of PM4Py, parsing included, or ``None`` where it is not there."""
    python = os.environ.get("PM4PY_PYTHON")
    if not python:
        return None
    edges = [[edge.source, edge.target] for edge in diagnosis_model().graph.topology.edges]
    script = Path(__file__).with_name("token_replay.py")
    done = subprocess.run([python, str(script), str(path), json.dumps(edges)], capture_output=True, text=True)
    return float(done.stdout.split()[-1]) if done.returncode == 0 else None


def rows(rounds: int = 5) -> Iterable[Row]:
    """Measure.

    Args:
        rounds: how many rounds.
    """
    checker = TraceChecker(diagnosis_model())
    with tempfile.TemporaryDirectory() as folder:
        for name, made, bound in (("repeated", repeated, 20), ("all distinct", distinct, 7)):
            path = written(Path(folder) / "log.jsonl", made(COUNT))
            ratio = compared(checker, path, COUNT, rounds)
            yield Row(f"check {COUNT:,} traces from a file, texts {name} / json.loads on its lines", ratio, 0.65)
            path = written(path, made(REPLAYED))
            peer = replayed(path)
            own = statistics.median(checking(checker, path, REPLAYED) for _ in range(rounds))
            measure = f"PM4Py token replay / check, {REPLAYED:,} traces, texts {name}, parsing included"
            yield Row(measure, peer and peer / own, bound, "least", note=SKIPPED)
        path = written(Path(folder) / "log.jsonl", repeated(MANY))
        command = [sys.executable, "-c", "import sys; from benchmarks import traces; traces.child(*sys.argv[1:])"]
        done = subprocess.run([*command, str(path), str(MANY)], capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        yield Row(f"check {MANY:,} traces from a file / json.loads on its lines", found["ratio"], 0.65)
        yield Row("peak memory of it", found["whole"], 64, unit=" MiB")
        yield Row("growth of the peak from a tenth of it", found["whole"] - found["tenth"], 5, unit=" MiB")
