"""How long ``import diagnosis`` takes, and what it leaves alone."""

from __future__ import annotations

import importlib.util
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable

from benchmarks.loop import MISSING
from benchmarks.table import Row

HEAVY = ("numpy", "pandas", "graphviz", "IPython")


def loaded() -> list[str]:
    """Give those of the heavy packages that ``import diagnosis`` loads."""
    code = f"import sys, diagnosis; print(*(name for name in {HEAVY!r} if name in sys.modules))"
    return _python(code).split()


def _python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def _seconds(code: str) -> float:
    start = time.perf_counter()
    _python(code)
    return time.perf_counter() - start


def rows(rounds: int = 9) -> Iterable[Row]:
    """Measure.

    Args:
        rounds: how many times each import is timed, taking turns.
    """
    codes = {"nothing": "pass", "own": "import diagnosis", "engine": "from diagnosis import StateGraph"}
    if importlib.util.find_spec("langgraph") is not None:
        codes["peer"] = "import langgraph.graph"
    seconds: dict[str, list[float]] = {name: [] for name in codes}
    for code in codes.values():
        _python(code)
    for _ in range(rounds):
        for name, code in codes.items():
            seconds[name].append(_seconds(code))
    times = {name: statistics.median(found) for name, found in seconds.items()}
    own = times["own"] - times["nothing"]
    engine = times["engine"] - times["nothing"]
    peer = times["peer"] - times["nothing"] if "peer" in times else None
    yield Row("import diagnosis / start of Python", own / times["nothing"])
    yield Row(
        "import of langgraph.graph / of diagnosis with its engine", peer and peer / engine, 5, "least", note=MISSING
    )
    yield Row(f"packages that import diagnosis loads, of {', '.join(HEAVY)}", len(loaded()), 0, unit="")
