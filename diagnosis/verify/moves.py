"""One node execution of an exploration: an outcome put into a place, with all that can come of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from diagnosis.runtime import (
    Child,
    Choice,
    Command,
    Forked,
    Model,
    Move,
    Place,
    Position,
    Property,
    ReadView,
    RunError,
    frozen_update,
    movable,
)
from diagnosis.runtime.branching import Reported
from diagnosis.runtime.errors import action_failed
from diagnosis.runtime.position import Opening, Path, child_at, fork_at, with_fork
from diagnosis.runtime.step import Entered
from diagnosis.verify.reads import Recorder
from diagnosis.verify.strict import Notes, strict_step

_NOBODY = Child("", Position("", status="waiting"), {})
"""A branch that is never through."""


class Execution(NamedTuple):
    """What a node came to in one place, before the run moves on.

    Attributes:
        place: where the run stands, the entry updates made.
        state: the state outside branches.
        before: what the action saw.
        attempt: which attempt of the node it is.
        update: what the action reported; ``None`` where it came to nothing.
        reads: the keys that the outcome's function read.
        reported: what the node came to; ``None`` where it failed.
        failure: why it failed.
    """

    place: Place
    state: Mapping[str, Any]
    before: Mapping[str, Any]
    attempt: int
    update: Mapping[str, Any] | Command | None
    reads: set[str]
    reported: Reported | None
    failure: RunError | None


class Left(NamedTuple):
    """One way on after a node execution.

    Attributes:
        place: where the run stands; ``None`` where it stops with an error.
        state: the state outside branches.
        error: the error of the run.
        fork: the ``any_of`` fork that was opened, if one was.
        winner: the place of the branch that is to win it; ``None`` where all are to fail.
        lost: the path of the fork whose winner failed: there is no such run.
        absorbed: the name of an ``any_of`` fork, that of a branch of it which failed, and why.
        won: the ``any_of`` forks that closed because a branch ended well: the fork's name and the branch's.
        failed_in: the branch whose error stopped the run; empty outside branches.
    """

    place: Place | None
    state: Mapping[str, Any]
    error: str | None = None
    fork: Forked | None = None
    winner: int | None = None
    lost: Path | None = None
    absorbed: tuple[str, str, RunError] | None = None
    won: tuple[tuple[str, str], ...] = ()
    failed_in: str = ""

    @property
    def winning(self) -> str | None:
        """The name of the branch that is to win the fork that was opened."""
        return None if self.fork is None or self.winner is None else self.fork.children[self.winner].branch


class Decided(Protocol):
    """An outcome and what was decided after it."""

    @property
    def outcome(self) -> str:
        """The name of the outcome."""

    @property
    def attempt(self) -> int:
        """Which attempt of the node it is."""

    @property
    def choice(self) -> Choice | None:
        """The decision."""

    @property
    def others(self) -> tuple[Choice, ...]:
        """The further choices of a decision that opened several branches."""


class Moves:
    """The node executions of a model, on a step that refuses undeclared reads.

    Branches move in order of declaration, one after the other. The winner of an ``any_of`` is chosen when it opens, and
    only that branch moves then; where none is chosen, all its branches are to fail.

    Args:
        model: the graph under test.
        free: whether instead nobody is chosen, so that branches may move in any order.

    Attributes:
        step: the step.
        notes: what was seen of the last execution.
    """

    def __init__(self, model: Model, *, free: bool = False) -> None:
        self.model = model
        self._free = free
        self.notes = Notes()
        self.step = strict_step(model.graph.definition, self.notes)
        self._fixed = {
            (node, outcome): frozen_update(update)
            for node, outcomes in model.alphabet.items()
            for outcome, update in outcomes.items()
            if not callable(update)
        }

    def execute(self, place: Place, state: Mapping[str, Any], here: Position, outcome: str) -> Execution:
        """Execute a node.

        Args:
            place: where the run stands.
            state: the state outside branches.
            here: the position that moves.
            outcome: what the node reports, of the alphabet.
        """
        self.notes.clear()
        try:
            entered = self.step.enter(place, state, here.branch)
        except RunError as error:
            return Execution(place, state, state, 1, None, set(), None, error)
        return self.leave(entered, here, outcome)

    def leave(self, entered: Entered, here: Position, outcome: str) -> Execution:
        """Execute a node from where its action begins.

        Args:
            entered: what stands ready for the action.
            here: the position that moves.
            outcome: what the node reports, of the alphabet.
        """
        step, node = self.step, here.node
        place, state, before, attempt = entered
        report, reads = self._fixed.get((node, outcome)), set[str]()
        try:
            if report is None:
                recorder = Recorder(before, self.notes.order)
                reads = recorder.reads
                report = self._called(node, outcome, attempt, recorder)
            self.notes.wrote(report.update if isinstance(report, Command) else report)
            if type(place) is Position:
                following, after, event, taken = step.at(node).leave(here, before, report, attempt)
                reported = Reported(following, after, [], event, taken)
            else:
                reported = step.reported(child_at(place, here.path), step.at(node), here, report, attempt)
        except RunError as error:
            return Execution(place, state, before, attempt, report, reads, None, error)
        return Execution(place, state, before, attempt, report, reads, reported, None)

    def _called(self, node: str, outcome: str, attempt: int, recorder: Recorder) -> Mapping[str, Any] | Command:
        update: Any = self.model.alphabet[node][outcome]
        try:
            found: Mapping[str, Any] | Command = update(recorder)
        except Exception as error:
            raise action_failed(node, attempt, error) from error
        return found

    def onward(self, here: Position, done: Execution) -> list[Left]:
        """Move on after a node execution.

        Args:
            here: the position that moved.
            done: what the node came to.

        Returns:
            The ways on: one; or, where an ``any_of`` fork opens and its winner is chosen, one for each branch that may
            win it, and one on which all are to fail; none where a branch ended well that is to fail.
        """
        place, state, reported = done.place, done.state, done.reported
        if type(place) is Forked:
            return self._branch_onward(place, state, here, done)
        if reported is None:
            return [Left(None, state, str(done.failure))]
        following = reported.following
        if isinstance(following, Position):
            return [Left(following, reported.after)]
        try:
            place, state = self.step.open(following, reported.after)
        except RunError as error:
            return [Left(None, state, str(error))]
        return self._opened(place, state, ())

    def _branch_onward(self, place: Place, state: Mapping[str, Any], here: Position, done: Execution) -> list[Left]:
        branching, reported = self.step.branching, done.reported
        won: list[tuple[str, str]] = []
        absorbed: tuple[str, str, RunError] | None = None
        # Contests stay open whatever becomes of their branches, so that what follows is seen level by level.
        around = contests(place, here.path)
        for fork in around:
            place = with_fork(place, fork._replace(children=(*fork.children, _NOBODY), winner=len(fork.children)))
        try:
            if reported is None:
                assert done.failure is not None
                place, state, _ = branching.failed(place, state, here.path, done.failure)
            else:
                place, state, _ = branching.moved(place, state, here.path, reported)
            for fork in reversed(around):
                now = fork_at(place, fork.path)
                assert now is not None
                number = here.path[len(fork.path)]
                children = now.children[:-1]
                place = with_fork(place, now._replace(children=children, winner=fork.winner))
                child = children[number]
                if not child.ended:
                    continue
                if child.failure is not None:
                    absorbed = absorbed or (fork.name, child.branch, child.failure)
                    if fork.winner is not None:
                        return [Left(None, state, None, None, None, fork.path, absorbed, tuple(won))]
                elif fork.winner is not None or self._free:
                    won.append((fork.name, child.branch))
                else:
                    return []
                place, state, _ = branching.settled(place, state, (*fork.path, number))
        except RunError as error:
            return [Left(None, state, str(error), absorbed=absorbed, won=tuple(won), failed_in=error.branch)]
        ways = [Left(place, state)]
        if reported is not None and type(reported.following) is Opening:
            ways = self._opened(place, state, here.path)
        return [left._replace(absorbed=absorbed, won=tuple(won)) for left in ways] if won or absorbed else ways

    def _opened(self, place: Place, state: Mapping[str, Any], path: Path) -> list[Left]:
        """Give a way on for each branch that may win the fork that opened at a path."""
        fork = fork_at(place, path)
        if fork is None or fork.wait != "any_of" or self._free:
            return [Left(place, state)]
        won = [
            Left(with_fork(place, fork._replace(winner=number)), state, None, fork, number)
            for number in range(len(fork.children))
        ]
        return [*won, Left(place, state, None, fork, None)]


def move_of(model: Model, claim: Property, node: str, step: Decided, before: Any, after: Any, branch: str = "") -> Move:
    """Give one node execution as a claim sees it.

    Args:
        model: the graph under test.
        claim: the claim.
        node: the node.
        step: what was decided.
        before: the state that the action sees.
        after: the state after it.
        branch: the branch that moved.
    """
    who, reads = f"property {claim.name!r}", frozenset(claim.reads)
    update = model.alphabet[node][step.outcome]
    report: Any = update(before) if callable(update) else update
    assert step.choice is not None
    return Move(
        node,
        step.outcome,
        step.attempt,
        ReadView(before, reads, who),
        report.update if isinstance(report, Command) else report,
        ReadView(after, reads, who),
        step.choice,
        step.others,
        branch,
    )


def mover(place: Place) -> Position:
    """Give the position that moves next: the first that may, in order of declaration.

    Args:
        place: where a run stands.
    """
    return place if type(place) is Position else next(movable(place))


def view(place: Place, state: Mapping[str, Any], here: Position) -> Mapping[str, Any]:
    """Give what the branch sees that stands at a position.

    Args:
        place: where a run stands.
        state: the state outside branches.
        here: the position.
    """
    return child_at(place, here.path).state if here.path else state


def contests(place: Place, path: Path) -> list[Forked]:
    """Give the ``any_of`` forks around a branch, outermost first.

    Args:
        place: where a run stands.
        path: the branch's path.
    """
    found = []
    for number in path:
        assert type(place) is Forked
        if place.wait == "any_of":
            found.append(place)
        place = place.children[number].place
    return found
