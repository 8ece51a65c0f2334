"""Proving: each property of a model put to every outcome script."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from diagnosis.runtime import (
    DefinitionError,
    DiagnosisError,
    Model,
    Move,
    Property,
    always,
    sometimes,
    told,
)
from diagnosis.verify.lasso import find_lasso
from diagnosis.verify.moves import move_of
from diagnosis.verify.paths import Call, Script, Transition
from diagnosis.verify.proof import ROUTE_TAKEN, RULE_TAKEN, Proof, Verdict, routes_of, rules_of
from diagnosis.verify.space import MAX_STATES, Progress, StateSpace

MAX_PRODUCT = 400_000
"""Pairs of control state and memory that are explored at most for one property."""


class PropertyError(DiagnosisError):
    """A property could not be evaluated: its predicate raised or read an undeclared key."""


def _executions(count: int) -> str:
    return f"{count} node execution{'' if count == 1 else 's'}"


def _taken(node: str, rule: str) -> Property:
    return sometimes(
        f"{RULE_TAKEN}{node}.{rule}",
        f"Some run takes rule {rule} at {node}.",
        lambda move: move.choice.source == node and move.choice.rule == rule,
    )


def _routed(node: str, route: str) -> Property:
    return sometimes(
        f"{ROUTE_TAKEN}{node}.{route}",
        f"Some run takes route {route} at {node}.",
        lambda move: move.node == node and any(choice.route == route for choice in move.choices),
    )


NO_ERROR = always("no_error", "No report makes routing fail.", lambda move: True)
"""Claimed of every graph: no outcome of the alphabet is refused, unmapped, or makes a condition raise."""


def claims_of(model: Model) -> tuple[Property, ...]:
    """Give every property that is checked of a model: its own, and those claimed of every graph.

    Args:
        model: the graph under test.
    """
    return (*model.claims, NO_ERROR, *_taking(model))


def _taking(model: Model) -> dict[Property, tuple[str, str, str | None]]:
    """Give the claims that each rule and each route is taken, with which one of which node."""
    rules: dict[Property, tuple[str, str, str | None]] = {
        _taken(node, rule): (RULE_TAKEN, node, rule) for node, rule in rules_of(model)
    }
    return rules | {_routed(node, route): (ROUTE_TAKEN, node, route) for node, route in routes_of(model)}


def prove(
    model: Model,
    *,
    max_states: int = MAX_STATES,
    max_seconds: float | None = None,
    progress: Progress | None = None,
) -> Proof:
    """Explore every outcome script of a model and evaluate each property.

    Args:
        model: the graph under test.
        max_states: the budget of control states.
        max_seconds: the budget of time; none where absent.
        progress: called now and then with states explored and states known.

    Returns:
        A verdict for each property. Where a budget is used up first, what was not found is not proven.

    Raises:
        DefinitionError: it is no model.
        PropertyError: a property's predicate raised, or read a key that it does not declare.
    """
    if not isinstance(model, Model):
        raise DefinitionError(f"a proof needs a Model, found {type(model).__name__}; see diagnosis.Model")
    deadline = None if max_seconds is None else time.monotonic() + max_seconds
    space = StateSpace(model, max_states=max_states, max_seconds=max_seconds, progress=progress)
    prover = _Prover(space, max_states, deadline)
    return Proof(model, space, prover.verdicts(), prover.lasso)


class _Prover:
    def __init__(self, space: StateSpace, max_states: int, deadline: float | None) -> None:
        self.space = space
        self.model = space.model
        self.lasso = find_lasso(space)
        self._max_states, self._deadline = max_states, deadline
        self._limit = self.model.graph.recursion_limit
        self._failed = next((edge for edge in space.samples if edge.error is not None), None)
        self._cut = False
        self._taken = _taking(self.model)
        self._spaces: dict[frozenset[str], StateSpace] = {}

    def verdicts(self) -> tuple[Verdict, ...]:
        return tuple(self.verdict(claim) for claim in (*self.model.claims, NO_ERROR, *self._taken))

    def verdict(self, claim: Property) -> Verdict:
        if claim.kind == "eventually":
            return self._ends(claim)
        if claim.kind == "bound":
            return self._bound(claim)
        space = self.space
        if not set(claim.reads) <= set(space.projection):
            space = self._wider(frozenset(claim.reads))
        if claim.name == NO_ERROR.name:
            return self._no_error(claim)
        return self._search(claim, space)

    def _wider(self, reads: frozenset[str]) -> StateSpace:
        """Explore with further keys in the projection, within what is left of the time."""
        if reads not in self._spaces:
            left = None if self._deadline is None else max(self._deadline - time.monotonic(), 0.0)
            self._spaces[reads] = StateSpace(self.model, extra=reads, max_states=self._max_states, max_seconds=left)
        return self._spaces[reads]

    def _unproven(self, claim: Property, space: StateSpace) -> Verdict:
        why = space.stopped or f"the memory takes more than {MAX_PRODUCT} values with the control states"
        return Verdict(claim, None, f"bound hit, not proven: {why}")

    def _ends(self, claim: Property) -> Verdict:
        if self.lasso is not None:
            detail = f"never ends: {self.lasso.text()}"
            return Verdict(claim, False, detail, self.lasso.unrolled(self._limit + 1))
        if self._failed is not None:
            detail = f"a run stops with an error: {self._failed.error}"
            return Verdict(claim, False, detail, self.space.script_through(self._failed))
        if not self.space.complete:
            return self._unproven(claim, self.space)
        return Verdict(claim, True, "no cycle among the control states")

    def _bound(self, claim: Property) -> Verdict:
        assert claim.limit is not None
        longest, limit = self.space.longest, claim.limit
        if longest is None:
            if self.lasso is not None:
                return Verdict(claim, False, "a run goes on for ever", self.lasso.unrolled(self._limit + 1))
            deep = next((i for i, depth in enumerate(self.space.depths) if depth > limit), None)
            if deep is None:
                return self._unproven(claim, self.space)
            return Verdict(claim, False, f"a run executes more than {limit}", self._whole(deep))
        if longest > limit:
            return Verdict(claim, False, f"the longest run executes {longest}", self._longer_than(limit))
        if longest < limit:
            return Verdict(claim, False, f"never exceeded, but not reached either: the longest run executes {longest}")
        return Verdict(claim, True, f"the longest run executes {longest}")

    def _longer_than(self, limit: int) -> Script:
        """Give a shortest run that executes more nodes than a limit; there is one, and no run goes on for ever."""
        space = self.space
        came: dict[tuple[int, int], tuple[tuple[int, int], Call] | None] = {(0, 0): None}
        queue = deque([(0, 0)])
        while True:
            here = queue.popleft()
            for edge in space.outgoing[here[0]]:
                count = min(here[1] + (not edge.hidden), limit + 1)
                if edge.target is None or not space.outgoing[edge.target]:
                    if count > limit:
                        return (*self._script(came, here), space.call(edge))
                elif (edge.target, count) not in came:
                    came[edge.target, count] = (here, space.call(edge))
                    queue.append((edge.target, count))

    def _whole(self, index: int) -> Script:
        stem = self.space.script_to(index)
        return stem + self.space.finish(index, self._limit + 1 - len(stem))

    def _no_error(self, claim: Property) -> Verdict:
        if self._failed is not None:
            return Verdict(claim, False, str(self._failed.error), self.space.script_through(self._failed))
        for edge in self.space.samples:
            for row in edge.truths:
                if None in row.truths:
                    place = row.truths.index(None)
                    detail = f"rule {row.rule.name!r}, condition {row.rule.when[place].name!r}: {row.errors[place]}"
                    return Verdict(claim, False, detail, self._through(self.space, edge))
        if not self.space.complete:
            return self._unproven(claim, self.space)
        return Verdict(claim, True, f"none of {self.space.size} transitions fails")

    def _through(self, space: StateSpace, edge: Transition) -> Script:
        """Give a shortest complete run through a transition."""
        stem = space.script_through(edge)
        if edge.target is None:
            return stem
        return stem + space.finish(edge.target, self._limit + 1 - len(stem))

    def _search(self, claim: Property, space: StateSpace) -> Verdict:
        self._cut = not space.complete
        found = self._plain(claim, space) if claim.remember is None else self._with_memory(claim, space)
        if claim.kind == "always":
            if found is not None:
                return Verdict(claim, False, f"broken after {_executions(len(found[0]))}", found[1])
            if self._cut:
                return self._unproven(claim, space)
            return Verdict(claim, True, f"true of all {space.size} transitions")
        if found is not None:
            return Verdict(claim, True, f"first shown after {_executions(len(found[0]))}", found[1])
        if self._cut:
            return self._unproven(claim, space)
        return Verdict(claim, False, "no script shows it")

    def _moves_of(self, space: StateSpace, claim: Property) -> Callable[[Transition], Move]:
        """Give the function from a transition to the move that a property sees."""

        def move(edge: Transition) -> Move:
            here = space.mover(edge.source)
            before, after = self._around(space, edge)
            return move_of(self.model, claim, here.node, edge, before, after, here.branch)

        return move

    def _around(self, space: StateSpace, edge: Transition) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """Give the state that the action sees, and the state after it."""
        if space.packed is not None:
            return space.packed.around(edge)
        after = edge.after
        if after is None:
            assert edge.target is not None
            after = space.states[edge.target]
        return space.entered(edge.source), after

    def _kind(self, claim: Property, space: StateSpace, edge: Transition) -> Any:
        """Give what a property can tell of a move; values by their identity, as they stay where they are."""
        here = space.mover(edge.source)
        kind: tuple[Any, ...] = (id(edge.choice), edge.outcome, edge.attempt)
        if callable(self.model.alphabet[here.node][edge.outcome]):
            return (*kind, edge.source)
        if claim.reads:
            before, after = self._around(space, edge)
            kind += tuple([id(state[key]) for state in (before, after) for key in claim.reads])
        return (*kind, here.branch, *map(id, edge.others)) if here.branch or edge.others else kind

    def _hit(self, claim: Property, move: Move, memory: Any) -> bool:
        """Tell whether a move decides the property: it breaks an always, or shows a sometimes."""
        try:
            return claim.holds(move, memory) is (claim.kind == "sometimes")
        except Exception as error:
            raise PropertyError(
                f"property {claim.name!r}, at node {move.node!r} with outcome {move.outcome!r}, raised {told(error)}"
            ) from error

    def _plain(self, claim: Property, space: StateSpace) -> tuple[Script, Script] | None:
        """Give the script of a move that decides the property, and the shortest whole run that shows one."""
        if claim in self._taken:
            found = self._first_taken.get(self._taken[claim])
        elif space.packed is not None:
            from diagnosis.verify.deciding import deciding

            found = deciding(space.packed, self.model, claim, lambda move: self._hit(claim, move, None))
        else:
            found = self._found(claim, space)
        if found is None:
            return None
        return space.script_through(found), self._through(space, found)

    @cached_property
    def _first_taken(self) -> dict[tuple[str, str, str | None], Transition]:
        """The first transition that takes each rule and each route."""
        first: dict[tuple[str, str, str | None], Transition] = {}
        for edge in self.space.samples:
            for choice in edge.choices:
                first.setdefault((RULE_TAKEN, choice.source, choice.rule), edge)
                first.setdefault((ROUTE_TAKEN, choice.source, choice.route), edge)
        return first

    def _found(self, claim: Property, space: StateSpace) -> Transition | None:
        """Give the move that decides a property: the first to show a sometimes, that of the shortest run else."""
        found: Transition | None = None
        seen, known = self._moves_of(space, claim), dict[Any, bool]()
        for edge in space.transitions:
            if edge.choice is None:
                continue
            kind = self._kind(claim, space, edge)
            if kind not in known:
                known[kind] = self._hit(claim, seen(edge), None)
            if known[kind]:
                if found is None or space.through(edge) < space.through(found):
                    found = edge
                if claim.kind == "sometimes":
                    break
        return found

    def _with_memory(self, claim: Property, space: StateSpace) -> tuple[Script, Script] | None:
        """Search the product of control states and memories, breadth first."""
        came: dict[tuple[int, Any], tuple[tuple[int, Any], Call] | None] = {(0, claim.start): None}
        depths = {(0, claim.start): 0}
        queue = deque([(0, claim.start)])
        best: tuple[float, Script, Transition] | None = None
        seen, known = self._moves_of(space, claim), dict[Any, tuple[Any, bool]]()
        while queue:
            here = queue.popleft()
            depth = depths[here] + 1
            if best is not None and depth >= best[0]:
                break
            for edge in space.outgoing[here[0]]:
                after = here[1]
                if edge.choice is not None:
                    kind = (after, self._kind(claim, space, edge))
                    if kind not in known:
                        known[kind] = self._remembered(claim, after, seen(edge))
                    after, hit = known[kind]
                    if hit:
                        total = space.through(edge) - space.depths[edge.source] + depth - 1
                        if best is None or total < best[0]:
                            best = (total, (*self._script(came, here), space.call(edge)), edge)
                        continue
                if edge.target is None:
                    continue
                there = (edge.target, after)
                if self._new(claim, came, there):
                    came[there] = (here, space.call(edge))
                    depths[there] = depth
                    if len(came) > MAX_PRODUCT:
                        self._cut = True
                        queue.clear()
                        break
                    queue.append(there)
            if best is not None and claim.kind == "sometimes":
                break
        if best is None:
            return None
        _, stem, last = best
        if last.target is None:
            return stem, stem
        return stem, stem + space.finish(last.target, self._limit + 1 - len(stem))

    def _remembered(self, claim: Property, memory: Any, move: Move) -> tuple[Any, bool]:
        """Give the memory after a move, and whether the move decides the property."""
        assert claim.remember is not None
        try:
            after = claim.remember(memory, move)
        except Exception as error:
            raise PropertyError(f"the memory of property {claim.name!r} raised {told(error)}") from error
        return after, self._hit(claim, move, after)

    def _new(self, claim: Property, came: Mapping[Any, Any], place: tuple[int, Any]) -> bool:
        """Tell whether a pair of control state and memory was not reached before."""
        try:
            return place not in came
        except TypeError as error:
            raise PropertyError(f"the memory of property {claim.name!r} must be hashable: {error}") from error

    def _script(self, came: Mapping[Any, tuple[tuple[int, Any], Call] | None], place: tuple[int, Any]) -> Script:
        script: list[Call] = []
        before = came[place]
        while before is not None:
            place, call = before
            script.append(call)
            before = came[place]
        return tuple(reversed(script))
