"""JSON text, read as plain data without any of JSON's loose ends."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from diagnosis.scenarios.limits import MAX_DEPTH, MAX_DIGITS, MAX_NODES, Unfit, flaw_of, too_deep, too_many_nodes
from diagnosis.scenarios.places import Place, shown


class _Twice:
    """Stands in for an object that holds a key twice, until it is known where the object stands."""

    def __init__(self, key: str) -> None:
        self.key = key


def read_json(text: str) -> Any:
    """Read JSON.

    Args:
        text: the whole document.

    Raises:
        Unfit: it is no JSON, or not safe, plain data.
    """
    try:
        data = json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except json.JSONDecodeError as error:
        raise Unfit(
            f"no JSON ({error.msg})", "one JSON object or list; mend it there", line=error.lineno, column=error.colno
        ) from None
    except RecursionError:
        raise too_deep() from None
    except ValueError:
        raise Unfit("a very long number", f"numbers of at most {MAX_DIGITS} digits") from None
    _visit(data, (), 0)
    return data


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _Twice:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            return _Twice(key)
        made[key] = value
    return made


def _constant(name: str) -> NoReturn:
    raise Unfit(name, "finite numbers; JSON has no such value")


def _visit(value: Any, place: Place, count: int) -> int:
    """Look through data for what the parser lets pass, and give the count of nodes so far."""
    count += 1
    if count > MAX_NODES:
        raise too_many_nodes(place)
    if isinstance(value, _Twice):
        raise Unfit(f"the key {shown(value.key)} twice", "every key once; remove one", place=place)
    if not isinstance(value, dict | list):
        _refuse_flaws(value, place)
        return count
    if len(place) >= MAX_DEPTH:
        raise too_deep(place)
    if isinstance(value, dict):
        for key, inner in value.items():
            _refuse_flaws(key, place)
            count = _visit(inner, (*place, key), count + 1)
    else:
        for number, inner in enumerate(value):
            count = _visit(inner, (*place, number), count)
    return count


def _refuse_flaws(value: Any, place: Place) -> None:
    flaw = flaw_of(value)
    if flaw is not None:
        raise Unfit(*flaw, place=place)
