"""Sync and async actions mix freely, in plain code, in a coroutine and in a notebook."""

import asyncio
import contextvars
import functools
import signal
import threading
import time
import types
from collections.abc import Callable, Generator
from typing import Any

import pytest
from loopgraph import loop, named, named_async, single

from diagnosis.runtime import ActionError, CompiledGraph, InputError, LimitError, ReportError, RunConfig

MIXED = {"a": named_async("a"), "c": named_async("c")}


def from_plain_code(graph: CompiledGraph, *args: Any, **options: Any) -> Any:
    return graph.run(*args, **options)


def from_a_coroutine(graph: CompiledGraph, *args: Any, **options: Any) -> Any:
    return asyncio.run(graph.arun(*args, **options))


def inside_a_running_loop(graph: CompiledGraph, *args: Any, **options: Any) -> Any:
    async def cell() -> Any:
        return graph.run(*args, **options)

    return asyncio.run(cell())


WAYS = [from_plain_code, from_a_coroutine, inside_a_running_loop]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("actions", [{}, MIXED, {name: named_async(name) for name in "abc"}])
def test_a_run_is_the_same_however_it_is_started(way: Callable[..., Any], actions: dict[str, Any]) -> None:
    run, expected = way(loop(6, actions=actions)), loop(6).run()
    assert (run.path, run.events, run.states, run.reports) == (
        expected.path,
        expected.events,
        expected.states,
        expected.reports,
    )


@pytest.mark.parametrize("way", WAYS)
def test_arguments_and_errors_are_the_same_however_it_is_started(way: Callable[..., Any]) -> None:
    graph = loop(6, actions=MIXED)
    assert way(graph, {"n": 3}).path == ("a", "b", "c")
    assert way(graph, config=RunConfig("t")).config.thread_id == "t"
    with pytest.raises(InputError):
        way(graph, {"zz": 1})
    with pytest.raises(LimitError) as caught:
        way(graph, recursion_limit=4)
    assert caught.value.path == ("a", "b", "c", "a")
    assert way(graph, recursion_limit=4, check=False).stop == "limit"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "raised", [ValueError("x"), StopIteration("x"), asyncio.CancelledError("x"), TimeoutError("x")]
)
def test_an_error_after_waiting_is_an_error_of_the_action(way: Callable[..., Any], raised: BaseException) -> None:
    async def action(state: Any) -> Any:
        await asyncio.sleep(0)
        raise raised

    with pytest.raises(ActionError) as caught:
        way(loop(actions={"b": action}))
    assert caught.value.path == ("a",)
    assert caught.value.state == {"n": 1, "events": ["a"]}
    name = "RuntimeError: coroutine raised StopIteration" if isinstance(raised, StopIteration) else None
    assert str(caught.value) == f"node 'b', attempt 1, raised {name or type(raised).__name__ + ': x'}"


@pytest.mark.parametrize("way", WAYS)
def test_what_an_action_waits_for_is_really_waited_for(way: Callable[..., Any]) -> None:
    async def action(state: Any) -> Any:
        await asyncio.sleep(0.01)
        async with asyncio.timeout(1):
            await asyncio.gather(asyncio.sleep(0), asyncio.sleep(0))
        return {"a": "waited"}

    assert way(single(action)).state["a"] == "waited"


class Awaited:
    def __await__(self) -> Generator[Any, None, dict[str, Any]]:
        yield from asyncio.sleep(0).__await__()
        return {"a": 1}


@types.coroutine
def old_style(state: Any) -> Generator[Any, None, dict[str, Any]]:
    yield
    return {"a": 1}


class AsyncCallable:
    async def __call__(self, state: Any) -> dict[str, Any]:
        return {"a": 1}


async def with_value(state: Any, value: int) -> dict[str, Any]:
    return {"a": value}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "action",
    [
        lambda state: Awaited(),
        old_style,
        AsyncCallable(),
        functools.partial(with_value, value=1),
        lambda s: with_value(s, 1),
    ],
)
def test_anything_that_can_be_awaited_is_awaited(way: Callable[..., Any], action: Callable[..., Any]) -> None:
    assert way(single(action)).state["a"] == 1


