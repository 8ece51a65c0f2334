"""What was accepted does not fail; all else does, and a baseline says what is in it that is not found any more."""

from __future__ import annotations

import json

import pytest
from graphs import misspelt, retrying

from diagnosis.scenarios import DocumentError
from diagnosis.verify import Baseline, BaselineError, prove, read_baseline


def saved(tmp_path, baseline):
    file = tmp_path / "accepted.json"
    file.write_text(baseline.text())
    return file


def test_a_baseline_is_read_back_as_it_was_written(tmp_path):
    baseline = Baseline.of(prove(misspelt()))
    assert ("property", "no_error") in baseline.accepted
    assert ("unreachable_node", "other") in baseline.accepted
    assert read_baseline(saved(tmp_path, baseline)) == baseline
    assert read_baseline(saved(tmp_path, Baseline("x"))) == Baseline("x")


def test_the_file_is_sorted_and_the_same_each_time():
    text = Baseline.of(prove(misspelt())).text()
    assert text == Baseline.of(prove(misspelt())).text()
    entries = [(each["kind"], each["where"]) for each in json.loads(text)["accepted"]]
    assert entries == sorted(entries)
    assert len(text.splitlines()) == len(entries) + 5


def test_it_accepts_what_it_lists_and_nothing_else():
    proof = prove(misspelt())
    baseline = Baseline(
        "misspelt", frozenset({("property", "no_error"), ("unreachable_rule", "ask.ODD"), ("property", "gone")})
    )
    assert [v.claim.name for v in proof.verdicts if baseline.accepts(v)] == ["no_error"]
    assert [each.where for each in proof.findings if baseline.accepts(each)] == ["ask.ODD"]
    assert baseline.stale(proof) == (("property", "gone"),)


def test_what_holds_or_is_not_proven_is_never_accepted():
    proof = prove(retrying(3), max_states=3)
    unproven = [verdict for verdict in proof.verdicts if verdict.holds is None]
    assert unproven
    baseline = Baseline("retrying", frozenset(("property", verdict.claim.name) for verdict in unproven))
    assert not any(map(baseline.accepts, proof.verdicts))
    assert not {name for kind, name in Baseline.of(proof).accepted if kind == "property"}
    # Of a search that gave up, nothing is known to be gone.
    assert baseline.stale(proof) == ()


def test_a_baseline_of_another_graph_is_refused():
    with pytest.raises(BaselineError, match="the baseline is of graph 'other', not of 'retrying'"):
        Baseline("other").must_fit(prove(retrying()))


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ("[]", "found an empty list"),
        ('{"graph": "g"}', "no 'accepted'"),
        ('{"graph": 1, "accepted": []}', "graph: found int 1"),
        ('{"graph": "g", "accepted": {}}', "accepted: found an empty mapping"),
        ('{"graph": "g", "accepted": [], "more": 1}', "the unknown key 'more'"),
        ('{"graph": "g", "accepted": [{"kind": "k"}]}', "accepted[0]"),
        ('{"graph": "g", "accepted": [{"kind": "k", "where": 2}]}', "accepted[0].where: found int 2"),
        ('{"graph": "g", "accepted": ["k"]}', "accepted[0]"),
        ("{", "accepted.json"),
    ],
)
def test_a_file_that_is_no_baseline_is_refused_with_the_place(tmp_path, content, where):
    file = tmp_path / "accepted.json"
    file.write_text(content)
    with pytest.raises(DocumentError) as refused:
        read_baseline(file)
    assert where in str(refused.value)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(DocumentError, match="no such file"):
        read_baseline(tmp_path / "none.json")
