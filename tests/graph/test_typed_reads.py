"""Typed reads never raise and never guess upwards."""

from collections import OrderedDict, UserDict, UserList
from collections.abc import Mapping
from enum import Enum, IntEnum, StrEnum
from types import MappingProxyType
from typing import Any

import pytest

from diagnosis.runtime import Append, History, Replace, freeze
from diagnosis.state import COUNTERS, EXHAUSTED, INPUTS, KEYS, gap_facts, is_text, read, read_count, trusted_bindings
from diagnosis.status import (
    RETRYABLE,
    ComposerStatus,
    ExecutorStatus,
    GatekeeperStatus,
    PlannerMode,
    PlannerStatus,
    Verdict,
    VerifierStatus,
    read_member,
)

ENUMERATIONS: dict[str, type[Enum]] = {
    "planner_mode": PlannerMode,
    "planner_status": PlannerStatus,
    "executor_status": ExecutorStatus,
    "gatekeeper_status": GatekeeperStatus,
    "verifier_verdict_ceiling": Verdict,
    "verifier_status": VerifierStatus,
    "effective_verdict": Verdict,
    "composer_status": ComposerStatus,
}
MAPPINGS = ("planner_output", "executor_output", "gatekeeper_output", "verified_input", "evidence_retry_context")


class Stranger(StrEnum):
    COMPLETED = "COMPLETED"
    PASS = "PASS"
    INITIAL = "INITIAL"
    FAILED = "FAILED"


class Number(IntEnum):
    NONE = 0
    ONE = 1


def test_there_are_26_keys_in_the_order_of_the_contract() -> None:
    assert list(KEYS) == [
        "run_id",
        "session_id",
        "user_query",
        "planner_mode",
        "planner_status",
        "planner_output",
        "planner_retry_count",
        "executor_status",
        "executor_output",
        "tool_trace_summary",
        "gatekeeper_status",
        "gatekeeper_output",
        "checked_bindings",
        "verifier_verdict_ceiling",
        "verified_input",
        "verifier_status",
        "verifier_output",
        "verifier_retry_count",
        "effective_verdict",
        "evidence_retry_count",
        "evidence_retry_context",
        "composer_status",
        "composer_output",
        "composer_retry_count",
        "final_answer",
        "orchestration_events",
    ]
    assert len(KEYS) == 26


def test_only_the_events_are_appended() -> None:
    assert {key for key, strategy in KEYS.items() if type(strategy) is Append} == {"orchestration_events"}
    assert all(type(strategy) is Replace for key, strategy in KEYS.items() if key != "orchestration_events")


def test_the_input_may_hold_three_texts() -> None:
    assert {"run_id": str, "session_id": str, "user_query": str} == INPUTS


def test_the_enumerations_hold_the_names_of_the_contract_and_nothing_else() -> None:
    technical = ["COMPLETED", "INVALID_OUTPUT", "RETRYABLE_FAILED", "FAILED"]
    expected: dict[type[Enum], list[str]] = {
        PlannerStatus: technical,
        VerifierStatus: technical,
        ComposerStatus: technical,
        ExecutorStatus: ["COMPLETED", "FAILED"],
        GatekeeperStatus: ["PASS", "LOW_CONFID", "REJECT"],
        Verdict: ["PASS", "LOW_CONFID", "REJECT"],
        PlannerMode: ["INITIAL", "EVIDENCE_GAP_ONLY"],
    }
    for kind, names in expected.items():
        assert [member.name for member in kind] == [member.value for member in kind] == names
    assert {"INVALID_OUTPUT", "RETRYABLE_FAILED"} == RETRYABLE


def test_a_better_verdict_ranks_first() -> None:
    assert [verdict.rank for verdict in (Verdict.PASS, Verdict.LOW_CONFID, Verdict.REJECT)] == [0, 1, 2]


@pytest.mark.parametrize("key", ENUMERATIONS)
def test_a_member_and_its_exact_name_read_alike(key: str) -> None:
    for member in ENUMERATIONS[key]:
        assert read({key: member}, key) is member
        assert read({key: member.name}, key) is member


