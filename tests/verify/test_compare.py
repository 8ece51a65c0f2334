"""Two versions of a graph: how many scripts changed, counted exactly, and the shortest of each kind."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter

import pytest
from branched_models import drawn, mapped, racing, redirected, supervised, voting
from graphs import idle, retrying, unreachable_guard
from random_models import random_model, runs_of

from diagnosis.catalog import diagnosis_model
from diagnosis.runtime import END, START, CompiledGraph, Decision, DefinitionError, Model, StateGraph
from diagnosis.scenarios import run_scenario
from diagnosis.verify import Changed, compare, explore


def with_rules(model: Model, node: str, edit) -> Model:
    """Give a model with other rules at one node."""
    definition = model.graph.definition

    def edited(each):
        if each.source != node:
            return each
        rules = edit(list(each.decision.rules))
        targets = {route: each.targets[route] for rule in rules for route in rule.routes}
        return dataclasses.replace(each, decision=Decision(rules), targets=targets)

    conditionals = tuple(map(edited, definition.conditionals))
    graph = CompiledGraph(
        dataclasses.replace(definition, conditionals=conditionals), recursion_limit=model.graph.recursion_limit
    )
    return dataclasses.replace(model, graph=graph)


def renamed(rules, number, reason):
    return [dataclasses.replace(rule, reason=reason) if place == number else rule for place, rule in enumerate(rules)]


def rerouted(rules, number, route):
    return [dataclasses.replace(rule, route=route) if place == number else rule for place, rule in enumerate(rules)]


def follow(model: Model, run) -> str | None:
    """Say what differs first when a run is given to another version: written apart from the product."""
    step = model.graph.step
    position, state = step.begin(model.input)
    differed = False
    for seen in run:
        entered = step.enter(position, state)
        position, state, event, _ = step.leave(entered.position, entered.state, model.alphabet[seen.node][seen.outcome])
        ours, theirs = seen.choice, event.choice
        if ours.target != theirs.target:
            return "termination" if END in (ours.target, theirs.target) else "path"
        if ours.reason != theirs.reason:
            if ours.target == END:
                return "termination"
            differed = True
    return "reason" if differed else None


@pytest.mark.parametrize("seed", range(120))
def test_the_counts_are_those_of_every_run(seed):
    before, after = random_model(seed), random_model(seed, shift=seed + 1)
    found = compare(before, after)
    both = ((before, after), (after, before))
    kinds = [Counter(follow(other, run) for run in runs_of(model)) for model, other in both]
    assert found.changed == {
        kind: Changed(kinds[0][kind], kinds[1][kind]) for kind in ("path", "termination", "reason")
    }
    assert found.unchanged == kinds[0][None] == kinds[1][None]
    assert {change.kind for change in found.changes} == {kind for kind in kinds[0] if kind} | {
        kind for kind in kinds[1] if kind
    }
    for change in found.changes:
        assert run_scenario(change.before, before).passed
        assert run_scenario(change.after, after).passed
        shortest = min(len(run) for model, other in both for run in runs_of(model) if follow(other, run) == change.kind)
        assert min(len(change.before.expect.path), len(change.after.expect.path)) == shortest
    assert found.same is not bool(found.changes)


def test_random_versions_show_every_kind_of_change():
    kinds = {
        change.kind
        for seed in range(120)
        for change in compare(random_model(seed), random_model(seed, shift=seed + 1)).changes
    }
    assert kinds == {"path", "termination", "reason"}


def test_the_contract_graph_runs_like_itself():
    found = compare(diagnosis_model(), diagnosis_model())
    assert (found.same, found.unchanged) == (True, 10903)
    assert found.changed == dict.fromkeys(("path", "termination", "reason"), Changed(0, 0))
    assert found.verdict == "scripts that run the same: 10903; none changed"


def test_a_rule_that_goes_elsewhere_changes_just_the_scripts_that_take_it():
    before = diagnosis_model()
    after = with_rules(before, "verifier", lambda rules: renamed(rules, 0, "TRY_AGAIN"))
    found = compare(before, after)
    space = explore(before)
    rule = before.graph.definition.conditional("verifier").decision.rules[0].name
    taking = 0
    for script in space.scripts():
        index = 0
        for call in script:
            edge = next(edge for edge in space.outgoing[index] if space.call(edge) == call)
            if any(choice.rule == rule and choice.source == "verifier" for choice in edge.choices):
                taking += 1
                break
            index = edge.target
    assert taking > 0
    assert found.changed["reason"] == Changed(taking, taking)
    assert (found.changed["path"], found.unchanged) == (Changed(0, 0), 10903 - taking)
    (change,) = found.changes
    assert change.before.expect.path == change.after.expect.path
    assert " before, for TRY_AGAIN (attempt " in change.detail


def test_each_kind_is_told_with_its_shortest_run():
    before = retrying(2)
    found = compare(before, retrying(1))
    # One try less: what failed twice and then worked ended well, and is given up now.
    assert [(change.kind, change.detail) for change in found.changes] == [
        ("path", "call 2, fetch=failed: fetch comes next before, give_up comes next after")
    ]
    assert found.changed["path"] == Changed(2, 1)
    assert found.changes[0].before.expect.path == ("fetch", "fetch", "fetch")
    assert found.changes[0].after.expect.path == ("fetch", "fetch", "give_up")
    ended = compare(before, with_rules(before, "fetch", lambda rules: rerouted(rules, 1, "end")))
    assert [(change.kind, change.detail) for change in ended.changes] == [
        ("termination", "call 1, fetch=failed: fetch comes next before, the run ends for RETRY after")
    ]
    other = compare(before, with_rules(before, "fetch", lambda rules: renamed(rules, 0, "DONE")))
    assert [(change.kind, change.detail) for change in other.changes] == [
        ("termination", "call 1, fetch=fine: the run ends for FETCHED before, the run ends for DONE after")
    ]
    assert other.changed["termination"] == Changed(3, 3)


@pytest.mark.parametrize("seed", range(30))
def test_outcomes_of_one_version_only_are_told_and_the_rest_is_compared(seed):
    before = random_model(seed)
    after = dataclasses.replace(before, alphabet={**before.alphabet, "n1": {**before.alphabet["n1"], "odd": {"a": 1}}})
    found = compare(before, after)
    assert (found.only_before, found.only_after, found.changes) == ((), ("n1.odd",), ())
    assert not found.same
    assert found.unchanged == len(runs_of(before))
    odd = sum(any(seen.outcome == "odd" for seen in run) for run in runs_of(after))
    assert found.beyond == Changed(0, odd)
    assert found.alphabets[0] == "outcomes only after: n1.odd"
    assert compare(after, before).beyond == Changed(odd, 0)


def test_an_outcome_that_reports_something_else_is_told():
    before = retrying(2)
    alphabet = {**before.alphabet, "fetch": {**before.alphabet["fetch"], "failed": {"status": "broken"}}}
    found = compare(before, dataclasses.replace(before, alphabet=alphabet))
    assert found.reported_anew == ("fetch.failed",)
    # Only "failed" is counted, so the other version goes round for ever.
    assert found.reason == "a run may go on for ever"
    assert found.changed is None
    assert [change.kind for change in found.changes] == ["path"]


def test_another_first_node_changes_every_script():
    def alone(node):
        graph = StateGraph([], name="one").add_node(node, idle).add_edge(START, node).add_edge(node, END)
        return Model("one", graph.compile(), {node: {"ok": {}}})

    found = compare(alone("a"), alone("b"))
    assert found.changed["path"] == Changed(1, 1)
    assert (found.unchanged, found.changes[0].detail) == (0, "it begins with b, not with a")
    assert found.changes[0].before.expect.path == ("a",)


def test_what_was_not_explored_is_not_called_the_same():
    found = compare(unreachable_guard(), unreachable_guard(), max_states=50)
    assert not found.same
    assert found.verdict == "not proven; bound hit: the budget of 50 control states was used up"
    assert found.to_json()["reason"] == "bound hit: the budget of 50 control states was used up"


@pytest.mark.parametrize("states", range(20, 40))
def test_what_only_one_search_came_to_is_no_change(states):
    """The smaller version gets further within the same budget; what both were seen to do is alike."""
    before = unreachable_guard()
    after = dataclasses.replace(
        before, alphabet={**before.alphabet, "router": {"alpha": before.alphabet["router"]["alpha"]}}
    )
    for versions in ((before, after), (after, before)):
        found = compare(*versions, max_states=states)
        assert (found.changes, found.same) == ((), False)


def test_a_change_is_found_where_runs_go_on_for_ever():
    found = compare(unreachable_guard(), unreachable_guard(), max_states=200)
    assert found.changes == ()
    after = with_rules(unreachable_guard(), "router", lambda rules: renamed(rules, 0, "KNOWN"))
    found = compare(unreachable_guard(), after, max_states=200)
    assert [change.kind for change in found.changes] == ["reason"]
    assert found.changes[0].detail == "router -> work for NAMED (attempt 1) before, for KNOWN (attempt 1) after"


@pytest.mark.parametrize(
    "build", [lambda: racing("a", "b"), lambda: voting(3), redirected, supervised, lambda: mapped(2)]
)
def test_a_graph_with_branches_runs_like_itself(build):
    found = compare(build(), build())
    assert found.same
    assert found.unchanged == explore(build()).counts[0][0]


def test_a_fork_that_opens_other_branches_changes_the_path():
    def forked(*branches):
        lines = [f"{branch} -> join" for branch in branches]
        graph = drawn("START -> plan", f"plan -> {' '.join(branches)}", *lines, "join -> END", name="forked")
        return Model("forked", graph.compile(), {node: {"ok": {}} for node in ("plan", *branches, "join")})

    found = compare(forked("left", "right"), forked("left", "right", "more"))
    assert [change.kind for change in found.changes] == ["path"]
    assert found.changes[0].detail == (
        "call 1, plan=ok: left + right comes next before, left + right + more comes next after"
    )
    assert (found.unchanged, found.only_after) == (0, ("more.ok",))


def test_only_models_are_compared():
    with pytest.raises(DefinitionError, match="a comparison needs two Models, found str"):
        compare(diagnosis_model(), "diagnosis")


def test_the_json_tells_it_all():
    document = json.loads(json.dumps(compare(retrying(2), retrying(1)).to_json()))
    assert list(document) == [
        "before", "after", "same", "unchanged", "changed", "beyond", "only_before", "only_after", "reported_anew",
        "changes",
    ]  # fmt: skip
    assert document["changed"]["path"] == {"before": 2, "after": 1}
    assert document["changes"][0]["before"]["name"] == "diff_path_before"
