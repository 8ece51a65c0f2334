"""Mistakes that a race hides: told all the same, unlike failures that the alphabet declares."""

from __future__ import annotations

import dataclasses
import json

import pytest
from branched_models import drawn, fails, racing
from graphs import idle
from verdicts import shown, verdict

from diagnosis.runtime import END, START, Append, Condition, Decision, Effect, Fork, Model, Replace, Rule, StateGraph
from diagnosis.runtime.commands import Send
from diagnosis.scenarios import load, run_suite, write_scenario
from diagnosis.verify import prove

RACE = {"plan": Fork(join="join", wait="any_of")}


def raced(node=None, outcomes=None, **parts) -> Model:
    """A race of ``a`` against ``b``; ``a`` is what the test says."""
    lines = ["START -> plan", "plan -> a b", "b -> join", "join -> END", *parts.pop("lines", ["a -> join"])]
    keys = {"text": Replace(type=str), "log": Append(), "x": Replace()}
    graph = drawn(*lines, keys=keys, forks={**RACE, **parts.pop("forks", {})}, nodes={"a": node or {}}, **parts)
    compiled = graph.compile()
    alphabet = {name: {"ok": {}} for name in compiled.definition.names}
    return Model("raced", compiled, alphabet | (outcomes or {}))


def never(state):
    raise ValueError("never")


CONFLICT = {
    "lines": ["a -> c d", "c -> meet", "d -> meet", "meet -> join"],
    "outcomes": {"c": {"ok": {"x": 1}}, "d": {"ok": {"x": 2}}},
}
SENT = ("a", lambda s: [Send("c", {"text": 1})], {"c": "c"}, {"reads": [], "fork": Fork(join="meet")})

