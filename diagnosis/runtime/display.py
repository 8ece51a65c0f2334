"""How objects show themselves in a notebook without knowing who draws them.

Packages that draw register a function under the entry point group ``diagnosis.displays``; it is looked up when the
first object is shown, and gives a mapping from mime type to content, or ``None`` for objects it does not know.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import Any


@cache
def _hooks() -> tuple[Any, ...]:
    return tuple(
        point.load() for point in sorted(entry_points(group="diagnosis.displays"), key=lambda point: point.name)
    )


class Shown:
    """A base for objects that display themselves in Jupyter and as plain text."""

    __slots__ = ()

    def text(self) -> str:
        """Give the plain text form."""
        return object.__repr__(self)

    def __repr__(self) -> str:
        return self.text()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        for hook in _hooks():
            bundle: dict[str, Any] | None = hook(self)
            if bundle is not None:
                return bundle
        return {"text/plain": self.text()}
