"""Vectors: every script with the run that it must give, and each of them is what the real runtime does."""

from __future__ import annotations

import json

import pytest
from exported_models import nested, searching

from diagnosis import diagnosis_model
from diagnosis.exports import ExportError, Options, export, vectors
from diagnosis.runtime import END, START, Condition, Decision, Model, Replace, Rule, StateGraph
from diagnosis.scenarios import Scenario, run_scenario
from diagnosis.scenarios.files import FileError
from diagnosis.verify import explore


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    file = tmp_path_factory.mktemp("vectors") / "vectors.json"
    export(diagnosis_model(), file)
    return json.loads(file.read_bytes())


def replayed(vector, model):
    """Run a vector as the scenario that it is; give its trace as JSON knows it."""
    scenario = {key: value for key, value in vector.items() if key != "trace"}
    result = run_scenario(Scenario.parse(scenario), model)
    assert result.passed, result.mismatches
    return json.loads(json.dumps(result.trace, default=dict))


def test_every_script_of_the_contract_graph_is_there_once(document):
    head = {key: value for key, value in document.items() if key not in ("vectors", "alphabet", "fingerprint")}
    assert head == {"format": "diagnosis-vectors", "version": 1, "graph": "diagnosis", "scripts": 10_903}
    found = document["vectors"]
    assert len(found) == 10_903
    assert len({vector["name"] for vector in found}) == 10_903
    scripts = {json.dumps(vector["script"], sort_keys=True) for vector in found}
    assert len(scripts) == 10_903
    assert {len(vector["expect"]["path"]) for vector in found} == set(range(2, 19))
    assert sum(vector["expect"]["final_node"] == "composer" for vector in found) == sum(
        vector["trace"]["termination_reason"] == "ANSWER_COMPOSED" for vector in found
    )


def test_each_vector_is_a_scenario_that_the_real_runtime_passes(document):
    model = diagnosis_model()
    for vector in document["vectors"][::53]:
        assert replayed(vector, model) == vector["trace"]


def test_each_says_path_and_ending_and_its_trace_the_transitions(document):
    for vector in document["vectors"][:200]:
        expect, trace = vector["expect"], vector["trace"]
        assert list(expect) == [
            "path",
            "final_node",
            "termination_reason",
            "degraded",
            "evidence_retry_count",
            "outcomes",
            "counters",
        ]
        assert [each["from"] for each in trace["transitions"]] == expect["path"][:-1]
        assert [each["to"] for each in trace["transitions"]] == expect["path"][1:]
        assert trace["final_node"] == expect["final_node"] == expect["path"][-1]


@pytest.mark.parametrize("model", [searching(), nested()], ids=lambda model: model.name)
def test_branches_winners_and_commands_are_told_so_that_they_can_be_replayed(model):
    found = list(vectors(model))
    counts = explore(model).counts
    assert counts is not None
    assert len(found) == counts[0][0]
    for vector in found:
        assert replayed(vector, model) == vector["trace"]
        assert vector["trace"]["version"] == 2
        assert len(vector["expect"]["branches"]) == len(vector["expect"]["path"])
    assert any("winners" in vector for vector in found) is (model.name == "nested")


def test_scripts_that_cannot_be_listed_are_refused(tmp_path):
    graph = StateGraph({"status": Replace()}, name="for_ever")
    graph.add_node("fetch", lambda state: {}).add_edge(START, "fetch")
    failed = Condition("failed", lambda s: s["status"] == "failed", "status")
    rules = Decision([Rule("again", "AGAIN", failed), Rule("end", "OK")])
    graph.add_conditional_edges("fetch", rules, {"again": "fetch", "end": END})
    model = Model("for_ever", graph.compile(), {"fetch": {"ok": {}, "failed": {"status": "failed"}}})
    with pytest.raises(ExportError, match="cannot be listed: a run may go on for ever"):
        vectors(model)
    with pytest.raises(ExportError, match="the budget of 10 control states was used up"):
        vectors(diagnosis_model(), max_states=10)
    with pytest.raises(ExportError, match="cannot be listed"):
        export(model, tmp_path / "vectors.json")
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_whole_or_not_there(tmp_path):
    def full(done, total):
        raise OSError(28, "No space left on device")

    file = tmp_path / "vectors.json"
    file.write_text("what was there before")
    with pytest.raises(FileError, match="No space left"):
        export(searching(), file, Options(progress=full))
    assert file.read_text() == "what was there before"
    assert list(tmp_path.iterdir()) == [file]
    with pytest.raises(FileError, match="there is no directory"):
        export(searching(), tmp_path / "nowhere" / "vectors.json")
