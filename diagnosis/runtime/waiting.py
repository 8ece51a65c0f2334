"""Waiting for async actions from plain code."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self


class Waiting:
    """Waits for what a suspended coroutine hands out: in an event loop made when the first awaitable comes.

    Where a loop is already running in this thread, as in a notebook, the waiting is done in a thread of its own.
    """

    def __init__(self) -> None:
        self._runner: asyncio.Runner | None = None
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def resume(self, drive: Coroutine[Any, Any, None], awaitable: Awaitable[Any]) -> Any:
        """Wait for an awaitable and hand its result or its error to a coroutine.

        Args:
            drive: the suspended coroutine.
            awaitable: what it handed out.

        Returns:
            What the coroutine hands out next.

        Raises:
            StopIteration: the coroutine is through.
        """
        try:
            value = self._wait(awaitable)
        except (Exception, asyncio.CancelledError) as error:
            return drive.throw(error)
        return drive.send(value)

    def _wait(self, awaitable: Awaitable[Any]) -> Any:
        if self._runner is None:
            self._runner = asyncio.Runner()
            if _loop_runs_here():
                self._pool = ThreadPoolExecutor(1, thread_name_prefix="diagnosis-run")
        context = contextvars.copy_context()
        if self._pool is None:
            return self._runner.run(_awaited(awaitable), context=context)
        loop = self._pool.submit(self._runner.get_loop).result()
        future = self._pool.submit(self._runner.run, _awaited(awaitable), context=context)
        try:
            return future.result()
        except BaseException:
            # An interrupt reaches this thread only; without this, leaving would wait for the action to end by itself.
            if not future.done():
                loop.call_soon_threadsafe(_cancel_all, loop)
            raise

    def __exit__(self, *exc: object) -> None:
        if self._runner is None:
            return
        if self._pool is None:
            self._runner.close()
        else:
            self._pool.submit(self._runner.close).result()
            self._pool.shutdown()


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    for task in asyncio.all_tasks(loop):
        task.cancel()


def _loop_runs_here() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
