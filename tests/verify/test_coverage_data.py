"""Coverage that is merged, kept in files, collected where runs happen, and set beside production."""

from __future__ import annotations

import asyncio
import json

import pytest
from branched_models import racing, redirected, voting
from graphs import idle, retrying

from diagnosis.catalog import diagnosis_model
from diagnosis.runtime import END, START, Condition, Decision, Model, Replace, Rule, StateGraph
from diagnosis.scenarios import Scenario, run_scenario
from diagnosis.verify import FURTHER, CoverageError, collecting, measure
from diagnosis.verify.coverage import joined, merged
from diagnosis.views import FileError, load_coverage, production_table, save_coverage

SCRIPTS = ({"planner": ["FAILED"]}, {"planner": ["RETRYABLE_FAILED", "FAILED"]}, {"planner": ["???"]})


def run_of(model, script):
    return run_scenario(Scenario.parse({"name": "s", "graph": model.name, "script": script}), model).run


def limited(limit=1, route="end"):
    """One condition whose code can differ while every name stays."""
    graph = StateGraph({"x": Replace(initial=0)}, name="limited").add_node("a", idle).add_edge(START, "a")
    big = Condition("big", lambda s: s["x"] > limit, "x")
    graph.add_conditional_edges(
        "a", Decision([Rule("end", "BIG", big), Rule(route, "SMALL")]), {"end": END, route: END}
    )
    return Model("limited", graph.compile(), {"a": {"one": {"x": 1}, "two": {"x": 2}}})


def test_merged_coverage_is_that_of_all_runs():
    model = diagnosis_model()
    runs = [run_of(model, script) for script in SCRIPTS]
    whole = measure(model, runs, kinds=FURTHER)
    parts = [measure(model, [run], kinds=FURTHER) for run in runs]
    assert parts[0] | parts[1] | parts[2] == whole
    assert merged(parts) == whole
    assert whole.runs == 3


def test_two_sides_of_a_condition_from_two_places_make_one_pair():
    model = limited()
    first, second = (measure(model, [run_of(model, {"a": [name]})]) for name in ("one", "two"))
    assert first.counts("mcdc") == second.counts("mcdc") == (0, 1)
    assert (first | second).counts("mcdc") == (1, 1)


def test_merging_leaves_the_kinds_that_both_counted():
    model = limited()
    assert (measure(model, [], kinds=["masking"]) | measure(model, [])).kinds == measure(model, []).kinds


def test_coverage_of_different_graphs_is_not_merged():
    with pytest.raises(CoverageError, match="different graphs"):
        _ = measure(limited(), []) | measure(retrying(), [])
    with pytest.raises(TypeError):
        _ = measure(limited(), []) | 3
    with pytest.raises(CoverageError, match="no coverage to merge"):
        merged([])


@pytest.mark.parametrize("model", [diagnosis_model(), racing("fast"), voting(2)], ids=lambda model: model.name)
def test_coverage_comes_back_from_a_file_as_it_was(tmp_path, model):
    runs = [run_of(model, script) for script in SCRIPTS] if model.name == "diagnosis" else []
    coverage = measure(model, runs, kinds=FURTHER)
    file = save_coverage(tmp_path / "coverage.json", coverage)
    assert load_coverage(file, model) == coverage
    assert save_coverage(file, coverage) == file
    first = file.read_bytes()
    save_coverage(file, measure(model, runs, kinds=FURTHER))
    assert file.read_bytes() == first


def test_a_file_is_refused_when_the_graph_has_changed_its_names_or_only_its_ways(tmp_path):
    file = save_coverage(tmp_path / "c.json", measure(limited(), []))
    with pytest.raises(CoverageError, match=r"stale: graph 'limited' has changed since \(fingerprint"):
        load_coverage(file, limited(route="stop"))
    with pytest.raises(CoverageError, match="stale: graph 'limited' routes otherwise"):
        load_coverage(file, limited(limit=5))
    assert load_coverage(file, limited()).runs == 0


def test_a_kind_that_was_not_saved_is_asked_for_in_vain(tmp_path):
    file = save_coverage(tmp_path / "c.json", measure(limited(), []))
    with pytest.raises(CoverageError, match=r"nothing was counted of kind 'masking'.*--kind masking"):
        load_coverage(file, limited(), kinds=["masking"])


def test_what_is_no_coverage_is_refused_and_never_overwritten(tmp_path):
    file = tmp_path / "notes.json"
    file.write_text('{"mine": 1}')
    with pytest.raises(CoverageError, match="no coverage data"):
        load_coverage(file, limited())
    with pytest.raises(FileError, match="is not overwritten"):
        save_coverage(file, measure(limited(), []))
    assert file.read_text() == '{"mine": 1}'
    with pytest.raises(CoverageError, match="cannot be read"):
        load_coverage(tmp_path / "nowhere.json", limited())


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"version": 2}, "of version 2; allowed: 1"),
        ({"graphs": {}}, "'graphs': found dict"),
        ({"graphs": [3]}, r"graphs\[0\]: allowed: a mapping"),
        ({"runs": -1}, r"graphs\[0\].runs: found -1"),
        ({"kinds": "node"}, r"graphs\[0\].kinds: allowed: a list of texts"),
        ({"seen": {"odd": {}}}, r"graphs\[0\].seen: allowed"),
        ({"seen": {"node": {"a": True}}}, r"graphs\[0\].seen.node: allowed"),
        ({"graph": "other"}, "nothing was saved of graph 'limited'; it holds 'other'"),
    ],
)
def test_a_damaged_file_is_refused_with_the_place(tmp_path, change, told):
    file = save_coverage(tmp_path / "c.json", measure(limited(), []))
    document = json.loads(file.read_text())
    for key, value in change.items():
        (document if key in document else document["graphs"][0])[key] = value
    file.write_text(json.dumps(document))
    with pytest.raises(CoverageError, match=told):
        load_coverage(file, limited())


