"""What a property sees of the transitions of a space."""

from __future__ import annotations

from typing import Any

from diagnosis.runtime import Command, DiagnosisError, Move, Property, ReadView, told
from diagnosis.verify.paths import Transition
from diagnosis.verify.space import StateSpace


class PropertyError(DiagnosisError):
    """A property could not be evaluated: its predicate raised or read an undeclared key."""


class Sight:
    """One property and one space.

    Args:
        space: what was explored.
        claim: the property.
    """

    def __init__(self, space: StateSpace, claim: Property) -> None:
        self._space, self._claim = space, claim
        self._who, self._reads = f"property {claim.name!r}", frozenset(claim.reads)

    def move(self, edge: Transition) -> Move:
        """Give the move that the property sees.

        Args:
            edge: a transition with a decision.
        """
        space = self._space
        here = space.mover_of(edge)
        update = space.model.alphabet[here.node][edge.outcome]
        assert edge.choice is not None
        before, after = space.entered(edge.source, here.branch), edge.after
        if after is None:
            assert edge.target is not None
            after = space.states[edge.target]
        report: Any = update(before) if callable(update) else update
        return Move(
            here.node,
            edge.outcome,
            edge.attempt,
            ReadView(before, self._reads, self._who),
            report.update if isinstance(report, Command) else report,
            ReadView(after, self._reads, self._who),
            edge.choice,
            edge.others,
            here.branch,
        )

    def hit(self, move: Move, memory: Any) -> bool:
        """Tell whether a move decides the property: it breaks an always, or shows a sometimes.

        Args:
            move: the move.
            memory: what the property remembers, this move included.

        Raises:
            PropertyError: the predicate raised.
        """
        try:
            return self._claim.holds(move, memory) is (self._claim.kind == "sometimes")
        except Exception as error:
            raise PropertyError(
                f"{self._who}, at node {move.node!r} with outcome {move.outcome!r}, raised {told(error)}"
            ) from error

    def remembered(self, memory: Any, move: Move) -> Any:
        """Give what the property remembers after a move.

        Args:
            memory: what it remembers before.
            move: the move.

        Raises:
            PropertyError: its function raised.
        """
        if self._claim.remember is None:
            return memory
        try:
            return self._claim.remember(memory, move)
        except Exception as error:
            raise PropertyError(f"the memory of {self._who} raised {told(error)}") from error

    def unhashable(self, error: TypeError) -> PropertyError:
        """Give the error of a memory that cannot be compared.

        Args:
            error: what came of trying.
        """
        return PropertyError(f"the memory of {self._who} must be hashable: {error}")
