"""What an exploration may use up: time, memory, and the patience of whoever waits for it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from diagnosis.runtime import DefinitionError
from diagnosis.runtime.decisions import is_count

INTERRUPTED = "it was interrupted"
"""Why a search stopped that was asked to."""

_STATM = Path("/proc/self/statm")
_LOOKS = 256
"""How many questions are answered for one look at the memory, which costs more than one at the clock."""


def memory_used() -> float | None:
    """Give the memory that this process holds, in MiB; where only its peak can be told, that; else ``None``."""
    try:
        import resource
    except ImportError:  # not on this system
        return None
    with suppress(OSError, ValueError, IndexError):
        return int(_STATM.read_text().split()[1]) * resource.getpagesize() / 2**20
    # Bytes on macOS, KiB elsewhere.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


class Budget:
    """What is left of the time and the memory; it begins when it is made.

    Args:
        max_seconds: seconds; without end where absent.
        max_memory: MiB that the whole process may hold; any number where absent.
        interrupted: tells whether to stop at once, with what was found so far.

    Attributes:
        only_time: whether nothing but time was ever used up.

    Raises:
        DefinitionError: a limit is no number above 0, or this system does not tell how much memory a process holds.
    """

    def __init__(
        self,
        max_seconds: float | None = None,
        max_memory: int | None = None,
        interrupted: Callable[[], bool] | None = None,
    ) -> None:
        if max_seconds is not None and not max_seconds > 0:
            raise DefinitionError(f"max_seconds is a number of seconds above 0, found {max_seconds!r}")
        if max_memory is not None:
            if not is_count(max_memory):
                raise DefinitionError(f"max_memory is a whole number of MiB from 1, found {max_memory!r}")
            if memory_used() is None:
                raise DefinitionError("max_memory: this system does not tell how much memory a process holds")
        self._max_seconds, self._max_memory, self._interrupted = max_seconds, max_memory, interrupted
        self._began = time.monotonic()
        self._asked = 0
        self.only_time = True
        self._spent: str | None = None

    def spent(self, part: float = 1.0) -> str | None:
        """Say what was used up, or give ``None`` where there is something left of everything.

        Args:
            part: how much of the time counts, from 0 to 1.
        """
        if self._spent is not None:
            return self._spent
        found = self._found(part)
        if part == 1.0 or not self.only_time:
            self._spent = found
        return found

    def left(self, part: float = 1.0) -> float | None:
        """Give the seconds that are left; ``None`` where they have no end.

        Args:
            part: how much of the time counts, from 0 to 1.
        """
        if self._max_seconds is None:
            return None
        return max(part * self._max_seconds - (time.monotonic() - self._began), 0.0)

    def _found(self, part: float) -> str | None:
        if self._interrupted is not None and self._interrupted():
            self.only_time = False
            return INTERRUPTED
        if self._max_seconds is not None and time.monotonic() - self._began > part * self._max_seconds:
            return f"the budget of {self._max_seconds:g} s was used up"
        if self._max_memory is not None:
            self._asked += 1
            if self._asked % _LOOKS == 1 and (memory_used() or 0.0) > self._max_memory:
                self.only_time = False
                return f"the budget of {self._max_memory} MiB was used up"
        return None
