"""Whatever the branches of a graph do and however long they take, the engine does what the oracle says."""

import asyncio
import gc
import itertools
import warnings
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from fork_oracle import START_NODE, BoomError, Fan, Lap, Outcome, Task, Term, Ways, Winner, Work, parts, path_of
from hypothesis import example, given, settings
from hypothesis import strategies as st
from random_fork_graphs import (
    NO_LIMIT,
    Allowed,
    Stage,
    Timing,
    actions_of,
    graph_of,
    programs,
    report_of,
    timings,
)

from diagnosis.runtime import (
    END,
    ActionError,
    Command,
    CompiledGraph,
    Place,
    Position,
    Run,
    RunError,
    forks,
    positions,
    thaw,
)

Terms = tuple[Term, ...]

FEWER = settings(max_examples=50)

TURNS = 3_000
"""Turns of an event loop after which a run that has not ended never will."""

ALL = Allowed()
WELL = Allowed(failures=0)
ALL_OF = Allowed(any_of=False)
SURE = Allowed(failures=0, any_of=False)
FAILING = Allowed(failures=3, any_of=False)
CONFLICTS = Allowed(conflicts=True, any_of=False)


# --- terms that have told engines apart ---------------------------------------------------------------------------


def work(*names: str) -> Terms:
    return tuple(Work(Task(name)) for name in names)


def fan(name: str, *branches: Terms, wait: str = "all_of", most: int | None = None) -> Fan:
    opened = Ways(tuple((index, {}) for index in range(len(branches))))
    return Fan(Task(name), "edges", branches, (opened,), wait=wait, max_concurrency=most)


TWO_BRANCHES = (fan("s", work("a"), work("b")), *work("last"))
BAD = Work(Task("bad", fails=1))
FROM_THE_START = (fan(START_NODE, work("a"), work("b")), *work("last"))
ONE_JOIN_FOR_TWO_FORKS = (fan("s", work("q"), (fan("p", work("x"), work("y")),)), *work("last"))
FORK_LATE_IN_A_BRANCH = (
    fan("s", (*work("p1", "p2", "p3"), fan("p4", work("x"), work("y")), *work("m")), work("q")),
    *work("last"),
)
FORK_THAT_CLOSES_AS_IT_OPENS = (
    fan("s", (fan("p", (), work("x"), wait="any_of"),), work("q"), most=1),
    *work("last"),
)
FAILURE_IN_AN_INNER_FORK = (fan("s", (fan("p", work("x"), (BAD,)),), work("q")), *work("last"))
WINNER_AND_FAILURE_AT_ONCE = (fan("s", work("a"), (BAD,), wait="any_of"), *work("last"))
LOSER_THAT_WAS_SEEN = (fan("s", (*work("a"), BAD), work("b"), wait="any_of"), *work("last"))
LOSER_WITH_AN_OPEN_FORK = (
    fan(
        "s",
        (Lap((fan("c", (fan("p", work("x"), work("y")), *work("m")), work("w"), wait="any_of"),), Task("l"), 2),),
        work("q"),
    ),
    *work("last"),
)


def turns(*each: int | None) -> Timing:
    return Timing(each, (0,), (False,))


# --- what was seen, in the words of the oracle --------------------------------------------------------------------


def plain(state: Mapping[str, Any]) -> dict[str, Any]:
    return {key: thaw(value) for key, value in state.items()}


def causes(run: Run) -> list[set[int]]:
    """Give for each event the places of those that led to it; without branches, the one before."""
    return [
        set(event.after) if event.after is not None else {index - 1} - {-1} for index, event in enumerate(run.events)
    ]


def led_by(branches: Sequence[str], failed: str) -> Winner:
    """Find in what was executed which branch of a fork went on; in a run that failed, the one whose error it is."""

    def winner(fork: str, children: Sequence[str], executed: int) -> str | None:
        there = branches[executed] if executed < len(branches) else failed
        for child in children:
            path = path_of(child)
            if path_of(there)[: len(path)] == path:
                return child
        return None

    return winner


def seen_in(run: Run) -> Winner:
    return led_by([event.branch for event in run.events], run.error.branch if run.error is not None else "")


def forced_by(outcome: Outcome) -> Winner:
    left = outcome.winners

    def winner(fork: str, children: Sequence[str], executed: int) -> str | None:
        return left[fork].pop(0) if left.get(fork) else None

    return winner


