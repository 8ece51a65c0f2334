"""Linear equations over fractions, solved exactly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Rows = list[list[Fraction]]


def solved(matrix: Sequence[Sequence[Fraction]], right: Sequence[Sequence[Fraction]]) -> Rows | None:
    """Solve a square system for several right sides at once.

    Args:
        matrix: the coefficients, row by row.
        right: a row an equation, a column a right side.

    Returns:
        A row an unknown, a column a right side; ``None`` where there is no single solution.
    """
    size = len(matrix)
    rows = [[*left, *values] for left, values in zip(matrix, right, strict=True)]
    for column in range(size):
        pivot = next((row for row in range(column, size) if rows[row][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        head = rows[column]
        factor = head[column]
        rows[column] = head = [value / factor for value in head]
        for row in range(size):
            factor = rows[row][column]
            if row != column and factor:
                rows[row] = [value - factor * other for value, other in zip(rows[row], head, strict=True)]
    return [row[size:] for row in rows]
