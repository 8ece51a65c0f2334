"""A run that fails says at which node, what came, what is allowed, and where it had got to."""

import collections
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from loopgraph import loop, named, single

from diagnosis.runtime import (
    END,
    START,
    ActionError,
    Append,
    CompiledGraph,
    Condition,
    ConditionError,
    Custom,
    Decision,
    DiagnosisError,
    Effect,
    EffectError,
    InputError,
    LimitError,
    Merge,
    OwnershipError,
    Reading,
    Replace,
    ReportError,
    Rule,
    RunError,
    StateGraph,
    UndeclaredKeyError,
    UnmappedRouteError,
)


def failure(graph: CompiledGraph, kind: type[RunError], **options: Any) -> RunError:
    """The error of a run, after all that holds for every error has been checked."""
    with pytest.raises(RunError) as caught:
        graph.run(**options)
    error = caught.value
    assert type(error) is kind
    run = graph.run(check=False, **options)
    assert run.error is not None
    assert type(run.error) is kind
    assert str(run.error) == str(error)
    assert run.error.run is run
    assert error.run is not None
    assert error.path == error.run.path == run.path
    assert error.state == error.run.state == run.state
    assert len(run.states) == len(run.events) + 1 == len(run.reports) + 1
    assert not run.ended
    assert run.final_node is None
    assert run.reason is None
    return error


def raising(error: BaseException) -> Callable[..., Any]:
    def action(state: Any) -> Any:
        raise error

    return action


def test_a_raising_action_stops_the_run_where_it_stands() -> None:
    graph = loop(actions={"c": raising(ValueError("no luck"))})
    error = failure(graph, ActionError)
    assert str(error) == "node 'c', attempt 1, raised ValueError: no luck"
    assert (error.node, error.attempt, error.path) == ("c", 1, ("a", "b"))
    assert error.state == {"n": 2, "events": ["a", "b"]}
    assert isinstance(error.__cause__, ValueError)
    assert error.run is not None
    assert (error.run.stop, error.run.position.node) == ("error", "c")


@pytest.mark.parametrize("raised", [StopIteration("x"), StopAsyncIteration("x"), GeneratorExit, RecursionError("x")])
def test_exceptions_that_steer_python_are_errors_of_the_action(raised: Any) -> None:
    if raised is GeneratorExit:
        with pytest.raises(GeneratorExit):
            single(raising(GeneratorExit())).run()
        return
    error = failure(single(raising(raised)), ActionError)
    assert str(error) == f"node 'only', attempt 1, raised {type(raised).__name__}: x"
    assert error.__cause__ is raised


def test_an_error_without_text_is_named() -> None:
    assert str(failure(single(raising(KeyError())), ActionError)) == "node 'only', attempt 1, raised KeyError"


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_is_no_error_of_the_run(raised: type[BaseException]) -> None:
    with pytest.raises(raised):
        single(raising(raised())).run(check=False)


def test_a_graph_run_inside_an_action_keeps_its_own_error() -> None:
    inner = single(raising(ValueError("deep")))
    error = failure(single(lambda state: inner.run().state), ActionError)
    assert isinstance(error.__cause__, ActionError)
    assert error.__cause__.run is not error.run


@pytest.mark.parametrize(
    ("update", "name"),
    [(None, "NoneType"), ([("a", 1)], "list"), ("a", "str"), (5, "int"), ((i for i in ()), "generator")],
)
def test_an_action_returns_a_mapping(update: Any, name: str) -> None:
    assert str(failure(single(lambda state: update), ReportError)) == (
        f"node 'only' returned {name}, not a mapping; an action returns the keys it updates, {{}} for none"
    )


def test_an_async_generator_is_no_report() -> None:
    async def action(state: Any) -> Any:
        yield {}

    assert str(failure(single(action), ReportError)) == (
        "node 'only' returned async_generator, not a mapping; an action returns the keys it updates, {} for none"
    )


