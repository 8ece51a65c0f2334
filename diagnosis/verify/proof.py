"""The proof: every property of a model, evaluated over all outcome scripts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from diagnosis.runtime import Decision, Model, Property, RouterDecision, Shown
from diagnosis.scenarios import Scenario
from diagnosis.verify.counterexample import scenario_for
from diagnosis.verify.findings import Remark, remarks_on, unbounded
from diagnosis.verify.lasso import Lasso
from diagnosis.verify.paths import Script
from diagnosis.verify.races import Contender
from diagnosis.verify.space import StateSpace
from diagnosis.verify.tally import Ending, Tally

RULE_TAKEN = "rule_taken:"
"""How the names of the properties begin that claim a rule is taken; the rule follows as ``node.rule``."""


ROUTE_TAKEN = "route_taken:"
"""The same for the routes of a plain router and of Commands, as ``node.route``."""


@dataclass(frozen=True)
class Verdict:
    """What came of one property.

    Attributes:
        claim: the property.
        holds: true, false, or ``None`` where the exploration met its budget first: not proven.
        detail: one line that says why.
        script: the shortest script that breaks it, or, for a sometimes that holds, that shows it.
        shortest: false where the exploration met its budget before, so that there may be a shorter one.
    """

    claim: Property
    holds: bool | None
    detail: str
    script: Script | None = None
    shortest: bool = True

    @property
    def word(self) -> str:
        """The verdict in a word or two."""
        return {True: "holds", False: "broken", None: "not proven"}[self.holds]


@dataclass(frozen=True, repr=False)
class Proof(Shown):
    """All verdicts on a model.

    Attributes:
        model: the graph under test.
        space: what was explored.
        verdicts: one for each property.
        lasso: a run that never ends, where there is one.
    """

    model: Model
    space: StateSpace
    verdicts: tuple[Verdict, ...]
    lasso: Lasso | None

    @property
    def holds(self) -> bool:
        """Whether every property holds."""
        return all(verdict.holds for verdict in self.verdicts)

    @property
    def reason(self) -> str | None:
        """Why there is no finite count of scripts, or ``None``."""
        if self.space.stopped is not None:
            return f"bound hit: {self.space.stopped}"
        return "a run may go on for ever: the graph has an unresolved cycle" if self.space.cycles else None

    @property
    def scripts(self) -> int | None:
        """How many complete scripts there are."""
        return None if self.space.counts is None else self.space.counts[0][0]

    @property
    def longest_path(self) -> int | None:
        """The node executions of the longest run."""
        return None if self.space.counts is None else self.space.counts[1][0]

    @property
    def shortest_path(self) -> int | None:
        """The node executions of the shortest run, or ``None`` where no run was seen to end."""
        return self.space.shortest

    @cached_property
    def findings(self) -> tuple[Remark, ...]:
        """What a reviewer should know beside the properties; see :func:`~diagnosis.verify.findings.remarks_on`."""
        return remarks_on(self.space)

    @property
    def unbounded(self) -> tuple[Remark, ...]:
        """The keys that decisions read and whose values did not come to an end within the budget."""
        return () if self.space.complete else tuple(unbounded(self.space))

    @cached_property
    def _tally(self) -> Tally | None:
        return None if self.space.counts is None else Tally(self.space)

    @property
    def lengths(self) -> Mapping[int, int] | None:
        """Node executions -> how many complete scripts have as many; ``None`` where there is no finite count."""
        return None if self._tally is None else self._tally.lengths

    @property
    def terminations(self) -> tuple[Ending, ...] | None:
        """The ways in which runs end, with how many scripts end so; ``None`` where there is no finite count."""
        return None if self._tally is None else self._tally.endings

    @property
    def never_taken(self) -> tuple[str, ...]:
        """The rules, and the routes of routers and Commands, that no explored script takes, as ``node.rule``."""
        return tuple(
            verdict.claim.name.partition(":")[2]
            for verdict in self.verdicts
            if verdict.claim.name.startswith((RULE_TAKEN, ROUTE_TAKEN)) and not verdict.holds
        )

    @property
    def never_won(self) -> tuple[Contender, ...]:
        """The branches of ``any_of`` forks that can never win; none is named where not everything was explored."""
        return self.space.races.never_won if self.space.complete else ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What no property claims, but looks like a mistake: a line each."""
        return tuple(f"branch {branch} of the fork at {fork} can never win" for fork, branch in self.never_won)

    @property
    def untaken(self) -> str:
        """How to introduce the rules that were never taken."""
        return "rules never taken" if self.space.complete else "rules never taken in what was explored"

    def counterexample(self, verdict: Verdict) -> Scenario | None:
        """Give the script that breaks a property as a scenario: the shortest, unless its verdict says otherwise.

        Args:
            verdict: one of the verdicts.

        Returns:
            A scenario that passes and shows the run; ``None`` where nothing breaks the property, and for a sometimes.
        """
        if verdict.holds is not False or verdict.script is None:
            return None
        name = f"counterexample_{self.model.name}_{verdict.claim.name}".replace(":", "_").replace(".", "_")
        title = f"Not true: {verdict.claim.statement} ({verdict.detail})"
        return scenario_for(self.model, verdict.script, name=name, title=title)

    @cached_property
    def counterexamples(self) -> tuple[Scenario, ...]:
        """One scenario for each property that is broken by a run."""
        found = (self.counterexample(verdict) for verdict in self.verdicts)
        return tuple(scenario for scenario in found if scenario is not None)

    def text(self) -> str:
        """Give the counts, then a line a property."""
        good = sum(1 for verdict in self.verdicts if verdict.holds)
        lines = [f"Proof of {self.model.name}: {good} of {len(self.verdicts)} properties hold", f"  {self.counted}"]
        for verdict in self.verdicts:
            lines.append(f"  {verdict.word:10}  {verdict.claim.kind:10}  {verdict.claim.name}: {verdict.detail}")
        if self.never_taken:
            lines.append(f"  {self.untaken}: {', '.join(self.never_taken)}")
        lines += [f"  {warning}" for warning in self.warnings]
        return "\n".join(lines)

    @property
    def counted(self) -> str:
        """One line with the size of what was explored."""
        size = f"{len(self.space.states)} control states, {self.space.size} transitions"
        if self.scripts is None:
            return f"{size}; {self.reason}"
        what = "interleavings" if self.space.interleaved else "complete scripts"
        return f"{size}, {self.scripts} {what} of {self.shortest_path} to {self.longest_path} node executions"

    def to_json(self, *, findings: bool = False) -> dict[str, Any]:
        """Give the proof as ``diagnosis verify --json`` prints it.

        Args:
            findings: whether to add the findings, and how many scripts there are by length and by ending.
        """
        document: dict[str, Any] = {
            "graph": self.model.name,
            "projection": list(self.space.projection),
            "control_states": len(self.space.states),
            "transitions": self.space.size,
            "scripts": self.scripts,
            "longest_path": self.longest_path,
            "shortest_path": self.shortest_path,
        }
        if self.space.interleaved:
            document["interleaved"] = True
        if self.reason is not None:
            document["reason"] = self.reason
        if self.lasso is not None:
            document["lasso"] = {
                "stem": [list(call) for call in self.lasso.stem],
                "loop": [list(call) for call in self.lasso.loop],
            }
        if self.never_taken:
            document["never_taken"] = list(self.never_taken)
        if self.never_won:
            document["never_won"] = [contender._asdict() for contender in self.never_won]
        document["properties"] = [
            {
                "name": verdict.claim.name,
                "kind": verdict.claim.kind,
                "holds": verdict.holds,
                "counterexample": None if (found := self.counterexample(verdict)) is None else found.to_map(),
            }
            for verdict in self.verdicts
        ]
        if findings:
            document["findings"] = [remark.to_json() for remark in self.findings]
            document["lengths"] = None if self.lengths is None else {str(n): m for n, m in self.lengths.items()}
            endings = self.terminations
            document["terminations"] = None if endings is None else [asdict(ending) for ending in endings]
        return document


def rules_of(model: Model) -> Iterator[tuple[str, str]]:
    """Go through every rule of a model, as node and rule name.

    Args:
        model: the graph under test.
    """
    for conditional in model.graph.definition.conditionals:
        if isinstance(conditional.decision, Decision):
            for rule in conditional.decision.rules:
                yield conditional.source, rule.name


def routes_of(model: Model) -> Iterator[tuple[str, str]]:
    """Go through every route key of plain routers and of Commands, as node and route key, each once.

    Args:
        model: the graph under test.
    """
    definition = model.graph.definition
    found: dict[tuple[str, str], None] = {}
    for conditional in definition.conditionals:
        if isinstance(conditional.decision, RouterDecision):
            found.update(((conditional.source, route), None) for route in conditional.targets)
    for node in definition.nodes:
        found.update(((node.name, route), None) for route in node.goto)
    yield from found
