"""Coverage: which parts of a graph a set of runs has shown, out of those that any run can show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from diagnosis.runtime import (
    GOTO,
    REPEAT,
    START,
    Choice,
    Conditional,
    Decision,
    Definition,
    Executed,
    Model,
    RouterDecision,
    RuleTruth,
    Run,
    Shown,
    decided_on,
    evaluate,
)
from diagnosis.verify.space import StateSpace, explore
from diagnosis.verify.winners import contests_of, winners_of

KINDS: Final = ("node", "route", "edge", "reason", "rule", "outcome", "condition", "mcdc")
"""What is counted of every graph, from coarse to fine."""

WINNER: Final = "winner"
"""What is counted beside :data:`KINDS` where a fork waits for any of its branches: which of them have won."""

Vectors = dict[tuple[str, str], set[tuple[bool | None, ...]]]
"""(node, rule) -> the truth vectors of its conditions that were seen."""


def kinds_of(model: Model) -> tuple[str, ...]:
    """Give what is counted of a model: :data:`KINDS`, and :data:`WINNER` where it has an ``any_of`` fork.

    Args:
        model: the graph under test.
    """
    return (*KINDS, WINNER) if contests_of(model.graph) else KINDS


def declared_items(model: Model) -> dict[str, list[str]]:
    """List every item that a model declares, by kind, in order of declaration.

    The reasons of Commands are free texts and no items; nor are those of edges that repeat the one before them.

    Args:
        model: the graph under test.
    """
    definition = model.graph.definition
    items: dict[str, list[str]] = {kind: [] for kind in kinds_of(model)}
    items["node"] = list(definition.names)
    reasons: dict[str, None] = {}
    items["edge"] = [_edge(START, definition.entry or "")]
    for source in definition.names:
        conditional = definition.conditional(source)
        goto = definition.node(source).goto
        edges = definition.edges_from(source)
        routes = dict.fromkeys((*(conditional.targets if conditional else ()), *goto))
        items["route"] += [f"{source}.{route}" for route in routes]
        targets = [edge.target for edge in edges]
        targets += [*(conditional.targets.values() if conditional else ()), *goto.values()]
        items["edge"] += dict.fromkeys(_edge(source, target) for target in targets)
        reasons.update((str(edge.reason), None) for edge in edges if edge.reason is not REPEAT)
        if conditional is not None and isinstance(conditional.decision, RouterDecision):
            reasons.update(dict.fromkeys(conditional.targets))
        for rule in conditional.decision.rules if conditional and isinstance(conditional.decision, Decision) else ():
            reasons[rule.reason] = None
            items["rule"].append(f"{source}.{rule.name}")
            for condition in rule.when:
                item = f"{source}.{rule.name}.{condition.name}"
                items["condition"] += [f"{item}=T", f"{item}=F"]
                items["mcdc"].append(item)
        if goto:
            items["rule"].append(f"{source}.{GOTO}")
    items["reason"] = list(reasons)
    items["outcome"] = [f"{node}.{outcome}" for node in definition.names for outcome in model.alphabet[node]]
    if WINNER in items:
        contests = contests_of(model.graph)
        won = [_edge(each.source, target) for each in contests for target in each.targets if target != each.join]
        items[WINNER] = list(dict.fromkeys(won))
    return items


def _edge(source: str, target: str) -> str:
    return f"{source}->{target}"


def _choice_items(definition: Definition, choices: Sequence[Choice]) -> Iterator[tuple[str, str]]:
    """Go through what a decision shows: the node, rule and reason once, the edge and route of each choice."""
    source, rule, reason = choices[0].source, choices[0].rule, choices[0].reason
    yield "node", source
    if rule is not None:
        yield "rule", f"{source}.{rule}"
    for choice in choices:
        yield "edge", _edge(source, choice.target)
        if choice.route is not None:
            yield "route", f"{source}.{choice.route}"
    conditional = definition.conditional(source)
    if definition.commanded(choices[0]):
        return
    if conditional is None:
        if not any(edge.reason is REPEAT for edge in definition.edges_from(source)):
            yield from dict.fromkeys(("reason", choice.reason) for choice in choices)
    elif not isinstance(conditional.decision, RouterDecision):
        yield "reason", reason
    else:
        # The Command of a router may bring a reason of its own.
        declared = [choice.reason for choice in choices if choice.reason in conditional.targets]
        yield from dict.fromkeys(("reason", found) for found in declared)


def _truth_items(source: str, rows: Iterable[RuleTruth]) -> Iterator[tuple[str, str]]:
    for row in rows:
        for condition, truth in zip(row.rule.when, row.truths, strict=True):
            if truth is not None:
                yield "condition", f"{source}.{row.rule.name}.{condition.name}={'T' if truth else 'F'}"


def _independent(vectors: set[tuple[bool | None, ...]]) -> Iterator[int]:
    """Give the places of the conditions that were seen to decide alone: unique-cause MC/DC."""
    size = len(next(iter(vectors), ()))
    if (True,) * size in vectors:
        for place in range(size):
            if tuple(index != place for index in range(size)) in vectors:
                yield place


@dataclass
class _Tally:
    """Items and condition vectors, counted."""

    definition: Definition
    hits: dict[tuple[str, str], int] = field(default_factory=dict)
    vectors: Vectors = field(default_factory=dict)
    errors: dict[str, None] = field(default_factory=dict)

    def add(self, kind: str, item: str) -> None:
        self.hits[kind, item] = self.hits.get((kind, item), 0) + 1

    def start(self) -> None:
        self.add("edge", _edge(START, self.definition.entry or ""))

    def choices(self, choices: Sequence[Choice]) -> None:
        for kind, item in _choice_items(self.definition, choices):
            self.add(kind, item)

    def truths(self, source: str, rows: Iterable[RuleTruth]) -> None:
        for kind, item in _truth_items(source, rows):
            self.add(kind, item)
        for row in rows:
            if row.rule.when:
                self.vectors.setdefault((source, row.rule.name), set()).add(row.truths)
            for condition, error in zip(row.rule.when, row.errors, strict=True):
                if error is not None:
                    self.errors[f"{source}.{row.rule.name}.{condition.name}: {error}"] = None

    def close(self) -> None:
        """Turn the vectors into MC/DC items."""
        for conditional in self.definition.conditionals:
            for rule in conditional.decision.rules if isinstance(conditional.decision, Decision) else ():
                for place in _independent(self.vectors.get((conditional.source, rule.name), set())):
                    self.hits["mcdc", f"{conditional.source}.{rule.name}.{rule.when[place].name}"] = 1


@dataclass(frozen=True, slots=True)
class Item:
    """One coverage item.

    Attributes:
        kind: one of :func:`kinds_of` the model.
        name: such as ``planner.PLANNER_RETRY.retryable=T``.
        feasible: whether any run can show it; items that none can show are no part of a total.
        hits: how often the runs showed it; for MC/DC 1 where they did.
    """

    kind: str
    name: str
    feasible: bool
    hits: int

    @property
    def covered(self) -> bool:
        """Whether it was shown."""
        return self.hits > 0


@dataclass(frozen=True, repr=False)
class Coverage(Shown):
    """What a set of runs covers.

    Attributes:
        model: the graph under test.
        items: every declared item, by kind in the order of :attr:`kinds`.
        runs: how many runs were counted.
        proven: whether the infeasible items are known to be so; if not, all declared items count as feasible.
        outside: reports that are no outcome of the alphabet, as ``node call``.
        errors: conditions that raised when evaluated in full, with what they raised.
    """

    model: Model
    items: tuple[Item, ...]
    runs: int
    proven: bool
    outside: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """What is counted: :data:`KINDS`, and :data:`WINNER` where the graph has an ``any_of`` fork."""
        return kinds_of(self.model)

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
        """Give the names of feasible items that were not covered.

        Args:
            kind: one of :attr:`kinds`.
        """
        return tuple(item.name for item in self.of(kind) if item.feasible and not item.covered)

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
    def complete(self) -> bool:
        """Whether every feasible item was covered."""
        return all(item.covered for item in self.items if item.feasible)

    def hits(self, kind: str) -> Mapping[str, int]:
        """Give item name -> how often it was shown.

        Args:
            kind: one of :attr:`kinds`.
        """
        return {item.name: item.hits for item in self.of(kind)}

    def text(self) -> str:
        """Give a line a kind, with what is missing."""
        lines = [f"Coverage of {self.model.name} by {self.runs} run{'s' if self.runs != 1 else ''}"]
        for kind in self.kinds:
            covered, total = self.counts(kind)
            missing = self.missing(kind)
            lines.append(f"  {kind:10} {covered:3} of {total:3}{'  missing: ' + ', '.join(missing) if missing else ''}")
        if not self.proven:
            lines.append("  exploration met its bound: items that no run can show are still in the totals")
        lines += [f"  condition error: {error}" for error in self.errors]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Give the coverage as ``diagnosis coverage --json`` prints it."""
        return {
            kind: {"covered": covered, "total": total, "missing": list(self.missing(kind))}
            for kind in self.kinds
            for covered, total in [self.counts(kind)]
        }


