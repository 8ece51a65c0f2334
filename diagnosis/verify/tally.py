"""How many scripts there are of each length, and of each way to end: counted, not listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from diagnosis.runtime import END, Position
from diagnosis.verify.paths import Paths, Transition


class _Way(NamedTuple):
    """How a run ends: its last node, and the reason code; no reason where it stops with an error."""

    node: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class Ending:
    """One way in which runs end.

    Attributes:
        node: the last node that is executed.
        reason: the reason code with which the run ends; ``None`` where it stops with an error at that node.
        scripts: how many scripts end so.
        shortest: node executions of the shortest of them.
        longest: node executions of the longest of them.
    """

    node: str
    reason: str | None
    scripts: int
    shortest: int
    longest: int

    @property
    def error(self) -> bool:
        """Whether the run stops with an error."""
        return self.reason is None


class Tally:
    """The complete scripts of a space, by length and by ending; branches that lose do not count into a length.

    Args:
        space: a complete space without cycles.

    Attributes:
        lengths: node executions -> how many scripts have as many, in rising order.
        endings: the ways to end, the most frequent first, errors last.
    """

    def __init__(self, space: Paths) -> None:
        found: dict[_Way, Counter[int]] = {}
        # For each state that may still be left, how many prefixes of each length lead there.
        ways: dict[int, Counter[int]] = {0: Counter({0: 1})}
        for index in space.topological():
            here = ways.pop(index, Counter[int]())  # nothing goes on from END
            for edge in space.outgoing[index]:
                longer = here if edge.hidden else {length + 1: count for length, count in here.items()}
                if edge.target is not None and space.node(edge.target) != END:
                    into = ways.setdefault(edge.target, Counter())
                else:
                    into = found.setdefault(_way(space, edge), Counter())
                for length, count in longer.items():
                    into[length] += count
        total: Counter[int] = Counter()
        for lengths in found.values():
            total.update(lengths)
        self.lengths: Mapping[int, int] = dict(sorted(total.items()))
        endings = [Ending(*way, sum(n.values()), min(n), max(n)) for way, n in found.items()]
        self.endings = tuple(
            sorted(endings, key=lambda each: (each.error, -each.scripts, each.node, each.reason or ""))
        )


def _way(space: Paths, edge: Transition) -> _Way:
    if edge.target is None:
        return _Way(space.node(edge.source), None)
    end = space.positions[edge.target]
    assert isinstance(end, Position)
    return _Way(space.node(edge.source), end.reason)