def test_any_mapping_is_a_report() -> None:
    assert single(lambda state: collections.UserDict(a=[1])).run().state["a"] == [1]
    assert single(lambda state: collections.OrderedDict(a=1)).run().state["a"] == 1
    assert single(lambda state: state).run({"a": 1}).state == {"a": 1, "b": None}


def test_a_mapping_that_cannot_be_read_is_refused() -> None:
    class Broken(Mapping[str, Any]):
        def __getitem__(self, key: str) -> Any:
            raise OSError("gone")

        def __iter__(self) -> Any:
            return iter(["a"])

        def __len__(self) -> int:
            return 1

    error = failure(single(lambda state: Broken()), ReportError)
    assert str(error) == "node 'only' returned a mapping that cannot be read: OSError: gone"


def test_a_value_that_cannot_be_kept_is_refused_with_its_place() -> None:
    error = failure(single(lambda state: {"a": {"list": [1, object()]}}), ReportError)
    assert str(error).startswith("node 'only' wrote 'a': a value of type builtins.object at ['list'][1] cannot be made")
    assert error.state == {"a": None, "b": None}


def test_an_undeclared_key_is_refused() -> None:
    error = failure(single(lambda state: {"a": 1, "c": 2}), UndeclaredKeyError)
    assert str(error) == "node 'only' wrote 'c', which the graph does not declare; its keys are 'a', 'b'"
    assert str(failure(single(lambda state: {5: 1}), UndeclaredKeyError)) == (
        "node 'only' wrote 5, which the graph does not declare; its keys are 'a', 'b'"
    )


def test_a_key_of_another_node_is_refused() -> None:
    error = failure(single(lambda state: {"b": 1}, owns="a"), OwnershipError)
    assert str(error) == "node 'only' wrote 'b', which it does not own; it may write 'a'"
    nothing = failure(single(lambda state: {"b": 1}, owns=()), OwnershipError)
    assert str(nothing) == "node 'only' wrote 'b', which it does not own; it may write nothing"


def test_an_undeclared_key_is_told_before_one_of_another_node_and_before_a_bad_value() -> None:
    failure(single(lambda state: {"b": 1, "c": 1}, owns="a"), UndeclaredKeyError)
    failure(single(lambda state: {"a": object(), "c": 1}, owns="a"), UndeclaredKeyError)


def test_a_node_that_owns_keys_and_hands_back_all_state_is_refused_by_name() -> None:
    error = failure(single(lambda state: {**state, "a": 1}, owns="a"), OwnershipError)
    assert error.node == "only"
    assert "wrote 'b'" in str(error)


def test_a_history_that_is_handed_back_is_refused() -> None:
    graph = loop(actions={"b": lambda state: {**state, "n": 5}})
    error = failure(graph, ReportError)
    assert str(error) == (
        "node 'b' wrote 'events': the update hands back the history it was given, which would double it; "
        "return new elements only"
    )
    assert error.state == {"n": 1, "events": ["a"]}
    assert error.path == ("a",)


def test_an_append_key_takes_lists_only() -> None:
    graph = loop(actions={"a": lambda state: {"events": "a"}})
    assert str(failure(graph, ReportError)) == (
        "node 'a' wrote 'events': an Append key takes a list of new elements, not str; put it in a list"
    )


def test_a_merge_key_takes_mappings_only() -> None:
    assert str(failure(single(lambda state: {"a": 5}, {"a": Merge()}), ReportError)) == (
        "node 'only' wrote 'a': a Merge key takes a mapping of entries, not int"
    )


def test_a_custom_strategy_that_raises_is_an_error_of_the_report() -> None:
    def merge(old: Any, new: Any) -> Any:
        raise KeyError("x")

    graph = single(lambda state: {"a": 1}, {"a": Custom(merge=merge)})
    error = failure(graph, ReportError)
    assert str(error) == "node 'only' wrote 'a': 'x'"
    assert isinstance(error.__cause__, KeyError)


