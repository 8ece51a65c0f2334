"""Changes of conditions: never, always, the other way round, one value flipped, a limit moved."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, Final

from diagnosis.mutation.domains import Domains
from diagnosis.runtime import Condition, Definition, State, Strategy
from diagnosis.verify.canonical import canonical

MAX_VALUES: Final = 32
"""Values of one condition that are flipped at most, the first ones that exploration meets."""

Changed = tuple[str, Condition, str, str]
"""Operator, the changed condition, what it was, what it is."""


def changed_conditions(definition: Definition, node: str, condition: Condition, domains: Domains) -> Iterator[Changed]:
    """Go through the changes of one condition but for its absence.

    Args:
        definition: the graph.
        node: the node that decides.
        condition: the condition.
        domains: what it meets there.
    """
    name = condition.name
    yield "condition_false", _with(condition, _never), name, "false"
    yield "negate_condition", _with(condition, _negated(condition.test)), name, f"not {name}"
    log = definition.event_log
    if not condition.reads or (log is not None and log.key in condition.reads):
        return
    keys = definition.keys
    met = domains.of(node, condition)
    for value, (shown, state) in list(met.items())[:MAX_VALUES]:
        truth = _truth(condition, state)
        if truth is not None:
            where = ", ".join(f"{key}={_plain(each)}" for key, each in zip(condition.reads, shown, strict=True))
            was, comes = (f"{name} is {_plain(side)} for {where}" for side in (truth, not truth))
            yield "flip_value", _with(condition, _flipped(condition, keys, value)), was, comes
    for place, key in enumerate(condition.reads):
        numbers = [shown[place] for shown, _ in met.values() if type(shown[place]) is int]
        for operator, by, seen in (("raise_limit", -1, "- 1"), ("lower_limit", 1, "+ 1")):
            if numbers:
                shifted = _shifted(condition, keys, key, by, min(numbers))
                yield operator, _with(condition, shifted), name, f"{name} with {key} {seen}"


def always(condition: Condition) -> Condition:
    """Give a condition that always holds.

    Args:
        condition: whose name and reads it has.
    """
    return _with(condition, lambda state: True)


def _with(condition: Condition, test: Callable[[State], bool]) -> Condition:
    return Condition(condition.name, test, condition.reads)


def _never(state: State) -> bool:
    return False


def _negated(test: Callable[[State], bool]) -> Callable[[State], bool]:
    return lambda state: not test(state)


def _truth(condition: Condition, state: State) -> bool | None:
    """Tell how a condition comes out; ``None`` where it raises."""
    try:
        return bool(condition.test(state))
    except Exception:
        return None


def _flipped(condition: Condition, keys: Mapping[str, Strategy], value: Hashable) -> Callable[[State], bool]:
    reads = [(key, keys[key].read) for key in condition.reads]
    test = condition.test

    def flipped(state: State) -> bool:
        met: bool = canonical(tuple(read(state[key]) for key, read in reads)) == value
        return bool(test(state)) != met

    return flipped


class _Shifted(Mapping[str, Any]):
    """A state in which one key holds another value."""

    __slots__ = ("_key", "_state", "_value")

    def __init__(self, state: State, key: str, value: Any) -> None:
        self._state = state
        self._key = key
        self._value = value

    def __getitem__(self, key: str) -> Any:
        return self._value if key == self._key else self._state[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._state)

    def __len__(self) -> int:
        return len(self._state)


def _shifted(
    condition: Condition, keys: Mapping[str, Strategy], key: str, by: int, least: int
) -> Callable[[State], bool]:
    """Give the test of a condition that sees a whole number moved, but never one below all that it can meet."""
    read, test = keys[key].read, condition.test

    def shifted(state: State) -> bool:
        number = read(state[key])
        if type(number) is not int:
            return bool(test(state))
        return bool(test(_Shifted(state, key, max(number + by, least))))

    return shifted


def _plain(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if type(value) is str else str(value)
