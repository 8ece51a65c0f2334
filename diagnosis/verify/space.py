"""The control states that a model can reach, found breadth first on the pure step."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
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
)
from diagnosis.runtime.position import with_fork
from diagnosis.verify.judge import Judge
from diagnosis.verify.keys import StateKeys
from diagnosis.verify.moves import Execution, Left, Moves, contests, mover
from diagnosis.verify.paths import Call, Paths, Transition
from diagnosis.verify.pruning import confirmed
from diagnosis.verify.reach import Reach, Wider
from diagnosis.verify.reads import declared_reads
from diagnosis.verify.tabulate import Table, tabulable

MAX_STATES = 100_000
"""Control states explored at most where no other budget is given."""

PACKED_FROM = 100
"""Control states from which on they are packed, where the graph allows it: the search then begins once more."""

WIDE = 8
"""Control states of one depth, on average, from which on it is worth while to expand them together."""

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

    Where there are many states, and not too few of each depth, they are packed into whole numbers and explored block by
    block, in the same order and with the same result; graphs that can open branches, that project on the event key, or
    that merge a key beside the projection by a function of one's own, are searched state by state whatever their size.
    A packed state is known by its typed reads alone: of values that read alike the first one seen stands for all.

    Args:
        model: the graph under test.
        extra: keys to project on beside those that routing reads.
        max_states: the budget of control states.
        max_seconds: the budget of time; none where absent.
        progress: called now and then.
        packed: whether to pack the states, where the graph allows it; where absent, from ``PACKED_FROM`` states on if
            they are not spread over too many depths.

    Attributes:
        projection: the keys that control states are told apart by.
        moves: the node executions, on the strict step.
    """

    positions: list[Place]
    states: list[Mapping[str, Any]]
    depths: list[int]
    outgoing: list[list[Transition]]
    _parents: list[tuple[int, Call] | None]
    _movers: list[Position]

    def __init__(
        self,
        model: Model,
        *,
        extra: Iterable[str] = (),
        max_states: int = MAX_STATES,
        max_seconds: float | None = None,
        progress: Progress | None = None,
        packed: bool | None = None,
    ) -> None:
        self.model = model
        self.moves = Moves(model)
        self._definition = model.graph.definition
        self._max_states, self._max_seconds, self._progress = max_states, max_seconds, progress
        self._pack_from = {None: PACKED_FROM, True: 0, False: None}[packed]
        self._contested = any(fan_out.fork.wait == "any_of" for fan_out in self.moves.step.fan_outs.all)
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
        self._entered: dict[int, Mapping[str, Any]] = {}
        self._failing: dict[Any, bool] = {}
        self._keys = StateKeys(self._definition, self.projection)
        self._judge = Judge(self._definition, self.projection)
        self._reach = Reach(self.model, self.projection)
        self._began = time.monotonic()
        pack_from = self._pack_from if tabulable(self.model, self.moves, self.projection) else None
        if pack_from == 0:
            self._pack()
            return
        self._add(*self.model.graph.step.begin(self.model.input), None, 0)
        queue = deque([0])
        explored = 0
        while queue:
            here = queue.popleft()
            if here % 1024 == 0 and self._progress is not None:
                self._progress(here, len(self.states))
            if self._out_of_time():
                break
            if pack_from is not None and pack_from < len(self.states) <= self._max_states:
                if len(self.states) > WIDE * self.depths[-1]:
                    self._pack()
                    return
                pack_from *= 2
            node = self._movers[here].node
            if node != END:
                if len(self.states) > self._max_states:
                    self.stopped = f"the budget of {self._max_states} control states was used up"
                if self.stopped is not None:
                    break
                for outcome in self.model.alphabet[node]:
                    self._put(here, outcome, queue)
            explored = here + 1
        if self._contested:
            self._prune(explored)
        if self._progress is not None:
            self._progress(len(self.states), len(self.states))

    def _pack(self) -> None:
        """Explore once more, and to the end, on packed states."""
        # Whoever only explores small graphs need not wait for numpy.
        from diagnosis.verify.frontier import Frontier
        from diagnosis.verify.packedspace import PackedSpace

        deadline = None if self._max_seconds is None else self._began + self._max_seconds
        frontier = Frontier(
            Table(self.model, self.moves, self.projection),
            max_states=self._max_states,
            deadline=deadline,
            budget=self._time_used_up,
            progress=self._progress,
        )
        self._index.clear()
        self._show(PackedSpace(frontier))
        if self._progress is not None:
            self._progress(frontier.known, frontier.known)

    @property
    def _time_used_up(self) -> str:
        return f"the budget of {self._max_seconds or 0:g} s was used up"

    def _out_of_time(self) -> bool:
        if self._max_seconds is not None and time.monotonic() - self._began > self._max_seconds:
            self.stopped = self._time_used_up
            return True
        return False

    def _put(self, here: int, outcome: str, queue: deque[int]) -> None:
        """Put an outcome into a control state."""
        mover, place = self._movers[here], self.positions[here]
        done = self._executed(place, self.states[here], mover, outcome)
        reported, attempt = done.reported, done.attempt
        choice: Choice | None = None
        others: tuple[Choice, ...] = ()
        truths: tuple[RuleTruth, ...] = ()
        after: Mapping[str, Any] | None = None
        hidden = self._contested and any(
            mover.path[len(fork.path)] for fork in contests(place, mover.path) if fork.winner is None
        )
        if reported is not None:
            attempt = reported.event.attempt
            try:
                truths = self._judge.truths(mover.node, done, self.moves.notes.looks)
            except RunError as error:
                self.outgoing[here].append(Transition(here, outcome, None, None, attempt, (), str(error)))
                return
            if hidden:
                truths = ()
            else:
                choice, others = reported.event.choice, reported.event.others
                after = reported.after
        for left in self.moves.onward(mover, done):
            if left.lost is not None or not self._may_win(left):
                continue
            target = None
            winner = left.winning
            if left.place is not None:
                call: Call = (mover.node, outcome) if winner is None else (mover.node, outcome, winner)
                known = len(self.states)
                target = self._add(left.place, left.state, (here, call), self.depths[here] + 1)
                if target == known:
                    queue.append(target)
            seen = None if target is not None and type(place) is Position else after
            self.outgoing[here].append(
                Transition(here, outcome, target, choice, attempt, truths, left.error, others, winner, seen, hidden)
            )

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
            if self._out_of_time() or len(seen) > self._max_states or self._keys.grown is not None:
                self.stopped = self.stopped or f"the budget of {self._max_states} control states was used up"
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

    def _prune(self, explored: int) -> None:
        """Forget what only leads to a branch that was to win and fails, or was to fail and ends well."""
        around = [contests(place, here.path) for place, here in zip(self.positions, self._movers, strict=True)]
        kept = confirmed(self.outgoing, around, explored)
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

    def entered(self, index: int) -> Mapping[str, Any]:
        """Give the state that an action sees in a control state: after the entry updates.

        Args:
            index: the control state.
        """
        if index not in self._entered:
            entered = self.moves.step.enter(self.positions[index], self.states[index], self._movers[index].branch)
            self._entered[index] = entered.view
        return self._entered[index]


def explore(
    model: Model,
    *,
    max_states: int = MAX_STATES,
    max_seconds: float | None = None,
    progress: Progress | None = None,
) -> StateSpace:
    """Explore every outcome script of a model.

    Args:
        model: the graph under test.
        max_states: the budget of control states.
        max_seconds: the budget of time.
        progress: called now and then with states explored and states known.

    Returns:
        The space; ``stopped`` says why it is not complete, if it is not.
    """
    return StateSpace(model, max_states=max_states, max_seconds=max_seconds, progress=progress)
