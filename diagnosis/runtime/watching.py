"""Being told of every run that stops, wherever it was started."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diagnosis.runtime.run import Run

Watcher = Callable[["Run"], object]
"""Called with each run."""

_watchers: ContextVar[tuple[Watcher, ...]] = ContextVar("watchers", default=())


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Have a function called with every run that stops while the block lasts.

    Counted are the runs of this thread and of the tasks that are started in the block; those of other threads are not,
    and neither is a stream that nobody followed to its end.

    Args:
        watcher: called with each run, of whatever graph, ended or not.
    """
    before = _watchers.set((*_watchers.get(), watcher))
    try:
        yield
    finally:
        _watchers.reset(before)


def tell(run: Run) -> None:
    """Call all who want to be told of runs.

    Args:
        run: a run that has stopped.
    """
    for watcher in _watchers.get():
        watcher(run)
