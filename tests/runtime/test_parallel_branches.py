"""Branches run side by side, meet once, and leave what they would have left one after the other."""

import asyncio
import itertools
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from forkgraph import (
    ORDERS,
    WAYS,
    Action,
    Turns,
    diamond,
    drawn,
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
    REPEAT,
    START,
    ActionError,
    Append,
    CompiledGraph,
    Condition,
    Custom,
    Decision,
    Effect,
    Executed,
    Fork,
    JoinError,
    Merge,
    Position,
    Reading,
    Remove,
    Replace,
    ReplaceAll,
    Rule,
    Run,
    RunConfig,
    Send,
    StateGraph,
)

# --- where branches meet ----------------------------------------------------------------------------------------------


def test_branches_that_are_routed_away_do_not_starve_the_join() -> None:
    def away(keep: bool) -> CompiledGraph:
        lines, fork = ("plan -> a b", "b -> join", "join -> last", "last -> END"), Fork(join="join")
        graph = drawn(*lines, actions={"a": says("a", keep=keep)}, keys={"keep": Replace()}, forks={"plan": fork})
        kept = Condition("kept", lambda state: state["keep"], "keep")
        rules = Decision([Rule("on", "KEPT", (kept,)), Rule("off", "AWAY")])
        return graph.add_conditional_edges("a", rules, {"on": "join", "off": END}).compile()

    for keep in (True, False):
        graph = away(keep)
        assert graph.joins == {"plan": "join"}
        assert log_of(graph.run()) == ["plan", "a", "b", "join", "last"]


def test_the_join_runs_even_where_every_branch_was_routed_to_end() -> None:
    graph = drawn("plan -> a b", "join -> END", forks={"plan": Fork(join="join")})
    for name in "ab":
        graph.add_conditional_edges(name, lambda state: "end", {"on": "join", "end": END})
    run = graph.compile().run()
    assert log_of(run) == ["plan", "a", "b", "join"]
    assert run.final_node == "join"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("order", [("b", "c"), ("c", "b")])
def test_a_fork_inside_a_loop_joins_once_per_lap_and_forgets_the_lap_before(
    way: Callable[..., Any], order: tuple[str, str]
) -> None:
    turns = Turns(order + order[::-1] + order)
    actions = {name: turns.after(name, says(name)) for name in order}
    graph = laps(drawn("head -> b c", "b -> join", "c -> join", actions=actions), "join", "head", 3)
    run = way(graph.compile())
    assert log_of(run) == ["head", "b", "c", "join"] * 3
    assert [event.after for event in run.events] == [
        *((), (0,), (0,), (1, 2)),
        *((3,), (4,), (4,), (5, 6)),
        *((7,), (8,), (8,), (9, 10)),
    ]


def test_a_branch_that_is_routed_away_in_one_lap_does_not_count_for_the_next() -> None:
    # In lap 1 only b reaches the join, in lap 2 only c: no lap takes a branch from the other.
    graph = drawn("head -> b c", forks={"head": Fork(join="join")}).add_node("join", says("join"))
    for name, lap in (("b", 1), ("c", 2)):
        there = Condition("there", lambda state, lap=lap: list(state["log"]).count("head") == lap, "log")
        rules = Decision([Rule("join", "THERE", (there,)), Rule("end", "AWAY")])
        graph.add_conditional_edges(name, rules, {"join": "join", "end": END})
    run = laps(graph, "join", "head", 2).compile().run()
    assert log_of(run) == ["head", "b", "c", "join"] * 2


def test_a_branch_may_loop_before_it_comes_to_the_join() -> None:
    graph = drawn("plan -> a b", "b -> join", "join -> END").add_node("turn", says("turn"))
    graph.add_edge("a", "turn")
    more = Condition("more", lambda state: list(state["log"]).count("turn") < 3, "log")
    rules = Decision([Rule("again", "AGAIN", (more,)), Rule("on", "ON")])
    graph.add_conditional_edges("turn", rules, {"again": "a", "on": "join"})
    run = graph.compile().run()
    assert log_of(run) == ["plan", *("a", "turn") * 3, "b", "join"]
    assert {event.branch for event in run.events if event.node in ("a", "turn")} == {"a[0]"}


