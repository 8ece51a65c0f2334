"""Every place of a scenario is checked, and a refusal names the place, what was found and what is allowed."""

import copy
import datetime
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from diagnosis.runtime import DiagnosisError
from diagnosis.scenarios import DocumentError, Expect, Scenario, Suite, place_text, run_suite

LoadText = Callable[..., Suite]

NO_TEXTS = [True, 7, 1.5, None, datetime.date(2024, 1, 1), ["a"], {"a": "b"}]


def said(value: Any) -> str:
    """How a refusal names a value."""
    if value is None:
        return "null"
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "a mapping"
    return f"date {value}" if isinstance(value, datetime.date) else f"{type(value).__name__} {value!r}"


def put(document: dict[str, Any], place: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    changed: Any = copy.deepcopy(document)
    inner = changed
    for part in place[:-1]:
        inner = inner[part]
    inner[place[-1]] = value
    return changed  # type: ignore[no-any-return]


def error_of(suite: Suite) -> DocumentError:
    assert suite.cases == ()
    (refusal,) = suite.refused
    assert isinstance(refusal.error, DocumentError)
    assert refusal.error.file == refusal.file
    return refusal.error


TEXTS: list[tuple[str | int, ...]] = [
    ("name",),
    ("title",),
    ("why",),
    ("graph",),
    ("input", "user_query"),
    ("input", "session_id"),
    ("script", "executor", 0, "status"),
    ("script", "gatekeeper", 0, "status"),
    ("script", "verifier", 0, "verdict"),
    ("script", "verifier", 0, "facts_checked", 0, "fact"),
    ("script", "verifier", 0, "facts_checked", 0, "verification"),
    ("expect", "path", 2),
    ("expect", "final_node"),
    ("expect", "termination_reason"),
    ("expect", "outcomes", 0),
    ("expect", "transitions", 1, "from"),
    ("expect", "transitions", 1, "to"),
    ("expect", "transitions", 1, "reason_code"),
    ("expect", "error"),
]


@pytest.mark.parametrize("place", TEXTS, ids=place_text)
@pytest.mark.parametrize("value", NO_TEXTS, ids=said)
def test_what_is_no_text_is_refused_where_a_text_is_wanted(
    place: tuple[str | int, ...], value: Any, good: dict[str, Any], load_text: LoadText
) -> None:
    if value is None and place[-1] in ("final_node", "termination_reason"):
        assert load_text(yaml.safe_dump(put(good, place, value))).refused == ()
        return
    error = error_of(load_text(yaml.safe_dump(put(good, place, value))))
    assert error.where == place_text(place)
    if place[0] == "script":  # the graph's short forms say it in their own words
        assert error.found.split()[0] == ("null" if value is None else type(value).__name__)
    else:
        assert error.found == said(value)
    assert error.allowed.startswith(("a text", "a value, or leave the key out"))
    if value is not None and not isinstance(value, list | dict):
        assert error.allowed.endswith("put it in quotes")
        assert f", {place_text(place)}: found {error.found}; allowed: a text" in str(error)
    assert error.line is not None


OTHERS: list[tuple[tuple[str | int, ...], str, list[Any]]] = [
    (("input",), "a mapping", [True, "text", None, []]),
    (("script",), "a mapping", ["text", None, []]),
    (("script", "planner"), "a list", ["COMPLETED", None, {}, 1]),
    (("script", "planner", 0), "a text or a mapping", [True, 1, 1.5, None, []]),
    (("script", "gatekeeper", 0, "trusted_bindings"), "a whole number from 0", [-1, "1", True, 1.0, None]),
    (("script", "verifier", 0, "facts_checked"), "a list of mappings", [{}, "text", None]),
    (("script", "verifier", 0, "facts_checked", 0), "a mapping of fact and verification", ["text", None, []]),
    (("script", "composer", 0, "update"), "a mapping from state key to value", ["text", None, [], 1]),
    (("expect",), "a mapping", ["text", None, [], True]),
    (("expect", "path"), "a list", ["planner", {}, 1]),
    (("expect", "degraded"), "true or false", ["true", 1, []]),
    (("expect", "evidence_retry_count"), "a whole number", ["0", True, 1.5]),
    (("expect", "outcomes"), "a list", ["PASS", {}]),
    (("expect", "counters"), "a mapping", [[], "text"]),
    (("expect", "counters", "planner_retry_count"), "a whole number", ["0", True, 0.0, None]),
    (("expect", "transitions"), "a list", [{}, "text"]),
    (("expect", "transitions", 0), "a mapping", ["text", None, []]),
    (("expect", "transitions", 0, "attempt"), "a whole number", ["1", True, 1.0, None]),
]


def wrong_values() -> Iterator[tuple[tuple[str | int, ...], str, Any]]:
    for place, allowed, values in OTHERS:
        for value in values:
            yield place, allowed, value


@pytest.mark.parametrize(("place", "allowed", "value"), list(wrong_values()))
@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_the_wrong_type_is_refused_at_every_place(
    place: tuple[str | int, ...],
    allowed: str,
    value: Any,
    ending: str,
    good: dict[str, Any],
    load_text: LoadText,
) -> None:
    changed = put(good, place, value)
    error = error_of(load_text(yaml.safe_dump(changed) if ending == "yaml" else json.dumps(changed), f"case.{ending}"))
    assert error.where == place_text(place)
    assert error.allowed.startswith(allowed)


@pytest.mark.parametrize("name", ["path", "evidence_retry_count", "outcomes", "counters", "transitions", "error"])
def test_null_is_refused_where_it_means_nothing(name: str, good: dict[str, Any], load_text: LoadText) -> None:
    error = error_of(load_text(yaml.safe_dump(put(good, ("expect", name), None))))
    assert (error.where, error.found, error.allowed) == (f"expect.{name}", "null", "a value, or leave the key out")


@pytest.mark.parametrize("name", ["final_node", "termination_reason", "degraded"])
def test_null_is_an_expectation_where_a_run_may_not_end(name: str, good: dict[str, Any], load_text: LoadText) -> None:
    ((scenario, _),) = load_text(yaml.safe_dump(put(good, ("expect", name), None))).scenarios
    assert scenario.expect.gives(name)
    assert getattr(scenario.expect, name) is None
    assert not Expect().gives(name)


UNKNOWN_KEYS: list[tuple[tuple[str | int, ...], str]] = [
    (("names",), "'name', 'title', 'why', 'graph', 'input', 'script', 'expect'"),
    (("input", "planner_status"), "'run_id', 'session_id', 'user_query'"),
    (("script", "plannner"), "'planner', 'executor', 'gatekeeper', 'verified_input', 'verifier', 'composer',"),
    (("script", "executor", 0, "verdict"), "'status', 'raises', 'update'"),
    (("script", "gatekeeper", 0, "trusted"), "'status', 'trusted_bindings', 'raises', 'update'"),
    (("script", "verifier", 0, "facts_checked", 0, "why"), "fact, verification"),
    (
        ("expect", "paths"),
        "'path', 'final_node', 'termination_reason', 'degraded', 'evidence_retry_count', 'outcomes',",
    ),
    (
        ("expect", "counters", "planner_retries"),
        "'planner_retry_count', 'verifier_retry_count', 'composer_retry_count',",
    ),
    (("expect", "transitions", 0, "source"), "'from', 'to', 'reason_code', 'attempt'"),
]


@pytest.mark.parametrize(("place", "allowed"), UNKNOWN_KEYS, ids=[place_text(place) for place, _ in UNKNOWN_KEYS])
def test_unknown_keys_are_refused_with_the_ones_there_are(
    place: tuple[str | int, ...], allowed: str, good: dict[str, Any], load_text: LoadText
) -> None:
    value = [] if place[:1] == ("script",) and len(place) == 2 else 1
    error = error_of(load_text(yaml.safe_dump(put(good, place, value))))
    assert error.where == place_text(place)
    assert str(place[-1]) in error.found
    assert error.found.startswith("the unknown ")
    assert error.allowed.startswith(allowed)


def test_a_refusal_says_file_line_place_found_and_allowed(load_text: LoadText) -> None:
    error = error_of(load_text("name: a\nscript:\n  verifier:\n    - {status: COMPLETED,\n       verdict: yes}\n"))
    assert str(error) == (
        f"{error.file}, line 5, script.verifier[0].verdict: found bool True; allowed: a text; put it in quotes"
    )


@pytest.mark.parametrize(
    ("text", "where", "says"),
    [
        ("title: t", "", "found no 'name'; allowed: one; 'name' is required"),
        ("name: ''", "name", "found a blank name; allowed: a text that is not blank"),
        ("name: '  \u2003'", "name", "found a blank name"),
        ("just a text", "", "found 'just a text'; allowed: a scenario: a mapping with a name"),
        ("42", "", "found int 42; allowed: a scenario"),
        ("~", "", "found null; allowed: a scenario"),
        ("[]", "", "found an empty list; allowed: at least one scenario"),
        ("[1]", "[0]", "found int 1; allowed: a scenario"),
        (
            "- {name: a}\n- {name: b, script: {planner: [1]}}",
            "[1].script.planner[0]",
            "found int 1; allowed: a text or a",
        ),
        ("name: a\ngraph: other", "graph", "found the unknown graph 'other'; allowed: 'diagnosis'"),
        (
            "name: a\nexpect: {transitions: [{from: a}]}",
            "expect.transitions[0]",
            "found no 'to'; allowed: one; 'to' is",
        ),
        ("name: a\nscript: {gatekeeper: [{}]}", "script.gatekeeper[0]", "found no status; allowed: a status; it is"),
        ("name: a\nscript: {fallback: [FAILED]}", "script.fallback[0]", "found 'FAILED'; allowed: 'COMPLETED', or an"),
        (
            "name: a\nscript: {planner: [{raises: x, status: COMPLETED}]}",
            "script.planner[0]",
            "found 'raises' beside 'status'; allowed: 'raises' alone; make two items of it",
        ),
        (
            "name: a\nscript: {planner: [{update: {}, raises: x}]}",
            "script.planner[0]",
            "found 'raises' beside 'update'",
        ),
        (
            "name: a\nscript: {planner: [{raises: 5}]}",
            "script.planner[0].raises",
            "found int 5; allowed: a text; put it",
        ),
        ("name: a\nscript: {planner: [{raises: [x]}]}", "script.planner[0].raises", "found a list; allowed: a text"),
        (
            "name: a\nscript: {'odd node': []}",
            "script['odd node']",
            "found the unknown node 'odd node'; allowed: 'planner'",
        ),
    ],
)
def test_other_refusals(text: str, where: str, says: str, load_text: LoadText) -> None:
    error = error_of(load_text(text))
    assert error.where == where
    assert says in str(error)


@pytest.mark.parametrize(
    "text",
    [
        "name: a\nscript: {%s: []}",
        "name: a\ngraph: %s",
        "name: a\n%s: 1",
        "name: a\nscript: {planner: [{%s: b}]}",
        "name: a\nscript: {fallback: [%s]}",
        "name: a\nscript: {planner: [{raises: b, %s: c}]}",
        "%s",
    ],
)
def test_long_texts_are_cut_in_messages(text: str, load_text: LoadText) -> None:
    error = error_of(load_text(text % ("x" * 900)))
    assert len(str(error)) < 700
    assert " ... " in str(error)


def test_values_of_an_update_may_be_anything(load_text: LoadText) -> None:
    suite = load_text("name: a\nscript: {planner: [{update: {undeclared: [1, 2.5, ~, 2024-01-01, {a: yes}]}}]}")
    assert suite.refused == ()


def test_scenarios_are_immutable_and_say_what_was_given(good: dict[str, Any]) -> None:
    scenario = Scenario.parse(good)
    assert scenario.to_map() == good
    assert Scenario.parse(scenario.to_map()) == scenario
    assert hash(Scenario.parse(good)) == hash(scenario)
    with pytest.raises(ValidationError):
        scenario.name = "b"  # type: ignore[misc]
    with pytest.raises(DiagnosisError):
        scenario.script["planner"] = ()
    with pytest.raises(DiagnosisError):
        scenario.script["gatekeeper"][0]["status"] = "REJECT"
    good["script"]["gatekeeper"][0]["status"] = "REJECT"
    assert scenario.script["gatekeeper"][0]["status"] == "PASS"


def test_only_the_name_is_required() -> None:
    scenario = Scenario.parse({"name": "a"})
    assert scenario == Scenario(name="a")
    assert (scenario.graph, scenario.input, scenario.script, scenario.title) == ("diagnosis", {}, {}, "")
    assert scenario.to_map() == {"name": "a"}


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"name": "a", "script": {"planner": [{1: 2}]}}, "script.planner[0]: found int 1 as a key"),
        ({"name": "a", "script": {"planner": [{"update": {1: 2}}]}}, "script.planner[0].update: found int 1 as a key"),
        ({"name": "a", "script": {1: []}}, "found int 1; allowed: a text; put it in quotes"),
        ({"name": "a", 1: 2}, "found int 1; allowed: a text; put it in quotes"),
    ],
)
def test_keys_that_only_code_can_make_are_refused_too(data: Any, says: str) -> None:
    with pytest.raises(DocumentError) as caught:
        Scenario.parse(data)
    assert says in str(caught.value)


