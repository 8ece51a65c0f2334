"""Why a node execution of a trace cannot follow: the class of the deviation, and what should have held."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from diagnosis.runtime import END, Decision, RuleTruth, freeze, one_of, thaw
from diagnosis.traces.automaton import Automaton, States
from diagnosis.traces.deviation import Finding
from diagnosis.traces.seen import Seen, Way
from diagnosis.verify.canonical import canonical


def unknown(automaton: Automaton, nodes: Iterable[str], reasons: Iterable[str], at: int | None) -> Finding | None:
    """Find a node or reason code that the graph does not have.

    Args:
        automaton: the legal traces.
        nodes: the nodes that are named, END among them.
        reasons: the reason codes.
        at: the transition that names them.
    """
    for node in nodes:
        if node not in automaton.nodes:
            return Finding("unknown_node", at, f"{node!r} is no node of the graph; nodes are {one_of(automaton.nodes)}")
    for reason in reasons:
        if not any(reason in known for known in automaton.reasons.values()):
            return Finding("unknown_reason", at, f"{reason!r} is no reason code of the graph")
    return None


def classify(automaton: Automaton, states: States, seen: Seen, at: int | None, *, first: bool) -> Finding:
    """Say why a node execution cannot come next.

    Args:
        automaton: the legal traces.
        states: where the run may stand before it.
        seen: what the trace shows; no move fits it.
        at: the transition that tells of it.
        first: whether it is the first of the run.
    """
    ways = seen.ways or ()
    to = [way.to for way in ways if way.to is not None]
    found = unknown(automaton, (seen.node, *to), (way.reason for way in ways), at)
    if found is not None:
        return found
    if (seen.node, seen.branch) not in states.standing:
        return Finding("illegal_edge", at, _out_of_place(states, seen, first))
    for way in ways:
        found = _way(automaton, states, seen, way, at)
        if found is not None:
            return found
    return Finding("reason_mismatch", at, _differs(states, seen))


def closing(automaton: Automaton, states: States, seen: Seen, summary: Mapping[str, Any]) -> Finding | None:
    """Compare the last node execution of a trace, and what it says of the ending, with what is legal.

    Args:
        automaton: the legal traces.
        states: where the run may stand before it.
        seen: the last node execution.
        summary: what is said of the ending.

    Returns:
        What is wrong, or ``None``.
    """
    found = unknown(automaton, (seen.node,), (way.reason for way in seen.ways or ()), None)
    if found is not None:
        return found
    endings = states.endings(seen)
    if endings:
        possible = list(endings.values())
        if not any(all(_same(summary[key], each[key]) for key in summary) for each in possible):
            return Finding("summary_mismatch", None, _summary_differs(summary, possible))
    # What fails at a join is no move: the run stops there.
    if seen.ways is None and (endings or (seen.node, seen.branch) in states.standing):
        return Finding("incomplete", None, f"the run did not end: its record stops at {seen.node}")
    if endings:
        return None
    onward = seen.loose
    reason = seen.ways[-1].reason if seen.ways else None
    further = [move for move in states.moves if move.fits(onward) and not move.ends]
    if further:
        nodes = one_of(dict.fromkeys(target for move in further for target, code in move.choices if code == reason))
        return Finding("incomplete", None, f"the record stops at {seen.node} with {reason}, which leads on to {nodes}")
    standing = [node for node, branch in states.standing if branch == seen.branch]
    if seen.node not in standing:
        detail = f"final_node is {seen.node!r}, but the transitions lead to {one_of(standing)}"
        return Finding("summary_mismatch", None, detail)
    if seen.attempt is not None and states.endings(seen._replace(attempt=None)):
        return Finding("reason_mismatch", None, _differs(states, seen))
    reasons = [move.choices[0][1] for move in states.moves if move.node == seen.node and move.ends]
    only = f"ends at {seen.node} only with {one_of(_each(reasons))}" if reasons else f"does not end at {seen.node}"
    detail = f"termination_reason is {reason!r}, but here a run {only}"
    return Finding("summary_mismatch", None, detail)


def settled(automaton: Automaton, summary: Mapping[str, Any]) -> Finding | None:
    """Compare what is said of the ending with what the final node alone settles; for traces that deviate before.

    Args:
        automaton: the legal traces.
        summary: what is said of the ending.
    """
    node = summary["final_node"]
    for key in summary:
        values = automaton.endings_at(node).get(key)
        if key not in ("final_node", "termination_reason") and values is not None:
            only = next(iter(values.values()))
            if len(values) == 1 and not _same(summary[key], only):
                detail = f"{key} is {summary[key]!r}; of runs that end at {node} it is {only!r}"
                return Finding("summary_mismatch", None, detail)
    return None


def _out_of_place(states: States, seen: Seen, first: bool) -> str:
    here = one_of(_each(_where(*place) for place in states.standing))
    found = _where(seen.node, seen.branch)
    return f"a run starts at {here}, not at {found!r}" if first else f"{here} comes next, not {found!r}"


def _where(node: str, branch: str) -> str:
    return f"{node} in {branch}" if branch else node


def _way(automaton: Automaton, states: States, seen: Seen, way: Way, at: int | None) -> Finding | None:
    """Say why a way cannot be taken, or give ``None`` where it can."""
    if way.to is None:
        return None
    here = [move for move in states.moves if (move.node, move.branch) == (seen.node, seen.branch)]
    node, to = seen.node, way.to
    leading = [target for source, target in sorted(automaton.edges) if source == node]
    if to not in leading:
        return Finding(
            "illegal_edge", at, f"no edge leads from {node} to {to}; from {node} edges lead to {one_of(leading)}"
        )
    if any(move.allows(way) for move in here):
        return None
    takeable = [move for move in here if move.allows(way, reason=False)]
    guard = _guard(automaton, states, node, to, way.reason, every=not takeable)
    if guard is not None:
        kind = "limit_exceeded" if guard.counted else "guard_violated"
        return Finding(kind, at, f"{node} may not go to {to} here: {guard.told}", guard.conditions)
    if not takeable:
        detail = f"{node} may not go to {to} here: nothing that it can report leads there"
        return Finding("guard_violated", at, detail)
    reasons = _each(code for move in takeable for target, code in move.choices if target in (to, END))
    detail = f"{node} goes to {to} here with {one_of(reasons)}, not with {way.reason!r}"
    return Finding("reason_mismatch", at, detail)


def _differs(states: States, seen: Seen) -> str:
    """Say in what a node execution differs from those that fit but for attempt, outcome or number of ways."""
    alike = [move for move in states.moves if move.fits(seen._replace(attempt=None, outcome=None))]
    attempts = _each(str(move.attempt) for move in alike)
    if attempts and seen.attempt is not None and str(seen.attempt) not in attempts:
        return f"it is attempt {' or '.join(attempts)} of {seen.node}, not {seen.attempt}"
    outcomes = _each(move.outcome or "" for move in alike if seen.attempt in (None, move.attempt))
    if outcomes:
        return f"{seen.node} goes on like this after {one_of(outcomes)}, not after {seen.outcome!r}"
    ways = ", ".join(f"{way.to} ({way.reason})" for way in seen.ways or ())
    return f"no one decision of {seen.node} leads to exactly {ways or 'nothing'}"


class _Guard(NamedTuple):
    """What keeps a rule from deciding.

    Attributes:
        counted: whether counters alone do.
        weight: how much would have to be otherwise: twice the conditions of its own that are false; where a rule before
            it decides, 0 if a counter could have kept that one from it, else 1.
        told: what keeps it, in words.
        conditions: what should have held, as ``node.RULE.condition=T``.
    """

    counted: bool
    weight: int
    told: str
    conditions: tuple[str, ...]


def _guard(automaton: Automaton, states: States, node: str, to: str, reason: str, *, every: bool) -> _Guard | None:
    """Say what keeps the rules of an edge from deciding.

    Args:
        automaton: the legal traces.
        states: where the run may stand.
        node: the source of the edge.
        to: its target.
        reason: the reason code that the trace gives.
        every: whether all rules of the edge count, where none has the reason code.

    Returns:
        Of all ways in which a rule could come out, one that counters alone keep from it, else one that lacks the fewest
        conditions of its own: what a node reported is not recorded, so that it may have been what the rule asks for.
        ``None`` where no rule counts.
    """
    conditional = automaton.model.graph.definition.conditional(node)
    if conditional is None or not isinstance(conditional.decision, Decision):
        return None
    rules = [
        rule for rule in conditional.decision.rules if any(conditional.targets[route] == to for route in rule.routes)
    ]
    named = [rule for rule in rules if rule.reason == reason]
    wanted = named or (rules if every else [])
    counters = set(automaton.model.counters)
    found: list[_Guard] = []
    for rows in automaton.truths(states, node):
        before: RuleTruth | None = None
        for row in rows:
            if row.rule in wanted:
                found.append(_lacking(node, row, before, counters))
            if before is None and row.holds:
                before = row
    return min(found, key=lambda each: (not each.counted, each.weight)) if found else None


def _lacking(node: str, row: RuleTruth, before: RuleTruth | None, counters: set[str]) -> _Guard:
    """Say what a rule lacks: conditions of its own, else that a rule before it does not hold."""
    rule = row.rule
    lacking = [condition for condition, truth in zip(rule.when, row.truths, strict=True) if truth is not True]
    if lacking or before is None:
        names = " and ".join(condition.name for condition in lacking)
        told = f"{rule.name} needs {names}, which {'is' if len(lacking) == 1 else 'are'} false"
        counted = all(counters.issuperset(condition.reads) for condition in lacking)
        return _Guard(counted, 2 * len(lacking), told, tuple(f"{node}.{rule.name}.{each.name}=T" for each in lacking))
    own = {condition.name for condition in rule.when}
    only = [condition for condition in before.rule.when if condition.name not in own]
    names = " and ".join(condition.name for condition in before.rule.when) or "nothing"
    hold = "holds" if len(before.rule.when) == 1 else "hold"
    told = f"{before.rule.name} decides before {rule.name}, because {names} {hold}"
    weight = 0 if any(counters.issuperset(condition.reads) for condition in only) else 1
    return _Guard(False, weight, told, tuple(f"{node}.{before.rule.name}.{each.name}=F" for each in only))


def _summary_differs(summary: Mapping[str, Any], possible: list[Mapping[str, Any]]) -> str:
    """Say which keys of the summary are not what the transitions make them."""
    parts = []
    for key, value in summary.items():
        allowed = [each[key] for each in possible]
        if not any(_same(value, each) for each in allowed):
            names = " or ".join(_each(repr(thaw(each)) for each in allowed))
            parts.append(f"{key} is {value!r}, but by the transitions {names}")
    return "; ".join(parts) or f"no run ends with {', '.join(f'{key} {value!r}' for key, value in summary.items())}"


def _same(found: object, expected: object) -> bool:
    return bool(canonical(freeze(found)) == canonical(freeze(expected)))


def _each(names: Iterable[str]) -> list[str]:
    """Give every name once, in order."""
    return list(dict.fromkeys(names))
