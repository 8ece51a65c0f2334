from __future__ import annotations

import io
import sys
from types import SimpleNamespace

from drawn_graphs import branched, failing, fixed_fork, mapped, rule_fork, writing

from diagnosis.catalog import diagnosis_model
from diagnosis.runtime import END, START, Condition, Decision, Model, Rule, StateGraph
from diagnosis.scenarios import Scenario, SuiteResult, run_scenario
from diagnosis.verify import explore, measure, prove
from diagnosis.views.terminal import Terminal, progress, safe


class Tty(io.StringIO):
    def isatty(self):
        return True


def model(error: bool = False) -> Model:
    graph = StateGraph(["x"], name="small").add_node("a", lambda state: {}).add_edge(START, "a")
    rules = [Rule("end", "X", Condition("is_x", lambda s: s["x"] == "x", "x"))]
    if error:
        rules.append(Rule("end", "Y", Condition("is_y", lambda s: s["y"] == "y", "x")))
    graph.add_conditional_edges("a", Decision([*rules, Rule("end", "ELSE")]), {"end": END})
    return Model("small", graph.compile(), {"a": {"x": {"x": "x"}, "other": {"x": "other"}}})


def run(own: Model, *script, **expect):
    document = {"name": "s", "graph": own.name, "script": {"a": list(script)}, "expect": expect}
    return run_scenario(Scenario.parse(document), own)


def written(write) -> str:
    stream = io.StringIO()
    write(Terminal(stream))
    return stream.getvalue()


def test_control_characters_are_shown_and_not_obeyed():
    assert safe("a\x1b[31m\x00\x9b\u202e\tb\nc") == "a\\x1b[31m\\x00\\x9b\\u202e    b\nc"
    assert safe("中文 é <b>") == "中文 é <b>"


def test_a_name_with_line_breaks_stays_in_its_line():
    name = "b\nFAIL  b\r\u2028c"
    graph = StateGraph(["x"], name="small").add_node(name, lambda state: {}).add_edge(START, name)
    own = Model("small", graph.add_edge(name, END, reason="R\nS").compile(), {name: {"x": {}, "y\nz": {"x": 1}}})
    result = run_scenario(Scenario.parse({"name": "s", "graph": "small", "script": {name: ["x"]}}), own)
    text = written(lambda out: out.suite(SuiteResult((result,))))
    shown = "b\\nFAIL  b\\r\\u2028c"
    assert text.splitlines() == [
        "pass  s",
        f"      {shown}",
        f"      ended after 1 node execution at {shown} (R\\nS)",
        "1 passed, 0 failed, 0 refused",
    ]
    rows = written(lambda out: out.terminations(SuiteResult((result,)))).splitlines()
    assert len(rows) == 2
    assert rows[1].startswith("R\\nS")
    assert shown in rows[1]
    missing = written(lambda out: out.coverage(measure(own, [result.run]))).splitlines()
    assert f"missing outcome: {shown}.y\\nz" in missing


def test_lines_stay_whole_in_a_file_and_wrap_in_a_terminal(monkeypatch):
    long = "word " * 60
    assert len(written(lambda out: out.line(long)).splitlines()) == 1
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")
    stream = Tty()
    Terminal(stream).line(long)
    assert len(stream.getvalue().splitlines()) > 5
    assert all(len(line) <= 40 for line in stream.getvalue().splitlines())


def test_a_table_keeps_within_the_width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    text = written(lambda out: out.table(("name", "text"), [("y" * 50, "中文" * 30), (None, "b")]))
    assert text.count("y") == 50
    assert text.count("中") == 30
    assert max(len(line.encode("gb2312")) for line in text.splitlines()) <= 40


def test_further_mismatches_are_counted():
    result = run(model(), "x", final_node="b", termination_reason="Y")
    text = written(lambda out: out.suite(SuiteResult((result,))))
    assert "FAIL  s" in text
    assert "and 1 more; --json lists all" in text


def test_a_scenario_that_executed_nothing_says_so():
    result = run(model(), {"raises": "boom"}, error="boom")
    assert "nothing was executed" in written(lambda out: out.scenario(result))


def test_a_scenario_with_branches_tells_them_apart_in_its_path():
    text = written(lambda out: out.scenario(branched("forks", mapped())))
    assert "split > worker[0] > check[0] > worker[1] > check[1] > worker[2] > check[2] > collect\n" in text


def test_a_run_that_stopped_in_a_branch_is_tallied_at_the_node_that_failed():
    lost = branched("lost", fixed_fork(), zoom=failing)
    torn = branched("torn", rule_fork(), triage=writing(True), ask=writing(1), search=writing(2))
    text = written(lambda out: out.terminations(SuiteResult((lost, torn))))
    assert [line.split() for line in text.splitlines()[1:]] == [
        ["(error)", "(at", "triage)", "1"],
        ["(error)", "(at", "zoom)", "1"],
    ]


def test_coverage_tells_of_errors_and_of_reports_outside_the_alphabet():
    own = model(error=True)
    runs = [run(own, "x").run, run(own, {"update": {"x": "weird"}}).run]
    text = written(lambda out: out.coverage(measure(own, runs)))
    assert "condition error: a.Y.is_y: " in text
    fine = model()
    text = written(lambda out: out.coverage(measure(fine, [run(fine, {"update": {"x": "weird"}}).run])))
    assert "outside the outcome alphabet: a {'x': 'weird'}" in text


def test_coverage_tells_where_feasibility_is_not_proven():
    shipped = diagnosis_model()
    coverage = measure(shipped, [], space=explore(shipped, max_states=10))
    assert "exploration met its bound" in written(lambda out: out.coverage(coverage))


def test_a_proof_without_any_taken_rule_is_written_too():
    proof = SimpleNamespace(counted="nothing", verdicts=(), never_taken=(), warnings=(), unbounded=())
    assert "0 of 0 properties hold" in written(lambda out: out.proof(proof))
    assert "each of 2 rules is taken by some script" in written(lambda out: out.proof(prove(model())))


def test_progress_is_shown_only_in_a_terminal(monkeypatch):
    silent = io.StringIO()
    monkeypatch.setattr(sys, "stderr", silent)
    with progress("working", 2) as advance:
        advance()
        advance(2, 2)
    assert silent.getvalue() == ""
    monkeypatch.setenv("TERM", "xterm")
    shown = Tty()
    monkeypatch.setattr(sys, "stderr", shown)
    with progress("working", 2) as advance:
        advance()
        advance(2, 2)
    assert "working" in shown.getvalue()
