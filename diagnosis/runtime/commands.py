"""Commands: where to go next, said by an action or a router instead of being left to the node's own edges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from diagnosis.runtime.decisions import is_text
from diagnosis.runtime.errors import DefinitionError

_set = object.__setattr__

_NOTHING: Mapping[str, Any] = MappingProxyType({})


def _update(update: object, what: str) -> Mapping[str, Any]:
    if update is None:
        return _NOTHING
    if not isinstance(update, Mapping):
        raise DefinitionError(f"the update of a {what} is a mapping from key to value, found {type(update).__name__}")
    return dict(update)


@dataclass(frozen=True, slots=True)
class Send:
    """One branch of a fan-out, with values that only this branch is to see.

    Attributes:
        goto: a route key.
        update: key -> value, merged into what the branch starts from; at the join it is not merged again.

    Raises:
        DefinitionError: the route key is no text, or the update no mapping.
    """

    goto: str
    update: Mapping[str, Any]

    def __init__(self, goto: str, update: Mapping[str, Any] | None = None) -> None:
        if not is_text(goto):
            raise DefinitionError(f"a Send names a route key, a non-blank text; found {goto!r}")
        _set(self, "goto", goto)
        _set(self, "update", update.copy() if type(update) is dict else _update(update, "Send"))


@dataclass(frozen=True, slots=True)
class Command:
    """Where to go next, why, and what to update on the way; it takes the place of the node's own edges.

    Attributes:
        goto: a route key; or several, or several :class:`Send`, which open a branch each.
        update: key -> value, as a node's report.
        reason: the reason code.

    Raises:
        DefinitionError: there is nowhere to go, no reason, or the update is no mapping.
    """

    goto: str | tuple[str | Send, ...]
    update: Mapping[str, Any]
    reason: str

    def __init__(
        self, goto: str | Iterable[str | Send], update: Mapping[str, Any] | None = None, *, reason: str
    ) -> None:
        if not isinstance(goto, str):
            given: Any = goto
            goto = tuple(given) if isinstance(given, Iterable) else ()
        ways = (goto,) if isinstance(goto, str) else goto
        if not ways or not all(isinstance(way, Send) or is_text(way) for way in ways):
            raise DefinitionError("a Command goes to a route key, or to a list of route keys and Sends")
        if not is_text(reason):
            raise DefinitionError(f"a Command needs a reason code, a non-blank text; found {reason!r}")
        object.__setattr__(self, "goto", goto)
        object.__setattr__(self, "update", _update(update, "Command"))
        object.__setattr__(self, "reason", reason)


def ways_of(goto: str | Iterable[str | Send]) -> list[Send]:
    """Give each way of a goto with what it carries.

    Args:
        goto: a route key, or several, or several :class:`Send`.

    Returns:
        A Send a way, in order.
    """
    ways = (goto,) if isinstance(goto, str) else goto
    return [way if isinstance(way, Send) else Send(way) for way in ways]
