"""Tables of chances: expected executions, endings and sensitivities as pandas frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from diagnosis.views.frames import frame

if TYPE_CHECKING:
    import pandas

    from diagnosis.verify import Chances, EndingChance

_TEXT: Final = "string[python]"
_NUMBER: Final = "float64"


def executions_table(chances: Chances) -> pandas.DataFrame:
    """Give a row a node.

    Args:
        chances: what was computed.

    Returns:
        Columns ``node``, ``calls_model``, ``expected`` (executions a run) and ``exact`` (the same as a fraction).
    """
    columns = {"node": _TEXT, "calls_model": "bool", "expected": _NUMBER, "exact": _TEXT}
    return frame(
        columns,
        (
            (node, node in chances.odds.callers, float(number), str(number))
            for node, number in chances.executions.items()
        ),
    )


def ending_odds_table(chances: Chances) -> pandas.DataFrame:
    """Give a row an ending, the likeliest first.

    Args:
        chances: what was computed.

    Returns:
        Columns ``final_node``, ``termination_reason``, ``probability`` and ``exact`` (the same as a fraction).
    """
    columns = {"final_node": _TEXT, "termination_reason": _TEXT, "probability": _NUMBER, "exact": _TEXT}
    return frame(
        columns, ((end.final_node, end.reason, float(share), str(share)) for end, share in chances.endings.items())
    )


def quantity_text(quantity: str | EndingChance) -> str:
    """Name a quantity, such as ``executions`` or ``P(PLAN_FAILED at fallback)``.

    Args:
        quantity: ``executions``, ``model calls``, or an ending.
    """
    return quantity if isinstance(quantity, str) else f"P({quantity.reason} at {quantity.final_node})"


def sensitivity_table(chances: Chances) -> pandas.DataFrame:
    """Give a row an outcome and quantity: how the quantity changes with the probability of the outcome.

    Args:
        chances: what was computed.

    Returns:
        Columns ``node``, ``outcome``, ``probability``, ``quantity`` and ``slope`` (the partial derivative, all other
        outcomes of the node giving way in proportion; missing where runs would not end). Nodes with one outcome have no
        row.
    """
    columns = {"node": _TEXT, "outcome": _TEXT, "probability": _NUMBER, "quantity": _TEXT, "slope": "Float64"}

    def rows() -> Iterator[tuple[Any, ...]]:
        for node, outcomes in chances.odds.outcomes.items():
            for outcome, share in outcomes.items() if len(outcomes) > 1 else ():
                for slope in chances.slopes(node, (outcome,)):
                    number = None if slope.slope is None else float(slope.slope)
                    yield node, outcome, float(share), quantity_text(slope.quantity), number

    return frame(columns, rows())


def vary_table(chances: Chances, node: str, outcomes: Iterable[str], shares: Iterable[Fraction]) -> pandas.DataFrame:
    """Give a row a probability and quantity: everything computed anew for each probability of some outcomes of a node.

    Args:
        chances: what was computed.
        node: the node.
        outcomes: names of its alphabet, such as those of its failures; all others give way in proportion.
        shares: the probabilities that the node reports one of them.

    Returns:
        Columns ``node``, ``outcomes`` (joined by ``+``), ``share``, ``quantity``, ``value`` and ``exact``.
    """
    columns = {
        "node": _TEXT,
        "outcomes": _TEXT,
        "share": _NUMBER,
        "quantity": _TEXT,
        "value": _NUMBER,
        "exact": _TEXT,
    }
    chosen = tuple(outcomes)

    def rows() -> Iterator[tuple[Any, ...]]:
        for share, found in chances.vary(node, chosen, shares):
            numbers: dict[str | EndingChance, Fraction] = {
                "executions": found.expected_executions,
                "model calls": found.expected_calls,
                **{end: found.endings.get(end, Fraction(0)) for end in chances.endings},
            }
            for quantity, number in numbers.items():
                yield node, "+".join(chosen), float(share), quantity_text(quantity), float(number), str(number)

    return frame(columns, rows())