def test_a_branch_may_lead_straight_to_the_join() -> None:
    run = drawn("plan -> a join", "a -> join", "join -> END").compile().run()
    assert log_of(run) == ["plan", "a", "join"]
    assert [event.after for event in run.events] == [(), (0,), (1, 0)]


def test_a_fork_of_nothing_but_the_join_goes_on_there() -> None:
    graph = StateGraph({"log": Append()}).add_node("plan", says("plan")).add_node("join", says("join"))
    graph.add_edge(START, "plan").add_edge("join", END)
    graph.add_conditional_edges("plan", lambda state: ["on", "on"], {"on": "join"}, fork=Fork(join="join"))
    run = graph.compile().run()
    assert log_of(run) == ["plan", "join"]
    assert run.events[1].after == (0,)


@pytest.mark.parametrize("wait", ["all_of", "any_of"])
@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("inner_join", ["meet", "join"])
def test_a_fork_in_a_branch_that_has_nothing_to_do_closes_at_once(wait: Any, depth: int, inner_join: str) -> None:
    # a opens branches that lead straight to their join; under any_of the first of them has won already.
    routes = ["on", "on"] if wait == "all_of" else ["do", "on"]
    lines = ("plan -> a b", "b -> join", "join -> END")
    lines = (*lines, f"do -> {inner_join}", *(["meet -> join"] if inner_join == "meet" else []))
    if depth == 2:
        lines = ("first -> plan other", "join -> last", "other -> last", "last -> END", *lines[:2], *lines[3:])
    fork = Fork(wait=wait, join=inner_join)
    graph = drawn(*lines)
    graph.add_conditional_edges("a", lambda state: routes, {"do": "do", "on": inner_join}, fork=fork)

    async def run() -> Run:
        return await asyncio.wait_for(graph.compile().arun(), timeout=5)

    meet = ["meet"] if inner_join == "meet" else []
    expected = ["plan", "a", *meet, "b", "join"]
    assert log_of(asyncio.run(run())) == (expected if depth == 1 else ["first", *expected, "other", "last"])


def test_forks_nest_to_any_depth() -> None:
    run = drawn(
        *("plan -> a b", "a -> a1 a2", "a1 -> a1x a1y", "a1x -> a1j", "a1y -> a1j", "a1j -> aj", "a2 -> aj"),
        *("aj -> join", "b -> join", "join -> END"),
    ).compile().run()  # fmt: skip
    assert log_of(run) == ["plan", "a", "a1", "a1x", "a1y", "a1j", "a2", "aj", "b", "join"]
    assert [event.branch for event in run.events] == [
        *("", "a[0]", "a1[0][0]", "a1x[0][0][0]", "a1y[0][0][1]", "a1[0][0]", "a2[0][1]", "a[0]", "b[1]", ""),
    ]
    assert [event.after for event in run.events] == [
        *((), (0,), (1,), (2,), (2,), (3, 4), (1,), (5, 6), (0,), (7, 8)),
    ]


def test_an_inner_fork_may_join_where_the_outer_one_does() -> None:
    graph = drawn("plan -> a b", "a -> x y", "x -> join", "y -> join", "b -> join", "join -> END").compile()
    assert graph.joins == {"plan": "join", "a": "join"}
    run = graph.run()
    assert log_of(run) == ["plan", "a", "x", "y", "b", "join"]
    assert run.events[-1].after == (2, 3, 4)


def test_a_supervisor_is_its_own_join() -> None:
    graph = StateGraph({"log": Append()})
    for name in ("boss", "w1", "w2"):
        graph.add_node(name, says(name))
    graph.add_edge(START, "boss").add_edge(["w1", "w2"], "boss")

    def calls(state: Mapping[str, Any]) -> Any:
        return [["one", "two"], ["two"], "done"][list(state["log"]).count("boss") - 1]

    graph.add_conditional_edges("boss", calls, {"one": "w1", "two": "w2", "done": END}, fork=Fork())
    compiled = graph.compile()
    assert compiled.joins == {"boss": "boss"}
    assert log_of(compiled.run()) == ["boss", "w1", "w2", "boss", "w2", "boss"]


