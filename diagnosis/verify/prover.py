"""Proving: each property of a model put to every outcome script."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import replace
from functools import cached_property
from typing import Any

from diagnosis.runtime import (
    END,
    DefinitionError,
    Model,
    Property,
    always,
    sometimes,
)
from diagnosis.verify.budget import Budget
from diagnosis.verify.lasso import find_lasso, lasso_in
from diagnosis.verify.orders import Orders
from diagnosis.verify.paths import Call, Script, Transition, script_back
from diagnosis.verify.proof import ROUTE_TAKEN, RULE_TAKEN, Proof, Verdict, routes_of, rules_of
from diagnosis.verify.room import search
from diagnosis.verify.sight import Sight
from diagnosis.verify.space import MAX_STATES, Progress, StateSpace

MAX_PRODUCT = 400_000
"""Pairs of control state and memory that are explored at most for one property."""


NOT_PROMISED = "seen on one of the walks after the budget was met, and not promised to be the shortest"


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
"""Claimed of every graph: no outcome of the alphabet is refused, unmapped, or makes a condition raise.

This counts in a branch of an ``any_of`` fork too, where the branch merely loses by it. Only what an outcome raises does
not: the alphabet says on purpose that the node may fail.
"""


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
    interleave: bool = False,
    max_states: int = MAX_STATES,
    max_seconds: float | None = None,
    max_memory: int | None = None,
    interrupted: Callable[[], bool] | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> Proof:
    """Explore every outcome script of a model and evaluate each property.

    Args:
        model: the graph under test.
        interleave: whether branches move in any order too, not only one after the other. Every property is put to both;
            what is counted is the full product, and the scripts are those of branches in order.
        max_states: the budget of control states.
        max_seconds: the budget of time; none where absent.
        max_memory: the budget of memory: MiB that the process may hold; none where absent.
        interrupted: asked now and then whether to stop, as if a budget were used up.
        progress: called now and then with states explored and states known.
        executor: workers that call the functions of the model; see :func:`~diagnosis.verify.space.explore`.

    Returns:
        A verdict for each property. Where a budget is used up first, what was not found is not proven.

    Raises:
        DefinitionError: it is no model.
        PropertyError: a property's predicate raised, or read a key that it does not declare.
        DisagreementError: interleaved, a property holds in one way and not in the other.
        NotImportableError: there is an executor, and its workers cannot import the model.
        WorkersError: they were lost; its ``partial`` is the space that had been explored.
    """
    if not isinstance(model, Model):
        raise DefinitionError(f"a proof needs a Model, found {type(model).__name__}; see diagnosis.Model")
    budget = Budget(max_seconds, max_memory, interrupted)
    space = StateSpace(model, max_states=max_states, progress=progress, budget=budget, executor=executor)
    prover = _Prover(space, max_states, budget, executor)
    verdicts = prover.verdicts()
    if not interleave:
        return Proof(model, space, verdicts, prover.lasso)
    orders = Orders(model, max_states=max_states, budget=budget, progress=progress)
    return Proof(model, orders.space, tuple(map(orders.agreed, verdicts)), prover.lasso, space)


def _cut_off(space: StateSpace) -> bool:
    """Tell whether a space lacks the walks that others have in them where a budget was met."""
    return space.packed is not None and not space.complete


class _Prover:
    def __init__(self, space: StateSpace, max_states: int, budget: Budget, executor: Executor | None) -> None:
        self.space = space
        self.model = space.model
        self._max_states, self._budget, self._executor = max_states, budget, executor
        self.lasso = find_lasso(space)
        if self.lasso is None and _cut_off(space):
            self.lasso = self._walks.lasso
        self._limit = self.model.graph.recursion_limit
        self._failed = next((edge for edge in space.samples if edge.error is not None), None)
        self._cut: str | None = None
        self._taken = _taking(self.model)
        self._spaces: dict[frozenset[str], StateSpace] = {}

    def verdicts(self) -> tuple[Verdict, ...]:
        return tuple(self._verdict(claim) for claim in (*self.model.claims, NO_ERROR, *self._taken))

    def _verdict(self, claim: Property) -> Verdict:
        """Give the verdict on a property; where a packed search does not show it, single walks may."""
        verdict = self._explored(claim)
        if verdict.holds is not None or not any(map(_cut_off, (self.space, *self._spaces.values()))):
            return verdict
        walked = self._walks._explored(claim)
        return verdict if walked.holds is None else walked

    @cached_property
    def _walks(self) -> _Prover:
        """What looks at single walks beyond what a packed search could afford, as at a space of their own."""
        # No state may be expanded, so that all of the space is walks.
        walks = StateSpace(self.model, max_states=0, budget=self._budget, packed=False)
        return _Prover(walks, 0, self._budget, None)

    def _explored(self, claim: Property) -> Verdict:
        if claim.test is None:
            return self._bound(claim) if claim.kind == "bound" else self._ends(claim)
        space = self.space
        if not set(claim.reads) <= set(space.projection):
            space = self._wider(frozenset(claim.reads))
        if claim.name == NO_ERROR.name:
            return self._no_error(claim)
        return self._eventually(claim, space) if claim.kind == "eventually" else self._search(claim, space)

    def _wider(self, reads: frozenset[str]) -> StateSpace:
        """Explore with further keys in the projection, within what is left of the budget."""
        if reads not in self._spaces:
            self._spaces[reads] = StateSpace(
                self.model,
                extra=reads,
                max_states=self._max_states,
                budget=self._budget,
                packed=None if self._max_states else False,
                executor=self._executor,
            )
        return self._spaces[reads]

    def _seen(
        self, claim: Property, holds: bool, detail: str, script: Script, *, stem: Script = (), sure: float | None = None
    ) -> Verdict:
        """Give the verdict that a script shows, be it by its first part; say where there may be a shorter one."""
        shortest = len(stem or script) <= (self.space.sure if sure is None else sure)
        return Verdict(claim, holds, detail if shortest else f"{detail}; {NOT_PROMISED}", script, shortest)

    def _unproven(self, claim: Property, why: str | None) -> Verdict:
        return Verdict(claim, None, f"bound hit, not proven: {why}")

    def _ends(self, claim: Property) -> Verdict:
        if self.lasso is not None:
            detail = f"never ends: {self.lasso.text()}"
            return Verdict(claim, False, detail, self.lasso.unrolled(self._limit + 1))
        if self._failed is not None:
            detail = f"a run stops with an error: {self._failed.error}"
            return self._seen(claim, False, detail, self.space.script_through(self._failed))
        if self._too_long is not None:
            return self._seen(claim, False, self._limit_met, self._too_long)
        if not self.space.complete:
            return self._unproven(claim, self.space.stopped)
        return Verdict(claim, True, "no cycle among the control states")

    def _bound(self, claim: Property) -> Verdict:
        assert claim.limit is not None
        counts, limit = self.space.counts, claim.limit
        if counts is None and self.lasso is not None:
            return Verdict(claim, False, "a run goes on for ever", self.lasso.unrolled(self._limit + 1))
        over = self._over(limit)
        if counts is None:
            if over is None:
                return self._unproven(claim, self.space.stopped)
            return self._seen(claim, False, f"a run executes more than {limit}", over)
        longest = counts[1][0]
        if over is not None:
            return Verdict(claim, False, f"the longest run executes {longest}", over)
        if longest < limit:
            return Verdict(claim, False, f"never exceeded, but not reached either: the longest run executes {longest}")
        return Verdict(claim, True, f"the longest run executes {longest}")

    @cached_property
    def _too_long(self) -> Script | None:
        """A run that meets the recursion limit, although it would end after it."""
        return None if self.lasso is not None else self._over(self._limit)

    @property
    def _limit_met(self) -> str:
        return f"{self._stopped} before it ends"

    @property
    def _stopped(self) -> str:
        return f"a run meets the recursion limit of {self._limit} node executions"

    def _over(self, limit: int) -> Script | None:
        """Give a run that executes more nodes than a limit, the shortest where everything was explored."""
        space = self.space
        if space.counts is not None:
            return self._longer_than(limit) if space.counts[1][0] > limit else None
        # Where a branch is to lose, what it executes is no part of the run.
        found = next((i for i in space.deeper(limit) if not any(f.winner is None for f in space.contests(i))), None)
        return None if found is None else self._whole(found)

    def _longer_than(self, limit: int) -> Script:
        """Give a shortest run that executes more nodes than a limit; there is one, and no run goes on for ever."""
        space = self.space
        assert space.counts is not None
        rest = space.counts[1]
        came: dict[tuple[int, int], tuple[tuple[int, int], Call] | None] = {(0, 0): None}
        queue = deque([(0, 0)])
        while True:
            here = queue.popleft()
            for edge in space.outgoing[here[0]]:
                count = min(here[1] + (not edge.hidden), limit + 1)
                if edge.target is None or not space.outgoing[edge.target]:
                    if count > limit:
                        return (*script_back(came, here), space.call(edge))
                elif (edge.target, count) not in came and count + rest[edge.target] > limit:
                    came[edge.target, count] = (here, space.call(edge))
                    queue.append((edge.target, count))

    def _whole(self, index: int) -> Script:
        stem = self.space.script_to(index)
        return stem + self.space.finish(index, self._limit + 1 - len(stem))

    def _no_error(self, claim: Property) -> Verdict:
        stops = () if self._failed is None else self.space.script_through(self._failed)
        absorbed = self.space.races.absorbed
        if absorbed is not None and (self._failed is None or len(absorbed.script) < len(stops)):
            fork, branch = absorbed.by
            detail = f"{absorbed.error}; the race at {fork!r} hides it, for {branch!r} merely loses by it"
            return self._seen(claim, False, detail, absorbed.script)
        if self._failed is not None:
            return self._seen(claim, False, str(self._failed.error), stops)
        for edge in self.space.samples:
            for row in edge.truths:
                if None in row.truths:
                    place = row.truths.index(None)
                    detail = f"rule {row.rule.name!r}, condition {row.rule.when[place].name!r}: {row.errors[place]}"
                    stem = self.space.script_through(edge)
                    return self._seen(claim, False, detail, self._through(self.space, edge), stem=stem)
        if self._too_long is not None:
            return self._seen(claim, False, self._limit_met, self._too_long)
        if not self.space.complete:
            return self._unproven(claim, self.space.stopped)
        return Verdict(claim, True, f"none of {self.space.size} transitions fails")

    def _through(self, space: StateSpace, edge: Transition) -> Script:
        """Give a shortest complete run through a transition."""
        stem = space.script_through(edge)
        if edge.target is None:
            return stem
        return stem + space.finish(edge.target, self._limit + 1 - len(stem))

    def _search(self, claim: Property, space: StateSpace) -> Verdict:
        self._cut = space.stopped
        found = self._plain(claim, space) if claim.remember is None else self._with_memory(claim, space)
        if claim.kind != "sometimes":
            if found is not None:
                detail = f"broken after {_executions(len(found[0]))}"
                return self._seen(claim, False, detail, found[1], stem=found[0], sure=space.sure)
            if self._cut is not None:
                return self._unproven(claim, self._cut)
            if claim.kind == "never_after" and not self._begins(claim, space):
                return Verdict(claim, True, "nothing to forbid: no script comes to what it is claimed after")
            return Verdict(claim, True, f"true of all {space.size} transitions")
        if found is not None and len(found[0]) > self._limit:
            return self._shown_late(claim, space, found[0])
        if found is not None:
            detail = f"first shown after {_executions(len(found[0]))}"
            return self._seen(claim, True, detail, found[1], stem=found[0], sure=space.sure)
        if self._cut is not None:
            return self._unproven(claim, self._cut)
        return Verdict(claim, False, "no script shows it")

    def _shown_late(self, claim: Property, space: StateSpace, late: Script) -> Verdict:
        """Judge what is to come and was first seen beyond the recursion limit, which is counted branch by branch."""
        detail = f"needs {_executions(len(late))}, and the recursion limit is {self._limit}"
        if self.model.branched:
            seen = Sight(space, claim)

            def after(edge: Transition, memory: Any) -> tuple[Any, bool]:
                if edge.choice is None:
                    return memory, False
                move = seen.move(edge)
                memory = seen.remembered(memory, move)
                return memory, seen.hit(move, memory)

            found = search(space, claim.start, after)
            if found.script is not None:
                shown = f"first shown after {_executions(len(found.script))}, not all of which count in a branch"
                return Verdict(claim, True, shown, found.script, space.complete)
            if found.cut is not None:
                return self._unproven(claim, found.cut)
            detail = f"no run comes to it within the recursion limit of {self._limit}"
        if space.stopped is not None and (self.model.branched or space.sure < self._limit):
            return self._unproven(claim, space.stopped)
        return Verdict(claim, False, detail, late)

    def _begins(self, claim: Property, space: StateSpace) -> bool:
        """Tell whether some move is one after which a claim of the kind ``never_after`` counts."""
        remember = claim.remember
        assert remember is not None
        begun = replace(claim, kind="sometimes", test=lambda move: remember(claim.start, move)[1], remember=None)
        return self._plain(begun, space) is not None

    def _eventually(self, claim: Property, space: StateSpace) -> Verdict:
        """Look for a run without a move that meets the predicate: one that ends, or one that never does."""
        seen = Sight(space, claim)
        ways: dict[int, list[Transition]] = {}
        came: dict[Any, tuple[Any, Call] | None] = {0: None}
        depths = {0: 0}
        queue = deque([0])
        while queue:
            here = queue.popleft()
            ways[here] = [edge for edge in space.outgoing[here] if edge.choice is None or not seen.put(edge)[1]]
            for edge in ways[here]:
                if edge.target is None or space.node(edge.target) == END:
                    script = (*script_back(came, here), space.call(edge))
                    return Verdict(claim, False, f"a run of {_executions(len(script))} does without", script)
                if edge.target not in came:
                    came[edge.target] = (here, space.call(edge))
                    depths[edge.target] = depths[here] + 1
                    queue.append(edge.target)
        lasso = lasso_in(space, ways, depths, lambda index: script_back(came, index))
        if lasso is not None:
            return Verdict(claim, False, f"never comes: {lasso.text()}", lasso.unrolled(self._limit + 1))
        if space.complete and (space.counts is None or space.counts[1][0] > self._limit):
            without = {id(edge) for edges in ways.values() for edge in edges}
            stopped = search(space, None, lambda edge, _: (None, id(edge) not in without), before=True)
            if stopped.script is not None:
                return Verdict(claim, False, f"{self._stopped} before it comes", stopped.script)
            if stopped.cut is not None:
                return self._unproven(claim, stopped.cut)
        if not space.complete:
            return self._unproven(claim, space.stopped)
        return Verdict(claim, True, "no run does without")

    def _plain(self, claim: Property, space: StateSpace) -> tuple[Script, Script] | None:
        """Give the script of a move that decides the property, and the shortest whole run that shows one."""
        seen = Sight(space, claim)
        if claim in self._taken:
            found = self._first_taken.get(self._taken[claim])
        elif space.packed is not None:
            from diagnosis.verify.deciding import deciding

            found = deciding(space.packed, self.model, claim, lambda move: seen.hit(move, None))
        else:
            found = self._found(seen, claim, space)
        if found is None:
            return None
        return space.script_through(found), self._through(space, found)

    @cached_property
    def _first_taken(self) -> dict[tuple[str, str, str | None], Transition]:
        """The first transition that takes each rule and each route."""
        first: dict[tuple[str, str, str | None], Transition] = {}
        for edge in self.space.samples:
            node = self.space.mover_of(edge).node
            for choice in edge.choices:
                first.setdefault((RULE_TAKEN, choice.source, choice.rule), edge)
                first.setdefault((ROUTE_TAKEN, node, choice.route), edge)
        return first

    def _found(self, seen: Sight, claim: Property, space: StateSpace) -> Transition | None:
        """Give the move that decides a property: the first to show a sometimes, that of the shortest run else."""
        found: Transition | None = None
        for edge in space.transitions:
            if edge.choice is not None and seen.put(edge)[1]:
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
        seen = Sight(space, claim)
        while queue:
            here = queue.popleft()
            depth = depths[here] + 1
            if best is not None and depth >= best[0]:
                break
            if space.complete and self._budget.spent() is not None:
                self._cut = self._budget.spent()
                break
            for edge in space.outgoing[here[0]]:
                after = here[1]
                if edge.choice is not None:
                    after, hit = seen.put(edge, after)
                    if hit:
                        total = space.through(edge) - space.depths[edge.source] + depth - 1
                        if best is None or total < best[0]:
                            best = (total, (*script_back(came, here), space.call(edge)), edge)
                        continue
                if edge.target is None:
                    continue
                there = (edge.target, after)
                if self._new(seen, came, there):
                    came[there] = (here, space.call(edge))
                    depths[there] = depth
                    if len(came) > MAX_PRODUCT:
                        self._cut = f"the memory takes more than {MAX_PRODUCT} values with the control states"
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

    def _new(self, seen: Sight, came: Mapping[Any, Any], place: tuple[int, Any]) -> bool:
        """Tell whether a pair of control state and memory was not reached before."""
        try:
            return place not in came
        except TypeError as error:
            raise seen.unhashable(error) from error
