"""Tables of a proof: what was found beside the properties, and its scripts by length and by ending."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diagnosis.verify import script_text
from diagnosis.verify.meeting import KINDS
from diagnosis.views.frames import COUNT, SOME, TEXT, frame

if TYPE_CHECKING:
    import pandas

    from diagnosis.verify import Comparison, Proof


def findings_table(proof: Proof) -> pandas.DataFrame:
    """Give a row a finding.

    Args:
        proof: the proof.

    Returns:
        Columns ``kind``, ``where``, ``detail`` and ``script``: the shortest one that shows it, such as ``a=ok, b=no``;
        missing where none does.
    """
    columns = dict.fromkeys(("kind", "where", "detail", "script"), TEXT)
    scripts = [None if each.script is None else script_text(each.script) for each in proof.findings]
    rows = zip(proof.findings, scripts, strict=True)
    return frame(columns, ((each.kind, each.where, each.detail, script) for each, script in rows))


def lengths_table(proof: Proof) -> pandas.DataFrame:
    """Give a row a length of runs.

    Args:
        proof: the proof.

    Returns:
        Columns ``executions`` (node executions, rising) and ``scripts`` (how many complete scripts have as many); no
        row where there is no finite count.
    """
    return frame({"executions": COUNT, "scripts": COUNT}, (proof.lengths or {}).items())


def endings_table(proof: Proof) -> pandas.DataFrame:
    """Give a row a way in which runs end, the most frequent first, and errors last.

    Args:
        proof: the proof.

    Returns:
        Columns ``termination_reason`` (missing where a run stops with an error), ``final_node``, ``scripts``,
        ``shortest`` and ``longest`` (node executions); no row where there is no finite count.
    """
    columns = {
        "termination_reason": TEXT, "final_node": TEXT, "scripts": COUNT, "shortest": COUNT, "longest": COUNT
    }  # fmt: skip
    return frame(
        columns,
        ((each.reason, each.node, each.scripts, each.shortest, each.longest) for each in proof.terminations or ()),
    )


def changes_table(comparison: Comparison) -> pandas.DataFrame:
    """Give a row a kind of change between two versions of a graph.

    Args:
        comparison: the comparison.

    Returns:
        Columns ``kind``, ``before`` and ``after`` (how many complete scripts of either version changed so; missing
        where there is no finite count), ``detail``, ``path_before`` and ``path_after`` (of the shortest one, such as
        ``a > b``; missing where there is none).
    """
    columns = {
        "kind": TEXT, "before": SOME, "after": SOME, "detail": TEXT, "path_before": TEXT, "path_after": TEXT
    }  # fmt: skip
    shortest = {change.kind: change for change in comparison.changes}
    rows = []
    for kind in KINDS:
        count, change = (comparison.changed or {}).get(kind), shortest.get(kind)
        paths = [] if change is None else [" > ".join(s.expect.path or ()) for s in (change.before, change.after)]
        rows.append(
            (
                kind,
                None if count is None else count.before,
                None if count is None else count.after,
                None if change is None else change.detail,
                *(paths or (None, None)),
            )
        )
    return frame(columns, rows)