def test_start_may_open_branches() -> None:
    graph = drawn("START -> a b", "a -> join", "b -> join", "join -> END").compile()
    run = graph.run()
    assert run.path == ("entry", "a", "b", "join")
    assert log_of(run) == ["a", "b", "join"]
    assert graph.joins == {"entry": "join"}


def test_a_rule_may_open_branches() -> None:
    graph = StateGraph({"log": Append(), "wide": Replace(initial=False)})
    for name in ("plan", "a", "b", "join"):
        graph.add_node(name, says(name))
    graph.add_edge(START, "plan").add_edge(["a", "b"], "join").add_edge("join", END)
    wide = Condition("wide", lambda state: state["wide"], "wide")
    rules = Decision([Rule(("to_b", "to_a"), "WIDE", (wide,)), Rule("to_a", "NARROW")])
    graph.add_conditional_edges("plan", rules, {"to_a": "a", "to_b": "b"})
    compiled = graph.compile()
    wide_run = compiled.run({"wide": True})
    assert log_of(wide_run) == ["plan", "b", "a", "join"]
    assert [(choice.route, choice.rule, choice.reason) for choice in wide_run.events[0].choices] == [
        ("to_b", "WIDE", "WIDE"),
        ("to_a", "WIDE", "WIDE"),
    ]
    assert log_of(compiled.run()) == ["plan", "a", "join"]


def test_a_node_that_is_targeted_twice_runs_in_two_branches() -> None:
    graph = StateGraph({"log": Append(), "task": Replace()})
    graph.add_node("plan", says("plan")).add_node("join", says("join"))
    graph.add_node("work", lambda state: {"log": [state["task"]]})
    graph.add_edge(START, "plan").add_edge("work", "join").add_edge("join", END)
    sends = [Send("work", {"task": 1}), Send("work", {"task": 2}), "work"]
    graph.add_conditional_edges("plan", lambda state: sends, {"work": "work"}, fork=Fork())
    run = graph.compile().run()
    assert log_of(run) == ["plan", 1, 2, None, "join"]
    assert [event.branch for event in run.events[1:4]] == ["work[0]", "work[1]", "work[2]"]
    assert run.state["task"] is None


@pytest.mark.parametrize("count", [1, 2, 64])
def test_a_join_gets_what_every_branch_produced(count: int) -> None:
    graph = StateGraph({"log": Append(), "task": Replace()}).add_node("plan", lambda state: {})
    graph.add_node("work", waits("work", 2)).add_node("check", lambda state: {"log": [state["task"]]})
    graph.add_node("plain", says("plain")).add_node("join", says("join"))
    graph.add_edge(START, "plan").add_edge("work", "check").add_edge(["check", "plain"], "join").add_edge("join", END)
    routes = [*(Send("work", {"task": number}) for number in range(count)), "plain"]
    graph.add_conditional_edges("plan", lambda state: routes, {"work": "work", "plain": "plain"}, fork=Fork())
    mapped = list(itertools.chain.from_iterable(("work", number) for number in range(count)))
    assert log_of(graph.compile().run(recursion_limit=2 * count + 3)) == [*mapped, "plain", "join"]


