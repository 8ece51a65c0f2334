"""Markers: what a node writes to an Append key to take elements out of its history."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from diagnosis.runtime.errors import MergeError


@final
@dataclass(frozen=True, slots=True, repr=False)
class Remove:
    """A marker that takes one element out of a history: the first that is equal.

    A write may be the marker alone, or a list that holds markers and new elements. Markers act on the history as it was
    before the write; the new elements are added after that.

    Attributes:
        value: what the element is equal to. 1, 1.0 and True are not equal here, nor is what holds them.
    """

    value: Any

    def __repr__(self) -> str:
        return f"Remove({self.value!r})"


@final
@dataclass(frozen=True, slots=True, repr=False)
class ReplaceAll:
    """A marker that puts other elements in the place of a whole history; it is the whole value of a write.

    Attributes:
        values: a list of the elements, empty to clear the history.
    """

    values: Any

    def __repr__(self) -> str:
        return f"ReplaceAll({self.values!r})"


def edited(history: Sequence[Any], write: Any) -> tuple[Sequence[Any], Sequence[Any]]:
    """Do what the markers of a write say.

    Args:
        history: the elements as they are.
        write: frozen: a marker, or a list that holds markers and new elements.

    Returns:
        The elements that the markers leave, and those to add.

    Raises:
        MergeError: a marker takes out what is not there, or has no place in a list, or holds no list.
    """
    if type(write) is ReplaceAll:
        values = write.values
        if not isinstance(values, Sequence) or isinstance(values, str | bytes | range):
            raise MergeError(f"ReplaceAll takes a list of elements, not {type(values).__name__}; put it in a list")
        return (), values
    added = []
    for item in (write,) if type(write) is Remove else write:
        if type(item) is ReplaceAll:
            raise MergeError(
                "ReplaceAll stands alone, found in a list; return ReplaceAll([...]) as the whole value of the key"
            )
        if type(item) is Remove:
            history = _without(history, item)
        else:
            added.append(item)
    return history, added


def _without(history: Sequence[Any], marker: Remove) -> Sequence[Any]:
    for i, element in enumerate(history):
        if alike(element, marker.value):
            return [*history[:i], *history[i + 1 :]]
    raise MergeError(
        f"{marker!r} finds no equal element in the history ({len(history)} left to take out); a marker acts on what "
        "stood there before the write, and takes out one element"
    )


def alike(a: Any, b: Any) -> bool:
    """Tell whether two frozen values are equal and of the same types, inside as well.

    Args:
        a: a frozen value.
        b: another.
    """
    return a is b or (bool(a == b) and _types_alike(a, b))


def _types_alike(a: Any, b: Any) -> bool:
    """Compare the types of values that are equal."""
    lists = _is_list(a) and _is_list(b)
    # A history, which is no tuple, is alike to a list with the same elements.
    if type(a) is not type(b) and (not lists or (isinstance(a, tuple) and isinstance(b, tuple))):
        return False
    if lists:
        return all(map(_types_alike, a, b))
    if isinstance(a, Mapping):
        keys = {key: key for key in b}
        return all(_types_alike(key, keys[key]) and _types_alike(item, b[key]) for key, item in a.items())
    if isinstance(a, frozenset):
        items = {item: item for item in b}
        return all(_types_alike(item, items[item]) for item in a)
    if dataclasses.is_dataclass(a):
        names = [field.name for field in dataclasses.fields(a) if field.compare]
    else:
        names = list(getattr(type(a), "model_fields", ()))
    return all(_types_alike(getattr(a, name), getattr(b, name)) for name in names)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | range)
