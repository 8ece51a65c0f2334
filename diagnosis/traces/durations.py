"""How long executions of a node took."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Durations:
    """How long executions of a node took.

    Attributes:
        count: how many were timed.
        total: seconds of all together.
        shortest: seconds of the shortest.
        longest: seconds of the longest.
    """

    count: int = 0
    total: float = 0.0
    shortest: float = float("inf")
    longest: float = float("-inf")

    def add(self, seconds: float) -> None:
        """Take in one execution.

        Args:
            seconds: how long it took.
        """
        self.count += 1
        self.total += seconds
        self.shortest = min(self.shortest, seconds)
        self.longest = max(self.longest, seconds)

    @property
    def mean(self) -> float:
        """The mean, in seconds."""
        return self.total / self.count

    def join(self, other: Durations) -> None:
        """Take in what was timed elsewhere.

        Args:
            other: executions of the same node.
        """
        self.count += other.count
        self.total += other.total
        self.shortest = min(self.shortest, other.shortest)
        self.longest = max(self.longest, other.longest)