# --- what a branch sees, and what comes of its writes -----------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_a_branch_sees_what_was_before_the_fork_and_its_own_writes_only(way: Callable[..., Any]) -> None:
    seen: dict[str, Any] = {}
    turns = Turns(["a", "x", "b"])

    def looks(name: str, **update: Any) -> Action:
        async def action(state: Mapping[str, Any]) -> dict[str, Any]:
            if name in "axb":
                await turns.come(name)
            seen[name] = {key: state[key] for key in ("log", "one", "many")}
            return {"log": [name], **update}

        return action

    keys = {"one": Replace(initial=0), "many": Merge()}
    actions = {
        "a": looks("a", one=1, many={"a": 1}),
        "x": looks("x", one=2),
        "b": looks("b", many={"b": 1}),
        "join": looks("join"),
    }
    lines = ("plan -> a b", "a -> x", "x -> join", "b -> join", "join -> END")
    run = way(drawn(*lines, keys=keys, actions=actions).compile())
    assert seen["a"] == seen["b"] == {"log": ["plan"], "one": 0, "many": {}}
    assert seen["x"] == {"log": ["plan", "a"], "one": 1, "many": {"a": 1}}
    assert seen["join"] == {"log": ["plan", "a", "x", "b"], "one": 2, "many": {"a": 1, "b": 1}}
    assert run.state == {"log": ["plan", "a", "x", "b", "join"], "one": 2, "many": {"a": 1, "b": 1}}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("order", ORDERS)
def test_writes_merge_in_order_of_declaration_whatever_comes_first(
    way: Callable[..., Any], order: tuple[str, ...]
) -> None:
    keys = {
        "many": Merge(),
        "digits": Custom(merge=lambda old, new: old * 10 + new, initial=0),
        "total": Custom(merge=lambda old, new: old + new, initial=10),
    }
    made = {
        name: says(name, many={"last": name, name: 1}, digits=number, total=number)
        for number, name in enumerate("abc", start=1)
    }
    run = way(diamond(in_turn(order, made), keys=keys))
    assert run.state == {
        "log": ["plan", "a", "b", "c", "join"],
        "many": {"last": "c", "a": 1, "b": 1, "c": 1},
        "digits": 123,
        "total": 16,
    }


def test_a_custom_strategy_is_handed_plain_values_and_no_write_is_lost() -> None:
    calls: list[tuple[Any, Any]] = []

    def add(old: Any, new: Any) -> Any:
        calls.append((old, new))
        return old + new

    graph = drawn(
        *("plan -> a b", "a -> join", "b -> join", "join -> END"),
        keys={"n": Custom(merge=add, initial=10)},
        actions={"a": says("a", n=1), "b": says("b", n=2)},
    ).compile()
    assert graph.run().state["n"] == 13
    # Each branch merges its own write into what it sees, and the join merges both.
    assert calls == [(10, 1), (10, 2), (10, 1), (11, 2)]


def test_counters_that_add_lose_no_update() -> None:
    graph = drawn(
        *("plan -> a b", "a -> x", "x -> join", "b -> join", "join -> END"),
        keys={"n": Custom(merge=lambda old, new: old + new, initial=0)},
        actions={name: says(name, n=1) for name in "abx"},
    )
    assert graph.compile().run().state["n"] == 3


def test_nodes_of_one_branch_may_write_a_replace_key_in_turn() -> None:
    graph = drawn(
        *("plan -> a b", "a -> x", "x -> join", "b -> join", "join -> END"),
        keys={"k": Replace()},
        actions={"plan": says("plan", k=0), "a": says("a", k=1), "x": says("x", k=2), "join": says("join", k=3)},
    )
    run = graph.compile().run()
    assert [step.after["k"] for step in run.steps] == [0, 1, 2, 0, 3]
    assert run.steps[-1].before["k"] == 2


@pytest.mark.parametrize("value", [None, 0, "", [], False])
def test_null_and_other_empty_values_of_a_branch_count_as_written(value: Any) -> None:
    graph = drawn(
        *("plan -> a b", "a -> join", "b -> join", "join -> END"),
        keys={"k": Replace(initial="before")},
        actions={"a": says("a", k=value)},
    )
    assert graph.compile().run().state["k"] == value


def test_null_from_a_branch_adds_nothing_to_a_history_or_mapping() -> None:
    graph = drawn(
        *("plan -> a b", "a -> join", "b -> join", "join -> END"),
        keys={"many": Merge(initial={"x": 1})},
        actions={"a": lambda state: {"log": None, "many": None}},
    )
    run = graph.compile().run()
    assert run.state == {"log": ["plan", "b", "join"], "many": {"x": 1}}


