"""Whole scripts from which a small suite is chosen: all that matter where they can be gone through, else good ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from diagnosis.runtime import loops
from diagnosis.verify.coverage.cover import maximal
from diagnosis.verify.coverage.kinds import Atom
from diagnosis.verify.coverage.observed import Observed, Way
from diagnosis.verify.paths import Script, topological

MAX_MASKS = 60_000
"""Pairs of a spot and what was shown on the way to it that are gone through at most."""


class Candidate(NamedTuple):
    """A whole script.

    Attributes:
        script: what is executed.
        mask: what it shows of what is wanted, as a bit mask.
    """

    script: Script
    mask: int


class Trail(NamedTuple):
    """The ways behind a spot, the last one first."""

    before: Trail | None
    way: Way
    length: int


def _script(trail: Trail | None) -> Script:
    calls = []
    while trail is not None:
        calls.append(trail.way.call)
        trail = trail.before
    return tuple(reversed(calls))


class Search:
    """The scripts of a space, seen by what they show of what is wanted.

    Args:
        observed: the explored space.
        wanted: what is wanted -> its bit.
    """

    def __init__(self, observed: Observed, wanted: Mapping[Atom, int]) -> None:
        self._observed = observed
        self._limit = observed.space.model.graph.recursion_limit
        self._masks = [[_mask(way, wanted) for way in ways] for ways in observed.ways]
        self._wanted = wanted
        ways = {spot: [way.target for way in ways if way.target is not None] for spot, ways in enumerate(observed.ways)}
        self._loops = loops(ways)
        self._order = [] if self._loops else topological(list(ways.values()))

    def every(self) -> list[Candidate] | None:
        """Give scripts of which one shows all that any other shows, or ``None`` where there are too many.

        Returns:
            For everything that a script can show together, the shortest script that shows at least that; ``None`` also
            where a run can go on for ever, where it can meet the recursion limit, and where not all was explored.
        """
        observed = self._observed
        if not observed.space.complete or self._loops:
            return None
        # What was shown on the way to a spot -> the shortest way there that showed it.
        arriving: list[dict[int, Trail | None]] = [{} for _ in observed.ways]
        arriving[0][0] = None
        whole: dict[int, Trail] = {}
        count = 0
        for spot in self._order:
            arrived, arriving[spot] = arriving[spot], {}
            reached = maximal(arrived)
            count += len(reached)
            if count > MAX_MASKS:
                return None
            for mask in reached:
                trail = arrived[mask]
                length = (trail.length if trail else 0) + 1
                if length > self._limit and observed.ways[spot]:
                    return None
                for way, shown in zip(observed.ways[spot], self._masks[spot], strict=True):
                    ended = way.target is None or not observed.ways[way.target]
                    into = whole if ended else arriving[way.target or 0]
                    known = into.get(mask | shown)
                    if known is None or length < known.length:
                        into[mask | shown] = Trail(trail, way, length)
        return [Candidate(_script(whole[mask]), mask) for mask in maximal(whole)]

    def good(self) -> list[Candidate]:
        """Give scripts that show all that is wanted between them, each of which shows much that those before do not."""
        left, found = sum(1 << bit for bit in self._wanted.values()), []
        while left:
            trail, mask = self._tour(left) if self._loops or not self._observed.space.complete else self._richest(left)
            if not mask & left:
                trail, mask = self._tour(left)
                if not mask & left:
                    break
            found.append(Candidate(_script(trail), mask))
            left &= ~mask
        return found

    def _richest(self, left: int) -> tuple[Trail | None, int]:
        """Give the way through a space without loops whose transitions show most, each for itself."""
        ways = self._observed.ways
        gain = [0] * len(ways)
        choice = [0] * len(ways)
        for spot in reversed(self._order):
            for place, way in enumerate(ways[spot]):
                value = (self._masks[spot][place] & left).bit_count() + (0 if way.target is None else gain[way.target])
                if place == 0 or value > gain[spot]:
                    gain[spot], choice[spot] = value, place
        here: int | None = 0
        trail: Trail | None = None
        mask = 0
        while here is not None and ways[here]:
            place = choice[here]
            trail = Trail(trail, ways[here][place], (trail.length if trail else 0) + 1)
            mask |= self._masks[here][place]
            here = ways[here][place].target
        return trail, mask if trail is not None and trail.length <= self._limit else 0

    def _tour(self, left: int) -> tuple[Trail | None, int]:
        """Go to the nearest way that shows something that is left, and so on, as long as the limit allows."""
        observed = self._observed
        spot: int | None = 0
        trail: Trail | None = None
        mask = 0
        while spot is not None:
            path = self._nearest(spot, left & ~mask, self._limit - (trail.length if trail else 0))
            if not path:
                break
            for place in path:
                assert spot is not None
                way = observed.ways[spot][place]
                trail = Trail(trail, way, (trail.length if trail else 0) + 1)
                mask |= self._masks[spot][place]
                spot = way.target
        for way in observed.finish(spot, trail.length if trail else 0):
            trail = Trail(trail, way, (trail.length if trail else 0) + 1)
            mask |= _mask(way, self._wanted)
            spot = way.target
        return trail, mask if observed.stops(_script(trail), spot) else 0

    def _nearest(self, start: int, left: int, room: int) -> list[int]:
        """Give the places of the ways to the nearest that shows something, so that the run can stop within the room."""
        observed = self._observed
        came: dict[int, tuple[int, int]] = {}
        queue, depth = deque([start]), {start: 0}
        while queue:
            spot = queue.popleft()
            for place, way in enumerate(observed.ways[spot]):
                stops = observed.left(way)
                if depth[spot] + 1 + (0 if stops == float("inf") else stops) > room:
                    continue
                if self._masks[spot][place] & left:
                    path = [place]
                    while spot != start:
                        spot, place = came[spot]
                        path.append(place)
                    return path[::-1]
                if way.target is not None and way.target not in depth:
                    depth[way.target] = depth[spot] + 1
                    came[way.target] = (spot, place)
                    queue.append(way.target)
        return []

    def bound(self) -> int:
        """Give a number of scripts that is needed at least: of so many things no script shows two."""
        observed = self._observed
        if not observed.space.complete:
            return 1
        ahead = self._ahead()
        together: dict[int, int] = {}
        for spot, ways in enumerate(observed.ways):
            for way, mask in zip(ways, self._masks[spot], strict=True):
                after = mask | (0 if way.target is None else ahead[way.target])
                while mask:
                    low = mask & -mask
                    bit = low.bit_length() - 1
                    together[bit] = together.get(bit, 0) | after
                    mask ^= low
        for bit, mask in list(together.items()):
            while mask:
                low = mask & -mask
                together[low.bit_length() - 1] |= 1 << bit
                mask ^= low
        best = 0
        for first in sorted(together, key=lambda bit: (together[bit].bit_count(), bit))[:40]:
            left = sum(1 << bit for bit in together) & ~together[first]
            count = 1
            for bit in sorted(together, key=lambda bit: ((together[bit] & left).bit_count(), bit)):
                if left >> bit & 1:
                    count += 1
                    left &= ~together[bit]
            best = max(best, count)
        return best

    def _ahead(self) -> list[int]:
        """Give for each spot what can still be shown from there."""
        ways = self._observed.ways
        ahead = [0] * len(ways)
        sources: list[list[int]] = [[] for _ in ways]
        for spot, leaving in enumerate(ways):
            for way, mask in zip(leaving, self._masks[spot], strict=True):
                ahead[spot] |= mask
                if way.target is not None:
                    sources[way.target].append(spot)
        queue = deque(range(len(ways) - 1, -1, -1))
        waiting = [True] * len(ways)
        while queue:
            spot = queue.popleft()
            waiting[spot] = False
            for source in sources[spot]:
                if ahead[spot] & ~ahead[source]:
                    ahead[source] |= ahead[spot]
                    if not waiting[source]:
                        waiting[source] = True
                        queue.append(source)
        return ahead


def _mask(way: Way, wanted: Mapping[Atom, int]) -> int:
    found = 0
    for atom in way.atoms:
        bit = wanted.get(atom)
        if bit is not None:
            found |= 1 << bit
    return found
