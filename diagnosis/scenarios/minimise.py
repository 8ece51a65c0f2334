"""A failing scenario made as small as it can be while it fails in the same way: delta debugging."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from diagnosis.runtime import DiagnosisError
from diagnosis.scenarios.branch_names import BranchNames
from diagnosis.scenarios.places import DocumentError
from diagnosis.scenarios.result import ScenarioResult
from diagnosis.scenarios.runner import run_case
from diagnosis.scenarios.scenario import Scenario
from diagnosis.scenarios.script import Script
from diagnosis.scenarios.suite import Case

MAX_RUNS: Final = 5_000
"""How often a scenario is run at most; then the smallest form so far is given."""

Atom = tuple[str | int, ...]
"""A place in a scenario that can be left out: ``script, planner, 0`` or ``expect, path, 3``."""

_LISTS: Final = ("path", "outcomes", "branches", "transitions")


class MinimiseError(DiagnosisError):
    """A scenario cannot be made smaller, because it does not fail."""


def minimise(case: Case) -> Scenario:
    """Leave out of a failing scenario all that it does not need in order to fail as it does.

    First whole rounds and node executions go, each with its outcome and with what was expected of it; then single
    outcomes, expectations, winners and inputs. What is left fails with the same first mismatch, but for its place in a
    list, and would not if any one further part were left out.

    Args:
        case: the scenario with its model.

    Returns:
        A scenario named after it, with ``_minimised`` behind the name; the same for every call.

    Raises:
        MinimiseError: the scenario passes.
    """
    result = run_case(case)
    if result.passed:
        raise MinimiseError(f"scenario {case.scenario.name!r} passes: there is nothing to look for in it")
    return _Minimiser(case, result).smallest()


class _Minimiser:
    def __init__(self, case: Case, result: ScenarioResult) -> None:
        self._case, self._result = case, result
        self._whole = case.scenario.to_map()
        self._wanted = _signature(result)
        self._runs = 0
        self._known: dict[frozenset[Atom], bool] = {}

    def smallest(self) -> Scenario:
        kept = self._reduced(self._without_rounds(list(self._executions())))
        while True:
            fewer = self._reduced([frozenset([atom]) for atom in kept])
            if len(fewer) == len(kept):
                break
            kept = fewer
        mismatch = self._run(frozenset(kept))
        assert mismatch is not None
        name = self._case.scenario.name
        title = f"The smallest form of {name} that fails alike: {mismatch.mismatches[0]}"
        return self._scenario(frozenset(kept)).model_copy(update={"name": f"{name}_minimised", "title": title})

    def _without_rounds(self, units: list[tuple[str | None, frozenset[Atom]]]) -> list[frozenset[Atom]]:
        """Leave out whole rounds, longest first: what lies between two executions of one node."""
        size = len(units) - 1
        while size > 0:
            for place in range(len(units) - size):
                rest = units[:place] + units[place + size :]
                node = units[place][0]
                if (
                    node is not None
                    and node == units[place + size][0]
                    and self._fails_alike(_joined(unit for _, unit in rest))
                ):
                    units = rest
                    break
            else:
                size -= 1
            size = min(size, len(units) - 1)
        return [unit for _, unit in units]

    def _reduced(self, units: Sequence[frozenset[Atom]]) -> list[Atom]:
        """Give the atoms of as few units as are needed; in order, each chunk of them is tried, then smaller chunks."""
        kept, size = list(units), max(1, len(units) // 2)
        while True:
            place = 0
            while place < len(kept):
                rest = kept[:place] + kept[place + size :]
                if self._fails_alike(_joined(rest)):
                    kept = rest
                else:
                    place += size
            if size == 1:
                return sorted(_joined(kept), key=self._order)
            size //= 2

    def _fails_alike(self, kept: frozenset[Atom]) -> bool:
        if kept not in self._known:
            self._known[kept] = self._run(kept) is not None
        return self._known[kept]

    def _run(self, kept: frozenset[Atom]) -> ScenarioResult | None:
        """Run what is left; give the result where it fails as it did."""
        if self._runs >= MAX_RUNS and kept not in self._known:
            return None
        self._runs += 1
        try:
            scenario = self._scenario(kept)
            script = Script.of(scenario, self._case.model)
        except DocumentError:  # what is left is no scenario of this graph
            return None
        result = run_case(replace(self._case, scenario=scenario, script=script))
        return result if _signature(result) == self._wanted else None

    def _scenario(self, kept: frozenset[Atom]) -> Scenario:
        """Put what is left together."""
        document = {key: value for key, value in self._whole.items() if key not in ("title", "why")}
        for part in ("script", "winners"):
            lists = {
                key: [item for number, item in enumerate(items) if (part, key, number) in kept]
                for key, items in document.get(part, {}).items()
            }
            document[part] = {key: items for key, items in lists.items() if items}
        document["input"] = {key: value for key, value in document.get("input", {}).items() if ("input", key) in kept}
        expect: dict[str, Any] = {}
        for name, value in document.get("expect", {}).items():
            if ("expect", name) not in kept:
                continue
            if name in _LISTS:
                value = [item for number, item in enumerate(value) if ("expect", name, number) in kept]
            elif name == "counters":
                value = {key: count for key, count in value.items() if ("expect", name, key) in kept}
            expect[name] = value
        document["expect"] = expect
        return Scenario.parse({key: value for key, value in document.items() if value != {}})

    def _atoms(self) -> Iterator[Atom]:
        """Go through everything that can be left out."""
        for part in ("script", "winners"):
            for key, items in self._whole.get(part, {}).items():
                yield from ((part, key, number) for number in range(len(items)))
        yield from (("input", key) for key in self._whole.get("input", {}))
        for name, value in self._whole.get("expect", {}).items():
            if name in _LISTS:
                yield from (("expect", name, number) for number in range(len(value)))
            elif name == "counters":
                yield from (("expect", name, key) for key in value)
            yield ("expect", name)

    @property
    def _order(self) -> Callable[[Atom], int]:
        places = {atom: place for place, atom in enumerate(self._atoms())}
        return lambda atom: places[atom]

    def _executions(self) -> Iterator[tuple[str | None, frozenset[Atom]]]:
        """Give each node execution of the run with what belongs to it, and then each thing that belongs to none."""
        every = dict.fromkeys(self._atoms())
        names, calls = BranchNames(self._case.model.graph), dict[str, int]()
        for index, event in enumerate(self._result.run.events):
            by_path = self._case.script.branches.get(event.node, {})
            key = by_path.get(names.path_of(event.branch), event.node) if event.branch else event.node
            number = calls.get(key, 0)
            calls[key] = number + 1
            wanted: list[Atom] = [("script", key, number), *(("expect", name, index) for name in _LISTS[:3])]
            if index:
                wanted.append(("expect", "transitions", index - 1))
            unit = [atom for atom in wanted if atom in every]
            for atom in unit:
                del every[atom]
            yield event.node, frozenset(unit)
        for atom in every:
            yield None, frozenset([atom])


def _joined(units: Iterable[frozenset[Atom]]) -> frozenset[Atom]:
    return frozenset().union(*units)


def _signature(result: ScenarioResult) -> tuple[str, ...] | None:
    """Give by what two failures count as the same; ``None`` for none."""
    if result.passed:
        return None
    first, error = result.mismatches[0], result.run.error
    what, _, rest = re.sub(r"\[\d+\]", "", first).partition(": ")
    if error is not None and what in ("the run did not end", "error"):
        # Its text may count calls.
        return (what, type(error.__cause__ or error).__name__, result.run.failed_at or "")
    return (what,) if what.startswith("unused ") else (what, rest)
