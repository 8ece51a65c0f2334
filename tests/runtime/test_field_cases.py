"""Failures that people met in real agent graphs: the smallest graph of each, and the kind of failure around it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from forkgraph import ANY, WAYS, Action, diamond, drawn, fails, from_a_coroutine, laps, log_of, says, waits
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnosis.runtime import (
    END,
    START,
    Append,
    Command,
    Condition,
    Custom,
    Decision,
    Effect,
    Fork,
    JoinError,
    Merge,
    OwnershipError,
    Reading,
    Replace,
    ReportError,
    Rule,
    RunError,
    Send,
    StateGraph,
)

# --- a node hands back the whole state with its update ----------------------------------------------------------------


SPREADS: list[Callable[[Mapping[str, Any]], Any]] = [
    lambda state: {**state, "status": "ok"},
    lambda state: dict(state) | {"status": "ok"},
    lambda state: {"status": "ok", **state},
    lambda state: state,
    lambda state: {key: state[key] for key in state},
    lambda state: {"status": "ok", "log": state["log"]},
    lambda state: {"status": "ok", "log": tuple(state["log"]), "tries": state["tries"]},
]


def retried(action: Action, owns: Any = None) -> StateGraph:
    """first -> fetch, which is tried twice -> END."""
    keys = {"log": Append(), "status": Replace(), "tries": Replace(initial=0)}
    graph = StateGraph(keys).add_node("first", says("first"))
    counts = Effect("counts", lambda state: {"tries": state["tries"] + 1}, reads="tries", writes="tries")
    graph.add_node("fetch", action, owns=owns, entry=counts, attempt=Reading(lambda state: state["tries"], "tries"))
    graph.add_edge(START, "first").add_edge("first", "fetch")
    once = Condition("once", lambda state: state["tries"] < 2, "tries")
    rules = Decision([Rule("again", "RETRY", (once,)), Rule("end", "DONE")])
    return graph.add_conditional_edges("fetch", rules, {"again": "fetch", "end": END})


@pytest.mark.parametrize("spread", SPREADS)
def test_a_retried_node_that_owns_its_key_and_hands_back_the_state_is_refused_by_name(spread: Any) -> None:
    graph = retried(spread, owns="status").compile()
    with pytest.raises(OwnershipError, match=r"node 'fetch' wrote '\w+', which it does not own; it may write 'status'"):
        graph.run()


@pytest.mark.parametrize("spread", SPREADS[:6])
def test_a_history_that_comes_back_whole_is_never_doubled(spread: Any) -> None:
    with pytest.raises(ReportError, match="node 'fetch' wrote 'log'") as caught:
        retried(spread).compile().run()
    assert caught.value.state["log"] == ["first"]
    run = retried(lambda state: {"status": "ok", "log": ["fetch"]}).compile().run()
    assert log_of(run) == ["first", "fetch", "fetch"]


@pytest.mark.parametrize("spread", SPREADS[:6])
@pytest.mark.parametrize("owns", [None, "status"])
def test_branches_that_hand_back_the_whole_state_are_refused_and_nothing_merges(spread: Any, owns: Any) -> None:
    keys = {"status": Replace(), "tries": Replace(initial=0)}
    lines = ("plan -> a b", "a -> join", "b -> join", "join -> END")
    for names in ("a", "b", "ab"):
        graph = drawn(*lines, actions=dict.fromkeys(names, spread), keys=keys, owns=dict.fromkeys(names, owns))
        with pytest.raises((OwnershipError, ReportError)) as caught:
            graph.compile().run()
        assert caught.value.node == names[0]
        assert caught.value.branch == f"{names[0]}[{'ab'.index(names[0])}]"
        assert caught.value.state["log"] == ["plan"]


@pytest.mark.parametrize("spread", SPREADS[:6])
def test_a_command_that_hands_back_the_whole_state_is_refused_too(spread: Any) -> None:
    for owns, kind in (("status", OwnershipError), (None, ReportError)):
        graph = drawn(
            "a -> END",
            actions={"a": lambda state: Command("end", spread(state), reason="R")},
            keys={"status": Replace(), "tries": Replace()},
            goto={"a": {"end": END}},
            owns={"a": owns},
        ).compile()
        with pytest.raises(kind, match="node 'a' wrote"):
            graph.run({"log": ["before"]})


# --- a strategy changes the old value in place ------------------------------------------------------------------------


def extends(old: list[Any], new: list[Any]) -> list[Any]:
    old.extend(new)
    return old


def updates(old: dict[str, Any], new: list[Any]) -> dict[str, Any]:
    for item in new:
        old.setdefault("seen", []).append(item)
    return old


def shares(old: list[Any], new: list[Any]) -> list[Any]:
    old[0].extend(new)
    return [old[0], *old[1:]]


def eats(old: list[Any], new: list[Any]) -> list[Any]:
    while new:
        old.append(new.pop(0))
    return old


IN_PLACE = [(extends, []), (updates, {}), (shares, [[]]), (eats, [])]


def content(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return list(value.get("seen", ()))
    return list(value[0]) if value and isinstance(value[0], list | tuple) else list(value)


@pytest.mark.parametrize(("merge", "initial"), IN_PLACE)
def test_a_strategy_that_changes_in_place_counts_each_write_once_and_rewrites_no_earlier_state(
    merge: Any, initial: Any
) -> None:
    given_input = copy.deepcopy(initial)
    lines = ("plan -> a b", "a -> x", "x -> join", "b -> join", "join -> END")
    graph = drawn(*lines, keys={"k": Custom(merge=merge)}, actions={name: says(name, k=[name]) for name in "axb"})
    compiled = graph.compile()
    for _ in range(2):
        run = compiled.run({"k": given_input})
        assert content(run.state["k"]) == ["a", "x", "b"]
        assert given_input == initial
        assert [content(step.after["k"]) for step in run.steps] == [[], ["a"], ["a", "x"], ["b"], ["a", "x", "b"]]
        assert [report.get("k") for report in run.reports] == [None, ["a"], ["x"], ["b"], None]


@pytest.mark.parametrize(("merge", "initial"), IN_PLACE)
def test_what_a_send_carries_stays_as_it_was_under_a_strategy_that_changes_in_place(merge: Any, initial: Any) -> None:
    payload = {"k": ["sent"]}
    graph = StateGraph({"log": Append(), "k": Custom(merge=merge, initial=initial)})
    graph.add_node("plan", says("plan")).add_node("join", says("join"))
    graph.add_node("work", lambda state: {"log": content(state["k"]), "k": ["work"]})
    graph.add_edge(START, "plan").add_edge("work", "join").add_edge("join", END)
    sends = [Send("work", payload), Send("work", payload)]
    run = graph.add_conditional_edges("plan", lambda state: sends, {"work": "work"}, fork=Fork()).compile().run()
    assert log_of(run) == ["plan", "sent", "sent", "join"]
    assert content(run.state["k"]) == ["work", "work"]
    assert payload == {"k": ["sent"]}


# --- a node with several ways in is taken for a join ------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_loop_head_waits_for_none_of_its_other_predecessors(way: Callable[..., Any], count: int) -> None:
    # entry and so many back edges lead to head, which picks one of them a lap.
    graph = StateGraph({"log": Append()}).add_node("head", waits("head")).add_edge(START, "head")
    rules, targets = [], {"end": END}
    for number in range(count):
        name = f"back{number}"
        graph.add_node(name, says(name)).add_edge(name, "head")
        turn = Condition(name, lambda state, n=number: list(state["log"]).count("head") == n + 1, "log")
        rules.append(Rule(name, name.upper(), (turn,)))
        targets[name] = name
    graph.add_conditional_edges("head", Decision([*rules, Rule("end", "END")]), targets)
    compiled = graph.compile()
    assert compiled.joins == {}
    expected = [name for number in range(count) for name in ("head", f"back{number}")]
    assert log_of(way(compiled)) == [*expected, "head"]


def test_a_loop_head_that_opens_branches_or_stands_in_one_waits_for_no_predecessor_either() -> None:
    graph = laps(drawn("start -> head", "head -> b c", "b -> join", "c -> join"), "join", "head", 2).compile()
    assert log_of(graph.run()) == ["start", "head", "b", "c", "join", "head", "b", "c", "join"]
    graph = drawn("plan -> a other", "a -> head", "other -> join", "join -> END")
    again = Condition("again", lambda state: list(state["log"]).count("head") < 3, "log")
    rules = Decision([Rule("body", "AGAIN", (again,)), Rule("on", "ON")])
    graph.add_node("body", says("body")).add_edge("body", "head")
    run = graph.add_conditional_edges("head", rules, {"body": "body", "on": "join"}).compile().run()
    assert log_of(run) == ["plan", "a", *("head", "body") * 2, "head", "other", "join"]


def test_a_node_that_exclusive_branches_lead_to_runs_once_for_the_one_that_was_taken() -> None:
    graph = drawn("a -> meet", "b -> x", "x -> meet", "meet -> END", "START -> pick")
    graph.add_conditional_edges("pick", lambda state: "b", {"a": "a", "b": "b"})
    assert log_of(graph.compile().run()) == ["pick", "b", "x", "meet"]


# --- branches of unequal length, and branches that are routed away ----------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("one", "two"), [(1, 2), (2, 1), (1, 5), (3, 3)])
def test_a_join_of_unequal_branches_runs_once(way: Callable[..., Any], one: int, two: int) -> None:
    chains = [f"{side}{number} -> {side}{number + 1}" for side, n in (("a", one), ("b", two)) for number in range(1, n)]
    lines = ("plan -> a1 b1", *chains, f"a{one} -> join", f"b{two} -> join", "join -> after", "after -> END")
    names = [f"a{n}" for n in range(1, one + 1)] + [f"b{n}" for n in range(1, two + 1)]
    assert log_of(way(drawn(*lines).compile())) == ["plan", *names, "join", "after"]
    slow = {"a1": waits("a1", 7), **({"b2": waits("b2", 5)} if two > 1 else {})}
    assert log_of(way(drawn(*lines, actions=slow).compile())) == ["plan", *names, "join", "after"]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=4), min_size=1, max_size=5),
    st.booleans(),
)
def test_a_join_runs_once_when_every_branch_has_ended_whichever_way(
    branches: list[list[tuple[int, bool]]], twice: bool
) -> None:
    """Each branch is a chain of (how long a node takes, whether it routes to END instead of on)."""
    graph = StateGraph({"log": Append()}).add_node("plan", says("plan"))
    graph.add_edge(START, "plan").add_edge("plan", [f"n{i}_0" for i in range(len(branches))], fork=Fork(join="join"))
    expected, ended = [], []
    for i, chain in enumerate(branches):
        alive = True
        for k, (times, away) in enumerate(chain):
            name, following = f"n{i}_{k}", f"n{i}_{k + 1}" if k + 1 < len(chain) else "join"
            graph.add_node(name, waits(name, times))
            route = "end" if away else "on"
            graph.add_conditional_edges(name, lambda state, route=route: route, {"on": following, "end": END})
            if alive:
                expected.append(name)
            alive = alive and not away
        ended.append(expected[-1])
    seen: list[list[str]] = []

    def join(state: Mapping[str, Any]) -> dict[str, Any]:
        seen.append(list(state["log"]))
        return {"log": ["join"]}

    graph.add_node("join", join)
    compiled = laps(graph, "join", "plan", 1 + twice).compile(recursion_limit=200)
    run = from_a_coroutine(compiled)
    lap = ["plan", *expected, "join"]
    assert log_of(run) == lap * (1 + twice)
    assert seen == [lap[:-1], [*lap, *lap[:-1]]][: 1 + twice]
    joins = [index for index, event in enumerate(run.events) if event.node == "join"]
    assert [run.events[cause].node for cause in run.events[joins[0]].after or ()] == ended


# --- two branches write one key ---------------------------------------------------------------------------------------


def two(a: Action, b: Action, key: Any, **options: Any) -> Any:
    lines = ("plan -> a b", "a -> join", "b -> join", "join -> END")
    return drawn(*lines, actions={"a": a, "b": b}, keys={"k": key}, **options).compile()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("one", "other"), [(1, 2), (1, 1), (None, None), (None, 1), (0, False), ("", ""), ([], []), ({"x": 1}, {"y": 1})]
)
def test_two_branches_that_write_one_replace_key_are_named_even_where_they_agree(
    way: Callable[..., Any], one: Any, other: Any
) -> None:
    text = (
        "the fork at 'plan': 'a[0]' and 'b[1]' both wrote 'k', and only one value can stay; give the key a strategy "
        "that merges (Append, Merge or Custom), or let one branch write it"
    )
    for a, b in ((says("a", k=one), says("b", k=other)), (waits("a", 5, k=one), waits("b", 1, k=other))):
        with pytest.raises(JoinError) as caught:
            way(two(a, b, Replace(initial="before")))
        assert str(caught.value) == text
        assert (caught.value.state["k"], caught.value.path) == ("before", ("plan", "a", "b"))


@pytest.mark.parametrize(
    ("strategy", "one", "other", "merged"),
    [
        (Append(), [1], [2], [1, 2]),
        (Append(unique=True), [1], [1, 2], [1, 2]),
        (Merge(), {"x": 1, "z": 1}, {"y": 2, "z": 2}, {"x": 1, "y": 2, "z": 2}),
        (Custom(merge=max, initial=0), 5, 3, 5),
        (Custom(merge=lambda old, new: old + new, initial="."), "a", "b", ".ab"),
    ],
)
def test_a_strategy_that_merges_takes_both(strategy: Any, one: Any, other: Any, merged: Any) -> None:
    assert two(says("a", k=one), says("b", k=other), strategy).run().state["k"] == merged
    assert two(waits("a", 5, k=one), waits("b", 1, k=other), strategy).run().state["k"] == merged


def test_any_way_of_writing_counts_as_a_write() -> None:
    def conflict(graph: StateGraph) -> str:
        with pytest.raises(JoinError) as caught:
            graph.compile().run()
        return str(caught.value).partition(" both wrote ")[0]

    effect = Effect("sets", lambda state: {"k": 1}, writes="k")

    def made(**node: Any) -> StateGraph:
        graph = StateGraph({"k": Replace(), "n": Replace()}).add_node("plan", lambda state: {})
        graph.add_node("a", node.pop("action", lambda state: {}), **node).add_node("b", lambda state: {"k": 2})
        graph.add_node("join", lambda state: {}).add_edge(START, "plan").add_edge("plan", ["a", "b"])
        return graph.add_edge("b", "join").add_edge("join", END)

    told = "the fork at 'plan': 'a[0]' and 'b[1]'"
    assert conflict(made(entry=effect).add_edge("a", "join")) == told
    assert conflict(made(exit=effect).add_edge("a", "join")) == told
    assert conflict(made(whole_report=True, owns="k").add_edge("a", "join")) == told
    commands = made(action=lambda state: Command("on", {"k": 1}, reason="R"), goto={"on": "join"})
    assert conflict(commands) == told
    routes = made().add_conditional_edges(
        "a", lambda state: Command("on", {"k": 1}, reason="R"), {"on": "join"}, owns="k"
    )
    assert conflict(routes) == told


def test_a_send_is_no_write() -> None:
    graph = StateGraph({"k": Replace()}).add_node("plan", lambda state: {}).add_node("join", lambda state: {})
    graph.add_node("a", lambda state: {"k": state["k"]}).add_node("b", lambda state: {})
    graph.add_edge(START, "plan").add_edge(["a", "b"], "join").add_edge("join", END)
    sends = [Send("a", {"k": 1}), Send("b", {"k": 2})]
    graph.add_conditional_edges("plan", lambda state: sends, {"a": "a", "b": "b"}, fork=Fork())
    assert graph.compile().run().state["k"] == 1


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.sampled_from(["k", "m", "s"]), max_size=3), min_size=2, max_size=4))
def test_a_conflict_is_told_exactly_where_two_branches_wrote_one_replace_key(writes: list[list[str]]) -> None:
    """Each branch is a chain of nodes that write one key each; k and m are replaced, s is summed."""
    keys = {"k": Replace(), "m": Replace(), "s": Custom(merge=lambda old, new: old + new, initial=0)}
    lines, actions, writers = [], {}, {"k": {}, "m": {}}
    firsts = []
    for i, chain in enumerate(writes):
        names = [f"n{i}_{k}" for k in range(len(chain) + 1)]
        firsts.append(names[0])
        lines += [f"{one} -> {other}" for one, other in zip(names, [*names[1:], "join"], strict=True)]
        for name, key in zip(names[1:], chain, strict=True):
            actions[name] = says(name, **{key: 1})
            if key in writers:
                writers[key].setdefault(i, []).append(name)
    graph = drawn(f"plan -> {' '.join(firsts)}", *lines, "join -> END", actions=actions, keys=keys).compile()
    crossed = {key for key, of in writers.items() if len(of) > 1}
    if not crossed:
        assert graph.run().state["s"] == sum(chain.count("s") for chain in writes)
        return
    with pytest.raises(JoinError) as caught:
        graph.run()
    text = str(caught.value)
    key = next(key for key in crossed if f"both wrote {key!r}" in text)
    # Named are the first two branches that wrote it, each with the first of its nodes that did.
    (i, one), (j, other) = [(i, of[0]) for i, of in writers[key].items()][:2]
    assert text.startswith(
        f"the fork at 'plan': '{one}[{i}]' of branch '{firsts[i]}[{i}]' and '{other}[{j}]' of branch '{firsts[j]}[{j}]'"
    )


# --- what failed was taken for a success ------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_no_run_with_a_failed_branch_or_a_met_limit_counts_as_ended(way: Callable[..., Any]) -> None:
    cases = [
        (diamond({"b": fails("b")}), {}, "error"),
        (diamond({"b": fails("b", 2)}), {}, "error"),
        (diamond({name: fails(name) for name in "abc"}, ANY), {}, "error"),
        (diamond(), {"recursion_limit": 4}, "limit"),
        (diamond(), {"recursion_limit": 1}, "limit"),
        (two(says("a", k=1), says("b", k=1), Replace()), {}, "error"),
    ]
    for graph, options, stop in cases:
        run = way(graph, check=False, **options)
        assert (run.stop, run.ended, run.final_node, run.reason) == (stop, False, None, None)
        assert isinstance(run.error, RunError)
        assert run.error.run is run
        assert f"stopped by {stop}" in run.summary
