"""What a set of runs covers of a model: its items, its totals, and what is missing or can never be shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from diagnosis.runtime import Model, Shown
from diagnosis.verify.coverage.items import declared_needs
from diagnosis.verify.coverage.kinds import SIDES, Atom, CoverageError
from diagnosis.verify.coverage.observed import Observed

Standing = Literal["covered", "missing", "infeasible", "undecided"]
"""What is known of an item; see :attr:`Item.standing`."""


@dataclass(frozen=True, slots=True)
class Item:
    """One coverage item.

    Attributes:
        kind: one of the kinds of the coverage.
        name: such as ``planner.PLANNER_RETRY.retryable=T``.
        feasible: whether any run can show it; items that none can show are no part of a total.
        hits: how often the runs showed it; for MC/DC 1 where they did.
        decided: whether it is known that it is feasible or that it is not.
    """

    kind: str
    name: str
    feasible: bool
    hits: int
    decided: bool = True

    @property
    def covered(self) -> bool:
        """Whether it was shown."""
        return self.hits > 0

    @property
    def standing(self) -> Standing:
        """What is known of it.

        ``infeasible`` is proven: no script of the outcome alphabet shows it. ``undecided`` is what exploration had not
        found when it met its bound. Both are said of items that were not covered, or that only reports outside the
        alphabet can have covered.
        """
        if not self.feasible:
            return "infeasible"
        if self.covered:
            return "covered"
        return "missing" if self.decided else "undecided"


@dataclass(frozen=True, repr=False)
class Coverage(Shown):
    """What a set of runs covers.

    Coverage of two sets of runs can be merged: ``first | second``.

    Attributes:
        model: the graph under test.
        items: every declared item, by kind in the order of :attr:`kinds`.
        runs: how many runs were counted.
        proven: whether the infeasible items are known to be so; if not, all declared items count as feasible.
        outside: reports that are no outcome of the alphabet, as ``node call``.
        errors: conditions that raised when evaluated in full, with what they raised.
        kinds: what is counted, in the order in which it is told.
        seen: how often the runs showed each observation of which the items are made.
        observed: the explored space.
    """

    model: Model
    items: tuple[Item, ...]
    runs: int
    proven: bool
    outside: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    seen: Mapping[Atom, int] = field(default_factory=dict)
    observed: Observed | None = field(default=None, compare=False)

    def of(self, kind: str) -> tuple[Item, ...]:
        """Give the items of one kind.

        Args:
            kind: one of :attr:`kinds`.
        """
        return tuple(item for item in self.items if item.kind == kind)

    def counts(self, kind: str) -> tuple[int, int]:
        """Give how many feasible items of a kind were covered, and how many there are.

        Args:
            kind: one of :attr:`kinds`.
        """
        feasible = [item for item in self.of(kind) if item.feasible]
        return sum(item.covered for item in feasible), len(feasible)

    def percent(self, kind: str) -> float:
        """Give the share of feasible items covered, in per cent; 100 where there are none.

        Args:
            kind: one of :attr:`kinds`.
        """
        covered, total = self.counts(kind)
        return 100.0 * covered / total if total else 100.0

    def missing(self, kind: str) -> tuple[str, ...]:
        """Give the names of feasible items that were not covered, undecided ones included.

        Args:
            kind: one of :attr:`kinds`.
        """
        return tuple(item.name for item in self.of(kind) if item.feasible and not item.covered)

    def standing(self, kind: str, standing: Standing) -> tuple[str, ...]:
        """Give the names of the items of a kind of which something is known.

        Args:
            kind: one of :attr:`kinds`.
            standing: ``covered``, ``missing``, ``infeasible`` or ``undecided``; see :attr:`Item.standing`.
        """
        return tuple(item.name for item in self.of(kind) if item.standing == standing)

    def below(self, percent: float) -> tuple[str, ...]:
        """Give the kinds that are covered less than a share.

        Args:
            percent: the share, from 0 to 100.
        """
        return tuple(kind for kind in self.kinds if self.percent(kind) < percent)

    @property
    def infeasible(self) -> tuple[str, ...]:
        """The items that no run can show, as ``kind name``."""
        return tuple(f"{item.kind} {item.name}" for item in self.items if not item.feasible)

    @property
    def undecided(self) -> tuple[str, ...]:
        """The items of which exploration did not find out whether any run can show them, as ``kind name``."""
        return tuple(f"{item.kind} {item.name}" for item in self.items if item.standing == "undecided")

    @property
    def complete(self) -> bool:
        """Whether every feasible item was covered."""
        return all(item.covered for item in self.items if item.feasible)

    def hits(self, kind: str) -> Mapping[str, int]:
        """Give item name -> how often it was shown.

        Args:
            kind: one of :attr:`kinds`.
        """
        return {item.name: item.hits for item in self.of(kind)}

    def __or__(self, other: Coverage) -> Coverage:
        """Merge with the coverage of other runs; only kinds that both count are left.

        Raises:
            CoverageError: the other is of another graph.
        """
        if not isinstance(other, Coverage):
            return NotImplemented
        mine, theirs = self.model, other.model
        if mine is not theirs and (mine.name, mine.graph.fingerprint) != (theirs.name, theirs.graph.fingerprint):
            raise CoverageError(
                f"coverage of {mine.name!r} ({mine.graph.fingerprint}) cannot be merged with that of {theirs.name!r} "
                f"({theirs.graph.fingerprint}): these are different graphs"
            )
        assert self.observed is not None
        assert other.observed is not None
        kinds = tuple(kind for kind in self.kinds if kind in other.kinds)
        first, second = self.observed, other.observed
        observed = second if second.space.complete and not first.space.complete else first
        return assembled(
            observed,
            kinds,
            Counter(self.seen) + Counter(other.seen),
            self.runs + other.runs,
            dict.fromkeys((*self.outside, *other.outside)),
            dict.fromkeys((*self.errors, *other.errors)),
        )

    def text(self) -> str:
        """Give a line a kind, with what is missing."""
        lines = [f"Coverage of {self.model.name} by {self.runs} run{'s' if self.runs != 1 else ''}"]
        width = max(10, *map(len, self.kinds)) if self.kinds else 10
        for kind in self.kinds:
            covered, total = self.counts(kind)
            parts = [f"  {kind:{width}} {covered:3} of {total:3}"]
            for label, names in self.notes(kind).items():
                parts.append(f"{label}: {', '.join(names)}")
            lines.append("  ".join(parts))
        if not self.proven:
            lines.append("  exploration met its bound: items that no run can show are still in the totals")
        lines += [f"  condition error: {error}" for error in self.errors]
        return "\n".join(lines)

    def notes(self, kind: str) -> dict[str, tuple[str, ...]]:
        """Give what there is to say of a kind: missing, not decided, proven infeasible; each with the items, if any.

        Args:
            kind: one of :attr:`kinds`.
        """
        found = {
            "missing": self.standing(kind, "missing"),
            "not decided": self.standing(kind, "undecided"),
            "proven infeasible": self.standing(kind, "infeasible"),
        }
        return {label: names for label, names in found.items() if names}

    def to_json(self) -> dict[str, Any]:
        """Give the coverage as ``diagnosis coverage --json`` prints it.

        Returns:
            Kind -> ``covered``, ``total`` and ``missing``; with ``infeasible`` or ``undecided`` where there are such
            items. Undecided items are among the missing ones.
        """
        found: dict[str, Any] = {}
        for kind in self.kinds:
            covered, total = self.counts(kind)
            found[kind] = {"covered": covered, "total": total, "missing": list(self.missing(kind))}
            for standing in ("infeasible", "undecided"):
                names = self.standing(kind, standing)
                if names:
                    found[kind][standing] = list(names)
        return found


def assembled(
    observed: Observed,
    kinds: tuple[str, ...],
    seen: Mapping[Atom, int],
    runs: int,
    outside: Iterable[str] = (),
    errors: Iterable[str] = (),
) -> Coverage:
    """Put coverage together from what was seen.

    Args:
        observed: the explored space, for these kinds at least.
        kinds: what is counted.
        seen: how often each observation was made.
        runs: by how many runs.
        outside: reports that are no outcome of the alphabet.
        errors: conditions that raised.
    """
    complete, known = observed.space.complete, observed.atoms
    model = observed.space.model
    items = []
    for kind, named in declared_needs(model, kinds, observed.names.values()).items():
        for name, needs in named.items():
            hits = min(seen.get(atom, 0) for atom in needs)
            found = all(atom in known for atom in needs)
            if kind in SIDES:
                hits = min(hits, 1)
            items.append(Item(kind, name, found or not complete, hits, found or complete))
    return Coverage(model, tuple(items), runs, complete, tuple(outside), tuple(errors), kinds, dict(seen), observed)