def test_a_branch_may_take_out_what_was_in_a_history_before_the_fork() -> None:
    graph = drawn(
        *("plan -> a b", "a -> join", "b -> join", "join -> END"),
        actions={"a": lambda state: {"log": [Remove("plan"), "a"]}},
    )
    assert log_of(graph.compile().run()) == ["a", "b", "join"]


def test_two_branches_cannot_take_out_the_same_element() -> None:
    graph = drawn(
        *("plan -> a b", "a -> join", "b -> join", "join -> END"),
        actions={name: lambda state: {"log": Remove("plan")} for name in "ab"},
    )
    with pytest.raises(JoinError, match=r"^the fork at 'plan': what node 'b' in branch 'b\[1\]' wrote to 'log' cannot"):
        graph.compile().run()


def test_a_branch_may_replace_a_whole_history_if_no_other_branch_adds_to_it() -> None:
    lines = ("plan -> a b", "a -> join", "b -> join", "join -> END")
    actions = {"a": lambda state: {"log": ReplaceAll(["new"])}, "b": lambda state: {}}
    assert log_of(drawn(*lines, actions=actions).compile().run()) == ["new", "join"]
    for other in (says("b"), actions["a"]):
        with pytest.raises(JoinError, match=r"'[ab]\[[01]\]' wrote ReplaceAll to 'log', and '[ab]\[[01]\]' wrote"):
            drawn(*lines, actions={**actions, "b": other}).compile().run()


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_a_branch_that_changes_what_it_was_given_fails_and_its_sibling_sees_nothing_of_it(
    order: tuple[str, str],
) -> None:
    turns = Turns(order)
    seen = []

    async def changes(state: Any) -> Any:
        await turns.come("a")
        state["items"].append("mine")

    async def looks(state: Any) -> Any:
        await turns.come("b")
        seen.append(list(state["items"]))
        return {}

    graph = drawn(
        *("plan -> a b", "a -> join", "b -> join", "join -> END"),
        keys={"items": Replace(initial=["before"])},
        actions={"a": changes, "b": looks},
    )
    # If a comes first, it fails and b is not waited for.
    with pytest.raises(ActionError, match="node 'a', attempt 1, raised FrozenError") as caught:
        graph.compile().run()
    assert caught.value.state["items"] == ["before"]
    assert seen in ([["before"]], [])


def test_later_changes_to_what_a_branch_returned_or_was_sent_change_nothing() -> None:
    kept: list[Any] = []
    payload = {"task": ["sent"]}

    async def work(state: Any) -> Any:
        payload["task"].append("late")
        mine = [list(state["task"])]
        kept.append(mine)
        await asyncio.sleep(0)
        return {"log": mine}

    async def other(state: Any) -> Any:
        for _ in range(5):
            await asyncio.sleep(0)
        kept[0].append("late")
        return {"log": ["other"]}

    graph = StateGraph({"log": Append(), "task": Replace()})
    graph.add_node("plan", lambda state: {}).add_node("work", work).add_node("other", other)
    graph.add_node("join", says("join")).add_edge(START, "plan").add_edge(["work", "other"], "join")
    graph.add_edge("join", END)
    graph.add_conditional_edges(
        "plan", lambda state: [Send("work", payload), "other"], {"work": "work", "other": "other"}, fork=Fork()
    )
    assert log_of(graph.compile().run()) == [["sent"], "other", "join"]


