"""What a suite of scenarios says to the mutants of a graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from diagnosis.mutation.mutant import OPERATORS, Mutant
from diagnosis.runtime import Model, Shown
from diagnosis.scenarios import Scenario

if TYPE_CHECKING:
    import pandas

Result = Literal["assertion", "bound", "crash", "equivalent", "survived", "invalid"]

RESULTS: Final[Mapping[Result, str]] = {
    "assertion": "killed: in some scenario the run differs in its way, reasons, outcomes or state",
    "bound": "killed: in some scenario the run meets its recursion limit",
    "crash": "the run fails in some scenario, and no script could show anything else: no credit to the suite",
    "equivalent": "proven to agree with the graph on every script",
    "survived": "no scenario notices, although some script would, or it is not decided whether one would",
    "invalid": "refused by the checks when the graph is compiled",
}
"""Result -> what it means, in the order in which they are told."""


@dataclass(frozen=True, slots=True, repr=False)
class MutantResult(Shown):
    """What became of one mutant.

    Attributes:
        mutant: the mutant.
        result: one of :data:`RESULTS`.
        detail: what was seen, or why nothing could be said.
        scenario: the scenario that noticed it; ``None`` where none did.
        killer: of a survivor, the shortest scenario that notices it; it passes on the graph itself.
    """

    mutant: Mutant
    result: Result
    detail: str = ""
    scenario: str | None = None
    killer: Scenario | None = None

    @property
    def killed(self) -> bool:
        """Whether the suite gets the credit."""
        return self.result in ("assertion", "bound")

    def to_json(self) -> dict[str, Any]:
        """Give the result as plain data for JSON."""
        mutant = self.mutant
        return {
            "operator": mutant.operator,
            "place": mutant.place,
            "diff": mutant.diff,
            "result": self.result,
            "scenario": self.scenario,
            "detail": self.detail,
            "killer": None if self.killer is None else self.killer.to_map(),
        }

    def text(self) -> str:
        """Give operator, place and diff, what was seen, and how the shortest scenario is called that would notice."""
        lines = [f"{self.result}  {self.mutant.operator} at {self.mutant.place}"]
        lines += [f"    {line}" for line in self.mutant.diff.split("\n")]
        if self.detail:
            lines.append(f"    {self.detail}")
        if self.killer is not None:
            lines.append(f"    the shortest scenario that notices: {' > '.join(self.killer.expect.path or ())}")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False, repr=False)
class MutationReport(Shown):
    """What a set of scenarios notices of the small changes of a graph.

    Attributes:
        model: the graph.
        scenarios: the names of the scenarios.
        results: one for each mutant, in the order of :data:`OPERATORS`.
    """

    model: Model
    scenarios: tuple[str, ...]
    results: tuple[MutantResult, ...]

    def of(self, result: Result) -> tuple[MutantResult, ...]:
        """Give the mutants that came to one result.

        Args:
            result: one of :data:`RESULTS`.
        """
        return tuple(each for each in self.results if each.result == result)

    @property
    def counts(self) -> Mapping[Result, int]:
        """Result -> how many mutants came to it."""
        return {result: len(self.of(result)) for result in RESULTS}

    @property
    def killed(self) -> int:
        """How many mutants the scenarios kill, by an assertion or by the bound."""
        return sum(each.killed for each in self.results)

    @property
    def survivors(self) -> tuple[MutantResult, ...]:
        """The mutants that no scenario notices, but some script would, or might."""
        return self.of("survived")

    @property
    def killers(self) -> tuple[Scenario, ...]:
        """The shortest scenarios that notice the survivors; one for all that the same script notices."""
        found: dict[str, Scenario] = {}
        for each in self.survivors:
            if each.killer is not None:
                found.setdefault(repr((each.killer.script, each.killer.winners)), each.killer)
        return tuple(found.values())

    @property
    def score(self) -> float | None:
        """The share of mutants killed, from 0 to 1, of those that are neither equivalent, invalid nor crash everywhere.

        ``None`` where there are none.
        """
        counted = self.killed + len(self.survivors)
        return self.killed / counted if counted else None

    @property
    def summary(self) -> str:
        """The score in one line."""
        score = "nothing to kill" if self.score is None else f"{self.score:.1%} killed"
        return (
            f"Mutation of {self.model.name} against {len(self.scenarios)} "
            f"scenario{'' if len(self.scenarios) == 1 else 's'}: {self.killed} of "
            f"{self.killed + len(self.survivors)} mutants, {score}"
        )

    @property
    def table(self) -> pandas.DataFrame:
        """A row a mutant: what was changed, what became of it, and what noticed it.

        Columns ``operator``, ``place``, ``before``, ``after``, ``result``, ``scenario``, ``detail`` and ``killer``, the
        path of the shortest scenario that would notice a survivor. What there is not is a missing value.
        """
        import pandas

        columns = ("operator", "place", "before", "after", "result", "scenario", "detail", "killer")
        rows = [
            (
                each.mutant.operator,
                each.mutant.place,
                each.mutant.before,
                each.mutant.after,
                each.result,
                each.scenario,
                each.detail or None,
                None if each.killer is None else " > ".join(each.killer.expect.path or ()),
            )
            for each in self.results
        ]
        return pandas.DataFrame(rows, columns=columns, dtype="string[python]")

    @property
    def by_operator(self) -> Mapping[str, Mapping[Result, int]]:
        """Operator -> result -> how many mutants; operators that this graph gives no place for are left out."""
        found: dict[str, dict[Result, int]] = {}
        for operator in OPERATORS:
            own = [each.result for each in self.results if each.mutant.operator == operator]
            if own:
                found[operator] = {result: own.count(result) for result in RESULTS}
        return found

    @property
    def operators(self) -> pandas.DataFrame:
        """A row an operator: ``operator``, ``mutants``, and a column a result with how many came to it."""
        import pandas

        rows = [(operator, sum(count.values()), *count.values()) for operator, count in self.by_operator.items()]
        frame = pandas.DataFrame(rows, columns=("operator", "mutants", *RESULTS))
        return frame.astype({"operator": "string[python]", **dict.fromkeys(("mutants", *RESULTS), "int64")})

    def text(self) -> str:
        """Give the score, the counts, and every survivor with what would notice it."""
        lines = [self.summary]
        lines += [f"  {count:4} {result}: {RESULTS[result]}" for result, count in self.counts.items()]
        for each in (*self.survivors, *self.of("crash")):
            lines += [f"  {line}" for line in each.text().split("\n")]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Give the report as ``diagnosis mutate --json`` prints it."""
        return {
            "graph": self.model.name,
            "scenarios": len(self.scenarios),
            "mutants": len(self.results),
            **{str(result): count for result, count in self.counts.items()},
            "killed": self.killed,
            "score": self.score,
            "results": [each.to_json() for each in self.results],
        }
