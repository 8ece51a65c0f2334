"""JUnit XML: well formed whatever the texts hold, and the same bytes for the same results."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from diagnosis.catalog import diagnosis_model
from diagnosis.runtime import END, START, Model, StateGraph, always, bound
from diagnosis.scenarios import Scenario, Suite, case_of, run_suite
from diagnosis.scenarios.places import DocumentError
from diagnosis.scenarios.suite import Refusal
from diagnosis.verify import Baseline, prove
from diagnosis.views.junit import proof_junit, suite_junit

NASTY = "a<b>&\"'\x1b[31m\x00\ufffe\nend"


def suite():
    model = diagnosis_model()
    script = {"planner": ["FAILED"]}
    good = {"name": "good", "script": script, "expect": {"path": ["planner", "fallback"]}}
    bad = {"name": NASTY, "script": script, "expect": {"final_node": "composer"}}
    cases = tuple(case_of(Scenario.parse(each), {"diagnosis": model}, file="s.yaml") for each in (good, bad))
    return run_suite(Suite(cases, (Refusal("broken.yaml", DocumentError("nothing", "something")),)))


def test_scenarios_pass_fail_or_are_refused():
    text = suite_junit(suite())
    top = ElementTree.fromstring(text.encode())
    (found,) = top
    assert (found.tag, dict(found.attrib)) == (
        "testsuite",
        {"name": "scenarios", "tests": "3", "failures": "1", "errors": "1", "skipped": "0"},
    )
    good, bad, refused = found
    assert (dict(good.attrib), list(good)) == ({"classname": "diagnosis", "name": "good", "file": "s.yaml"}, [])
    assert bad.get("name") == "a<b>&\"'\\u001b[31m\\u0000\\ufffe\nend"
    (failure,) = bad
    assert failure.tag == "failure"
    assert failure.get("message") == "final_node: expected 'composer', found 'fallback' (PLANNER_FAILED)"
    assert "planner > fallback" in failure.text
    assert [(each.tag, refused.get("name")) for each in refused] == [("error", "broken.yaml")]


def test_the_same_results_give_the_same_bytes_without_a_clock():
    assert suite_junit(suite()) == suite_junit(suite())
    assert re.findall(r"\b(time|timestamp|hostname)=", suite_junit(suite())) == []
    assert proof_junit(prove(diagnosis_model())) == proof_junit(prove(diagnosis_model()))


def noted() -> Model:
    graph = StateGraph(["note"], name="noted").add_node("a", lambda s: {}).add_edge(START, "a").add_edge("a", END)
    claims = (always("wrong", "Never.", lambda move: False), bound(1))
    return Model("noted", graph.compile(), {"a": {"ok": {"note": "x"}}}, claims)


def test_a_proof_has_a_case_for_each_property_and_each_finding():
    proof = prove(noted())

    def outcomes(text):
        return {
            (case.get("classname"), case.get("name")): next((each.tag for each in case), None)
            for case in ElementTree.fromstring(text.encode())[0]
        }

    assert outcomes(proof_junit(proof)) == {
        ("property", "every_run_ends"): "system-out",
        ("property", "wrong"): "failure",
        ("property", "at_most_1_executions"): "system-out",
        ("property", "no_error"): "system-out",
        ("never_read", "note"): "system-out",
    }
    strict = outcomes(proof_junit(proof, strict=True))
    assert strict[("never_read", "note")] == "failure"
    accepted = outcomes(proof_junit(proof, Baseline.of(proof), strict=True))
    assert (accepted[("property", "wrong")], accepted[("never_read", "note")]) == ("skipped", "skipped")


def test_what_is_not_proven_is_an_error():
    text = proof_junit(prove(diagnosis_model(), max_states=10))
    suite = ElementTree.fromstring(text.encode())[0]
    assert int(suite.get("errors")) > 10
    assert suite.get("failures") == "0"
