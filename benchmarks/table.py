"""What a benchmark says: one row a measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

HEAD = ("measure", "value", "bound", "met")


@dataclass(frozen=True, slots=True)
class Row:
    """One measure.

    Attributes:
        measure: what was compared with what.
        value: the ratio or number, or ``None`` where it was not measured.
        bound: what is required, or ``None`` where the row only informs.
        side: whether the bound is the most or the least that is allowed.
        unit: what stands behind the value; ``x`` for a ratio.
        note: why there is no value.
    """

    measure: str
    value: float | None
    bound: float | None = None
    side: Literal["most", "least"] = "most"
    unit: str = "x"
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the bound holds; ``None`` where there is nothing to compare."""
        if self.value is None or self.bound is None:
            return None
        return self.value <= self.bound if self.side == "most" else self.value >= self.bound

    def cells(self) -> tuple[str, str, str, str]:
        """Give the row as text."""
        digits = 2 if self.unit and (self.value or 0) < 10 else 0
        value = self.note if self.value is None else f"{self.value:.{digits}f}{self.unit}"
        sign = "<=" if self.side == "most" else ">="
        bound = "" if self.bound is None else f"{sign} {self.bound:g}{self.unit}"
        return self.measure, value, bound, {True: "yes", False: "NO", None: ""}[self.met]

    def record(self) -> dict[str, object]:
        """Give the row as data."""
        found: dict[str, object] = {
            "measure": self.measure,
            "value": None if self.value is None else round(self.value, 4),
            "bound": self.bound,
            "side": self.side,
            "unit": self.unit,
            "met": self.met,
        }
        return {**found, "note": self.note} if self.note else found


def text(rows: Sequence[Row]) -> str:
    """Give the rows as an aligned table, and a line that counts the bounds that are missed."""
    cells = [HEAD, *(row.cells() for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(HEAD))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]
    lines.insert(1, "  ".join("-" * width for width in widths))
    missed = [row.measure for row in rows if row.met is False]
    bounded = sum(row.met is not None for row in rows)
    lines.append("")
    lines.append(f"Bounds met: {bounded - len(missed)} of {bounded}.")
    lines += [f"MISSED: {measure}" for measure in missed]
    return "\n".join(lines)
