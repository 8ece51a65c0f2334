"""A hashable form of frozen values, by which control states are told apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def canonical(value: Any) -> Any:
    """Give a hashable form of a frozen value in which values of different types differ.

    Args:
        value: a frozen value.
    """
    kind = type(value)
    if value is None or kind is str or kind is int:
        return value
    if isinstance(value, Mapping):
        # In order: code that takes the first entry tells two orders apart.
        return ("mapping", *((canonical(key), canonical(item)) for key, item in value.items()))
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return ("sequence", *map(canonical, value))
    if isinstance(value, frozenset):
        return ("set", frozenset(map(canonical, value)))
    return (kind.__name__, value if value == value else repr(value))


def size(value: Any) -> int:
    """Count the elements of a value, those inside its elements included.

    Args:
        value: a frozen value.
    """
    if value is None or type(value) in (str, int, bool):
        return 0
    if isinstance(value, Mapping):
        return len(value) + sum(map(size, value.values()))
    if isinstance(value, frozenset) or (isinstance(value, Sequence) and not isinstance(value, str | bytes)):
        return len(value) + sum(map(size, value))
    return 0
