"""A model says what each node may report, and is refused where that does not fit its graph."""

from collections.abc import Callable
from typing import Any

import pytest
from loopgraph import loop

from diagnosis.runtime import (
    END,
    START,
    Append,
    Command,
    DefinitionError,
    Fork,
    Model,
    OutcomeNames,
    Replace,
    Run,
    Send,
    ShortFormError,
    StateGraph,
    always,
    bound,
    ends,
    resolve,
)

ALPHABET: dict[str, Any] = {
    "a": {"go": {"n": 1}},
    "b": {"one": {"n": 1}, "two": lambda state: {"n": state["n"] + 2}},
    "c": {"done": {}},
}


def model(**options: Any) -> Model:
    return Model(**{"name": "m", "graph": loop(3), "alphabet": ALPHABET, **options})


def test_a_model_claims_that_runs_end_and_what_its_bound_says() -> None:
    assert [claim.name for claim in model().claims] == ["every_run_ends"]
    assert [claim.name for claim in model(bound=3).claims] == ["every_run_ends", "at_most_3_executions"]
    own = always("p", "P.", lambda move: True, reads="n")
    assert [claim.name for claim in model(properties=(own,)).claims] == ["every_run_ends", "p"]
    assert [claim.name for claim in model(bound=9, properties=(ends("e"), bound(3, "b"))).claims] == ["e", "b"]


def test_a_model_names_outcomes() -> None:
    plain = model()
    assert plain.outcome_of("b", {"n": 1}, {}) == "one"
    assert plain.outcome_of("b", {"n": 7}, {}) is None
    assert plain.outcome_of("a", {"n": 7}, {}) == "go"
    assert model(classify=lambda node, report, state: "mine").outcome_of("a", {}, {}) == "mine"
    assert plain.unscripted == ("a", "c")
    run = loop(3).run()
    assert (
        model(alphabet={**ALPHABET, "a": {"go": {"n": 1, "events": ["a"]}, "stop": {}}}).outcome_of(
            "a", run.reports[0], run.states[1]
        )
        == "go"
    )


def test_the_trace_of_a_run_lists_its_transitions() -> None:
    run = loop(3).run()
    assert model().trace_of(run) == {
        "version": 1,
        "transitions": [
            {"from": "a", "to": "b", "reason_code": "FIXED", "attempt": 1},
            {"from": "b", "to": "c", "reason_code": "FIXED", "attempt": 1},
        ],
        "final_node": "c",
        "termination_reason": "DONE",
    }
    assert model(trace=lambda run: {"own": len(run.events)}).trace_of(run) == {"own": 3}
    nothing = loop(3, actions={"a": lambda state: None}).run(check=False)
    assert model().trace_of(nothing) is None


def test_a_model_shows_its_size() -> None:
    assert model().text().startswith("Model m: 4 outcomes, 1 properties\nloop: 3 nodes, 5 edges\n")


def test_updates_are_data_or_functions() -> None:
    assert resolve({"n": 1}, {}) == {"n": 1}
    assert resolve(ALPHABET["b"]["two"], {"n": 3}) == {"n": 5}


def test_short_forms_are_the_names_of_outcomes_unless_a_model_brings_others() -> None:
    forms = model().forms
    assert isinstance(forms, OutcomeNames)
    assert forms.parse("b", {"status": "one"}) == {"n": 1}
    assert forms.spell("b", "one") == "one"
    other = OutcomeNames({})
    assert model(short_forms=other).forms is other