def unknown_spellings(kind: type[Enum]) -> list[Any]:
    name = next(iter(kind)).name
    return [
        None,
        "",
        "   ",
        f" {name}",
        f"{name} ",
        f"{name}\n",
        name.lower(),
        name.capitalize(),
        name.encode(),
        [name],
        (name,),
        {name},
        {"name": name},
        {"value": name},
        UserList(name),
        0,
        1,
        True,
        False,
        0.0,
        float("nan"),
        object(),
        kind,
        f"{kind.__name__}.{name}",
        Stranger.COMPLETED,
        Stranger.PASS,
        Stranger.INITIAL,
        "UNKNOWN",
        "__members__",
    ]


@pytest.mark.parametrize("key", ENUMERATIONS)
def test_anything_else_under_a_status_verdict_or_mode_reads_as_unknown(key: str) -> None:
    for value in unknown_spellings(ENUMERATIONS[key]):
        assert read({key: value}, key) is None, value
    assert read({}, key) is None


def test_the_member_of_another_enumeration_reads_as_unknown_however_it_is_spelled() -> None:
    for key, kind in ENUMERATIONS.items():
        for other in set(ENUMERATIONS.values()) - {kind}:
            for member in other:
                assert read({key: member}, key) is None
                assert read_member(kind, member) is None


def test_a_verdict_is_no_gatekeeper_status_although_the_names_are_equal() -> None:
    assert read({"gatekeeper_status": Verdict.PASS}, "gatekeeper_status") is None
    assert read({"effective_verdict": GatekeeperStatus.PASS}, "effective_verdict") is None


@pytest.mark.parametrize("key", COUNTERS)
def test_an_absent_or_null_counter_reads_as_0(key: str) -> None:
    assert read({}, key) == read({key: None}, key) == 0


@pytest.mark.parametrize("value", [0, 1, 2, 10**30, Number.NONE, Number.ONE])
def test_a_count_reads_as_itself(value: int) -> None:
    assert read_count(value) == value
    assert type(read_count(value)) is int


@pytest.mark.parametrize(
    "value", [True, False, -1, -(10**30), 0.0, 1.0, float("nan"), "0", "", b"0", [], {}, (), object(), Verdict.PASS]
)
def test_a_counter_that_holds_no_count_reads_as_exhausted(value: object) -> None:
    assert read_count(value) == EXHAUSTED == 1
    for key in COUNTERS:
        assert read({key: value}, key) == 1


@pytest.mark.parametrize("key", MAPPINGS)
def test_any_mapping_reads_as_it_is_and_anything_else_as_the_empty_one(key: str) -> None:
    for value in ({"a": 1}, OrderedDict(a=1), UserDict(a=1), MappingProxyType({"a": 1}), freeze({"a": 1})):
        assert read({key: value}, key)["a"] == 1
    for wrong in (None, [], [("a", 1)], "a", 1, True, object()):
        assert read({key: wrong}, key) == {}
    assert read({}, key) == {}


@pytest.mark.parametrize("key", ["tool_trace_summary", "orchestration_events"])
def test_a_list_or_tuple_reads_as_it_is_and_anything_else_as_empty(key: str) -> None:
    for value in ([1], (1,), freeze([1]), History([1])):
        assert list(read({key: value}, key)) == [1]
    for wrong in (None, {1}, {1: 2}, "a", b"a", 1, iter([1]), UserList([1])):
        assert list(read({key: wrong}, key)) == []
    assert list(read({}, key)) == []


