"""The verification alphabet and the short forms of scripts."""

from collections.abc import Mapping
from typing import Any

import pytest
from contract_oracle import ALPHABET
from graph_ports import NODES

from diagnosis.alphabet import ANSWER, ITEMS, UNSCRIPTED, DiagnosisForms, alphabet, classify
from diagnosis.catalog import diagnosis_model, models, shipped, shipped_names
from diagnosis.evidence import FALLBACK_ANSWERS
from diagnosis.runtime import DefinitionError, Position, ShortFormError, resolve
from diagnosis.status import GatekeeperStatus, Verdict, VerifierStatus

MODEL = diagnosis_model()
FORMS = DiagnosisForms()
STEP = MODEL.graph.step

SCRIPTED = ("planner", "executor", "gatekeeper", "verifier", "composer")


def test_the_alphabet_has_the_size_of_the_contract() -> None:
    assert {node: len(outcomes) for node, outcomes in alphabet().items()} == {
        "planner": 5,
        "executor": 3,
        "gatekeeper": 8,
        "verified_input": 1,
        "verifier": 12,
        "composer": 5,
        "evidence_retry": 1,
        "fallback": 1,
    }


def test_the_outcomes_are_those_of_the_contract() -> None:
    assert {node: set(outcomes) for node, outcomes in alphabet().items()} == {
        node: set(outcomes) for node, outcomes in ALPHABET.items()
    }
    assert set(alphabet()) == set(NODES)


def start() -> dict[str, Any]:
    return STEP.begin({"run_id": "r", "user_query": "why?"})[1]


@pytest.mark.parametrize(
    ("node", "outcome"), [(node, outcome) for node, outcomes in alphabet().items() for outcome in outcomes]
)
def test_a_report_is_classified_as_the_outcome_that_it_stands_for(node: str, outcome: str) -> None:
    before = {**start(), "verifier_verdict_ceiling": Verdict.PASS}
    for update in (alphabet()[node][outcome], ALPHABET[node][outcome]):
        report = resolve(update, before)
        after = STEP.leave(Position(node, "R"), before, report)[1]
        assert classify(node, report, after) == outcome


def test_unknown_stands_for_an_absent_value_too() -> None:
    assert classify("gatekeeper", {}, start()) == "UNKNOWN/0"
    assert classify("planner", {}, start()) == "UNKNOWN"
    assert classify("verifier", {}, start()) == "UNKNOWN"
    assert classify("verifier", {"verifier_status": VerifierStatus.COMPLETED}, start()) == "UNKNOWN/no_gap"


def test_the_verdict_is_what_the_verifier_reports_before_it_is_lowered() -> None:
    before = {**start(), "verifier_verdict_ceiling": Verdict.LOW_CONFID}
    report = {"verifier_status": "COMPLETED", "effective_verdict": Verdict.PASS}
    after = STEP.leave(Position("verifier"), before, report)[1]
    assert after["effective_verdict"] is Verdict.LOW_CONFID
    assert classify("verifier", report, after) == "PASS/no_gap"


def test_members_are_classified_as_their_names() -> None:
    report = {"gatekeeper_status": GatekeeperStatus.PASS, "checked_bindings": ({"trusted": True},)}
    assert classify("gatekeeper", report, start()) == "PASS/1"


@pytest.mark.parametrize("node", SCRIPTED)
def test_every_outcome_is_spelled_as_a_short_form_that_reads_back(node: str) -> None:
    for outcome in alphabet()[node]:
        spelled = FORMS.spell(node, outcome)
        item: Mapping[str, Any] = {"status": spelled} if isinstance(spelled, str) else spelled
        assert FORMS.parse(node, item) == alphabet()[node][outcome]


def test_short_forms_of_single_words_are_spelled_as_such() -> None:
    assert FORMS.spell("planner", "FAILED") == "FAILED"
    assert FORMS.spell("verifier", "FAILED") == "FAILED"
    assert FORMS.spell("fallback", "COMPLETED") == "COMPLETED"
    assert FORMS.spell("gatekeeper", "PASS/1") == {"status": "PASS", "trusted_bindings": 1}
    assert FORMS.spell("verifier", "LOW_CONFID/gap") == {
        "verdict": "LOW_CONFID",
        "facts_checked": [{"fact": "p99 latency rose", "verification": "no_evidence"}],
    }
    assert set(ITEMS) == set(NODES)


# --- short forms --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("node", ["planner", "executor", "verifier", "composer"])
def test_a_status_left_out_is_completed(node: str) -> None:
    assert FORMS.parse(node, {})[f"{node}_status"] == "COMPLETED"  # type: ignore[index]


@pytest.mark.parametrize("node", ["planner", "executor", "composer", "verifier", "gatekeeper"])
@pytest.mark.parametrize("status", ["???", "completed", "", " COMPLETED "])
def test_any_status_is_allowed_so_that_unknown_values_are_routable(node: str, status: str) -> None:
    assert FORMS.parse(node, {"status": status})[f"{node}_status"] == status  # type: ignore[index]


@pytest.mark.parametrize(("status", "count"), [("PASS", 1), ("LOW_CONFID", 1), ("REJECT", 0), ("???", 0), ("pass", 0)])
def test_so_many_bindings_are_trusted_where_a_script_does_not_say(status: str, count: int) -> None:
    update: Any = FORMS.parse("gatekeeper", {"status": status})
    assert len(update["checked_bindings"]) == count


