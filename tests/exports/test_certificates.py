"""Certificates: the same bytes for the same graph, and stale as soon as anything changes that was proven."""

from __future__ import annotations

import dataclasses
import json

import pytest
from exported_models import searching

from diagnosis import diagnosis_model
from diagnosis.exports import (
    CertificateError,
    certificate,
    certificate_differences,
    certificate_text,
    fingerprint,
    read_certificate,
)
from diagnosis.runtime import CompiledGraph, Condition, always
from diagnosis.verify import prove


def certified(model, **budgets):
    given = {"max_states": 10_000, "max_seconds": None, **budgets}
    return certificate(prove(model, **given), **given, version="1.2.3")


def with_limit(model, limit):
    """The contract graph whose planner may be retried so often; no name in it says so."""
    definition = model.graph.definition
    below = Condition("retry_count_below_1", lambda s: s["planner_retry_count"] < limit, "planner_retry_count")
    conditionals = []
    for each in definition.conditionals:
        rules = [
            dataclasses.replace(rule, when=(rule.when[0], below)) if rule.name == "PLANNER_RETRY" else rule
            for rule in each.decision.rules
        ]
        conditionals.append(dataclasses.replace(each, decision=type(each.decision)(rules)))
    changed = dataclasses.replace(definition, conditionals=tuple(conditionals))
    return dataclasses.replace(model, graph=CompiledGraph(changed, recursion_limit=model.graph.recursion_limit))


def test_a_certificate_says_what_was_proven():
    found = certified(diagnosis_model())
    assert found["format"] == "diagnosis-certificate"
    assert (found["control_states"], found["transitions"], found["scripts"]) == (1165, 1517, 10_903)
    assert (found["shortest_path"], found["longest_path"], len(found["projection"])) == (2, 18, 14)
    assert found["budgets"] == {"max_states": 10_000, "max_seconds": None}
    assert found["tools"]["diagnosis"] == "1.2.3"
    assert [each["verdict"] for each in found["properties"]] == ["holds"] * 40
    assert sum(map(len, found["alphabet"].values())) == 36


def test_the_same_graph_gives_the_same_bytes_and_no_difference():
    first, second = certified(diagnosis_model()), certified(dataclasses.replace(diagnosis_model()))
    assert certificate_text(first) == certificate_text(second)
    assert certificate_differences(json.loads(certificate_text(first)), second) == []
    assert certificate_differences({**first, "tools": {"diagnosis": "0"}}, second) == []


def test_a_condition_that_answers_otherwise_makes_it_stale_though_no_name_changed():
    model = diagnosis_model()
    same, other = with_limit(model, 1), with_limit(model, 2)
    parts, changed = fingerprint(same)["parts"], fingerprint(other)["parts"]
    assert fingerprint(model) == fingerprint(same)
    assert [part for part in parts if parts[part] != changed[part]] == ["tables"]
    lines = certificate_differences(certified(model), certified(other))
    assert lines[0] == "fingerprint.tables: has changed"
    assert lines[1:] == [
        "control_states: was 1165, is 1743",
        "transitions: was 1517, is 2280",
        "scripts: was 10903, is 56267",
        "longest_path: was 18, is 20",
        'properties.at_most_18_executions.verdict: was "holds", is "broken"',
        'properties.planner_retry_count_at_most_1.verdict: was "holds", is "broken"',
    ]


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda m: dataclasses.replace(m, input={"question": 1}), "alphabet"),
        (
            lambda m: dataclasses.replace(
                m, properties=(always("few_tries", "Other words.", lambda move: True, reads="tries"), *m.properties[1:])
            ),
            "properties",
        ),
        (
            lambda m: dataclasses.replace(m, graph=CompiledGraph(m.graph.definition, recursion_limit=9)),
            "topology",
        ),
    ],
)
def test_each_part_of_a_graph_has_a_fingerprint_of_its_own(change, part):
    parts, changed = fingerprint(searching())["parts"], fingerprint(change(searching()))["parts"]
    assert parts[part] != changed[part]
    assert parts["keys"] == changed["keys"]


def test_a_graph_without_finite_tables_has_a_fingerprint_without_them():
    model = searching()
    assert fingerprint(model)["parts"]["tables"] is not None
    endless = dataclasses.replace(
        model, alphabet={**model.alphabet, "plan": {"more": lambda s: {"questions": (s["questions"] or 0) + 1}}}
    )
    assert fingerprint(endless)["parts"]["tables"] is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "cannot be read: No such file"),
        ("{", "it is no JSON document"),
        ("[]", "is no certificate; allowed: a file that 'diagnosis verify --certificate FILE' wrote"),
        ('{"format": "diagnosis-certificate", "version": 7}', "is a certificate of version 7, not 1"),
        ('{"format": "diagnosis-certificate", "version": 1, "graph": "other"}', "is about the graph 'other'"),
        ('{"format": "diagnosis-certificate", "version": 1, "graph": "diagnosis"}', "its budgets are no positive"),
    ],
)
def test_what_is_no_certificate_of_the_graph_is_refused(tmp_path, text, why):
    file = tmp_path / "proof.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(CertificateError, match=why):
        read_certificate(file, diagnosis_model())