def test_a_misspelt_key_in_a_condition_is_told_with_node_rule_condition_and_cause() -> None:
    graph = StateGraph("a").add_node("x", lambda state: {"a": 1}).add_edge(START, "x")
    good = Condition("good", lambda state: state["a"] == 1, "a")
    bad = Condition("bad", lambda state: state["aa"] == 1, "a")
    rules = Decision([Rule("end", "FIRST", (good, bad)), Rule("end", "LAST")])
    error = failure(graph.add_conditional_edges("x", rules, {"end": END}).compile(), ConditionError)
    assert str(error) == "node 'x', rule 'FIRST', condition 'bad' raised KeyError: 'aa'; the keys of the graph are 'a'"
    assert isinstance(error.__cause__, KeyError)
    assert (error.node, error.path, error.state) == ("x", (), {"a": None})


def routed(router: Callable[[Any], Any], targets: dict[str, str]) -> CompiledGraph:
    graph = StateGraph("a").add_node("x", lambda state: {"a": 1}).add_node("y", lambda state: {})
    graph.add_edge(START, "x").add_edge("y", END)
    return graph.add_conditional_edges("x", router, targets).compile()


def test_a_route_key_outside_the_mapping_is_told_with_source_key_and_keys() -> None:
    error = failure(routed(lambda state: "typo", {"go": "y", "stop": END}), UnmappedRouteError)
    assert str(error) == "the router of node 'x' gave 'typo', which is not in its mapping; the keys are 'go', 'stop'"
    assert error.node == "x"


@pytest.mark.parametrize("route", [None, 5, ""])
def test_a_route_that_is_no_text_is_no_route(route: Any) -> None:
    error = failure(routed(lambda state: route, {"go": "y"}), UnmappedRouteError)
    assert str(error) == f"the router of node 'x' gave {route!r}, which is not in its mapping; the keys are 'go'"


def test_a_router_that_gives_end_needs_end_in_the_mapping() -> None:
    error = failure(routed(lambda state: END, {"go": "y"}), UnmappedRouteError)
    assert str(error) == (
        "the router of node 'x' gave '__END__', which is not in its mapping "
        "(END must be in the mapping to be a route); the keys are 'go'"
    )
    run = routed(lambda state: END, {"go": "y", END: END}).run()
    assert (run.path, run.reason) == (("x",), END)


def test_a_raising_router_is_told() -> None:
    error = failure(routed(lambda state: state["zz"], {"go": "y"}), ConditionError)
    assert str(error) == "the router of node 'x' raised KeyError: 'zz'; the keys of the graph are 'a'"


def test_a_decision_where_no_rule_holds_is_told() -> None:
    graph = StateGraph("a").add_node("x", lambda state: {}).add_edge(START, "x")
    never = Condition("never", lambda state: False, "a")
    graph.add_conditional_edges("x", Decision([Rule("end", "R", (never,))]), {"end": END})
    assert str(failure(graph.compile(), UnmappedRouteError)) == (
        "node 'x': no rule of its decision holds; end the decision with a rule without conditions"
    )


def effect(apply: Callable[[Any], Any]) -> Effect:
    return Effect("tidy", apply, reads="a", writes="a")


@pytest.mark.parametrize("side", ["entry", "exit"])
def test_an_update_around_an_action_writes_only_what_it_declares(side: str) -> None:
    graph = single(lambda state: {}, **{side: effect(lambda state: {"b": 1})})
    assert str(failure(graph, EffectError)) == (
        "node 'only', update 'tidy': ValueRefusedError: it wrote 'b'; it declares 'a'"
    )


@pytest.mark.parametrize("side", ["entry", "exit"])
def test_an_update_around_an_action_may_refuse(side: str) -> None:
    def refuse(state: Any) -> Any:
        raise ValueError("not like this")

    error = failure(single(lambda state: {"b": 1}, **{side: effect(refuse)}), EffectError)
    assert str(error) == "node 'only', update 'tidy': ValueError: not like this"
    assert error.state == {"a": None, "b": None}


