"""A hashable form of frozen values, by which control states are told apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from diagnosis.runtime import Command, Remove, ReplaceAll, Send, freeze, ways_of


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
    if kind is Remove or kind is ReplaceAll:
        return (kind.__name__, canonical(value.value if kind is Remove else value.values))
    return (kind.__name__, value if value == value else repr(value))


def canonical_way(given: Any) -> Any:
    """Give a hashable form of what a router gave: keys, what is sent to each, reason and update.

    Args:
        given: a route key, a list of route keys and Sends, or a Command.
    """
    reason, update, goto = None, None, given
    if isinstance(given, Command):
        reason, update, goto = given.reason, canonical(freeze(dict(given.update))), given.goto
    if not isinstance(goto, str | Send | list | tuple):
        return (reason, update, repr(goto))
    ways = ways_of((goto,) if isinstance(goto, Send) else goto)
    sent = tuple((way.goto, canonical(freeze(dict(way.update)))) for way in ways)
    return (reason, update, isinstance(goto, str), sent)


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
