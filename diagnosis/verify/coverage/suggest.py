"""Scenarios that close gaps: the shortest for one item, and few of them for all."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diagnosis.runtime import Shown, one_of
from diagnosis.scenarios import Scenario, run_scenario
from diagnosis.verify.counterexample import scenario_for
from diagnosis.verify.coverage.candidates import Candidate, Search
from diagnosis.verify.coverage.cover import cover
from diagnosis.verify.coverage.items import Needs, declared_needs
from diagnosis.verify.coverage.kinds import Atom, CoverageError, kinds_of
from diagnosis.verify.coverage.measure import Tally
from diagnosis.verify.coverage.observed import Observed
from diagnosis.verify.coverage.result import Coverage, Item
from diagnosis.verify.paths import Script

_SHORTENED = 40
"""Suites of more scripts than this are not shortened one by one."""

_TITLE = 160
"""Letters that the gaps may take in a title."""


@dataclass(frozen=True, repr=False)
class Suggestion(Shown):
    """Scenarios that close gaps of coverage.

    Attributes:
        scenarios: the scenarios; each passes.
        closes: for each the items that it adds to what the ones before it cover; none where it shows one side of a
            condition, and a later one the other.
        at_least: no set of scenarios that closes the same gaps is smaller.
        left: the missing items that they do not close: undecided ones, and those that no script found shows.
        coverage: the coverage with these scenarios added.
    """

    scenarios: tuple[Scenario, ...]
    closes: tuple[tuple[Item, ...], ...]
    at_least: int
    left: tuple[Item, ...]
    coverage: Coverage

    @property
    def minimal(self) -> bool:
        """Whether it is proven that no smaller set of scenarios closes these gaps."""
        return len(self.scenarios) == self.at_least

    @property
    def summary(self) -> str:
        """One line that says how many scenarios there are, and how many fewer there could be."""
        count = len(self.scenarios)
        if not count:
            return "no scenario is needed" if not self.left else "no scenario was found"
        closed = sum(map(len, self.closes))
        said = f"{count} scenario{'s' if count != 1 else ''} close {closed} gap{'s' if closed != 1 else ''}"
        said = said.replace("scenario close", "scenario closes")
        if self.minimal:
            return f"{said}: proven minimal"
        above = -(-100 * (count - self.at_least) // self.at_least)
        return f"{said}: at most {above} % above the proven minimum of {self.at_least}"

    def text(self) -> str:
        """Give the summary, and a line a scenario with what it closes."""
        lines = [self.summary]
        for scenario, items in zip(self.scenarios, self.closes, strict=True):
            lines.append(f"  {scenario.name}: {', '.join(map(_named, items)) or scenario.title}")
        lines += [f"  left open: {_named(item)}" for item in self.left]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Give the suggestion as plain data, without the scenarios themselves."""
        return {
            "scenarios": {
                scenario.name: [_named(item) for item in items]
                for scenario, items in zip(self.scenarios, self.closes, strict=True)
            },
            "at_least": self.at_least,
            "minimal": self.minimal,
            "left": [_named(item) for item in self.left],
        }


def suggest(coverage: Coverage, kinds: Iterable[str] | None = None, *, taken: Iterable[str] = ()) -> Suggestion:
    """Find few scenarios that cover what is missing.

    Where every script can be gone through, the set is chosen among all of them, by branch and bound; else among good
    ones. Either way :attr:`Suggestion.at_least` is proven.

    Args:
        coverage: what is covered already.
        kinds: the kinds whose gaps are to be closed; those that are counted of every graph where absent.
        taken: names that the scenarios must not have.

    Raises:
        CoverageError: a kind was not measured.
    """
    observed = _observed(coverage)
    chosen = tuple(kinds_of(coverage.model) if kinds is None else kinds)
    for kind in chosen:
        _check_kind(coverage, kind)
    missing = [item for item in coverage.items if item.kind in chosen and item.feasible and not item.covered]
    needs = _needs(coverage)
    scripts, at_least = _chosen(observed, _wanted(coverage, missing, needs))
    names, tally = set(taken), Tally(observed)
    scenarios, closes = [], []
    for script in scripts:
        draft = scenario_for(coverage.model, script, name="draft", title="")
        before = set(tally.seen)
        tally.add(run_scenario(draft, coverage.model).run)
        fresh = {atom for atom in tally.seen if atom not in before and not coverage.seen.get(atom)}
        gained = [
            item
            for item in missing
            if all(atom in tally.seen or coverage.seen.get(atom) for atom in needs[item.kind][item.name])
        ]
        # Of a condition, this may be one side only; another scenario then closes the gap.
        helped = [item for item in missing if fresh.intersection(needs[item.kind][item.name])]
        if not helped:
            continue
        missing = [item for item in missing if item not in gained]
        scenario = _titled(draft, "Closes" if gained else "Shows one side of", gained or helped, names)
        names.add(scenario.name)
        scenarios.append(scenario)
        closes.append(tuple(gained))
    return Suggestion(tuple(scenarios), tuple(closes), at_least, tuple(missing), coverage | tally.coverage())


