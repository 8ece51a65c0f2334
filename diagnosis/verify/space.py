"""The control states that a model can reach, found breadth first on the pure step."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any

from diagnosis.runtime import (
    END,
    Choice,
    Forked,
    Model,
    Place,
    Position,
    RuleTruth,
    RunError,
    movable,
)
from diagnosis.runtime.position import with_fork
from diagnosis.scale import WorkersError
from diagnosis.verify.ahead import AheadMoves
from diagnosis.verify.budget import Budget
from diagnosis.verify.judge import Judge
from diagnosis.verify.keys import StateKeys
from diagnosis.verify.moves import Execution, Left, Moves, contests, mover, view
from diagnosis.verify.paths import Call, Paths, Transition
from diagnosis.verify.probe import Walks, multiplying
from diagnosis.verify.pruning import confirmed
from diagnosis.verify.races import Races
from diagnosis.verify.reach import Reach, Wider
from diagnosis.verify.reads import declared_reads
from diagnosis.verify.tabulate import Table, tabulable
from diagnosis.verify.told import Lengths, lengths

MAX_STATES = 100_000
"""Control states explored at most where no other budget is given."""

PACKED_FROM = 100
"""Control states from which on they are packed, where the graph allows it: the search then begins once more."""

WIDE = 8
"""Control states of one depth, on average, from which on it is worth while to expand them together."""

PROBE_SHARE = 0.1
"""The part of a budget of time that is kept for single walks, where the search does not come to its end."""

Progress = Callable[[int, int], None]
"""``(states explored, states known)``, called now and then."""


class StateSpace(Paths):
    """The reachable control states of a model, in the order of discovery: shortest scripts first.

    A control state is the position, with its branches, and the typed reads of the projected keys; see
    :class:`~diagnosis.verify.keys.StateKeys`.

    Branches are executed in order of declaration, one after the other. This loses nothing: a branch sees only what
    stood at the fork and what it wrote itself, joins merge in order of declaration, and which of several failures is
    the run's is a matter of declaration too. What is left to timing is who wins an ``any_of``. A transition that opens
    one therefore comes once for each branch that can win: then only that branch is executed, because nothing of the
    others is kept, and where it fails there is no such run. A branch can win if it can be the first to end well. That
    is always so, unless ``max_concurrency`` lets it begin only after others have ended, which must then be able to
    fail. One more transition leads to all branches failing, where all can: then the run stops, or the branch around
    the fork fails.

    Interleaved, branches move in any order instead: a transition is a branch that may move, and an outcome of its node.
    Nobody is chosen to win an ``any_of`` then: the branch that ends well first has won it, and those that lose move too
    until it does. All of this shows nothing new, with many more states; it is what the above is held against.

    Where there are many states, and not too few of each depth, they are packed into whole numbers and explored block by
    block, in the same order and with the same result; graphs that can open branches, that project on the event key, or
    that merge a key beside the projection by a function of one's own, are searched state by state whatever their size,
    and so is everything up to a depth. A packed state is known by its typed reads alone: of values that read alike the
    first one seen stands for all.

    Args:
        model: the graph under test.
        extra: keys to project on beside those that routing reads.
        interleave: whether branches move in any order.
        max_states: the budget of control states.
        max_seconds: the budget of time; none where absent.
        progress: called now and then.
        budget: of time and memory, in place of ``max_seconds``.
        max_depth: how many node executions deep the search goes at most; no bound where absent.
        packed: whether to pack the states, where the graph allows it; where absent, from ``PACKED_FROM`` states on if
            they are not spread over too many depths.
        executor: workers that execute nodes ahead of the search; what is found does not depend on them.

    Attributes:
        projection: the keys that control states are told apart by.
        moves: the node executions, on the strict step.
        interleaved: whether branches move in any order, instead of the order of declaration.
        races: what was seen of ``any_of`` forks.
        sure: up to how many node executions everything was explored; infinity where all was. Beyond it, only single
            walks were: what they show is true, but need not be the shortest. A packed space has no such walks in it.
    """

    positions: list[Place]
    states: list[Mapping[str, Any]]
    depths: list[int]
    outgoing: list[list[Transition]]
    _parents: list[tuple[int, Call] | None]
    _movers: list[Position]
    sure: float

    def __init__(
        self,
        model: Model,
        *,
        extra: Iterable[str] = (),
        interleave: bool = False,
        max_states: int = MAX_STATES,
        max_seconds: float | None = None,
        progress: Progress | None = None,
        budget: Budget | None = None,
        max_depth: float | None = None,
        packed: bool | None = None,
        executor: Executor | None = None,
    ) -> None:
        self.model = model
        self.interleaved = interleave
        self._ahead = None if executor is None or interleave else AheadMoves(model, executor)
        self.moves = self._ahead or Moves(model, free=self.interleaved)
        self._definition = model.graph.definition
        self._max_states, self._progress = max_states, progress
        self._budget = budget or Budget(max_seconds)
        self._max_depth = float("inf") if max_depth is None else max_depth
        self._pack_from = {None: PACKED_FROM, True: 0, False: None}[packed]
        if interleave or max_depth is not None or executor is not None:
            self._pack_from = None
        any_of = any(fan_out.fork.wait == "any_of" for fan_out in self.moves.step.fan_outs.all)
        self._contested = any_of and not self.interleaved
        names = {*declared_reads(self._definition), *extra}
        while True:
            self.projection = tuple(key for key in self._definition.keys if key in names)
            try:
                self._search()
                break
            except Wider as wider:
                names |= wider.keys

    def _search(self) -> None:
        """Explore.

        Raises:
            Wider: further keys decide.
        """
        self.positions = []
        self.states = []
        self.depths = []
        self.outgoing = []
        self.stopped = None
        self._parents, self._movers = [], []
        self._index: dict[Any, int] = {}
        self._entered: dict[tuple[int, str], Mapping[str, Any]] = {}
        self._failing: dict[Any, bool] = {}
        self.races = Races()
        self._keys = self._state_keys()
        self._judge = Judge(self._definition, self.projection)
        self._reach = Reach(self.model, self.projection)
        pack_from = self._pack_from if tabulable(self.model, self.moves, self.projection) else None
        if pack_from == 0:
            self._pack()
            return
        self._add(*self.model.graph.step.begin(self.model.input), None, 0)
        try:
            self._explore(pack_from)
        finally:
            if self._ahead is not None:
                self._ahead.begin()
        if self.packed is not None:
            return
        if self.stopped is not None:
            self._probe()
        if self._contested:
            self._prune()
        if self._progress is not None:
            self._progress(len(self.states), len(self.states))

    def _state_keys(self) -> StateKeys:
        """Give what tells control states apart; called when a search begins."""
        return StateKeys(self._definition, self.projection, free=self.interleaved)

    def _explore(self, pack_from: int | None) -> None:
        """Put every outcome into every control state, breadth first; or pack them, from so many known ones on."""
        here, self.sure = 0, float("inf")
        while here < len(self.states):
            if here % 1024 == 0 and self._progress is not None:
                self._progress(here, len(self.states))
            if self._spent(1 - PROBE_SHARE):
                self.sure = self.depths[here]
                return
            if pack_from is not None and pack_from < len(self.states) <= self._max_states:
                if len(self.states) > WIDE * self.depths[-1]:
                    self._pack()
                    return
                pack_from *= 2
            node = self._movers[here].node
            if self._ahead is not None and node != END and len(self.states) <= self._max_states:
                self._await(self._ahead, here)
            if node != END:
                if len(self.states) > self._max_states:
                    self.stopped = f"the budget of {self._max_states} control states was used up"
                elif self.depths[here] >= self._max_depth:
                    self.stopped = f"the budget of {self._max_depth} node executions was used up"
                else:
                    self._put_all(here)
                if self.stopped is not None:
                    self.sure = self.depths[here]
                    return
            here += 1

    def _pack(self) -> None:
        """Explore once more, and to the end, on packed states."""
        # Whoever only explores small graphs need not wait for numpy.
        from diagnosis.verify.frontier import Frontier
        from diagnosis.verify.packedspace import PackedSpace

        frontier = Frontier(
            Table(self.model, self.moves, self.projection),
            max_states=self._max_states,
            spent=lambda: self._budget.spent(1 - PROBE_SHARE),
            progress=self._progress,
        )
        self._index.clear()
        self._show(PackedSpace(frontier))
        self.sure = float("inf") if self.complete else self.depths[min(frontier.explored, frontier.known - 1)]
        if self._progress is not None:
            self._progress(frontier.known, frontier.known)

    def _put_all(self, here: int) -> None:
        if not self.interleaved:
            for outcome in self.model.alphabet[self._movers[here].node]:
                self._put(here, outcome)
            return
        for moving in movable(self.positions[here]):
            for outcome in self.model.alphabet[moving.node]:
                self._put(here, outcome, moving)

    def _await(self, ahead: AheadMoves, here: int) -> None:
        """Wait until workers have executed a control state.

        Raises:
            WorkersError: they were lost. The space holds what was explored until then.
        """
        seconds = self._budget.left(1 - PROBE_SHARE)
        try:
            waited = ahead.reach(here, self.positions, self.states, self._movers, seconds)
        except WorkersError as error:
            self.stopped, self.sure = str(error), self.depths[here]
            raise WorkersError(
                f"{error}; {here} of {len(self.states)} known control states had been explored, and are in "
                "the error's 'partial'; explore again with other workers, or without an executor",
                self,
            ) from error
        if waited and self._progress is not None:
            self._progress(here, len(self.states))

    def _probe(self) -> None:
        """Walk on where the search had to stop, and say why it had to."""
        culprit = multiplying(self.model, self.positions, self._movers)
        if culprit is not None:
            self.stopped = f"{self.stopped}; {culprit}"
        if self.interleaved or not self._budget.only_time or self._max_depth < float("inf"):
            return
        stopped = self.stopped
        self._keys.grown = None
        walks = Walks(self, self.model, self._put, late=self._late, grown=lambda: self._keys.grown is not None)
        with suppress(Wider):  # what was seen so far is true all the same
            walks.run()
        self.stopped = stopped

    def _spent(self, part: float) -> bool:
        """Tell whether a part of the time, or the memory, is used up; if so, say what."""
        self.stopped = self.stopped or self._budget.spent(part)
        return self.stopped is not None

    def _late(self) -> bool:
        return self._budget.spent() is not None

    def _put(self, here: int, outcome: str, moving: Position | None = None) -> None:
        """Put an outcome into a control state; for the branch that moves next, or another."""
        mover, place = moving or self._movers[here], self.positions[here]
        done = self._executed(place, self.states[here], mover, outcome)
        reported, attempt = done.reported, done.attempt
        choice: Choice | None = None
        others: tuple[Choice, ...] = ()
        truths: tuple[RuleTruth, ...] = ()
        after: Mapping[str, Any] | None = None
        around = contests(place, mover.path) if self._contested else []
        hidden = any(mover.path[len(fork.path)] for fork in around if fork.winner is None)
        if reported is not None:
            self.races.opened(reported.following, mover.path)
            attempt = reported.event.attempt
            try:
                truths = self._judge.truths(mover.node, done, self.moves.notes.looks)
            except RunError as error:
                names = tuple(fork.name for fork in contests(place, mover.path))
                wrong = Transition(here, outcome, None, None, attempt, (), str(error))
                self.outgoing[here].append(replace(wrong, mover=moving, won=names, failed_in=mover.branch))
                return
            if hidden:
                truths = ()
            else:
                choice, others = reported.event.choice, reported.event.others
                after = reported.after
        for left in self.moves.onward(mover, done):
            self.races.won(left)
            # Where branches around it are to fail, there is a shorter script on which they are to win.
            if left.absorbed is not None and not any(fork.winner is None for fork in around):
                self.races.lost(left, lambda: (*self.script_to(here), (mover.node, outcome)))
            if left.lost is not None or not self._may_win(left):
                continue
            target = None
            winner = left.winning
            if left.place is not None:
                call: Call = (mover.node, outcome) if winner is None else (mover.node, outcome, winner)
                target = self._add(left.place, left.state, (here, call), self.depths[here] + 1)
            seen = None if target is not None and type(place) is Position else after
            won = tuple(name for name, _ in left.won) if moving else ()
            self.outgoing[here].append(
                Transition(
                    here, outcome, target, choice, attempt, truths, left.error, others, winner, seen, hidden,
                    moving, won, left.failed_in,
                )
            )  # fmt: skip

    def _executed(self, place: Place, state: Mapping[str, Any], here: Position, outcome: str) -> Execution:
        """Execute a node, and see whether something beside the projection may decide."""
        done = self.moves.execute(place, state, here, outcome)
        self._reach.check(here, done, self.moves.notes)
        return done

    def _may_win(self, left: Left) -> bool:
        """Tell whether a branch can be the first of its fork to end well.

        Where only so many branches may be under way at once, it must wait until enough of those declared before it
        have failed.
        """
        fork, winner = left.fork, left.winner
        if fork is None or winner is None or fork.max_concurrency is None or winner < fork.max_concurrency:
            return True
        assert left.place is not None
        needed = winner - fork.max_concurrency + 1
        for number in range(winner):
            if self._may_fail(with_fork(left.place, fork._replace(winner=number)), left.state, fork):
                needed -= 1
                if not needed:
                    return True
        return False

    def _may_fail(self, place: Place, state: Mapping[str, Any], fork: Forked) -> bool:
        """Tell whether the branch that is to win a fork can fail."""
        start = self._keys.of(place, state)
        if start not in self._failing:
            self._failing[start] = self._finds_failure(place, state, fork)
        return self._failing[start]

    def _finds_failure(self, place: Place, state: Mapping[str, Any], fork: Forked) -> bool:
        seen = {self._keys.of(place, state)}
        queue = deque([(place, state)])
        while queue:
            place, state = queue.popleft()
            here = mover(place)
            for outcome in self.model.alphabet[here.node]:
                done = self._executed(place, state, here, outcome)
                for left in self.moves.onward(here, done):
                    if left.lost == fork.path:
                        return True
                    if left.place is None or left.lost is not None or not self._may_win(left):
                        continue
                    following = mover(left.place)
                    if following.path[: len(fork.path) + 1] != here.path[: len(fork.path) + 1]:
                        continue
                    key = self._keys.of(left.place, left.state)
                    if key not in seen:
                        seen.add(key)
                        queue.append((left.place, left.state))
            if self._late() or len(seen) > self._max_states or self._keys.grown is not None:
                full = f"the budget of {self._max_states} control states was used up"
                self.stopped = self.stopped or self._budget.spent() or full
                break
        return False

    def _add(self, place: Place, state: Mapping[str, Any], parent: tuple[int, Call] | None, depth: int) -> int:
        key = self._keys.of(place, state)
        if self._keys.grown is not None:
            self.stopped = self._keys.grown
        found = self._index.setdefault(key, len(self.states))
        if found == len(self.states):
            self.positions.append(place)
            self.states.append(state)
            self._parents.append(parent)
            self._movers.append(mover(place))
            self.depths.append(depth)
            self.outgoing.append([])
        return found

    def _prune(self) -> None:
        """Forget what only leads to a branch that was to win and fails, or was to fail and ends well."""
        around = [self.contests(index) for index in range(len(self.states))]
        kept = confirmed(self.outgoing, around)
        if all(kept):
            return
        number = {old: new for new, old in enumerate(index for index, keeps in enumerate(kept) if keeps)}
        outgoing = [
            [
                replace(edge, source=new, target=None if edge.target is None else number[edge.target])
                for edge in self.outgoing[old]
                if edge.target is None or edge.target in number
            ]
            for old, new in number.items()
        ]
        parents = [self._parents[old] for old in number]
        self._parents = [None if parent is None else (number[parent[0]], parent[1]) for parent in parents]
        self.outgoing = outgoing
        self.positions = [self.positions[old] for old in number]
        self.states = [self.states[old] for old in number]
        self.depths = [self.depths[old] for old in number]
        self._movers = [self._movers[old] for old in number]

    def contests(self, index: int) -> list[Forked]:
        """Give the ``any_of`` forks around the branch that moves in a control state, outermost first.

        Args:
            index: the control state.
        """
        return contests(self.positions[index], self._movers[index].path)

    def seen(self, index: int) -> Mapping[str, Any]:
        """Give the state as the branch sees it that moves next in a control state.

        Args:
            index: the control state.
        """
        return view(self.positions[index], self.states[index], self._movers[index])

    def entered(self, index: int, branch: str | None = None) -> Mapping[str, Any]:
        """Give the state that an action sees in a control state: after the entry updates.

        Args:
            index: the control state.
            branch: the branch that moves; the one that moves next where absent.
        """
        who = self._movers[index].branch if branch is None else branch
        if (index, who) not in self._entered:
            self._entered[index, who] = self.moves.step.enter(self.positions[index], self.states[index], who).view
        return self._entered[index, who]

    @cached_property
    def lengths(self) -> Lengths:
        """The node executions that runs tell of, where branches move in any order."""
        return lengths(self)

    @cached_property
    def counts(self) -> tuple[Sequence[int], Sequence[int]] | None:
        """For each control state, how many scripts complete a run from it, and the executions of the longest run.

        Interleaved, it is how many interleavings do. The executions of branches that lost do not count; interleaved,
        they do in all control states but the first. ``None`` where the space is not complete or has a cycle.
        """
        counts = self._counted()
        if not self.interleaved or counts is None:
            return counts
        return None if self.lengths.longest is None else (counts[0], [self.lengths.longest, *counts[1][1:]])

    @property
    def shortest(self) -> int | None:
        """The node executions of the shortest run, without those of branches that lost; ``None`` where none ends."""
        if self.packed is not None:
            return self.packed.edges.shortest
        return self.lengths.shortest if self.interleaved else self._distances(hidden=0)[0]


def explore(
    model: Model,
    *,
    interleave: bool = False,
    max_states: int = MAX_STATES,
    max_seconds: float | None = None,
    max_memory: int | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> StateSpace:
    """Explore every outcome script of a model.

    Args:
        model: the graph under test.
        interleave: whether branches move in any order, instead of one after the other.
        max_states: the budget of control states.
        max_seconds: the budget of time.
        max_memory: the budget of memory: MiB that the process may hold.
        progress: called now and then with states explored and states known.
        executor: workers that call the functions of the model, such as a ``ProcessPoolExecutor``, or Dask's
            ``Client.get_executor()``; none where absent. What is found is the same.

    Returns:
        The space; ``stopped`` says why it is not complete, if it is not.

    Raises:
        NotImportableError: there is an executor, and its workers cannot import the model.
        WorkersError: they were lost; its ``partial`` is what had been explored.
    """
    budget = Budget(max_seconds, max_memory)
    return StateSpace(
        model, interleave=interleave, max_states=max_states, progress=progress, budget=budget, executor=executor
    )
