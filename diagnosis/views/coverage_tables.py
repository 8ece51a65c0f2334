"""Tables of coverage: a row a kind, a row an item, and items beside what production was seen to do."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from diagnosis.runtime import one_of
from diagnosis.views.frames import COUNT, TEXT, TableError, frame

if TYPE_CHECKING:
    import pandas

    from diagnosis.verify import Coverage
    from diagnosis.verify.coverage.production import Transitions


def coverage_summary(coverage: Coverage) -> pandas.DataFrame:
    """Give a row a kind of coverage item.

    Args:
        coverage: the coverage.

    Returns:
        Columns ``kind``, ``covered``, ``total``, ``percent`` (0 to 100, cut to one decimal), and names joined by
        commas: ``missing``, ``infeasible`` (proven; in no total) and ``undecided`` (those of the missing ones that
        exploration did not find before it met its bound).
    """
    columns = {
        "kind": TEXT,
        "covered": COUNT,
        "total": COUNT,
        "percent": "float64",
        "missing": TEXT,
        "infeasible": TEXT,
        "undecided": TEXT,
    }
    return frame(
        columns,
        (
            (
                kind,
                *coverage.counts(kind),
                _percent(coverage.percent(kind)),
                ", ".join(coverage.missing(kind)),
                ", ".join(coverage.standing(kind, "infeasible")),
                ", ".join(coverage.standing(kind, "undecided")),
            )
            for kind in coverage.kinds
        ),
    )


def _percent(share: float) -> float:
    """Cut to one decimal, so that only what is complete says 100."""
    return math.floor(share * 10) / 10


def coverage_table(coverage: Coverage, kind: str | None = None) -> pandas.DataFrame:
    """Give a row a coverage item.

    Args:
        coverage: the coverage.
        kind: only items of this kind; all where absent.

    Returns:
        Columns ``kind``, ``item``, ``covered``, ``hits``, ``feasible`` and ``standing`` (``covered``, ``missing``,
        ``infeasible`` or ``undecided``).

    Raises:
        TableError: there is no such kind.
    """
    if kind is not None and kind not in coverage.kinds:
        raise TableError(f"there is no coverage of kind {kind!r}; kinds are {one_of(coverage.kinds)}")
    items = coverage.items if kind is None else coverage.of(kind)
    columns = {"kind": TEXT, "item": TEXT, "covered": "bool", "hits": COUNT, "feasible": "bool", "standing": TEXT}
    return frame(
        columns, ((item.kind, item.name, item.covered, item.hits, item.feasible, item.standing) for item in items)
    )


def production_table(coverage: Coverage, transitions: Transitions) -> pandas.DataFrame:
    """Give a row an item, with what tests cover beside what production was seen to do.

    Args:
        coverage: what the tests cover.
        transitions: (from, to, reason code) -> how often recorded traces showed it.

    Returns:
        Columns ``kind`` (node, edge, route, reason or rule), ``item``, ``tested`` and ``production`` (how often),
        ``seen`` (``both``, ``tests only``, ``production only`` or ``neither``), ``feasible``, ``exact`` (false where
        a transition does not tell which of several rules or routes it was) and ``declared`` (false for what was
        recorded and is not in the graph; such rows come last).

    Raises:
        CoverageError: a count is no whole number from 0.
    """
    from diagnosis.verify.coverage import joined

    columns = {
        "kind": TEXT,
        "item": TEXT,
        "tested": COUNT,
        "production": COUNT,
        "seen": TEXT,
        "feasible": "bool",
        "exact": "bool",
        "declared": "bool",
    }
    rows = joined(coverage, transitions)
    return frame(
        columns,
        (
            (row.kind, row.name, row.tested, row.production, row.seen, row.feasible, row.exact, row.declared)
            for row in rows
        ),
    )
