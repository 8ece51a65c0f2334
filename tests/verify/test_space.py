from __future__ import annotations

import dataclasses
import time
from collections import Counter

import pytest
from graphs import idle, misspelt, retrying, unreachable_guard

from diagnosis.catalog import diagnosis_model
from diagnosis.runtime import (
    END,
    REPEAT,
    START,
    Append,
    Condition,
    Decision,
    FrozenDict,
    Model,
    Reading,
    Replace,
    Rule,
    StateGraph,
    freeze,
)
from diagnosis.verify import StateSpace, explore
from diagnosis.verify.canonical import canonical, size
from diagnosis.verify.reads import declared_reads


def brute_force(model: Model, limit: int = 40) -> Counter:
    """Count complete scripts by length by walking every one of them, nothing merged."""
    step, found = model.graph.step, Counter()
    work = [(*step.begin(model.input), 0)]
    while work:
        position, state, length = work.pop()
        if position.node == END:
            found[length] += 1
            continue
        assert length < limit
        for update in model.alphabet[position.node].values():
            entered = step.enter(position, state).view
            following, after, _, _ = step.leave(position, entered, update(entered) if callable(update) else update)
            work.append((following, after, length + 1))
    return found


def test_the_contract_graph_has_the_known_size():
    space = explore(diagnosis_model())
    assert space.complete
    assert not space.cycles
    assert (len(space.states), space.size) == (1165, 1517)
    assert space.counts is not None
    assert (space.counts[0][0], space.counts[1][0], space.to_end[0]) == (10903, 18, 2)
    assert len(space.projection) == 14


def test_counting_agrees_with_walking_every_script():
    model = diagnosis_model()
    space = explore(model)
    walked = brute_force(model)
    listed = Counter(len(script) for script in space.scripts())
    assert listed == walked
    assert sum(walked.values()) == space.counts[0][0]
    assert (min(walked), max(walked)) == (2, 18)


@pytest.mark.parametrize("limit", [0, 1, 2, 5])
def test_small_graphs_are_counted_exactly(limit):
    model = retrying(limit)
    space = explore(model)
    walked = brute_force(model)
    assert Counter(len(script) for script in space.scripts()) == walked
    assert space.counts[1][0] == max(walked) == limit + 2


def test_every_listed_script_is_different():
    scripts = list(explore(diagnosis_model()).scripts())
    assert len(set(scripts)) == len(scripts)


def test_the_shortest_script_reaches_each_control_state():
    space = explore(diagnosis_model())
    for index, depth in enumerate(space.depths):
        script = space.script_to(index)
        assert len(script) == depth
        here = 0
        for node, outcome in script:
            assert space.positions[here].node == node
            here = next(edge.target for edge in space.outgoing[here] if edge.outcome == outcome)
        assert here == index


def test_exploring_twice_gives_the_same_order():
    first, second = explore(diagnosis_model()), explore(diagnosis_model())
    assert first.positions == second.positions
    assert list(first.transitions) == list(second.transitions)


def test_an_unbounded_counter_stops_at_the_budget():
    space = explore(unreachable_guard(), max_states=500)
    assert not space.complete
    assert space.stopped == "the budget of 500 control states was used up"
    assert space.counts is None
    with pytest.raises(ValueError, match="cannot be listed"):
        next(space.scripts())


def test_the_budget_of_time_stops_too():
    space = explore(unreachable_guard(), max_states=10**7, max_seconds=0.2)
    assert space.stopped == "the budget of 0.2 s was used up"


def test_a_list_that_routing_reads_and_that_grows_for_ever_stops_the_search():
    graph = StateGraph({"log": Append()}, name="growing").add_node("a", idle).add_edge(START, "a")
    long = Condition("long", lambda s: len(s["log"]) > 10**6, "log")
    graph.add_conditional_edges(
        "a", Decision([Rule("end", "LONG", long), Rule("again", "MORE")]), {"end": END, "again": "a"}
    )
    space = explore(Model("growing", graph.compile(), {"a": {"more": {"log": ["x"]}}}))
    assert space.stopped == "key 'log', which routing reads, holds more than 1000 elements"
    assert len(space.states) == 1002


def test_progress_is_told():
    told = []
    explore(unreachable_guard(), max_states=3000, progress=lambda done, known: told.append((done, known)))
    assert told[0] == (0, 1)
    assert told[-1][0] == told[-1][1] > 3000


def test_a_routing_error_is_a_transition_of_its_own():
    space = explore(misspelt())
    failed = [edge for edge in space.transitions if edge.error is not None]
    assert [(edge.outcome, edge.target, edge.choice) for edge in failed] == [("bad", None, None)]
    assert "rule 'ODD', condition 'odd'" in failed[0].error


def test_an_outcome_function_that_raises_is_reported_as_an_error():
    graph = StateGraph(["x"]).add_node("a", idle).add_edge(START, "a").add_edge("a", END).compile()
    space = explore(Model("m", graph, {"a": {"boom": lambda state: 1 / 0}}))
    assert [edge.error for edge in space.transitions] == [
        "node 'a', attempt 1, raised ZeroDivisionError: division by zero"
    ]


def test_a_key_that_an_outcome_reads_joins_the_projection():
    """Were ``seed`` left out, the two laps would be taken for one state."""

    def copy(state):
        return {"status": state["seed"], "seed": "done"}

    graph = StateGraph({"status": Replace(), "seed": Replace(initial="again")}, name="seeded")
    graph.add_node("a", idle).add_edge(START, "a")
    graph.add_conditional_edges("a", lambda s: s["status"], {"again": "a", "done": END}, reads=["status"])
    space = explore(Model("m", graph.compile(), {"a": {"copied": copy}}))
    assert space.projection == ("status", "seed")
    assert [len(script) for script in space.scripts()] == [2]


