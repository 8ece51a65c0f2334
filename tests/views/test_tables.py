"""Tables have exactly their columns and types, also when they are empty."""

import subprocess
import sys
from functools import partial
from typing import Any

import pandas as pd
import pytest
from drawn_graphs import (
    EXPLODES,
    GIVES_UP,
    LONGEST,
    STRAIGHT,
    branched,
    failing,
    fixed_fork,
    forking,
    gotos,
    idle,
    mapped,
    pick,
    played,
    race,
    rule_fork,
    small_graph,
    small_model,
    small_run,
    writing,
)

from diagnosis.catalog import diagnosis_model
from diagnosis.runtime import END, START, Condition, Decision, Fork, Model, Rule, Run, Send, StateGraph
from diagnosis.scenarios import Scenario, SuiteResult, run_scenario
from diagnosis.verify import KINDS, measure, prove
from diagnosis.views import (
    TableError,
    coverage_summary,
    coverage_table,
    events_table,
    explanation_table,
    proof_table,
    rules_table,
    runs_table,
    terminations_table,
)
from diagnosis.views.tables import path_text

RUNS = {
    "scenario": "string",
    "title": "string",
    "passed": "bool",
    "executions": "int64",
    "path": "string",
    "final_node": "string",
    "termination_reason": "string",
    "degraded": "boolean",
    "stop": "string",
}
TERMINATIONS = {"termination_reason": "string", "final_node": "string", "runs": "int64", "scenarios": "string"}
EVENTS = {
    "step": "int64",
    "node": "string",
    "attempt": "int64",
    "outcome": "string",
    "route": "string",
    "rule": "string",
    "reason_code": "string",
    "next": "string",
}


