"""Why a node goes where it goes: every rule with the truth of every condition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from diagnosis.runtime.commands import Command, Send, ways_of
from diagnosis.runtime.decisions import Decision, ReadView, RouterDecision, Rule, State
from diagnosis.runtime.definition import Definition, Repeat
from diagnosis.runtime.display import Shown
from diagnosis.runtime.errors import DefinitionError, one_of

Truth = bool | None
"""Whether a condition holds; ``None`` when evaluating it raised."""


@dataclass(frozen=True, slots=True)
class RuleTruth:
    """One rule, fully evaluated.

    Attributes:
        rule: the rule.
        truths: for each of its conditions in order, true, false, or ``None`` for an error.
        errors: for each condition, the text of its error or ``None``.
        target: where its route leads; of a rule that opens branches, all of their first nodes.
    """

    rule: Rule
    truths: tuple[Truth, ...]
    errors: tuple[str | None, ...]
    target: str

    @property
    def holds(self) -> bool:
        """Whether all conditions hold."""
        return all(truth is True for truth in self.truths)


def evaluate(source: str, rules: tuple[Rule, ...], targets: Mapping[str, str], state: State) -> tuple[RuleTruth, ...]:
    """Evaluate all conditions of all rules in a state, none skipped.

    Args:
        source: the node that decides, for messages.
        rules: its rules.
        targets: route key -> target.
        state: the state at the decision.

    Returns:
        A row a rule. A condition that raises, or reads a key that it does not declare, counts as an error.
    """
    rows = []
    for rule in rules:
        truths: list[Truth] = []
        errors: list[str | None] = []
        for condition in rule.when:
            view = ReadView(state, condition.reads, f"condition {condition.name!r} of {source}.{rule.name}")
            try:
                truths.append(bool(condition.test(view)))
                errors.append(None)
            except Exception as error:
                truths.append(None)
                errors.append(f"{type(error).__name__}: {error}")
        rows.append(RuleTruth(rule, tuple(truths), tuple(errors), " + ".join(targets[route] for route in rule.routes)))
    return tuple(rows)


@dataclass(frozen=True, repr=False)
class Explanation(Shown):
    """What a node's decision comes to in one state.

    Attributes:
        source: the node.
        rows: its rules, fully evaluated; empty for a fixed edge and for a plain router.
        rule: the name of the rule that decides, or ``None``.
        route: the route key, or ``None``.
        reason: the reason code, or ``None`` where no decision is reached.
        target: where the graph goes, or ``None``.
        error: why no decision is reached, or ``None``.
    """

    source: str
    rows: tuple[RuleTruth, ...]
    rule: str | None
    route: str | None
    reason: str | None
    target: str | None
    error: str | None = None

    def text(self) -> str:
        """Give a line a rule: a mark for the one that decides, and T, F or ! for each condition."""
        verdict = self.error or f"goes to {self.target} because {self.reason or 'of the reason that led here'}"
        lines = [f"{self.source}: {verdict}"]
        for row in self.rows:
            mark = "->" if row.rule.name == self.rule else "  "
            marks = {True: "T", False: "F", None: "!"}
            parts = [f"{c.name}={marks[t]}" for c, t in zip(row.rule.when, row.truths, strict=True)]
            lines.append(
                f"{mark} {row.rule.name} [{' + '.join(row.rule.routes)}]: {', '.join(parts) or 'anything else'}"
            )
        return "\n".join(lines)

    def records(self) -> list[dict[str, Any]]:
        """Give one row a condition, for a table; a rule without conditions has one row."""
        table = []
        for row in self.rows:
            for condition, truth, error in zip(row.rule.when, row.truths, row.errors, strict=True):
                table.append(self._record(row, condition.name, truth, error))
            if not row.rule.when:
                table.append(self._record(row, None, None, None))
        return table

    def _record(self, row: RuleTruth, condition: str | None, truth: Truth, error: str | None) -> dict[str, Any]:
        return {
            "source": self.source,
            "rule": row.rule.name,
            "route": " + ".join(row.rule.routes),
            "reason": row.rule.reason,
            "target": row.target,
            "condition": condition,
            "truth": truth,
            "error": error,
            "holds": row.holds,
            "decided": row.rule.name == self.rule,
        }


def explain(definition: Definition, source: str, state: State, *, reason: str | None = None) -> Explanation:
    """Explain the decision of a node in a state.

    Args:
        definition: the graph.
        source: the node that decides.
        state: the state at its decision.
        reason: the reason that led to the node, for nodes that repeat it.

    Raises:
        DefinitionError: there is no such node.
    """
    if source not in definition.names:
        raise DefinitionError(f"graph {definition.name!r} has no node {source!r}; nodes are {one_of(definition.names)}")
    conditional = definition.conditional(source)
    if conditional is None:
        edges = definition.edges_from(source)
        if not edges:
            return Explanation(source, (), None, None, None, None, "it has no edges of its own; its Commands say where")
        code = reason if isinstance(edges[0].reason, Repeat) else edges[0].reason
        return Explanation(source, (), None, None, code, " + ".join(edge.target for edge in edges))
    if isinstance(conditional.decision, RouterDecision):
        try:
            given = conditional.decision.router(state)
            code = given.reason if isinstance(given, Command) else None
            goto = given.goto if isinstance(given, Command) else given
            keys = [way.goto for way in ways_of((goto,) if isinstance(goto, Send) else goto)]
            if not keys:
                raise DefinitionError("an empty list")
            route = " + ".join(keys)
            target = " + ".join(conditional.targets[key] for key in keys)
        except Exception as error:
            return Explanation(source, (), None, None, None, None, f"its router gave no route: {error!r}")
        return Explanation(source, (), None, route, code or route, target)
    assert isinstance(conditional.decision, Decision)
    rows = evaluate(source, conditional.decision.rules, conditional.targets, state)
    for row in rows:
        for truth, failure, condition in zip(row.truths, row.errors, row.rule.when, strict=True):
            if truth is None:
                why = f"condition {condition.name!r} of rule {row.rule.name!r} raised {failure}"
                return Explanation(source, rows, None, None, None, None, why)
            if truth is False:
                break
        else:
            rule = row.rule
            return Explanation(source, rows, rule.name, " + ".join(rule.routes), rule.reason, row.target)
    return Explanation(source, rows, None, None, None, None, "no rule holds")
