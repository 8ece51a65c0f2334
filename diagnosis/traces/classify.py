"""Why a node execution of a trace cannot follow: the class of the deviation, and the conditions that should have held."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from diagnosis.runtime import END, Decision, Rule, RuleTruth, freeze, one_of, thaw
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
    to = [way.to for way in ways if way.to is not None and way.to != END]
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
        possible = [automaton.summary(move) for move in endings]
        if not any(all(_same(summary[key], each[key]) for key in summary) for each in possible):
            return Finding("summary_mismatch", None, _summary_differs(summary, possible))
        if seen.ways is None:
            return Finding("incomplete", None, f"the run did not end: its record stops at {seen.node}")
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
    detail = f"termination_reason is {reason!r}, but here a run ends at {seen.node} only with {one_of(_each(reasons))}"
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
    if way.to is None or way.to == END:
        return None
    here = [move for move in states.moves if (move.node, move.branch) == (seen.node, seen.branch)]
    node, to = seen.node, way.to
    leading = [target for source, target in sorted(automaton.edges) if source == node]
    if to not in leading:
        return Finding("illegal_edge", at, f"no edge leads from {node} to {to}; from {node} edges lead to {one_of(leading)}")
    takeable = [move for move in here if move.allows(way, reason=False)]
    if not takeable:
        return _forbidden(automaton, states, seen, way, at)
    if any(move.allows(way) for move in takeable):
        return None
    reasons = _each(code for move in takeable for target, code in move.choices if target in (to, END))
    detail = f"{node} goes to {to} here with {one_of(reasons)}, not with {way.reason!r}"
    false = _best(automaton, states, node, to, way.reason, own=True)
    more = f"; {_told(false)}" if false is not None else ""
    return Finding("reason_mismatch", at, detail + more, () if false is None else false[1])


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


_Guard = tuple[Rule, tuple[str, ...], bool]
"""A rule, its conditions that are false, and whether they read nothing but counters."""


def _forbidden(automaton: Automaton, states: States, seen: Seen, way: Way, at: int | None) -> Finding:
    """Say what forbids an edge that the graph has."""
    node, to = seen.node, way.to
    assert to is not None
    false = _best(automaton, states, node, to, way.reason)
    if false is None:
        detail = f"{node} may not go to {to} here: nothing that it can report leads there"
        return Finding("guard_violated", at, detail)
    kind = "limit_exceeded" if false[2] else "guard_violated"
    return Finding(kind, at, f"{node} may not go to {to} here: {_told(false)}", false[1])


def _told(guard: _Guard) -> str:
    rule, false, _ = guard
    if not false:
        return f"a rule before {rule.name} decides"
    names = " and ".join(name.rsplit(".", 1)[1] for name in false)
    return f"{rule.name} needs {names}, which {'is' if len(false) == 1 else 'are'} false"


def _best(
    automaton: Automaton, states: States, node: str, to: str, reason: str, *, own: bool = False
) -> _Guard | None:
    """Give the rule that is nearest to opening an edge, with what keeps it shut.

    A rule that counters alone keep shut comes first; then the one with the fewest false conditions. A rule with the
    reason code counts before the others of its edge; with ``own``, only such a rule counts.
    """
    conditional = automaton.model.graph.definition.conditional(node)
    if conditional is None or not isinstance(conditional.decision, Decision):
        return None
    rules = [
        rule
        for rule in conditional.decision.rules
        if own or any(conditional.targets[route] == to for route in rule.routes)
    ]
    named = [rule for rule in rules if rule.reason == reason]
    wanted = named if named or own else rules
    counters = set(automaton.model.counters)
    found: list[tuple[tuple[bool, int], _Guard]] = []
    for rows in automaton.truths(states, node):
        for row in rows:
            if row.rule in wanted:
                false = _false(row)
                counted = bool(false) and all(counters.issuperset(condition.reads) for condition in false)
                names = tuple(f"{node}.{row.rule.name}.{condition.name}" for condition in false)
                order = (not counted, len(false) or len(row.truths) + 1)
                found.append((order, (row.rule, names, counted)))
    return min(found, key=lambda each: each[0])[1] if found else None


def _false(row: RuleTruth) -> list[Any]:
    return [condition for condition, truth in zip(row.rule.when, row.truths, strict=True) if truth is not True]


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


