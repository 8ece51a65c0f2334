"""Control states as whole numbers: fields side by side in words, and words made one number by naming them.

Every field holds the number of a place or of a key's value. Fields are as wide as the values seen so far need; where
one outgrows its field, all states are packed anew. Where the fields take more than one word, each distinct word gets a
number, and two numbers side by side stand for both words, and so on: the state stays one number that tells it from all
others, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORD = 62
"""Bits of a word: what a signed number of 64 bits holds with room to spare."""

HALF = 31
"""Bits of the number of a word."""

Ints = NDArray[Any]
"""An array of whole numbers."""


class Column:
    """An array that grows at its end.

    Args:
        kind: the kind of its numbers.
        rows: how many rows grow side by side; one where absent.
    """

    def __init__(self, kind: Any, rows: int = 1) -> None:
        self._held = np.empty((rows, 64), kind)
        self.size = 0

    @property
    def rows(self) -> Ints:
        """What it holds, row by row."""
        return self._held[:, : self.size]

    @property
    def all(self) -> Ints:
        """What its first row holds."""
        return self._held[0, : self.size]

    def extend(self, found: Any) -> None:
        """Put numbers at the end.

        Args:
            found: as many numbers a row.
        """
        found = np.atleast_2d(found)
        size = self.size + found.shape[1]
        if size > self._held.shape[1]:
            held = np.empty((self._held.shape[0], size + size // 2), self._held.dtype)
            held[:, : self.size] = self._held[:, : self.size]
            self._held = held
        self._held[:, self.size : size] = found
        self.size = size

    def cut(self, size: int) -> None:
        """Keep the first numbers only.

        Args:
            size: how many.
        """
        self.size = min(size, self.size)


class Layout:
    """Where each field is.

    Args:
        sizes: how many values each field must tell apart.

    Attributes:
        words: how many words there are.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self._room: list[int] = []
        self._fields: list[tuple[int, int, int]] = []
        widths = [max(1, (size - 1).bit_length()) for size in sizes]
        # Words of a like width: keys that belong together are often declared together, and have few values together.
        full = -(-sum(widths) // -(-sum(widths) // WORD))
        word, shift = 0, 0
        for width in widths:
            if shift >= full or shift + width > WORD:
                word, shift = word + 1, 0
            self._fields.append((word, shift, (1 << width) - 1))
            self._room.append(1 << width)
            shift += width
        self.words = word + 1

    def fits(self, sizes: Sequence[int]) -> bool:
        """Tell whether every field still has room.

        Args:
            sizes: how many values each field must tell apart.
        """
        return all(size <= room for size, room in zip(sizes, self._room, strict=True))

    def get(self, words: Ints, field: int) -> Ints:
        """Give a field of many states.

        Args:
            words: the states, one row a word.
            field: its number.
        """
        word, shift, mask = self._fields[field]
        found: Ints = (words[word] >> shift) & mask
        return found

    def pack(self, values: Sequence[Any], count: int = 1) -> Ints:
        """Pack states.

        Args:
            values: for each field its value, or an array with one for each state.
            count: how many states.

        Returns:
            The states, one row a word.
        """
        packed = np.zeros((self.words, count), np.int64)
        for (word, shift, _), value in zip(self._fields, values, strict=True):
            packed[word] |= np.asarray(value, np.int64) << shift
        return packed

    def unpack(self, words: Ints) -> list[Ints]:
        """Give all fields of many states.

        Args:
            words: the states, one row a word.
        """
        return [self.get(words, field) for field in range(len(self._fields))]

    def values(self, words: Ints) -> tuple[int, ...]:
        """Give all fields of one state.

        Args:
            words: the state, one row a word.
        """
        plain = words[:, 0].tolist()
        return tuple([(plain[word] >> shift) & mask for word, shift, mask in self._fields])

    def masks(self, fields: Sequence[int]) -> list[int]:
        """Give the bits of some fields, word by word.

        Args:
            fields: their numbers.
        """
        found = [0] * self.words
        for field in fields:
            word, shift, mask = self._fields[field]
            found[word] |= mask << shift
        return found

    def bits(self, writes: Sequence[tuple[int, int]]) -> list[int]:
        """Give the bits of some values in their fields, word by word.

        Args:
            writes: (field, value).
        """
        found = [0] * self.words
        for field, value in writes:
            word, shift, _ = self._fields[field]
            found[word] |= value << shift
        return found


class Names:
    """Whole numbers, each of which is named by a small one, in the order in which they come."""

    def __init__(self) -> None:
        self._named = Column(np.int64)
        self._sorted: Ints = np.empty(0, np.int64)
        self._order: Ints = np.empty(0, np.int64)

    def of(self, found: Ints) -> Ints:
        """Give the names of numbers; new ones get the next names.

        Args:
            found: the numbers.
        """
        while True:
            if self._sorted.size:
                at = np.minimum(np.searchsorted(self._sorted, found), self._sorted.size - 1)
                missing = self._sorted[at] != found
                if not missing.any():
                    named: Ints = self._order[at]
                    return named
                fresh = np.unique(found[missing])
            else:
                fresh = np.unique(found)
                if not fresh.size:
                    return found
            self._named.extend(fresh)
            self._order = np.argsort(self._named.all)
            self._sorted = self._named.all[self._order]

    def numbers(self, names: Ints) -> Ints:
        """Give the numbers that are so named.

        Args:
            names: the names.
        """
        found: Ints = self._named.all[names]
        return found


class Roots:
    """One number for each state, whatever its words.

    Args:
        words: how many words a state has.
    """

    def __init__(self, words: int) -> None:
        self._words = [Names() for _ in range(words)]
        self._pairs = [Names() for _ in range(words - 2)]

    def of(self, words: Ints) -> Ints:
        """Give the numbers of states.

        Args:
            words: the states, one row a word.
        """
        if len(self._words) == 1:
            first: Ints = words[0]
            return first
        found = self._words[0].of(words[0])
        for place, names in enumerate(self._words[1:], 1):
            if place > 1:
                found = self._pairs[place - 2].of(found)
            found = (found << HALF) | names.of(words[place])
        return found

    def words(self, roots: Ints) -> Ints:
        """Give the states that have these numbers, one row a word.

        Args:
            roots: the numbers.
        """
        if len(self._words) == 1:
            return roots[np.newaxis, :]
        found = np.empty((len(self._words), roots.size), np.int64)
        for place in range(len(self._words) - 1, 0, -1):
            found[place] = self._words[place].numbers(roots & ((1 << HALF) - 1))
            roots = roots >> HALF
            if place > 1:
                roots = self._pairs[place - 2].numbers(roots)
        found[0] = self._words[0].numbers(roots)
        return found


class Index:
    """The states seen, by number: a table with open places, asked for many numbers at a time.

    Attributes:
        roots: the numbers, in the order in which they came.
    """

    def __init__(self) -> None:
        self.roots = Column(np.int64)
        self._rehash(10)

    def _rehash(self, bits: int) -> None:
        """Put all of them into a larger table; they are all different."""
        self._bits = bits
        table = self._table = np.full(1 << bits, -1, np.int32)
        last, known, step = (1 << bits) - 1, self.roots.all, 1 << 15
        for start in range(0, known.size, step):
            comers = np.arange(start, min(start + step, known.size), dtype=np.int32)
            places, tries = self._first(known[start : start + step]), 0
            while comers.size:
                free = np.flatnonzero(table.take(places) < 0)
                table[places.take(free)] = comers.take(free)
                on = np.flatnonzero(table.take(places) != comers)
                tries += 1
                comers, places = comers.take(on), (places.take(on) + tries) & last

    def _first(self, roots: Ints) -> Ints:
        """Give the place of each number's first try."""
        mixed = roots.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
        mixed *= np.uint64(0xD6E8FEB86659FD93)
        found: Ints = (mixed >> np.uint64(64 - self._bits)).view(np.int64)
        return found

    def find(self, roots: Ints) -> Ints:
        """Give the index of each state; -1 where it was not seen.

        Args:
            roots: their numbers.
        """
        found = np.full(roots.size, -1, np.int32)
        if not self.roots.size:
            return found
        asked, places, tries = np.arange(roots.size), self._first(roots), 0
        last, held = (1 << self._bits) - 1, self.roots.all
        while asked.size:
            at = self._table.take(places)
            right = (held.take(at) == roots.take(asked)) & (at >= 0)
            found[asked[right]] = at[right]
            on = np.flatnonzero((at >= 0) & ~right)
            tries += 1
            asked, places = asked.take(on), (places.take(on) + tries) & last
        return found

    def add(self, roots: Ints) -> Ints:
        """Add the states that were not seen yet, each once, in order.

        Args:
            roots: the numbers of states, which may come several times.

        Returns:
            Where in ``roots`` the new ones are.
        """
        known = self.roots.size
        fits = (3 * (known + roots.size) // 2).bit_length()
        if fits > self._bits:
            self._rehash(fits + 1)
        last = (1 << self._bits) - 1
        # The newcomers stand behind the known ones while it is not yet clear which of them stay.
        self.roots.extend(roots)
        held, table = self.roots.all, self._table
        won: list[Ints] = []
        taken: list[Ints] = []
        asked, places, tries = np.arange(roots.size), self._first(roots), 0
        while asked.size:
            at = table.take(places)
            free = np.flatnonzero(at < 0)
            if free.size:
                # Of several that want one place, the first gets it: what is written last stays.
                wanted, comers = places.take(free), asked.take(free) + known
                table[wanted[::-1]] = comers[::-1]
                winners = table.take(wanted)
                at[free] = winners
                first = np.flatnonzero(winners == comers)
                won.append(comers.take(first) - known)
                taken.append(wanted.take(first))
            on = np.flatnonzero(held.take(at) != (roots if asked.size == roots.size else roots.take(asked)))
            tries += 1
            asked, places = asked.take(on), (places.take(on) + tries) & last
        if not won:
            self.roots.cut(known)
            return asked
        fresh, slots = np.concatenate(won), np.concatenate(taken)
        order = np.argsort(fresh)
        fresh = fresh[order]
        self.roots.cut(known)
        self.roots.extend(roots[fresh])
        table[slots[order]] = np.arange(known, known + fresh.size, dtype=np.int32)
        return fresh

    def cut(self, size: int) -> None:
        """Keep the first states only.

        Args:
            size: how many.
        """
        self.roots.cut(size)
        self._rehash(self._bits)
