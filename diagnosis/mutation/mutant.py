"""A mutant: a declared graph with one small change, and the list of changes that there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from diagnosis.runtime import CompiledGraph, Definition, Model

OPERATORS: Final[Mapping[str, str]] = {
    "drop_rule": "A rule is gone, and with it a route key that no other rule gives.",
    "swap_rules": "Two neighbouring rules change places.",
    "reroute_rule": "A rule gives another route key of its decision.",
    "swap_reason": "A rule or a fixed edge has the next reason code of the graph.",
    "default_as_rule": "The last rule, for anything else, does what another rule does: the unknown counts as known.",
    "drop_condition": "One of several conditions of a rule is gone.",
    "condition_true": "The only condition of a rule always holds.",
    "condition_false": "A condition never holds.",
    "negate_condition": "A condition holds where it did not, and the other way round.",
    "flip_value": "A condition comes out the other way for one value that it meets.",
    "raise_limit": "A condition on a whole number sees one less: its limit is one higher.",
    "lower_limit": "A condition on a whole number sees one more: its limit is one lower.",
    "fix_route": "A plain router always gives the same route key.",
    "swap_target": "A route key, of a decision or of Commands, leads to another node or END.",
    "swap_edge": "A fixed edge, that of START included, leads to another node or END.",
    "drop_branch": "A fan-out opens one branch less.",
    "swap_wait": "A join waits for any of its branches instead of all, or the other way round.",
    "swap_concurrency": "One branch more or less may be under way at once; only one where there was no bound.",
    "drop_update": "An entry or exit update is not made: a count, a reset, a derived key.",
    "swap_updates": "Two neighbouring entry or exit updates change places.",
    "raise_update": "A whole number that an entry or exit update writes is one higher.",
    "null_update": "An entry or exit update writes null.",
    "keep_report": "What a report leaves out keeps its old value instead of becoming null.",
    "drop_attempt": "A node's attempts are not counted.",
    "drop_outcome": "A node's outcome is not read from the state.",
    "recursion_limit": "A run may take one node execution more or less.",
}
"""Operator -> what it changes."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One small change of a declared graph.

    Attributes:
        operator: what kind of change; see :data:`OPERATORS`.
        place: where, such as ``planner.PLANNER_RETRY.retryable``.
        before: what is declared there.
        after: what the mutant has in its stead.
        node: the node whose execution is changed; ``None`` where it is the run as a whole.
        definition: the changed graph as data.
        recursion_limit: how many node executions its runs may take.
        writes: the state keys that the changed part writes.
    """

    operator: str
    place: str
    before: str
    after: str
    node: str | None
    definition: Definition = field(repr=False, compare=False)
    recursion_limit: int = field(repr=False, compare=False)
    writes: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @property
    def diff(self) -> str:
        """What is declared, and what the mutant has instead, a line each."""
        return f"- {self.before}\n+ {self.after}"

    def applied(self, model: Model) -> Model:
        """Give a model with the changed graph.

        Args:
            model: the model that the mutant was made of.

        Raises:
            CompileError: the checks refuse the changed graph.
            DefinitionError: the alphabet does not fit it.
        """
        return replace(model, graph=CompiledGraph(self.definition, recursion_limit=self.recursion_limit))