@pytest.mark.parametrize("side", ["entry", "exit"])
def test_an_update_around_an_action_cannot_change_the_state_it_reads(side: str) -> None:
    def push(state: Any) -> Any:
        state["a"] = 1

    assert "TypeError" in str(failure(single(lambda state: {}, **{side: effect(push)}), EffectError))


@pytest.mark.parametrize("value", [0, True, "1", 1.0, None])
def test_an_attempt_is_a_number_from_1(value: Any) -> None:
    graph = single(lambda state: {}, attempt=Reading(lambda state: value, "a"))
    assert str(failure(graph, ConditionError)) == (
        f"node 'only': its attempt function gave {value!r}, not a whole number from 1"
    )


@pytest.mark.parametrize("value", ["", " ", 5, None])
def test_an_outcome_is_a_text(value: Any) -> None:
    graph = single(lambda state: {}, outcome=Reading(lambda state: value, "a"))
    assert str(failure(graph, ConditionError)) == (
        f"node 'only': its outcome function gave {value!r}, not a non-blank text"
    )


@pytest.mark.parametrize("what", ["attempt", "outcome"])
def test_a_raising_reading_is_told(what: str) -> None:
    graph = single(lambda state: {}, **{what: Reading(lambda state: state["zz"], "a")})
    assert str(failure(graph, ConditionError)) == f"node 'only': its {what} function raised KeyError: 'zz'"


def test_an_error_knows_its_attempt() -> None:
    def count(state: Any) -> Any:
        return {"n": state["n"] + 1}

    def on(state: Any) -> Any:
        if state["n"] == 3:
            raise ValueError("again")
        return {}

    graph = StateGraph({"n": Replace(initial=0)})
    graph.add_node(
        "x",
        on,
        entry=Effect("count", count, reads="n", writes="n"),
        attempt=Reading(lambda state: state["n"], "n"),
    )
    graph.add_edge(START, "x").add_conditional_edges("x", lambda state: "x", {"x": "x", "end": END})
    error = failure(graph.compile(), ActionError)
    assert str(error) == "node 'x', attempt 3, raised ValueError: again"
    assert (error.attempt, error.path, error.state) == (3, ("x", "x"), {"n": 2})


def test_a_run_that_reaches_end_at_the_limit_ends_well() -> None:
    assert loop(6, limit=6).run().stop == "ended"
    assert loop(6).run(recursion_limit=6).ended


def test_a_run_that_meets_its_limit_is_no_success() -> None:
    for options in ({}, {"recursion_limit": 5}):
        error = failure(loop(6, limit=5), LimitError, **options)
        assert str(error) == (
            "the run met its recursion limit of 5 node executions, and 'c' would come next; "
            "see where it loops, or raise recursion_limit"
        )
        assert (error.node, error.path) == ("c", ("a", "b", "c", "a", "b"))
        assert error.state == {"n": 5, "events": list("abcab")}
        assert error.run is not None
        assert (error.run.stop, error.run.ended, error.run.position.node) == ("limit", False, "c")
        assert error.run.text().startswith("Run of loop: stopped by limit after 5 node executions at c: the run met")


def test_an_endless_loop_stops_at_the_default_limit() -> None:
    graph = StateGraph("a").add_node("x", lambda state: {}).add_edge(START, "x")
    graph.add_conditional_edges("x", lambda state: "x", {"x": "x", "end": END})
    assert failure(graph.compile(), LimitError).path == ("x",) * 100


