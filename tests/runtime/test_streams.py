"""A stream gives each node execution as it completes, and then raises where the run failed."""

import asyncio
import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from loopgraph import loop, named_async, single

from diagnosis.runtime import ActionError, CompiledGraph, Executed, InputError, LimitError, RunConfig, RunError

MIXED = {"a": named_async("a"), "c": named_async("c")}


def collected(graph: CompiledGraph, *args: Any, **options: Any) -> tuple[list[Executed], RunError | None]:
    steps: list[Executed] = []
    try:
        for step in graph.stream(*args, **options):
            steps.append(step)
    except RunError as error:
        return steps, error
    return steps, None


def collected_async(graph: CompiledGraph, *args: Any, **options: Any) -> tuple[list[Executed], RunError | None]:
    steps: list[Executed] = []

    async def main() -> RunError | None:
        try:
            async for step in graph.astream(*args, **options):
                steps.append(step)
        except RunError as error:
            return error
        return None

    return steps, asyncio.run(main())


def collected_in_a_loop(graph: CompiledGraph, *args: Any, **options: Any) -> tuple[list[Executed], RunError | None]:
    async def cell() -> tuple[list[Executed], RunError | None]:
        return collected(graph, *args, **options)

    return asyncio.run(cell())


WAYS = [collected, collected_async, collected_in_a_loop]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("actions", [{}, MIXED])
def test_a_stream_gives_the_steps_of_the_run(way: Callable[..., Any], actions: dict[str, Any]) -> None:
    steps, error = way(loop(6, actions=actions))
    assert error is None
    assert tuple(steps) == loop(6).run().steps


@pytest.mark.parametrize("way", WAYS)
def test_a_stream_that_fails_gives_what_completed_and_then_raises(way: Callable[..., Any]) -> None:
    steps, error = way(loop(6, actions=MIXED), recursion_limit=4)
    assert [step.event.node for step in steps] == ["a", "b", "c", "a"]
    assert type(error) is LimitError
    assert error.path == ("a", "b", "c", "a")

    async def late(state: Any) -> Any:
        await asyncio.sleep(0)
        raise ValueError("no")

    steps, error = way(loop(6, actions={"b": late}))
    assert [step.event.node for step in steps] == ["a"]
    assert type(error) is ActionError
    assert error.state == {"n": 1, "events": ["a"]}


@pytest.mark.parametrize("way", WAYS)
def test_a_stream_takes_the_arguments_of_a_run(way: Callable[..., Any]) -> None:
    steps, _ = way(single(lambda state, config: {"a": config.thread_id}), {"b": 1}, config=RunConfig("t"))
    assert steps[0].after == {"a": "t", "b": 1}
    with pytest.raises(InputError):
        way(loop(), {"zz": 1})


def test_steps_come_as_they_happen() -> None:
    done: list[str] = []

    def action(state: Any) -> dict[str, Any]:
        done.append("b")
        return {}

    stream = loop(6, actions={"b": action}).stream()
    assert next(stream).event.node == "a"
    assert done == []
    assert next(stream).event.node == "b"
    assert done == ["b"]


def test_the_steps_of_a_stream_are_read_only() -> None:
    step = next(iter(loop().stream()))
    for mapping in (step.before, step.after, step.report):
        with pytest.raises(TypeError):
            mapping["n"] = 5


def test_a_stream_may_be_closed_early(recwarn: pytest.WarningsRecorder) -> None:
    before = threading.active_count()

    def close(stream: Iterator[Executed]) -> None:
        next(stream)
        next(stream)
        stream.close()
        assert list(stream) == []

    async def cell() -> None:
        close(loop(6, actions=MIXED).stream())

    for actions in ({}, MIXED):
        close(loop(6, actions=actions).stream())
    asyncio.run(cell())
    del cell
    gc.collect()
    assert threading.active_count() == before
    assert [str(warning.message) for warning in recwarn.list] == []


def test_an_async_stream_may_be_closed_early(recwarn: pytest.WarningsRecorder) -> None:
    async def main() -> None:
        stream = loop(6, actions=MIXED).astream()
        async for step in stream:
            if step.event.node == "b":
                break
        await stream.aclose()
        assert [step async for step in stream] == []
        async for _ in loop(6, actions=MIXED).astream():
            break

    asyncio.run(main())
    gc.collect()
    assert [str(warning.message) for warning in recwarn.list] == []


def test_a_stream_that_is_never_started_does_nothing(recwarn: pytest.WarningsRecorder) -> None:
    called: list[int] = []
    graph = single(lambda state: called.append(1) or {})
    graph.stream()
    graph.astream()
    gc.collect()
    assert called == []
    assert [str(warning.message) for warning in recwarn.list] == []


def test_cancelling_the_reader_of_an_async_stream_cancels_the_action() -> None:
    seen: list[str] = []

    async def slow(state: Any) -> Any:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def read() -> None:
        async for _ in loop(6, actions={"b": slow}).astream():
            pass

    async def main() -> None:
        task = asyncio.create_task(read())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert seen == ["cancelled"]


def test_an_error_that_the_reader_throws_in_ends_the_stream() -> None:
    stream = loop(6, actions=MIXED).stream()
    next(stream)
    with pytest.raises(ValueError, match="mine"):
        stream.throw(ValueError("mine"))
    assert list(stream) == []
