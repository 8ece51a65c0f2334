"""What the execution of a node depends on, by what its functions declare to read and write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from diagnosis.runtime import Command, Model, Node, Replace, RouterDecision


class Needs:
    """The keys that the execution of one node depends on, by number, and those that it may write."""

    def __init__(self, model: Model, node: Node, number: Mapping[str, int]) -> None:
        definition = model.graph.definition
        conditional = definition.conditional(node.name)
        decided: set[str] = set()
        by_router: tuple[str, ...] = ()
        if conditional is not None:
            decided = set(conditional.decision.reads or ())
            by_router = conditional.owns if isinstance(conditional.decision, RouterDecision) else ()
        by_entry = {key for effect in node.entry for key in effect.writes}
        by_exit = {key for effect in node.exit for key in effect.writes}
        by_action = set(definition.writable(node))
        entry = {key for effect in node.entry for key in effect.reads}
        entry |= set(node.attempt.reads) if node.attempt else set()
        exits = {key for effect in node.exit for key in effect.reads} | decided
        exits |= set(node.outcome.reads) if node.outcome else set()
        # What takes the old value's place does not depend on it; all else is merged.
        merged = {key for key in number if not isinstance(definition.keys[key], Replace)}
        replaced = set(definition.whole(node)) | _always_reported(model, node)
        self.overwritten = replaced - merged
        exits -= self.overwritten
        exits |= (by_action | by_exit | set(by_router)) & merged
        entry |= by_entry & merged
        written = by_entry | by_exit | by_action | set(by_router)
        self.entry = tuple(sorted(number[key] for key in entry if key in number))
        self.exit = tuple(sorted(number[key] for key in exits if key in number))
        self.inputs = tuple(sorted({*self.entry, *self.exit}))
        self.decided = tuple([number[key] for key in conditional.decision.reads or ()]) if conditional else ()
        self.merged = tuple(sorted(number[key] for key in (by_action | by_exit | set(by_router)) & merged))
        self.writable = tuple(sorted(number[key] for key in written if key in number))

    def widen(self, further: Iterable[int]) -> None:
        """Depend on further keys.

        Args:
            further: their numbers.
        """
        self.exit = tuple(sorted({*self.exit, *further}))
        self.inputs = tuple(sorted({*self.entry, *self.exit}))


def _always_reported(model: Model, node: Node) -> set[str]:
    """Give the keys that every outcome of a node's alphabet writes."""
    found: set[str] | None = None
    for update in model.alphabet[node.name].values():
        report: Any = update.update if isinstance(update, Command) else update
        keys = set() if callable(report) else set(report)
        found = keys if found is None else found & keys
    return found or set()
