"""Frames whose columns have their type even where there is no row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from diagnosis.runtime import DiagnosisError

if TYPE_CHECKING:
    import pandas

TEXT: Final = "string[python]"
COUNT: Final = "int64"
TRUTH: Final = "boolean"
SOME: Final = "Int64"
"""A count that may be missing."""


class TableError(DiagnosisError):
    """A table was asked for that there is not."""


def frame(columns: Mapping[str, str], rows: Iterable[tuple[Any, ...]]) -> pandas.DataFrame:
    """Make a frame.

    Args:
        columns: name -> type of its values.
        rows: the rows, a value a column.
    """
    import pandas

    every = list(rows)
    return pandas.DataFrame(
        {
            name: pandas.Series([row[place] for row in every], dtype=dtype)
            for place, (name, dtype) in enumerate(columns.items())
        }
    )
