"""Running branches: the actions of a fork awaited side by side, and what they did put in order of declaration."""

from __future__ import annotations

import asyncio
import inspect
import types
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from diagnosis.runtime.abreast import Abreast, Departure
from diagnosis.runtime.branching import Reported, closable, merged_children
from diagnosis.runtime.errors import RunError, action_failed, limit_met
from diagnosis.runtime.position import (
    Child,
    Forked,
    Opening,
    Path,
    Place,
    Position,
    child_at,
    fork_at,
    movable,
    running,
    standing,
    with_child,
    with_children,
)
from diagnosis.runtime.run import Executed
from diagnosis.runtime.tasks import Ended, Tasks
from diagnosis.runtime.track import OPENED, Logged, Track

if TYPE_CHECKING:
    from diagnosis.runtime.record import Record

Waiter = Callable[[Any], Awaitable[Any]]
"""How to wait for an awaitable."""

Show = Callable[[Executed], Awaitable[Any]]
"""What is awaited with each node execution that completed."""


async def _through(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Wait until cancelled tasks are through, whatever comes of them."""
    await asyncio.gather(*tasks, return_exceptions=True)


_NOT_YET = object()


class Branches:
    """A fork while its branches run, from its opening outside branches to its join.

    Args:
        record: the run.
        wait: how to wait for an awaitable; it is awaited as it is where absent.
        show: what is awaited with each node execution that completed.
    """

    def __init__(self, record: Record, wait: Waiter | None, show: Show | None) -> None:
        self._record = record
        self._wait = wait
        self._show = show
        self._step = record.graph.step
        self._tasks = Tasks()
        self._new: dict[Path, Awaitable[Any]] = {}
        self._tracks: dict[Path, Track] = {(): Track(OPENED)}
        # For each fork: the node executions that its branches may take, and whether only so many may be under way.
        self._room: dict[Path, int] = {}
        self._bounded: dict[Path, bool] = {}
        # Whether branches other than the one that moved may move now or may not any more, and whether one has failed.
        self._changed = False
        self._failed = False
        # Where the run stood before the move under way.
        self._place: Forked | None = None

    async def run(self, opening: Opening, state: Mapping[str, Any]) -> tuple[Position, Mapping[str, Any]]:
        """Run the branches until they meet.

        Args:
            opening: the fork.
            state: the state at it.

        Returns:
            The position at the join, and the state there.

        Raises:
            RunError: the run cannot go on.
        """
        record = self._record
        abreast = None
        place: Place
        if self._show is None and Abreast.suits(record, opening):
            place = record.position
            abreast = Abreast(record, opening, state)
        else:
            place = _owned(self._step.branching.forked(opening, state))
        try:
            if abreast is not None:
                place, state = await self._abreast(abreast, state)
            else:
                place, state = await self._followed(place, place, state, ())
            while type(place) is Forked:
                place, state = await self._onward(place, state)
        except RunError as error:
            record.position = self._place or place
            record.merge(self._up_to(record.position, error), ())
            await self._cancelled((*self._tasks.paths(), *self._new))
            raise
        except asyncio.CancelledError:
            await self._cancelled((*self._tasks.paths(), *self._new))
            raise
        except BaseException:
            # Whoever closes a stream does not wait any more.
            self._tasks.drop(self._tasks.paths())
            for awaitable in self._new.values():
                _dropped(awaitable)
            raise
        assert type(place) is Position
        if abreast is not None and place is abreast.position:
            record.merge(abreast.log, abreast.log)
        else:
            record.merge(self._tracks[()].log, self._tracks[()].tips)
        return place, state

    async def _abreast(self, abreast: Abreast, state: Mapping[str, Any]) -> tuple[Place, Mapping[str, Any]]:
        """Run branches of one node each; at the first that does something else, give the fork to go on with."""
        departure = abreast.start(self._new)
        if departure is not None:
            return await self._departed(abreast, state, departure, ())
        while abreast.position is None:
            new, self._new = self._new, {}
            done = await self._waited(self._tasks.next(new.items()))
            for index, ended in enumerate(done):
                departure = abreast.ended(ended)
                if departure is not None:
                    left = done[index + 1 :]
                    under_way = [path for path, _, _ in done[index:]]
                    place, state = await self._departed(abreast, state, departure, under_way)
                    return await self._ended(place, state, left)
        return abreast.position, abreast.state

    async def _departed(
        self, abreast: Abreast, state: Mapping[str, Any], departure: Departure, under_way: Iterable[Path]
    ) -> tuple[Place, Mapping[str, Any]]:
        """Go on with a branch that does something else than to come to the join."""
        fork = abreast.opened()
        self._opened(fork, fork)
        place = abreast.fork(fork, self._tracks, (*self._tasks.paths(), *self._new, *under_way))
        self._place = place = place._replace(children=list(place.children))
        return await self._moved(place, state, (departure.number,), departure)

    async def _onward(self, place: Forked, state: Mapping[str, Any]) -> tuple[Place, Mapping[str, Any]]:
        """Move every branch that may move, in order of declaration; then wait for an action that is under way."""
        current: Place = place
        ready = deque(movable(place))
        while ready and type(current) is Forked:
            here = ready.popleft()
            self._changed = False
            self._place = current
            current, state = await self._moved(current, state, here.path, _NOT_YET)
            if self._changed:
                ready = deque(movable(current))
        if type(current) is Forked:
            new, self._new = self._new, {}
            done = await self._waited(self._tasks.next(new.items()))
            self._changed = False
            return await self._ended(current, state, done)
        return current, state

    async def _ended(
        self, place: Place, state: Mapping[str, Any], done: Iterable[Ended]
    ) -> tuple[Place, Mapping[str, Any]]:
        """Move the branches on whose actions are through, but for those that nothing waits for any more."""
        for path, value, error in done:
            if type(place) is not Forked:
                break
            if not self._changed or any(path == here.path for here in running(place)):
                self._place = place
                if error is not None:
                    node, attempt = child_at(place, path).place.node, self._tracks[path].attempt
                    value = Departure(path[-1], action_failed(node, attempt, error))
                place, state = await self._moved(place, state, path, value)
        return place, state

    async def _moved(
        self, place: Forked, state: Mapping[str, Any], path: Path, update: object
    ) -> tuple[Place, Mapping[str, Any]]:
        """Move one branch as far as it goes without waiting, and do all that follows from it."""
        number = path[-1]
        fork = fork_at(place, path[:-1])
        assert fork is not None
        child, left = await self._along(fork, fork.children[number], self._tracks[path], update)
        if len(path) == 1:
            place.children[number] = child  # type: ignore[index]
        else:
            place = place._replace(children=list(with_child(place, path, child).children))
        branching = self._step.branching
        if isinstance(left, RunError):
            self._changed = self._failed = True
            left.attempt = self._tracks[path].attempt
            settled = branching.failed(place, state, path, left)
        elif left is not None:
            self._changed = True
            settled = branching.moved(place, state, path, left)
            if fork_at(settled.place, path) is None:
                self._changed = self._failed = True  # it closed at once, or could not open
        elif child.ended:
            self._changed = self._changed or self._bounded[path[:-1]]
            if fork.wait == "all_of" and number + 1 < len(fork.children) and not fork.children[number + 1].ended:
                return place, state  # surely not the last one
            settled = branching.settled(_counted(place), state, path)
        else:
            return place, state
        return await self._followed(place, _owned(settled.place), settled.state, path)

    async def _along(
        self, fork: Forked, child: Child, track: Track, update: object
    ) -> tuple[Child, RunError | Reported | None]:
        """Execute a branch node by node until it ends, or has to wait.

        Args:
            fork: its fork.
            child: the branch.
            track: what has happened in it.
            update: what its action returned, where that was waited for, or what came of it already.

        Returns:
            The branch, and what else there is to do: its error, or the node that opened a fork in it.
        """
        record = self._record
        here = child.place
        assert type(here) is Position
        while True:
            node = here.node
            action, takes_config, step = record.graph.calls[node]
            try:
                if update is _NOT_YET:
                    track.attempt = 1
                    if len(track.log) >= self._room[fork.path]:
                        raise limit_met(record.limit, node)
                    track.before = child.state
                    if step.prepares:
                        child, track.attempt = self._step.prepared(child, step, node)
                    view = MappingProxyType(child.state)
                    try:
                        if takes_config:
                            update = action(view, record.config_for(track.attempt, child.branch))
                        else:
                            update = action(view)
                    except Exception as error:
                        raise action_failed(node, track.attempt, error) from error
                    kind = type(update)
                    if kind is not dict and (kind is types.CoroutineType or inspect.isawaitable(update)):
                        self._new[here.path] = update  # type: ignore[assignment]
                        return standing(child, here, "running"), None
                elif here.status == "running":
                    here = here._replace(status="ready")
                if type(update) is Departure:
                    if isinstance(update.left, RunError):
                        return child, update.left
                    reported = update.left
                else:
                    reported = self._step.reported(child, step, here, update, track.attempt)
            except RunError as error:
                return child, error
            entry = Logged(here, track.before, reported.report, reported.after, reported.event, track.tips)
            track.add(entry)
            if self._show is not None:
                await self._show(Executed(record.shown, here, *entry.views(), entry.event_in(here.branch)))
                record.shown += 1
            if type(reported.following) is Opening:
                return child, reported
            child = self._step.branching.arrived(fork, child, here.path, reported)
            here = child.place
            assert type(here) is Position
            if here.status == "ended":
                return child, None
            update = _NOT_YET

    async def _followed(
        self, before: Place, place: Place, state: Mapping[str, Any], path: Path
    ) -> tuple[Place, Mapping[str, Any]]:
        """Keep the books on what a move of a branch changed: a fork that opened, and forks that closed."""
        fork = fork_at(place, path)
        if fork is not None and path not in self._room:
            place = _owned(self._opened(place, fork))
            fork = fork_at(place, path)
            assert fork is not None
            if closable(fork):
                settled = self._step.branching.settled(_counted(place), state, (*path, 0))
                winner = (*path, merged_children(fork)[0][0])
                return await self._followed(place, _owned(settled.place), settled.state, winner)
            return place, state
        shrunk = False
        for length in range(len(path) - 1, -1, -1):
            at = path[:length]
            if fork_at(place, at) is not None:
                break
            old = fork_at(before, at)
            assert old is not None
            shrunk = True
            self._close(old, path[length])
            room = self._room.pop(at)
            if len(self._tracks[at].log) > (self._room[at[:-1]] if at else room):
                self._failed = True
                error = limit_met(self._record.limit, old.join)
                if at and fork_at(place, at[:-1]) is None:
                    error.branch, error.branch_path = old.branch, at
                    raise error  # the fork around it has closed as well
                settled = self._step.branching.failed(place, state, at, error)
                place, state = _owned(settled.place), settled.state
        if (shrunk or self._failed) and (self._tasks or self._new):
            live = {here.path for here in running(place)}
            await self._cancelled([path for path in (*self._tasks.paths(), *self._new) if path not in live])
        return place, state

    def _opened(self, place: Place, fork: Forked) -> Place:
        self._changed = True
        path = fork.path
        track = self._tracks[path]
        limit = self._room[path[:-1]] if path else self._record.limit - len(self._record.events)
        self._room[path] = limit - len(track.log)
        self._bounded[path] = fork.max_concurrency is not None
        for number in range(len(fork.children)):
            self._tracks[*path, number] = Track(track.tips)
        winner = self._record.winner_of(fork)
        return place if winner is None else self._step.branching.choose(place, fork.name, winner)

    def _close(self, fork: Forked, last: int) -> None:
        """Put what the branches of a fork did after what came before it, in order of declaration."""
        self._changed = True
        path = fork.path
        track = self._tracks[path]
        ends: dict[Logged | None, None] = {}
        for number in range(len(fork.children)):
            ended = self._tracks.pop((*path, number))
            if number == last or fork.wait == "all_of":
                track.log += ended.log
                ends.update(dict.fromkeys(ended.tips))
        track.tips = tuple(ends)
        if len(self._room) > 1:
            # Forks that were open in branches that lost.
            length = len(path)
            for lost in [at for at in self._room if len(at) > length and at[:length] == path]:
                del self._room[lost]
            for lost in [at for at in self._tracks if len(at) > length and at[:length] == path]:
                del self._tracks[lost]

    async def _cancelled(self, paths: Iterable[Path]) -> None:
        """Cancel actions and wait until they are through."""
        paths = list(paths)
        dropped: list[asyncio.Future[Any]] = [*self._tasks.drop(paths)]
        for path in paths:
            dropped += _dropped(self._new.pop(path, None))
        if dropped:
            await self._waited(_through(dropped))

    async def _waited(self, awaitable: Awaitable[Any]) -> Any:
        return await (awaitable if self._wait is None else self._wait(awaitable))

    def _up_to(self, place: Place, error: RunError) -> list[Logged]:
        """Give what was executed before an error, in order of declaration, and nothing that depends on timing."""
        found: list[Logged] = []
        failed = error.branch_path

        def add(path: Path, inner: Place) -> bool:
            if path not in self._tracks:
                return False
            found.extend(self._tracks[path].log)
            if type(inner) is Forked:
                # What lost a race before an error stopped the run in another branch of it is told nowhere.
                raced = inner.wait == "any_of" and len(failed) > len(path) and failed[: len(path)] == path
                for number, child in enumerate(inner.children):
                    if raced and number != failed[len(path)]:
                        continue
                    if add((*path, number), child.place) or (*path, number) == failed:
                        return True
            return False

        add((), place)
        return found


def _owned(place: Place) -> Place:
    """Give a fork whose outermost branches may be replaced in place: nobody else has it."""
    if type(place) is Forked and type(place.children) is not list:
        return place._replace(children=list(place.children))
    return place


def _counted(place: Place) -> Forked:
    """Give a fork as all others have it, after branches were replaced in place."""
    assert type(place) is Forked
    return with_children(place, tuple(place.children))


def _dropped(awaitable: object) -> list[asyncio.Future[Any]]:
    """Drop an awaitable that nobody has begun to wait for; give what runs all the same, and was cancelled."""
    if isinstance(awaitable, types.CoroutineType):
        awaitable.close()
    if isinstance(awaitable, asyncio.Future):
        awaitable.cancel()
        return [awaitable]
    return []
