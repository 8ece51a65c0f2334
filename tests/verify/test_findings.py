"""What is found beside the properties, on graphs with known answers and on random ones against every run."""

from __future__ import annotations

import pytest
from branched_models import drawn
from graphs import idle, misspelt, retrying, unreachable_guard
from hypothesis import HealthCheck, given, settings
from random_forks import forked_terms, model_of
from random_models import random_model, runs_of

from diagnosis.catalog import diagnosis_model
from diagnosis.runtime import (
    END,
    START,
    Append,
    Command,
    Condition,
    Decision,
    Effect,
    Model,
    Reading,
    Replace,
    Rule,
    StateGraph,
    always,
)
from diagnosis.verify import compare, explore, prove, remarks_on
from diagnosis.views.proof_tables import endings_table, findings_table, lengths_table


def found(model, *kinds, **options):
    return [
        (each.kind, each.where, each.detail) for each in remarks_on(explore(model, **options)) if each.kind in kinds
    ]


def script(model, kind, where):
    return next(each.script for each in remarks_on(explore(model)) if (each.kind, each.where) == (kind, where))


def deciding(rules, outcomes, *, keys=("status",), targets=None, **options):
    graph = StateGraph(keys, name="deciding").add_node("a", idle, **options).add_edge(START, "a")
    for node in dict.fromkeys(targets or {}):
        if targets[node] != END:
            graph.add_node(targets[node], idle).add_edge(targets[node], END)
    used = {route for rule in rules for route in rule.routes}
    graph.add_conditional_edges("a", Decision(rules), {"end": END, **(targets or {})} if "end" in used else targets)
    rest = {node: {"ok": {}} for node in graph.compile().definition.names if node != "a"}
    return Model("deciding", graph.compile(), {"a": outcomes, **rest})


def status(*values):
    return Condition(f"is_{'_or_'.join(values)}", lambda s: s["status"] in values, "status")


# --- rules and nodes --------------------------------------------------------------------------------------------------


def test_a_rule_behind_one_that_always_holds_before_it_names_that_one():
    rules = [Rule("end", "ANY", status("x", "y")), Rule("end", "X", status("x")), Rule("end", "ELSE")]
    outcomes = {"x": {"status": "x"}, "y": {"status": "y"}, "z": {"status": "z"}}
    assert found(deciding(rules, outcomes), "shadowed_rule", "unreachable_rule") == [
        ("shadowed_rule", "a.X", "wherever it holds, ANY decides before it")
    ]


def test_several_rules_may_stand_before_one():
    rules = [
        Rule("end", "X", status("x")),
        Rule("end", "Y", status("y")),
        Rule("end", "BOTH", status("x", "y")),
        Rule("end", "ELSE"),
    ]
    model = deciding(rules, {"x": {"status": "x"}, "y": {"status": "y"}})
    assert found(model, "shadowed_rule") == [
        ("shadowed_rule", "a.BOTH", "wherever it holds, X or Y decides before it"),
        ("shadowed_rule", "a.ELSE", "wherever it holds, X or Y decides before it"),
    ]


def test_a_rule_whose_conditions_never_hold_says_which():
    never = Condition("is_w", lambda s: s["status"] == "w", "status")
    rules = [
        Rule("end", "W", (status("x"), never)),
        Rule("end", "NEITHER", (status("x"), status("y"))),
        Rule("end", "X", status("x")),
        Rule("end", "ELSE"),
    ]
    model = deciding(rules, {"x": {"status": "x"}, "y": {"status": "y"}})
    assert found(model, "shadowed_rule", "unreachable_rule") == [
        ("unreachable_rule", "a.W", "is_w never holds"),
        ("unreachable_rule", "a.NEITHER", "its conditions never hold together"),
    ]


def test_a_node_that_no_script_executes_is_named_once():
    never = Condition("never", lambda s: s["status"] == "never", "status")
    model = deciding([Rule("on", "ON", never), Rule("end", "ELSE")], {"x": {"status": "x"}}, targets={"on": "b"})
    assert found(model, "unreachable_node", "unreachable_rule") == [
        ("unreachable_node", "b", "no script executes it"),
        ("unreachable_rule", "a.ON", "never never holds"),
    ]


def test_routes_that_a_router_or_a_command_never_takes_are_named():
    graph = StateGraph(["x"], name="half").add_node("a", idle).add_edge(START, "a")
    graph.add_conditional_edges("a", lambda s: "left", {"left": END, "right": END}, reads=["x"])
    model = Model("half", graph.compile(), {"a": {"ok": {}}})
    assert found(model, "unreachable_route") == [("unreachable_route", "a.right", "its router never gives it")]
    graph = StateGraph([], name="going").add_node("a", idle, goto={"stop": END, "on": "b"}).add_node("b", idle)
    graph.add_edge(START, "a").add_edge("b", END)
    model = Model("going", graph.compile(), {"a": {"on": Command("on", reason="ON")}, "b": {"ok": {}}})
    assert found(model, "unreachable_route") == [
        ("unreachable_route", "a.stop", "no Command of its alphabet goes there")
    ]


