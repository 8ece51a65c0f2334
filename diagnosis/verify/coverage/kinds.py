"""What coverage can count: the kinds of items, and the observations that an item takes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from diagnosis.runtime import DiagnosisError, Model, one_of
from diagnosis.verify.winners import contests_of

KINDS: Final = ("node", "route", "edge", "reason", "rule", "outcome", "condition", "mcdc")
"""What is counted of every graph, from coarse to fine."""

WINNER: Final = "winner"
"""What is counted beside :data:`KINDS` where a fork waits for any of its branches: which of them have won."""

FURTHER: Final = ("edge_pair", "outcome_edge", "transition", "masking", "decisive")
"""What is counted only where it is asked for."""

Atom = tuple[str, str]
"""One thing that a node execution can show: a kind, or one of the three below, and a name."""

ALL: Final = "all"
"""Atom: every condition of a rule holds."""

ALONE: Final = "alone"
"""Atom: one condition of a rule is false, all others hold."""

FIRST: Final = "first"
"""Atom: the conditions of a rule before this one hold, this one is false, and those after it are not looked at."""

SIDES: Final = {"mcdc": (ALL, ALONE), "masking": (ALL, FIRST), "decisive": ("rule", ALONE)}
"""Kind of MC/DC -> what shows the true side of a rule, and what shows the false side of one of its conditions."""


class CoverageError(DiagnosisError):
    """Coverage cannot be measured, merged or read; the text says why."""


def kinds_of(model: Model) -> tuple[str, ...]:
    """Give what is counted of a model: :data:`KINDS`, and :data:`WINNER` where it has an ``any_of`` fork.

    Args:
        model: the graph under test.
    """
    return (*KINDS, WINNER) if contests_of(model.graph) else KINDS


def with_further(model: Model, kinds: Iterable[str] = ()) -> tuple[str, ...]:
    """Give what is counted of a model where more is asked for, in the order in which it is told.

    Args:
        model: the graph under test.
        kinds: further kinds; those that are counted anyway may be among them.

    Raises:
        CoverageError: there is no such kind.
    """
    wanted, known = set(kinds), (*KINDS, WINNER, *FURTHER)
    for kind in sorted(wanted):
        if kind not in known:
            raise CoverageError(f"there is no coverage of kind {kind!r}; kinds are {one_of(known)}")
    return (*kinds_of(model), *(kind for kind in FURTHER if kind in wanted))
