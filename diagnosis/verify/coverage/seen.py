"""What one node execution shows, be it one of a run that is counted or one that exploration found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from diagnosis.runtime import REPEAT, Choice, Definition, RouterDecision, RuleTruth
from diagnosis.verify.coverage.items import edge_item
from diagnosis.verify.coverage.kinds import ALL, ALONE, FIRST, Atom


def of_choices(definition: Definition, choices: Sequence[Choice]) -> Iterator[Atom]:
    """Go through what a decision shows: the node, rule and reason once, the edge and route of each choice.

    Args:
        definition: the graph.
        choices: the decision: one choice, or several that open branches.
    """
    source, rule, reason = choices[0].source, choices[0].rule, choices[0].reason
    yield "node", source
    if rule is not None:
        yield "rule", f"{source}.{rule}"
    for choice in choices:
        yield "edge", edge_item(source, choice.target)
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


def of_outcomes(source: str, outcomes: Iterable[str], choices: Sequence[Choice]) -> Iterator[Atom]:
    """Go through what the outcome of a node shows: the outcome, and the outcome with each edge that it led to.

    Args:
        source: the node.
        outcomes: its outcome; several where they report the same.
        choices: what was decided.
    """
    for outcome in outcomes:
        item = f"{source}.{outcome}"
        yield "outcome", item
        for target in dict.fromkeys(choice.target for choice in choices):
            yield "outcome_edge", edge_item(item, target)


def of_pairs(before: Iterable[str], source: str, choices: Sequence[Choice]) -> Iterator[Atom]:
    """Go through the pairs of edges that a decision completes.

    Args:
        before: the nodes that led to the one that decides; several at a join.
        source: the node that decides.
        choices: what was decided.
    """
    for node in dict.fromkeys(before):
        for target in dict.fromkeys(choice.target for choice in choices):
            yield "edge_pair", edge_item(edge_item(node, source), target)


def of_truths(source: str, rows: Iterable[RuleTruth]) -> Iterator[Atom]:
    """Go through what the conditions of a decision show, when all of them are evaluated.

    Args:
        source: the node that decides.
        rows: its rules, fully evaluated.
    """
    for row in rows:
        whole = f"{source}.{row.rule.name}"
        failing = []
        for condition, truth in zip(row.rule.when, row.truths, strict=True):
            item = f"{whole}.{condition.name}"
            if truth is not None:
                yield "condition", f"{item}={'T' if truth else 'F'}"
            if not truth:
                failing.append((item, truth))
        if not failing:
            if row.rule.when:
                yield ALL, whole
        elif failing[0][1] is False:
            yield FIRST, failing[0][0]
            if len(failing) == 1:
                yield ALONE, failing[0][0]