def test_of_a_space_that_is_not_complete_nothing_is_said_of_what_never_happens():
    never = {
        "unreachable_node",
        "unreachable_rule",
        "shadowed_rule",
        "unreachable_route",
        "default_outcome",
        "only_grows",
    }
    assert found(unreachable_guard(), *never, "only_grows", max_states=100) == []
    assert found(unreachable_guard(), "unbounded_read", max_states=100) == [
        (
            "unbounded_read",
            "steps",
            "the decision of router reads it, and it took more than 8 values in what was explored",
        )
    ]
    assert found(retrying(4), "unbounded_read") == []


@pytest.mark.parametrize("seed", range(60))
def test_what_never_happens_is_what_happens_in_no_run(seed):
    model = random_model(seed)
    runs = runs_of(model)
    remarks = remarks_on(explore(model))
    executed = {seen.node for run in runs for seen in run}
    taken = {(seen.node, seen.choice.rule) for run in runs for seen in run}
    rules = {(node, rule.name) for node in executed for rule in model.graph.definition.conditional(node).decision.rules}
    told = {each.where for each in remarks if each.kind in ("unreachable_rule", "shadowed_rule")}
    assert told == {f"{node}.{rule}" for node, rule in rules - taken}
    assert {each.where for each in remarks if each.kind == "unreachable_node"} == set(model.alphabet) - executed
    for each in remarks:
        if each.kind == "shadowed_rule":
            node, name = each.where.split(".")
            decision = model.graph.definition.conditional(node).decision.rules
            order = [rule.name for rule in decision]
            deciders = set()
            for run in runs:
                for seen in run:
                    rule = decision[order.index(name)]
                    if seen.node == node and all(condition.test(seen.after) for condition in rule.when):
                        deciders.add(seen.choice.rule)
            named = sorted(deciders, key=order.index)
            assert " or ".join([", ".join(named[:-1]), named[-1]] if named[1:] else named) in each.detail
    by_outcome = {}
    for run in runs:
        for seen in run:
            by_outcome.setdefault(f"{seen.node}.{seen.outcome}", set()).add(seen.choice.rule)
    conditional = {node for node in executed if len(model.graph.definition.conditional(node).decision.rules) > 1}
    expected = {where for where, by in by_outcome.items() if by == {"ELSE"} and where.split(".")[0] in conditional}
    assert {each.where for each in remarks if each.kind == "default_outcome"} == expected


# --- outcomes ---------------------------------------------------------------------------------------------------------


def test_an_outcome_that_only_the_last_rule_takes_is_named():
    model = deciding(
        [Rule("end", "FINE", status("fine")), Rule("end", "REST")],
        {"fine": {"status": "fine"}, "odd": {"status": "odd"}, "none": {}},
    )
    assert found(model, "default_outcome") == [
        ("default_outcome", "a.odd", "no rule with conditions ever handles it: it is left to REST"),
        ("default_outcome", "a.none", "no rule with conditions ever handles it: it is left to REST"),
    ]
    assert found(deciding([Rule("end", "ALL")], {"x": {}}), "default_outcome") == []


def test_an_outcome_without_any_way_is_told_with_the_script_that_shows_it():
    graph = (
        StateGraph(["x"], name="gap").add_node("a", idle).add_node("b", idle).add_edge(START, "a").add_edge("a", "b")
    )
    graph.add_conditional_edges("b", lambda s: s["x"], {"on": END, "again": "a"}, reads=["x"])
    model = Model("gap", graph.compile(), {"a": {"ok": {}}, "b": {"on": {"x": "on"}, "off": {"x": "off"}}})
    assert [where for _, where, _ in found(model, "unmapped_outcome")] == ["b.off"]
    assert script(model, "unmapped_outcome", "b.off") == (("a", "ok"), ("b", "off"))
    # A condition that raises is another matter.
    assert found(misspelt(), "unmapped_outcome") == []


# --- keys -------------------------------------------------------------------------------------------------------------


