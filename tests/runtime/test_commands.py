"""Commands and lists of routes: an action or a router says where to go, and only where the graph allows it."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from forkgraph import WAYS, Action, drawn, findings_of, log_of, says

from diagnosis.runtime import (
    END,
    GOTO,
    START,
    ActionError,
    Append,
    Command,
    CompiledGraph,
    Condition,
    ConditionError,
    Custom,
    Decision,
    DefinitionError,
    Fork,
    JoinError,
    LimitError,
    OwnershipError,
    Remove,
    Replace,
    ReplaceAll,
    ReportError,
    Rule,
    RunError,
    Send,
    StateGraph,
    UndeclaredKeyError,
    UnmappedRouteError,
)


def goes(goto: Any, name: str = "a", **update: Any) -> Action:
    """Give an action that returns a Command."""
    return lambda state: Command(goto, {"log": [name], **update}, reason="SAID_SO")


def goes_later(goto: Any, name: str = "a", **update: Any) -> Action:
    async def action(state: Any) -> Any:
        await asyncio.sleep(0)
        return Command(goto, {"log": [name], **update}, reason="SAID_SO")

    return action


TO = {"b": "b", "c": "c", "end": END}


def commanding(action: Action, *lines: str, goto: Mapping[str, str] = TO, fork: Fork | None = None) -> CompiledGraph:
    """a, which may go to b, c or END by Command; its own edge leads to b."""
    given = lines or ("a -> b", "b -> END", "c -> END")
    forks = {} if fork is None else {"a": fork}
    return drawn(*given, actions={"a": action}, keys={"k": Replace()}, goto={"a": goto}, forks=forks).compile()


def routing(router: Callable[[Any], Any], fork: Fork | None = None, **options: Any) -> CompiledGraph:
    """r, whose router leads to a, b or END; a and b lead to j."""
    graph = drawn("START -> r", "a -> j", "b -> j", "j -> END", keys={"k": Replace(), "t": Replace()})
    targets = {"a": "a", "b": "b", "end": END}
    return graph.add_conditional_edges("r", router, targets, fork=fork, **options).compile()


def stopped(graph: CompiledGraph, kind: type[RunError]) -> RunError:
    with pytest.raises(kind) as caught:
        graph.run()
    assert kind is RunError or type(caught.value) is kind
    return caught.value


# --- Commands of nodes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", [goes, goes_later])
def test_a_command_takes_the_place_of_the_nodes_fixed_edge(way: Callable[..., Any], make: Any) -> None:
    assert log_of(way(commanding(make("c")))) == ["a", "c"]
    assert log_of(way(commanding(make("b")))) == ["a", "b"]
    assert log_of(way(commanding(make("end")))) == ["a"]


def test_a_command_takes_the_place_of_the_nodes_decision_which_is_not_asked() -> None:
    asked: list[Any] = []

    def asks(state: Mapping[str, Any]) -> bool:
        asked.append(state["k"])
        return True

    graph = drawn("c -> END", "b -> END", "START -> a", actions={"a": goes("c")}, keys={"k": Replace()}, goto={"a": TO})
    rules = Decision([Rule("b", "ASKED", (Condition("asks", asks, "k"),)), Rule("c", "ELSE")])
    compiled = graph.add_conditional_edges("a", rules, {"b": "b", "c": "c"}).compile()
    assert log_of(compiled.run()) == ["a", "c"]
    assert asked == []
    assert log_of(compiled.with_actions({"a": says("a")}).run()) == ["a", "b"]
    assert asked == [None]


def test_a_command_is_recorded_with_its_key_and_reason() -> None:
    run = commanding(goes("c")).run()
    choice = run.events[0].choice
    assert (choice.source, choice.target, choice.route, choice.rule, choice.reason) == ("a", "c", "c", GOTO, "SAID_SO")
    assert GOTO == "goto"
    assert run.events[0].others == ()
    assert run.steps[1].position.reason == "SAID_SO"


def test_a_node_that_may_command_follows_its_own_edges_where_it_returns_an_update() -> None:
    run = commanding(says("a")).run()
    assert log_of(run) == ["a", "b"]
    assert (run.events[0].choice.rule, run.events[0].reason) == (None, "FIXED")


def test_a_node_may_have_no_way_out_but_commands() -> None:
    lines = ("START -> a", "b -> END", "c -> END")
    assert log_of(commanding(goes("b"), *lines).run()) == ["a", "b"]
    error = stopped(commanding(says("a"), *lines), UnmappedRouteError)
    assert str(error) == "node 'a' returned no Command and has no edges of its own; return one, or add an edge"
    assert (error.path, error.state["log"]) == ((), [])


@pytest.mark.parametrize("goto", ["nowhere", "c2", START, END, "A"])
def test_a_command_names_a_declared_key(goto: str) -> None:
    error = stopped(commanding(goes(goto, k=1)), UnmappedRouteError)
    hint = " (END must be in the mapping to be a route)" if goto == END else ""
    assert str(error) == (
        f"the Command of node 'a' gave {goto!r}, which is not in its mapping{hint}; the keys are 'b', 'c', 'end'"
    )
    # The execution is undone, its update included.
    assert (error.node, error.path, error.state) == ("a", (), {"log": [], "k": None})


def test_a_key_may_be_called_as_one_likes() -> None:
    graph = commanding(goes("escalate"), goto={"escalate": "c", END: END, "b": "b"})
    assert log_of(graph.run()) == ["a", "c"]
    assert log_of(graph.with_actions({"a": goes(END)}).run()) == ["a"]


def test_a_node_that_declares_no_goto_may_not_command() -> None:
    error = stopped(drawn("a -> END", actions={"a": goes("b")}).compile(), UnmappedRouteError)
    assert str(error) == (
        "node 'a' returned a Command, but declares no goto; add goto={route key: target} to its add_node"
    )


def test_the_update_of_a_command_is_a_report_like_any_other() -> None:
    assert commanding(goes("b", k=5)).run().state == {"log": ["a", "b"], "k": 5}
    run = commanding(lambda state: Command("b", reason="R")).run()
    assert (run.reports[0], run.state["log"]) == ({}, ["b"])
    stopped(commanding(goes("b", zz=1)), UndeclaredKeyError)
    stopped(commanding(goes("b", k=object())), ReportError)
    owning = drawn(
        "a -> b", "b -> END", actions={"a": goes("b", k=1)}, keys={"k": Replace()}, goto={"a": TO | {"c": "b"}},
        owns={"a": "log"},
    ).compile()  # fmt: skip
    assert str(stopped(owning, OwnershipError)) == "node 'a' wrote 'k', which it does not own; it may write 'log'"


def test_a_command_may_lead_back_and_meets_the_limit_like_any_loop() -> None:
    graph = drawn("a -> END", actions={"a": goes("again")}, goto={"a": {"again": "a"}}).compile(recursion_limit=5)
    assert stopped(graph, LimitError).path == ("a",) * 5


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Command([], reason="R"), "a Command goes to a route key, or to a list of route keys and Sends"),
        (lambda: Command("", reason="R"), "a Command goes to a route key, or to a list of route keys and Sends"),
        (lambda: Command(None, reason="R"), "a Command goes to a route key, or to a list of route keys and Sends"),
        (lambda: Command(["a", 5], reason="R"), "a Command goes to a route key, or to a list of route keys and Sends"),
        (lambda: Command("a", reason=" "), "a Command needs a reason code, a non-blank text; found ' '"),
        (lambda: Command("a", [1], reason="R"), "the update of a Command is a mapping from key to value, found list"),
        (lambda: Send(""), "a Send names a route key, a non-blank text; found ''"),
        (lambda: Send("a", 5), "the update of a Send is a mapping from key to value, found int"),
    ],
)
def test_a_command_that_can_be_none_is_refused_where_it_is_made(make: Callable[[], Any], text: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        make()
    assert str(caught.value) == text
    error = stopped(commanding(lambda state: make()), ActionError)
    assert str(error) == f"node 'a', attempt 1, raised DefinitionError: {text}"


def test_where_commands_lead_is_part_of_the_graph() -> None:
    graph = commanding(goes("c"))
    assert ("a", "c") in set(graph.definition.links())
    assert {("a", "b"), ("a", "c"), ("a", END)} <= {(edge.source, edge.target) for edge in graph.topology.edges}
    # c is reached by Command alone; without it, it would be unreachable.
    assert any("unreachable_node at c" in text for text in findings_of(drawn("a -> b", "b -> END", "c -> END")))


@pytest.mark.parametrize(
    ("goto", "text"),
    [
        ({"x": "ghost"}, "unknown_node at a -> ghost: no node 'ghost'; targets are 'a', 'b', '__END__'"),
        ({"x": START}, "unknown_node at a -> __START__: a Command cannot go to START"),
    ],
)
def test_what_a_command_may_lead_to_exists(goto: dict[str, str], text: str) -> None:
    assert text in findings_of(drawn("a -> b", "b -> END", goto={"a": goto}))


def test_what_a_node_declares_for_commands_is_a_mapping() -> None:
    graph = StateGraph("k")
    for wrong in ({}, ["b"], "b"):
        with pytest.raises(DefinitionError, match="the goto of node 'a' need a mapping from route key to node or END"):
            graph.add_node("a", says("a"), goto=wrong)  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match="node 'a': fork= is for Commands; say with goto= where they may lead"):
        graph.add_node("a", says("a"), fork=Fork())


# --- several ways at once ---------------------------------------------------------------------------------------------


FORKED = ("a -> b", "b -> j", "c -> j", "j -> END")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", [goes, goes_later])
def test_a_command_with_several_keys_opens_a_branch_each(way: Callable[..., Any], make: Any) -> None:
    graph = commanding(make(["c", "b"]), *FORKED, fork=Fork())
    assert graph.joins == {"a": "j"}
    run = way(graph)
    assert log_of(run) == ["a", "c", "b", "j"]
    assert [(choice.target, choice.rule, choice.reason) for choice in run.events[0].choices] == [
        ("c", GOTO, "SAID_SO"),
        ("b", GOTO, "SAID_SO"),
    ]
    assert log_of(way(graph.with_actions({"a": make("c")}))) == ["a", "c", "j"]
    assert log_of(way(graph.with_actions({"a": make("end")}))) == ["a"]


def test_a_command_may_send_each_branch_something_of_its_own() -> None:
    sends = [Send("b", {"k": 1}), "b", Send("c", {"k": 3})]
    seen: list[Any] = []

    def looks(state: Mapping[str, Any]) -> dict[str, Any]:
        seen.append(state["k"])
        return {}

    graph = commanding(goes(sends, k=0), *FORKED, fork=Fork()).with_actions(dict.fromkeys("bcj", looks))
    assert graph.run().state["k"] == 0
    assert seen == [1, 0, 3, 0]


@pytest.mark.parametrize("goto", [["b", "c"], ["b"], [Send("b")]])
def test_a_list_of_keys_needs_a_fork(goto: list[Any]) -> None:
    error = stopped(commanding(goes(goto)), UnmappedRouteError)
    assert str(error) == (
        "the Command of node 'a' gave a list of routes, but declares no fork; add fork=Fork(...) where it is added"
    )


def test_a_list_of_keys_holds_declared_keys_that_do_not_lead_to_end() -> None:
    error = stopped(commanding(goes(["b", "nowhere"]), *FORKED, fork=Fork()), UnmappedRouteError)
    assert "gave 'nowhere', which is not in its mapping; the keys are 'b', 'c', 'end'" in str(error)
    error = stopped(commanding(goes(["b", "end"]), *FORKED, fork=Fork()), UnmappedRouteError)
    assert str(error) == (
        "the Command of node 'a' gave 'end' in a list, which is no route that opens a branch; those that do are "
        "'b', 'c'"
    )


def test_only_the_routes_of_the_fork_may_be_chosen_together() -> None:
    lines = ("a -> b", "b -> j", "c -> j", "d -> END", "j -> END")
    goto = {"b": "b", "c": "c", "d": "d"}
    graph = commanding(goes("d"), *lines, goto=goto, fork=Fork(routes=("b", "c")))
    assert log_of(graph.run()) == ["a", "d"]
    assert log_of(graph.with_actions({"a": goes(["b", "c"])}).run()) == ["a", "b", "c", "j"]
    error = stopped(graph.with_actions({"a": goes(["b", "d"])}), UnmappedRouteError)
    assert "gave 'd' in a list, which is no route that opens a branch" in str(error)
    wrong = findings_of(drawn(*lines, goto={"a": goto}, forks={"a": Fork(routes=("b", "x"))}))
    assert "unmapped_route at a, fan-out of its Commands: forks 'x'; the keys are 'b', 'c', 'd'" in wrong


@pytest.mark.parametrize("way", WAYS)
def test_commands_work_inside_branches(way: Callable[..., Any]) -> None:
    lines = ("plan -> a b", "a -> x", "x -> j", "y -> j", "b -> j", "j -> END")
    goto = {"a": {"y": "y", "on": "j"}}
    for make in (goes, goes_later):
        graph = drawn(*lines, actions={"a": make("y")}, goto=goto).compile()
        run = way(graph)
        assert log_of(run) == ["plan", "a", "y", "b", "j"]
        assert (run.events[1].branch, run.events[1].choice.rule) == ("a[0]", GOTO)
        assert log_of(way(graph.with_actions({"a": make("on")}))) == ["plan", "a", "b", "j"]
        error = stopped(graph.with_actions({"a": make("z")}), UnmappedRouteError)
        assert (error.branch, error.state["log"]) == ("a[0]", ["plan"])


def test_a_command_in_a_branch_may_open_branches() -> None:
    lines = ("plan -> a b", "a -> x", "x -> m", "y -> m", "m -> j", "b -> j", "j -> END")
    goto, forks = {"a": {"x": "x", "y": "y"}}, {"a": Fork()}
    run = drawn(*lines, actions={"a": goes(["y", "x", "y"])}, goto=goto, forks=forks).compile().run()
    assert log_of(run) == ["plan", "a", "y", "x", "y", "m", "b", "j"]
    assert [event.branch for event in run.events[2:5]] == ["y[0][0]", "x[0][1]", "y[0][2]"]


# --- routers ----------------------------------------------------------------------------------------------------------


def test_a_router_may_give_a_command_whose_reason_is_recorded() -> None:
    run = routing(lambda state: Command("b", reason="WHY")).run()
    assert log_of(run) == ["r", "b", "j"]
    choice = run.events[0].choice
    assert (choice.route, choice.rule, choice.reason) == ("b", None, "WHY")


def test_the_update_of_a_routers_command_is_merged_before_the_next_node() -> None:
    run = routing(
        lambda state: Command("a", {"log": ["cmd"], "k": len(state["log"])}, reason="R"), owns=("log", "k")
    ).run()
    assert log_of(run) == ["r", "cmd", "a", "j"]
    # The router saw the node's update, and the node's own step shows what the router added.
    assert run.state["k"] == 1
    assert run.steps[0].after["log"] == ["r", "cmd"]
    assert run.steps[0].report == {"log": ["r"]}


def test_the_update_of_a_routers_command_survives_the_branches_it_opens() -> None:
    router = lambda state: Command(["b", "a"], {"log": ["cmd"]}, reason="R")  # noqa: E731
    run = routing(router, Fork(), owns="log").run()
    assert log_of(run) == ["r", "cmd", "b", "a", "j"]


@pytest.mark.parametrize("key", ["k", "log", "zz"])
def test_a_routers_command_updates_only_keys_that_the_decision_owns(key: str) -> None:
    error = stopped(routing(lambda state: Command("a", {key: 1}, reason="R"), owns="t"), OwnershipError)
    assert str(error) == f"the router of node 'r' updates {key!r}, which it does not own; it may update 't'"
    assert (error.path, error.state["log"]) == ((), [])
    error = stopped(routing(lambda state: Command("a", {key: 1}, reason="R")), OwnershipError)
    assert str(error).endswith("it may update nothing")


def test_what_a_routers_command_updates_is_checked_like_a_report() -> None:
    error = stopped(routing(lambda state: Command("a", {"log": "text"}, reason="R"), owns="log"), ReportError)
    assert str(error).startswith("the router of node 'r' wrote 'log': ")
    error = stopped(routing(lambda state: Command("a", {"k": object()}, reason="R"), owns="k"), ReportError)
    assert str(error).startswith("the router of node 'r' wrote 'k': ")
    graph = drawn("START -> r", "a -> END", keys={"events": Append()}).log_events("events")
    graph.add_conditional_edges("r", lambda state: Command("a", {"events": [1]}, reason="R"), {"a": "a"}, owns="events")
    assert "only the runtime adds events" in str(stopped(graph.compile(), ReportError))


@pytest.mark.parametrize("marker", [Remove(1), ReplaceAll([1]), [Remove(1)]])
def test_a_marker_is_stored_nowhere_as_a_value(marker: Any) -> None:
    error = stopped(commanding(goes("b", k=marker)), ReportError)
    assert "is a marker" in str(error)
    error = stopped(routing(lambda state: Command("a", {"k": marker}, reason="R"), owns="k"), ReportError)
    assert "is a marker" in str(error)
    error = stopped(routing(lambda state: [Send("a", {"k": marker})], Fork()), RunError)
    assert "is a marker" in str(error)


def test_a_decision_owns_only_keys_of_the_graph() -> None:
    graph = drawn("START -> r", "a -> END").add_conditional_edges(
        "r", lambda state: "a", {"a": "a"}, owns=("log", "zz")
    )
    (text,) = findings_of(graph)
    assert text.startswith("unknown_key at ")
    assert text.endswith("declares 'zz'; the keys of the graph are 'log'")


@pytest.mark.parametrize("empty", [[], (), None, "", 5, {"a": 1}, set()])
def test_a_router_that_gives_no_route_does_not_end_the_run_quietly(empty: Any) -> None:
    for fork in (None, Fork()):
        error = stopped(routing(lambda state: empty, fork), UnmappedRouteError)
        assert "the router of node 'r'" in str(error)
        assert (error.path, error.state["log"]) == ((), [])
    error = stopped(routing(lambda state: [], Fork()), UnmappedRouteError)
    assert str(error) == (
        "the router of node 'r' gave no route at all; to end the run, map a key to END and give that key"
    )
    assert log_of(routing(lambda state: "end", Fork()).run()) == ["r"]


def test_a_router_that_gives_a_key_twice_runs_its_node_in_two_branches() -> None:
    run = routing(lambda state: ["b", "b"], Fork()).run()
    assert log_of(run) == ["r", "b", "b", "j"]
    assert [event.branch for event in run.events[1:3]] == ["b[0]", "b[1]"]


@pytest.mark.parametrize("kind", [list, tuple])
@pytest.mark.parametrize(("routes", "path"), [("ab", "rabj"), ("ba", "rbaj"), ("a", "raj")])
def test_branches_merge_in_the_order_that_the_router_gave(kind: Any, routes: str, path: str) -> None:
    assert "".join(log_of(routing(lambda state: kind(routes), Fork()).run())) == path


def test_a_router_may_send_to_one_branch_alone() -> None:
    graph = routing(lambda state: Send("b", {"t": "task"}), Fork())
    run = graph.with_actions({"b": lambda state: {"log": [state["t"]]}}).run()
    assert (log_of(run), run.state["t"]) == (["r", "task", "j"], None)


@pytest.mark.parametrize(
    ("routes", "text"),
    [
        (["a", "nowhere"], "gave 'nowhere', which is not in its mapping; the keys are 'a', 'b', 'end'"),
        (["nowhere", "never"], "gave 'nowhere', which is not in its mapping"),
        (["a", "end"], "gave 'end' in a list, which is no route that opens a branch"),
        (["a", END], "which is not in its mapping (END must be in the mapping to be a route)"),
        (["a", 5], "gave ['a', 5]: a Send names a route key, a non-blank text; found 5"),
        (["a", ""], "gave ['a', '']: a Send names a route key, a non-blank text; found ''"),
        ([["a"]], "gave [['a']]: a Send names a route key"),
    ],
)
def test_every_route_of_a_list_is_one_that_opens_a_branch(routes: list[Any], text: str) -> None:
    error = stopped(routing(lambda state: routes, Fork()), UnmappedRouteError)
    assert str(error).startswith("the router of node 'r' gave")
    assert text in str(error)
    # None of them is followed.
    assert (error.path, error.state["log"]) == ((), [])


def test_a_router_that_may_give_one_route_only_may_give_no_list() -> None:
    for routes in (["a", "b"], ["a"], Send("a")):
        error = stopped(routing(lambda state, routes=routes: routes), UnmappedRouteError)
        assert "gave a list of routes, but declares no fork; add fork=Fork(...) where it is added" in str(error)


@pytest.mark.parametrize(
    ("update", "kind", "text"),
    [
        ({"zz": 1}, UndeclaredKeyError, "sent 'zz' to 'a', which the graph does not declare"),
        ({"k": object()}, ReportError, "sent 'k' to 'a': "),
        ({"log": "text"}, JoinError, "node 'r' sent 'log' to branch 'a[0]': "),
    ],
)
def test_what_a_send_carries_fits_the_graph(update: dict[str, Any], kind: type[RunError], text: str) -> None:
    error = stopped(routing(lambda state: [Send("a", update), "b"], Fork()), kind)
    assert text in str(error)
    assert error.node == "r"


def test_a_send_cannot_carry_events() -> None:
    graph = drawn("START -> r", "a -> j", "j -> END", keys={"events": Append()}).log_events("events")
    graph.add_conditional_edges("r", lambda state: [Send("a", {"events": [1]})], {"a": "a"}, fork=Fork())
    assert "sent 'events' to 'a': only the runtime adds events" in str(stopped(graph.compile(), ReportError))


def test_a_router_sees_what_its_branch_sees() -> None:
    seen: list[Any] = []

    def router(state: Mapping[str, Any]) -> str:
        seen.append(list(state["log"]))
        return "on"

    graph = drawn("plan -> a b", "j -> END", keys={"n": Custom(merge=lambda old, new: old + new, initial=0)})
    graph.add_node("x", says("x")).add_edge("x", "j")
    for name in "ab":
        graph.add_conditional_edges(name, router, {"on": "x" if name == "a" else "j"})
    graph.compile().run()
    assert seen == [["plan", "a"], ["plan", "b"]]


def test_a_router_that_raises_is_named_not_its_node() -> None:
    def router(state: Any) -> Any:
        raise KeyError("logg")

    error = stopped(routing(router, Fork()), ConditionError)
    assert str(error).startswith("the router of node 'r' raised KeyError: 'logg'; the keys of the graph are")


def test_start_may_leave_it_to_a_router() -> None:
    built = StateGraph({"log": Append(), "k": Replace()})
    for name in "abj":
        built.add_node(name, says(name))
    built.add_edge(["a", "b"], "j").add_edge("j", END)
    targets = {"a": "a", "b": "b", "end": END}
    built.add_conditional_edges(
        START, lambda state: Command(["b", "a"], {"log": ["cmd"]}, reason="R"), targets, owns="log", fork=Fork()
    )
    run = built.compile().run()
    assert run.path == ("entry", "b", "a", "j")
    assert log_of(run) == ["cmd", "b", "a", "j"]
