"""Tables of recorded traces: deviations, the routes they took, how they ended, and how long it took."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diagnosis.views.frames import COUNT, SOME, TEXT, frame

if TYPE_CHECKING:
    import pandas

    from diagnosis.traces import TraceReport


def deviations_table(report: TraceReport) -> pandas.DataFrame:
    """Give a row a deviation that the report holds, in the order of the record.

    Args:
        report: what checking traces came to.

    Returns:
        Columns ``file``, ``line``, ``item`` (the place in a JSON list), ``run_id``, ``class``, ``fault`` (``log`` or
        ``behaviour``), ``at`` (the transition, from 0; missing where none is concerned), ``detail`` and ``conditions``
        (those that should have held, joined by commas).
    """
    columns = {
        "file": TEXT,
        "line": COUNT,
        "item": SOME,
        "run_id": TEXT,
        "class": TEXT,
        "fault": TEXT,
        "at": SOME,
        "detail": TEXT,
        "conditions": TEXT,
    }
    return frame(
        columns,
        (
            (
                each.file,
                each.line,
                each.item,
                each.run_id,
                each.kind,
                "log" if each.in_log else "behaviour",
                each.at,
                each.detail,
                ", ".join(each.conditions),
            )
            for each in report.deviations
        ),
    )


def classes_table(report: TraceReport) -> pandas.DataFrame:
    """Give a row a class of deviations.

    Args:
        report: what checking traces came to.

    Returns:
        Columns ``class``, ``fault`` (``log`` or ``behaviour``) and ``deviations``.
    """
    from diagnosis.traces import LOG_FAULTS

    return frame(
        {"class": TEXT, "fault": TEXT, "deviations": COUNT},
        ((kind, "log" if kind in LOG_FAULTS else "behaviour", hits) for kind, hits in report.by_class.items()),
    )


def routes_table(report: TraceReport) -> pandas.DataFrame:
    """Give a row a transition that traces showed, the most frequent first.

    Args:
        report: what checking traces came to.

    Returns:
        Columns ``source``, ``target``, ``reason_code`` (missing from START), ``count`` and ``share`` (of the
        transitions that leave the same source).
    """
    left: dict[str, int] = {}
    for (source, _, _), hits in report.transition_counts.items():
        left[source] = left.get(source, 0) + hits
    ordered = sorted(report.transition_counts.items(), key=lambda each: (-each[1], each[0]))
    return frame(
        {"source": TEXT, "target": TEXT, "reason_code": TEXT, "count": COUNT, "share": "float64"},
        ((source, target, reason or None, hits, hits / left[source]) for (source, target, reason), hits in ordered),
    )


def trace_endings_table(report: TraceReport) -> pandas.DataFrame:
    """Give a row a way in which traces ended, the most frequent first.

    Args:
        report: what checking traces came to.

    Returns:
        Columns ``termination_reason``, ``final_node`` and ``traces``.
    """
    ordered = sorted(report.terminations.items(), key=lambda each: (-each[1], each[0]))
    return frame(
        {"termination_reason": TEXT, "final_node": TEXT, "traces": COUNT},
        ((reason, node, hits) for (node, reason), hits in ordered),
    )


def durations_table(report: TraceReport) -> pandas.DataFrame:
    """Give a row a node whose executions were timed; none where traces carry no times.

    Args:
        report: what checking traces came to.

    Returns:
        Columns ``node``, ``executions``, and ``mean``, ``shortest`` and ``longest`` in seconds.
    """
    return frame(
        {"node": TEXT, "executions": COUNT, "mean": "float64", "shortest": "float64", "longest": "float64"},
        ((node, each.count, each.mean, each.shortest, each.longest) for node, each in report.durations.items()),
    )