def test_a_binding_is_trusted_when_it_is_a_mapping_whose_trusted_is_exactly_true() -> None:
    yes = [{"trusted": True}, OrderedDict(trusted=True), UserDict(trusted=True), MappingProxyType({"trusted": True})]
    no: list[Any] = [
        {},
        {"trusted": 1},
        {"trusted": 1.0},
        {"trusted": "true"},
        {"trusted": "True"},
        {"trusted": None},
        {"trusted": False},
        {"Trusted": True},
        {"trusted ": True},
        True,
        None,
        "trusted",
        [("trusted", True)],
        ["trusted", True],
    ]
    assert list(trusted_bindings(yes + no)) == yes
    assert list(trusted_bindings(tuple(no + yes))) == yes
    assert read({"checked_bindings": yes}, "checked_bindings") is True
    assert read({"checked_bindings": no}, "checked_bindings") is False


@pytest.mark.parametrize("value", [None, {}, {"trusted": True}, {0: {"trusted": True}}, "x", 1, True, {1}, object()])
def test_bindings_that_are_no_list_hold_none_that_is_trusted(value: object) -> None:
    assert trusted_bindings(value) == ()
    assert read({"checked_bindings": value}, "checked_bindings") is False


@pytest.mark.parametrize("verification", ["no_evidence", "indirect_support"])
@pytest.mark.parametrize("form", [dict, OrderedDict, UserDict, MappingProxyType])
@pytest.mark.parametrize("many", [list, tuple])
def test_an_evidence_gap_is_a_fact_that_more_evidence_could_change(verification: str, form: Any, many: Any) -> None:
    output = form({"facts_checked": many([None, {"fact": "f", "verification": verification}])})
    assert gap_facts(output) == ({"fact": "f", "verification": verification},)
    assert read({"verifier_output": output}, "verifier_output") is True


@pytest.mark.parametrize(
    "output",
    [
        None,
        [],
        [{"facts_checked": [{"fact": "f", "verification": "no_evidence"}]}],
        {},
        {"facts_checked": None},
        {"facts_checked": {"fact": "f", "verification": "no_evidence"}},
        {"facts_checked": "no_evidence"},
        {"facts_checked": []},
        {"facts_checked": [None, 1, "f", ["f", "no_evidence"]]},
        {"facts_checked": [{"fact": "f"}]},
        {"facts_checked": [{"verification": "no_evidence"}]},
        {"facts_checked": [{"fact": "", "verification": "no_evidence"}]},
        {"facts_checked": [{"fact": " \t\n\u00a0", "verification": "no_evidence"}]},
        {"facts_checked": [{"fact": 1, "verification": "no_evidence"}]},
        {"facts_checked": [{"fact": b"f", "verification": "no_evidence"}]},
        {"facts_checked": [{"fact": ["f"], "verification": "no_evidence"}]},
        {"facts_checked": [{"fact": "f", "verification": "direct_support"}]},
        {"facts_checked": [{"fact": "f", "verification": "NO_EVIDENCE"}]},
        {"facts_checked": [{"fact": "f", "verification": " no_evidence"}]},
        {"facts_checked": [{"fact": "f", "verification": ["no_evidence"]}]},
        {"facts_checked": [{"fact": "f", "verification": None}]},
        {"facts": [{"fact": "f", "verification": "no_evidence"}]},
    ],
)
def test_anything_else_is_no_evidence_gap(output: object) -> None:
    assert gap_facts(output) == ()
    assert read({"verifier_output": output}, "verifier_output") is False


@pytest.mark.parametrize(("value", "text"), [("a", True), (" a ", True), ("", False), (" \n\t\u00a0", False)])
def test_a_text_is_not_blank(value: str, text: bool) -> None:
    assert is_text(value) is text
    assert read({"final_answer": value}, "final_answer") is text


@pytest.mark.parametrize("value", [None, b"a", ["a"], 1, True, {"a": 1}, object()])
def test_what_is_no_text_is_no_answer(value: object) -> None:
    assert read({"final_answer": value}, "final_answer") is False


def test_reading_does_not_change_what_is_stored() -> None:
    state: Mapping[str, Any] = MappingProxyType(dict.fromkeys(KEYS, " COMPLETED "))
    for key in KEYS:
        read(state, key)
    assert set(state.values()) == {" COMPLETED "}
