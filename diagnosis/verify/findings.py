"""What the reviewer of a graph wants to know beside its properties."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from diagnosis.runtime import Command, Decision, Definition, RouterDecision, UnmappedRouteError
from diagnosis.verify.canonical import canonical
from diagnosis.verify.paths import Script, Transition
from diagnosis.verify.space import StateSpace
from diagnosis.verify.too_soon import read_too_soon

MANY_VALUES = 8
"""A key that took more values than this in a search that had to give up is told as one without a bound."""


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing about a graph that its reviewer should know, and may accept.

    Attributes:
        kind: the class of it, such as ``shadowed_rule``.
        where: the node, ``node.rule``, ``node.outcome`` or key concerned.
        detail: a sentence that says what was found.
        script: the shortest script that shows it, where one does.
    """

    kind: str
    where: str
    detail: str
    script: Script | None = None

    def __str__(self) -> str:
        return f"{self.kind} at {self.where}: {self.detail}"

    def to_json(self) -> dict[str, Any]:
        """Give it as plain data for JSON."""
        script = None if self.script is None else [list(call) for call in self.script]
        return {"kind": self.kind, "where": self.where, "detail": self.detail, "script": script}


def remarks_on(space: StateSpace) -> tuple[Remark, ...]:
    """Look through an explored space for what a reviewer should know.

    Args:
        space: what was explored. Where it is not complete, nothing is said of what never happens.

    Returns:
        The remarks: what is never executed, decided or handled, what is read too soon, never read, only ever grows, or
        has no bound.
    """
    found: list[Remark] = []
    if space.complete:
        found += _never_executed(space)
        found += _never_decided(space)
        found += _never_chosen(space)
        found += _left_to_the_default(space)
    found += _unmapped(space)
    found += (Remark("read_before_written", *told) for told in read_too_soon(space))
    found += _never_read(space)
    found += _only_grows(space) if space.complete else unbounded(space)
    return tuple(found)


def _never_executed(space: StateSpace) -> Iterator[Remark]:
    executed = {space.node(index) for index in range(len(space.states))}
    for node in space.model.graph.definition.names:
        if node not in executed:
            yield Remark("unreachable_node", node, "no script executes it")


def _decisions(definition: Definition) -> Iterator[tuple[str, Decision]]:
    for conditional in definition.conditionals:
        if isinstance(conditional.decision, Decision):
            yield conditional.source, conditional.decision


def _by_node(space: StateSpace) -> Mapping[str, list[Transition]]:
    found: dict[str, list[Transition]] = {}
    for edge in space.samples:
        found.setdefault(space.node(edge.source), []).append(edge)
    return found


def _never_decided(space: StateSpace) -> Iterator[Remark]:
    """Tell each rule that never decides; whether others stand before it, or its conditions never hold."""
    edges = _by_node(space)
    for node, decision in _decisions(space.model.graph.definition):
        decided: set[str] = set()
        true: dict[str, set[str]] = {rule.name: set() for rule in decision.rules}
        before: dict[str, dict[str, int]] = {rule.name: {} for rule in decision.rules}
        for edge in edges.get(node, ()):
            first = next((row.rule.name for row in edge.truths if row.holds), None)
            if first is None:
                continue
            decided.add(first)
            for row in edge.truths:
                true[row.rule.name].update(c.name for c, t in zip(row.rule.when, row.truths, strict=True) if t)
                if row.holds and row.rule.name != first:
                    before[row.rule.name][first] = before[row.rule.name].get(first, 0) + 1
        for rule in decision.rules if edges.get(node) else ():
            where = f"{node}.{rule.name}"
            if rule.name in decided:
                continue
            if before[rule.name]:
                order = [each.name for each in decision.rules]
                first_ones = sorted(before[rule.name], key=order.index)
                yield Remark("shadowed_rule", where, f"wherever it holds, {_or(first_ones)} decides before it")
            else:
                never = [c.name for c in rule.when if c.name not in true[rule.name]]
                what = f"{_or(never)} never holds" if never else "its conditions never hold together"
                yield Remark("unreachable_rule", where, what)