def shortest_scenarios(coverage: Coverage, items: Iterable[Item]) -> dict[tuple[str, str], tuple[Scenario, ...]]:
    """Give for each of some items the shortest scenario that would supply what is missing of it.

    Args:
        coverage: what is covered already.
        items: items of this coverage.

    Returns:
        Kind and name -> the scenario; two for a condition whose both sides are missing, where one run does not show
        both; none where no script is known to show the item.
    """
    every = tuple(items)
    observed = _observed(coverage)
    needs = _needs(coverage)
    open_atoms = {
        (item.kind, item.name): [atom for atom in needs[item.kind][item.name] if not coverage.seen.get(atom)]
        for item in every
    }
    scripts = observed.shortest(list(dict.fromkeys(atom for atoms in open_atoms.values() for atom in atoms)))
    made: dict[Script, Scenario] = {}
    found: dict[tuple[str, str], tuple[Scenario, ...]] = {}
    for item in every:
        atoms = open_atoms[item.kind, item.name]
        if any(atom not in scripts for atom in atoms):
            found[item.kind, item.name] = ()
            continue
        longest = max((scripts[atom] for atom in atoms), key=len, default=())
        shown = observed.shown_by(longest)
        wanted = dict.fromkeys([longest, *(scripts[atom] for atom in atoms if atom not in shown)]) if atoms else {}
        for script in wanted:
            if script not in made:
                name = f"shows_{_slug(item)}"
                made[script] = scenario_for(coverage.model, script, name=name, title=f"Shows {_named(item)}")
        found[item.kind, item.name] = tuple(made[script] for script in wanted)
    return found


def _observed(coverage: Coverage) -> Observed:
    if coverage.observed is None:
        raise CoverageError("this coverage has no explored space; measure it with diagnosis.measure")
    return coverage.observed


def _check_kind(coverage: Coverage, kind: str) -> None:
    if kind not in coverage.kinds:
        raise CoverageError(
            f"coverage of kind {kind!r} was not measured; measured were {one_of(coverage.kinds)}; "
            "name it in kinds= when measuring"
        )


def _needs(coverage: Coverage) -> Mapping[str, Needs]:
    return declared_needs(coverage.model, coverage.kinds, _observed(coverage).names.values())


def _wanted(coverage: Coverage, missing: Iterable[Item], needs: Mapping[str, Needs]) -> dict[Atom, int]:
    """Number what missing items take and no run has shown."""
    observed = _observed(coverage)
    found: dict[Atom, int] = {}
    for item in missing:
        atoms = needs[item.kind][item.name]
        for atom in atoms if all(atom in observed.atoms for atom in atoms) else ():
            if not coverage.seen.get(atom):
                found.setdefault(atom, len(found))
    return found


def _chosen(observed: Observed, wanted: dict[Atom, int]) -> tuple[list[Script], int]:
    """Choose scripts that show all that is wanted; give a number too that is needed at least."""
    if not wanted:
        return [], 0
    search = Search(observed, wanted)
    every = search.every()
    candidates = search.good() if every is None else every
    reached = 0
    for candidate in candidates:
        reached |= candidate.mask
    found = cover([candidate.mask for candidate in candidates], reached, search.bound())
    chosen = [candidates[place] for place in found.chosen]
    at_least = found.bound if every is not None else min(search.bound(), len(chosen))
    if len(chosen) <= _SHORTENED and every is not None:
        chosen = _shortened(observed, wanted, chosen)
    chosen.sort(key=lambda candidate: candidate.mask & -candidate.mask)
    return [candidate.script for candidate in chosen], at_least


def _shortened(observed: Observed, wanted: dict[Atom, int], chosen: Sequence[Candidate]) -> list[Candidate]:
    """Put a shorter script in place of one wherever it shows what no other of them shows."""
    found = list(chosen)
    for place, candidate in enumerate(chosen):
        mask = candidate.mask
        for other, each in enumerate(found):
            mask &= ~each.mask if other != place else -1
        own = {atom: bit for atom, bit in wanted.items() if mask >> bit & 1}
        for shorter in Search(observed, own).every() or ():
            if shorter.mask == mask and len(shorter.script) < len(candidate.script):
                shown = observed.shown_by(shorter.script)
                whole = sum(1 << bit for atom, bit in wanted.items() if atom in shown)
                found[place] = Candidate(shorter.script, whole)
    return found


def _titled(draft: Scenario, does: str, gained: Sequence[Item], taken: Collection[str]) -> Scenario:
    """Name a scenario after what it does for some items."""
    stem = f"{does.lower().replace(' ', '_')}_{_slug(gained[0])}"
    name, number = stem, 1
    while name in taken:
        number += 1
        name = f"{stem}_{number}"
    told: list[str] = []
    for item in gained:
        if told and len(", ".join([*told, _named(item)])) > _TITLE:
            break
        told.append(_named(item))
    more = f" and {len(gained) - len(told)} more" if len(gained) > len(told) else ""
    content = draft.to_map() | {"name": name, "title": f"{does} {', '.join(told)}{more}"}
    if more:
        content["why"] = f"{does} {', '.join(map(_named, gained))}"
    return Scenario.parse(content)


def _named(item: Item) -> str:
    return f"{item.kind} {item.name}"


def _slug(item: Item) -> str:
    words = re.sub(r"[^0-9A-Za-z]+", "_", _named(item).replace("->", "_to_").replace("__END__", "end"))
    return words.strip("_")[:70].rstrip("_")
