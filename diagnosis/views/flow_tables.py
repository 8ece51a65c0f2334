"""Tables of flows: what untrusted text reaches, as pandas frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from diagnosis.views.frames import frame

if TYPE_CHECKING:
    import pandas

    from diagnosis.verify import Flow

_TEXT: Final = "string[python]"


def flow_table(flow: Flow) -> pandas.DataFrame:
    """Give a row a source, node and key: what text reaches, nearest first.

    Args:
        flow: what was found.

    Returns:
        Columns ``source`` (``node.key`` or ``input.key``), ``node`` (which writes it there), ``key``,
        ``executions`` (of the shortest script) and ``script`` (``node=outcome > node=outcome``).
    """
    from diagnosis.verify.chain import script_text

    columns = {"source": _TEXT, "node": _TEXT, "key": _TEXT, "executions": "int64", "script": _TEXT}
    return frame(
        columns,
        ((reach.source, reach.node, reach.key, len(reach.script), script_text(reach.script)) for reach in flow.reaches),
    )


def barriers_table(flow: Flow) -> pandas.DataFrame:
    """Give a row a barrier.

    Args:
        flow: what was found.

    Returns:
        Columns ``barrier``, ``verdict`` (``holds``, ``broken`` or ``not proven``), ``statement``, ``detail``, ``pairs``
        (scripts that were run in pairs) and ``script`` (that breaks it; missing where none was found).
    """
    from diagnosis.verify.chain import script_text

    columns = {
        "barrier": _TEXT,
        "verdict": _TEXT,
        "statement": _TEXT,
        "detail": _TEXT,
        "pairs": "int64",
        "script": _TEXT,
    }
    return frame(
        columns,
        (
            (
                verdict.barrier.name,
                verdict.word,
                verdict.barrier.statement,
                verdict.detail,
                verdict.pairs,
                None if verdict.script is None else script_text(verdict.script),
            )
            for verdict in flow.verdicts
        ),
    )
