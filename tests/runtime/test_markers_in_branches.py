"""Markers across branches: removals add up, and nothing is written beside a history that was replaced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from diagnosis.runtime import END, START, Append, CompiledGraph, JoinError, Remove, ReplaceAll, StateGraph

ADVICE = (
    "so that nothing says which elements stay; let branches append, and write ReplaceAll before the fork or at its join"
)


def fork(writes: Mapping[str, list[Any]]) -> CompiledGraph:
    """plan opens a branch for each name, in which the writes follow each other; they meet at join."""
    graph = StateGraph({"log": Append(initial=["x", "y"])})
    graph.add_node("plan", lambda state: {}).add_node("join", lambda state: {})
    graph.add_edge(START, "plan").add_edge("join", END)
    for branch, values in writes.items():
        names = [branch, *(f"{branch}{number}" for number in range(1, len(values)))]
        for name, value in zip(names, values, strict=True):
            graph.add_node(name, lambda state, value=value: {} if value is None else {"log": value})
        for source, target in zip(names, [*names[1:], "join"], strict=True):
            graph.add_edge(source, target)
    return graph.add_edge("plan", list(writes)).compile()


@pytest.mark.parametrize(
    ("writes", "who"),
    [
        ({"a": [ReplaceAll(["n"])], "b": [["m"]]}, "'a[0]' wrote ReplaceAll to 'log', and 'b[1]' wrote to it as well"),
        ({"a": [["m"]], "b": [ReplaceAll(["n"])]}, "'b[1]' wrote ReplaceAll to 'log', and 'a[0]' wrote to it as well"),
        ({"a": [ReplaceAll([])], "b": [Remove("x")]}, "'a[0]' wrote ReplaceAll to 'log', and 'b[1]' wrote to it as"),
        (
            {"a": [ReplaceAll([])], "b": [ReplaceAll([])]},
            "'a[0]' wrote ReplaceAll to 'log', and 'b[1]' wrote to it as well",
        ),
        (
            {"a": [["m"], ReplaceAll([]), ["k"]], "b": [None, ["m"]]},
            "'a1[0]' of branch 'a[0]' wrote ReplaceAll to 'log', and 'b1[1]' of branch 'b[1]' wrote to it as well",
        ),
    ],
)
def test_a_replaced_history_beside_another_write_is_told_by_the_marker(writes: Any, who: str) -> None:
    with pytest.raises(JoinError) as caught:
        fork(writes).run()
    text = str(caught.value)
    assert text.startswith(f"the fork at 'plan': {who}")
    assert text.endswith(ADVICE)
    assert "strategy" not in text


@pytest.mark.parametrize(
    ("writes", "merged"),
    [
        ({"a": [["m"], ReplaceAll(["n"]), ["k"]], "b": [None]}, ["n", "k"]),
        ({"a": [Remove("x")], "b": [Remove("y")]}, []),
        ({"a": [[Remove("x"), "m"]], "b": [["n"]]}, ["y", "m", "n"]),
    ],
)
def test_markers_that_do_not_meet_are_merged_in_order_of_declaration(writes: Any, merged: list[str]) -> None:
    assert fork(writes).run().state["log"] == merged


def test_what_two_branches_remove_must_be_there_twice() -> None:
    with pytest.raises(JoinError) as caught:
        fork({"a": [Remove("x")], "b": [Remove("x")]}).run()
    assert str(caught.value).startswith(
        "the fork at 'plan': what node 'b' in branch 'b[1]' wrote to 'log' cannot be merged: Remove('x') finds no "
        "equal element"
    )
