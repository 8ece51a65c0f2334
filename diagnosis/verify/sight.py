"""What a property sees of the transitions of a space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diagnosis.runtime import DiagnosisError, Move, Property, told
from diagnosis.verify.moves import move_of
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
        self._who = f"property {claim.name!r}"
        self._known: dict[Any, tuple[Any, bool]] = {}

    def move(self, edge: Transition) -> Move:
        """Give the move that the property sees.

        Args:
            edge: a transition with a decision.
        """
        here = self._space.mover_of(edge)
        before, after = self._around(edge)
        return move_of(self._space.model, self._claim, here.node, edge, before, after, here.branch)

    def _around(self, edge: Transition) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """Give the state that the action sees, and the state after it."""
        space = self._space
        if space.packed is not None:
            return space.packed.around(edge)
        after = edge.after
        if after is None:
            assert edge.target is not None
            after = space.states[edge.target]
        return space.entered(edge.source, space.mover_of(edge).branch), after

    def _kind(self, edge: Transition) -> Any:
        """Give what the property can tell of a move; values by their identity, as they stay where they are."""
        here = self._space.mover_of(edge)
        kind: tuple[Any, ...] = (id(edge.choice), edge.outcome, edge.attempt, here.branch, *map(id, edge.others))
        if callable(self._space.model.alphabet[here.node][edge.outcome]):
            return (*kind, edge.source)
        if self._claim.reads:
            before, after = self._around(edge)
            kind += tuple([id(state[key]) for state in (before, after) for key in self._claim.reads])
        return kind

    def put(self, edge: Transition, memory: Any = None) -> tuple[Any, bool]:
        """Put a transition to the property, and every later one that looks the same to it only once.

        Args:
            edge: a transition with a decision.
            memory: what the property remembers before.

        Returns:
            What it remembers after it, and whether the move decides it; see :meth:`hit`.

        Raises:
            PropertyError: one of its functions raised.
        """
        kind = (memory, self._kind(edge))
        if kind not in self._known:
            move = self.move(edge)
            after = self.remembered(memory, move)
            self._known[kind] = after, self.hit(move, after)
        return self._known[kind]

    def hit(self, move: Move, memory: Any) -> bool:
        """Tell whether a move decides the property: it breaks an always, or shows what is to come.

        Args:
            move: the move.
            memory: what the property remembers, this move included.

        Raises:
            PropertyError: the predicate raised.
        """
        try:
            return self._claim.holds(move, memory) is (self._claim.kind in ("sometimes", "eventually"))
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
