"""Branches: how a fork opens, how its branches end, and how what they wrote comes together at the join."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from diagnosis.runtime.decisions import Event
from diagnosis.runtime.definition import END, Definition
from diagnosis.runtime.errors import DefinitionError, DiagnosisError, JoinError, RunError, StopRunError, told
from diagnosis.runtime.markers import ReplaceAll
from diagnosis.runtime.nodestep import Report, Writes
from diagnosis.runtime.position import (
    Child,
    Forked,
    Opening,
    Path,
    Place,
    Position,
    Status,
    Written,
    Wrote,
    bracketed,
    child_at,
    fork_at,
    forks,
    with_child,
    with_children,
    with_fork,
    written,
)
from diagnosis.runtime.strategies import Replace


class Settled(NamedTuple):
    """What is left to do once all that follows from a move has been done.

    Attributes:
        place: where the run stands.
        state: the state outside branches.
        path: the path of the branch that moved; where forks closed, of the one that goes on at the outermost join.
    """

    place: Place
    state: Mapping[str, Any]
    path: Path


class Reported(NamedTuple):
    """What a node in a branch came to, before the branch moves on; its event has no branch yet.

    Attributes:
        following: the position or the fork that it leads to.
        after: what the branch sees after it.
        writes: what the node wrote.
        event: the event.
        report: the update as it was taken in.
    """

    following: Position | Opening
    after: Mapping[str, Any]
    writes: Writes
    event: Event
    report: Report


class Branching:
    """How the branches of one graph open, end and join.

    Args:
        definition: a graph without findings.
    """

    def __init__(self, definition: Definition) -> None:
        self._merges = {key: strategy.merging() for key, strategy in definition.keys.items()}
        self._replacing = {key for key, strategy in definition.keys.items() if isinstance(strategy, Replace)}
        self._private = definition.private

    def forked(self, opening: Opening, state: Mapping[str, Any], branch: str = "", path: Path = ()) -> Forked:
        """Open a fork.

        Args:
            opening: what every branch starts with.
            state: what the branch sees in which it opens, or the state.
            branch: that branch; empty outside branches.
            path: its path.

        Raises:
            JoinError: a value that was sent cannot be merged.
        """
        children = []
        around = bracketed(path)
        for number, (target, reason, sent) in enumerate(opening.targets):
            own = (*path, number)
            name = f"{target}{around}[{number}]"
            seen = self.seen(opening.source, name, state, sent) if sent else state
            status: Status = "ended" if target == opening.join else "ready"
            children.append(Child(name, Position(target, reason, name, own, status), seen))
        fork = Forked(
            opening.source,
            branch,
            path,
            opening.join,
            opening.wait,
            opening.max_concurrency,
            opening.targets[0][1],
            state,
            (),
        )
        return with_children(fork, tuple(children))

    def seen(self, source: str, branch: str, state: Mapping[str, Any], sent: Mapping[str, Any]) -> Mapping[str, Any]:
        """Give what a branch sees when it begins.

        Args:
            source: the node that opened the fork.
            branch: the branch.
            state: the state at the fork, as that node sees it.
            sent: what only this branch is to see; frozen.

        Raises:
            JoinError: a value that was sent cannot be merged.
        """
        seen = {**state}
        for key, value in sent.items():
            try:
                merge = self._merges[key]
                seen[key] = value if merge is None else merge(seen[key], value)
            except Exception as error:
                raise JoinError(f"node {source!r} sent {key!r} to branch {branch!r}: {error}", node=source) from error
        return seen

    def moved(self, place: Place, state: Mapping[str, Any], path: Path, reported: Reported) -> Settled:
        """Move a branch on after one of its nodes.

        Args:
            place: where the run stands.
            state: the state outside branches.
            path: the branch's path.
            reported: what the node came to.

        Raises:
            RunError: a fork closes and what its branches wrote cannot be merged, or it fails with a branch of it.
        """
        child = child_at(place, path)
        if type(reported.following) is Opening:
            try:
                fork = self.forked(reported.following, reported.after, child.branch, path)
            except JoinError as error:
                return self.failed(place, state, path, error)
            place = with_child(place, path, Child(child.branch, fork, reported.after, _more(child, reported)))
            return self.settled(place, state, (*path, 0))
        around = fork_at(place, path[:-1])
        assert around is not None
        return self.settled(with_child(place, path, self.arrived(around, child, path, reported)), state, path)

    def arrived(self, fork: Forked, child: Child, path: Path, reported: Reported) -> Child:
        """Put a branch at the node that it came to, which may be its end.

        Args:
            fork: its fork.
            child: the branch.
            path: its path.
            reported: what the node came to; no fork.
        """
        following = reported.following
        assert type(following) is Position
        target = following.node
        status: Status = "ended" if target == fork.join or target == END else "ready"
        here = Position(target, following.reason, child.branch, path, status)
        return Child(child.branch, here, reported.after, _more(child, reported))

    def settled(self, place: Place, state: Mapping[str, Any], path: Path) -> Settled:
        """Close the fork of a branch if nothing is left to wait for, and every fork that closes with it.

        Args:
            place: where the run stands.
            state: the state outside branches.
            path: the branch's path.

        Raises:
            JoinError: what branches wrote cannot be merged.
            RunError: the error of a branch, where no fork around it can go on without it.
        """
        while path:
            outer = path[:-1]
            fork = fork_at(place, outer)
            assert fork is not None
            if not closable(fork):
                break
            failure = _failure(fork)
            if failure is not None:
                return self.failed(place, state, outer, failure)
            if not outer:
                return Settled(Position(fork.join, fork.reason), self._joined(fork, fork.base)[0], ())
            parent = child_at(place, outer)
            try:
                seen, writes = self._joined(fork, parent.state)
            except JoinError as error:
                return self.failed(place, state, outer, error)
            around = fork_at(place, outer[:-1])
            assert around is not None
            status: Status = "ended" if fork.join == around.join else "ready"
            here = Position(fork.join, fork.reason, parent.branch, outer, status)
            place = with_child(place, outer, Child(parent.branch, here, seen, (parent.writes, tuple(writes))))
            path = outer
        return Settled(place, state, path)

    def failed(self, place: Place, state: Mapping[str, Any], path: Path, error: RunError) -> Settled:
        """Go on after a branch failed, if that is possible.

        Args:
            place: where the run stands.
            state: the state outside branches.
            path: the branch's path; empty outside branches.
            error: why it failed.

        Raises:
            RunError: the error itself, or that of a branch declared before; nothing is left to go on with, or an action
                raised a :class:`StopRunError`.
        """
        if not path:
            raise error
        child = child_at(place, path)
        if not error.branch:
            error.branch, error.branch_path = child.branch, path
        if isinstance(error.__cause__, StopRunError):
            raise error
        lost = Child(child.branch, child.place, child.state, child.writes, error)
        place = with_child(place, path, lost)
        return self.settled(place, state, path)

    def _joined(self, fork: Forked, base: Mapping[str, Any]) -> tuple[dict[str, Any], list[Wrote]]:
        parts = [(number, child.branch, written(child.writes)) for number, child in merged_children(fork)]
        return self.joined(fork.source, fork.path, base, parts)

    def joined(
        self, source: str, path: Path, base: Mapping[str, Any], parts: Iterable[tuple[int, str, Iterable[Wrote]]]
    ) -> tuple[dict[str, Any], list[Wrote]]:
        """Merge what the branches of a fork wrote, in order of declaration.

        Args:
            source: the node that opened it.
            path: the path of the branch that it was opened in.
            base: the state that goes on at the join.
            parts: of each branch that counts, its place in the fork, its name and what it wrote.

        Returns:
            The state with what they wrote, and all that they wrote.

        Raises:
            JoinError: two branches wrote what only one may, or a value cannot be merged.
        """
        state = {**base}
        writes: list[Wrote] = []
        merges, replacing, private = self._merges, self._replacing, self._private
        first: dict[str, Writer] = {}
        replaced: dict[str, Writer] = {}
        for number, branch, wrote in parts:
            for write in wrote:
                key, value, node = write
                # What a subgraph keeps to itself means nothing at a join outside of it.
                if key in private and source not in private[key]:
                    continue
                alone = key in replacing or type(value) is ReplaceAll
                if key not in first:
                    first[key] = (number, node, branch)
                elif first[key][0] != number and (alone or key in replaced):
                    if key in replacing:
                        raise _conflict(source, path, key, first[key], (number, node, branch))
                    cleared = replaced.get(key)
                    ways = (
                        (first[key], (number, node, branch)) if cleared is None else ((number, node, branch), cleared)
                    )
                    raise _cleared(source, path, key, *ways)
                if alone:
                    replaced[key] = (number, node, branch)
                try:
                    # A value that takes the old one's place was checked when it was written.
                    merge = None if key in replacing else merges[key]
                    state[key] = value if merge is None else merge(state[key], value)
                except Exception as error:
                    raise JoinError(
                        f"the fork at {source + bracketed(path)!r}: what node {node!r} in branch {branch!r} wrote to "
                        f"{key!r} cannot be merged: {error if isinstance(error, DiagnosisError) else told(error)}",
                        node=source,
                    ) from error
                writes.append(write)
        return state, writes

    def choose(self, place: Place, fork: str, winner: int) -> Place:
        """Settle beforehand which branch of an ``any_of`` wins.

        Args:
            place: where the run stands.
            fork: the name of an open fork.
            winner: the place of the branch in it.

        Raises:
            DefinitionError: there is no such fork or branch.
        """
        for each in forks(place):
            if each.name == fork and each.wait == "any_of" and 0 <= winner < len(each.children):
                return with_fork(place, each._replace(winner=winner))
        raise DefinitionError(f"there is no open any_of fork {fork!r} with a branch {winner}")


Writer = tuple[int, str, str]
"""The place of a branch in its fork, its node that wrote, and the branch's name."""


