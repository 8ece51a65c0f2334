"""A run keeps what was executed, in which order, why, and every state on the way."""

import collections
import functools
import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest
from loopgraph import loop, named, single

from diagnosis.runtime import (
    END,
    START,
    Append,
    Choice,
    Condition,
    Custom,
    Decision,
    DefinitionError,
    Effect,
    Event,
    Executed,
    Merge,
    Position,
    Reading,
    Replace,
    Rule,
    Run,
    RunConfig,
    StateGraph,
    Step,
)


def test_a_run_keeps_path_events_states_and_reports() -> None:
    run = loop(3).run()
    assert run.path == ("a", "b", "c")
    assert run.stop == "ended"
    assert run.ended
    assert run.error is None
    assert run.position == Position(END, "DONE")
    assert (run.final_node, run.reason) == ("c", "DONE")
    assert run.state == {"n": 3, "events": ["a", "b", "c"]}
    assert run.states == (
        {"n": 0, "events": []},
        {"n": 1, "events": ["a"]},
        {"n": 2, "events": ["a", "b"]},
        {"n": 3, "events": ["a", "b", "c"]},
    )
    assert run.reports == ({"n": 1, "events": ["a"]}, {"n": 2, "events": ["b"]}, {"n": 3, "events": ["c"]})
    assert run.events == (
        Event("a", "COMPLETED", 1, Choice("a", "b", None, None, "FIXED")),
        Event("b", "COMPLETED", 1, Choice("b", "c", None, None, "FIXED")),
        Event("c", "COMPLETED", 1, Choice("c", END, "end", "DONE", "DONE")),
    )


def test_a_run_shows_its_path() -> None:
    run = loop(3).run()
    assert (
        str(run)
        == run.text()
        == (
            "Run of loop: ended after 3 node executions at c (DONE)\n"
            "  1. a (attempt 1): COMPLETED -> b because FIXED\n"
            "  2. b (attempt 1): COMPLETED -> c because FIXED\n"
            "  3. c (attempt 1): COMPLETED -> __END__ because DONE"
        )
    )
    assert single(lambda state: {}).run().summary == "ended after 1 node execution at only (FIXED)"


def test_the_steps_of_a_run_hold_the_state_before_and_after() -> None:
    run = loop(3).run()
    second = run.steps[1]
    assert second == Executed(1, Position("b", "FIXED"), run.states[1], run.reports[1], run.states[2], run.events[1])
    assert run.steps[0].position == Position("a")
    assert repr(second) == "2. b (attempt 1): COMPLETED -> c because FIXED"


def test_nothing_in_a_run_can_be_changed() -> None:
    run = loop(3).run()
    for mapping in (run.state, *run.states, *run.reports, run.steps[0].before, run.steps[0].after):
        with pytest.raises(TypeError):
            mapping["n"] = 5
    with pytest.raises(AttributeError):
        run.stop = "limit"
    assert run.state["n"] == 3


def test_rules_are_tried_in_order_and_the_first_that_holds_decides() -> None:
    tried: list[str] = []

    def condition(name: str, truth: bool) -> Any:
        def test(state: Any) -> bool:
            tried.append(name)
            return truth

        return Condition(name, test, "a")

    yes, no, more = condition("yes", True), condition("no", False), condition("more", True)
    rules = [
        Rule("y", "ONE", (no, yes)),
        Rule("end", "TWO", (yes, more)),
        Rule("y", "THREE", (yes,)),
        Rule("y", "FOUR"),
    ]
    graph = StateGraph("a").add_node("x", lambda state: {}).add_node("y", lambda state: {})
    graph.add_edge(START, "x").add_edge("y", END)
    graph.add_conditional_edges("x", Decision(rules), {"y": "y", "end": END})
    run = graph.compile().run()
    assert tried == ["no", "yes", "more"]
    assert run.events[0].choice == Choice("x", END, "end", "TWO", "TWO")


