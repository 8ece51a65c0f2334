"""A branch that fails stops the run, or merely loses, and in either case timing does not decide with which error."""

import asyncio
import gc
import itertools
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from forkgraph import (
    ANY,
    ORDERS,
    WAYS,
    Action,
    Turns,
    Watch,
    diamond,
    drawn,
    fails,
    from_a_coroutine,
    in_turn,
    laps,
    log_of,
    says,
    waits,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnosis.runtime import (
    END,
    ActionError,
    CompiledGraph,
    Fork,
    Forked,
    JoinError,
    Replace,
    RunError,
    UnmappedRouteError,
)

# --- branches that fail -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("failing", ["a", "b", "c", "ab", "ac", "bc", "abc"])
def test_the_failure_that_is_declared_first_stops_the_run_whatever_comes_first(
    way: Callable[..., Any], order: tuple[str, ...], failing: str
) -> None:
    graph = diamond(in_turn(order, {name: fails(name) for name in failing}))
    with pytest.raises(ActionError) as caught:
        way(graph)
    error, first = caught.value, failing[0]
    assert str(error) == f"node {first!r}, attempt 1, raised ValueError: {first} failed"
    assert (error.node, error.branch, error.attempt) == (first, f"{first}[{'abc'.index(first)}]", 1)
    assert error.path == ("plan", *"abc"[: "abc".index(first)])
    # Nothing that a branch wrote is merged.
    assert error.state == {"log": ["plan"]}


@pytest.mark.parametrize("way", WAYS)
def test_a_failure_cancels_the_branches_declared_after_it_and_waits_for_those_before(way: Callable[..., Any]) -> None:
    watch = Watch()

    async def slow(state: Any) -> Any:
        async with asyncio.timeout(30):
            while not watch.cleaned:
                await asyncio.sleep(0)
        return {"log": ["a"]}

    actions = {"a": slow, "b": fails("b", 3), "c": watch.stuck("c")}
    run = way(diamond(actions), check=False)
    assert (watch.begun, watch.cleaned) == (["c"], ["c"])
    assert run.stop == "error"
    assert run.failed_at == "b"
    assert run.path == ("plan", "a")
    assert [event.after for event in run.events] == [(), (0,)]
    assert run.state == {"log": ["plan"]}
    assert type(run.position) is Forked
    assert [(child.branch, child.ended) for child in run.position.children][:2] == [("a[0]", True), ("b[1]", True)]


@pytest.mark.parametrize("way", WAYS)
def test_a_failure_in_a_nested_fork_is_a_failure_of_the_branch_around_it(way: Callable[..., Any]) -> None:
    watch = Watch()
    lines = ("plan -> a b", "a -> x y", "x -> meet", "y -> meet", "meet -> join", "b -> join", "join -> END")
    actions = {"x": waits("x", 3), "y": fails("y", 1), "b": watch.stuck("b")}
    with pytest.raises(ActionError) as caught:
        way(drawn(*lines, actions=actions).compile())
    assert (caught.value.node, caught.value.branch) == ("y", "y[0][1]")
    assert caught.value.path == ("plan", "a", "x")
    assert watch.cleaned == ["b"]


def test_plain_actions_after_a_failure_are_not_called() -> None:
    called: list[str] = []

    def notes(name: str) -> Action:
        return lambda state: called.append(name) or {}

    graph = diamond({"a": notes("a"), "b": fails("b"), "c": notes("c"), "join": notes("join")})
    with pytest.raises(ActionError):
        graph.run()
    assert called == ["a"]


@pytest.mark.parametrize(
    ("action", "kind"),
    [
        (lambda state: {"zz": 1}, "UndeclaredKeyError"),
        (lambda state: 5, "ReportError"),
        (lambda state: {"log": "text"}, "ReportError"),
        (lambda state: {"log": [object()]}, "ReportError"),
    ],
)
def test_a_report_that_is_refused_is_a_failure_of_its_branch(action: Action, kind: str) -> None:
    for order in (("a", "b"), ("b", "a")):
        turns = Turns(order)
        lines = ("plan -> a b", "a -> join", "b -> join", "join -> END")
        actions = {"a": turns.after("a", action), "b": turns.after("b", fails("b"))}
        with pytest.raises(RunError) as caught:
            drawn(*lines, actions=actions).compile().run()
        assert (type(caught.value).__name__, caught.value.node, caught.value.branch) == (kind, "a", "a[0]")


def test_a_decision_that_fails_in_a_branch_is_a_failure_of_its_branch() -> None:
    graph = drawn("plan -> a b", "b -> join", "join -> END")
    graph.add_conditional_edges("a", lambda state: "nowhere", {"on": "join"})
    with pytest.raises(UnmappedRouteError, match="the router of node 'a' gave 'nowhere'") as caught:
        graph.compile().run()
    assert caught.value.branch == "a[0]"
    assert caught.value.path == ("plan",)


def test_a_coroutine_that_is_not_needed_any_more_is_never_left_unawaited(recwarn: pytest.WarningsRecorder) -> None:
    for way in WAYS:
        with pytest.raises(ActionError):
            way(diamond({"a": waits("a"), "b": waits("b"), "c": fails("c")}))
        with pytest.raises(ActionError):
            way(diamond({"a": fails("a"), "b": waits("b"), "c": waits("c")}))
        fork = Fork(wait="any_of")
        assert way(diamond({"a": waits("a"), "b": says("b"), "c": waits("c")}, fork)).ended
        with pytest.raises(ActionError):
            way(diamond({name: fails(name, n) for n, name in enumerate("abc")}, fork))
    gc.collect()
    assert [str(warning.message) for warning in recwarn] == []


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("wait", ["all_of", "any_of"])
def test_an_error_that_loses_against_another_is_not_complained_about(
    way: Callable[..., Any], wait: Any, caplog: pytest.LogCaptureFixture
) -> None:
    for times in itertools.product(range(3), repeat=3):
        actions = {name: fails(name, n) for name, n in zip("abc", times, strict=True)}
        assert way(diamond(actions, Fork(wait=wait)), check=False).failed_at == "a"
        actions["b"] = waits("b", times[1])
        assert way(diamond(actions, Fork(wait=wait)), check=False).ended is (wait == "any_of")
    gc.collect()
    assert caplog.messages == []


# --- the first branch that ends ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("winner", ["a", "b", "c"])
def test_the_first_branch_that_ends_wins_and_the_others_are_cancelled(way: Callable[..., Any], winner: str) -> None:
    watch = Watch()
    actions = {name: waits(name, 2) if name == winner else watch.stuck(name) for name in "abc"}
    run = way(diamond(actions, ANY))
    assert log_of(run) == ["plan", winner, "join"]
    assert run.path == ("plan", winner, "join")
    assert [event.after for event in run.events] == [(), (0,), (1,)]
    assert run.events[1].branch == f"{winner}[{'abc'.index(winner)}]"
    assert sorted(watch.cleaned) == sorted(watch.begun) == sorted(set("abc") - {winner})


@pytest.mark.parametrize("way", WAYS)
def test_a_branch_that_fails_merely_loses_where_another_ends_well(way: Callable[..., Any]) -> None:
    run = way(diamond({"a": fails("a"), "b": fails("b", 1), "c": waits("c", 3)}, ANY))
    assert log_of(run) == ["plan", "c", "join"]
    assert run.ended
    assert run.path == ("plan", "c", "join")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("order", ORDERS)
def test_where_all_branches_fail_the_first_declared_error_stops_the_run(
    way: Callable[..., Any], order: tuple[str, ...]
) -> None:
    with pytest.raises(ActionError) as caught:
        way(diamond(in_turn(order, {name: fails(name) for name in "abc"}), ANY))
    assert str(caught.value) == "node 'a', attempt 1, raised ValueError: a failed"
    assert caught.value.branch == "a[0]"
    assert caught.value.path == ("plan",)


def test_with_plain_actions_the_first_declared_branch_that_does_not_fail_wins() -> None:
    called: list[str] = []

    def notes(name: str) -> Action:
        return lambda state: called.append(name) or {"log": [name]}

    run = diamond({"a": fails("a"), "b": notes("b"), "c": notes("c")}, ANY).run()
    assert log_of(run) == ["plan", "b", "join"]
    assert called == ["b"]


@pytest.mark.parametrize("way", WAYS)
def test_what_losers_wrote_before_and_their_events_are_dropped(way: Callable[..., Any]) -> None:
    lines = ("plan -> a b", "a -> x", "x -> join", "b -> join", "join -> END")
    turns = Turns(["a", "b", "x"])
    actions = {name: turns.after(name, says(name, k=name)) for name in "abx"}
    run = way(drawn(*lines, actions=actions, keys={"k": Replace()}, forks={"plan": ANY}).compile())
    assert run.state == {"log": ["plan", "b", "join"], "k": "b"}
    assert run.path == ("plan", "b", "join")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("late", ["value", "error", "swallow"])
def test_a_loser_that_does_not_give_up_at_once_is_waited_for_and_its_result_dropped(
    way: Callable[..., Any], late: str
) -> None:
    ended: list[str] = []

    async def stubborn(state: Any) -> Any:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0.001)
            ended.append("a")
            if late == "error":
                raise ValueError("too late") from None
            if late == "value":
                return {"log": ["a"]}
            raise
        return {}

    def join(state: Any) -> Any:
        assert ended == ["a"]
        return {"log": ["join"]}

    lines = ("plan -> a b", "a -> join", "b -> join", "join -> END")
    actions = {"a": stubborn, "b": waits("b"), "join": join}
    run = way(drawn(*lines, actions=actions, forks={"plan": ANY}).compile())
    assert log_of(run) == ["plan", "b", "join"]


