"""Keys that routing reads on some path before anything on that path wrote them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from functools import cached_property

from diagnosis.runtime import Place
from diagnosis.runtime.position import Path, fork_at
from diagnosis.verify.lasso import decided_on
from diagnosis.verify.paths import Call, Script, Transition, script_back
from diagnosis.verify.space import StateSpace

Told = tuple[str, str, Script]
"""A key, who reads it, and the shortest script that comes to it."""

_Writers = frozenset[Path]
"""The branches, by their path, that wrote a key; ``()`` where all see it."""


def read_too_soon(space: StateSpace) -> Iterator[Told]:
    """Find the keys without a value at the start that are read before anything wrote them.

    Args:
        space: what was explored.

    Returns:
        For each such key the reading that the shortest script comes to. What an update leaves out of a node's whole
        report counts as written; a branch sees what was written before it, and what it wrote itself.
    """
    definition = space.model.graph.definition
    given = {*space.model.input, *(definition.inputs or ())}
    uses: dict[int, _Use] = {}
    for key in space.projection:
        if definition.keys[key].initial is None and key not in given:
            found = _first(space, key, uses)
            if found is not None:
                yield found


class _Use:
    """What one transition reads and writes; found out by executing it once more, when first asked."""

    def __init__(self, space: StateSpace, edge: Transition) -> None:
        self._space, self._edge = space, edge
        self._here = space.mover(edge.source)
        self._node = space.model.graph.definition.node(self._here.node)

    @cached_property
    def _done(self) -> tuple[set[str], set[str], set[str], dict[str, bool]]:
        """Give what the outcome's function read, what was decided on, what was written, and which keys hold a value."""
        space, edge, definition = self._space, self._edge, self._space.model.graph.definition
        done = space.moves.execute(space.positions[edge.source], space.states[edge.source], self._here, edge.outcome)
        decided = set().union(*(look.reads for look in space.moves.notes.looks))
        written = set(definition.whole(self._node))
        if done.reported is None:
            return done.reads, decided, written, {}
        written.update(done.reported.report)
        if not decided and not definition.commanded(done.reported.event.choice):
            decided = decided_on(definition, self._here.node, done.reported.after)
        return done.reads, decided, written, {k: v is not None for k, v in done.reported.after.items()}

    def writes(self, key: str) -> bool:
        return key in self._done[2] or self._done[3].get(key, False)

    def reader(self, key: str) -> str | None:
        """Say who reads a key in this transition while nothing wrote it."""
        node, name = self._node, self._here.node
        if self._space.seen(self._edge.source)[key] is None:
            for effect in node.entry:
                if key in effect.reads:
                    return f"update {effect.name!r} before {name}"
                if key in effect.writes:
                    return None
            if node.attempt is not None and key in node.attempt.reads:
                return f"the attempt of {name}"
            if key in self._done[0]:
                return f"outcome {self._edge.outcome!r} of {name}"
        if self.writes(key):
            return None
        for effect in node.exit:
            if key in effect.reads:
                return f"update {effect.name!r} after {name}"
        if key in self._done[1]:
            return f"the decision of {name}"
        return f"the outcome of {name}" if node.outcome is not None and key in node.outcome.reads else None


def _first(space: StateSpace, key: str, uses: dict[int, _Use]) -> Told | None:
    """Search the control states breadth first, with who wrote the key, for the first reading without a writer."""
    start: tuple[int, _Writers] = (0, frozenset())
    came: dict[tuple[int, _Writers], tuple[tuple[int, _Writers], Call] | None] = {start: None}
    queue = deque([start])
    while queue:
        place = queue.popleft()
        index, wrote = place
        path = space.mover(index).path
        sees = any(path[: len(writer)] == writer for writer in wrote)
        for edge in space.outgoing[index]:
            use = uses.get(id(edge))
            if use is None:
                use = uses[id(edge)] = _Use(space, edge)
            reader = None if sees or edge.hidden else use.reader(key)
            if reader is not None:
                return key, f"{reader} reads it before anything wrote it", (*script_back(came, place), space.call(edge))
            if edge.target is None:
                continue
            now = _lifted(space.positions[edge.target], {*wrote, path} if use.writes(key) else wrote)
            there = (edge.target, now)
            if () not in now and there not in came:
                came[there] = (place, space.call(edge))
                queue.append(there)
    return None


def _lifted(place: Place, writers: Iterable[Path]) -> _Writers:
    """Give who wrote, once forks have closed: what was written in one is then seen around it."""
    found = set()
    for path in writers:
        while path and fork_at(place, path[:-1]) is None:
            path = path[:-1]
        found.add(path)
    return frozenset(found)
