"""Readable names of control-state transitions."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from diagnosis.runtime import Child, Forked, Place, thaw
from diagnosis.runtime.position import child_at
from diagnosis.verify.canonical import canonical
from diagnosis.verify.paths import Transition
from diagnosis.verify.space import StateSpace


def transition_names(space: StateSpace) -> dict[tuple[int, int], str]:
    """Name every transition that an event of some run shows.

    A name tells the node and the outcome, and of the state before it the keys of the projection in which the control
    states at that node differ, but for those that stand as they did at the start; in branches also where the others
    stand. Where this does not tell two transitions apart, the later one in order of discovery has a number behind it.

    Args:
        space: the explored space.

    Returns:
        Control state and place among its transitions -> name.
    """
    differing = _differing(space)
    first = {key: canonical(value) for key, value in _reads(space, 0)}
    found: dict[tuple[int, int], str] = {}
    count: dict[str, int] = {}
    for state, outgoing in enumerate(space.outgoing):
        if not any(_visible(edge) for edge in outgoing):
            continue
        here = space.mover(state)
        values = [
            f"{key}={_shown(value)}"
            for key, value in _reads(space, state)
            if key in differing[here.node] and canonical(value) != first[key]
        ]
        values += _beside(space.positions[state], here.path)
        head = f"{here.branch or here.node}{'{' + ', '.join(values) + '}' if values else ''}"
        for place, edge in enumerate(outgoing):
            if _visible(edge):
                name = f"{head}.{edge.outcome}" + (f" won by {edge.winner}" if edge.winner is not None else "")
                count[name] = count.get(name, 0) + 1
                found[state, place] = name if count[name] == 1 else f"{name} #{count[name]}"
    return found


def _visible(edge: Transition) -> bool:
    return edge.choice is not None and not edge.hidden


def _reads(space: StateSpace, state: int) -> list[tuple[str, Any]]:
    """Give the typed reads of the projected keys, as what moves next sees them."""
    keys, place = space.model.graph.definition.keys, space.positions[state]
    path = space.mover(state).path
    view: Mapping[str, Any] = child_at(place, path).state if path else space.states[state]
    return [(key, keys[key].read(view[key])) for key in space.projection]


def _differing(space: StateSpace) -> dict[str, set[str]]:
    """Give for each node the keys in which the control states at that node differ."""
    first: dict[str, dict[str, Any]] = {}
    found: dict[str, set[str]] = {}
    for state in range(len(space.states)):
        node = space.node(state)
        values = {key: canonical(value) for key, value in _reads(space, state)}
        known = first.setdefault(node, values)
        found.setdefault(node, set()).update(key for key, value in values.items() if value != known[key])
    return found


def _shown(value: Any) -> str:
    if isinstance(value, Enum):
        return str(value.value)
    return value if isinstance(value, str) else "none" if value is None else str(thaw(value))


def _beside(place: Place, path: tuple[int, ...]) -> list[str]:
    """Say where the other branches stand."""
    found: list[str] = []
    for number in path:
        assert type(place) is Forked
        if place.wait == "any_of":
            found.append("to win" if place.winner is not None else "all to fail")
        else:
            found += [_standing(child) for other, child in enumerate(place.children) if other != number]
        place = place.children[number].place
    return found


def _standing(child: Child) -> str:
    if child.failure is not None:
        return f"{child.branch} failed"
    return f"{child.branch} {'through' if child.ended else 'at ' + (child.place.node or 'a fork')}"