def _conflict(source: str, path: Path, key: str, one: Writer, other: Writer) -> JoinError:
    return JoinError(
        f"the fork at {source + bracketed(path)!r}: {_told(path, one)} and {_told(path, other)} both wrote {key!r}, "
        "and only one value can stay; give the key a strategy that merges (Append, Merge or Custom), or let one "
        "branch write it",
        node=source,
    )


def _cleared(source: str, path: Path, key: str, one: Writer, clearing: Writer) -> JoinError:
    return JoinError(
        f"the fork at {source + bracketed(path)!r}: {_told(path, clearing)} wrote ReplaceAll to {key!r}, and "
        f"{_told(path, one)} wrote to it as well, so that nothing says which elements stay; let branches append, and "
        "write ReplaceAll before the fork or at its join",
        node=source,
    )


def _told(path: Path, writer: Writer) -> str:
    """Name a node in a branch of a fork."""
    number, node, branch = writer
    own = f"{node}{bracketed((*path, number))}"
    return repr(own) if own == branch else f"{own!r} of branch {branch!r}"


def _more(child: Child, reported: Reported) -> Written:
    """Give what a branch wrote, with what its node wrote now."""
    if not reported.writes:
        return child.writes
    node = reported.event.node
    return child.writes, tuple([(key, value, node) for key, value in reported.writes])


def closable(fork: Forked) -> bool:
    """Tell whether nothing is left to wait for.

    Args:
        fork: a fork.
    """
    children = fork.children
    if fork.winner is not None:
        return children[fork.winner].ended
    if fork.wait == "any_of":
        return fork.passed > 0 or any(child.ended_well for child in children) or all(child.ended for child in children)
    # A branch that failed ends the fork once all those declared before it have ended.
    passed = fork.passed
    return passed == len(children) or children[passed].failure is not None


def merged_children(fork: Forked) -> list[tuple[int, Child]]:
    """Give the branches whose writes count, with their places: all of them, or the one that won.

    Args:
        fork: a fork that closes well.
    """
    numbered = list(enumerate(fork.children))
    if fork.winner is not None:
        return [numbered[fork.winner]]
    if fork.wait == "any_of":
        return [next((number, child) for number, child in numbered if child.ended_well)]
    return numbered


def _failure(fork: Forked) -> RunError | None:
    """Give the error with which a closable fork fails: that of the branch declared first among those that failed."""
    children = fork.children if fork.winner is None else (fork.children[fork.winner],)
    if fork.wait == "any_of" and any(child.ended_well for child in children):
        return None
    return next((child.failure for child in children if child.failure is not None), None)