def measure(model: Model, runs: Iterable[Run], *, space: StateSpace | None = None) -> Coverage:
    """Measure what runs cover of a model.

    Args:
        model: the graph under test.
        runs: runs of its graph, ended or not.
        space: the explored space that tells what is feasible; explored here where absent.

    Returns:
        The coverage. Every condition of every rule is evaluated at every decision; one that raises covers nothing.
    """
    space = explore(model) if space is None else space
    feasible = _feasible(space)
    tally, outside, count = _Tally(model.graph.definition), dict[str, None](), 0
    for run in runs:
        count += 1
        tally.start()
        for executed in run.steps:
            _add(model, tally, executed, outside)
        _add_failed(model, tally, run)
        for item in winners_of(run):
            tally.add(WINNER, item)
    tally.close()
    items = tuple(
        Item(kind, name, feasible is None or (kind, name) in feasible, tally.hits.get((kind, name), 0))
        for kind, names in declared_items(model).items()
        for name in names
    )
    return Coverage(model, items, count, feasible is not None, tuple(outside), tuple(tally.errors))


def _feasible(space: StateSpace) -> Mapping[tuple[str, str], int] | None:
    """Give every item that some run shows, or ``None`` where the space is not complete."""
    if not space.complete:
        return None
    tally = _Tally(space.model.graph.definition)
    tally.start()
    for edge in space.samples:
        if edge.hidden:
            continue
        node = space.node(edge.source)
        tally.add("node", node)
        tally.add("outcome", f"{node}.{edge.outcome}")
        if edge.choice is not None:
            tally.choices(edge.choices)
            tally.truths(node, edge.truths)
        if edge.winner is not None and edge.target is not None:
            tally.add(WINNER, _edge(node, space.node(edge.target)))
    tally.close()
    return tally.hits


def _add(model: Model, tally: _Tally, executed: Executed, outside: dict[str, None]) -> None:
    event = executed.event
    tally.choices(event.choices)
    outcome = model.outcome_of(event.node, executed.report, executed.after, event)
    if outcome is None:
        outside[f"{event.node} {dict(executed.report)!r}"] = None
    else:
        tally.add("outcome", f"{event.node}.{outcome}")
    tally.truths(event.node, truths_at(model, executed))


def _add_failed(model: Model, tally: _Tally, run: Run) -> None:
    """Count the node at which a run failed, which began but did not end; a limit begins nothing."""
    if run.stop == "error" and run.failed_at in model.graph.definition.names:
        tally.add("node", run.failed_at)


def truths_at(model: Model, executed: Executed) -> tuple[RuleTruth, ...]:
    """Give the rules of a node's decision, fully evaluated on the state that it decided on.

    Args:
        model: the graph under test.
        executed: one node execution.
    """
    definition = model.graph.definition
    conditional: Conditional | None = definition.conditional(executed.event.node)
    if conditional is None or isinstance(conditional.decision, RouterDecision):
        return ()
    return evaluate(
        conditional.source, conditional.decision.rules, conditional.targets, decided_on(executed, definition)
    )
