"""What runs tell of, where branches move in any order: in order of declaration, and nothing of branches that lose."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from diagnosis.runtime import Forked, Place
from diagnosis.runtime.position import Path, fork_at
from diagnosis.verify.moves import contests
from diagnosis.verify.paths import Paths, Transition

MAX_PRODUCT = 100_000
"""Combinations of a control state with what is remembered there that are explored at most."""

Log = TypeVar("Log")
"""What happened in a branch: which things, or how many."""

Logs = dict[Path, Log]


@dataclass
class Found(Generic[Log]):
    """What came of a search.

    Attributes:
        hit: whether some run tells of what was looked for.
        cut: whether there was too much to look at.
        ends: what was remembered where runs ended or stopped with an error.
    """

    hit: bool = False
    cut: bool = False
    ends: set[Any] = field(default_factory=set)


class Telling(Generic[Log]):
    """A search through what the runs of a space tell.

    What a branch did is noted apart until its fork closes; then what counts of it is put in order of declaration. It is
    folded into a memory once it is out of all forks.

    Args:
        space: control states with transitions that name who moved.
        nothing: the empty log.
        add: puts one log after another.
        note: what to note of a transition.
        fold: ``(memory, log) -> (memory, hit)``.
        start: the first memory.
    """

    def __init__(
        self,
        space: Paths,
        nothing: Log,
        add: Callable[[Log, Log], Log],
        note: Callable[[Transition], Log],
        fold: Callable[[Any, Log], tuple[Any, bool]],
        start: Any = None,
    ) -> None:
        self._space, self._nothing, self._add = space, nothing, add
        self._note, self._fold, self._start = note, fold, start

    def search(self) -> Found[Log]:
        """Go through the product of control states, memories and logs until something is hit."""
        space, found = self._space, Found[Log]()
        rounds = {index: number for number, cycle in enumerate(space.cycles) for index in cycle}
        first: tuple[int, Any, tuple[tuple[Path, Log], ...]] = (0, self._start, ())
        seen, queue = {first}, deque([first])
        while queue and not found.hit:
            here, memory, noted = queue.popleft()
            if not space.outgoing[here]:
                found.ends.add(memory)
            for edge in space.outgoing[here]:
                logs = dict(noted)
                path = space.mover_of(edge).path
                logs[path] = self._add(logs.get(path, self._nothing), self._note(edge))
                if edge.target is None:
                    after, hit = self._fold(memory, self._stopped(edge, logs, edge.won, edge.failed_in))
                    found.ends.add(after)
                    found.hit = found.hit or hit
                    continue
                if here in rounds and rounds.get(edge.target) == rounds[here]:
                    # It may go on like this for ever; then the run meets its limit in this branch.
                    mover = space.mover_of(edge)
                    around = tuple(fork.name for fork in contests(space.positions[here], path))
                    found.hit = found.hit or self._fold(memory, self._stopped(edge, logs, around, mover.branch))[1]
                self._close(edge, logs)
                after, hit = self._fold(memory, logs.pop((), self._nothing))
                found.hit = found.hit or hit
                there = (edge.target, after, tuple(sorted((at, log) for at, log in logs.items() if log)))
                if there not in seen:
                    seen.add(there)
                    queue.append(there)
                    if len(seen) > MAX_PRODUCT:
                        found.cut = True
                        return found
        return found

    def _close(self, edge: Transition, logs: Logs[Log]) -> None:
        """Put the logs of the forks together that close with a transition."""
        before, path = self._space.positions[edge.source], self._space.mover_of(edge).path
        assert edge.target is not None
        after = self._space.positions[edge.target]
        for length in range(len(path) - 1, -1, -1):
            at = path[:length]
            if fork_at(after, at) is not None:
                break
            fork = fork_at(before, at)
            assert fork is not None
            numbers = range(len(fork.children)) if fork.wait == "all_of" else (path[length],)
            own = logs.get(at, self._nothing)
            for number in numbers:
                own = self._add(own, logs.get((*at, number), self._nothing))
            for inner in [inner for inner in logs if len(inner) > length and inner[:length] == at]:
                del logs[inner]
            logs[at] = own

    def _stopped(self, edge: Transition, logs: Logs[Log], won: tuple[str, ...], failed_in: str) -> Log:
        """Give what is told where a run stops: up to the branch that failed, and of a race the branch that won."""
        mover = self._space.mover_of(edge).path

        def walk(path: Path, inner: Place) -> tuple[Log, bool]:
            told = logs.get(path, self._nothing)
            if type(inner) is Forked:
                numbers = range(len(inner.children))
                if inner.name in won:
                    numbers = range(mover[len(path)], mover[len(path)] + 1)
                for number in numbers:
                    child = inner.children[number]
                    more, stops = walk((*path, number), child.place)
                    told = self._add(told, more)
                    if stops or child.branch == failed_in:
                        return told, True
            return told, False

        return walk((), self._space.positions[edge.source])[0]


@dataclass(frozen=True)
class Lengths:
    """The node executions that runs tell of.

    Attributes:
        shortest: the fewest; ``None`` where no run ends or too much would have to be looked at.
        longest: the most, of those that end or stop with an error; ``None`` likewise.
    """

    shortest: int | None
    longest: int | None


def lengths(space: Paths) -> Lengths:
    """Find how many node executions the runs of a space tell of.

    Args:
        space: control states with transitions that name who moved; where it has cycles, the longest is without them.
    """
    most = len(space.states) + 1

    def add(count: int, more: int) -> int:
        return min(count + more, most)

    found = Telling[int](space, 0, add, lambda edge: 1, lambda count, more: (add(count, more), False), 0).search()
    if found.cut or not found.ends:
        return Lengths(None, None)
    return Lengths(min(found.ends), max(found.ends))