def test_what_a_send_carries_is_seen_in_its_branch_alone_and_forks_in_it() -> None:
    seen: dict[str, Any] = {}

    def looks(state: Mapping[str, Any], config: RunConfig) -> dict[str, Any]:
        seen[config.branch] = (state["task"], list(state["notes"]))
        return {}

    graph = StateGraph({"task": Replace(initial="none"), "notes": Append()})
    graph.add_node("plan", lambda state: {"notes": ["before"]})
    for name in ("a", "x", "y", "meet", "b", "join"):
        graph.add_node(name, looks)
    graph.add_edge(START, "plan").add_edge("a", ["x", "y"]).add_edge(["x", "y"], "meet")
    graph.add_edge(["meet", "b"], "join").add_edge("join", END)
    sends = [Send("a", {"task": "A", "notes": ["for a"]}), Send("b", {"notes": ["for b"]})]
    graph.add_conditional_edges("plan", lambda state: sends, {"a": "a", "b": "b"}, fork=Fork())
    run = graph.compile().run()
    inside = ("A", ["before", "for a"])
    assert seen == {
        "a[0]": inside,
        "x[0][0]": inside,
        "y[0][1]": inside,
        "b[1]": ("none", ["before", "for b"]),
        "": ("none", ["before"]),
    }
    assert run.state == {"task": "none", "notes": ["before"]}


def test_a_branch_that_writes_a_key_it_was_sent_merges_its_write_alone() -> None:
    graph = StateGraph({"total": Custom(merge=lambda old, new: old + new, initial=1)})
    graph.add_node("plan", lambda state: {}).add_node("join", lambda state: {})
    graph.add_node("work", lambda state: {"total": state["total"]})
    graph.add_edge(START, "plan").add_edge("work", "join").add_edge("join", END)
    graph.add_conditional_edges("plan", lambda state: [Send("work", {"total": 4})], {"work": "work"}, fork=Fork())
    # The branch saw 1 + 4 and wrote 5, which is added to the 1 outside.
    assert graph.compile().run().state["total"] == 6


def test_a_conflict_inside_nested_branches_names_the_inner_fork_and_both_nodes() -> None:
    lines = ("plan -> a b", "a -> x y", "x -> meet", "y -> meet", "meet -> join", "b -> join", "join -> END")
    keys = {"k": Replace()}
    with pytest.raises(JoinError) as caught:
        drawn(*lines, keys=keys, actions={"x": says("x", k=1), "y": says("y", k=1)}).compile().run()
    assert str(caught.value).startswith("the fork at 'a[0]': 'x[0][0]' and 'y[0][1]' both wrote 'k'")
    assert caught.value.branch == "a[0]"
    with pytest.raises(JoinError) as caught:
        drawn(*lines, keys=keys, actions={"y": says("y", k=1), "b": says("b", k=1)}).compile().run()
    assert str(caught.value).startswith("the fork at 'plan': 'y[0]' of branch 'a[0]' and 'b[1]' both wrote 'k'")


# --- order ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("order", ORDERS)
def test_a_run_is_the_same_whatever_branch_ends_first(way: Callable[..., Any], order: tuple[str, ...]) -> None:
    run, expected = way(diamond(in_turn(order))), diamond().run()
    assert run.path == ("plan", "a", "b", "c", "join")
    assert [event.after for event in run.events] == [(), (0,), (0,), (0,), (1, 2, 3)]
    assert (run.events, run.states, run.reports, run.steps) == (
        expected.events,
        expected.states,
        expected.reports,
        expected.steps,
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=8, max_size=8), st.sampled_from([None, 1, 2]))
def test_a_run_of_nested_forks_in_a_loop_is_the_same_under_any_timing(times: list[int], most: int | None) -> None:
    names = ("plan", "a", "x", "y", "meet", "b", "c", "join")
    lines = ("plan -> a b", "a -> x y", "x -> meet", "y -> meet", "meet -> join", "b -> c", "c -> join")
    forks = {"plan": Fork(max_concurrency=most), "a": Fork(max_concurrency=most)}

    def made(actions: Mapping[str, Action]) -> CompiledGraph:
        graph = drawn(*lines, actions=actions, forks=forks, keys={"events": Append()}).log_events("events")
        return laps(graph, "join", "plan", 2).compile()

    run = from_a_coroutine(made({name: waits(name, n) for name, n in zip(names, times, strict=True)}))
    expected = made({}).run()
    assert (run.events, run.states, run.steps) == (expected.events, expected.states, expected.steps)