MISTAKES = {
    "an undeclared key": (raced(outcomes={"a": {"bad": {"y": 1}}}), "wrote 'y', which the graph does not declare"),
    "a key of another": (
        raced({"owns": ["x"]}, {"a": {"bad": {"log": ["x"]}}}),
        "wrote 'log', which it does not own",
    ),
    "a wrong type": (raced(outcomes={"a": {"bad": {"text": 1}}}), "wrote 'text'"),
    "an unmapped route": (
        raced(lines=[], routers=[("a", lambda s: "away", {"on": "join"}, {"reads": []})]),
        "gave 'away', which is not in its mapping",
    ),
    "a condition that raises": (
        raced(lines=[], routers=[("a", Decision([Rule("on", "ON", Condition("c", never, ()))]), {"on": "join"})]),
        "condition 'c' raised ValueError: never",
    ),
    "an entry update that raises": (
        raced({"entry": Effect("e", never, reads=(), writes="x")}),
        "update 'e': ValueError: never",
    ),
    "a conflict inside the branch": (raced(**CONFLICT), "the fork at 'a[0]': 'c[0][0]' and 'd[0][1]' both wrote 'x'"),
    "a value that cannot be sent": (
        raced(lines=["c -> meet", "meet -> join"], routers=[SENT]),
        "node 'a' sent 'text' to branch 'c[0][0]'",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_though_the_branch_merely_loses_by_it(mistake, tmp_path):
    model, text = MISTAKES[mistake]
    proof = prove(model)
    found = verdict(proof, "no_error")
    assert found.holds is False
    assert text in found.detail
    assert found.detail.endswith("the race at 'plan' hides it, for 'a[0]' merely loses by it")
    assert found.script[0] == ("plan", "ok", "a[0]")
    # It stops no run that is left to itself, and all that it takes away is the branch.
    assert verdict(proof, "every_run_ends").holds is True
    assert proof.warnings == ("branch a[0] of the fork at plan can never win",)
    run = shown(proof, "no_error")
    assert text in str(run.error)
    write_scenario(proof.counterexample(found), tmp_path)
    results = run_suite(load([str(tmp_path)], {"raced": model}))
    assert (results.passed, results.failed, results.refused) == (1, 0, ())


def test_the_mistake_with_the_shortest_script_is_told():
    model = raced(lines=["a -> a2", "a2 -> join"], outcomes={"a2": {"bad": {"y": 1}}, "b": {"ok": {}, "bad": {"z": 1}}})
    proof = prove(model)
    assert verdict(proof, "no_error").script == (("plan", "ok", "b[1]"), ("b", "bad"))
    assert proof.warnings == ("branch a[0] of the fork at plan can never win",)


def test_a_mistake_that_stops_the_run_sooner_is_told_first():
    model = raced(outcomes={"plan": {"ok": {}, "bad": {"z": 1}}, "a": {"bad": {"y": 1}}})
    assert verdict(prove(model), "no_error").script == (("plan", "bad"),)


def test_a_failure_that_the_alphabet_declares_is_none():
    proof = prove(racing("fast", "late"))
    assert proof.holds
    assert proof.warnings == ()


def test_a_mistake_among_such_failures_is_told():
    proof = prove(racing("fast", "late", bad={"answer": 1, "more": 1}))
    assert verdict(proof, "no_error").script == (("plan", "go", "fast[0]"), ("fast", "bad"))


def test_a_mistake_in_a_race_inside_a_race_is_told_with_both_winners():
    lines = ["a -> c d", "c -> meet", "d -> meet", "meet -> join"]
    model = raced(lines=lines, forks={"a": Fork(wait="any_of")}, outcomes={"d": {"bad": {"y": 1}}})
    proof = prove(model)
    assert verdict(proof, "no_error").script == (
        ("plan", "ok", "a[0]"), ("a", "ok", "d[0][1]"), ("d", "bad")
    )  # fmt: skip
    assert proof.warnings == ("branch d[0][1] of the fork at a[0] can never win",)
    assert "wrote 'y'" in str(shown(proof, "no_error").error)


def test_a_branch_that_wins_only_where_the_branch_around_it_loses_has_won():
    lines = ["a -> c d", "c -> meet", "d -> meet", "meet -> join"]
    model = raced(lines=lines, forks={"a": Fork(wait="any_of")}, outcomes={"meet": {"fails": fails}})
    proof = prove(model)
    assert proof.holds
    assert proof.warnings == ("branch a[0] of the fork at plan can never win",)


def test_a_branch_that_can_only_fail_is_named_in_the_proof():
    model = racing("fast")
    proof = prove(dataclasses.replace(model, alphabet={**model.alphabet, "fast": {"bad": fails}}))
    assert proof.holds
    assert proof.to_json()["never_won"] == [{"fork": "plan", "branch": "fast[0]"}]
    assert "\n  branch fast[0] of the fork at plan can never win" in proof.text()
    assert json.dumps(proof.to_json())


def test_branches_that_wait_for_one_that_never_fails_can_never_win():
    proof = prove(racing("slow", max_concurrency=1))
    assert [branch for _, branch in proof.never_won] == ["slow[1]", "late[2]"]
    assert "never_won" not in prove(racing("fast", "slow", max_concurrency=1)).to_json()


def test_beside_a_branch_that_leads_straight_to_the_join_no_other_can_win():
    fork = Fork(join="join", wait="any_of")
    graph = StateGraph(["x"], name="straight")
    for name in ("plan", "a", "join"):
        graph.add_node(name, idle)
    graph.add_edge(START, "plan").add_edge("a", "join").add_edge("join", END)
    graph.add_conditional_edges(
        "plan", lambda s: ["a", "on", "on"], {"a": "a", "on": "join"}, reads=[], fork=fork
    )  # fmt: skip
    proof = prove(Model("straight", graph.compile(), {name: {"ok": {}} for name in ("plan", "a", "join")}))
    assert [tuple(contender) for contender in proof.never_won] == [("plan", "a[0]"), ("plan", "join[2]")]


def test_a_branch_that_wins_by_a_fork_that_closes_at_once_has_won():
    targets, options = {"on": "join", "b": "c"}, {"reads": [], "fork": Fork("join")}
    model = raced(lines=["c -> join"], routers=[("a", lambda s: ["on"], targets, options)])
    assert prove(model).warnings == ()


def test_a_search_that_stops_names_nobody_who_can_never_win():
    assert prove(racing("slow", max_concurrency=1), max_states=2).never_won == ()


@pytest.mark.parametrize("limit", [4, 5])
def test_a_branch_longer_than_the_recursion_limit_is_told_though_others_are_short(limit):
    graph = drawn("START -> plan", "plan -> a d", "a -> b", "b -> c", "c -> join", "d -> join", "join -> END",
                  forks=RACE).compile(recursion_limit=limit)  # fmt: skip
    proof = prove(Model("long", graph, {name: {"ok": {}} for name in graph.definition.names}))
    assert verdict(proof, "no_error").holds is (limit == 5)
    if limit == 4:
        assert shown(proof, "no_error").stop == "limit"
