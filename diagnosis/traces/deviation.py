"""Deviations: where a recorded trace departs from its graph, each of exactly one class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from diagnosis.runtime import DiagnosisError

CLASSES: Final = (
    "malformed",
    "version_skew",
    "unknown_node",
    "unknown_reason",
    "illegal_edge",
    "limit_exceeded",
    "guard_violated",
    "reason_mismatch",
    "summary_mismatch",
    "incomplete",
)
"""Every class; where more than one fits, the first counts."""

LOG_FAULTS: Final = CLASSES[:2]
"""The classes that tell of the log, and not of what the graph did."""


MAX_TEXT: Final = 500
"""Characters of what a trace says that are kept of one thing: a record may hold as many as it likes."""


def clipped(text: str, most: int = MAX_TEXT) -> str:
    """Give a text, shortened where it is very long.

    Args:
        text: any text.
        most: characters at most.
    """
    return text if len(text) <= most else f"{text[: most - 3]}..."


class TraceFileError(DiagnosisError):
    """A file of traces cannot be read, or a graph is too large to check traces against."""


class Finding(NamedTuple):
    """A deviation inside one trace.

    Attributes:
        kind: its class, one of :data:`CLASSES`.
        at: the index of the first transition concerned; ``None`` where there is none.
        detail: what was found, and what is allowed.
        conditions: what should have held, as ``node.RULE.condition=T``, or ``=F`` for what should not.
    """

    kind: str
    at: int | None
    detail: str
    conditions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Deviation:
    """A deviation with its place.

    Attributes:
        file: the file; ``None`` where the trace came from elsewhere.
        line: its line in it, from 1; without a file the place of the trace among those given.
        run_id: the run, where recorded.
        kind: its class, one of :data:`CLASSES`.
        at: the index of the first transition concerned; ``None`` where there is none.
        detail: what was found, and what is allowed.
        conditions: what should have held, as ``node.RULE.condition=T``, or ``=F`` for what should not.
        item: the place in a JSON list, from 0; ``None`` outside of one.
    """

    file: str | None
    line: int
    run_id: str | None
    kind: str
    at: int | None
    detail: str
    conditions: tuple[str, ...] = ()
    item: int | None = None

    @property
    def in_log(self) -> bool:
        """Whether the log is at fault, and not what the graph did."""
        return self.kind in LOG_FAULTS

    def __str__(self) -> str:
        item = "" if self.item is None else f" item {self.item}"
        run = "" if self.run_id is None else f" run {self.run_id!r}"
        at = "" if self.at is None else f" at transition {self.at}"
        return f"{self.file or 'trace'}:{self.line}{item}{run}: {self.kind}{at}: {self.detail}"

    def to_json(self) -> dict[str, Any]:
        """Give the deviation as ``diagnosis trace --json`` prints it."""
        return {
            "file": self.file,
            "line": self.line,
            "run_id": self.run_id,
            "class": self.kind,
            "at": self.at,
            "detail": self.detail,
            "conditions": list(self.conditions),
            "item": self.item,
        }
