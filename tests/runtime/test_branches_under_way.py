"""How many branches are under way at once, how many nodes they may execute, and what is left when a run ends early."""

import asyncio
import contextvars
import gc
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest
from forkgraph import (
    ANY,
    WAYS,
    Action,
    Watch,
    diamond,
    drawn,
    fails,
    laps,
    log_of,
    says,
    settled_tasks,
    waits,
)

from diagnosis.runtime import (
    ActionError,
    CompiledGraph,
    Condition,
    Decision,
    Fork,
    LimitError,
    Replace,
    Rule,
    Run,
)

# --- how many at once -------------------------------------------------------------------------------------------------


class Counting:
    """How many actions are under way, and the most there ever were."""

    def __init__(self) -> None:
        self.now = self.most = 0

    def action(self, name: str, times: int) -> Action:
        async def action(state: Any) -> dict[str, Any]:
            self.now += 1
            self.most = max(self.most, self.now)
            for _ in range(times):
                await asyncio.sleep(0)
            self.now -= 1
            return {"log": [name]}

        return action


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("most", "expected"), [(None, 8), (1, 1), (3, 3), (8, 8), (50, 8)])
def test_so_many_branches_are_under_way_at_once(way: Callable[..., Any], most: int | None, expected: int) -> None:
    count = Counting()
    names = [f"n{number}" for number in range(8)]
    actions = {name: count.action(name, 1 + number * 3 % 5) for number, name in enumerate(names)}
    lines = (f"plan -> {' '.join(names)}", *(f"{name} -> join" for name in names), "join -> END")
    run = way(drawn(*lines, actions=actions, forks={"plan": Fork(max_concurrency=most)}).compile())
    assert count.most == expected
    assert log_of(run) == ["plan", *names, "join"]


@pytest.mark.parametrize("way", WAYS)
def test_a_place_is_free_when_its_branch_has_ended_not_its_first_node(way: Callable[..., Any]) -> None:
    order: list[str] = []

    def notes(name: str) -> Action:
        async def action(state: Any) -> dict[str, Any]:
            order.append(name)
            await asyncio.sleep(0)
            return {"log": [name]}

        return action

    lines = ("plan -> a b c", "a -> x", "x -> join", "b -> y", "y -> join", "c -> join", "join -> END")
    actions = {name: notes(name) for name in "axbyc"}
    way(drawn(*lines, actions=actions, forks={"plan": Fork(max_concurrency=1)}).compile())
    assert order == ["a", "x", "b", "y", "c"]


@pytest.mark.parametrize("way", WAYS)
def test_any_of_goes_on_with_the_next_branch_where_only_so_many_may_be_under_way(way: Callable[..., Any]) -> None:
    watch = Watch()
    actions = {"a": fails("a", 2), "b": waits("b", 2), "c": watch.stuck("c")}
    run = way(diamond(actions, Fork(wait="any_of", max_concurrency=1)))
    assert log_of(run) == ["plan", "b", "join"]
    assert watch.begun == []


@pytest.mark.parametrize("way", WAYS)
def test_each_fork_counts_its_own_branches(way: Callable[..., Any]) -> None:
    count = Counting()
    lines = ("plan -> a b", "a -> x1 x2 x3", "b -> y1 y2 y3", *(f"{n}{i} -> m{n}" for n in "xy" for i in (1, 2, 3)))
    lines = (*lines, "mx -> join", "my -> join", "join -> END")
    actions = {name: count.action(name, 3) for name in ("x1", "x2", "x3", "y1", "y2", "y3")}
    forks = {"a": Fork(max_concurrency=2), "b": Fork(max_concurrency=1)}
    run = way(drawn(*lines, actions=actions, forks=forks).compile())
    assert count.most == 3
    assert log_of(run) == ["plan", "a", "x1", "x2", "x3", "mx", "b", "y1", "y2", "y3", "my", "join"]


# --- ending early -----------------------------------------------------------------------------------------------------


