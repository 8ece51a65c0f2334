"""The actions of branches that are under way."""

from __future__ import annotations

import asyncio
import functools
import types
from collections import deque
from collections.abc import Awaitable, Iterable
from typing import Any

from diagnosis.runtime.position import Path

Ended = tuple[Path, asyncio.Task[Any]]
"""The path of a branch, and the task of its action, which is through."""


class Tasks:
    """Awaitables under way, and their results in order of completion."""

    def __init__(self) -> None:
        self._tasks: dict[Path, asyncio.Task[Any]] = {}
        self._done: deque[Ended] = deque()
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
        for path, awaitable in new:
            own = awaitable if isinstance(awaitable, types.CoroutineType) else _awaited(awaitable)
            task = loop.create_task(own)
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
        if not task.cancelled():
            task.exception()  # so that nobody complains where it is not asked for
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
