"""Read-only values: what is written to state is copied once and can never be changed afterwards."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import fractions
import operator
import pathlib
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Any, NoReturn, SupportsIndex, overload

from diagnosis.runtime.errors import FrozenError, MergeError, ValueRefusedError
from diagnosis.runtime.markers import Remove, ReplaceAll, edited

ATOMS: set[type] = {
    type(None),
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    range,
    datetime.date,
    datetime.datetime,
    datetime.time,
    datetime.timedelta,
    datetime.timezone,
    decimal.Decimal,
    fractions.Fraction,
    uuid.UUID,
}
"""Types whose values cannot change, so that they are kept as they are.

The set grows by the types that freezing makes, by those of :func:`register_immutable`, and by subclasses of the bases
below when they are first seen.
"""

_ATOM_BASES = (enum.Enum, datetime.date, datetime.tzinfo, pathlib.PurePath, type)

_PLAIN: dict[type, Callable[[Any], Any]] = {
    str: str.__str__,
    int: int.__int__,
    float: float.__float__,
    complex: complex.__complex__,
    bytes: bytes.__bytes__,
}
"""A base type -> how a value of a subclass, which may carry attributes that change, becomes a plain one."""


def _refuse(self: object, *args: object, **kwargs: object) -> NoReturn:
    raise FrozenError(
        f"state is read-only: this {type(self).__name__} cannot be changed; "
        "return the new value in the node's update, or take a copy with diagnosis.thaw(value)"
    )


class FrozenDict(dict[Any, Any]):
    """A read-only mapping that compares and reads as the ``dict`` it was made from."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __init__(self, entries: Mapping[Any, Any] | Iterable[tuple[Any, Any]] = ()) -> None:
        if self:
            _refuse(self)
        dict.update(self, freeze(dict(entries)))

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __copy__(self) -> FrozenDict:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[Any, Any]:
        return {key: thaw(value) for key, value in self.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return (FrozenDict, (dict(self),))


class FrozenList(tuple[Any, ...]):
    """A read-only sequence that compares and adds up as the ``list`` it was made from.

    Make one with :func:`freeze`: the class itself takes its elements as they are.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, list):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return tuple.__eq__(self, other) if isinstance(other, tuple) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other

    @overload
    def __getitem__(self, index: SupportsIndex) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> FrozenList: ...
    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return FrozenList(found) if type(index) is slice else found

    def __add__(self, other: Iterable[Any]) -> list[Any]:  # type: ignore[override]
        return [*self, *other]

    def __radd__(self, other: Iterable[Any]) -> list[Any]:
        return [*other, *self]

    def copy(self) -> list[Any]:
        """Give a list with the same elements."""
        return list(self)

    __hash__ = tuple.__hash__
    append = extend = insert = remove = pop = clear = sort = reverse = _refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse

    def __repr__(self) -> str:
        return repr(list(self))

    def __copy__(self) -> FrozenList:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return [thaw(value) for value in self]


class Edits(FrozenList):
    """A list of new elements that holds markers: a write to an Append key, never a part of the state."""

    __slots__ = ()


MARKERS: frozenset[type] = frozenset({Remove, ReplaceAll, Edits})
"""The types of the frozen values that change a history and are none of its elements."""


class History(Sequence[Any]):
    """A read-only list that grows at its end without copying what stands there.

    All versions of one history share a single list and differ in how much of it they show, so that appending costs the
    same at the first and at the ten-thousandth element. A version that is no longer the longest is copied on append.
    """

    __slots__ = ("_items", "_length")

    def __init__(self, items: Iterable[Any] = ()) -> None:
        if hasattr(self, "_items"):
            _refuse(self)
        # The spare element makes the first append copy: runs that start from one history never share a list, not even
        # in threads that append at the same moment.
        self._items = [*freeze(list(items)), None]
        self._length = len(self._items) - 1

    def extended(self, values: Any) -> History:
        """Give the history with values after its end; this one stays as it is.

        Args:
            values: frozen values, in order; null for none; markers take elements out before new ones are added.

        Returns:
            A new history.

        Raises:
            MergeError: the values come in something else than a list or a tuple, or are the history itself; or a marker
                takes out what is not there.
        """
        if type(values) is not FrozenList:
            if values is not None and type(values) in MARKERS:
                kept, added = edited(self, values)
                return History().extended(FrozenList([*kept, *added]))
            values = elements(values)
        items = self._items
        length = self._length
        if len(items) != length:
            items = items[:length]
        items.extend(values)
        longer = _new_history(History)
        longer._items = items
        longer._length = len(items)
        return longer

    def extended_by_one(self, value: Any) -> History:
        """Give the history with one value after its end.

        Args:
            value: a frozen value.

        Returns:
            A new, longer history.
        """
        items, length = self._items, self._length
        if len(items) != length:
            items = items[:length]
        items.append(value)
        longer = _new_history(History)
        longer._items = items
        longer._length = length + 1
        return longer

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Any]:
        return islice(iter(self._items), self._length)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> FrozenList: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return FrozenList(self._items[: self._length][index])
        position = operator.index(index)
        if position < 0:
            position += self._length
        if not 0 <= position < self._length:
            raise IndexError("history index out of range")
        return self._items[position]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, list | tuple) or type(other) is History:
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __add__(self, other: Iterable[Any]) -> list[Any]:
        return [*self, *other]

    def __radd__(self, other: Iterable[Any]) -> list[Any]:
        return [*other, *self]

    def copy(self) -> list[Any]:
        """Give a list with the same elements."""
        return list(self)

    append = extend = insert = remove = pop = clear = sort = reverse = _refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse

    def __repr__(self) -> str:
        return repr(list(self))

    def __copy__(self) -> History:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return [thaw(value) for value in self]

    def __reduce__(self) -> tuple[Any, ...]:
        return (History, (list(self),))


def elements(values: Any) -> tuple[Any, ...]:
    """Give the new elements that a write without markers holds.

    Args:
        values: frozen: a list or a tuple, or null for none.

    Raises:
        MergeError: the values come in something else, or are the history itself.
    """
    if values is None:
        return ()
    if type(values) is History:
        raise MergeError(
            "the update hands back the history it was given, which would double it; return new elements only"
        )
    if not isinstance(values, tuple):
        raise MergeError(f"an Append key takes a list of new elements, not {type(values).__name__}; put it in a list")
    return values


# How the module makes its own: without looking again at elements that are frozen already.
_new_dict: Callable[[type[FrozenDict]], FrozenDict] = dict.__new__
_new_history: Callable[[type[History]], History] = object.__new__

ATOMS.update((FrozenDict, FrozenList, History))


def register_immutable(kind: type) -> type:
    """Let values of a type into state as they are; usable as a class decorator.

    Args:
        kind: a class whose objects never change after they are made.

    Returns:
        The class.
    """
    ATOMS.add(kind)
    return kind


def freeze(value: Any) -> Any:
    """Give a deep read-only copy of a value.

    Args:
        value: texts, numbers, dates, enumeration members, mappings, lists, tuples, sets, frozen dataclasses, frozen
            pydantic models, or values of a type named with :func:`register_immutable`.

    Returns:
        The value itself where it cannot change, else a copy that refuses every change.

    Raises:
        ValueRefusedError: the value, or something inside it, is of another type or holds itself; or a marker stands
            where no write to an Append key has one.
    """
    if type(value) is list:
        # The most frequent value that needs a copy: a list of texts or numbers. It is copied before it is looked at, so
        # that what was checked is what is kept.
        value = FrozenList(value)
        for item in value:
            if type(item) not in ATOMS:
                value = list(value)
                break
        else:
            return value
    try:
        try:
            return _freeze(value)
        except _MarkerError:
            return _freeze_edit(value)
    except _RefusedError as refused:
        raise ValueRefusedError(refused.told()) from None
    except RecursionError:
        raise ValueRefusedError(
            "the value is nested too deeply or contains itself; state holds finite values"
        ) from None


class _RefusedError(Exception):
    """Carries a value that cannot be kept up through the values that hold it, each of which says where it was."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.path = ""

    def inside(self, at: str) -> _RefusedError:
        self.path = at + self.path
        return self

    def told(self) -> str:
        kind = type(self.value)
        at = f" at {self.path}" if self.path else ""
        return (
            f"a value of type {kind.__module__}.{kind.__qualname__}{at} cannot be made read-only; "
            "state holds texts, numbers, dates, enumeration members, mappings, lists, tuples, sets, frozen dataclasses "
            "and frozen pydantic models: return one of these, or name the type with diagnosis.register_immutable "
            "if its objects never change"
        )


class _MarkerError(_RefusedError):
    """Carries a marker that stands inside a value."""

    def told(self) -> str:
        return (
            f"the marker {type(self.value).__name__} at {self.path} is no value that state holds; "
            "a marker is written to an Append key, alone or, for Remove, in the list of new elements"
        )


def _freeze(value: Any) -> Any:
    kind = type(value)
    if kind in ATOMS:
        return value
    if kind is list:
        return _freeze_list(value)
    if kind is dict:
        return _freeze_mapping(value)
    if issubclass(kind, _ATOM_BASES):
        ATOMS.add(kind)
        return value
    for base, plain in _PLAIN.items():
        if issubclass(kind, base):
            return plain(value)
    if isinstance(value, tuple):
        items = _freeze_list(value)
        return tuple(items) if kind is tuple else kind._make(items) if hasattr(kind, "_make") else kind(items)
    if isinstance(value, Mapping):
        return _freeze_mapping(value)
    if isinstance(value, list):
        return _freeze_list(value)
    if isinstance(value, AbstractSet):
        try:
            return frozenset(map(_freeze, value))
        except _RefusedError as refused:
            raise refused.inside("{...}") from None
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if dataclasses.is_dataclass(value) and kind.__dataclass_params__.frozen:
        if kind in MARKERS:
            raise _MarkerError(value)
        return _freeze_fields(value, [field.name for field in dataclasses.fields(value)])
    if getattr(kind, "model_config", {}).get("frozen"):
        return _freeze_fields(value, list(kind.model_fields))
    raise _RefusedError(value)


def _freeze_edit(value: Any) -> Any:
    """Freeze a write that holds a marker where a write may have one."""
    if type(value) in (Remove, ReplaceAll):
        return _freeze_marker(value)
    if not isinstance(value, list) and type(value) not in (tuple, Edits):
        return _freeze(value)
    items: list[Any] = []
    try:
        for item in value:
            items.append(_freeze_marker(item) if type(item) in (Remove, ReplaceAll) else _freeze(item))
    except _RefusedError as refused:
        raise refused.inside(f"[{len(items)}]") from None
    return Edits(items)


def _freeze_marker(marker: Any) -> Any:
    name = "value" if type(marker) is Remove else "values"
    try:
        return type(marker)(_freeze(getattr(marker, name)))
    except _RefusedError as refused:
        raise refused.inside(f".{name}") from None


def _freeze_list(value: Iterable[Any]) -> FrozenList:
    items: list[Any] = []
    try:
        for item in value:
            items.append(item if type(item) in ATOMS else _freeze(item))
    except _RefusedError as refused:
        raise refused.inside(f"[{len(items)}]") from None
    return FrozenList(items)


def _freeze_mapping(value: Mapping[Any, Any]) -> FrozenDict:
    copy: dict[Any, Any] = {}
    key = None
    try:
        for key, item in value.items():
            kept = key if type(key) in ATOMS else _freeze(key)
            copy[kept] = item if type(item) in ATOMS else _freeze(item)
    except _RefusedError as refused:
        raise refused.inside(f"[{key!r}]") from None
    return frozen_dict(copy)


def frozen_dict(entries: dict[Any, Any]) -> FrozenDict:
    """Give a read-only mapping of entries that are frozen already.

    Args:
        entries: keys and frozen values.
    """
    made = _new_dict(FrozenDict)
    dict.update(made, entries)
    return made


def _freeze_fields(value: Any, names: Iterable[str]) -> Any:
    # The extra fields of a pydantic model stand in a dictionary of their own.
    extra = getattr(value, "__pydantic_extra__", None)
    kept = _freeze_mapping(extra) if extra else extra
    changed: dict[str, Any] = {}
    for name in names:
        before = getattr(value, name)
        try:
            after = _freeze(before)
        except _RefusedError as refused:
            raise refused.inside(f".{name}") from None
        if after is not before:
            changed[name] = after
    if not changed and kept is extra:
        return value
    copy = object.__new__(type(value))
    if hasattr(value, "__dict__"):
        object.__setattr__(copy, "__dict__", {**value.__dict__, **changed})
        for slot in ("__pydantic_fields_set__", "__pydantic_private__"):
            if hasattr(value, slot):
                object.__setattr__(copy, slot, getattr(value, slot))
        if hasattr(value, "__pydantic_extra__"):
            object.__setattr__(copy, "__pydantic_extra__", kept)
    else:
        for name in names:
            object.__setattr__(copy, name, changed.get(name, getattr(value, name)))
    return copy


def thaw(value: Any) -> Any:
    """Give a deep copy of a value of the state that may be changed freely.

    Args:
        value: anything read from a state.

    Returns:
        Plain dictionaries and lists in place of the read-only ones; all else as it was.
    """
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, FrozenList | History | list):
        return [thaw(item) for item in value]
    if type(value) is tuple:
        return tuple(thaw(item) for item in value)
    return value