def test_cancelling_a_run_cancels_every_branch_and_waits_for_them() -> None:
    watch = Watch()
    lines = ("plan -> a b", "a -> x y", "x -> meet", "y -> meet", "meet -> join", "b -> join", "join -> END")
    graph = drawn(*lines, actions={name: watch.stuck(name) for name in "xyb"}).compile()

    async def main() -> None:
        task = asyncio.create_task(graph.arun())
        while len(watch.begun) < 3:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert sorted(watch.cleaned) == ["b", "x", "y"]
        await settled_tasks()

    asyncio.run(main())


def test_a_timeout_around_a_run_ends_its_branches() -> None:
    watch = Watch()
    graph = diamond({"a": watch.stuck("a"), "c": watch.stuck("c")})

    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await graph.arun()
        assert sorted(watch.cleaned) == ["a", "c"]
        await settled_tasks()

    asyncio.run(main())


def test_an_action_that_cancels_itself_fails_and_the_run_is_not_cancelled() -> None:
    async def gives_up(state: Any) -> Any:
        await asyncio.sleep(0)
        raise asyncio.CancelledError

    for way in WAYS:
        with pytest.raises(ActionError, match="node 'b', attempt 1, raised CancelledError"):
            way(diamond({"b": gives_up}))
        assert way(diamond({"b": gives_up, "a": waits("a", 9)}, ANY)).path[1] == "c"


def test_a_run_leaves_no_task_behind_however_it_ends() -> None:
    watch = Watch()

    async def main() -> None:
        assert (await diamond({name: waits(name) for name in "abc"}).arun()).ended
        await settled_tasks()
        with pytest.raises(ActionError):
            await diamond({"a": fails("a", 2), "b": watch.stuck("b"), "c": watch.stuck("c")}).arun()
        await settled_tasks()
        assert (await diamond({"a": waits("a", 2), "b": watch.stuck("b"), "c": watch.stuck("c")}, ANY).arun()).ended
        await settled_tasks()
        with pytest.raises(LimitError):
            await diamond({"b": watch.stuck("b"), "c": watch.stuck("c")}).arun(recursion_limit=1)
        await settled_tasks()
        assert watch.begun == watch.cleaned

    asyncio.run(main())


def test_an_async_stream_may_be_closed_while_branches_run(recwarn: pytest.WarningsRecorder) -> None:
    watch = Watch()
    graph = diamond({"a": says("a"), "b": waits("b", 2), "c": watch.stuck("c")})

    async def main() -> None:
        stream = graph.astream()
        async for step in stream:
            if step.event.node == "b":
                break
        await stream.aclose()
        await asyncio.sleep(0)
        assert watch.cleaned == ["c"]
        await settled_tasks()

    asyncio.run(main())
    gc.collect()
    assert [str(warning.message) for warning in recwarn] == []


@pytest.mark.parametrize("inside", [False, True])
def test_a_stream_may_be_closed_while_branches_run(inside: bool, recwarn: pytest.WarningsRecorder) -> None:
    watch = Watch()
    graph = diamond({"a": says("a"), "b": waits("b", 2), "c": watch.stuck("c")})

    def broken_off() -> None:
        before = threading.active_count()
        stream = graph.stream()
        for step in stream:
            if step.event.node == "b":
                break
        stream.close()  # type: ignore[attr-defined]
        assert watch.cleaned == ["c"]
        assert threading.active_count() == before

    async def cell() -> None:
        broken_off()

    if inside:
        asyncio.run(cell())
    else:
        broken_off()
    gc.collect()
    assert [str(warning.message) for warning in recwarn] == []


