"""No node can change state in place, and nothing that a node keeps can change it later."""

import heapq
import operator
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from loopgraph import loop, single

from diagnosis.runtime import (
    END,
    START,
    ActionError,
    Append,
    Condition,
    ConditionError,
    Decision,
    FrozenError,
    Merge,
    Replace,
    Rule,
    State,
    StateGraph,
    freeze,
    thaw,
)

KEYS = {"list": Replace(), "dict": Replace(), "log": Append(), "map": Merge(), "deep": Replace()}
FILLED = {
    "list": [3, 1, 2],
    "dict": {"x": 1},
    "log": [[1], {"y": 2}],
    "map": {"m": [1]},
    "deep": ({"a": [{"b": [1]}]},),
}


def in_place_or(state: Any) -> None:
    state["dict"] |= {"z": 1}


def in_place_add(state: Any) -> None:
    state["list"] += [4]


def in_place_log(state: Any) -> None:
    state["log"] += [4]


def delete(state: Any) -> None:
    del state["list"]


def delete_inside(state: Any) -> None:
    del state["dict"]["x"]


def slice_assignment(state: Any) -> None:
    state["list"][:] = []


def slice_deletion(state: Any) -> None:
    del state["log"][0:1]


ATTEMPTS: dict[str, Callable[[Any], Any]] = {
    "set a key": lambda state: operator.setitem(state, "list", []),
    "set a new key": lambda state: operator.setitem(state, "new", 1),
    "delete a key": delete,
    "update": lambda state: state.update(list=1),
    "clear": lambda state: state.clear(),
    "pop": lambda state: state.pop("list"),
    "setdefault": lambda state: state.setdefault("new", 1),
    "or in place": in_place_or,
    "add in place": in_place_add,
    "add to the history in place": in_place_log,
    "append to a list": lambda state: state["list"].append(1),
    "append to the history": lambda state: state["log"].append(1),
    "extend the history's element": lambda state: state["log"][0].extend([1]),
    "set inside the history's element": lambda state: operator.setitem(state["log"][1], "y", 1),
    "iterate and set": lambda state: [
        operator.setitem(item, "y", 1) for item in state["log"] if isinstance(item, Mapping)
    ],
    "slice and set": lambda state: state["log"][:1][0].append(1),
    "assign a slice": slice_assignment,
    "delete a slice": slice_deletion,
    "delete inside": delete_inside,
    "sort": lambda state: state["list"].sort(),
    "reverse": lambda state: state["list"].reverse(),
    "heap": lambda state: heapq.heappush(state["list"], 0),
    "heapify": lambda state: heapq.heapify(state["list"]),
    "set in a dict": lambda state: operator.setitem(state["dict"], "x", 2),
    "ior call": lambda state: operator.ior(state["dict"], {"x": 2}),
    "iadd call": lambda state: operator.iadd(state["list"], [1]),
    "set in a merged dict": lambda state: operator.setitem(state["map"], "m", 2),
    "append in a merged dict": lambda state: state["map"]["m"].append(1),
    "deep": lambda state: state["deep"][0]["a"][0]["b"].append(1),
    "deep values": lambda state: next(iter(state["deep"][0].values())).clear(),
    "call init again": lambda state: state["dict"].__init__({"x": 5}),
    "call init of the history again": lambda state: state["log"].__init__([]),
    "set an attribute": lambda state: setattr(state["list"], "extra", 1),
}


@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=ATTEMPTS)
def test_an_attempt_to_change_state_stops_the_run_and_changes_nothing(attempt: Callable[[Any], Any]) -> None:
    def action(state: State) -> dict[str, Any]:
        attempt(state)
        return {}

    graph = single(action, KEYS)
    with pytest.raises(ActionError) as caught:
        graph.run(FILLED)
    assert isinstance(caught.value.__cause__, TypeError | AttributeError)
    assert caught.value.state == FILLED


def test_a_node_that_appends_to_the_list_it_was_given_is_told_what_to_do() -> None:
    def action(state: State) -> dict[str, Any]:
        state["events"].append("b")
        return {}

    with pytest.raises(ActionError) as caught:
        loop(actions={"b": action}).run()
    assert isinstance(caught.value.__cause__, FrozenError)
    assert str(caught.value) == (
        "node 'b', attempt 1, raised FrozenError: state is read-only: this History cannot be changed; "
        "return the new value in the node's update, or take a copy with diagnosis.thaw(value)"
    )
    assert caught.value.path == ("a",)
    assert caught.value.state == {"n": 1, "events": ["a"]}


def test_later_changes_to_what_a_node_returned_change_nothing() -> None:
    update: dict[str, Any] = {"list": [1], "dict": {"x": {"y": [1]}}, "log": [[1]], "map": {"m": [1]}}
    kept = thaw(freeze(update))

    def action(state: State) -> dict[str, Any]:
        return update

    run = single(action, KEYS).run()
    update["list"].append(2)
    update["dict"]["x"]["y"].append(2)
    update["log"][0].append(2)
    update["log"].append(2)
    update["map"]["m"].append(2)
    update["list"] = None
    update["new"] = 1
    assert run.state == {**kept, "deep": None}
    assert run.reports == (kept,)


def test_later_changes_to_the_input_change_nothing() -> None:
    values: dict[str, Any] = thaw(freeze(FILLED))
    run = single(lambda state: {}, KEYS).run(values)
    values["list"].append(1)
    values["log"][0].append(1)
    values["deep"][0]["a"].append(1)
    assert run.state == FILLED
    assert run.states[0] == FILLED


def test_later_changes_to_an_initial_value_change_nothing() -> None:
    start = [[1]]
    keys = {"a": Replace(initial=start), "b": Append(initial=start), "c": Merge(initial={"x": start})}
    graph = single(lambda state: {}, keys)
    start.append([2])
    start[0].append(2)
    assert graph.run().state == {"a": [[1]], "b": [[1]], "c": {"x": [[1]]}}


def test_conditions_and_routers_cannot_change_state_either() -> None:
    def change(state: Any) -> Any:
        state["list"].append(1)

    decision = Decision([Rule("end", "R", (Condition("c", change, "list"),)), Rule("end", "S")])
    for way in (decision, change):
        graph = StateGraph({"list": Replace(initial=[1])}).add_node("x", lambda state: {}).add_edge(START, "x")
        with pytest.raises(ConditionError) as caught:
            graph.add_conditional_edges("x", way, {"end": END}).compile().run()
        assert isinstance(caught.value.__cause__, FrozenError)
        assert caught.value.state == {"list": [1]}


def test_a_thawed_value_may_be_changed_and_returned() -> None:
    def action(state: State) -> dict[str, Any]:
        mine = thaw(state["deep"])
        mine[0]["a"][0]["b"].append(2)
        return {"deep": mine, "list": sorted(state["list"]), "log": [state["log"][0] + [2]]}

    run = single(action, KEYS).run(FILLED)
    assert run.state["deep"] == ({"a": [{"b": [1, 2]}]},)
    assert run.state["list"] == [1, 2, 3]
    assert run.state["log"] == [[1], {"y": 2}, [1, 2]]
    assert run.states[0] == FILLED