def test_a_branch_that_is_routed_to_end_may_win() -> None:
    graph = drawn("plan -> a b", "b -> join", "join -> END", forks={"plan": Fork(join="join", wait="any_of")})
    graph.add_conditional_edges("a", lambda state: "end", {"on": "join", "end": END})
    assert log_of(graph.compile().run()) == ["plan", "a", "join"]


def test_two_branches_of_any_of_may_write_the_same_key() -> None:
    lines = ("plan -> a b", "a -> join", "b -> join", "join -> END")
    actions = {name: says(name, k=name) for name in "ab"}
    graph = drawn(*lines, keys={"k": Replace()}, actions=actions, forks={"plan": ANY}).compile()
    assert graph.run().state["k"] == "a"
    assert graph.run(winners={"plan": ["b[1]"]}).state["k"] == "b"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("winner", ["a", "b", "c"])
def test_who_wins_can_be_said_beforehand_and_nobody_else_is_executed(way: Callable[..., Any], winner: str) -> None:
    watch = Watch()
    actions = {name: waits(name, 2) if name == winner else watch.stuck(name) for name in "abc"}
    run = way(diamond(actions, ANY), winners={"plan": [f"{winner}[{'abc'.index(winner)}]"]})
    assert log_of(run) == ["plan", winner, "join"]
    assert watch.begun == []


