"""The enumerations of the Chat Diagnosis graph (contract, section 2)."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, StrEnum
from functools import cache
from typing import TypeVar


class PlannerStatus(StrEnum):
    """What the planner reports of itself."""

    COMPLETED = "COMPLETED"
    INVALID_OUTPUT = "INVALID_OUTPUT"
    RETRYABLE_FAILED = "RETRYABLE_FAILED"
    FAILED = "FAILED"


class ExecutorStatus(StrEnum):
    """What the executor reports of itself; it is never retried."""

    COMPLETED = "COMPLETED"
    FAILED = "FAILED"


class GatekeeperStatus(StrEnum):
    """How many of the citations are genuine: all, some, or none."""

    PASS = "PASS"
    LOW_CONFID = "LOW_CONFID"
    REJECT = "REJECT"


class VerifierStatus(StrEnum):
    """What the verifier reports of itself."""

    COMPLETED = "COMPLETED"
    INVALID_OUTPUT = "INVALID_OUTPUT"
    RETRYABLE_FAILED = "RETRYABLE_FAILED"
    FAILED = "FAILED"


class ComposerStatus(StrEnum):
    """What the composer reports of itself."""

    COMPLETED = "COMPLETED"
    INVALID_OUTPUT = "INVALID_OUTPUT"
    RETRYABLE_FAILED = "RETRYABLE_FAILED"
    FAILED = "FAILED"


class Verdict(StrEnum):
    """The judgement on the facts, best first: PASS ranks above LOW_CONFID, that above REJECT."""

    PASS = "PASS"
    LOW_CONFID = "LOW_CONFID"
    REJECT = "REJECT"

    @property
    def rank(self) -> int:
        """0 for the best verdict, 2 for the worst."""
        return _RANKS[self]


_RANKS = {verdict: rank for rank, verdict in enumerate(Verdict)}


class PlannerMode(StrEnum):
    """Whether the planner plans the whole investigation or only what closes a gap."""

    INITIAL = "INITIAL"
    EVIDENCE_GAP_ONLY = "EVIDENCE_GAP_ONLY"


RETRYABLE = frozenset({"INVALID_OUTPUT", "RETRYABLE_FAILED"})
"""The statuses after which a node may be executed again."""

UNKNOWN = "UNKNOWN"
"""The outcome of a node whose report reads as unknown."""

E = TypeVar("E", bound=Enum)


def read_member(kind: type[E], value: object) -> E | None:
    """Read a stored status, verdict or mode, never guessing (contract, section 2).

    Args:
        kind: the enumeration that the key holds.
        value: what is stored.

    Returns:
        The member, where ``value`` is one of that very enumeration or its exact name; else ``None``: unknown.
    """
    return member_reader(kind)(value)


@cache
def member_reader(kind: type[E]) -> Callable[[object], E | None]:
    """Give the typed read of an enumeration, with its names looked up once.

    Args:
        kind: the enumeration that a key holds.

    Returns:
        A function from what is stored to the member, or to ``None``: unknown.
    """
    members = dict(kind.__members__)

    def read(value: object) -> E | None:
        found = type(value)
        if found is str:
            return members.get(value)  # type: ignore[call-overload,no-any-return]
        return value if found is kind else None  # type: ignore[return-value]

    return read
