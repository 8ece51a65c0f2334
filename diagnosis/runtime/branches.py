"""Running branches: the actions of a fork awaited side by side, and what they did put in order of declaration."""

from __future__ import annotations

import asyncio
import functools
import inspect
import types
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from diagnosis.runtime.branching import closable, merged_children
from diagnosis.runtime.decisions import Event
from diagnosis.runtime.errors import RunError, action_failed, limit_met
from diagnosis.runtime.nodestep import Report
from diagnosis.runtime.position import Forked, Opening, Path, Place, Position, begun, child_at, movable, running
from diagnosis.runtime.run import Executed

if TYPE_CHECKING:
    from diagnosis.runtime.record import Record

Wait = Callable[[Any], Awaitable[Any]]
"""How to wait for an awaitable."""

Show = Callable[[Executed], Awaitable[Any]]
"""What is awaited with each node execution that completed."""


class Logged:
    """One node execution in a branch.

    Attributes:
        position: where the branch stood.
        before: what it saw before the entry updates.
        report: what the action returned, as it was taken in.
        after: what it saw afterwards.
        event: the event.
        causes: the executions that led to it; ``None`` stands for the one that opened the outermost fork.
    """

    __slots__ = ("after", "before", "causes", "event", "position", "report")

    def __init__(
        self,
        position: Position,
        before: Mapping[str, Any],
        report: Report,
        after: Mapping[str, Any],
        event: Event,
        causes: tuple[Logged | None, ...],
    ) -> None:
        self.position = position
        self.before = before
        self.report = report
        self.after = after
        self.event = event
        self.causes = causes


class Track:
    """What has happened in one branch so far.

    Attributes:
        log: its node executions, those of forks in it that have closed included.
        tips: the last of them: one, or the last of each branch of a fork that has just closed.
        here: where it stood before the node that is under way.
        before: what it saw there.
        attempt: which attempt of that node it is.
    """

    __slots__ = ("attempt", "before", "here", "log", "tips")

    def __init__(self, tips: tuple[Logged | None, ...]) -> None:
        self.log: list[Logged] = []
        self.tips = tips
        self.here = Position("")
        self.before: Mapping[str, Any] = {}
        self.attempt = 1


class Tasks:
    """Awaitables under way, and their results in order of completion."""

    def __init__(self) -> None:
        self._tasks: dict[Path, asyncio.Task[Any]] = {}
        self._done: deque[tuple[Path, asyncio.Task[Any]]] = deque()
        self._waiting: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        return len(self._tasks)

    async def next(self, new: Iterable[tuple[Path, Awaitable[Any]]]) -> list[tuple[Path, asyncio.Task[Any]]]:
        """Start some more, and wait until at least one is through.

        Args:
            new: for each, the path of its branch.

        Returns:
            Those that are through.
        """
        loop = asyncio.get_running_loop()
        for path, awaitable in new:
            task = loop.create_task(_awaited(awaitable))
            self._tasks[path] = task
            task.add_done_callback(functools.partial(self._ended, path))
        if not self._done:
            self._waiting = loop.create_future()
            try:
                await self._waiting
            finally:
                self._waiting = None
        found = list(self._done)
        self._done.clear()
        return [(path, task) for path, task in found if self._tasks.pop(path, None) is task]

    def _ended(self, path: Path, task: asyncio.Task[Any]) -> None:
        if self._tasks.get(path) is task:
            self._done.append((path, task))
            if self._waiting is not None and not self._waiting.done():
                self._waiting.set_result(None)

    def drop(self, paths: Iterable[Path]) -> list[asyncio.Task[Any]]:
        """Cancel some; their results are never given.

        Args:
            paths: the paths of their branches.
        """
        dropped = [self._tasks.pop(path) for path in list(paths) if path in self._tasks]
        for task in dropped:
            task.cancel()
        return dropped

    def paths(self) -> tuple[Path, ...]:
        """Give the paths of those that are under way."""
        return tuple(self._tasks)


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


async def _through(tasks: list[asyncio.Task[Any]]) -> None:
    """Wait until cancelled tasks are through, whatever comes of them."""
    await asyncio.gather(*tasks, return_exceptions=True)