def test_futures_and_tasks_are_awaited_in_the_running_loop() -> None:
    async def main() -> None:
        def future(state: Any) -> Any:
            made = asyncio.get_running_loop().create_future()
            made.get_loop().call_soon(made.set_result, {"a": 1})
            return made

        def task(state: Any) -> Any:
            return asyncio.create_task(with_value(state, 2))

        assert (await single(future).arun()).state["a"] == 1
        assert (await single(task).arun()).state["a"] == 2

    asyncio.run(main())


def test_a_future_that_was_cancelled_by_others_is_an_error_of_the_action() -> None:
    async def main() -> None:
        def future(state: Any) -> Any:
            made = asyncio.get_running_loop().create_future()
            made.cancel()
            return made

        with pytest.raises(ActionError, match="raised CancelledError"):
            await single(future).arun()

    asyncio.run(main())


def test_cancelling_a_run_cancels_its_action_and_is_no_error_of_the_run() -> None:
    seen: list[str] = []

    async def action(state: Any) -> Any:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def main() -> None:
        task = asyncio.create_task(single(action).arun(check=False))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await single(action).arun()

    asyncio.run(main())
    assert seen == ["cancelled", "cancelled"]


def test_many_runs_of_one_graph_go_on_at_the_same_time() -> None:
    async def action(state: Any) -> dict[str, Any]:
        await asyncio.sleep(0)
        return named("b")(state)

    async def main() -> None:
        graph = loop(30, actions={"b": action})
        runs = await asyncio.gather(*(graph.arun({"events": [str(i)]}) for i in range(20)))
        for i, run in enumerate(runs):
            assert run.state["events"] == [str(i), *"abc" * 10]

    asyncio.run(main())


def test_actions_see_the_context_of_the_caller() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="none")

    async def action(state: Any) -> dict[str, Any]:
        return {"a": variable.get()}

    for way in WAYS:
        variable.set("outer")
        assert way(single(action)).state["a"] == "outer"


def test_plain_code_without_async_actions_makes_no_loop_and_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("not needed")

    monkeypatch.setattr(asyncio, "Runner", refuse)
    monkeypatch.setattr("diagnosis.runtime.waiting.ThreadPoolExecutor", refuse)
    assert from_plain_code(loop(6)).ended


def test_a_run_inside_a_loop_leaves_no_thread_behind() -> None:
    before = threading.active_count()
    for _ in range(3):
        assert inside_a_running_loop(loop(6, actions=MIXED)).ended
    assert threading.active_count() == before


def test_a_sync_run_inside_a_run_inside_a_loop_works() -> None:
    inner = loop(3, actions=MIXED)

    async def action(state: Any) -> dict[str, Any]:
        return {"a": inner.run().path}

    for way in WAYS:
        assert way(single(action)).state["a"] == ("a", "b", "c")


def test_an_async_action_that_gives_no_mapping_is_refused() -> None:
    async def action(state: Any) -> Any:
        return None

    with pytest.raises(ReportError, match="node 'only' returned NoneType, not a mapping"):
        single(action).run()


def in_a_notebook(graph: CompiledGraph) -> Any:
    async def cell() -> Any:
        # A notebook's kernel lets an interrupt raise, where asyncio.run would only ask the task to stop.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return graph.run()

    return asyncio.run(cell())


@pytest.mark.parametrize("way", [from_plain_code, in_a_notebook])
def test_an_interrupt_ends_the_waiting(way: Callable[..., Any]) -> None:
    cancelled = threading.Event()

    async def action(state: Any) -> Any:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    main = threading.main_thread().ident or 0
    interrupt = threading.Timer(0.2, lambda: signal.pthread_kill(main, signal.SIGINT))
    interrupt.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        way(single(action))
    assert time.monotonic() - start < 10
    assert cancelled.is_set()


def test_an_interrupt_inside_an_async_action_passes_through() -> None:
    async def action(state: Any) -> Any:
        raise KeyboardInterrupt

    for way in WAYS:
        with pytest.raises(KeyboardInterrupt):
            way(single(action), check=False)


def test_no_coroutine_is_left_unawaited(recwarn: pytest.WarningsRecorder) -> None:
    for way in WAYS:
        with pytest.raises(LimitError):
            way(loop(6, actions=MIXED), recursion_limit=4)
    assert [str(warning.message) for warning in recwarn.list] == []
