"""What becomes of a mutant: killed by an assertion or the bound, crashed, equivalent, survived or invalid."""

from __future__ import annotations

import pytest
from graphs import retrying, unreachable_guard
from mutated import asking, case, desk, mutant, spreading

from diagnosis.mutation import RESULTS, States, difference, mutate
from diagnosis.runtime import (
    END,
    START,
    Condition,
    Decision,
    Fork,
    Model,
    Replace,
    Rule,
    StateGraph,
)
from diagnosis.scenarios import case_of, load, play, run_scenario, write_scenario


def found(report, operator, place, after=None):
    (one,) = [
        each
        for each in report.results
        if (each.mutant.operator, each.mutant.place) == (operator, place) and after in (None, each.mutant.after)
    ]
    return one


def test_a_scenario_kills_what_changes_the_way_it_takes_and_says_what_it_saw():
    model = desk()
    one = found(mutate(model, [case(model, "twice", read=["poor", "good"])]), "drop_rule", "read.AGAIN")
    assert (one.result, one.scenario, one.killed) == ("assertion", "twice", True)
    assert one.detail == "execution 1: read poor -> bin because SPENT, not read poor -> read because AGAIN"


def test_a_state_that_no_report_and_no_reason_shows_kills_as_well():
    model = desk()
    one = found(mutate(model, [case(model, read=["good"])]), "drop_update", "read.blue")
    assert (one.result, one.detail) == ("assertion", "after execution 1 (read): mark is red, not blue")


def test_what_a_scenario_expects_plays_no_part():
    model = desk()
    silent = case(model, read=["good"])
    assert silent.scenario.expect.path is None
    assert found(mutate(model, [silent]), "swap_reason", "file->__END__").killed


def test_a_mutant_that_no_scenario_reaches_survives_with_the_shortest_that_does():
    model = desk()
    one = found(mutate(model, [case(model, read=["good"])]), "lower_limit", "read.AGAIN.tries_left")
    assert (one.result, one.scenario) == ("survived", None)
    assert one.killer.script == {"read": ("poor", "good")}
    assert one.killer.expect.path == ("read", "read", "file")


def test_a_killing_scenario_passes_on_the_graph_and_kills(tmp_path):
    model = desk()
    report = mutate(model, [])
    assert report.killed == 0
    assert len(report.survivors) > 40
    for scenario in report.killers:
        assert run_scenario(scenario, model).passed
        write_scenario(scenario, tmp_path)
    suite = load(tmp_path, {"desk": model})
    assert (len(suite.cases), suite.refused) == (len(report.killers), ())
    after = mutate(model, suite)
    assert after.score == 1
    assert after.survivors == ()
    assert after.of("equivalent") == report.of("equivalent")


def test_a_crash_alone_is_no_credit_to_the_scenarios():
    """Without its last rule a decision can only fail where that rule held: no script could show anything else."""
    keys = {"word": Replace()}
    graph = StateGraph(keys, name="doors")
    graph.add_node("door", lambda state: {})
    graph.add_edge(START, "door")
    is_open = Condition("open", lambda s: s["word"] == "open", "word")
    graph.add_conditional_edges("door", Decision([Rule("out", "OPEN", is_open), Rule("out", "SHUT")]), {"out": END})
    model = Model("doors", graph.compile(), {"door": {"open": {"word": "open"}, "shut": {"word": "shut"}}})
    report = mutate(model, [case(model, "shut", door=["shut"]), case(model, "open", door=["open"])])
    one = found(report, "drop_rule", "door.SHUT")
    assert (one.result, one.scenario, one.killed) == ("crash", "shut", False)
    assert "no rule of its decision holds" in one.detail
    assert (report.counts["crash"], report.score) == (1, 1)
    unseen = found(mutate(model, [case(model, door=["open"])]), "drop_rule", "door.SHUT")
    assert (unseen.result, unseen.killer.script) == ("survived", {"door": ("shut",)})


def test_a_crash_does_not_count_where_another_script_would_show_a_difference():
    """``late`` raises on what only ``early`` keeps away from it; for a plain word the mutant just goes elsewhere."""
    graph = StateGraph({"word": Replace()}, name="words")
    graph.add_node("say", lambda state: {})
    graph.add_edge(START, "say")
    early = Condition("early", lambda s: s["word"] in ("a", None), "word")
    late = Condition("late", lambda s: s["word"] + "" == "b", "word")
    rules = [Rule("out", "EARLY", early), Rule("out", "LATE", late), Rule("out", "ELSE")]
    graph.add_conditional_edges("say", Decision(rules), {"out": END})
    outcomes = {"a": {"word": "a"}, "b": {"word": "b"}, "none": {"word": None}}
    model = Model("words", graph.compile(), {"say": outcomes})
    only = found(mutate(model, [case(model, "silence", say=["none"])]), "condition_false", "say.EARLY.early")
    assert (only.result, only.killer.script) == ("survived", {"say": ("a",)})
    assert only.detail.endswith("; a crash alone does not count (silence)")
    both = mutate(model, [case(model, "silence", say=["none"]), case(model, "a", say=["a"])])
    assert found(both, "condition_false", "say.EARLY.early").scenario == "a"


