"""Where a run stands: at one node, or in a tree of forks whose branches each stand somewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from diagnosis.runtime.definition import Wait
from diagnosis.runtime.errors import DefinitionError, RunError

Status = Literal["ready", "running", "waiting", "ended"]
"""Whether what stands at a node may move, is being executed, waits for an answer, or is through."""

Path = tuple[int, ...]
"""The place of a branch in its fork, of that fork's branch in the fork around it, and so on, outermost first."""


class Position(NamedTuple):
    """A place at one node.

    Attributes:
        node: the node that comes next, or END.
        reason: the reason code that led there; ``None`` at the start.
        branch: the branch that stands there, such as ``worker[1]``; empty outside branches.
        path: the same as numbers: the branch's place in each fork around it.
        status: whether it may move; see :data:`Status`.
    """

    node: str
    reason: str | None = None
    branch: str = ""
    path: Path = ()
    status: Status = "ready"


class Opening(NamedTuple):
    """A fork that a decision asks for: what every branch starts with.

    Attributes:
        source: the node that was left.
        targets: a branch each: the first node, the reason code, and what only this branch sees.
        join: where the branches meet.
        wait: ``all_of`` or ``any_of``.
        max_concurrency: how many branches may be under way at once, or ``None``.
    """

    source: str
    targets: tuple[tuple[str, str, Mapping[str, Any]], ...]
    join: str
    wait: Wait
    max_concurrency: int | None

    @property
    def node(self) -> str:
        """No node comes next."""
        return ""


Wrote = tuple[str, Any, str]
"""One write: the key, the frozen value, and the node that wrote it."""

Written = tuple[Any, tuple[Wrote, ...]] | None
"""What was written before, and the latest writes; ``None`` for nothing."""


def written(writes: Written) -> Iterator[Wrote]:
    """Go through what a branch wrote, in order.

    Args:
        writes: the writes of a branch.
    """
    parts = []
    while writes is not None:
        writes, part = writes
        parts.append(part)
    for part in reversed(parts):
        yield from part


class Child(NamedTuple):
    """One branch of a fork.

    Attributes:
        branch: its name: its first node, and its path in brackets.
        place: where it stands.
        state: what it sees: the state at the fork, what it was sent, and what it wrote.
        writes: what it wrote since the fork; see :func:`written`.
        failure: the error that ended it, if one did.
    """

    branch: str
    place: Place
    state: Mapping[str, Any]
    writes: Written = None
    failure: RunError | None = None

    @property
    def ended(self) -> bool:
        """Whether it is through, well or not."""
        return self.failure is not None or (type(self.place) is Position and self.place.status == "ended")

    @property
    def ended_well(self) -> bool:
        """Whether it is through, and no error ended it."""
        return self.failure is None and self.ended


class Forked(NamedTuple):
    """A fork whose branches are under way.

    Attributes:
        source: the node that opened it.
        branch: the branch that it was opened in; empty outside branches.
        path: that branch's path.
        join: where its branches meet.
        wait: ``all_of`` or ``any_of``.
        max_concurrency: how many branches may be under way at once, or ``None``.
        reason: the reason code with which it was opened, and with which the join is reached.
        base: the state at the fork.
        children: its branches, in order of declaration.
        winner: for an ``any_of``, the place of the branch that is to win, where that was chosen.
        passed: how many branches from the first on have ended well; nobody has to look at them again.
    """

    source: str
    branch: str
    path: Path
    join: str
    wait: Wait
    max_concurrency: int | None
    reason: str
    base: Mapping[str, Any]
    children: Sequence[Child]
    winner: int | None = None
    passed: int = 0

    @property
    def node(self) -> str:
        """No one node comes next."""
        return ""

    @property
    def name(self) -> str:
        """How scripts and messages name it: the node that opened it, with the path of its branch in brackets."""
        return self.source + bracketed(self.path)


Place = Position | Forked
"""Where a run, or a branch of it, stands."""


def bracketed(path: Path) -> str:
    """Write a path as branch names end with it, such as ``[1][0]``.

    Args:
        path: a branch's path.
    """
    return "".join(f"[{number}]" for number in path)