class Branches:
    """A fork while its branches run, from its opening outside branches to its join.

    Args:
        record: the run.
        wait: how to wait for an awaitable; it is awaited as it is where absent.
        show: what is awaited with each node execution that completed.
    """

    def __init__(self, record: Record, wait: Wait | None, show: Show | None) -> None:
        self._record = record
        self._wait = wait
        self._show = show
        self._step = record.graph.step
        self._tasks = Tasks()
        self._new: dict[Path, Awaitable[Any]] = {}
        self._tracks: dict[Path, Track] = {(): Track((None,))}
        # For each fork: the node executions that its branches may take, and whether only so many may be under way.
        self._room: dict[Path, int] = {}
        self._bounded: dict[Path, bool] = {}
        self._shown = 0
        # Whether branches other than the one that moved may move now or may not any more, and whether one has failed.
        self._changed = False
        self._failed = False

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
        self._shown = len(record.events)
        place: Place = self._step.branching.forked(opening, state)
        try:
            place, state = await self._followed(place, place, state, (0,))
            while type(place) is Forked:
                place, state = await self._onward(place, state)
        except RunError as error:
            self._drop_new()
            record.position = place
            record.merge(self._up_to(place, error), ())
            await self._cancelled(self._tasks.paths())
            raise
        except BaseException as error:
            self._drop_new()
            dropped = self._tasks.drop(self._tasks.paths())
            if dropped and isinstance(error, asyncio.CancelledError):
                await self._waited(_through(dropped))
            raise
        assert type(place) is Position
        record.merge(self._tracks[()].log, self._tracks[()].tips)
        return place, state

    async def _onward(self, place: Forked, state: Mapping[str, Any]) -> tuple[Place, Mapping[str, Any]]:
        """Move every branch that may move, in order of declaration; then wait for an action that is under way."""
        current: Place = place
        ready = deque(movable(place))
        while ready and type(current) is Forked:
            here = ready.popleft()
            self._changed = False
            current, state = await self._begun(current, state, here)
            if self._changed:
                ready = deque(movable(current))
            else:
                again = child_at(current, here.path).place
                assert type(again) is Position
                if again.status == "ready":
                    ready.appendleft(again)
                elif again.status == "ended" and self._bounded[here.path[:-1]]:
                    # The end of one lets another begin.
                    ready = deque(movable(current))
        if type(current) is Forked:
            new, self._new = self._new, {}
            done = await self._waited(self._tasks.next(new.items()))
            self._changed = False
            for path, task in done:
                if type(current) is not Forked:
                    break
                if not self._changed or any(path == here.path for here in running(current)):
                    current, state = await self._finished(current, state, path, task)
        return current, state

    async def _begun(self, place: Forked, state: Mapping[str, Any], here: Position) -> tuple[Place, Mapping[str, Any]]:
        """Enter a node and call its action; go on where it does not have to be waited for."""
        path = here.path
        track = self._tracks[path]
        track.attempt = 1
        try:
            if len(track.log) >= self._room[path[:-1]]:
                raise limit_met(self._record.limit, here.node)
            track.here = here
            view = track.before = child_at(place, path).state
            if self._record.graph.calls[here.node][2].prepares:
                entered, state, view, track.attempt = self._step.enter_branch(place, state, here)
                assert type(entered) is Forked
                place = entered
            update = self._record.called(here, MappingProxyType(view), track.attempt)
        except RunError as error:
            return await self._lost(place, state, here, error)
        kind = type(update)
        if kind is dict or not (kind is types.CoroutineType or inspect.isawaitable(update)):
            return await self._reported(place, state, track, update)
        self._new[path] = update
        return begun(place, here), state

    async def _finished(
        self, place: Forked, state: Mapping[str, Any], path: Path, task: asyncio.Task[Any]
    ) -> tuple[Place, Mapping[str, Any]]:
        """Take in what an awaited action came to."""
        track = self._tracks[path]
        try:
            update = task.result()
        except (Exception, asyncio.CancelledError) as error:
            failure = action_failed(track.here.node, track.attempt, error)
            return await self._lost(place, state, track.here, failure)
        return await self._reported(place, state, track, update)

    async def _lost(
        self, place: Place, state: Mapping[str, Any], here: Position, error: RunError
    ) -> tuple[Place, Mapping[str, Any]]:
        self._changed = self._failed = True
        error.attempt = self._tracks[here.path].attempt
        settled = self._step.branching.failed(place, state, here.path, error)
        return await self._followed(place, settled.place, settled.state, here.path)

    async def _reported(
        self, place: Place, state: Mapping[str, Any], track: Track, update: object
    ) -> tuple[Place, Mapping[str, Any]]:
        here = track.here
        try:
            reported = self._step.report_branch(place, here, update, track.attempt)
        except RunError as error:
            return await self._lost(place, state, here, error)
        _, after, _, event, report = reported
        entry = Logged(here, track.before, report, after, event, track.tips)
        track.log.append(entry)
        track.tips = (entry,)
        if self._show is not None:
            views = MappingProxyType(track.before), MappingProxyType(report), MappingProxyType(after)
            await self._show(Executed(self._shown, here, *views, event))
            self._shown += 1
        settled, simple = self._step.branching.moved(place, state, here, reported)
        if simple and not self._failed:
            return settled.place, state
        return await self._followed(place, settled.place, settled.state, here.path)

    async def _followed(
        self, before: Place, place: Place, state: Mapping[str, Any], path: Path
    ) -> tuple[Place, Mapping[str, Any]]:
        """Keep the books on what a move of a branch changed: a fork that opened, and forks that closed."""
        fork = _fork_at(place, path) if before is not place else place
        if type(fork) is Forked and fork.path not in self._room:
            place = self._opened(place, fork)
            fork = _fork_at(place, fork.path)
            assert type(fork) is Forked
            if closable(fork):
                settled = self._step.branching.settled(place, state, (*fork.path, 0))
                winner = (*fork.path, merged_children(fork)[0][0])
                return await self._followed(place, settled.place, settled.state, winner)
            return place, state
        shrunk = False
        for length in range(len(path) - 1, -1, -1):
            at = path[:length]
            old = _fork_at(before, at)
            if type(_fork_at(place, at)) is Forked:
                break
            assert type(old) is Forked
            shrunk = True
            self._close(old, path[length])
            if len(self._tracks[at].log) > self._room.pop(at):
                self._failed = True
                error = limit_met(self._record.limit, old.join)
                settled = self._step.branching.failed(place, state, at, error)
                place, state = settled.place, settled.state
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
        ends: dict[int, Logged | None] = {}
        for number in range(len(fork.children)):
            ended = self._tracks.pop((*path, number))
            if number == last or fork.wait == "all_of":
                track.log += ended.log
                ends.update((id(end), end) for end in ended.tips)
        track.tips = tuple(ends.values())

    async def _cancelled(self, paths: Iterable[Path]) -> None:
        paths = list(paths)
        for path in paths:
            _close_unstarted(self._new.pop(path, None))
        dropped = self._tasks.drop(paths)
        if dropped:
            await self._waited(_through(dropped))

    def _drop_new(self) -> None:
        for awaitable in self._new.values():
            _close_unstarted(awaitable)
        self._new.clear()

    async def _waited(self, awaitable: Awaitable[Any]) -> Any:
        return await (awaitable if self._wait is None else self._wait(awaitable))

    def _up_to(self, place: Place, error: RunError) -> list[Logged]:
        """Give what was executed before an error, in order of declaration, and nothing that depends on timing."""
        found: list[Logged] = []

        def add(path: Path, inner: Place) -> bool:
            if path not in self._tracks:
                return False
            found.extend(self._tracks[path].log)
            if type(inner) is Forked:
                for number, child in enumerate(inner.children):
                    if add((*path, number), child.place) or child.branch == error.branch:
                        return True
            return False

        add((), place)
        return found


def _fork_at(place: Place, path: Path) -> Place | None:
    """Give what stands at a path, or ``None`` where the branch is gone."""
    for number in path:
        if type(place) is not Forked:
            return None
        place = place.children[number].place
    return place


def _close_unstarted(awaitable: object) -> None:
    if isinstance(awaitable, types.CoroutineType):
        awaitable.close()