def test_a_stream_closed_before_an_action_began_leaves_no_coroutine_unawaited(recwarn: pytest.WarningsRecorder) -> None:
    async def main() -> None:
        stream = diamond({"a": waits("a"), "b": says("b"), "c": waits("c")}).astream()
        async for step in stream:
            if step.event.node == "b":
                break
        await stream.aclose()
        await asyncio.sleep(0)
        await settled_tasks()

    asyncio.run(main())
    for step in diamond({"a": waits("a"), "b": says("b"), "c": waits("c")}).stream():
        if step.event.node == "b":
            break
    gc.collect()
    assert [str(warning.message) for warning in recwarn] == []


def test_cancelling_the_reader_of_an_async_stream_cancels_every_branch() -> None:
    watch = Watch()
    graph = diamond({"b": watch.stuck("b"), "c": watch.stuck("c")})

    async def reads() -> None:
        async for _ in graph.astream():
            pass

    async def main() -> None:
        task = asyncio.create_task(reads())
        while len(watch.begun) < 2:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert sorted(watch.cleaned) == ["b", "c"]
        await settled_tasks()

    asyncio.run(main())


def test_a_run_that_was_cancelled_can_be_run_again() -> None:
    gate: list[asyncio.Event] = []

    async def waiting(state: Any) -> Any:
        await gate[0].wait()
        return {"log": ["a"]}

    graph = diamond({"a": waiting})

    async def main() -> None:
        gate[:] = [asyncio.Event()]
        task = asyncio.create_task(graph.arun())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        gate[0].set()
        assert log_of(await graph.arun()) == ["plan", "a", "b", "c", "join"]

    asyncio.run(main())


def test_many_runs_with_branches_go_on_at_the_same_time() -> None:
    graph = diamond({name: waits(name, n) for n, name in enumerate("abc")})

    async def main() -> list[Run]:
        return await asyncio.gather(*(graph.arun() for _ in range(20)))

    runs = asyncio.run(main())
    assert {run.path for run in runs} == {("plan", "a", "b", "c", "join")}
    assert all(run.states == runs[0].states for run in runs)


def test_actions_in_branches_see_the_context_of_the_caller() -> None:
    who = contextvars.ContextVar("who", default="nobody")

    async def asks(state: Any) -> Any:
        await asyncio.sleep(0)
        return {"log": [who.get()]}

    graph = diamond({"a": asks, "b": asks, "c": lambda state: {"log": [who.get()]}})
    token = who.set("me")
    try:
        for way in WAYS:
            assert log_of(way(graph)) == ["plan", "me", "me", "me", "join"]
    finally:
        who.reset(token)


# --- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_every_node_of_every_branch_counts_and_exactly_so_many_are_allowed(
    way: Callable[..., Any], asynchronous: bool
) -> None:
    lines = ("plan -> a b", "a -> x", "x -> join", "b -> join", "join -> END")
    actions = {name: waits(name, n) for n, name in enumerate("bxa")} if asynchronous else {}
    graph = drawn(*lines, actions=actions).compile()
    assert way(graph, recursion_limit=5).path == ("plan", "a", "x", "b", "join")

    def stopped(limit: int) -> tuple[str | None, str, tuple[str, ...]]:
        with pytest.raises(LimitError) as caught:
            way(graph, recursion_limit=limit)
        assert f"its recursion limit of {limit} node executions" in str(caught.value)
        assert caught.value.run is not None
        assert caught.value.run.stop == "limit"
        return caught.value.node, caught.value.branch, caught.value.path

    # At 4 and 3 each branch has room, and the total is checked where they meet.
    assert stopped(4) == ("join", "", ("plan", "a", "x", "b"))
    assert stopped(3) == ("join", "", ("plan", "a", "x", "b"))
    # A branch may take what remained at the fork, whatever its siblings take.
    assert stopped(2) == ("x", "a[0]", ("plan", "a"))
    assert stopped(1) == ("a", "a[0]", ("plan",))