def movable(place: Place) -> Iterator[Position]:
    """Go through the positions that may move, in order of declaration.

    Args:
        place: where a run stands.
    """
    return _live(place, "ready")


def running(place: Place) -> Iterator[Position]:
    """Go through the positions whose nodes are being executed, in order of declaration.

    Args:
        place: where a run stands.
    """
    return _live(place, "running")


def _live(place: Place, status: Status) -> Iterator[Position]:
    """Go through the positions of one status in branches that something waits for."""
    if type(place) is Position:
        if place.status == status:
            yield place
        return
    assert type(place) is Forked
    free = len(place.children) if place.max_concurrency is None else place.max_concurrency
    for number in range(place.passed, len(place.children)):
        child = place.children[number]
        if child.failure is not None and place.wait == "all_of":
            break
        if child.ended or (place.winner is not None and number != place.winner):
            continue
        if free == 0:
            break
        free -= 1
        inner = child.place
        if type(inner) is Forked:
            yield from _live(inner, status)
        elif inner.status == status:  # type: ignore[union-attr]
            yield inner  # type: ignore[misc]


def positions(place: Place) -> Iterator[Position]:
    """Go through every position, in order of declaration.

    Args:
        place: where a run stands.
    """
    if type(place) is Position:
        yield place
        return
    assert type(place) is Forked
    for child in place.children:
        yield from positions(child.place)


def forks(place: Place) -> Iterator[Forked]:
    """Go through every fork, outer ones before those in their branches.

    Args:
        place: where a run stands.
    """
    if type(place) is Forked:
        yield place
        for child in place.children:
            yield from forks(child.place)


def named(place: Place, branch: str) -> Position:
    """Give the position of a branch that stands at a node.

    Args:
        place: where a run stands.
        branch: its name.

    Raises:
        DefinitionError: no such branch stands at a node.
    """
    for position in positions(place):
        if position.branch == branch:
            return position
    there = ", ".join(repr(position.branch) for position in positions(place))
    raise DefinitionError(f"no branch {branch!r} stands at a node; those that do are {there}")


def child_at(place: Place, path: Path) -> Child:
    """Give the branch at a path.

    Args:
        place: where the run stands.
        path: the path of one of its branches.
    """
    child: Child | None = None
    for number in path:
        assert type(place) is Forked
        child = place.children[number]
        place = child.place
    assert child is not None
    return child


def with_child(place: Place, path: Path, child: Child) -> Forked:
    """Give the same place with another branch at a path.

    Args:
        place: where the run stands.
        path: the path of one of its branches.
        child: what comes in its stead.
    """
    assert type(place) is Forked
    number = path[0]
    if len(path) > 1:
        old = place.children[number]
        child = Child(old.branch, with_child(old.place, path[1:], child), old.state, old.writes, old.failure)
    children = (*place.children[:number], child, *place.children[number + 1 :])
    return with_children(place, children)


def with_children(fork: Forked, children: tuple[Child, ...]) -> Forked:
    """Give the same fork with other branches.

    Args:
        fork: a fork.
        children: what comes in their stead.
    """
    passed = fork.passed
    while passed < len(children) and children[passed].ended_well:
        passed += 1
    return fork._replace(children=children, passed=passed)


def fork_at(place: Place, path: Path) -> Forked | None:
    """Give the fork that is open in a branch, or ``None`` where none is, or the branch is gone.

    Args:
        place: where the run stands.
        path: the branch's path; empty outside branches.
    """
    for number in path:
        if type(place) is not Forked:
            return None
        place = place.children[number].place
    return place if type(place) is Forked else None


def with_fork(place: Place, fork: Forked) -> Forked:
    """Give the same place with another fork where one is open.

    Args:
        place: where the run stands.
        fork: what comes in its stead.
    """
    if not fork.path:
        return fork
    child = child_at(place, fork.path)
    return with_child(place, fork.path, Child(child.branch, fork, child.state, child.writes, child.failure))


def standing(child: Child, here: Position, status: Status) -> Child:
    """Give the same branch with another status.

    Args:
        child: a branch.
        here: where it stands.
        status: what it is to have.
    """
    place = Position(here.node, here.reason, here.branch, here.path, status)
    return Child(child.branch, place, child.state, child.writes)
