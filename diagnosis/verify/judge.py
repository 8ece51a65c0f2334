"""Decisions looked at twice: every rule in full, and whether the same reads always decide alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from diagnosis.runtime import Command, Definition, RouterDecision, RuleTruth, RunError, evaluate
from diagnosis.verify.canonical import canonical, canonical_way
from diagnosis.verify.moves import Execution
from diagnosis.verify.strict import Look


class Judge:
    """The decisions of one search.

    Args:
        definition: the graph.
        projection: the keys of the control states, which a plain router that declares nothing may read.
    """

    def __init__(self, definition: Definition, projection: tuple[str, ...]) -> None:
        self._keys = definition.keys
        self._projection = projection
        self._log = definition.event_log.key if definition.event_log else None
        self._conditionals = {conditional.source: conditional for conditional in definition.conditionals}
        self._truths: dict[Any, tuple[RuleTruth, ...]] = {}
        self._ways: dict[Any, tuple[Any, Any]] = {}

    def truths(self, node: str, done: Execution, looks: Iterable[Look]) -> tuple[RuleTruth, ...]:
        """Give the rules of a node's decision, fully evaluated; none for fixed edges, plain routers and Commands.

        Args:
            node: the node.
            done: what it came to.
            looks: the calls of its router.

        Raises:
            RunError: the decision differs from an earlier one that was taken on the same reads.
        """
        assert done.reported is not None
        conditional = self._conditionals.get(node)
        if conditional is None or isinstance(done.update, Command):
            return ()
        if isinstance(conditional.decision, RouterDecision):
            reads = self._projection if conditional.decision.reads is None else conditional.decision.reads
            for look in looks:
                way = canonical_way(look.given)
                expected, first = self._ways.setdefault(self._seen(node, reads, look.state), (way, look.given))
                if way != expected:
                    raise _differs(node, look.given, first)
            return ()
        after, choice = done.reported.after, done.reported.event.choice
        # What was decided on does not hold the node's own event yet.
        decided = after if self._log is None else {**after, self._log: done.before[self._log]}
        key = self._seen(node, conditional.decision.reads, decided)
        if key not in self._truths:
            self._truths[key] = evaluate(node, conditional.decision.rules, conditional.targets, decided)
        truths = self._truths[key]
        rule = next((row.rule.name for row in truths if row.holds), None)
        if choice.rule != rule and not any(None in row.truths for row in truths):
            raise _differs(node, choice.rule, rule)
        return truths

    def _seen(self, node: str, reads: Iterable[str], state: Mapping[str, Any]) -> Any:
        return (node, *(canonical(self._keys[name].read(state[name])) for name in reads))


def _differs(node: str, found: object, expected: object) -> RunError:
    return RunError(
        f"node {node!r} decides differently for the same reads: {found!r}, where it was {expected!r} before; "
        "conditions and routers must be pure functions of the typed reads they declare",
        node=node,
    )