def test_a_key_that_is_decided_on_before_anything_wrote_it_is_told_with_the_shortest_script():
    graph = StateGraph(["plan", "x"], name="early")
    for node in ("a", "b", "c"):
        graph.add_node(node, idle)
    graph.add_edge(START, "a").add_edge("c", END)
    graph.add_conditional_edges("a", lambda s: s["x"], {"skip": "c", "on": "b"}, reads=["x"])
    planned = Condition("planned", lambda s: s["plan"] is not None, "plan")
    graph.add_conditional_edges(
        "b", Decision([Rule("on", "PLANNED", planned), Rule("end", "NOT")]), {"on": "c", "end": END}
    )
    outcomes = {
        "a": {"skip": {"x": "skip"}, "plans": {"x": "on", "plan": "p"}, "on": {"x": "on"}},
        "b": {"ok": {}},
        "c": {"ok": {}},
    }
    model = Model("early", graph.compile(), outcomes)
    assert found(model, "read_before_written") == [
        ("read_before_written", "plan", "the decision of b reads it before anything wrote it")
    ]
    assert script(model, "read_before_written", "plan") == (("a", "on"), ("b", "ok"))
    always_planned = Model("early", model.graph, {**outcomes, "a": {"plans": {"x": "on", "plan": "p"}}})
    assert found(always_planned, "read_before_written") == []
    given = Model("early", model.graph, outcomes, input={"plan": "p"})
    assert found(given, "read_before_written") == []


@pytest.mark.parametrize(
    ("options", "who"),
    [
        ({"entry": Effect("peek", lambda s: {}, reads="status")}, "update 'peek' before a"),
        ({"exit": Effect("peek", lambda s: {}, reads="status")}, "update 'peek' after a"),
        ({"attempt": Reading(lambda s: 1, "status")}, "the attempt of a"),
        ({"outcome": Reading(lambda s: "x", "status")}, "the outcome of a"),
    ],
)
def test_every_part_of_a_node_that_reads_is_seen(options, who):
    model = deciding([Rule("end", "ALL")], {"x": {}}, **options)
    assert found(model, "read_before_written") == [
        ("read_before_written", "status", f"{who} reads it before anything wrote it")
    ]
    writes = {"x": {"status": "x"}}
    after = "after" in who or who.startswith("the outcome")
    assert bool(found(deciding([Rule("end", "ALL")], writes, **options), "read_before_written")) is not after


def test_a_whole_report_counts_as_written():
    rules = [Rule("end", "FINE", status("fine")), Rule("end", "REST")]
    assert found(deciding(rules, {"none": {}}, owns=["status"], whole_report=True), "read_before_written") == []
    assert len(found(deciding(rules, {"none": {}}, owns=["status"]), "read_before_written")) == 1


@pytest.mark.parametrize("seed", range(60))
def test_read_before_written_is_what_a_run_shows(seed):
    """Of the random graphs only key a has no value at the start, and only conditions read it."""
    model = random_model(seed)
    shortest = None
    for run in runs_of(model):
        written = False
        for place, seen in enumerate(run):
            written = written or "a" in model.alphabet[seen.node][seen.outcome]
            reads = False
            for rule in model.graph.definition.conditional(seen.node).decision.rules:
                for condition in rule.when:
                    reads = reads or "a" in condition.reads
                    if not condition.test(seen.after):
                        break
                else:
                    break
            if reads and not written:
                shortest = min(shortest or 99, place + 1)
                break
    told = [each for each in remarks_on(explore(model)) if each.kind == "read_before_written"]
    assert [each.where for each in told] == (["a"] if shortest else [])
    if told:
        assert len(told[0].script) == shortest


def test_a_branch_does_not_see_what_the_one_beside_it_wrote():
    def model(reader):
        graph = drawn("START -> plan", "plan -> left right", "left -> join", keys=["x"], name="beside")
        seen = Condition("seen", lambda s: s["x"] is not None, "x")
        rules = Decision([Rule("on", "SEEN", seen), Rule("on", "NOT", name="NOT")])
        graph.add_conditional_edges(reader, rules, {"on": "join" if reader == "right" else END})
        if reader == "join":
            graph.add_edge("right", "join")
        else:
            graph.add_edge("join", END)
        writes = {"ok": {"x": 1}}
        return Model(
            "beside", graph.compile(), {"plan": {"ok": {}}, "left": writes, "right": {"ok": {}}, "join": {"ok": {}}}
        )

    assert [where for _, where, _ in found(model("right"), "read_before_written")] == ["x"]
    # Behind the join it is there.
    assert found(model("join"), "read_before_written") == []


def test_keys_that_nothing_reads_are_named_with_who_writes_them():
    graph = StateGraph({"status": Replace(), "note": Replace(), "seen": Replace(), "log": Append()}, name="notes")
    graph.add_node("a", idle, exit=Effect("more", lambda s: {}, writes="log")).add_node("b", idle)
    graph.add_edge(START, "a").add_edge("b", END)
    graph.add_conditional_edges("a", Decision([Rule("on", "FINE", status("fine")), Rule("on", "REST")]), {"on": "b"})
    claim = always("seen", "x", lambda move: True, reads="seen")
    outcomes = {"a": {"ok": {"note": 1, "seen": 1, "status": "fine"}}, "b": {"ok": {"note": 2}}}
    model = Model("notes", graph.compile(), outcomes, (claim,))
    assert found(model, "never_read") == [
        ("never_read", "note", "written by a, b; no condition, update or property reads it"),
        ("never_read", "log", "written by a; no condition, update or property reads it"),
    ]