def test_an_endless_loop_in_a_branch_stops_there() -> None:
    def graph(fork: Fork | None = None) -> CompiledGraph:
        made = drawn("plan -> a b", "b -> join", "join -> END", forks={"plan": fork or Fork()})
        never = Condition("never", lambda state: False, ())
        rules = Decision([Rule("on", "ON", (never,)), Rule("again", "AGAIN")])
        return made.add_conditional_edges("a", rules, {"again": "a", "on": "join"}).compile(recursion_limit=10)

    with pytest.raises(LimitError) as caught:
        graph().run()
    assert (caught.value.node, caught.value.branch) == ("a", "a[0]")
    assert caught.value.path == ("plan", *["a"] * 9)
    # Under any_of the branch merely loses, and its executions do not count.
    assert log_of(graph(ANY).run()) == ["plan", "b", "join"]


def test_what_losers_executed_spends_no_limit() -> None:
    lines = ("plan -> a b", "a -> x", "x -> y", "y -> join", "b -> join", "join -> END")
    actions = {"y": fails("y")}
    graph = drawn(*lines, actions=actions, forks={"plan": ANY}).compile(recursion_limit=4)
    assert graph.run().path == ("plan", "b", "join")


def test_laps_of_a_fork_add_up() -> None:
    graph = laps(drawn("head -> b c", "b -> join", "c -> join"), "join", "head", 3).compile()
    assert graph.run(recursion_limit=12).stop == "ended"
    run = graph.run(recursion_limit=11, check=False)
    assert (run.stop, len(run.events)) == ("limit", 11)


def test_a_long_loop_around_a_fork_runs_to_its_end() -> None:
    graph = laps(drawn("head -> b c", "b -> join", "c -> join"), "join", "head", 750).compile(recursion_limit=3000)
    assert len(graph.run().events) == 3000


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_in_one_branch_ends_the_others(
    raised: type[BaseException], recwarn: pytest.WarningsRecorder
) -> None:
    def at_once(state: Any) -> Any:
        raise raised

    watch = Watch()
    with pytest.raises(raised):
        diamond({"a": watch.stuck("a"), "b": at_once}).run()
    assert watch.begun == []
    lines = ("plan -> a b", "b -> x", "a -> join", "x -> join", "join -> END")
    with pytest.raises(raised):
        drawn(*lines, actions={"a": watch.stuck("a"), "b": waits("b"), "x": at_once}).compile().run()
    assert watch.begun == watch.cleaned == ["a"]
    gc.collect()
    assert [str(warning.message) for warning in recwarn] == []


def test_an_error_that_the_reader_throws_in_ends_the_branches() -> None:
    watch = Watch()

    async def main() -> None:
        stream = diamond({"b": waits("b", 2), "c": watch.stuck("c")}).astream()
        async for step in stream:
            if step.event.node == "b":
                break
        with pytest.raises(ZeroDivisionError):
            await stream.athrow(ZeroDivisionError())
        await asyncio.sleep(0)
        assert watch.cleaned == ["c"]
        await settled_tasks()

    asyncio.run(main())


@pytest.mark.parametrize("fork", [Fork(), ANY])
def test_a_task_that_an_action_gives_does_not_outlive_the_run(fork: Fork) -> None:
    watch = Watch()

    def gives(name: str) -> Action:
        stuck = watch.stuck(name)
        return lambda state: asyncio.create_task(stuck(state))

    ends = says("b") if fork is ANY else fails("b")

    async def main() -> None:
        actions = {"b": ends, "c": gives("c")} if fork is not ANY else {"a": gives("a"), "b": ends}
        run = await diamond(actions, fork).arun(check=False)
        assert run.ended is (fork is ANY)
        await asyncio.sleep(0)
        await settled_tasks()
        late = waits("b", 3) if fork is ANY else fails("b", 3)
        run = await diamond({"b": late, "c": gives("c"), "a": gives("a") if fork is ANY else says("a")}, fork).arun(
            check=False
        )
        assert run.ended is (fork is ANY)
        await settled_tasks()

    asyncio.run(main())
    assert sorted(watch.cleaned) == sorted(watch.begun)