def test_events_follow_the_order_of_edges_not_of_names() -> None:
    def of(*names: str) -> list[Any]:
        lines = (f"plan -> {' '.join(names)}", *(f"{name} -> join" for name in names), "join -> END")
        actions = {name: says(name, many={"last": name}) for name in names}
        run = drawn(*lines, actions=actions, keys={"many": Merge()}).compile().run()
        return [log_of(run), run.state["many"]["last"], run.path]

    assert of("z", "a", "m") == [["plan", "z", "a", "m", "join"], "m", ("plan", "z", "a", "m", "join")]
    assert of("a", "m", "z") == [["plan", "a", "m", "z", "join"], "z", ("plan", "a", "m", "z", "join")]


@pytest.mark.parametrize("order", ORDERS)
def test_a_stream_shows_executions_as_they_complete(order: tuple[str, ...]) -> None:
    async def main() -> list[Executed]:
        return [step async for step in diamond(in_turn(order)).astream()]

    for steps in (list(diamond(in_turn(order)).stream()), asyncio.run(main())):
        assert [step.event.node for step in steps] == ["plan", *order, "join"]
        assert [step.index for step in steps] == [0, 1, 2, 3, 4]
        assert [step.event.branch for step in steps[1:4]] == [f"{name}[{'abc'.index(name)}]" for name in order]
        for step in steps[1:4]:
            assert (step.before["log"], step.after["log"]) == (["plan"], ["plan", step.event.node])
        assert steps[4].before["log"] == ["plan", "a", "b", "c"]


def test_the_steps_of_a_run_show_what_each_branch_saw() -> None:
    lines = ("plan -> a b", "a -> x", "x -> join", "b -> join", "join -> END")
    run = drawn(*lines).compile().run()
    assert [(step.index, step.before["log"], step.after["log"]) for step in run.steps] == [
        (0, [], ["plan"]),
        (1, ["plan"], ["plan", "a"]),
        (2, ["plan", "a"], ["plan", "a", "x"]),
        (3, ["plan"], ["plan", "b"]),
        (4, ["plan", "a", "x", "b"], ["plan", "a", "x", "b", "join"]),
    ]
    assert [(step.position.node, step.position.branch) for step in run.steps] == [
        ("plan", ""),
        ("a", "a[0]"),
        ("x", "a[0]"),
        ("b", "b[1]"),
        ("join", ""),
    ]
    assert [state["log"] for state in run.states] == [run.steps[0].before["log"], *(s.after["log"] for s in run.steps)]


def test_events_kept_in_state_are_those_of_the_run() -> None:
    lines = ("plan -> a b", "a -> x y", "x -> meet", "y -> meet", "meet -> join", "b -> join", "join -> END")
    graph = drawn(*lines, keys={"events": Append()}).log_events("events").compile()
    run = graph.run()
    assert [event["node"] for event in run.state["events"]] == list(run.path)
    meet = next(step for step in run.steps if step.event.node == "meet")
    assert [event["node"] for event in meet.after["events"]] == ["plan", "a", "x", "y", "meet"]


def test_the_event_before_is_not_spelled_out_in_a_run_without_branches() -> None:
    run = drawn("a -> b", "b -> END").compile().run()
    assert [(event.after, event.branch, event.others) for event in run.events] == [(None, "", ())] * 2


def test_an_action_knows_the_branch_it_is_called_in() -> None:
    def tells(state: Mapping[str, Any], config: RunConfig) -> dict[str, Any]:
        return {"log": [(config.branch, config.thread_id, config.metadata["who"], config.attempt)]}

    lines = ("plan -> a b", "a -> x y", "x -> join", "y -> join", "b -> join", "join -> END")
    graph = drawn(*lines, actions=dict.fromkeys(("plan", "a", "x", "y", "b", "join"), tells)).compile()
    run = graph.run(config=RunConfig("t", {"who": "me"}))
    branches = ["", "a[0]", "x[0][0]", "y[0][1]", "b[1]", ""]
    assert log_of(run) == [(branch, "t", "me", 1) for branch in branches]
    assert run.config.branch == ""