def test_values_that_cannot_be_kept_are_refused() -> None:
    with pytest.raises(DiagnosisError):
        Scenario.parse({"name": "a", "script": {"planner": [{"update": {"planner_output": object()}}]}})


def test_a_file_cut_anywhere_is_a_pass_or_a_refusal(good: dict[str, Any], load_text: LoadText) -> None:
    for text, name in (
        (yaml.safe_dump(good), "case.yaml"),
        (yaml.safe_dump([good], default_flow_style=True), "case.yml"),
        (json.dumps(good), "case.json"),
    ):
        for end in range(0, len(text), 3):
            suite = load_text(text[:end], name)
            assert len(suite.cases) + len(suite.refused) == 1


HOSTILE = [
    "结账为什么这么慢?",
    "<script>alert('x')</script> & \"quotes\" 'single'",
    "\\n \\x00 %s {0} {{jinja}} ${shell}",
    "x" * 20_000,
    "null",
    "yes",
    "1e3",
    "2024-01-01",
    "- : # | > @ ` ! * &",
    "\U0001f469\u200d\U0001f4bb e\u0301 \u202eRTL\u202c",
    "[bold]rich[/bold] \\[x]",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_but_legal_texts_pass_everywhere(text: str, load_text: LoadText) -> None:
    document = {
        "name": text,
        "title": text,
        "why": text,
        "input": {"user_query": text},
        "script": {"planner": [text]},
        "expect": {"path": ["planner", "fallback"], "outcomes": ["UNKNOWN", "COMPLETED"]},
    }
    for content, name in (
        (yaml.safe_dump(document, allow_unicode=True), "case.yaml"),
        (json.dumps(document), "case.json"),
    ):
        result = run_suite(load_text(content, name))
        assert (result.passed, result.failed, result.refused) == (1, 0, ())
        assert result.results[0].run.state["user_query"] == text
        assert result.results[0].run.state["planner_status"] == text
        assert json.loads(json.dumps(result.to_json()))["scenarios"][0]["name"] == text
