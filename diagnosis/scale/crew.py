"""The workers of an executor: what they are handed, and what becomes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from diagnosis.runtime import DiagnosisError, Model, told
from diagnosis.scale.origin import NotImportableError, Origin, origin_of
from diagnosis.scale.packing import pack, unpack

Work = Callable[[Origin, Any], Any]
"""A function of a module. It gets a model's origin and plain data, and gives plain data."""


class WorkersError(DiagnosisError):
    """Workers were lost, such as by a signal or for want of memory, or cannot do their work.

    Attributes:
        partial: what was finished before: a StateSpace, a Proof or a SuiteResult.
    """

    def __init__(self, message: str, partial: Any = None) -> None:
        super().__init__(message)
        self.partial = partial


class Crew:
    """The workers of an executor, for one model.

    Args:
        executor: any executor; it stays the caller's, to be shut down by them.
        model: the model.

    Raises:
        NotImportableError: other processes cannot import the model.
    """

    def __init__(self, executor: Executor, model: Model) -> None:
        if not callable(getattr(executor, "submit", None)):
            raise DiagnosisError(
                f"executor is {type(executor).__name__}; allowed: a concurrent.futures.Executor, such as "
                "ProcessPoolExecutor(2), or Client.get_executor() of Dask"
            )
        self._executor = executor
        self._origin = origin_of(model)

    def submit(self, work: Work, data: Any) -> Future[Any]:
        """Hand work to a worker.

        Args:
            work: the function.
            data: what it is to do, as plain data.

        Raises:
            WorkersError: nobody takes it.
        """
        packed = pack(data)
        try:
            return self._executor.submit(_done, work, self._origin, packed)
        except Exception as error:
            raise _lost(error) from error

    def result(self, future: Future[Any], timeout: float | None = None) -> Any:
        """Wait for the result of some work.

        Args:
            future: what ``submit`` gave.
            timeout: seconds to wait at most.

        Raises:
            TimeoutError: it takes longer.
            NotImportableError: the worker cannot import the model.
            WorkersError: the worker was lost.
        """
        try:
            result, refused = future.result(timeout)
        except TimeoutError as error:
            if future.done():
                raise _lost(error) from error
            raise
        except (Exception, SystemExit, asyncio.CancelledError) as error:
            raise _lost(error) from error
        if refused is not None:
            raise NotImportableError(refused)
        return result


def _done(work: Work, origin: Origin, packed: bytes) -> tuple[Any, str | None]:
    """Do work, in a worker; a model that is not there is told as a text."""
    try:
        return work(origin, unpack(packed)), None
    except NotImportableError as error:
        return None, str(error)


def _lost(error: BaseException) -> WorkersError:
    return WorkersError(f"the workers were lost ({told(error)})")


def process_pool(workers: int) -> Executor:
    """Give a pool of processes on this machine.

    Args:
        workers: how many.
    """
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # Forking a process whose threads hold locks may hang its child.
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))
