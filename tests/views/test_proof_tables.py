"""Tables of comparisons and findings: fixed columns and types, also where there is no row."""

from __future__ import annotations

import dataclasses

import pandas

from diagnosis.catalog import diagnosis_model
from diagnosis.runtime import END, START, Decision, Model, Replace, Rule, StateGraph
from diagnosis.verify import compare, prove
from diagnosis.views.display import bundle
from diagnosis.views.proof_tables import changes_table, endings_table, findings_table, lengths_table


def saying(reason: str, *outcomes: str) -> Model:
    graph = StateGraph({"x": Replace()}, name="saying").add_node("a", lambda s: {}).add_edge(START, "a")
    graph.add_conditional_edges("a", Decision([Rule("end", reason)]), {"end": END})
    return Model("saying", graph.compile(), {"a": {outcome: {"x": outcome} for outcome in outcomes}})


def test_a_comparison_has_a_row_for_each_kind():
    table = changes_table(compare(saying("<OLD>", "one", "two"), saying("NEW", "one", "two")))
    assert list(table["kind"]) == ["path", "termination", "reason"]
    assert table["before"].tolist() == [0, 2, 0]
    assert table["after"].tolist() == [0, 2, 0]
    row = table.set_index("kind").loc["termination"]
    assert row["detail"] == "call 1, a=one: the run ends for <OLD> before, the run ends for NEW after"
    assert (row["path_before"], row["path_after"]) == ("a", "a")
    assert table["path_before"].isna().tolist() == [True, False, True]
    assert [str(kind) for kind in table.dtypes] == ["string", "Int64", "Int64", "string", "string", "string"]


def test_counts_that_are_not_known_are_missing():
    table = changes_table(compare(diagnosis_model(), diagnosis_model(), max_states=20))
    assert table["before"].isna().all()


def test_a_comparison_shows_itself_in_a_notebook_with_its_texts_escaped():
    shown = bundle(compare(saying("<OLD>", "one"), saying("NEW", "one", "two")))
    assert "&lt;OLD&gt;" in shown["text/html"]
    assert "<OLD>" not in shown["text/html"]
    assert "outcomes only after: a.two" in shown["text/html"]
    assert shown["text/plain"].startswith(
        "saying and saying: scripts that run the same: 0; that changed: 1 before, 1 after"
    )


def test_tables_keep_their_columns_without_rows():
    quiet = prove(dataclasses.replace(saying("DONE", "one"), alphabet={"a": {"one": {}}}))
    assert list(findings_table(quiet)["kind"]) == []
    for table in (findings_table(quiet), lengths_table(quiet), endings_table(quiet)):
        assert isinstance(table, pandas.DataFrame)
    assert lengths_table(quiet).to_dict("list") == {"executions": [1], "scripts": [1]}
    assert endings_table(quiet).to_dict("records") == [
        {"termination_reason": "DONE", "final_node": "a", "scripts": 1, "shortest": 1, "longest": 1}
    ]
