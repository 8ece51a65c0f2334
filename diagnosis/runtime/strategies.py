"""Key strategies: how a new value of a state key is put together with the old one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

from diagnosis.runtime.errors import DefinitionError, MergeError
from diagnosis.runtime.frozen import FrozenDict, History, freeze, frozen_dict, thaw

Merging = Callable[[Any, Any], Any]
"""``(old, new) -> merged`` on frozen values."""


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Strategy:
    """How a state key starts, merges and is read; use one of the subclasses.

    Attributes:
        initial: the value at the start of a run, where the input gives none.
        read: the typed read: a pure function from the stored value to what decisions make of it. It never raises; two
            values that read alike are one value to exploration.
    """

    _: KW_ONLY
    initial: Any = None
    read: Callable[[Any], Any] = _same

    def __post_init__(self) -> None:
        object.__setattr__(self, "initial", self.start(self.initial))

    def start(self, value: Any) -> Any:
        """Give the stored form of a value that a run starts with.

        Args:
            value: an initial or input value.

        Returns:
            A frozen value.
        """
        return freeze(value)

    def merging(self) -> Merging | None:
        """Give the merge function, or ``None`` where the new value simply takes the old one's place."""
        return None


@dataclass(frozen=True)
class Replace(Strategy):
    """The new value takes the place of the old one."""


@dataclass(frozen=True)
class Append(Strategy):
    """A list that only grows: the new value is a list, its elements go after the old ones; null adds nothing."""

    def start(self, value: Any) -> Any:
        """Give the history that a run starts with; null is the empty one.

        Args:
            value: a list, a tuple or null.

        Raises:
            MergeError: the value is something else.
        """
        return History(value) if type(value) is History else History().extended(freeze(value))

    def merging(self) -> Merging:
        """Give the function that appends."""
        return History.extended


@dataclass(frozen=True)
class Merge(Strategy):
    """A mapping whose entries are replaced one by one; null changes nothing."""

    def start(self, value: Any) -> Any:
        """Give the mapping that a run starts with; null is the empty one.

        Args:
            value: a mapping or null.

        Raises:
            MergeError: the value is something else.
        """
        return _merge(FrozenDict(), value)

    def merging(self) -> Merging:
        """Give the function that merges."""
        return _merge


def _merge(old: FrozenDict, new: Any) -> FrozenDict:
    if new is None:
        return old
    if type(new) is not FrozenDict and not isinstance(new, Mapping):
        raise MergeError(f"a Merge key takes a mapping of entries, not {type(new).__name__}")
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
        merge = self.merge

        def apart(old: Any, new: Any) -> Any:
            return freeze(merge(thaw(old), thaw(new)))

        return apart
