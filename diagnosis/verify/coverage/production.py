"""What tests cover, set against what production was seen to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from diagnosis.runtime import END, GOTO, REPEAT, START, Decision, Definition
from diagnosis.verify.coverage.items import edge_item
from diagnosis.verify.coverage.kinds import Atom, CoverageError
from diagnosis.verify.coverage.result import Coverage

Transitions = Mapping[tuple[str, str, str], int]
"""(from, to, reason code) -> how often recorded runs showed it."""

JOINED: Final = ("node", "edge", "route", "reason", "rule")
"""The kinds that a recorded transition tells of."""


class Joined(NamedTuple):
    """One item, as tests and production know it.

    Attributes:
        kind: one of :data:`JOINED`.
        name: the item.
        tested: how often the tests showed it.
        production: how often it was recorded; of a node, at least so often.
        feasible: whether any run can show it; false for what the graph does not declare.
        exact: whether a recorded transition tells that it was this item; not where several rules or routes share
            source, target and reason.
        declared: whether the graph declares it.
    """

    kind: str
    name: str
    tested: int
    production: int
    feasible: bool
    exact: bool
    declared: bool

    @property
    def seen(self) -> str:
        """Where it was seen: ``both``, ``tests only``, ``production only`` or ``neither``."""
        if self.tested:
            return "both" if self.production else "tests only"
        return "production only" if self.production else "neither"


def joined(coverage: Coverage, transitions: Transitions) -> tuple[Joined, ...]:
    """Join what tests cover with what was recorded.

    Args:
        coverage: what the tests cover.
        transitions: what was recorded. Transitions from START and to END may be among them; where they are not, nothing
            is known of the edges from START and to END, and those count as not recorded.

    Returns:
        Every item of the kinds :data:`JOINED`, in the order of the coverage, then what else was recorded.

    Raises:
        CoverageError: a count is no whole number from 0.
    """
    definition = coverage.model.graph.definition
    counts: Counter[Atom] = Counter()
    unsure: set[Atom] = set()
    arrived: Counter[str] = Counter()
    departed: Counter[str] = Counter()
    for (source, target, reason), count in transitions.items():
        if type(count) is not int or count < 0:
            raise CoverageError(
                f"transition {source!r} to {target!r} for {reason!r}: found {count!r}, allowed: a whole number from 0"
            )
        arrived[target] += count
        departed[source] += count
        counts["edge", edge_item(source, target)] += count
        for atoms in _decided(definition, source, target, reason):
            for atom in atoms:
                counts[atom] += count
            if len(atoms) > 1:
                unsure.update(atoms)
    for node in dict.fromkeys((*arrived, *departed)):
        if node not in (START, END):
            # A recording without START and END tells of every execution but the first or the last.
            counts["node", node] = max(arrived[node], departed[node])
    found = []
    for item in coverage.items:
        if item.kind in JOINED:
            atom = (item.kind, item.name)
            count = counts.pop(atom, 0)
            found.append(Joined(*atom, item.hits, count, item.feasible, atom not in unsure, True))
    found += [
        Joined(*atom, coverage.seen.get(atom, 0), count, False, True, False)
        for atom, count in sorted(counts.items())
        if count and atom[0] in JOINED
    ]
    return tuple(found)


def _decided(definition: Definition, source: str, target: str, reason: str) -> Iterator[list[Atom]]:
    """Go through what can have led along a transition: of each list one; a list of one is certain."""
    if source not in definition.names:
        return
    node, conditional = definition.node(source), definition.conditional(source)
    if conditional is None:
        fixed = [edge for edge in definition.edges_from(source) if edge.target == target]
        if fixed and not any(edge.reason is REPEAT for edge in fixed):
            yield [("reason", reason)]
        if fixed:
            return
    elif isinstance(conditional.decision, Decision):
        rules = [
            (rule, route)
            for rule in conditional.decision.rules
            for route in rule.routes
            if rule.reason == reason and conditional.targets[route] == target
        ]
        if rules:
            yield [("reason", reason)]
            yield list(dict.fromkeys(("rule", f"{source}.{rule.name}") for rule, _ in rules))
            yield list(dict.fromkeys(("route", f"{source}.{route}") for _, route in rules))
            return
    elif target in conditional.targets.values():
        # A plain router's reason is the route key, unless its Command brings one.
        routes = [key for key, leads in conditional.targets.items() if leads == target]
        if reason in conditional.targets:
            yield [("reason", reason)]
        yield [("route", f"{source}.{key}") for key in ([reason] if reason in routes else routes)]
        return
    gotos = [key for key, leads in node.goto.items() if leads == target]
    if gotos:
        yield [("rule", f"{source}.{GOTO}")]
        yield [("route", f"{source}.{key}") for key in gotos]
    else:
        yield [("reason", reason)]