def same_error(error: RunError | None, outcome: Outcome) -> None:
    halt = outcome.error
    if halt is None:
        assert error is None
        return
    assert (type(error).__name__, error.branch) == (halt.kind, halt.branch), error
    if halt.kind == "JoinError":
        assert names_two_writers(str(error), halt.writers)
    else:
        assert error.node == halt.node
    if halt.kind == "ActionError":
        assert isinstance(error.__cause__, BoomError)


def names_two_writers(text: str, writers: Mapping[str, list[list[str]]]) -> bool:
    """Tell whether a message names a key with one node each of two branches that wrote it."""
    return any(
        repr(key) in text and sum(any(f"'{name}'" in text for name in names) for names in branches) == 2
        for key, branches in writers.items()
    )


def same_run(run: Run, outcome: Outcome) -> None:
    """Compare all that a run shows with what the oracle says."""
    same_error(run.error, outcome)
    assert run.stop == outcome.stop
    assert [(e.node, e.branch) for e in run.events] == [(e.node, e.branch) for e in outcome.events]
    assert [tuple((c.target, c.reason) for c in e.choices) for e in run.events] == [e.ways for e in outcome.events]
    assert [step.position.reason for step in run.steps] == [e.led_by for e in outcome.events]
    assert causes(run) == outcome.causes()
    assert [plain(state) for state in run.states[1:]] == [e.state for e in outcome.events]
    assert plain(run.state) == outcome.state


# --- ways to run --------------------------------------------------------------------------------------------------


def in_a_loop(main: Callable[[], Awaitable[Any]]) -> Any:
    """Run something async; nothing may be left of it but its result."""
    trouble: list[Any] = []

    async def watched() -> Any:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: trouble.append(context))
        task = asyncio.ensure_future(main())
        for _ in range(TURNS):
            if task.done():
                break
            await asyncio.sleep(0)
        assert task.done(), "it waits for ever"
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"still there: {left}"
        return task.result()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = asyncio.run(watched())
        gc.collect()
    assert [str(warning.message) for warning in caught] == []
    assert trouble == []
    return result


def timed(graph: CompiledGraph, terms: Terms, timing: Timing, **options: Any) -> tuple[Run, Stage]:
    """Run with actions that take their time."""
    stage = Stage(timing)
    run = in_a_loop(lambda: graph.with_actions(actions_of(terms, stage.act)).arun(check=False, **options))
    assert not stage.running
    assert stage.overlaps == []
    return run, stage


