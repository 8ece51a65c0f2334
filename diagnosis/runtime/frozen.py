"""Read-only values: what is written to state is copied once and can never be changed afterwards."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import fractions
import pathlib
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Any, NoReturn, SupportsIndex, overload

from diagnosis.runtime.errors import FrozenError, ValueRefusedError

ATOMS: frozenset[type] = frozenset(
    {
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
)
"""Types whose values cannot change, so that they are kept as they are."""

_ATOM_BASES = (str, int, float, complex, bytes, enum.Enum, datetime.date, datetime.tzinfo, pathlib.PurePath, type)


def _refuse(self: object, *args: object, **kwargs: object) -> NoReturn:
    raise FrozenError(
        f"state is read-only: this {type(self).__name__} cannot be changed; "
        "return the new value in the node's update, or take a copy with diagnosis.thaw(value)"
    )


class FrozenDict(dict[Any, Any]):
    """A read-only mapping that compares and reads as the ``dict`` it was made from."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse  # type: ignore[assignment]
    clear = pop = popitem = setdefault = update = _refuse  # type: ignore[assignment]

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __copy__(self) -> FrozenDict:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[Any, Any]:
        return {key: thaw(value) for key, value in self.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return (FrozenDict, (dict(self),))


class FrozenList(tuple[Any, ...]):
    """A read-only sequence that compares as the ``list`` it was made from and cannot be changed by any call."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, list):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return tuple.__eq__(self, other) if isinstance(other, tuple) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__
    append = extend = insert = remove = pop = clear = sort = reverse = _refuse
    __setitem__ = __delitem__ = _refuse

    def __repr__(self) -> str:
        return repr(list(self))

    def __copy__(self) -> FrozenList:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return [thaw(value) for value in self]


class History(Sequence[Any]):
    """A read-only list that grows at its end without copying what stands there.

    All versions of one history share a single list and differ in how much of it they show, so that appending costs the
    same at the first and at the ten-thousandth element. A version that is no longer the longest is copied on append.
    """

    __slots__ = ("_items", "_length")

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self._items = list(items)
        self._length = len(self._items)

    def extended(self, values: Sequence[Any]) -> History:
        """Give the history with values after its end; this one stays as it is.

        Args:
            values: frozen values, in order.

        Returns:
            A new, longer history.
        """
        items, length = self._items, self._length
        if not length or len(items) != length:
            items = items[:length]
        items.extend(values)
        longer = _new_history(History)
        longer._items = items
        longer._length = length + len(values)
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
        position = index.__index__()
        if position < 0:
            position += self._length
        if not 0 <= position < self._length:
            raise IndexError("history index out of range")
        return self._items[position]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, list | tuple | History):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __add__(self, other: Iterable[Any]) -> list[Any]:
        return [*self, *other]

    append = insert = remove = pop = clear = sort = reverse = _refuse
    __setitem__ = __delitem__ = __iadd__ = _refuse

    def __repr__(self) -> str:
        return repr(list(self))

    def __copy__(self) -> History:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return [thaw(value) for value in self]

    def __reduce__(self) -> tuple[Any, ...]:
        return (History, (list(self),))


_new_history: Callable[[type[History]], History] = History.__new__

_IMMUTABLE: set[type] = set()


def register_immutable(kind: type) -> type:
    """Let values of a type into state as they are; usable as a class decorator.

    Args:
        kind: a class whose objects never change after they are made.

    Returns:
        The class.
    """
    _IMMUTABLE.add(kind)
    return kind


def freeze(value: Any) -> Any:
    """Give a deep read-only copy of a value.

    Args:
        value: texts, numbers, dates, enumeration members, mappings, lists, tuples, sets, frozen dataclasses, frozen
            pydantic models, or values of a type named with :func:`register_immutable`.

    Returns:
        The value itself where it cannot change, else a copy that refuses every change.

    Raises:
        ValueRefusedError: the value, or something inside it, is of another type or holds itself.
    """
    if type(value) in ATOMS:
        return value
    try:
        return _freeze(value, "")
    except RecursionError:
        raise ValueRefusedError("the value is nested too deeply or contains itself; state holds finite values") from None


def _freeze(value: Any, at: str) -> Any:
    kind = type(value)
    if kind in ATOMS or kind is FrozenDict or kind is FrozenList or kind is History:
        return value
    if kind is dict:
        return FrozenDict({key: _freeze(item, f"{at}[{key!r}]") for key, item in value.items()})
    if kind is list:
        return FrozenList([_freeze(item, f"{at}[{i}]") for i, item in enumerate(value)])
    if isinstance(value, tuple):
        items = [_freeze(item, f"{at}[{i}]") for i, item in enumerate(value)]
        return tuple(items) if kind is tuple else kind._make(items) if hasattr(kind, "_make") else kind(items)
    if isinstance(value, Mapping):
        return FrozenDict({key: _freeze(item, f"{at}[{key!r}]") for key, item in value.items()})
    if isinstance(value, list):
        return FrozenList([_freeze(item, f"{at}[{i}]") for i, item in enumerate(value)])
    if isinstance(value, AbstractSet):
        return frozenset(_freeze(item, f"{at}{{...}}") for item in value)
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, _ATOM_BASES) or kind in _IMMUTABLE:
        return value
    if dataclasses.is_dataclass(value) and kind.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        return _freeze_fields(value, [field.name for field in dataclasses.fields(value)], at)
    if getattr(kind, "model_config", {}).get("frozen"):
        return _freeze_fields(value, list(kind.model_fields), at)
    raise ValueRefusedError(
        f"a value of type {kind.__module__}.{kind.__qualname__}{f' at {at}' if at else ''} cannot be made read-only; "
        "state holds texts, numbers, dates, enumeration members, mappings, lists, tuples, sets and frozen dataclasses "
        "or frozen pydantic models: return one of these, or name the type with diagnosis.register_immutable "
        "if its objects never change"
    )


def _freeze_fields(value: Any, names: Iterable[str], at: str) -> Any:
    before = {name: getattr(value, name) for name in names}
    after = {name: _freeze(item, f"{at}.{name}") for name, item in before.items()}
    changed = {name: item for name, item in after.items() if item is not before[name]}
    if not changed:
        return value
    copy = object.__new__(type(value))
    if hasattr(value, "__dict__"):
        object.__setattr__(copy, "__dict__", {**value.__dict__, **changed})
        for slot in ("__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__"):
            if hasattr(value, slot):
                object.__setattr__(copy, slot, getattr(value, slot))
    else:
        for name, item in after.items():
            object.__setattr__(copy, name, item)
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