def test_a_reason_travels_through_a_branch_and_the_fork_s_own_to_the_join() -> None:
    graph = StateGraph({"log": Append()})
    for name in ("plan", "a", "b", "join"):
        graph.add_node(name, says(name))
    graph.add_edge(START, "plan").add_edge("a", "join", reason=REPEAT).add_edge("b", "join", reason="B_DONE")
    graph.add_edge("join", END, reason=REPEAT)
    graph.add_conditional_edges("plan", Decision([Rule(("a", "b"), "BOTH")]), {"a": "a", "b": "b"})
    run = graph.compile().run()
    assert [event.reason for event in run.events] == ["BOTH", "BOTH", "B_DONE", "BOTH"]
    assert run.steps[-1].position == Position("join", "BOTH")


def test_updates_around_an_action_merge_with_its_branch_and_count_once() -> None:
    add = Custom(merge=lambda old, new: old + new, initial=0)
    seen: list[int] = []

    def works(state: Any) -> Any:
        seen.append(state["n"])
        return {"n": 10}

    graph = StateGraph({"n": add}).add_node("plan", lambda state: {"n": 1}).add_node("join", lambda state: {})
    for name in "ab":
        enters = Effect("enters", lambda state: {"n": 100}, writes="n")
        leaves = Effect("leaves", lambda state: {"n": 1000}, writes="n")
        graph.add_node(name, works, entry=enters, exit=leaves)
    graph.add_edge(START, "plan").add_edge("plan", ["a", "b"]).add_edge(["a", "b"], "join").add_edge("join", END)
    assert graph.compile().run().state["n"] == 1 + 2 * 1110
    assert seen == [101, 101]


def test_attempts_and_outcomes_are_those_of_the_branch() -> None:
    graph = StateGraph({"log": Append()}).add_node("plan", says("plan")).add_node("join", says("join"))
    for name in "ab":
        tries = Reading(lambda state, name=name: list(state["log"]).count(name) + 1, "log")
        last = Reading(lambda state: f"saw_{len(state['log'])}", "log")
        graph.add_node(name, says(name), attempt=tries, outcome=last)
        enough = Condition("enough", lambda state, name=name: list(state["log"]).count(name) >= 2, "log")
        rules = Decision([Rule("on", "ON", (enough,)), Rule("again", "AGAIN")])
        graph.add_conditional_edges(name, rules, {"on": "join", "again": name})
    graph.add_edge(START, "plan").add_edge("plan", ["a", "b"]).add_edge("join", END)
    events = graph.compile().run().events[1:5]
    assert [(event.node, event.attempt, event.outcome) for event in events] == [
        ("a", 1, "saw_2"),
        ("a", 2, "saw_3"),
        ("b", 1, "saw_2"),
        ("b", 2, "saw_3"),
    ]


def test_a_decision_in_a_branch_is_explained_on_what_the_branch_saw() -> None:
    graph = drawn("plan -> a b", "b -> join", "join -> END", keys={"events": Append()}).log_events("events")
    long = Condition("long", lambda state: len(state["log"]) > 2, "log")
    quiet = Condition("quiet", lambda state: len(state["events"]) == 1, "events")
    rules = Decision([Rule("on", "LONG", (long,)), Rule("on", "QUIET", (quiet,)), Rule("on", "ON")])
    run = graph.add_conditional_edges("a", rules, {"on": "join"}).compile().run()
    assert run.events[1].reason == "QUIET"
    explanation = run.explain(1)
    assert (explanation.rule, explanation.target) == ("QUIET", "join")


def test_a_run_with_branches_shows_who_ran_where() -> None:
    run = drawn("plan -> a b", "a -> join", "b -> join", "join -> END").compile().run()
    assert run.text().split("\n") == [
        "Run of forks: ended after 4 node executions at join (FIXED)",
        "  1. plan (attempt 1): COMPLETED -> a + b because FIXED",
        "  2. a in a[0] (attempt 1): COMPLETED -> join because FIXED",
        "  3. b in b[1] (attempt 1): COMPLETED -> join because FIXED",
        "  4. join (attempt 1): COMPLETED -> __END__ because FIXED",
    ]