# --- collecting -------------------------------------------------------------------------------------------------------


def test_every_run_of_the_graph_is_collected_whoever_starts_it_and_no_other():
    model, other = limited(), retrying()
    graph = model.graph.with_actions({"a": lambda state: {"x": 2}})
    with collecting(model, kinds=["decisive"]) as collected:
        graph.run()
        asyncio.run(graph.arun())
        list(graph.stream())
        run_of(model, {"a": ["one"]})
        run_of(other, {"fetch": ["fine"]})
        model.graph.with_actions({"a": lambda state: 1 / 0}).run(check=False)
        assert collected.runs == 5
    graph.run()
    assert collected.runs == 5
    coverage = collected.coverage
    assert coverage.hits("rule") == {"a.BIG": 3, "a.SMALL": 1}
    assert coverage.counts("decisive") == (1, 1)
    assert coverage.hits("node") == {"a": 5}
    assert collected.text() == coverage.text()


def test_collectors_may_stand_in_each_other_and_take_runs_by_hand():
    model = limited()
    with collecting(model) as outer, collecting(model) as inner:
        run = model.graph.with_actions({"a": lambda state: {"x": 1}}).run()
    inner.add(run)
    assert (outer.runs, inner.runs) == (1, 2)
    with pytest.raises(CoverageError, match="says nothing of model"):
        outer.add(run_of(retrying(), {"fetch": ["fine"]}))


# --- production -------------------------------------------------------------------------------------------------------

RECORDED = {
    ("planner", "executor", "PLAN_READY"): 70,
    ("planner", "fallback", "PLANNER_FAILED"): 2,
    ("executor", "fallback", "EXECUTOR_FAILED"): 5,
    ("planner", "composer", "SHORTCUT"): 1,
}


def test_tests_and_production_are_joined_item_by_item():
    model = diagnosis_model()
    frame = production_table(measure(model, [run_of(model, SCRIPTS[0])]), RECORDED)
    assert list(frame.columns) == [
        "kind",
        "item",
        "tested",
        "production",
        "seen",
        "feasible",
        "exact",
        "declared",
    ]
    rows = {(row.kind, row.item): (row.tested, row.production, row.seen) for row in frame.itertuples()}
    assert rows["node", "planner"] == (1, 73, "both")
    assert rows["node", "executor"] == (0, 70, "production only")
    assert rows["node", "verifier"] == (0, 0, "neither")
    assert rows["edge", "planner->fallback"] == (1, 2, "both")
    assert rows["edge", "__START__->planner"] == (1, 0, "tests only")
    assert rows["route", "planner.executor"] == (0, 70, "production only")
    assert rows["reason", "EXECUTOR_FAILED"] == (0, 5, "production only")
    assert rows["rule", "planner.PLANNER_FAILED"] == (1, 2, "both")
    unknown = frame[~frame["declared"]]
    assert [tuple(row) for row in unknown[["kind", "item", "production"]].itertuples(index=False)] == [
        ("edge", "planner->composer", 1),
        ("reason", "SHORTCUT", 1),
    ]


def test_every_declared_item_of_the_joined_kinds_has_one_row():
    model = diagnosis_model()
    rows = joined(measure(model, []), {})
    assert len(rows) == 8 + 14 + 18 + 28 + 26
    assert {row.seen for row in rows} == {"neither"}


def test_where_a_transition_fits_two_rules_both_have_it_and_neither_is_exact():
    graph = StateGraph({"x": Replace(initial=0)}, name="twin").add_node("a", idle).add_edge(START, "a")
    rules = [Rule("on", "SAME", Condition(f"is{n}", lambda s, n=n: s["x"] == n, "x"), name=f"R{n}") for n in (1, 2)]
    graph.add_conditional_edges("a", Decision([*rules, Rule("off", "ELSE")]), {"on": END, "off": END})
    model = Model("twin", graph.compile(), {"a": {"one": {"x": 1}}})
    rows = {(row.kind, row.name): row for row in joined(measure(model, []), {("a", END, "SAME"): 4})}
    assert [(rows["rule", f"a.R{n}"].production, rows["rule", f"a.R{n}"].exact) for n in (1, 2)] == [(4, False)] * 2
    assert rows["route", "a.on"] == rows["route", "a.on"]._replace(production=4, exact=True)
    assert rows["reason", "SAME"].production == 4
    assert rows["edge", f"a->{END}"].production == 4


def test_the_transition_of_a_command_is_its_goto():
    rows = {(row.kind, row.name): row for row in joined(measure(redirected(), []), {("desk", "help", "FREE TEXT"): 3})}
    assert rows["rule", "desk.goto"].production == rows["route", "desk.help"].production == 3
    assert ("reason", "FREE TEXT") not in rows


def test_a_count_that_is_none_is_refused():
    with pytest.raises(CoverageError, match="found -1, allowed: a whole number from 0"):
        joined(measure(limited(), []), {("a", END, "BIG"): -1})
