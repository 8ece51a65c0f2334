"""Properties on the full product of interleavings, held against what was found with branches in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from diagnosis.runtime import DiagnosisError, Model, Property
from diagnosis.verify.budget import Budget
from diagnosis.verify.paths import Transition
from diagnosis.verify.proof import Verdict
from diagnosis.verify.sight import Sight
from diagnosis.verify.space import Progress, StateSpace
from diagnosis.verify.told import Telling

Kept = tuple[int, ...]
"""Transitions, by their numbers."""


class DisagreementError(DiagnosisError):
    """Exploring branches in order and in every order came to different verdicts, which is a fault of this package."""


class Orders:
    """The verdicts on a model whose branches move in any order.

    What a property sees of a run is what the run tells of: its events in order of declaration, without those of
    branches that lost.

    Args:
        model: the graph under test.
        max_states: the budget of control states.
        budget: what may be used up.
        progress: called now and then.

    Attributes:
        space: what was explored.
    """

    def __init__(self, model: Model, *, max_states: int, budget: Budget, progress: Progress | None = None) -> None:
        self._model, self._max_states, self._budget = model, max_states, budget
        self._spaces: dict[frozenset[str], StateSpace] = {}
        self._cut = False
        self.space = self._explored(frozenset(), progress)

    def _explored(self, reads: frozenset[str], progress: Progress | None = None) -> StateSpace:
        if reads not in self._spaces:
            self._spaces[reads] = StateSpace(
                self._model,
                extra=reads,
                interleave=True,
                max_states=self._max_states,
                progress=progress,
                budget=self._budget,
            )
        return self._spaces[reads]

    def agreed(self, verdict: Verdict) -> Verdict:
        """Give the verdict on a property, with the script of the one that was found with branches in order.

        Args:
            verdict: that one.

        Raises:
            DisagreementError: they differ.
        """
        claim, self._cut = verdict.claim, False
        if claim.kind == "eventually" and claim.test is not None:
            return verdict  # what runs tell of is the same in any order
        holds = self.holds(claim)
        if holds is None:
            # What a run shows is true, however it was found.
            shown = verdict.script is not None and verdict.holds is (claim.kind == "sometimes")
            why = self.space.stopped or "there is too much to remember of all orders"
            return verdict if shown else Verdict(claim, None, f"bound hit, not proven: {why}")
        if verdict.holds is None:
            return replace(verdict, holds=holds, detail="seen with branches in any order")
        absorbed = self.space.races.absorbed
        if verdict.holds and not holds and claim.name == "no_error" and absorbed is not None:
            # In order, a branch declared before fails each time, so that this one is never executed.
            fork, branch = absorbed.by
            detail = f"{absorbed.error}; it takes another order than that of declaration, and {branch!r} loses {fork!r}"
            return replace(verdict, holds=False, detail=detail)
        if holds and verdict.holds is False and claim.kind == "sometimes" and (self.space.cycles or self._too_long()):
            return verdict  # only beyond the recursion limit, which counts the same in any order
        if holds is not verdict.holds:
            raise DisagreementError(
                f"the verdict on property {claim.name!r} of model {self._model.name!r} is {verdict.word!r} with "
                f"branches in order, but {replace(verdict, holds=holds).word!r} in any order; please report this"
            )
        if not holds or claim.kind == "sometimes":
            return verdict
        return replace(verdict, detail=f"{verdict.detail}; in any order too, with {self.space.size} transitions")

    def holds(self, claim: Property) -> bool | None:
        """Tell whether a property holds in any order; ``None`` where the budget was met before.

        Args:
            claim: the property.
        """
        space = self.space
        if claim.kind == "bound":
            return self._bounded(claim)
        if claim.kind == "eventually":
            broken = bool(space.cycles) or self._fails() or self._too_long()
        elif claim.name == "no_error":
            absorbed = space.races.absorbed is not None
            broken = absorbed or self._fails() or self._too_long() or self._hides_a_condition_that_raises()
        else:
            return self._searched(claim)
        return False if broken else None if self._cut or not space.complete else True

    def _fails(self) -> bool:
        return any(edge.error is not None for edge in self.space.transitions)

    def _too_long(self) -> bool:
        if self.space.cycles:
            return False
        longest = self.space.lengths.longest
        self._cut = self._cut or longest is None
        return longest is not None and longest > self._model.graph.recursion_limit

    def _bounded(self, claim: Property) -> bool | None:
        assert claim.limit is not None
        longest = self.space.lengths.longest
        if self.space.cycles or (longest is not None and longest > claim.limit):
            return False
        return None if longest is None or not self.space.complete else longest == claim.limit

    def _hides_a_condition_that_raises(self) -> bool:
        def raises(edge: Transition) -> bool:
            return any(None in row.truths for row in edge.truths)

        return self._tells(self.space, raises)

    def _searched(self, claim: Property) -> bool | None:
        reads = frozenset(claim.reads)
        space = self.space if reads <= set(self.space.projection) else self._explored(reads)
        sight = Sight(space, claim)
        if claim.remember is None:
            hit = self._tells(space, lambda edge: sight.hit(sight.move(edge), None))
        else:
            hit = self._remembers(space, sight, claim.start)
        if hit:
            return claim.kind == "sometimes"
        return None if self._cut or not space.complete else claim.kind != "sometimes"

    def _tells(self, space: StateSpace, test: Callable[[Transition], bool]) -> bool:
        """Tell whether some run tells of a transition that passes a test."""
        passing = {id(edge) for edge in space.transitions if edge.choice is not None and test(edge)}
        if not passing:
            return False
        # Whether there was one in a branch is all that has to be noted.
        return self._found(
            Telling[bool](space, False, _either, lambda edge: id(edge) in passing, lambda memory, log: (memory, log))
        )

    def _remembers(self, space: StateSpace, sight: Sight, start: Any) -> bool:
        """Tell whether some run is told in an order that decides a property with a memory."""
        told = [edge for edge in space.transitions if edge.choice is not None]
        numbers = {id(edge): number for number, edge in enumerate(told)}

        def note(edge: Transition) -> Kept:
            return (numbers[id(edge)],) if id(edge) in numbers else ()

        def fold(memory: Any, log: Kept) -> tuple[Any, bool]:
            for number in log:
                move = sight.move(told[number])
                memory = sight.remembered(memory, move)
                if sight.hit(move, memory):
                    return memory, True
            return memory, False

        return self._found(Telling[Kept](space, (), _joined, note, fold, start))

    def _found(self, telling: Telling[Any]) -> bool:
        found = telling.search()
        self._cut = self._cut or found.cut
        return found.hit


def _either(one: bool, other: bool) -> bool:
    return one or other


def _joined(one: Kept, other: Kept) -> Kept:
    return one + other
