"""The same graphs in LangGraph, where it is installed: what it does with them, and what is done here.

What LangGraph does is held against the version that ``docs/semantics.md`` was measured with, and skipped under any
other.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import logging
import operator
from typing import Annotated, Any, TypedDict

import pytest
from forkgraph import drawn, findings_of, laps, log_of, says

from diagnosis.runtime import (
    END,
    Append,
    Command,
    CompileError,
    Fork,
    InputError,
    JoinError,
    LimitError,
    Replace,
    RunError,
    StateGraph,
)

MEASURED = "1.2.24"

peer = pytest.importorskip("langgraph.graph")
if importlib.metadata.version("langgraph") != MEASURED:
    pytest.skip(f"LangGraph {MEASURED} is not installed; `make bench` installs one", allow_module_level=True)

errors, types = importlib.import_module("langgraph.errors"), importlib.import_module("langgraph.types")


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]
    k: int
    lap: int


def theirs(*lines: str, actions: dict[str, Any] | None = None) -> Any:
    """Give the LangGraph builder of the graph that ``drawn`` makes of the same lines."""
    builder = peer.StateGraph(State)
    edges = [(source, targets.split()) for source, _, targets in (line.partition(" -> ") for line in lines)]
    names = dict.fromkeys(name for source, targets in edges for name in (source, *targets))
    places = {"START": peer.START, "END": peer.END}
    for name in names:
        if name not in places:
            builder.add_node(name, (actions or {}).get(name) or says(name))
    if "START" not in names:
        builder.add_edge(peer.START, next(iter(names)))
    for source, targets in edges:
        for target in targets:
            builder.add_edge(places.get(source, source), places.get(target, target))
    return builder


def log(builder: Any, given: Any = None, **config: Any) -> list[Any]:
    return list(builder.compile().invoke({"log": [], **(given or {})}, config or None)["log"])


UNEQUAL = ("plan -> b c", "b -> b2", "b2 -> join", "c -> join", "join -> END")


def test_a_join_of_unequal_branches_runs_twice_there() -> None:
    assert log(theirs(*UNEQUAL)).count("join") == 2
    assert log_of(drawn(*UNEQUAL).compile().run()).count("join") == 1


def test_a_list_of_sources_makes_it_run_once_there() -> None:
    builder = theirs("plan -> b c", "b -> b2", "join -> END").add_edge(["b2", "c"], "join")
    assert log(builder) == ["plan", "b", "c", "b2", "join"]
    assert log_of(drawn(*UNEQUAL).compile().run()) == ["plan", "b", "b2", "c", "join"]


def test_a_branch_that_is_routed_away_starves_the_join_there() -> None:
    builder = theirs("plan -> b c", "b2 -> END", "join -> last", "last -> END", "other -> END")
    builder.add_edge(["b2", "c"], "join")
    builder.add_conditional_edges("b", lambda state: "other", {"other": "other", "on": "b2"})
    assert "join" not in log(builder)
    assert "last" not in log(builder)
    lines = ("plan -> b c", "b2 -> join", "c -> join", "join -> last", "last -> END", "other -> END")
    ours = drawn(*lines, forks={"plan": Fork(join="join")})
    ours.add_conditional_edges("b", lambda state: "other", {"other": "other", "on": "b2"})
    assert log_of(ours.compile().run()) == ["plan", "b", "other", "c", "join", "last"]


def test_a_half_filled_barrier_survives_laps_there() -> None:
    # In lap 1 only b leads to the join, in lap 2 only c; every other way leads on to the next lap.
    def counts(state: Any) -> dict[str, Any]:
        return {"log": ["head"], "lap": state.get("lap", 0) + 1}

    builder = theirs("next -> END", "join -> END", actions={"next": lambda state: {}})
    builder.add_node("head", counts).add_node("b", says("b")).add_node("c", says("c"))
    builder.add_edge(peer.START, "head")
    builder.add_conditional_edges("head", lambda state: "b" if state["lap"] == 1 else "c", {"b": "b", "c": "c"})
    builder.add_edge(["b", "c"], "join")
    builder.add_conditional_edges("b", lambda state: "head", {"head": "head"})
    assert log(builder) == ["head", "b", "head", "c", "join"]
    # Here a join belongs to one fork: nothing waits from one lap to the next.
    ours = laps(drawn("head -> b c", "b -> join", "c -> join"), "join", "head", 2).compile()
    assert ours.joins == {"head": "join"}
    assert log_of(ours.run()) == ["head", "b", "c", "join"] * 2


def test_branches_merge_in_order_of_names_there() -> None:
    lines = ("plan -> z a m", "z -> join", "a -> join", "m -> join", "join -> END")
    assert log(theirs(*lines)) == ["plan", "a", "m", "z", "join"]
    assert log_of(drawn(*lines).compile().run()) == ["plan", "z", "a", "m", "join"]


def test_two_writers_are_not_named_there() -> None:
    lines = ("plan -> a b", "a -> join", "b -> join", "join -> END")
    actions = {"a": says("a", k=1), "b": says("b", k=2)}
    with pytest.raises(errors.InvalidUpdateError) as theirs_caught:
        log(theirs(*lines, actions=actions))
    text = str(theirs_caught.value)
    assert "'k'" in text
    assert "'a'" not in text
    assert "'b'" not in text
    with pytest.raises(JoinError, match=r"'a\[0\]' and 'b\[1\]' both wrote 'k'"):
        drawn(*lines, actions=actions, keys={"k": Replace()}).compile().run()


def test_a_fixed_edge_and_a_goto_both_run_there() -> None:
    goes = {"a": lambda state: types.Command(goto="c", update={"log": ["a"]})}
    assert sorted(log(theirs("a -> b", "b -> END", "c -> END", actions=goes))) == ["a", "b", "c"]
    ours = drawn(
        *("a -> b", "b -> END", "c -> END"),
        actions={"a": lambda state: Command("c", {"log": ["a"]}, reason="R")},
        goto={"a": {"c": "c"}},
    )
    assert log_of(ours.compile().run()) == ["a", "c"]


def test_a_fixed_edge_and_a_decision_both_run_there() -> None:
    builder = theirs("a -> b", "b -> END", "c -> END").add_conditional_edges("a", lambda state: "c", {"c": "c"})
    assert sorted(log(builder)) == ["a", "b", "c"]
    ours = drawn("a -> b", "b -> END", "c -> END").add_conditional_edges("a", lambda state: "c", {"c": "c"})
    assert findings_of(ours) == ["several_edges at a: has a fixed edge and conditional edges; keep one of them"]


@pytest.mark.parametrize("way", ["router", "goto"])
def test_an_unknown_target_ends_the_run_quietly_there(way: str, caplog: pytest.LogCaptureFixture) -> None:
    if way == "router":
        builder = theirs("START -> a", "b -> END").add_conditional_edges("a", lambda state: "nowhere")
        ours = drawn("START -> a", "b -> END").add_conditional_edges("a", lambda state: "nowhere", {"b": "b"})
    else:
        builder = theirs("a -> END", actions={"a": lambda state: types.Command(goto="nowhere", update={"log": ["a"]})})
        ours = drawn("a -> END", goto={"a": {"b": "a"}},
                     actions={"a": lambda state: Command("nowhere", {"log": ["a"]}, reason="R")})  # fmt: skip
    with caplog.at_level(logging.WARNING):
        assert log(builder) == ["a"]
    assert "nowhere" in caplog.text
    with pytest.raises(RunError, match="gave 'nowhere', which is not in its mapping; the keys are 'b'"):
        ours.compile().run()


def test_an_unmapped_route_is_a_bare_key_error_there() -> None:
    builder = theirs("START -> a", "b -> END").add_conditional_edges("a", lambda state: "nowhere", {"b": "b"})
    with pytest.raises(KeyError) as caught:
        log(builder)
    assert str(caught.value) == "'nowhere'"


def test_no_route_ends_the_run_and_a_route_given_twice_runs_once_there() -> None:
    def routed(routes: list[Any]) -> list[Any]:
        builder = theirs("START -> a", "b -> END").add_conditional_edges("a", lambda state: routes, {"b": "b"})
        return log(builder)

    def ours(routes: list[Any]) -> list[Any]:
        graph = drawn("START -> a", "b -> j", "j -> END")
        graph.add_conditional_edges("a", lambda state: routes, {"b": "b"}, fork=Fork())
        return log_of(graph.compile().run())

    assert routed([]) == ["a"]
    with pytest.raises(RunError, match="gave no route at all"):
        ours([])
    assert routed(["b", "b"]) == ["a", "b"]
    assert routed([types.Send("b", {}), types.Send("b", {})]) == ["a", "b", "b"]
    assert ours(["b", "b"]) == ["a", "b", "b", "j"]


def test_a_router_that_raises_is_reported_as_its_node_there() -> None:
    def router(state: Any) -> Any:
        raise ValueError("no route")

    builder = theirs("START -> a", "b -> END").add_conditional_edges("a", router, {"b": "b"})
    with pytest.raises(ValueError, match="no route") as caught:
        log(builder)
    assert any("task with name 'a'" in note for note in caught.value.__notes__)
    with pytest.raises(RunError, match="the router of node 'a' raised ValueError: no route"):
        drawn("START -> a", "b -> END").add_conditional_edges("a", router, {"b": "b"}).compile().run()


def test_unreachable_nodes_dead_ends_and_endless_loops_compile_there() -> None:
    for lines in (
        ("a -> END", "b -> END"),
        ("a -> b", "c -> END"),
        ("a -> b", "b -> a"),
    ):
        theirs(*lines).compile()
        with pytest.raises(CompileError):
            drawn(*lines).compile()


def test_a_chain_needs_one_more_than_its_nodes_there_and_the_error_knows_no_node() -> None:
    chain = ("a -> b", "b -> c", "c -> END")
    assert log(theirs(*chain), recursion_limit=4) == ["a", "b", "c"]
    with pytest.raises(errors.GraphRecursionError) as caught:
        log(theirs(*chain), recursion_limit=3)
    assert not vars(caught.value)
    assert log_of(drawn(*chain).compile(recursion_limit=3).run()) == ["a", "b", "c"]
    with pytest.raises(LimitError, match="2 node executions, and 'c' would come next") as ours:
        drawn(*chain).compile(recursion_limit=2).run()
    assert (ours.value.node, ours.value.path, ours.value.state["log"]) == ("c", ("a", "b"), ["a", "b"])


def test_undeclared_keys_vanish_there() -> None:
    found = theirs("a -> END", actions={"a": says("a", zz=1)}).compile().invoke({"log": [], "qq": 1})
    assert found == {"log": ["a"]}
    with pytest.raises(RunError, match="wrote 'zz', which the graph does not declare"):
        drawn("a -> END", actions={"a": says("a", zz=1)}).compile().run()
    with pytest.raises(InputError, match="holds 'qq'"):
        drawn("a -> END").compile().run({"qq": 1})


def test_a_value_of_another_type_is_stored_there() -> None:
    assert theirs("a -> END", actions={"a": says("a", k="text")}).compile().invoke({"log": []})["k"] == "text"
    with pytest.raises(RunError, match="'k'"):
        drawn("a -> END", actions={"a": says("a", k="text")}, keys={"k": Replace(type=int)}).compile().run()


def test_a_node_changes_the_state_by_changing_what_it_was_given_there() -> None:
    def changes(state: Any) -> dict[str, Any]:
        state["log"].append("changed")
        return {"k": 1}

    assert log(theirs("plan -> a", "a -> END", actions={"a": changes})) == ["plan", "changed"]
    with pytest.raises(RunError, match="FrozenError"):
        drawn("plan -> a", "a -> END", actions={"a": changes}, keys={"k": Replace()}).compile().run()


def test_a_router_without_mapping_is_drawn_as_a_way_to_the_end_there() -> None:
    builder = theirs("START -> a", "b -> END").add_conditional_edges("a", lambda state: "b")
    drawn_edges = {(edge.source, edge.target) for edge in builder.compile().get_graph().edges}
    assert ("a", "__end__") in drawn_edges
    assert ("a", "b") not in drawn_edges
    with pytest.raises(TypeError):
        StateGraph({"log": Append()}).add_conditional_edges("a", lambda state: "b")  # type: ignore[call-arg]


def test_the_second_of_two_labels_of_one_target_is_lost_there() -> None:
    targets = {"yes": "b", "sure": "b", "no": peer.END}
    builder = theirs("START -> a", "b -> END").add_conditional_edges("a", lambda state: "no", targets)
    labels = [edge.data for edge in builder.compile().get_graph().edges if edge.source == "a" and edge.target == "b"]
    assert len(labels) == 1
    ours = drawn("START -> a", "b -> END")
    ours.add_conditional_edges("a", lambda state: "no", {"yes": "b", "sure": "b", "no": END})
    edges = ours.compile().topology.edges
    assert [edge.route for edge in edges if (edge.source, edge.target) == ("a", "b")] == ["yes", "sure"]