def test_winners_are_said_for_each_time_that_a_fork_opens() -> None:
    graph = laps(drawn("plan -> a b", "a -> join", "b -> join", forks={"plan": ANY}), "join", "plan", 4).compile()
    run = graph.run(winners={"plan": ["b[1]", "a[0]", "b[1]"], "elsewhere": ["x[0]"]})
    # Nothing is said for the fourth time.
    assert [node for node in run.path if node in "ab"] == ["b", "a", "b", "a"]


def test_a_winner_that_fails_stops_the_run() -> None:
    graph = diamond({"b": fails("b")}, ANY)
    with pytest.raises(ActionError, match="b failed"):
        graph.run(winners={"plan": ["b[1]"]})
    assert graph.run().path == ("plan", "a", "join")


def test_a_winner_is_a_branch_of_the_fork() -> None:
    with pytest.raises(JoinError) as caught:
        diamond(fork=ANY).run(winners={"plan": ["d[3]"]})
    assert str(caught.value) == ("the fork at 'plan' is to be won by 'd[3]'; its branches are 'a[0]', 'b[1]', 'c[2]'")
    assert caught.value.path == ("plan",)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=7, max_size=7))
def test_timing_decides_the_winner_and_nothing_else(times: list[int]) -> None:
    names = ("plan", "a", "x", "y", "meet", "b", "c")
    lines = ("plan -> a b c", "a -> x y", "x -> meet", "y -> meet", "meet -> join", "b -> join", "c -> join")
    forks = {"plan": ANY, "a": Fork(wait="any_of")}

    def made(actions: Mapping[str, Action]) -> CompiledGraph:
        return laps(drawn(*lines, actions=actions, forks=forks), "join", "plan", 2).compile()

    run = from_a_coroutine(made({name: waits(name, n) for name, n in zip(names, times, strict=True)}))
    outer, inner = [], []
    for event in run.events:
        if event.node in ("a", "b", "c"):
            outer.append(event.branch)
        if event.node in ("x", "y"):
            inner.append(event.branch)
    again = made({}).run(winners={"plan": outer, "a[0]": inner})
    assert (again.events, again.states, again.state) == (run.events, run.states, run.state)


@pytest.mark.parametrize("way", WAYS)
def test_an_action_that_is_dropped_before_it_began_is_no_coroutine_left_unawaited(
    way: Callable[..., Any], recwarn: pytest.WarningsRecorder
) -> None:
    # While y is being cancelled, b wins the outer fork; the action of meet has just been called.
    begun: list[str] = []
    waited: list[asyncio.Event] = []

    async def slow_to_stop(state: Any) -> Any:
        waited[:] = [asyncio.Event(), asyncio.Event()]
        try:
            await asyncio.Event().wait()
        finally:
            waited[0].set()
            await waited[1].wait()

    async def second(state: Any) -> Any:
        await asyncio.sleep(0)
        await waited[0].wait()
        waited[1].set()
        return {"log": ["b"]}

    async def meet(state: Any) -> Any:
        begun.append("meet")
        await asyncio.Event().wait()

    lines = ("plan -> a b", "a -> x y", "x -> meet", "y -> meet", "meet -> join", "b -> join", "join -> END")
    actions = {"x": waits("x", 2), "y": slow_to_stop, "b": second, "meet": meet}
    run = way(drawn(*lines, actions=actions, forks={"plan": ANY, "a": ANY}).compile())
    assert log_of(run) == ["plan", "b", "join"]
    gc.collect()
    assert [str(warning.message) for warning in recwarn] == []
