"""Every interleaving of a graph's branches, walked one by one, and what runs can come to.

This knows the step of the engine and nothing of the explorer: at every place every branch that may move does, with
every outcome of its node. Each node must note what it reports under ``trace``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from diagnosis.runtime import END, Child, Forked, Model, Position, Run, RunError, positions
from diagnosis.runtime.errors import ActionError, action_failed
from diagnosis.runtime.position import Opening, child_at, with_child, written
from diagnosis.verify.canonical import canonical
from diagnosis.verify.counterexample import fork_of

Script = tuple[tuple[str, ...], ...]

Path = tuple[int, ...]


class Entry(NamedTuple):
    """One node execution: as a script names it, and the event; ``None`` where the node failed."""

    call: tuple[str, ...]
    event: Any


Logs = Mapping[Path, tuple[Entry, ...]]
"""Path of a branch -> what happened in it, with what happened in its forks that closed."""


class TooManyError(Exception):
    """There are more interleavings than are worth walking."""


@dataclass(frozen=True)
class Outcome:
    """What a run can come to.

    Attributes:
        error: the class and the text of the error; ``None`` for a run that ended.
        events: for each event what the node reported, the branch, the attempt and where it led, in merged order.
        state: the final state, every key; ``None`` for a run that failed.
    """

    error: tuple[str, str] | None
    events: tuple[Any, ...]
    state: Any


def outcome_of(run: Run) -> Outcome:
    """Give what a run came to."""
    events = tuple(_told(event, report, event.branch) for event, report in zip(run.events, run.reports, strict=True))
    if run.error is not None:
        return Outcome((type(run.error).__name__, str(run.error)), events, None)
    return Outcome(None, events, canonical(run.state))


def _told(event: Any, report: Mapping[str, Any], branch: str) -> Any:
    return (*report["trace"], branch, event.attempt, event.choices)


@dataclass
class Walked:
    """What was seen on all interleavings.

    Attributes:
        outcomes: what was executed, without what lost, one branch after the other -> what runs in which that happened
            came to.
        mistakes: the errors of all nodes, those in branches that lost included, but for what outcomes raise.
        places: where runs stood, with the state outside branches.
        orders: how many interleavings there are.
    """

    outcomes: dict[Script, set[Outcome]] = field(default_factory=dict)
    mistakes: set[str] = field(default_factory=set)
    places: list[tuple[Any, Any]] = field(default_factory=list)
    orders: int = 0


def every_outcome(model: Model, limit: int) -> Walked:
    """Walk every interleaving.

    Raises:
        TooManyError: there are more places than the limit.
    """
    step = model.graph.step
    place, state = step.begin(model.input)
    walked = Walked()
    found, mistakes = walked.outcomes, walked.mistakes
    following: dict[Any, list[Any]] = {}
    start = (place, state, {(): ()})
    seen = {_key(*start)}
    work: list[Any] = [start]
    while work:
        place, state, logs = work.pop()
        walked.places.append((place, state))
        ways = following[_key(place, state, logs)] = []
        if isinstance(place, Position) and place.node == END:
            script, events = _collected(place, logs)
            found.setdefault(script, set()).add(Outcome(None, events, canonical(state)))
            continue
        for branch in step.enabled(place):
            here = next(position for position in positions(place) if position.branch == branch)
            for outcome in model.alphabet[here.node]:
                try:
                    after = _moved(model, place, state, logs, here, outcome, mistakes)
                except _FailedError as failed:
                    script, events = _collected(failed.place, failed.logs)
                    told = (type(failed.error).__name__, str(failed.error))
                    found.setdefault(script, set()).add(Outcome(told, events, None))
                    ways.append(None)
                    continue
                key = _key(*after)
                ways.append(key)
                if key not in seen:
                    seen.add(key)
                    work.append(after)
                    if len(seen) > limit:
                        raise TooManyError
    walked.orders = _orders(following, _key(*start))
    return walked


def _orders(following: Mapping[Any, list[Any]], start: Any) -> int:
    """Count the ways to an end; there are no loops."""
    known: dict[Any, int] = {None: 1}
    work = [start]
    while work:
        ways = following[work[-1]]
        new = [way for way in ways if way not in known]
        if new:
            work += new
        else:
            known[work.pop()] = sum(map(known.__getitem__, ways)) if ways else 1
    return known[start]


class _FailedError(Exception):
    """The run failed; ``place`` is where its branches stood then."""

    def __init__(self, error: RunError, place: Any, logs: Logs) -> None:
        super().__init__(error)
        self.error, self.place, self.logs = error, place, logs


def _noted(mistakes: set[str], error: RunError) -> None:
    if not isinstance(error, ActionError):
        mistakes.add(str(error))


def _moved(model: Model, place: Any, state: Any, logs: Logs, here: Position, outcome: str, mistakes: set[str]) -> Any:
    """Execute a node; give where the run stands then."""
    step, path, call = model.graph.step, here.path, (here.node, outcome)
    failed = {**logs, path: (*logs[path], Entry(call, None))}
    entered: Any = None
    try:
        entered = step.enter(place, state, here.branch)
        update = model.alphabet[here.node][outcome]
        if callable(update):
            try:
                update = update(entered.view)
            except OSError as raised:
                raise action_failed(here.node, entered.attempt, raised) from raised
    except RunError as error:
        _noted(mistakes, error)
        if entered is not None:
            place, state = entered.position, entered.state
        try:
            return *step.fail(place, state, here.branch, error), failed
        except RunError as final:
            raise _FailedError(final, *_settled(place, failed, here, None, final)) from None
    try:
        following, after, event, report = step.leave(entered.position, entered.state, update, here.branch)
    except RunError as final:
        # Did the node fail, or what came after it? Only then is there an event.
        try:
            led, seen, event, report = step.at(here.node).leave(here, entered.view, update, entered.attempt, [])
        except RunError as error:
            _noted(mistakes, error)
            raise _FailedError(final, *_settled(place, failed, here, None, final)) from None
        if isinstance(led, Opening) and not _opens(model, led, seen, here):
            led = None
        logs = {**logs, path: (*logs[path], Entry(call, _told(event, report, here.branch)))}
        raise _FailedError(final, *_settled(place, logs, here, led, final)) from None
    if event is None:
        try:
            step.at(here.node).leave(here, entered.view, update, entered.attempt, [])
        except RunError as error:
            _noted(mistakes, error)
        return following, after, failed
    logs = {**logs, path: (*logs[path], Entry(call, _told(event, report, here.branch)))}
    for length in range(len(path) - 1, -1, -1):
        if isinstance(_at(following, path[:length]), Forked):
            break
        logs, path = _merged(_at(place, path[:length]), logs, path), path[:length]
    fork = _at(following, path)
    if isinstance(fork, Forked) and not isinstance(_at(place, path), Forked):
        logs = {**logs, **{(*path, number): () for number in range(len(fork.children))}}
    return following, after, logs


def _opens(model: Model, led: Opening, state: Mapping[str, Any], here: Position) -> bool:
    try:
        model.graph.step.branching.forked(led, state, here.branch, here.path)
    except RunError:
        return False
    return True


def _settled(place: Any, logs: Logs, here: Position, led: Any, error: RunError) -> tuple[Any, Logs]:
    """Give where the branches stood when a run failed, and what had happened in them, after all that closed before."""
    path, reached = here.path, None
    # The error of the run may be an earlier one, to which that of a join has led now.
    texts, cause = [], error
    while cause is not None:
        texts.append(str(cause))
        cause = cause.__context__
    if isinstance(led, Position):
        reached = led.node
    elif led is not None:
        reached = led.join  # the fork closed at once
    while path:
        child = child_at(place, path)
        if reached is None:
            child = Child(child.branch, child.place, child.state, child.writes, error)
        else:
            child = Child(child.branch, Position(reached, None, child.branch, path, "ended"), child.state, child.writes)
        place = with_child(place, path, child)
        fork = _at(place, path[:-1])
        failing = any(child.failure for child in fork.children) if fork.wait == "all_of" else reached is None
        if failing or any(text.startswith(f"the fork at {fork.name!r}:") for text in texts):
            reached = None
        else:
            logs, reached = _merged(fork, logs, path), fork.join
        path = path[:-1]
    return place, logs


def _merged(fork: Forked, logs: Logs, last: Path) -> Logs:
    """Put the logs of a fork that closed together: of an ``any_of`` the one of the branch that moved last."""
    at = fork.path
    numbers = [number for number in range(len(fork.children)) if fork.wait == "all_of" or number == last[len(at)]]
    own = logs[at]
    if fork.wait == "any_of":
        own = _won(own, fork.children[numbers[0]].branch)
    inner = [entry for number in numbers for entry in logs[*at, number]]
    logs = {key: log for key, log in logs.items() if key[: len(at)] != at or len(key) <= len(at)}
    return {**logs, at: (*own, *inner)}


def _won(log: tuple[Entry, ...], winner: str) -> tuple[Entry, ...]:
    """Note who won the fork that the last node of a log opened."""
    return (*log[:-1], Entry((*log[-1].call, winner), log[-1].event))


def _collected(place: Any, logs: Logs, path: Path = ()) -> tuple[Script, tuple[Any, ...]]:
    """Give what was executed and what a run tells of it: up to what failed, and nothing of what lost."""
    own, numbers, told = logs[path], [], []
    if isinstance(place, Forked):
        failed = [number for number, child in enumerate(place.children) if child.failure]
        well = [number for number, child in enumerate(place.children) if child.ended and not child.failure]
        if place.wait == "all_of":
            numbers = told = list(range(failed[0] + 1 if failed else len(place.children)))
        elif well:
            # It did not fail, but its join did.
            numbers = told = well
            own = _won(own, place.children[numbers[0]].branch)
        else:
            numbers, told = failed, failed[:1]
    calls = tuple(entry.call for entry in own)
    events = tuple(entry.event for entry in own if entry.event is not None)
    for number in numbers:
        more, shown = _collected(place.children[number].place, logs, (*path, number))
        calls += more
        events += shown if number in told else ()
    return calls, events


def _at(place: Any, path: Path) -> Any:
    for number in path:
        if not isinstance(place, Forked):
            return None
        place = place.children[number].place
    return place


def _key(place: Any, state: Any, logs: Logs) -> Any:
    return _place(place), canonical(state), tuple(sorted(logs.items()))


def _place(place: Any) -> Any:
    if isinstance(place, Position):
        return (place.node, place.reason, place.branch, place.status)
    children = tuple(
        (
            child.branch,
            _place(child.place),
            canonical(child.state),
            tuple((key, canonical(value), node) for key, value, node in written(child.writes)),
            child.failure and (type(child.failure), str(child.failure), child.failure.branch),
        )
        for child in place.children
    )
    return (place.name, place.join, place.wait, place.reason, place.winner, canonical(place.base), children)


def replayed(model: Model, script: Script, *, limit: int | None = None) -> Run:
    """Run a script on the real runtime with plain actions; but for a limit, all that it holds must be asked for."""
    calls: dict[str, list[Any]] = {}
    winners: dict[str, list[str]] = {}
    for node, outcome, *won in script:
        calls.setdefault(node, []).append(model.alphabet[node][outcome])
        for winner in won:
            winners.setdefault(fork_of(model, node, winner), []).append(winner)

    def action(node: str) -> Any:
        def reports(state: Any) -> Any:
            outcome = calls[node].pop(0)
            return outcome(state) if callable(outcome) else outcome

        return reports

    graph = model.graph.with_actions({node: action(node) for node in model.graph.definition.names})
    run = graph.run(winners=winners, check=False, recursion_limit=limit)
    assert limit is not None or not any(calls.values()), (script, calls)
    return run
