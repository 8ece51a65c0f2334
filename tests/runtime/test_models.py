"""A model says what each node may report, and is refused where that does not fit its graph."""

from collections.abc import Callable
from typing import Any

import pytest
from loopgraph import loop

from diagnosis.runtime import (
    DefinitionError,
    Model,
    OutcomeNames,
    ShortFormError,
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
        ({"status": "one", "x": 1}, ("x",), "found the unknown key 'x'; allowed: 'status', 'raises' or 'update'"),
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
