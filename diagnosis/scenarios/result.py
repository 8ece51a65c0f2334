"""What running scenarios came to."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from diagnosis.runtime import History, Run, Shown, one_of
from diagnosis.scenarios.scenario import Scenario
from diagnosis.scenarios.suite import NoSuchScenarioError, Refusal


@dataclass(frozen=True, eq=False, repr=False)
class ScenarioResult(Shown):
    """What one scenario came to.

    Attributes:
        scenario: the scenario.
        file: where it came from; ``None`` for one made in code.
        mismatches: every difference from what was expected, the most telling first; empty if it passed.
        run: the run.
        trace: the run's trace map; ``None`` where nothing had happened.
        counters: state key -> value at the end.
        unused: the outcomes that no call asked for, such as ``verifier[1]``.
        unused_winners: the winners of forks that did not open, such as ``fast[0] of race``.
    """

    scenario: Scenario
    file: str | None
    mismatches: tuple[str, ...]
    run: Run
    trace: Mapping[str, Any] | None
    counters: Mapping[str, Any]
    unused: tuple[str, ...]
    unused_winners: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The scenario's name."""
        return self.scenario.name

    @property
    def passed(self) -> bool:
        """Whether all that was expected holds."""
        return not self.mismatches

    @property
    def path(self) -> tuple[str, ...]:
        """The nodes in the order of their executions."""
        return self.run.path

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The outcomes of the events, in order."""
        return tuple(event.outcome for event in self.run.events)

    @property
    def error(self) -> str | None:
        """The text of the run's error, or ``None`` where it ended."""
        return None if self.run.error is None else str(self.run.error)

    @property
    def summary(self) -> str:
        """One line that says how the run stopped."""
        return self.run.summary

    @property
    def places(self) -> tuple[str, ...]:
        """The path, where a node in a branch has the branch's place behind it, such as ``check[1]``."""
        return self.run.places

    def to_json(self) -> dict[str, Any]:
        """Give the result as plain data for JSON."""
        return {
            "name": self.name,
            "file": self.file,
            "passed": self.passed,
            "mismatches": list(self.mismatches),
            "path": list(self.path),
            "trace": plain(self.trace),
            "counters": plain(self.counters),
            "error": self.error,
        }

    def text(self) -> str:
        """Give the verdict, the path and every mismatch."""
        lines = [f"{'pass' if self.passed else 'FAIL'}  {self.name}"]
        if self.scenario.title:
            lines[0] += f": {self.scenario.title}"
        lines.append(f"      {' > '.join(self.path) or 'nothing was executed'}")
        lines.append(f"      {self.summary}")
        lines += [f"      - {mismatch}" for mismatch in self.mismatches]
        return "\n".join(lines)


@dataclass(frozen=True, eq=False, repr=False)
class SuiteResult(Shown):
    """What a suite came to.

    Attributes:
        results: one for each scenario that ran, in order.
        refused: the files that were not run.
    """

    results: tuple[ScenarioResult, ...]
    refused: tuple[Refusal, ...] = ()

    def __iter__(self) -> Iterator[ScenarioResult]:
        return iter(self.results)

    def __getitem__(self, name: str) -> ScenarioResult:
        for result in self.results:
            if result.name == name:
                return result
        raise NoSuchScenarioError(f"no scenario named {name!r} ran; there are {one_of(each.name for each in self)}")

    @property
    def passed(self) -> int:
        """How many scenarios passed."""
        return sum(result.passed for result in self.results)

    @property
    def failed(self) -> int:
        """How many scenarios ran and did not pass."""
        return len(self.results) - self.passed

    def to_json(self) -> dict[str, Any]:
        """Give all results as plain data for JSON."""
        return {
            "scenarios": [result.to_json() for result in self.results],
            "passed": self.passed,
            "failed": self.failed,
            "refused": [refusal.to_json() for refusal in self.refused],
        }

    def text(self) -> str:
        """Give a line a scenario, with its first mismatch, and a line a refusal."""
        lines = [f"{self.passed} passed, {self.failed} failed, {len(self.refused)} refused"]
        for result in self.results:
            lines.append(f"  {'pass' if result.passed else 'FAIL'}  {result.name}")
            lines += [f"        {mismatch}" for mismatch in result.mismatches[:1]]
        lines += [f"  refused: {refusal.error}" for refusal in self.refused]
        return "\n".join(lines)


def plain(value: Any) -> Any:
    """Give a value as JSON can hold it; what JSON has no form for becomes a text.

    Args:
        value: anything from a trace or a state.
    """
    if isinstance(value, Enum):
        return plain(value.value)
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | History):
        return [plain(inner) for inner in value]
    return str(value)
