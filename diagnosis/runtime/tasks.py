"""The actions of branches that are under way."""

from __future__ import annotations

import asyncio
import functools
import types
from collections.abc import Awaitable, Iterable
from typing import Any

from diagnosis.runtime.position import Path

Ended = tuple[Path, Any, BaseException | None]
"""An action that is through: the path of its branch, what it returned, and what it raised instead."""


class Tasks:
    """Awaitables under way, and their results in order of completion."""

    def __init__(self) -> None:
        self._tasks: dict[Path, tuple[asyncio.Task[None], Awaitable[Any]]] = {}
        self._done: list[Ended] = []
        self._waiting: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        return len(self._tasks)

    async def next(self, new: Iterable[tuple[Path, Awaitable[Any]]]) -> list[Ended]:
        """Start some more, and wait until at least one is through.

        Args:
            new: for each, the path of its branch.

        Returns:
            Those that are through.
        """
        loop = asyncio.get_running_loop()
        plain = loop.get_task_factory() is None
        for path, awaitable in new:
            followed = self._followed(path, awaitable)
            # Where the loop has no way of its own to make tasks, this is what it does, at three quarters of the cost.
            task = asyncio.Task(followed, loop=loop, name="branch") if plain else loop.create_task(followed)
            self._tasks[path] = (task, awaitable)
        if not self._done:
            self._waiting = loop.create_future()
            try:
                await self._waiting
            finally:
                self._waiting = None
        found, self._done = self._done, []
        for path, _, _ in found:
            del self._tasks[path]
        return found

    async def _followed(self, path: Path, awaitable: Awaitable[Any]) -> None:
        """Await, and note what comes of it, unless it was dropped."""
        try:
            ended: Ended = (path, await awaitable, None)
        except (Exception, asyncio.CancelledError) as error:
            ended = (path, None, error)
        if path in self._tasks:
            self._done.append(ended)
            waiting = self._waiting
            if waiting is not None and not waiting.done():
                waiting.set_result(None)

    def drop(self, paths: Iterable[Path]) -> list[asyncio.Task[None]]:
        """Cancel some; their results are never given.

        Args:
            paths: the paths of their branches.
        """
        dropped = []
        for path in paths:
            if path in self._tasks:
                task, awaitable = self._tasks.pop(path)
                if isinstance(awaitable, types.CoroutineType) and not task.done():
                    # It would complain that nobody awaited it, where its task has not begun.
                    task.add_done_callback(functools.partial(_closed, awaitable))
                task.cancel()
                dropped.append(task)
        self._done = [ended for ended in self._done if ended[0] in self._tasks]
        return dropped

    def paths(self) -> tuple[Path, ...]:
        """Give the paths of those that are under way."""
        return tuple(self._tasks)


def _closed(awaitable: types.CoroutineType[Any, Any, Any], task: asyncio.Task[None]) -> None:
    awaitable.close()