@pytest.fixture(autouse=True, scope="module")
def _collecting_is_cheap() -> Iterator[None]:
    """Let a collection look only at what these tests make, since they ask for so many."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


# --- the run ------------------------------------------------------------------------------------------------------


@given(programs(ALL))
@example(FROM_THE_START)
@example(FORK_THAT_CLOSES_AS_IT_OPENS)
@example(FAILURE_IN_AN_INNER_FORK)
def test_a_run_without_waiting_is_the_run_of_the_oracle(terms: Terms) -> None:
    graph = graph_of(terms)
    run = in_a_loop(lambda: graph.arun(check=False))
    same_run(run, Outcome(terms, NO_LIMIT))
    again = graph.run(check=False)
    assert (again.events, again.states, again.state) == (run.events, run.states, run.state)


@given(programs(ALL), timings())
@example(WINNER_AND_FAILURE_AT_ONCE, turns(0))
@example(LOSER_WITH_AN_OPEN_FORK, turns(1, 0, 3))
@example(LOSER_WITH_AN_OPEN_FORK, turns(8, None, None, 0))
def test_a_run_in_any_timing_is_the_run_of_the_oracle_with_its_winners(terms: Terms, timing: Timing) -> None:
    run, _ = timed(graph_of(terms), terms, timing)
    same_run(run, Outcome(terms, NO_LIMIT, seen_in(run)))


@FEWER
@given(programs(ALL_OF), timings(), timings())
def test_timing_changes_nothing_where_no_fork_waits_for_one_branch(terms: Terms, one: Timing, other: Timing) -> None:
    graph = graph_of(terms)
    first, second = timed(graph, terms, one)[0], timed(graph, terms, other)[0]
    assert first.events == second.events
    assert first.states == second.states
    assert first.state == second.state
    assert (type(first.error), str(first.error)) == (type(second.error), str(second.error))


@FEWER
@given(programs(ALL), timings())
def test_winners_given_beforehand_lead_to_the_same_run(terms: Terms, timing: Timing) -> None:
    graph = graph_of(terms)
    run, _ = timed(graph, terms, timing)
    outcome = Outcome(terms, NO_LIMIT, seen_in(run))
    if outcome.error is not None:
        return
    again = in_a_loop(lambda: graph.arun(check=False, winners=outcome.winners))
    assert again.unused_winners == {}
    assert (again.events, again.states, again.state) == (run.events, run.states, run.state)


@FEWER
@given(programs(WELL), st.data())
def test_any_branch_can_be_made_to_win(terms: Terms, data: st.DataObject) -> None:
    def winner(fork: str, branches: Sequence[str], executed: int) -> str:
        return data.draw(st.sampled_from(branches), label=fork)

    outcome = Outcome(terms, NO_LIMIT, winner, forced=True)
    run = in_a_loop(lambda: graph_of(terms).arun(check=False, winners=outcome.winners))
    same_run(run, outcome)


# --- joins, writes and the order of events ------------------------------------------------------------------------


@FEWER
@given(programs(Allowed(failures=0, plain=False)), timings())
def test_a_join_runs_once_for_each_opening_of_its_fork(terms: Terms, timing: Timing) -> None:
    run, _ = timed(graph_of(terms), terms, timing)
    count = Counter(event.node for event in run.events)
    for body in bodies(terms):
        for fan, join in itertools.pairwise(body):
            if isinstance(fan, Fan) and not fan.supervises and isinstance(join, Work):
                assert count[join.task.name] == count[fan.task.name]


def bodies(terms: Terms) -> list[Terms]:
    inner = [part.body for part in parts(terms) if isinstance(part, Lap)]
    return [terms, *inner, *(branch for part in parts(terms) if isinstance(part, Fan) for branch in part.branches)]


@FEWER
@given(programs(ALL), timings())
def test_every_write_of_an_execution_that_counts_is_kept_once_and_no_other(terms: Terms, timing: Timing) -> None:
    run, _ = timed(graph_of(terms), terms, timing)
    if not run.ended:
        return
    executed = [event for event in run.events if event.node != START_NODE]
    assert list(run.state["log"]) == [event.node for event in executed]
    assert [token.split("|")[:2] for token in run.state["token"]] == [[event.branch, event.node] for event in executed]
    assert len(set(run.state["token"])) == len(executed)
    assert [each["node"] for each in run.state["events"]] == list(run.path)
    assert run.state["sum"] == sum(sums(terms)[event.node] for event in executed)


def sums(terms: Terms) -> dict[str, int]:
    """Give what one execution of each node adds; a Command of a router adds to it, one of a node replaces it."""
    found = {part.task.name: part.task.writes.get("sum", 0) for part in parts(terms)}
    for part in parts(terms):
        if isinstance(part, Fan) and "sum" in part.update:
            found[part.task.name] = part.update["sum"] + (found[part.task.name] if part.kind == "command" else 0)
    return found


@FEWER
@given(programs(SURE), timings())
def test_nothing_is_executed_twice_or_for_nothing(terms: Terms, timing: Timing) -> None:
    run, stage = timed(graph_of(terms), terms, timing)
    assert stage.calls == sum(event.node != START_NODE for event in run.events)


@FEWER
@given(programs(ALL), timings())
def test_causes_form_a_graph_that_the_order_of_events_agrees_with(terms: Terms, timing: Timing) -> None:
    run, _ = timed(graph_of(terms), terms, timing)
    for index, (event, led) in enumerate(zip(run.events, causes(run), strict=True)):
        assert all(0 <= cause < index for cause in led)
        assert bool(led) == (index > 0)
        for cause in led:
            here, there = path_of(event.branch), path_of(run.events[cause].branch)
            shared = min(len(here), len(there))
            assert here[:shared] == there[:shared]
    if run.ended:
        followed = set().union(*causes(run))
        assert followed == set(range(len(run.events) - 1))


# --- failures and conflicts ---------------------------------------------------------------------------------------


@FEWER
@given(programs(FAILING), timings(), timings())
@example(FAILURE_IN_AN_INNER_FORK, turns(None), turns(0))
def test_of_several_failures_the_first_declared_is_told(terms: Terms, one: Timing, other: Timing) -> None:
    graph = graph_of(terms)
    outcome = Outcome(terms, NO_LIMIT)
    for timing in (one, other):
        run, _ = timed(graph, terms, timing)
        same_run(run, outcome)
        assert run.ended or run.failed_at == outcome.error.node


@FEWER
@given(programs(CONFLICTS), timings())
def test_two_branches_that_write_one_plain_key_are_always_found_out(terms: Terms, timing: Timing) -> None:
    graph = graph_of(terms)
    same_run(in_a_loop(lambda: graph.arun(check=False)), Outcome(terms, NO_LIMIT))
    run, _ = timed(graph, terms, timing)
    same_run(run, Outcome(terms, NO_LIMIT, seen_in(run)))


# --- limits -------------------------------------------------------------------------------------------------------


@FEWER
@given(programs(WELL), timings())
@example(ONE_JOIN_FOR_TWO_FORKS, turns(None))
@example(FORK_LATE_IN_A_BRANCH, turns(None))
def test_the_limit_is_the_number_of_executions_that_count(terms: Terms, timing: Timing) -> None:
    graph = graph_of(terms)
    winners = Outcome(terms, NO_LIMIT).winners
    total = len(Outcome(terms, NO_LIMIT).events)
    assert timed(graph, terms, timing, winners=winners, recursion_limit=total)[0].ended
    assert in_a_loop(lambda: graph.arun(winners=winners, recursion_limit=total)).ended
    short = Outcome(terms, total - 1, forced_by(Outcome(terms, NO_LIMIT)), forced=True)
    run, _ = timed(graph, terms, timing, winners=winners, recursion_limit=total - 1)
    assert run.stop == "limit"
    same_run(run, short)


@FEWER
@given(programs(ALL), timings(), st.integers(1, 30))
@example(ONE_JOIN_FOR_TWO_FORKS, turns(None), 3)
def test_a_run_stops_at_its_limit_where_the_oracle_does(terms: Terms, timing: Timing, limit: int) -> None:
    graph = graph_of(terms)
    same_run(in_a_loop(lambda: graph.arun(check=False, recursion_limit=limit)), Outcome(terms, limit))
    run, _ = timed(graph, terms, timing, recursion_limit=limit)
    same_run(run, Outcome(terms, limit, seen_in(run)))


# --- the pure step by hand ----------------------------------------------------------------------------------------


def under_way(place: Place) -> list[str]:
    """Give the branches whose nodes are being executed and that something waits for."""
    if isinstance(place, Position):
        return [place.branch] if place.status == "running" else []
    found: list[str] = []
    for child in place.children:
        if child.failure is not None:
            if place.wait == "all_of":
                break
            continue
        found += under_way(child.place)
    return found


def tokens(place: Place, state: Mapping[str, Any], last: Mapping[str, str]) -> list[str]:
    """Give what every execution that counts has written, in order of declaration; the last move may be still to come.

    Args:
        place: where the run, or a branch of it, stands.
        state: what is seen there.
        last: the branch that moves last -> what it writes.
    """
    found = list(state["token"])
    if isinstance(place, Position):
        return [*found, last[place.branch]] if place.branch in last else found
    for child in place.children[: 1 if place.wait == "any_of" else None]:
        found += tokens(child.place, child.state, last)[len(state["token"]) :]
    return found


def at_most(place: Place) -> None:
    """Hold that no fork has more branches under way than it may."""
    for fork in forks(place):
        busy = sum(bool(under_way(child.place)) for child in fork.children if child.failure is None)
        assert fork.max_concurrency is None or busy <= fork.max_concurrency


@given(programs(ALL), st.randoms(use_true_random=False))
def test_the_pure_step_comes_to_the_same_in_any_order_of_moves(terms: Terms, random: Any) -> None:
    graph = graph_of(terms)
    step = graph.step
    reports = {part.task.name: report_of(part) for part in parts(terms)}
    reports[START_NODE] = lambda state, branch: {}
    views: dict[str, Mapping[str, Any]] = {}
    place: Place
    place, state = step.begin({})
    error: RunError | None = None
    last: dict[str, str] = {}
    while error is None:
        last.clear()
        moves = [*step.enabled(place), *under_way(place)]
        if not moves:
            break
        branch = random.choice(moves)
        node = next(here.node for here in positions(place) if here.branch == branch)
        try:
            if branch not in under_way(place):
                entered = step.enter(place, state, branch)
                views[branch] = entered.view
                if branch:
                    place, state = entered.position, entered.state
                    at_most(place)
                    continue
                reached, held = entered.position, entered.state
            else:
                reached, held = place, state
            try:
                report = reports[node](views[branch], branch)
            except BoomError as boom:
                failed = ActionError("it raised", node=node)
                failed.__cause__ = boom
                place, state = step.fail(reached, held, branch, failed)
            else:
                if node != START_NODE:
                    written = report.update if isinstance(report, Command) else report
                    last[branch] = written["token"][0]
                place, state, event, _ = step.leave(reached, held, report, branch)
                assert event is not None
                assert (event.node, event.branch) == (node, branch)
        except RunError as caught:
            error = caught
    begun = [""] if terms[0].task.name == START_NODE else []
    executed = [token.split("|")[0] for token in tokens(place, state, last if error is not None else {})]
    outcome = Outcome(terms, NO_LIMIT, led_by([*begun, *executed], error.branch if error is not None else ""))
    same_error(error, outcome)
    assert plain(state) == outcome.state
    if error is None:
        assert (place.node, step.enabled(place)) == (END, ())


# --- streams ------------------------------------------------------------------------------------------------------


def streamed(graph: CompiledGraph, pauses: Sequence[int] = (0,)) -> tuple[list[tuple[str, str]], RunError | None]:
    """Collect a stream; the one who reads it takes their time."""

    async def main() -> tuple[list[tuple[str, str]], RunError | None]:
        found: list[tuple[str, str]] = []
        try:
            async for step in graph.astream():
                assert step.index == len(found)
                found.append((step.event.branch, step.event.node))
                for _ in range(pauses[step.index % len(pauses)]):
                    await asyncio.sleep(0)
        except RunError as error:
            return found, error
        return found, None

    return in_a_loop(main)


@given(programs(ALL))
@example(LOSER_THAT_WAS_SEEN)
def test_a_stream_of_plain_functions_gives_each_execution_as_it_happens(terms: Terms) -> None:
    stage = Stage(Timing((None,), (0,), (False,)))
    graph = graph_of(terms).with_actions(actions_of(terms, stage.act))
    found, error = streamed(graph)
    assert [each for each in found if each[1] != START_NODE] == stage.done
    outcome = Outcome(terms, NO_LIMIT)
    same_error(error, outcome)
    assert Counter((event.branch, event.node) for event in outcome.events) <= Counter(found)
    if not outcome.wins and error is None:
        assert found == [(event.branch, event.node) for event in outcome.events]
    again: list[tuple[str, str]] = []
    try:
        again += [(step.event.branch, step.event.node) for step in graph.stream()]
    except RunError as caught:
        again += found[len(again) :] if str(caught) == str(error) else []
    assert again == found


@FEWER
@given(programs(SURE), timings(plain=False), st.lists(st.integers(0, 3), min_size=1, max_size=3))
def test_a_stream_gives_all_executions_of_the_run_in_order_of_completion(
    terms: Terms, timing: Timing, pauses: list[int]
) -> None:
    graph = graph_of(terms)
    run, _ = timed(graph, terms, timing)
    stage = Stage(timing)
    found, error = streamed(graph.with_actions(actions_of(terms, stage.act)), pauses)
    assert error is None
    assert [each for each in found if each[1] != START_NODE] == stage.done
    assert Counter(found) == Counter((event.branch, event.node) for event in run.events)
    assert stage.overlaps == []


@FEWER
@given(programs(ALL), timings(), st.integers(0, 12))
@example((fan("s", work("a"), work("b")), *work("last")), turns(0, 0, 8), 1)
def test_a_stream_that_is_given_up_leaves_nothing_behind(terms: Terms, timing: Timing, count: int) -> None:
    stage = Stage(timing)
    graph = graph_of(terms).with_actions(actions_of(terms, stage.act))

    async def main() -> None:
        stream = graph.astream()
        try:
            async for step in stream:
                if step.index == count:
                    break
        except RunError:
            pass
        await stream.aclose()
        assert not stage.running

    in_a_loop(main)


@FEWER
@given(programs(ALL), timings(), st.integers(0, 40))
def test_a_run_that_is_cancelled_leaves_nothing_behind(terms: Terms, timing: Timing, turns: int) -> None:
    stage = Stage(timing)
    graph = graph_of(terms).with_actions(actions_of(terms, stage.act))

    async def main() -> None:
        task = asyncio.ensure_future(graph.arun(check=False))
        for _ in range(turns):
            await asyncio.sleep(0)
        ended = task.done()
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            assert not ended
        assert not stage.running

    in_a_loop(main)
