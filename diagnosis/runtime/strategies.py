"""Key strategies: how a new value of a state key is put together with the old one."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from itertools import chain
from typing import Any, ClassVar

from diagnosis.runtime.errors import DefinitionError, MergeError
from diagnosis.runtime.frozen import (
    MARKERS,
    Edits,
    FrozenDict,
    FrozenList,
    History,
    elements,
    freeze,
    frozen_dict,
    thaw,
)
from diagnosis.runtime.markers import ReplaceAll, alike, edited
from diagnosis.runtime.valuetypes import ValueType

Merging = Callable[[Any, Any], Any]
"""``(old, new) -> merged`` on frozen values."""

_ADDING = (operator.add, operator.concat, operator.iadd, operator.iconcat)


def _same(value: Any) -> Any:
    return value


def refuse_marker(value: Any) -> None:
    """Refuse a marker where no history can take it.

    Args:
        value: a frozen value.

    Raises:
        MergeError: it is a marker, or a list that holds one.
    """
    if type(value) in MARKERS:
        marker = next(item for item in value if type(item) in MARKERS) if type(value) is Edits else value
        raise MergeError(
            f"{marker!r} is a marker, which only a node's write to an Append key may hold; give the value itself"
        )


@dataclass(frozen=True)
class Strategy:
    """How a state key starts, merges and is read; use one of the subclasses.

    Attributes:
        initial: the value at the start of a run, where the input gives none.
        read: the typed read: a pure function from the stored value to what decisions make of it. It never raises; two
            values that read alike are one value to exploration.
        type: the type of the key's value, which start values and writes are checked against, strictly: ``"1"`` is no
            int. Null at the start means that nothing is written yet, and fits every type. No check where absent.

    Raises:
        DefinitionError: the type cannot be checked, or the initial value is of another.
    """

    _: KW_ONLY
    initial: Any = None
    read: Callable[[Any], Any] = _same
    type: Any = None

    _checked: ClassVar[ValueType | None] = None

    def __post_init__(self) -> None:
        if self.type is None or self.type is Any:
            object.__setattr__(self, "initial", self.start(self.initial))
            return
        object.__setattr__(self, "_checked", self._value_type())
        try:
            object.__setattr__(self, "initial", self.start(self.initial))
        except MergeError as error:
            raise DefinitionError(f"the initial value: {error}") from error

    def _value_type(self) -> ValueType:
        return ValueType(self.type)

    def start(self, value: Any) -> Any:
        """Give the stored form of a value that a run starts with.

        Args:
            value: an initial or input value.

        Returns:
            A frozen value.

        Raises:
            MergeError: the value cannot start this key, or is not of its type.
        """
        frozen = freeze(value)
        refuse_marker(frozen)
        started = self._started(frozen)
        if self._checked is not None and value is not None:
            self._checked.check(started)
        return started

    def _started(self, value: Any) -> Any:
        """Give the stored form of a frozen value."""
        return value

    def merging(self) -> Merging | None:
        """Give the merge function, or ``None`` where the new value simply takes the old one's place."""
        return None


@dataclass(frozen=True)
class Replace(Strategy):
    """The new value takes the place of the old one."""

    def merging(self) -> Merging | None:
        """Give the function that checks the new value, or ``None`` where the key has no type."""
        checked = self._checked
        if checked is None:
            return None

        def replace(old: Any, new: Any) -> Any:
            refuse_marker(new)
            checked.check(new)
            return new

        return replace


@dataclass(frozen=True)
class Append(Strategy):
    """A history: the new value is a list, its elements go after the old ones; null adds nothing.

    A write may also take elements out, with the markers :class:`Remove` and :class:`ReplaceAll`.

    Attributes:
        unique: whether an element is left out that is equal to an earlier one. 1, 1.0 and True are not equal here, nor
            is what holds them.
    """

    _: KW_ONLY
    unique: bool = False

    def _value_type(self) -> ValueType:
        return ValueType(self.type, "elements")

    def _started(self, value: Any) -> History:
        """Give the history that a run starts with; null is the empty one."""
        if type(value) is History:
            value = FrozenList(value)
        return History(self._append()(History(), value))

    def _append(self) -> Callable[[History, Any], History]:
        return _append_new if self.unique else History.extended

    def merging(self) -> Merging:
        """Give the function that appends."""
        append, checked = self._append(), self._checked
        if checked is None:
            return append

        def append_checked(old: History, new: Any) -> History:
            if type(new) is ReplaceAll:
                if isinstance(new.values, tuple | History):
                    checked.check(new.values, "ReplaceAll: ")
            elif type(new) is Edits:
                places = [i for i, item in enumerate(new) if type(item) not in MARKERS]
                checked.check(FrozenList(new[i] for i in places), places=places)
            elif isinstance(new, tuple):
                checked.check(FrozenList(new))
            return append(old, new)

        return append_checked


def _append_new(old: History, new: Any) -> History:
    """Append what is not there yet."""
    if type(new) in MARKERS:
        kept, added = edited(old, new)
        old = History().extended(FrozenList(kept))
    else:
        added = elements(new)
    fresh: list[Any] = []
    for value in added:
        if not any(alike(value, earlier) for earlier in chain(old, fresh)):
            fresh.append(value)
    return old.extended(FrozenList(fresh))


@dataclass(frozen=True)
class Merge(Strategy):
    """A mapping whose entries are replaced one by one; null changes nothing."""

    def _value_type(self) -> ValueType:
        return ValueType(self.type, "entries")

    def _started(self, value: Any) -> FrozenDict:
        """Give the mapping that a run starts with; null is the empty one."""
        return _merge(FrozenDict(), value)

    def merging(self) -> Merging:
        """Give the function that merges."""
        checked = self._checked
        if checked is None:
            return _merge

        def merge_checked(old: FrozenDict, new: Any) -> FrozenDict:
            merged = _merge(old, new)
            if new is not None:
                checked.check(frozen_dict(dict(new)))
            return merged

        return merge_checked


def _merge(old: FrozenDict, new: Any) -> FrozenDict:
    if new is None:
        return old
    if type(new) is not FrozenDict and not isinstance(new, Mapping):
        refuse_marker(new)
        kind = "list" if type(new) is FrozenList else type(new).__name__
        raise MergeError(f"a Merge key takes a mapping of entries, not {kind}")
    return frozen_dict({**old, **freeze(new)})


@dataclass(frozen=True)
class Custom(Strategy):
    """A strategy of one's own.

    Attributes:
        merge: ``(old, new) -> merged``. It is handed copies of both, so that changing them in place does no harm.
    """

    merge: Merging = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if not callable(self.merge):
            raise DefinitionError("Custom needs a function (old, new) -> merged")
        super().__post_init__()

    def merging(self) -> Merging:
        """Give the user's function, kept away from the state's own objects."""
        merge, checked = self.merge, self._checked
        adds = any(merge is function for function in _ADDING)

        def apart(old: Any, new: Any) -> Any:
            if type(new) in MARKERS:
                refuse_marker(new)
            if adds and new is old and new and type(new) is FrozenList:
                raise MergeError(
                    "the update hands back the list it was given, which would double it; return new elements only"
                )
            merged = freeze(merge(thaw(old), thaw(new)))
            if type(merged) in MARKERS:
                refuse_marker(merged)
            if checked is not None and (merged is not None or old is not None):
                checked.check(merged, "the merged value: ")
            return merged

        return apart