def test_bindings_are_made_up_with_their_six_fields() -> None:
    update: Any = FORMS.parse("gatekeeper", {"status": "PASS", "trusted_bindings": 2})
    assert [list(each) for each in update["checked_bindings"]] == [
        ["claim_id", "claim", "tool_call_id", "quote", "trusted", "reason"]
    ] * 2
    assert [each["claim_id"] for each in update["checked_bindings"]] == ["c1", "c2"]
    assert all(each["trusted"] is True for each in update["checked_bindings"])


def test_a_completed_composer_answers_and_another_does_not() -> None:
    assert FORMS.parse("composer", {})["final_answer"] == ANSWER  # type: ignore[index]
    assert FORMS.parse("composer", {"status": "FAILED"}) == {"composer_status": "FAILED"}


def test_evidence_is_made_up_in_the_form_that_the_gatekeeper_checks() -> None:
    update: Any = FORMS.parse("executor", {})
    assert update["executor_output"]["version"] == "executor_evidence_v2"
    citation = update["executor_output"]["claims"][0]["citations"][0]
    call = update["tool_trace_summary"][0]
    assert list(call) == ["tool_call_id", "tool", "arguments", "output"]
    assert citation["tool_call_id"] == call["tool_call_id"]
    assert citation["quote"] in call["output"]


def test_a_verdict_left_out_is_absent_and_facts_are_empty() -> None:
    assert FORMS.parse("verifier", {}) == {"verifier_status": "COMPLETED", "verifier_output": {"facts_checked": []}}
    assert FORMS.parse("verifier", {"verdict": "LOW_CONFID"}) == {
        "verifier_status": "COMPLETED",
        "verifier_output": {"facts_checked": [], "verdict": "LOW_CONFID"},
        "effective_verdict": "LOW_CONFID",
    }


@pytest.mark.parametrize("node", ["verified_input", "evidence_retry", "fallback"])
def test_plain_code_takes_completed_only(node: str) -> None:
    for item in ({}, {"status": "COMPLETED"}):
        assert FORMS.parse(node, item) is UNSCRIPTED[node]
    with pytest.raises(ShortFormError) as caught:
        FORMS.parse(node, {"status": "FAILED"})
    assert caught.value.at == ("status",)
    assert str(caught.value) == "found 'FAILED'; allowed: 'COMPLETED', or an item with 'raises' or 'update'"


@pytest.mark.parametrize(
    ("node", "item", "at", "text"),
    [
        (
            "planner",
            {"verdict": "PASS"},
            ("verdict",),
            "found the unknown key 'verdict'; allowed: 'status', 'raises', 'update'",
        ),
        ("planner", {"status": 1}, ("status",), "found int 1; allowed: a text; put it in quotes"),
        ("planner", {"status": None}, ("status",), "found null; allowed: a text; put it in quotes"),
        ("planner", {"status": True}, ("status",), "found bool True; allowed: a text; put it in quotes"),
        ("gatekeeper", {}, (), "found no status; allowed: a status; it is required for the gatekeeper"),
        (
            "gatekeeper",
            {"status": "PASS", "trusted_bindings": -1},
            ("trusted_bindings",),
            "found int -1; allowed: a whole number from 0",
        ),
        (
            "gatekeeper",
            {"status": "PASS", "trusted_bindings": True},
            ("trusted_bindings",),
            "found bool True; allowed: a whole number from 0",
        ),
        (
            "gatekeeper",
            {"status": "PASS", "trusted_bindings": "2"},
            ("trusted_bindings",),
            "found str '2'; allowed: a whole number from 0",
        ),
        ("verifier", {"verdict": False}, ("verdict",), "found bool False; allowed: a text; put it in quotes"),
        (
            "verifier",
            {"facts_checked": "none"},
            ("facts_checked",),
            "found str 'none'; allowed: a list of mappings of fact and verification",
        ),
        (
            "verifier",
            {"facts_checked": [{}, "f"]},
            ("facts_checked", 1),
            "found str 'f'; allowed: a mapping of fact and verification",
        ),
        (
            "verifier",
            {"facts_checked": [{"facts": "f"}]},
            ("facts_checked", 0, "facts"),
            "found the unknown key 'facts'; allowed: fact, verification",
        ),
        (
            "verifier",
            {"facts_checked": [{"fact": "f", "verification": 1}]},
            ("facts_checked", 0, "verification"),
            "found int 1; allowed: a text; put it in quotes",
        ),
    ],
)
def test_a_short_form_that_is_none_is_refused_with_its_place(
    node: str, item: dict[str, Any], at: tuple[Any, ...], text: str
) -> None:
    with pytest.raises(ShortFormError) as caught:
        FORMS.parse(node, item)
    assert (caught.value.at, str(caught.value)) == (at, text)


# --- what ships ---------------------------------------------------------------------------------------------------


def test_the_model_ships_by_name() -> None:
    assert shipped("diagnosis") is MODEL is diagnosis_model()
    assert shipped_names() == tuple(models()) == ("diagnosis",)
    assert models()["diagnosis"] is MODEL
    assert MODEL.bound == 18
    assert MODEL.counters == (
        "planner_retry_count",
        "verifier_retry_count",
        "composer_retry_count",
        "evidence_retry_count",
    )


def test_another_graph_does_not_ship() -> None:
    with pytest.raises(DefinitionError, match="no graph named 'chess' ships; there is 'diagnosis'"):
        shipped("chess")


def test_the_explored_fallback_gives_one_of_the_fixed_answers() -> None:
    assert alphabet()["fallback"] == {"COMPLETED": {"final_answer": FALLBACK_ANSWERS["planner"]}}