def test_a_run_that_is_cancelled_twice_still_ends_its_branches() -> None:
    cleaned: list[str] = []

    async def stubborn(state: Any) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.001)
            cleaned.append("b")

    async def main() -> None:
        task = asyncio.create_task(diamond({"b": stubborn}).arun())
        await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    # The second time interrupts the waiting, and perhaps the cleaning up of the branch; nothing hangs.
    assert cleaned in ([], ["b"])


def test_branches_may_be_many_and_deep() -> None:
    names = [f"n{number}" for number in range(300)]
    lines = (f"plan -> {' '.join(names)}", *(f"{name} -> join" for name in names), "join -> END")
    wide = drawn(*lines, actions={name: waits(name, 1) for name in names}).compile(recursion_limit=302)
    assert log_of(wide.run()) == ["plan", *names, "join"]
    depth = 40
    lines = tuple(
        line
        for number in range(depth)
        for line in (
            f"f{number} -> {f'f{number + 1}' if number + 1 < depth else 'core'} s{number}",
            f"s{number} -> j{number}",
            f"{f'j{number + 1}' if number + 1 < depth else 'core'} -> j{number}",
        )
    )
    deep = drawn(*lines, "j0 -> END", actions={"core": waits("core", 3)}).compile(recursion_limit=3 * depth + 1)
    run = deep.run()
    assert len(run.path) == 3 * depth + 1
    assert run.path == drawn(*lines, "j0 -> END").compile(recursion_limit=3 * depth + 1).run().path


@pytest.mark.parametrize("notebook", [False, True])
def test_an_interrupt_from_outside_ends_every_branch(notebook: bool) -> None:
    watch = Watch()
    graph = diamond({name: watch.stuck(name) for name in "abc"})

    async def interrupts(state: Any) -> Any:
        await asyncio.sleep(0.01)
        signal.raise_signal(signal.SIGINT)
        return await watch.stuck("b")(state)

    if notebook:

        async def cell() -> None:
            # The kernel's own thread gets the interrupt; the run waits in another.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            main = threading.main_thread().ident or 0
            threading.Timer(0.05, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
            graph.run()

        with pytest.raises(KeyboardInterrupt):
            asyncio.run(cell())
    else:
        with pytest.raises(KeyboardInterrupt):
            graph.with_actions({"b": interrupts}).run()
    assert sorted(watch.cleaned) == sorted(watch.begun) == ["a", "b", "c"]


def test_many_threads_run_one_graph_with_branches() -> None:
    graph = diamond({name: waits(name, n) for n, name in enumerate("abc")})
    paths: list[Any] = []
    threads = [threading.Thread(target=lambda: paths.append(graph.run().path)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert paths == [("plan", "a", "b", "c", "join")] * 8


def test_an_action_in_a_branch_may_run_a_graph_with_branches() -> None:
    inner = diamond({name: waits(name) for name in "abc"})

    async def runs(state: Any) -> Any:
        return {"log": log_of(await inner.arun())}

    inside = ["plan", "a", "b", "c", "join"]
    for way in WAYS:
        run = way(diamond({"a": lambda state: {"log": log_of(inner.run())}, "b": runs, "c": waits("c")}))
        assert log_of(run) == ["plan", *inside, *inside, "c", "join"]


def test_a_long_loop_in_a_branch_needs_no_stack() -> None:
    for action in (lambda state: {"n": state["n"] + 1}, waits_and_counts):
        graph = drawn("plan -> a b", "b -> join", "join -> END", keys={"n": Replace(initial=0)}, actions={"a": action})
        below = Condition("below", lambda state: state["n"] < 3000, "n")
        rules = Decision([Rule("again", "AGAIN", (below,)), Rule("on", "ON")])
        graph.add_conditional_edges("a", rules, {"again": "a", "on": "join"})
        assert graph.compile(recursion_limit=3003).run().state["n"] == 3000


async def waits_and_counts(state: Any) -> Any:
    return {"n": state["n"] + 1}
