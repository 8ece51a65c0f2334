"""The values that a variable takes, numbered."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from diagnosis.exports.trees import ExportError
from diagnosis.verify.canonical import canonical

MAX_VALUES = 250
"""Values of one key at most; a key that takes more is taken to have no bound."""


class UnboundedError(ExportError):
    """A variable takes more values than can be tabulated."""


@dataclass(frozen=True, slots=True)
class Held:
    """A frozen value with the hashable form by which it is compared.

    Attributes:
        same: the hashable form.
        value: the value.
    """

    same: Hashable
    value: Any = field(compare=False)


class Domain:
    """The values of one variable; two that read alike are one.

    Args:
        what: how an error names it.
        read: the typed read; the value itself where absent.
        limit: how many values there may be.

    Attributes:
        values: the first value of each number.
        others: the latest of each; it reads alike.
    """

    def __init__(self, what: str, read: Callable[[Any], Any] | None = None, limit: int = MAX_VALUES) -> None:
        self._what, self._read, self._limit = what, read, limit
        self.values: list[Any] = []
        self.others: list[Any] = []
        self._numbers: dict[Hashable, int] = {}
        self._ranks: list[int] = []

    def number(self, value: Any) -> int:
        """Give the number of a value, a new one for a new value.

        Args:
            value: a frozen value.

        Raises:
            UnboundedError: there are too many values.
        """
        key = canonical(value if self._read is None else self._read(value))
        found = self._numbers.setdefault(key, len(self.values))
        if found == len(self.values):
            if found == self._limit:
                raise UnboundedError(
                    f"{self._what} takes more than {self._limit} values, such as {self.values[-1]!r} and {value!r}; a "
                    "model for another checker needs a bound for each key: give it a typed read with few values, or "
                    "let the conditions stop it"
                )
            self.values.append(value)
            self.others.append(value)
        elif self._read is not None:
            self.others[found] = value
        return found

    def order(self) -> None:
        """Settle how values are printed: null first, then whole numbers by size, then the others as they came."""

        def place(number: int) -> tuple[int, int]:
            value = self.values[number]
            if value is None:
                return (0, 0)
            return (1, value) if type(value) is int else (2, number)

        ordered = sorted(range(len(self.values)), key=place)
        self._ranks = [ordered.index(number) for number in range(len(self.values))]

    def rank(self, number: int) -> int:
        """Give the number that a value is printed as.

        Args:
            number: the number of the value.
        """
        return self._ranks[number] if number < len(self._ranks) else number
