"""The step moves one branch at a time, and is pure."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from forkgraph import ANY, diamond, drawn
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnosis.runtime import (
    END,
    CompiledGraph,
    DefinitionError,
    Fork,
    Position,
    RunError,
    positions,
)


def by_hand(graph: CompiledGraph, choose: Callable[[tuple[str, ...]], str]) -> tuple[Mapping[str, Any], list[str]]:
    """Drive the step, one branch at a time."""
    step, moved = graph.step, []
    position, state = step.begin({})
    place: Any = position
    seen: Mapping[str, Any] = state
    while enabled := step.enabled(place):
        branch = choose(enabled)
        entered = step.enter(place, seen, branch)
        node = next(here.node for here in positions(entered.position) if here.branch == branch)
        update = graph.calls[node][0](entered.view)
        place, seen, event, _ = step.leave(entered.position, entered.state, update, branch)
        assert event is not None
        assert event.branch == branch
        moved.append(node)
    assert place == Position(END, place.reason)
    return seen, moved


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=20, max_size=20))
def test_the_step_gives_the_same_state_in_whatever_order_branches_move(picks: list[int]) -> None:
    lines = ("plan -> a b", "a -> x y", "x -> meet", "y -> meet", "meet -> join", "b -> c", "c -> join", "join -> END")
    graph = drawn(*lines).compile()
    order = iter(picks)
    state, moved = by_hand(graph, lambda enabled: enabled[next(order) % len(enabled)])
    run = graph.run()
    assert state == run.state
    assert sorted(moved) == sorted(run.path)
    assert by_hand(graph, lambda enabled: enabled[0]) == (run.state, list(run.path))


def test_the_step_is_pure_in_branches_too() -> None:
    graph = drawn("plan -> a b", "a -> join", "b -> join", "join -> END").compile()
    step = graph.step
    start, state = step.begin({})
    place, opened, _, _ = step.leave(start, state, {"log": ["plan"]})
    assert step.enabled(place) == ("a[0]", "b[1]")
    before = repr(place), repr(opened)
    for _ in range(2):
        entered = step.enter(place, opened, "b[1]")
        moved, outside, event, report = step.leave(entered.position, entered.state, {"log": ["b"]}, "b[1]")
        assert (step.enabled(moved), outside, report) == (("a[0]",), opened, {"log": ["b"]})
        assert event is not None
        assert (event.node, event.branch) == ("b", "b[1]")
    assert (repr(place), repr(opened)) == before


def test_a_branch_that_fails_by_hand_loses_or_stops_the_run() -> None:
    lines = ("plan -> a b", "a -> join", "b -> join", "join -> END")
    for fork in (Fork(), ANY):
        step = drawn(*lines, forks={"plan": fork}).compile().step
        start, state = step.begin({})
        place, opened, _, _ = step.leave(start, state, {})
        error = RunError("lost", node="a")
        if fork.wait == "all_of":
            with pytest.raises(RunError) as caught:
                step.fail(place, opened, "a[0]", error)
            assert caught.value is error
            continue
        place, opened = step.fail(place, opened, "a[0]", error)
        assert step.enabled(place) == ("b[1]",)
        with pytest.raises(RunError) as caught:
            step.leave(place, opened, {"zz": 1}, "b[1]")
        assert caught.value is error


def test_a_report_that_is_refused_in_an_any_of_gives_no_event_by_hand() -> None:
    lines = ("plan -> a b", "a -> join", "b -> join", "join -> END")
    step = drawn(*lines, forks={"plan": ANY}).compile().step
    start, state = step.begin({})
    place, opened, _, _ = step.leave(start, state, {})
    after, outside, event, report = step.leave(place, opened, {"zz": 1}, "a[0]")
    assert (step.enabled(after), outside, event, report) == (("b[1]",), opened, None, {})


def test_a_winner_chosen_by_hand_is_the_only_branch_that_moves() -> None:
    step = diamond(fork=ANY).step
    start, state = step.begin({})
    place, opened, _, _ = step.leave(start, state, {})
    chosen = step.choose(place, "plan", 1)
    assert step.enabled(chosen) == ("b[1]",)
    closed, after, _, _ = step.leave(chosen, opened, {"log": ["b"]}, "b[1]")
    assert (closed, after["log"]) == (Position("join", "FIXED"), ["b"])
    for fork, winner in (("plan", 3), ("nowhere", 0)):
        with pytest.raises(DefinitionError, match=f"there is no open any_of fork '{fork}' with a branch {winner}"):
            step.choose(place, fork, winner)
    with pytest.raises(DefinitionError, match="no branch 'z' stands at a node; those that do are"):
        step.enter(place, opened, "z")
