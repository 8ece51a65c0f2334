"""What lies beyond the recursion limit is run by nothing: it is not shown, not the same, and not measured."""

from __future__ import annotations

import dataclasses

import pytest
from branched_models import drawn, racing, voting
from graphs import idle
from interleavings import replayed
from verdicts import shown, verdict

from diagnosis.runtime import (
    END,
    START,
    CompiledGraph,
    Condition,
    Decision,
    Fork,
    Model,
    Replace,
    Rule,
    StateGraph,
    eventually,
    sometimes,
)
from diagnosis.verify import CoverageError, compare, explore, measure, prove
from diagnosis.views import load_coverage, save_coverage

CLAIMS = (
    sometimes("c_runs", "Some run executes c.", lambda move: move.node == "c"),
    sometimes(
        "c_after_a",
        "Some run executes c after a.",
        lambda move, memory: memory and move.node == "c",
        remember=lambda memory, move: memory or move.node == "a",
        start=False,
    ),
    eventually("c_always", "Every run executes c.", lambda move: move.node == "c"),
)


def line(limit):
    """Three nodes in a row; a rule leads to the last one, and from it."""
    graph = StateGraph({"x": Replace()}, name="line")
    for name in "abc":
        graph.add_node(name, idle)
    graph.add_edge(START, "a").add_edge("a", "b").add_edge("b", "c")
    graph.add_conditional_edges("c", Decision([Rule("end", "DONE")]), {"end": END})
    return Model("line", graph.compile(recursion_limit=limit), {name: {"ok": {}} for name in "abc"}, properties=CLAIMS)


def limited(model, limit):
    return dataclasses.replace(model, graph=CompiledGraph(model.graph.definition, recursion_limit=limit))


@pytest.mark.parametrize("interleave", [False, True])
def test_what_comes_only_beyond_the_limit_is_not_shown(interleave):
    proof = prove(line(2), interleave=interleave)
    for name in ("c_runs", "c_after_a"):
        found = verdict(proof, name)
        assert (found.holds, found.detail) == (False, "needs 3 node executions, and the recursion limit is 2")
    rule = next(each for each in proof.verdicts if each.claim.name.startswith("rule_taken"))
    assert rule.holds is False
    assert verdict(proof, "c_always").detail == "a run meets the recursion limit of 2 node executions before it comes"
    assert shown(proof, "c_always").path == ("a", "b")
    assert prove(line(3), interleave=interleave).holds


def test_what_was_not_explored_may_come_within_the_limit():
    assert verdict(prove(line(2), max_states=1), "c_runs").holds is None


def test_a_loop_that_ends_may_be_stopped_before_what_is_to_come():
    graph = StateGraph({"n": Replace(initial=0)}, name="loop").add_node("a", idle).add_node("c", idle)
    done = Condition("done", lambda s: s["n"] > 3, "n")
    graph.add_edge(START, "a").add_edge("c", END)
    graph.add_conditional_edges("a", Decision([Rule("c", "DONE", done), Rule("a", "ON")]), {"c": "c", "a": "a"})
    alphabet = {"a": {"one": lambda s: {"n": s["n"] + 1}}, "c": {"ok": {}}}
    for limit in (3, 4, 5):
        proof = prove(Model("loop", graph.compile(recursion_limit=limit), alphabet, properties=CLAIMS))
        assert [verdict(proof, name).holds for name in ("c_always", "c_runs")] == [limit == 5] * 2


def two_long_branches():
    graph = drawn("START -> plan", "plan -> a c", "a -> b", "b -> join", "c -> d", "d -> join", "join -> END",
                  forks={"plan": Fork()}).compile()  # fmt: skip
    return Model("long", graph, {name: {"ok": {}} for name in graph.definition.names})


@pytest.mark.parametrize(
    "model", [two_long_branches(), voting(2), racing("fast"), racing("slow")], ids=lambda m: m.name
)
@pytest.mark.parametrize("interleave", [False, True])
def test_branches_come_to_what_runs_tell_of(model, interleave):
    space = explore(model)
    scripts = list(space.scripts())
    for limit in range(1, space.counts[1][0] + 1):
        runs = [replayed(model, script, limit=limit) for script in scripts]
        told = {event.node for run in runs for event in run.events}
        never = [name for name in space.model.graph.definition.names if name not in told]
        always = set.intersection(*({event.node for event in run.events} for run in runs))
        claims = [
            kind(f"{kind.__name__}.{name}", "It comes.", lambda move, name=name: move.node == name)
            for name in model.graph.definition.names
            for kind in (sometimes, eventually)
        ]
        proof = prove(dataclasses.replace(limited(model, limit), properties=tuple(claims)), interleave=interleave)
        for name in model.graph.definition.names:
            assert verdict(proof, f"sometimes.{name}").holds is (name not in never), (limit, name)
            assert verdict(proof, f"eventually.{name}").holds is (name in always), (limit, name)


def test_versions_that_differ_in_a_limit_that_some_run_meets_are_not_the_same():
    comparison = compare(line(3), line(2))
    assert not comparison.same
    assert comparison.verdict == (
        "scripts changed; the recursion limit is 3 before and 2 after, and some run takes 3 node executions"
    )
    assert comparison.to_json()["unchanged"] is None
    unmet = compare(line(3), line(4))
    assert (unmet.same, unmet.verdict) == (True, "scripts that run the same: 1; none changed")


def test_saved_coverage_of_another_recursion_limit_is_stale(tmp_path):
    file = save_coverage(tmp_path / "c.json", measure(line(3), []))
    assert load_coverage(file, line(3)).runs == 0
    with pytest.raises(CoverageError, match=r"stale: graph 'line' has another recursion limit .*then 3, now 2"):
        load_coverage(file, line(2))