def _or(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def _never_chosen(space: StateSpace) -> Iterator[Remark]:
    """Tell each route of a plain router, or of Commands, that is never chosen at a node that is executed."""
    definition = space.model.graph.definition
    edges = _by_node(space)
    chosen = {(choice.source, choice.route) for edge in space.samples for choice in edge.choices}
    for conditional in definition.conditionals:
        if isinstance(conditional.decision, RouterDecision) and conditional.source in edges:
            for route in conditional.targets:
                if (conditional.source, route) not in chosen:
                    yield Remark("unreachable_route", f"{conditional.source}.{route}", "its router never gives it")
    for node in definition.nodes:
        for route in node.goto if node.name in edges else ():
            if (node.name, route) not in chosen:
                yield Remark("unreachable_route", f"{node.name}.{route}", "no Command of its alphabet goes there")


def _left_to_the_default(space: StateSpace) -> Iterator[Remark]:
    """Tell each outcome after which only a rule without conditions ever decides, though others stand before it."""
    edges = _by_node(space)
    for node, decision in _decisions(space.model.graph.definition):
        open_ones = {rule.name for rule in decision.rules if not rule.when}
        if len(open_ones) == len(decision.rules):
            continue
        by_outcome: dict[str, set[str | None]] = {}
        for edge in edges.get(node, ()):
            if edge.choice is not None and edge.truths:
                by_outcome.setdefault(edge.outcome, set()).add(edge.choice.rule)
        for outcome, rules in by_outcome.items():
            if rules <= open_ones:
                told = _or(sorted(rule for rule in rules if rule is not None))
                detail = f"no rule with conditions ever handles it: it is left to {told}"
                yield Remark("default_outcome", f"{node}.{outcome}", detail)


def _unmapped(space: StateSpace) -> Iterator[Remark]:
    """Tell each outcome for which routing knows no way, with the shortest script that shows it."""
    seen = set()
    for edge in space.samples:
        where = f"{space.node(edge.source)}.{edge.outcome}"
        if edge.choice is not None or edge.hidden or where in seen:
            continue
        here = space.mover_of(edge)
        done = space.moves.execute(space.positions[edge.source], space.states[edge.source], here, edge.outcome)
        if isinstance(done.failure, UnmappedRouteError):
            seen.add(where)
            yield Remark("unmapped_outcome", where, str(done.failure), space.script_through(edge))


def _never_read(space: StateSpace) -> Iterator[Remark]:
    """Tell each key that something may write and no routing, update or property reads."""
    model, definition = space.model, space.model.graph.definition
    read = {*space.projection, *(key for claim in model.claims for key in claim.reads)}
    writers: dict[str, dict[str, None]] = {}
    for node in definition.nodes:
        written = {key for effect in node.effects for key in effect.writes} | set(definition.whole(node))
        for update in model.alphabet[node.name].values():
            if callable(update):
                written.update(node.owns or ())
            else:
                written.update(update.update if isinstance(update, Command) else update)
        for key in written:
            writers.setdefault(key, {})[node.name] = None
    log = definition.event_log.key if definition.event_log else None
    for key in definition.keys:
        if key in writers and key not in read and key != log:
            detail = f"written by {', '.join(writers[key])}; no condition, update or property reads it"
            yield Remark("never_read", key, detail)


def _views(space: StateSpace, keys: Iterable[str]) -> Iterator[tuple[str, Any, Any]]:
    """Go through each transition that changes the typed read of a key: key, read before, read after."""
    reads: Mapping[str, Callable[[Any], Any]] = {key: space.model.graph.definition.keys[key].read for key in keys}
    if space.packed is not None:
        from diagnosis.verify.deciding import changes

        for key, read in reads.items():
            yield from ((key, read(before), read(after)) for before, after in changes(space.packed, key))
        return
    for edge in space.transitions:
        if edge.target is None and edge.after is None:
            continue
        before = space.seen(edge.source)
        after = edge.after if edge.after is not None else space.states[edge.target or 0]
        for key, read in reads.items():
            if before[key] is not after[key]:
                yield key, read(before[key]), read(after[key])


def _only_grows(space: StateSpace) -> Iterator[Remark]:
    """Tell each counter that nothing ever sets back."""
    grown: dict[str, tuple[int, int]] = {}
    other: set[str] = set()
    for key, before, after in _views(space, space.projection):
        if type(before) is int and type(after) is int and after >= before:
            low, high = grown.get(key, (before, after))
            grown[key] = (min(low, before), max(high, after))
        else:
            other.add(key)
    for key in space.projection:
        low, high = grown.get(key, (0, 0))
        if high > low and key not in other:
            yield Remark("only_grows", key, f"it counts from {low} to {high}, and nothing ever sets it back")


def unbounded(space: StateSpace) -> Iterator[Remark]:
    """Tell each key that a decision reads and whose values did not come to an end.

    Args:
        space: what was explored before the search gave up.
    """
    definition = space.model.graph.definition
    readers: dict[str, list[str]] = {}
    for conditional in definition.conditionals:
        reads = conditional.decision.reads
        for key in space.projection if reads is None else reads:
            readers.setdefault(key, []).append(conditional.source)
    for key, nodes in readers.items():
        if _takes_many(space, key, definition.keys[key].read):
            detail = f"the decision of {', '.join(nodes)} reads it, and it took more than {MANY_VALUES} values"
            yield Remark("unbounded_read", key, f"{detail} in what was explored")


def _takes_many(space: StateSpace, key: str, read: Callable[[Any], Any]) -> bool:
    """Tell whether a key takes many values, as they are read."""
    if space.packed is not None:
        return len(space.packed.values_of(key)) > MANY_VALUES
    values = set()
    for index in range(len(space.states)):
        values.add(canonical(read(space.seen(index)[key])))
        if len(values) > MANY_VALUES:
            return True
    return False