def test_the_bound_kills_where_a_run_takes_all_that_it_may():
    model = desk(3)
    report = mutate(model, [case(model, "long", read=["poor", "good"])])
    less = found(report, "recursion_limit", "desk", "2 node executions")
    assert (less.result, less.scenario, less.killed) == ("bound", "long", True)
    assert "met its recursion limit of 2" in less.detail
    assert found(report, "recursion_limit", "desk", "4 node executions").result == "equivalent"


def test_a_limit_on_a_run_that_may_go_on_for_ever_is_told_from_its_neighbours():
    model = unreachable_guard(recursion_limit=12)
    report = mutate(model, [], max_states=500)
    less = found(report, "recursion_limit", "workers", "11 node executions")
    more = found(report, "recursion_limit", "workers", "13 node executions")
    assert [len(each.killer.expect.path) for each in (less, more)] == [12, 12]
    assert (less.result, more.result) == ("survived", "survived")


def test_what_no_run_reaches_within_its_limit_needs_no_exploration():
    """The step counter has no end, but after 12 executions it is at 3, and the rule for 20 is out of reach."""
    model = unreachable_guard(recursion_limit=12)
    report = mutate(model, [], max_states=500)
    assert found(report, "condition_false", "router.TOO_MANY.steps_over_limit").result == "equivalent"
    assert not [each for each in report.survivors if each.killer is None]
    more = mutate(unreachable_guard(recursion_limit=200), [], max_states=50)
    one = found(more, "condition_false", "router.TOO_MANY.steps_over_limit")
    assert one.detail.startswith("not decided: the budget of 50 control states")


def test_time_that_is_used_up_leaves_mutants_undecided():
    model = retrying()
    report = mutate(model, [case(model, fetch=["fine"])], max_seconds=1e-9)
    assert {each.result for each in report.results} == {"assertion", "survived", "invalid"}
    assert {each.detail for each in report.survivors} == {"not decided: the budget of 1e-09 s was used up"}


def test_what_agrees_on_every_script_is_equivalent_and_leaves_the_score():
    model = retrying()
    report = mutate(model, [case(model, fetch=["failed"] * 3)])
    same = {(each.mutant.operator, each.mutant.place) for each in report.of("equivalent")}
    assert same == {("keep_report", "fetch"), ("recursion_limit", "retrying")}
    counted = len(report.results) - report.counts["equivalent"] - report.counts["invalid"] - report.counts["crash"]
    assert report.score == report.killed / counted < 1


def test_a_report_outside_the_alphabet_can_kill_what_is_equivalent_within_it():
    model = retrying()
    kept = case(model, "kept", fetch=["failed", {"update": {}}, "fine"])
    assert found(mutate(model, [kept]), "keep_report", "fetch").scenario == "kept"


def test_what_does_not_compile_is_invalid_and_says_why():
    one = found(mutate(desk(), []), "swap_target", "read.on", "on -> bin")
    assert one.result == "invalid"
    assert "unreachable_node at file" in one.detail


def test_where_a_command_leads_is_killed_and_shown_like_any_edge():
    model = asking()
    report = mutate(model, [case(model, ask=["on", "off"], judge=["bad"])])
    assert found(report, "swap_target", "judge.bad", "goto bad -> judge").killed
    assert found(report, "swap_target", "judge.good", "goto good -> judge").killer.script == {
        "ask": ("on",),
        "judge": ("good",),
    }


@pytest.mark.parametrize(("wait", "path"), [("all_of", 4), ("any_of", 3)])
def test_a_join_that_waits_for_others_is_told_by_the_shortest_run(wait, path):
    model = spreading(wait)
    one = found(mutate(model, []), "swap_wait", "plan.rule")
    assert (one.result, len(one.killer.expect.path)) == ("survived", path)
    assert run_scenario(one.killer, model).passed


def test_how_many_branches_are_under_way_changes_no_run():
    results = {each.result for each in mutate(spreading(), []).results if each.mutant.operator == "swap_concurrency"}
    assert results == {"equivalent"}


def test_what_was_not_explored_in_full_is_not_called_equivalent():
    model = retrying()
    report = mutate(model, [case(model, fetch=["failed"] * 3)], max_states=2)
    one = found(report, "keep_report", "fetch")
    assert (one.result, one.killer) == ("survived", None)
    assert one.detail.startswith("not decided: the budget of 2 control states")


def test_scenarios_of_other_graphs_are_left_out():
    model, other = desk(), retrying()
    report = mutate(model, [case(other, "other", fetch=["fine"]), case(model, "own", read=["good"])])
    assert report.scenarios == ("own",)