def rows(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    """Give the cells, missing ones as None."""
    return [tuple(None if pd.isna(cell) else cell for cell in row) for row in frame.itertuples(index=False)]


def types(frame: pd.DataFrame) -> dict[str, str]:
    return {name: str(dtype) for name, dtype in frame.dtypes.items()}


def results() -> SuiteResult:
    return SuiteResult(tuple(map(played, (STRAIGHT, GIVES_UP, EXPLODES, {**GIVES_UP, "name": "again"}))))


def test_a_run_is_a_row() -> None:
    frame = runs_table(results())
    assert types(frame) == RUNS
    path = "planner > executor > gatekeeper > verified_input > verifier > composer"
    assert rows(frame)[:3] == [
        ("straight", "", True, 6, path, "composer", "ANSWER_COMPOSED", False, "ended"),
        ("gives_up", "<b>No</b> plan", False, 2, "planner > fallback", "fallback", "PLANNER_FAILED", True, "ended"),
        ("explodes", "", False, 1, "planner", None, None, None, "error"),
    ]


def test_a_list_of_results_serves_as_well_as_a_suite() -> None:
    suite = results()
    assert runs_table(iter(suite.results)).equals(runs_table(suite))
    assert terminations_table(list(suite.results)).equals(terminations_table(suite))


def test_a_run_without_any_event_has_no_trace() -> None:
    result = played({"name": "at_once", "script": {"planner": [{"raises": "no"}]}})
    assert rows(runs_table([result])) == [("at_once", "", False, 0, "", None, None, None, "error")]


def test_terminations_are_grouped_the_frequent_first_and_the_stopped_last() -> None:
    frame = terminations_table(results())
    assert types(frame) == TERMINATIONS
    assert rows(frame) == [
        ("PLANNER_FAILED", "fallback", 2, "gives_up, again"),
        ("ANSWER_COMPOSED", "composer", 1, "straight"),
        ("error (ActionError)", "executor", 1, "explodes"),
    ]


def test_a_limit_is_a_termination_of_its_own() -> None:
    model = small_model()
    limited = Model(model.name, model.graph, model.alphabet)
    document = {"name": "loops", "graph": "small", "script": {"ask": ["odd"] * 8}}
    result = run_scenario(Scenario.parse(document), limited)
    assert rows(terminations_table([result])) == [("limit (LimitError)", "ask", 1, "loops")]


def test_events_have_their_decision_beside_them() -> None:
    frame = events_table(played(LONGEST).run)
    assert types(frame) == EVENTS
    cells = rows(frame)
    assert len(cells) == 18
    assert cells[0] == (
        1,
        "planner",
        1,
        "INVALID_OUTPUT",
        "retry_planner",
        "PLANNER_RETRY",
        "PLANNER_RETRY",
        "planner",
    )
    assert cells[4] == (5, "verified_input", 1, "COMPLETED", None, None, "VERIFIED_INPUT_READY", "verifier")
    assert cells[17] == (18, "fallback", 1, "COMPLETED", None, None, "COMPOSER_RETRY_EXHAUSTED", END)


def test_a_plain_router_has_no_rule() -> None:
    assert rows(events_table(small_run(True, False)))[1] == (2, "check", 1, "COMPLETED", "no", None, "no", END)


BRANCHED = {
    "step": "int64",
    "node": "string",
    "branch": "string",
    "attempt": "int64",
    "outcome": "string",
    "route": "string",
    "rule": "string",
    "reason_code": "string",
    "next": "string",
    "after": "string",
}


def test_a_run_with_branches_tells_them_and_what_led_to_each_step() -> None:
    frame = events_table(fixed_fork().run())
    assert types(frame) == BRANCHED
    assert rows(frame) == [
        (1, "plan", "", 1, "COMPLETED", None, None, "FIXED", "logs + traces + metrics", ""),
        (2, "logs", "logs[0]", 1, "COMPLETED", None, None, "FIXED", "report", "1"),
        (3, "traces", "traces[1]", 1, "COMPLETED", None, None, "SPANS_FOUND", "zoom", "1"),
        (4, "zoom", "traces[1]", 1, "COMPLETED", None, None, "FIXED", "report", "3"),
        (5, "metrics", "metrics[2]", 1, "COMPLETED", "none", "NO_METRICS", "NO_METRICS", END, "1"),
        (6, "report", "", 1, "COMPLETED", None, None, "REPORTED", END, "2, 4, 5"),
    ]


def test_a_decision_that_opens_branches_has_all_its_routes_and_targets() -> None:
    assert rows(events_table(rule_fork().run({"flag": True})))[0] == (
        1,
        "triage",
        "",
        1,
        "COMPLETED",
        "ask + wide + deep",
        "HARD_CASE",
        "HARD_CASE",
        "ask + search + search",
        "",
    )
    assert rows(events_table(mapped().run()))[0][5:9] == (
        "worker + worker + worker",
        None,
        "worker",
        " + ".join(["worker"] * 3),
    )


def test_branches_of_a_router_have_each_its_reason() -> None:
    graph = forking("g", "a", "b", "c", "join").add_edge(START, "a")
    graph.add_conditional_edges("a", lambda state: ["x", Send("y")], {"x": "b", "y": "c"}, fork=Fork())
    run = graph.add_edge(["b", "c"], "join").add_edge("join", END).compile().run()
    assert rows(events_table(run))[0][5:9] == ("x + y", None, "x + y", "b + c")


def test_a_goto_is_a_rule_with_the_reason_of_its_command() -> None:
    cells = rows(events_table(gotos().run()))
    assert cells[0][5:9] == ("refund + bill", "goto", "SAID_BOTH", "refund + bill")
    assert cells[3][5:] == ("bill", "goto", "SAID_BILL", "bill", "2, 3")
    assert cells[5][5:] == ("done", "goto", "SAID_DONE", END, "5")


def test_a_graph_that_declares_branches_has_the_same_columns_where_a_run_opens_none() -> None:
    run = rule_fork().run({"flag": None})
    assert types(events_table(run)) == BRANCHED
    assert [(row[2], row[9]) for row in rows(events_table(run))] == [("", ""), ("", "1")]
    no_branches = StateGraph(["flag"]).add_node("a", idle, goto={"x": END}).add_edge(START, "a").compile()
    assert types(events_table(no_branches.run(check=False))) == EVENTS


def test_a_path_tells_branches_apart() -> None:
    assert path_text(mapped().run()) == (
        "split > worker[0] > check[0] > worker[1] > check[1] > worker[2] > check[2] > collect"
    )
    assert path_text(small_run(True, False)) == "ask > check"


def test_runs_and_terminations_tell_where_a_branch_failed() -> None:
    failed = branched("lost", fixed_fork(), zoom=failing)
    good = branched("fine", fixed_fork())
    unjoined = branched("torn", rule_fork(), triage=lambda state: {"flag": True}, ask=writing(1), search=writing(2))
    assert [row[4:] for row in rows(runs_table([failed, good]))] == [
        ("plan > logs[0] > traces[1]", None, None, None, "error"),
        (
            "plan > logs[0] > traces[1] > zoom[1] > metrics[2] > report",
            "report",
            "REPORTED",
            None,
            "ended",
        ),
    ]
    assert rows(terminations_table([failed, good, unjoined])) == [
        ("REPORTED", "report", 1, "fine"),
        ("error (ActionError)", "zoom", 1, "lost"),
        ("error (JoinError)", "triage", 1, "torn"),
    ]


def test_coverage_is_summed_up_by_kind() -> None:
    frame = coverage_summary(measure(diagnosis_model(), [played(STRAIGHT).run]))
    assert types(frame) == {
        "kind": "string",
        "covered": "int64",
        "total": "int64",
        "percent": "float64",
        "missing": "string",
        "infeasible": "string",
        "undecided": "string",
    }
    assert list(frame["kind"]) == list(KINDS)
    assert rows(frame)[0] == ("node", 6, 8, 75.0, "evidence_retry, fallback", "", "")
    unreached = coverage_summary(measure(small_model(), []))
    assert rows(unreached)[1] == ("route", 0, 4, 0.0, "ask.good, ask.again, check.yes, check.no", "ask.doubtful", "")


def test_only_complete_coverage_says_100_per_cent() -> None:
    from diagnosis.views.coverage_tables import _percent

    assert _percent(100 * 2999 / 3000) == 99.9
    assert _percent(100.0) == 100.0


def test_coverage_items_can_be_chosen_by_kind() -> None:
    coverage = measure(small_model(), [small_run(True, False)])
    frame = coverage_table(coverage)
    assert types(frame) == {
        "kind": "string",
        "item": "string",
        "covered": "bool",
        "hits": "int64",
        "feasible": "bool",
        "standing": "string",
    }
    assert len(frame) == len(coverage.items)
    assert rows(coverage_table(coverage, "route")) == [
        ("route", "ask.good", True, 1, True, "covered"),
        ("route", "ask.doubtful", False, 0, False, "infeasible"),
        ("route", "ask.again", False, 0, True, "missing"),
        ("route", "check.yes", False, 0, True, "missing"),
        ("route", "check.no", True, 1, True, "covered"),
    ]


def test_an_unknown_kind_of_coverage_is_refused_with_those_there_are() -> None:
    with pytest.raises(TableError, match="no coverage of kind 'branch'; kinds are 'node', 'route'"):
        coverage_table(measure(small_model(), []), "branch")


def test_a_property_is_a_row() -> None:
    proof = prove(small_model())
    frame = proof_table(proof)
    assert types(frame) == dict.fromkeys(("property", "kind", "verdict", "statement", "detail"), "string")
    assert len(frame) == len(proof.verdicts)
    assert list(frame["verdict"]) == [verdict.word for verdict in proof.verdicts]
    assert rows(frame)[0][:3] == ("every_run_ends", "eventually", "broken")


EXPLANATION = {
    "source": "string",
    "rule": "string",
    "condition": "string",
    "truth": "boolean",
    "error": "string",
    "holds": "bool",
    "decided": "bool",
    "route": "string",
    "target": "string",
    "reason_code": "string",
}


def test_an_explanation_has_a_row_a_condition() -> None:
    frame = explanation_table(small_graph().explain("ask", {"flag": False}))
    assert types(frame) == EXPLANATION
    assert rows(frame) == [
        ("ask", "ALL_WELL", "fine", False, None, False, False, "good", "check", "ALL_WELL"),
        ("ask", "ALL_WELL", "sure", False, None, False, False, "good", "check", "ALL_WELL"),
        ("ask", "NOT_SURE", "fine", False, None, False, False, "doubtful", "check", "NOT_SURE"),
        ("ask", "ONCE_MORE", None, None, None, True, True, "again", "ask", "ONCE_MORE"),
    ]


def test_a_condition_that_raised_has_no_truth() -> None:
    frame = explanation_table(small_graph().explain("ask", {}))
    assert rows(frame)[0][3:5] == (None, "KeyError: 'flag'")


def test_an_explanation_without_rules_is_one_row() -> None:
    fixed = explanation_table(small_graph().explain("stop", {"flag": True}))
    assert types(fixed) == EXPLANATION
    assert rows(fixed) == [("stop", None, None, None, None, True, True, None, END, "STOPPED")]
    routed = explanation_table(small_graph().explain("check", {"flag": True}))
    assert rows(routed) == [("check", None, None, None, None, True, True, "yes", "stop", "yes")]


def test_rules_stand_in_the_order_in_which_they_are_tried() -> None:
    frame = rules_table(small_model())
    assert types(frame) == {
        "source": "string",
        "order": "int64",
        "conditions": "string",
        "route": "string",
        "target": "string",
        "reason_code": "string",
    }
    assert rows(frame) == [
        (START, 1, "always", None, "ask", None),
        ("ask", 1, "fine and sure", "good", "check", "ALL_WELL"),
        ("ask", 2, "fine", "doubtful", "check", "NOT_SURE"),
        ("ask", 3, "anything else", "again", "ask", "ONCE_MORE"),
        ("check", 1, "pick() gives yes", "yes", "stop", "yes"),
        ("check", 2, "pick() gives no", "no", END, "no"),
        ("stop", 1, "always", None, END, "STOPPED"),
    ]
    assert rules_table(small_graph()).equals(frame)


def test_rules_that_open_branches_are_one_row_with_their_join() -> None:
    frame = rules_table(rule_fork())
    assert types(frame) == {
        "source": "string",
        "order": "int64",
        "conditions": "string",
        "route": "string",
        "target": "string",
        "reason_code": "string",
        "join": "string",
        "wait": "string",
        "max_concurrency": "Int64",
    }
    assert rows(frame)[1:6] == [
        (
            "triage",
            1,
            "hard and rich",
            "ask + wide + deep",
            "ask + search + search",
            "HARD_CASE",
            "answer",
            "all_of",
            None,
        ),
        ("triage", 2, "unknown", "wide + deep", "search + search", "NEEDS_SEARCH", "answer", "all_of", None),
        ("triage", 3, "unclear", "ask", "ask", "UNCLEAR", None, None, None),
        ("triage", 4, "narrow", "deep", "search", "NARROW", None, None, None),
        ("triage", 5, "anything else", "known", "answer", "KNOWN", None, None, None),
    ]


def test_fixed_edges_that_are_followed_together_share_their_order() -> None:
    assert rows(rules_table(fixed_fork()))[1:4] == [
        ("plan", 1, "always", None, "logs", "FIXED", "report", "all_of", 2),
        ("plan", 1, "always", None, "traces", "FIXED", "report", "all_of", 2),
        ("plan", 1, "always", None, "metrics", "FIXED", "report", "all_of", 2),
    ]
    assert rows(rules_table(race()))[1][6:] == ("answer", "any_of", None)


def test_a_router_tells_the_join_of_the_routes_that_open_branches() -> None:
    assert rows(rules_table(mapped()))[1:3] == [
        ("split", 1, "each_item() gives worker", "worker", "worker", "worker", "collect", "all_of", 2),
        ("split", 2, "each_item() gives none", "none", "collect", "none", None, None, None),
    ]


def test_gotos_come_before_the_edges_that_they_replace_and_give_their_own_reasons() -> None:
    assert [row for row in rows(rules_table(gotos())) if row[0] == "desk"] == [
        ("desk", 1, "a Command goes to refund", "refund", "refund", None, "desk", "all_of", None),
        ("desk", 2, "a Command goes to bill", "bill", "bill", None, "desk", "all_of", None),
        ("desk", 3, "a Command goes to done", "done", END, None, None, None, None),
        ("desk", 4, "always", None, "close", "SILENT", None, None, None),
    ]
    alone = StateGraph(["flag"]).add_node("a", idle, goto={"x": END}).add_edge(START, "a").compile()
    assert rows(rules_table(alone))[1:] == [("a", 1, "a Command goes to x", "x", END, None)]


def test_every_rule_of_the_contract_is_listed() -> None:
    frame = rules_table(diagnosis_model())
    assert len(frame) == 26 + 4
    assert rows(frame)[-1] == ("fallback", 1, "always", None, END, "repeat the reason that led here")


def test_a_router_without_a_name_is_called_by_its_type() -> None:
    graph = StateGraph(["flag"]).add_node("a", idle).add_edge(START, "a")
    graph.add_conditional_edges("a", partial(pick), {"yes": END, "no": END})
    assert rows(rules_table(graph.compile()))[1][2] == "partial() gives yes"


def test_empty_tables_keep_their_columns_and_types() -> None:
    run = small_run()
    assert isinstance(run, Run)
    assert types(runs_table([])) == RUNS
    assert types(terminations_table(SuiteResult(()))) == TERMINATIONS
    assert types(events_table(run)) == EVENTS
    graph = StateGraph(["flag"], name="g").add_node("a", idle).add_edge(START, "a").add_edge("a", END).compile()
    coverage = measure(Model("g", graph, {"a": {"x": {}}}), [])
    assert types(coverage_table(coverage, "mcdc")) == types(coverage_table(coverage))
    assert all(len(frame) == 0 for frame in (runs_table([]), events_table(run), coverage_table(coverage, "mcdc")))


def test_texts_that_no_file_can_hold_are_kept() -> None:
    when = Condition("half \udc80", lambda state: True, "flag")
    graph = StateGraph(["flag"]).add_node("a", idle).add_edge(START, "a")
    graph.add_conditional_edges("a", Decision([Rule("x", "y", when), Rule("x", "z")]), {"x": END})
    assert rows(rules_table(graph.compile()))[1][2] == "half \udc80"


def test_importing_the_package_or_its_views_loads_no_pandas() -> None:
    program = "import sys, diagnosis, diagnosis.views, diagnosis.views.display; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