def test_a_router_that_declares_nothing_may_read_every_key_but_the_events():
    graph = StateGraph({"x": Replace(), "y": Replace(), "events": Append()}).log_events("events")
    graph.add_node("a", idle).add_edge(START, "a")
    graph.add_conditional_edges("a", lambda s: "end", {"end": END})
    assert declared_reads(graph.definition()) == ("x", "y")


def test_the_reason_counts_only_where_something_repeats_it():
    graph = StateGraph(["x"], name="reasons").add_node("a", idle).add_node("b", idle).add_node("c", idle)
    graph.add_edge(START, "a").add_edge("b", "c").add_edge("c", END, reason=REPEAT)
    graph.add_conditional_edges("a", lambda s: s["x"], {"one": "b", "two": "b", "direct": "c"}, reads=["x"])
    outcomes = {name: {"x": name} for name in ("one", "two", "direct")}
    model = Model("m", graph.compile(), {"a": outcomes, "b": {"ok": {"x": None}}, "c": {"ok": {"x": None}}})
    places = [(place.node, place.reason) for place in explore(model).positions]
    assert places.count(("c", "FIXED")) == 1
    assert [place for place in places if place[0] == END] == [(END, "direct"), (END, "FIXED")]


def test_values_of_different_types_are_different_states():
    pairs = [(True, 1), (1, 1.0), (0, False), ("1", 1), ((1,), frozenset({1})), (None, "None")]
    for left, right in pairs:
        assert canonical(left) != canonical(right)
    assert canonical(float("nan")) == canonical(float("nan"))
    assert canonical(freeze({"a": [1, {"b": {2}}]})) == canonical(freeze({"a": [1, {"b": {2}}]}))
    hash(canonical(FrozenDict({"a": freeze([{}])})))


def test_finishing_prefers_the_shortest_way_out():
    space = explore(retrying(3))
    assert space.finish(0, 50) == (("fetch", "fine"),)
    assert space.finish(0, 0) == ()


def logged(router) -> Model:
    graph = StateGraph({"x": Replace(), "log": Append()}, name="logged").log_events("log")
    for node in ("a", "b", "c", "bad"):
        graph.add_node(node, idle, outcome=Reading(lambda s: s["x"] or "none", "x") if node == "a" else None)
    graph.add_edge(START, "a").add_edge("c", "b").add_edge("bad", END)
    graph.add_conditional_edges("a", lambda s: s["x"], {"direct": "b", "around": "c"}, reads=["x"])
    graph.add_conditional_edges("b", router, {"end": END, "bad": "bad"})
    return Model(
        "logged",
        graph.compile(),
        {
            "a": {"direct": {"x": "direct"}, "around": {"x": "around"}},
            "b": {"ok": {}},
            "c": {"clears": {"x": "direct"}},
            "bad": {"ok": {}},
        },
    )


def test_a_router_that_declares_nothing_may_look_at_the_events():
    """The two ways to ``b`` differ in nothing but the events."""
    space = explore(logged(lambda s: "bad" if len(s["log"]) > 1 else "end"))
    assert "log" in space.projection
    assert ["bad" in {node for node, _ in script} for script in space.scripts()] == [False, True]


def test_the_order_of_a_mapping_tells_states_apart():
    assert canonical(freeze({"p": 1, "q": 2})) != canonical(freeze({"q": 2, "p": 1}))


def test_elements_are_counted_in_depth():
    assert size(freeze({"a": [1, 2, {"b": (3, 4)}], "c": {5}})) == 9
    assert size("text") == size(5) == size(None) == 0


@pytest.mark.parametrize("rules", [True, False])
def test_a_decision_that_is_no_function_of_its_reads_is_an_error(rules):
    calls = []

    def odd(state):
        calls.append(1)
        return len(calls) > 4

    graph = StateGraph({"x": Replace(initial=0), "y": Replace(initial=0)}, name="impure").add_node("a", idle)
    graph.add_edge(START, "a")
    if rules:
        decision = Decision([Rule("end", "ODD", Condition("odd", odd, "x")), Rule("other", "ELSE")])
        graph.add_conditional_edges("a", decision, {"end": END, "other": END})
    else:
        graph.add_conditional_edges(
            "a", lambda s: "end" if odd(s) else "other", {"end": END, "other": END}, reads=["x"]
        )
    outcomes = {str(i): {"y": i} for i in range(8)}
    errors = [
        edge.error for edge in explore(Model("impure", graph.compile(), {"a": outcomes})).transitions if edge.error
    ]
    assert errors
    assert "decides differently for the same reads" in errors[0]


def test_the_clock_is_looked_at_for_every_state():
    def slow(state):
        time.sleep(0.02)
        return {"steps": state["steps"] + 1}

    model = dataclasses.replace(unreachable_guard(), alphabet={**unreachable_guard().alphabet, "work": {"slow": slow}})
    began = time.monotonic()
    assert not explore(model, max_seconds=0.2).complete
    assert time.monotonic() - began < 20


def test_a_search_may_be_bounded_in_depth():
    whole = explore(retrying())
    space = StateSpace(retrying(), max_depth=2)
    assert max(space.depths) == 2
    assert space.stopped == "the budget of 2 node executions was used up"
    assert space.states == whole.states[: len(space.states)]
    assert StateSpace(retrying(), max_depth=max(whole.depths)).complete