def test_an_error_before_any_run_knows_no_path() -> None:
    error = RunError("x")
    assert (error.path, error.state, error.run) == ((), {}, None)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"c": 1}, "the input of graph 'g' holds 'c'; it takes 'a', 'log'"),
        ({"a": 5}, "the input of graph 'g': 'a' must be a str, found int"),
        ({"log": [object()]}, "the input of graph 'g': 'log': a value of type builtins.object at [0] cannot be made"),
        ({"log": 5}, "the input of graph 'g': 'log': an Append key takes a list of new elements, not int"),
        ([("a", "x")], "the input of graph 'g' is a mapping from key to value, found list"),
        (5, "the input of graph 'g' is a mapping from key to value, found int"),
    ],
)
def test_an_input_that_the_graph_does_not_take_is_refused(values: Any, text: str) -> None:
    keys = {"a": Replace(), "log": Append(), "other": Replace()}
    graph = StateGraph(keys, name="g", inputs={"a": str, "log": object})
    graph.add_node("x", lambda state: {}).add_edge(START, "x").add_edge("x", END)
    with pytest.raises(InputError) as caught:
        graph.compile().run(values)
    assert str(caught.value).startswith(text)


def test_without_declared_inputs_any_key_may_be_given() -> None:
    assert single(lambda state: {}).run({"b": [1]}).state == {"a": None, "b": [1]}
    with pytest.raises(InputError) as caught:
        single(lambda state: {}).run({"c": 1})
    assert str(caught.value) == "the input of graph 'single' holds 'c'; it takes 'a', 'b'"


def test_a_position_that_is_no_node_is_refused() -> None:
    graph = loop()
    position = type(graph.step.start)("ghost")
    for call in (lambda: graph.step.enter(position, {}), lambda: graph.step.leave(position, {}, {})):
        with pytest.raises(DiagnosisError) as caught:
            call()
        assert str(caught.value) == "no node to execute at 'ghost'; nodes are 'a', 'b', 'c'"


def logged(action: Callable[..., Any], **log: Any) -> CompiledGraph:
    graph = StateGraph({"a": Replace(), "log": Append()}).add_node("x", action, owns="a")
    return graph.add_edge(START, "x").add_edge("x", END).log_events("log", **log).compile()


def test_events_are_written_by_the_runtime_alone() -> None:
    error = failure(logged(lambda state: {"log": [1]}), ReportError)
    assert str(error) == "node 'x': it reported events of its own; the runtime writes them"
    assert error.state == {"a": None, "log": []}
    assert logged(lambda state: {"log": None}).run().ended


def test_events_that_an_action_reports_are_compared() -> None:
    def compare(own: Any, record: Any) -> str | None:
        return None if own == [record] else f"{own} is not {record}"

    good = logged(lambda state: {"log": ["x"]}, record=lambda event: event.node, check=compare)
    assert good.run().state["log"] == ["x"]
    bad = logged(lambda state: {"log": ["y"]}, record=lambda event: event.node, check=compare)
    assert str(failure(bad, ReportError)) == "node 'x': ['y'] is not x"


def test_a_comparison_of_events_that_raises_refuses_the_report() -> None:
    def compare(own: Any, record: Any) -> str | None:
        raise LookupError("where")

    graph = logged(lambda state: {"log": ["y"]}, check=compare)
    assert str(failure(graph, ReportError)) == "node 'x': its events cannot be compared: LookupError: where"


def test_an_event_that_cannot_be_recorded_stops_the_run() -> None:
    def record(event: Any) -> Any:
        raise LookupError("what")

    graph = logged(lambda state: {}, record=record)
    assert str(failure(graph, ReportError)) == "node 'x': its event cannot be recorded: LookupError: what"


def test_no_update_around_an_action_writes_events() -> None:
    graph = StateGraph({"log": Append()})
    graph.add_node("x", lambda state: {}, exit=Effect("cheat", lambda state: {"log": [1]}, writes="log"))
    graph.add_edge(START, "x").add_edge("x", END).log_events("log")
    error = failure(graph.compile(), EffectError)
    assert str(error) == "node 'x', update 'cheat': ValueRefusedError: only the runtime adds events"


def test_an_error_of_one_run_leaves_the_graph_as_it_was() -> None:
    calls: list[int] = []

    def sometimes(state: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise ValueError("once")
        return named("b")(state)

    graph = loop(3, actions={"b": sometimes})
    assert graph.run(check=False).stop == "error"
    assert graph.run().path == ("a", "b", "c")