class Counter:
    """A callable object that keeps its own count."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, state: Mapping[str, Any]) -> dict[str, Any]:
        self.calls += 1
        return {"a": self.calls}

    def method(self, state: Mapping[str, Any], config: RunConfig) -> dict[str, Any]:
        return {"a": config.thread_id}


def with_config(state: Any, config: RunConfig) -> dict[str, Any]:
    return {"a": config.thread_id}


def test_anything_callable_is_an_action() -> None:
    config = RunConfig("t")

    def with_name(state: Any, name: str) -> dict[str, Any]:
        return {"a": name}

    for action, value in (
        (Counter(), 1),
        (functools.partial(with_name, name="p"), "p"),
        (Counter().method, "t"),
        (with_config, "t"),
        (lambda state, config=None: {"a": config.thread_id}, "t"),
        (lambda *both: {"a": len(both)}, 2),
        (lambda state, name="bound": {"a": name}, "bound"),
        (lambda state, *, name="bound": {"a": name}, "bound"),
        (type("C", (), {"__call__": lambda self, state: {"a": 7}})(), 7),
        (dict, {"a": None, "b": None}),
    ):
        run = single(action).run(config=config)
        assert (run.state if action is dict else run.state["a"]) == value


def test_an_action_sees_the_state_read_only() -> None:
    seen: list[Any] = []
    single(lambda state: seen.append(state) or {}).run({"a": 1})
    assert type(seen[0]) is MappingProxyType
    assert seen[0] == {"a": 1, "b": None}


def test_the_state_an_action_saw_stays_as_it_was() -> None:
    seen: list[Any] = []

    def keep(state: Any) -> dict[str, Any]:
        seen.append(state)
        return named("a")(state)

    loop(6, actions={"a": keep}).run()
    assert seen == [{"n": 0, "events": []}, {"n": 3, "events": ["a", "b", "c"]}]


def test_entry_updates_come_before_the_action_and_exit_updates_after_it() -> None:
    seen: list[Any] = []

    def see(state: Any) -> dict[str, Any]:
        seen.append(dict(state))
        return {"a": "reported"}

    graph = single(
        see,
        ("a", "b", "c"),
        entry=[
            Effect("one", lambda state: {"b": 1}, writes="b"),
            Effect("two", lambda state: {"b": state["b"] + 1, "c": [state["b"]]}, reads="b", writes=["b", "c"]),
            Effect("none", lambda state: None),
        ],
        exit=Effect("late", lambda state: {"c": state["a"]}, reads="a", writes="c"),
        owns="a",
    )
    run = graph.run()
    assert seen == [{"a": None, "b": 2, "c": [1]}]
    assert run.state == {"a": "reported", "b": 2, "c": "reported"}
    assert run.states[0] == {"a": None, "b": None, "c": None}
    assert run.steps[0].before == {"a": None, "b": None, "c": None}


def test_an_entry_update_that_changes_nothing_leaves_the_state_alone() -> None:
    graph = single(lambda state: {}, entry=Effect("none", lambda state: {}))
    state = graph.step.begin({})[1]
    _, _, entered, attempt = graph.step.enter(graph.step.start, state)
    assert (entered, attempt) == (state, 1)


def test_updates_around_an_action_use_the_strategies_of_their_keys() -> None:
    graph = single(
        lambda state: {},
        {"log": Append(initial=[0]), "map": Merge()},
        exit=Effect("both", lambda state: {"log": [1], "map": {"a": [2]}}, writes=["log", "map"]),
    )
    assert graph.run().state == {"log": [0, 1], "map": {"a": [2]}}


def test_a_whole_report_clears_the_owned_keys_that_it_leaves_out() -> None:
    keys = {"a": Replace(), "b": Replace(), "log": Append(), "other": Replace()}
    start = {"a": 1, "b": 2, "log": [3], "other": 4}
    whole = single(lambda state: {"a": 5}, keys, owns=["a", "b", "log"], whole_report=True)
    assert whole.run(start).state == {"a": 5, "b": None, "log": [3], "other": 4}
    every = single(lambda state: {"a": 5}, keys, whole_report=True)
    assert every.run(start).state == {"a": 5, "b": None, "log": [3], "other": None}
    part = single(lambda state: {"a": 5}, keys, owns=["a", "b", "log"])
    assert part.run(start).state == {"a": 5, "b": 2, "log": [3], "other": 4}


def test_attempts_and_outcomes_are_read_from_state() -> None:
    seen: list[int] = []

    def action(state: Any, config: RunConfig) -> dict[str, Any]:
        seen.append(config.attempt)
        return {"status": "DONE" if config.attempt == 3 else "RETRY"}

    graph = StateGraph({"count": Replace(initial=0), "status": Replace()})
    graph.add_node(
        "x",
        action,
        owns="status",
        entry=Effect("count", lambda state: {"count": state["count"] + 1}, reads="count", writes="count"),
        attempt=Reading(lambda state: state["count"], "count"),
        outcome=Reading(lambda state: state["status"], "status"),
    )
    graph.add_edge(START, "x").add_conditional_edges("x", lambda state: state["status"], {"RETRY": "x", "DONE": END})
    run = graph.compile().run(config=RunConfig("t", {"who": ["me"]}))
    assert seen == [1, 2, 3]
    assert [(event.outcome, event.attempt) for event in run.events] == [("RETRY", 1), ("RETRY", 2), ("DONE", 3)]
    assert run.config == RunConfig("t", {"who": ["me"]})


def test_events_are_kept_in_state_where_a_graph_asks_for_it() -> None:
    graph = StateGraph({"a": Replace(), "log": Append()}).add_node("x", lambda state: {"a": 1}, owns="a")
    run = graph.add_edge(START, "x").add_edge("x", END, reason="R").log_events("log").compile().run()
    assert run.state["log"] == [{"node": "x", "outcome": "COMPLETED", "reason": "R", "attempt": 1}]


def test_null_adds_nothing_to_histories_and_merged_mappings() -> None:
    keys = {"log": Append(), "map": Merge()}
    run = single(lambda state: {"log": None, "map": None}, keys).run({"log": [1], "map": {"a": 1}})
    assert run.state == {"log": [1], "map": {"a": 1}}


def test_a_merge_key_replaces_entries_one_by_one() -> None:
    run = single(lambda state: {"map": {"b": [2], "c": 3}}, {"map": Merge(initial={"a": 1, "b": 1})}).run()
    assert run.state["map"] == {"a": 1, "b": [2], "c": 3}
    assert run.states[0]["map"] == {"a": 1, "b": 1}


def test_an_append_key_takes_tuples_too() -> None:
    assert single(lambda state: {"log": (1, [2])}, {"log": Append()}).run().state["log"] == [1, [2]]


def test_a_named_tuple_is_a_tuple_of_elements_to_an_append_key() -> None:
    pair = collections.namedtuple("pair", "left right")
    assert single(lambda state: {"log": pair(1, [2])}, {"log": Append()}).run().state["log"] == [1, [2]]


def test_an_attempt_may_be_read_without_any_update_before() -> None:
    graph = single(lambda state, config: {"a": config.attempt}, attempt=Reading(lambda state: 4, "a"))
    run = graph.run()
    assert (run.state["a"], run.events[0].attempt) == (4, 4)


def test_elements_of_a_history_may_be_appended_again() -> None:
    graph = single(lambda state: {"log": state["log"][:1]}, {"log": Append()})
    assert graph.run({"log": [1, 2]}).state["log"] == [1, 2, 1]


def test_a_history_of_one_run_may_start_another() -> None:
    first = loop(3).run()
    second = loop(6).run(first.state)
    assert second.state == {"n": 6, "events": ["a", "b", "c", "a", "b", "c"]}
    assert first.state == {"n": 3, "events": ["a", "b", "c"]}


def test_a_custom_strategy_that_changes_in_place_harms_no_earlier_state() -> None:
    def merge(old: Any, new: Any) -> Any:
        old["seen"].append(new)
        new.append("mine")
        return old

    graph = StateGraph({"total": Custom(initial={"seen": []}, merge=merge)})
    graph.add_node("x", lambda state: {"total": [1]}).add_node("y", lambda state: {"total": [2]})
    graph.add_edge(START, "x").add_edge("x", "y").add_edge("y", END)
    run = graph.compile().run()
    assert [state["total"] for state in run.states] == [
        {"seen": []},
        {"seen": [[1, "mine"]]},
        {"seen": [[1, "mine"], [2, "mine"]]},
    ]
    assert run.reports == ({"total": [1]}, {"total": [2]})


def test_a_thread_id_is_the_run_id_unless_it_is_given() -> None:
    graph = StateGraph(("run_id", "a"), inputs=["run_id"], id_key="run_id")
    graph.add_node("x", with_config, owns="a").add_edge(START, "x").add_edge("x", END)
    compiled = graph.compile()
    given = compiled.run({"run_id": "r1"})
    assert (given.state["run_id"], given.state["a"], given.config.thread_id) == ("r1", "r1", "r1")
    other = compiled.run({"run_id": "r1"}, config=RunConfig("t1", {"k": 1}))
    assert (other.state["run_id"], other.state["a"]) == ("r1", "t1")
    assert other.config.metadata == {"k": 1}
    made, again = compiled.run(), compiled.run({"run_id": None})
    assert made.state["run_id"] == made.config.thread_id != again.state["run_id"]
    assert len(made.state["run_id"]) == 32


def test_the_metadata_of_a_run_is_read_only() -> None:
    config = RunConfig(metadata={"list": [1]})
    for change in (lambda: config.metadata.update(a=1), lambda: config.metadata["list"].append(1)):
        with pytest.raises(TypeError):
            change()
    with pytest.raises(AttributeError):
        config.attempt = 2


def test_with_actions_leaves_the_graph_as_it_was() -> None:
    graph = loop(3)
    other = graph.with_actions({"b": lambda state, config: {"events": [config.thread_id]}})
    assert other.run(config=RunConfig("T")).state["events"] == ["a", "T", "c"] * 2
    assert graph.run().state["events"] == ["a", "b", "c"]
    assert type(other) is type(graph)
    assert other.topology == graph.topology
    with pytest.raises(DefinitionError) as caught:
        graph.with_actions({"ghost": named("x")})
    assert str(caught.value) == "graph 'loop' has no node 'ghost'; nodes are 'a', 'b', 'c'"
    with pytest.raises(DefinitionError) as caught:
        graph.with_actions({"a": 5})
    assert str(caught.value) == "the action of node 'a' is 5; it needs a function"
    with pytest.raises(DefinitionError) as caught:
        graph.with_actions({"a": lambda: {}})
    assert str(caught.value) == "the action of node 'a' must take (state) or (state, config)"


def test_a_graph_with_many_keys_runs_like_one_with_few() -> None:
    keys = {f"key_{i}": Replace(initial=i) for i in range(24)}
    run = loop(30, keys=keys).run()
    assert len(run.path) == 30
    assert len(run.state) == 26
    assert {key: run.state[key] for key in keys} == {f"key_{i}": i for i in range(24)}
    assert all(list(state) == list(run.states[0]) for state in run.states)


def test_one_graph_runs_in_many_threads_at_once() -> None:
    graph = loop(300, limit=300)
    runs: list[Run] = []
    threads = [threading.Thread(target=lambda: runs.append(graph.run({"events": ["start"]}))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(runs) == 8
    assert all(run.state["events"] == ["start", *"abc" * 100] for run in runs)


def test_a_history_is_not_copied_from_step_to_step() -> None:
    run = loop(300, limit=300).run()
    assert len({id(state["events"]._items) for state in run.states[1:]}) == 1


def test_the_step_is_pure() -> None:
    graph = loop(3)
    step = graph.step
    assert isinstance(step, Step)
    position, state = step.begin({"n": 1})
    _, _, entered, attempt = step.enter(position, state)
    assert (position, attempt, entered) == (Position("a"), 1, state)
    outcomes = [step.leave(position, entered, {"n": n, "events": [str(n)]}) for n in (5, 6)]
    assert state == {"n": 1, "events": []}
    assert [after for _, after, _, _ in outcomes] == [{"n": 5, "events": ["5"]}, {"n": 6, "events": ["6"]}]
    assert outcomes[0][0] == Position("b", "FIXED")
    assert outcomes[0][2].node == "a"
    assert outcomes[0][3] == {"n": 5, "events": ["5"]}
    frozen_start = MappingProxyType(state)
    assert step.leave(position, frozen_start, {"n": 5, "events": ["5"]})[1] == outcomes[0][1]


def test_the_events_of_equal_executions_are_one_object() -> None:
    run = loop(6).run()
    assert run.events[0] is run.events[3]


def test_more_outcomes_than_are_remembered_make_no_difference() -> None:
    graph = single(lambda state: {"a": 1}, outcome=Reading(lambda state: state["b"], "b"))
    step = graph.step
    for i in range(1100):
        event = step.leave(step.start, {"a": None, "b": f"o{i}"}, {})[2]
        assert event.outcome == f"o{i}"