def test_progress_is_told_for_each_mutant():
    told = []
    report = mutate(asking(), [], progress=lambda done, total: told.append((done, total)))
    assert told == [(number, len(report.results)) for number in range(1, len(report.results) + 1)]


def test_the_same_mutants_give_the_same_report():
    model = desk()
    cases = [case(model, read=["poor", "good"])]
    assert mutate(model, cases).to_json() == mutate(desk(), cases).to_json()


def test_the_report_as_text_tables_and_json():
    model = desk()
    report = mutate(model, [case(model, "good", read=["good"])])
    counts = report.counts
    assert list(counts) == list(RESULTS)
    assert report.text().startswith(f"Mutation of desk against 1 scenario: {report.killed} of ")
    table = report.table
    assert list(table.columns) == ["operator", "place", "before", "after", "result", "scenario", "detail", "killer"]
    assert table["result"].value_counts().to_dict() == {name: count for name, count in counts.items() if count}
    assert table.loc[table["result"] == "survived", "killer"].notna().all()
    assert table.loc[table["result"] == "assertion", "scenario"].eq("good").all()
    operators = report.operators
    assert operators["mutants"].sum() == len(report.results) == len(table)
    assert operators[list(RESULTS)].sum().to_dict() == dict(counts)
    document = report.to_json()
    assert {name: document[name] for name in RESULTS} == dict(counts)
    assert (document["graph"], document["scenarios"], document["mutants"]) == ("desk", 1, len(report.results))
    assert document["results"][0] == {
        "operator": "drop_rule",
        "place": "read.FINE",
        "diff": "- on because FINE, when good\n+ no such rule",
        "result": "assertion",
        "scenario": "good",
        "detail": "execution 1: read good -> bin because UNREADABLE, not read good -> file because FINE",
        "killer": None,
    }


def test_a_graph_without_anything_to_kill_has_no_score():
    graph = StateGraph(["x"], name="one")
    graph.add_node("only", lambda state: {}, owns=[])
    graph.add_edge(START, "only").add_edge("only", END)
    report = mutate(Model("one", graph.compile(), {}), [])
    assert {each.result for each in report.results} == {"equivalent", "invalid"}
    assert report.score is None
    assert report.text().startswith("Mutation of one against 0 scenarios: 0 of 0 mutants, nothing to kill")


def test_runs_that_fail_alike_agree_and_one_that_fails_sooner_crashes():
    model = desk()
    states = States(model.graph.definition)
    raising = case(model, read=["poor", {"raises": "gone"}])
    other = case(model, read=[{"raises": "gone"}])
    run, _ = play(raising)
    assert difference(run, play(case_of(raising.scenario, {"desk": model}))[0], states) is None
    assert difference(run, play(other)[0], states).how == "crash"
    assert difference(play(other)[0], run, states).how == "assertion"


def test_a_mutant_that_asks_for_more_than_the_script_has_went_another_way():
    model = desk()
    script = case(model, read=["poor", "poor"])
    changed = mutant(model, "raise_limit", "read.AGAIN.tries_left").applied(model)
    run, other = play(script)[0], play(case_of(script.scenario, {"desk": changed}))[0]
    assert other.stop == "error"
    assert difference(run, other, States(model.graph.definition)).how == "assertion"


def routed() -> Model:
    """An ``any_of`` of two branches, of which ``fast`` may take a route that there is not."""
    graph = StateGraph({"answer": Replace(), "way": Replace()}, name="routed")
    for name in ("plan", "fast", "slow", "join"):
        graph.add_node(name, lambda state: {})
    graph.add_edge(START, "plan").add_edge("plan", ["fast", "slow"], fork=Fork(join="join", wait="any_of"))
    graph.add_conditional_edges("fast", lambda s: s["way"], {"on": "join"}, reads=["way"])
    graph.add_edge("slow", "join").add_edge("join", END)
    fast = {"ok": {"way": "on", "answer": "fast"}, "bad": {"way": "nowhere"}}
    return Model(
        "routed",
        graph.compile(),
        {"plan": {"go": {}}, "fast": fast, "slow": {"ok": {"answer": "slow"}}, "join": {"ok": {}}},
    )


def test_a_branch_that_is_believed_where_it_failed_is_noticed_although_no_run_tells_of_it():
    """``fast`` fails and ``slow`` wins; the mutant lets ``fast`` win. Of what lost, the run says nothing."""
    model = routed()
    lost = case(model, "lost", plan=["go"], fast=["bad"], slow=["ok"])
    assert "fast" not in play(lost)[0].path
    one = found(mutate(model, [lost]), "fix_route", "fast")
    assert (one.result, one.scenario) == ("assertion", "lost")
    alone = found(mutate(model, []), "fix_route", "fast")
    assert (alone.result, dict(alone.killer.winners)) == ("survived", {"plan": ("fast[0]",)})
    assert run_scenario(alone.killer, model).passed
