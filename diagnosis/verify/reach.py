"""What may decide beside the projection of a search, which then starts again with more of it."""

from __future__ import annotations

from collections.abc import Collection

from diagnosis.runtime import Model, Position, Replace, RouterDecision
from diagnosis.verify.moves import Execution
from diagnosis.verify.strict import Notes


class Wider(Exception):  # noqa: N818 - a message of the search to itself
    """The search found out that further keys decide."""

    def __init__(self, keys: Collection[str]) -> None:
        super().__init__(keys)
        self.keys = set(keys)


class Reach:
    """Sees of each node execution whether something beside the projection may decide.

    Args:
        model: the graph under test.
        projection: the keys that control states are told apart by.
    """

    def __init__(self, model: Model, projection: Collection[str]) -> None:
        definition = model.graph.definition
        self._definition = definition
        self._projected = set(projection)
        self._writable = {node.name: set(definition.writable(node)) for node in definition.nodes}
        self._undeclared = {
            conditional.source
            for conditional in definition.conditionals
            if isinstance(conditional.decision, RouterDecision) and conditional.decision.reads is None
        }
        self._meeting = {key for key, strategy in definition.keys.items() if isinstance(strategy, Replace)}

    def check(self, here: Position, done: Execution, notes: Notes) -> None:
        """Look at a node execution.

        Args:
            here: the position that moved.
            done: what the node came to.
            notes: what was seen of it.

        Raises:
            Wider: an outcome's function, or a router, reads beside the projection what may reach a decision; or
                something is taken out of a history beside it, which is an error where it is not there, or, in branches,
                where others write.
        """
        missing = done.reads - self._projected
        if missing:
            writes = self._writable[here.node]
            if writes & self._projected or self._definition.node_has_goto(here.node):
                raise Wider(missing)
            if here.path and writes & self._meeting:
                raise Wider(missing)
        for look in notes.looks:
            if look.source in self._undeclared and look.reads - self._projected:
                raise Wider(look.reads - self._projected)
        edited = notes.removed | (notes.cleared if here.path else set())
        if not edited <= self._projected:
            raise Wider(edited)