@pytest.mark.parametrize(
    ("item", "at", "text"),
    [
        ({"status": "three"}, ("status",), "found 'three'; allowed: 'one', 'two'"),
        ({"status": 5}, ("status",), "found int 5; allowed: 'one', 'two'"),
        ({}, ("status",), "found NoneType None; allowed: 'one', 'two'"),
        (
            {"status": "one", "x": 1},
            ("x",),
            "found the unknown key 'x'; allowed: 'status', 'goto', 'raises' or 'update'",
        ),
    ],
)
def test_a_wrong_short_form_says_what_was_found_and_what_is_allowed(item: Any, at: Any, text: str) -> None:
    with pytest.raises(ShortFormError) as caught:
        model().forms.parse("b", item)
    assert (caught.value.at, str(caught.value)) == (at, text)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: model(graph=5), "model 'm' needs a compiled graph, found int"),
        (
            lambda: model(alphabet={"a": {"x": {}}, "b": {}}),
            "model 'm' gives no outcomes for node 'b'; each node needs one",
        ),
        (
            lambda: model(alphabet={**ALPHABET, "z": {"x": {}}}),
            "model 'm' gives outcomes for 'z'; nodes are 'a', 'b', 'c'",
        ),
        (
            lambda: model(alphabet={**ALPHABET, "a": {"x": 5}}),
            "model 'm': a.x must be an update or a function that gives one",
        ),
        (lambda: model(counters=("z",)), "model 'm' counts 'z'; the keys of its graph are 'n', 'events'"),
        (
            lambda: model(properties=(always("p", "P.", bool), always("p", "P.", bool))),
            "model 'm' has two properties named 'p'",
        ),
        (
            lambda: model(properties=(always("p", "P.", bool, reads="z"),)),
            "property 'p' reads 'z'; the keys are 'n', 'events'",
        ),
    ],
)
def test_a_model_that_does_not_fit_its_graph_is_refused(make: Callable[[], Any], text: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        make()
    assert str(caught.value) == text


def nothing(state: Any) -> dict[str, Any]:
    return {}


def desk(action: Any = nothing, **alphabet: Any) -> Model:
    """boss sends work to as many workers as it likes, or ends the run; note keeps what it said."""
    graph = StateGraph({"log": Append(), "note": Replace(), "n": Replace()}, name="desk")
    graph.add_node("boss", action, goto={"work": "worker", "end": END}, fork=Fork(join="sum"))
    graph.add_node("worker", nothing, owns=["log"]).add_node("sum", nothing, owns=()).add_edge(START, "boss")
    graph.add_edge("worker", "sum", reason="WORKED").add_edge("sum", END)
    return Model("desk", graph.compile(), {"boss": GOTOS, "worker": {"w": {}}, **alphabet})


GOTOS: dict[str, Any] = {
    "one": Command(["work"], {"note": 1}, reason="WORK"),
    "two": Command([Send("work", {"n": 1}), "work"], {"note": 1}, reason="WORK"),
    "two_now": Command([Send("work", {"n": 1}), "work"], {"note": 1}, reason="NOW"),
    "end": Command("end", {"note": [1]}, reason="END"),
    "fall": {"note": 2},
}


def run_of(command: Command) -> Run:
    return desk(lambda state: command).graph.run()


def test_two_commands_with_the_same_update_are_told_apart_by_where_they_led_and_why() -> None:
    model = desk()
    for name in ("one", "two", "two_now", "end"):
        step = run_of(GOTOS[name]).steps[0]
        assert model.outcome_of("boss", step.report, step.after, step.event) == name
    other = run_of(Command(["work", "work"], {"note": 1}, reason="OTHER")).steps[0]
    assert model.outcome_of("boss", other.report, other.after, other.event) is None
    assert model.outcome_of("boss", {"note": 1}, {}) == "one"
    assert model.outcome_of("boss", {"note": 9}, {}) is None


def test_a_command_is_told_apart_from_an_update() -> None:
    graph = StateGraph({"note": Replace()}, name="g")
    graph.add_node(
        "a", lambda state: Command("end", {"note": 1}, reason="R") if state["note"] else {"note": 1}, goto={"end": END}
    )
    graph.add_edge(START, "a").add_edge("a", END, reason="R")
    outcomes = {"plain": {"note": 1}, "goto": Command("end", {"note": 1}, reason="R")}
    model = Model("g", graph.compile(), {"a": outcomes})
    turned = Model("g", model.graph, {"a": dict(reversed(outcomes.items()))})
    for note, name in ((None, "plain"), (0, "plain"), (5, "goto")):
        step = model.graph.run({"note": note}).steps[0]
        assert model.outcome_of("a", step.report, step.after, step.event) == name
        assert turned.outcome_of("a", step.report, step.after, step.event) == name


def test_classify_is_asked_about_what_is_no_command_of_the_alphabet() -> None:
    plain = desk()
    model = Model("desk", plain.graph, plain.alphabet, classify=lambda node, report, state: f"{node} {report['note']}")
    two, other = run_of(GOTOS["two"]).steps[0], run_of(Command("end", {"note": 7}, reason="R")).steps[0]
    assert model.outcome_of("boss", two.report, two.after, two.event) == "two"
    assert model.outcome_of("boss", other.report, other.after, other.event) == "boss 7"
    assert model.outcome_of("boss", two.report, two.after) == "boss 1"


def test_names_of_outcomes_stand_for_their_commands() -> None:
    assert desk().forms.parse("boss", {"status": "two"}) is GOTOS["two"]
    assert desk().forms.spell("boss", "two") == "two"
    assert resolve(GOTOS["two"], {}) is GOTOS["two"]
    assert resolve(lambda state: GOTOS["two"], {}) is GOTOS["two"]


def test_a_node_that_may_write_nothing_has_one_outcome_that_need_not_be_given() -> None:
    model = desk()
    assert model.alphabet["sum"] == {"COMPLETED": {}}
    assert model.unscripted == ("sum", "worker")
    assert desk(sum={"mine": {}}).alphabet["sum"] == {"mine": {}}
    with pytest.raises(DefinitionError, match="gives no outcomes for node 'sum'; each node needs one"):
        desk(sum={})


@pytest.mark.parametrize(
    ("node", "command", "text"),
    [
        ("boss", Command("x", reason="R"), "found 'x'; allowed: 'work', 'end'"),
        ("boss", Command(["work", Send("x")], reason="R"), "found 'x'; allowed: 'work'"),
        ("boss", Command(["end"], reason="R"), "found 'end', which opens no branch; allowed: 'work'"),
        (
            "worker",
            Command("work", reason="R"),
            "found a goto, but node 'worker' declares none; allowed: none; or add the node with goto={route key: "
            "target}",
        ),
    ],
)
def test_a_command_of_the_alphabet_goes_where_its_node_may_go(node: str, command: Command, text: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        desk(**{node: {"c": command}})
    assert str(caught.value) == f"model 'desk': the goto of {node}.c: {text}"


def test_the_trace_of_a_graph_that_can_open_branches_is_of_version_2() -> None:
    run = run_of(GOTOS["two"])
    assert desk().trace_of(run) == {
        "version": 2,
        "events": [
            {"node": "boss", "outcome": "COMPLETED", "attempt": 1, "branch": "", "after": []},
            {"node": "worker", "outcome": "COMPLETED", "attempt": 1, "branch": "worker[0]", "after": [0]},
            {"node": "worker", "outcome": "COMPLETED", "attempt": 1, "branch": "worker[1]", "after": [0]},
            {"node": "sum", "outcome": "COMPLETED", "attempt": 1, "branch": "", "after": [1, 2]},
        ],
        "transitions": [
            {"from": "boss", "to": "worker", "reason_code": "WORK", "attempt": 1, "branch": "worker[0]", "after": 0},
            {"from": "boss", "to": "worker", "reason_code": "WORK", "attempt": 1, "branch": "worker[1]", "after": 0},
            {"from": "worker", "to": "sum", "reason_code": "WORKED", "attempt": 1, "branch": "", "after": 1},
            {"from": "worker", "to": "sum", "reason_code": "WORKED", "attempt": 1, "branch": "", "after": 2},
        ],
        "final_node": "sum",
        "termination_reason": "FIXED",
    }
    ended = run_of(GOTOS["end"])
    assert desk().trace_of(ended) == {
        "version": 2,
        "events": [{"node": "boss", "outcome": "COMPLETED", "attempt": 1, "branch": "", "after": []}],
        "transitions": [],
        "final_node": "boss",
        "termination_reason": "END",
    }


def test_the_reason_of_a_transition_is_that_of_the_choice_that_led_there() -> None:
    graph = StateGraph({"log": Append()}, name="g")
    for node in ("a", "b", "c", "meet"):
        graph.add_node(node, nothing, owns=())
    ways = {"b": "b", "c": "c", "skip": "meet"}
    graph.add_edge(START, "a").add_conditional_edges(
        "a", lambda state: ["c", "skip", "b"], ways, fork=Fork(join="meet")
    )
    graph.add_edge(["b", "c"], "meet").add_edge("meet", END)
    model = Model("g", graph.compile(), {})
    trace = model.trace_of(model.graph.run())
    assert trace is not None
    assert [(each["from"], each["to"], each["reason_code"], each["branch"]) for each in trace["transitions"]] == [
        ("a", "c", "c", "c[0]"),
        ("a", "b", "b", "b[2]"),
        ("c", "meet", "FIXED", ""),
        ("a", "meet", "skip", ""),
        ("b", "meet", "FIXED", ""),
    ]