def test_a_counter_that_is_never_set_back_is_named_with_its_range():
    assert found(retrying(3), "only_grows") == [
        ("only_grows", "tries", "it counts from 0 to 3, and nothing ever sets it back")
    ]


def test_the_design_of_the_contract_graph_is_told():
    by_kind = {}
    for each in prove(diagnosis_model()).findings:
        by_kind.setdefault(each.kind, []).append(each.where)
    assert by_kind["only_grows"] == ["evidence_retry_count", "composer_retry_count"]
    assert by_kind["read_before_written"] == ["planner_status", "verifier_status", "composer_status"]
    assert "planner_mode" in by_kind["never_read"]
    assert by_kind["default_outcome"] == [
        "planner.UNKNOWN", "executor.UNKNOWN", "gatekeeper.UNKNOWN/0", "gatekeeper.UNKNOWN/1",
        "verifier.UNKNOWN/no_gap", "verifier.UNKNOWN/gap", "composer.UNKNOWN",
    ]  # fmt: skip
    assert set(by_kind) == {"only_grows", "read_before_written", "never_read", "default_outcome"}


# --- scripts by length and ending -------------------------------------------------------------------------------------


def test_the_scripts_of_the_contract_graph_by_length_and_ending():
    proof = prove(diagnosis_model())
    assert list(proof.lengths) == list(range(2, 19))
    assert sum(proof.lengths.values()) == 10903
    assert (proof.lengths[2], proof.lengths[18]) == (2, 1024)
    by_length = {}
    for script in proof.space.scripts():
        by_length[len(script)] = by_length.get(len(script), 0) + 1
    assert proof.lengths == by_length
    endings = {(each.node, each.reason): each for each in proof.terminations}
    assert sum(each.scripts for each in endings.values()) == 10903
    answered = endings["composer", "ANSWER_COMPOSED"]
    assert (answered.scripts, answered.shortest, answered.longest) == (2133, 6, 17)
    assert {node for node, _ in endings} == {"composer", "fallback"}
    table = endings_table(proof)
    assert list(table.columns) == ["termination_reason", "final_node", "scripts", "shortest", "longest"]
    assert table["scripts"].sum() == lengths_table(proof)["scripts"].sum() == 10903
    assert list(findings_table(proof).columns) == ["kind", "where", "detail", "script"]
    assert len(findings_table(proof)) == len(proof.findings)


@pytest.mark.parametrize("seed", range(60))
def test_scripts_by_length_and_ending_are_those_of_every_run(seed):
    model = random_model(seed)
    lengths, endings = {}, {}
    for run in runs_of(model):
        lengths[len(run)] = lengths.get(len(run), 0) + 1
        endings.setdefault((run[-1].node, run[-1].choice.reason), []).append(len(run))
    proof = prove(model)
    assert proof.lengths == lengths
    assert {(e.node, e.reason): (e.scripts, e.shortest, e.longest) for e in proof.terminations} == {
        key: (len(found), min(found), max(found)) for key, found in endings.items()
    }


def test_runs_that_stop_with_an_error_are_counted_last():
    proof = prove(misspelt())
    assert [(each.node, each.reason, each.scripts) for each in proof.terminations] == [
        ("ask", "OK", 1),
        ("ask", None, 1),
    ]


def test_without_a_finite_count_there_is_no_table():
    proof = prove(unreachable_guard(), max_states=100)
    assert (proof.lengths, proof.terminations) == (None, None)
    assert len(lengths_table(proof)) == len(endings_table(proof)) == 0
    document = proof.to_json(findings=True)
    assert (document["lengths"], document["terminations"]) == (None, None)
    assert [each["where"] for each in document["findings"] if each["kind"] == "unbounded_read"] == ["steps"]


@given(forked_terms())
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
def test_graphs_with_branches_are_looked_through_too(terms):
    model = model_of(terms)
    proof = prove(model, max_states=2000)
    assert all(each.detail for each in proof.findings)
    executed = {proof.space.node(index) for index in range(len(proof.space.states))}
    if proof.space.complete:
        never = {each.where for each in proof.findings if each.kind == "unreachable_node"}
        assert never == set(model.graph.definition.names) - executed
    if proof.lengths is not None:
        assert sum(proof.lengths.values()) == proof.scripts
        assert (min(proof.lengths), max(proof.lengths)) == (proof.shortest_path, proof.longest_path)
        assert sum(each.scripts for each in proof.terminations) == proof.scripts
        found = compare(model, model, max_states=2000)
        assert (found.same, found.unchanged) == (True, proof.scripts)
