"""Which node executions led to the one that comes next, in every branch of a run under exploration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from diagnosis.runtime import START, Forked, Place, Position
from diagnosis.runtime.position import Path

Causes = Mapping[Path, tuple[str, ...]]
"""Path of a branch -> the nodes that led to where it stands; of one that has ended, what it executed last."""

FIRST_CAUSES: Causes = {(): (START,)}
"""What led to the first node of a run."""


def causes_after(causes: Causes, before: Place, moved: Position, after: Place) -> Causes:
    """Give the causes after one node execution.

    Args:
        causes: those before it.
        before: where the run stood.
        moved: the position that moved.
        after: where the run stands then.
    """
    found: dict[Path, tuple[str, ...]] = {}
    for path in _leaves(after):
        if path[: len(moved.path)] == moved.path:
            found[path] = (moved.node,)
        elif path == moved.path[: len(path)]:
            # A fork closed there: whatever each of its branches did last led to the join.
            found[path] = tuple(dict.fromkeys(_last(causes, before, moved, path)))
        else:
            found[path] = causes.get(path, ())
    return found


def _leaves(place: Place, path: Path = ()) -> Iterator[Path]:
    if type(place) is Forked:
        for number, child in enumerate(place.children):
            yield from _leaves(child.place, (*path, number))
    else:
        yield path


def _last(causes: Causes, place: Place, moved: Position, path: Path) -> Iterator[str]:
    """Go through what was executed last in all branches that stand below a path, the moved one included."""
    inner: Place = place
    for number in path:
        assert type(inner) is Forked
        inner = inner.children[number].place
    if path == moved.path:
        yield moved.node
    elif type(inner) is Forked:
        for number in range(len(inner.children)) if inner.winner is None else (inner.winner,):
            yield from _last(causes, place, moved, (*path, number))
    else:
        yield from causes.get(path, ())
