"""What checking many traces came to: counts, deviations, and what the traces show of the graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from diagnosis.runtime import Model, Shown
from diagnosis.traces.checker import Step
from diagnosis.traces.deviation import CLASSES, LOG_FAULTS, Deviation
from diagnosis.traces.durations import Durations
from diagnosis.traces.items import Item, counted


@dataclass(frozen=True, repr=False)
class TraceReport(Shown):
    """What a set of recorded traces came to.

    Attributes:
        model: the graph.
        conforming: traces of legal runs.
        deviating: traces that deviate; the malformed ones, which are JSON but no traces, included.
        unreadable: lines and documents that are no JSON, or too long.
        deviations: the deviations in the order of the record, what could not be read included; only the first ones
            where there are very many.
        by_class: class -> how many deviations there were of it, every class in order.
        refused: what could not be read at all: file -> why.
        fitness: the mean fitness of the traces that have one; ``None`` where none has.
        transition_counts: how often each transition was shown, as (source, target, reason code), START and END
            included; of deviating traces, too.
        terminations: how traces ended: (final node, reason code) -> how many, of those that deviate, too.
        durations: node -> how long its executions took, where times were recorded.
        outside: what the graph does not have and was seen nevertheless: ``node x``, ``reason x`` or ``outcome n.x`` ->
            how often.
    """

    model: Model
    conforming: int
    deviating: int
    unreadable: int
    deviations: tuple[Deviation, ...]
    by_class: Mapping[str, int]
    refused: Mapping[str, str]
    fitness: float | None
    transition_counts: Mapping[Step, int]
    terminations: Mapping[tuple[str, str], int]
    durations: Mapping[str, Durations]
    outside: Mapping[str, int]

    @property
    def checked(self) -> int:
        """How many traces were checked."""
        return self.conforming + self.deviating

    @property
    def conforms(self) -> bool:
        """Whether everything could be read, and every trace is that of a legal run."""
        return not (self.deviating or self.unreadable or self.refused) and self.checked > 0

    @property
    def log_faults(self) -> int:
        """The deviations that tell of the log, and not of what the graph did."""
        return sum(self.by_class[kind] for kind in LOG_FAULTS)

    @property
    def behaviour_faults(self) -> int:
        """The deviations that tell of what the graph did."""
        return sum(self.by_class.values()) - self.log_faults

    @cached_property
    def items(self) -> Counter[Item]:
        """The coverage items that the traces show: (kind, name) -> how often; see :func:`items_of`."""
        return counted(self.model, self.transition_counts)

    @property
    def summary(self) -> str:
        """The counts in one line."""
        found = f"{self.checked} checked, {self.conforming} conforming, {self.deviating} deviating"
        fitness = "" if self.fitness is None else f", fitness {self.fitness:.3f}"
        return f"{found}, {self.unreadable} unreadable{fitness}"

    def text(self) -> str:
        """Give the counts, each deviation that is kept, and what the graph does not have; files by their last names."""
        lines = [f"Traces of {self.model.name}: {self.summary}"]
        for each in self.deviations:
            lines.append(f"  {replace(each, file=None if each.file is None else Path(each.file).name)}")
        more = sum(self.by_class.values()) - len(self.deviations)
        lines += [f"  and {more} more"] if more else []
        lines += [f"  refused {file}: {why}" for file, why in self.refused.items()]
        lines += [f"  outside the graph: {name} ({hits} times)" for name, hits in self.outside.items()]
        return "\n".join(lines)

    def to_json(self, *, deviations: bool = True) -> dict[str, Any]:
        """Give the report as ``diagnosis trace --json`` prints it.

        Args:
            deviations: whether to list them; else the list is empty.
        """
        return {
            "checked": self.checked,
            "conforming": self.conforming,
            "deviating": self.deviating,
            "unreadable": self.unreadable,
            "deviations": [deviation.to_json() for deviation in self.deviations] if deviations else [],
            "fitness": self.fitness,
            "classes": dict(self.by_class),
            "refused": [{"file": file, "error": why} for file, why in self.refused.items()],
            "outside": dict(self.outside),
        }


def every_class(counts: Mapping[str, int]) -> dict[str, int]:
    """Give a count of each class, in order.

    Args:
        counts: those that are not 0.
    """
    return {kind: counts.get(kind, 0) for kind in CLASSES}
