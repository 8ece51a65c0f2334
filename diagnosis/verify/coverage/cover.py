"""Set cover: the fewest sets that hold every element, with a bound that says how good the answer is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

MAX_TRIES = 20_000
"""Choices that branch and bound makes at most."""


class Cover(NamedTuple):
    """A choice of sets.

    Attributes:
        chosen: the places of the chosen sets, in the order given.
        bound: no choice has fewer than so many.
    """

    chosen: tuple[int, ...]
    bound: int


def cover(sets: Sequence[int], wanted: int, bound: int = 0) -> Cover:
    """Choose few sets that hold all wanted elements between them.

    Args:
        sets: each set as a bit mask.
        wanted: the elements, as a bit mask; each is in some set.
        bound: a bound that is known already.

    Returns:
        The choice; of as many sets as its bound where branch and bound came to its end. The bound holds among the sets
        that are given.
    """
    search = _Search(sets, wanted, bound)
    search.run()
    return Cover(tuple(sorted(search.best)), search.bound)


class _Search:
    def __init__(self, sets: Sequence[int], wanted: int, bound: int) -> None:
        self._sets = [each & wanted for each in sets]
        self._wanted = wanted
        self._holding: dict[int, list[int]] = {element: [] for element in _bits(wanted)}
        places = {mask: place for place, mask in reversed(list(enumerate(self._sets)))}
        for place in sorted(places[mask] for mask in maximal(self._sets)):
            for element in _bits(self._sets[place]):
                self._holding[element].append(place)
        self._neighbours = {
            element: _union(self._sets[place] for place in holding) for element, holding in self._holding.items()
        }
        self.best = self._greedy()
        self.bound = max(bound, self._apart(wanted))
        self._tries = 0

    def run(self) -> None:
        if len(self.best) > self.bound and self._branch(self._wanted, []):
            self.bound = len(self.best)

    def _greedy(self) -> list[int]:
        """Take the set that holds most of what is left, again and again; then leave out what is not needed."""
        chosen: list[int] = []
        left = self._wanted
        candidates = sorted({place for holding in self._holding.values() for place in holding})
        while left:
            best = max(candidates, key=lambda place: (self._sets[place] & left).bit_count())
            chosen.append(best)
            left &= ~self._sets[best]
        for place in list(chosen):
            others = _union(self._sets[other] for other in chosen if other != place)
            if self._wanted & ~others == 0:
                chosen.remove(place)
        return chosen

    def _apart(self, left: int) -> int:
        """Count elements of which no two are in one set: each needs a set of its own."""
        count = 0
        for element in sorted(_bits(left), key=lambda element: (self._neighbours[element] & left).bit_count()):
            if left >> element & 1:
                count += 1
                left &= ~self._neighbours[element]
        return count

    def _branch(self, left: int, chosen: list[int]) -> bool:
        """Try every set that holds the element which is in fewest of them; tell whether the search came to its end."""
        if not left:
            if len(chosen) < len(self.best):
                self.best = list(chosen)
            return True
        if len(chosen) + self._apart(left) >= len(self.best):
            return True
        self._tries += 1
        if self._tries > MAX_TRIES:
            return False
        element = min(_bits(left), key=lambda each: len(self._holding[each]))
        options = {self._sets[place] & left: place for place in reversed(self._holding[element])}
        for mask in sorted((each for each in options), key=lambda each: -each.bit_count()):
            if not self._branch(left & ~mask, [*chosen, options[mask]]):
                return False
            if len(self.best) <= self.bound:
                return True
        return True


def maximal(masks: Iterable[int]) -> list[int]:
    """Give the masks that are in no other, each once, the largest first.

    Args:
        masks: sets as bit masks; of those equally large the first come first.
    """
    kept: list[int] = []
    holding: dict[int, list[int]] = {}
    for mask in sorted(dict.fromkeys(masks), key=lambda each: -each.bit_count()):
        bits = _bits(mask)
        # Whatever holds all of it holds the element of it that is in fewest.
        rivals = min((holding.get(bit, []) for bit in bits), key=len) if bits else kept
        if not any(mask & ~other == 0 for other in rivals):
            kept.append(mask)
            for bit in bits:
                holding.setdefault(bit, []).append(mask)
    return kept


def _bits(mask: int) -> list[int]:
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def _union(masks: Iterable[int]) -> int:
    found = 0
    for mask in masks:
        found |= mask
    return found
