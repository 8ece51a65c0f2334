"""What each operator changes, and how the changed graph then runs."""

from __future__ import annotations

from collections import Counter

import pytest
from graphs import retrying
from mutated import asking, desk, mutant, ran, spreading, way

from diagnosis.catalog import diagnosis_model
from diagnosis.mutation import OPERATORS, mutants_of
from diagnosis.runtime import CompileError

GOOD, POOR, ODD = {"read": ["good"]}, {"read": ["poor", "poor"]}, {"read": ["odd"]}


def changes(model, *operators):
    return [(each.operator, each.place, each.diff) for each in mutants_of(model) if each.operator in operators]


def test_every_mutant_of_a_node_that_is_retried():
    found = [(each.operator, each.place, each.before, each.after) for each in mutants_of(retrying())]
    assert found == [
        ("drop_rule", "fetch.FETCHED", "end because FETCHED, when fine", "no such rule"),
        ("drop_rule", "fetch.RETRY", "again because RETRY, when tries_left", "no such rule"),
        ("drop_rule", "fetch.EXHAUSTED", "give_up because EXHAUSTED, for anything else", "no such rule"),
        ("swap_rules", "fetch.FETCHED", "FETCHED before RETRY", "RETRY before FETCHED"),
        ("swap_rules", "fetch.RETRY", "RETRY before EXHAUSTED", "EXHAUSTED before RETRY"),
        ("reroute_rule", "fetch.FETCHED", "end because FETCHED, when fine", "again because FETCHED, when fine"),
        ("reroute_rule", "fetch.FETCHED", "end because FETCHED, when fine", "give_up because FETCHED, when fine"),
        ("reroute_rule", "fetch.RETRY", "again because RETRY, when tries_left", "end because RETRY, when tries_left"),
        (
            "reroute_rule",
            "fetch.RETRY",
            "again because RETRY, when tries_left",
            "give_up because RETRY, when tries_left",
        ),
        (
            "reroute_rule",
            "fetch.EXHAUSTED",
            "give_up because EXHAUSTED, for anything else",
            "end because EXHAUSTED, for anything else",
        ),
        (
            "reroute_rule",
            "fetch.EXHAUSTED",
            "give_up because EXHAUSTED, for anything else",
            "again because EXHAUSTED, for anything else",
        ),
        ("swap_reason", "fetch.FETCHED", "end because FETCHED, when fine", "end because RETRY, when fine"),
        (
            "swap_reason",
            "fetch.RETRY",
            "again because RETRY, when tries_left",
            "again because EXHAUSTED, when tries_left",
        ),
        (
            "swap_reason",
            "fetch.EXHAUSTED",
            "give_up because EXHAUSTED, for anything else",
            "give_up because FIXED, for anything else",
        ),
        ("swap_reason", "give_up->__END__", "GAVE_UP", "FETCHED"),
        (
            "default_as_rule",
            "fetch.EXHAUSTED",
            "give_up because EXHAUSTED, for anything else",
            "end because FETCHED, for anything else",
        ),
        (
            "default_as_rule",
            "fetch.EXHAUSTED",
            "give_up because EXHAUSTED, for anything else",
            "again because RETRY, for anything else",
        ),
        ("condition_true", "fetch.FETCHED.fine", "fine", "true"),
        ("condition_true", "fetch.RETRY.tries_left", "tries_left", "true"),
        ("condition_false", "fetch.FETCHED.fine", "fine", "false"),
        ("condition_false", "fetch.RETRY.tries_left", "tries_left", "false"),
        ("negate_condition", "fetch.FETCHED.fine", "fine", "not fine"),
        ("negate_condition", "fetch.RETRY.tries_left", "tries_left", "not tries_left"),
        ("flip_value", "fetch.FETCHED.fine", "fine is true for status='fine'", "fine is false for status='fine'"),
        ("flip_value", "fetch.FETCHED.fine", "fine is false for status='failed'", "fine is true for status='failed'"),
        ("flip_value", "fetch.RETRY.tries_left", "tries_left is true for tries=0", "tries_left is false for tries=0"),
        ("flip_value", "fetch.RETRY.tries_left", "tries_left is true for tries=1", "tries_left is false for tries=1"),
        ("flip_value", "fetch.RETRY.tries_left", "tries_left is false for tries=2", "tries_left is true for tries=2"),
        ("raise_limit", "fetch.RETRY.tries_left", "tries_left", "tries_left with tries - 1"),
        ("lower_limit", "fetch.RETRY.tries_left", "tries_left", "tries_left with tries + 1"),
        ("swap_target", "fetch.end", "end -> __END__", "end -> fetch"),
        ("swap_target", "fetch.end", "end -> __END__", "end -> give_up"),
        ("swap_target", "fetch.again", "again -> fetch", "again -> give_up"),
        ("swap_target", "fetch.again", "again -> fetch", "again -> __END__"),
        ("swap_target", "fetch.give_up", "give_up -> give_up", "give_up -> fetch"),
        ("swap_target", "fetch.give_up", "give_up -> give_up", "give_up -> __END__"),
        ("swap_edge", "__START__->fetch", "-> fetch", "-> give_up"),
        ("swap_edge", "give_up->__END__", "-> __END__", "-> fetch"),
        ("swap_edge", "give_up->__END__", "-> __END__", "-> give_up"),
        ("drop_update", "fetch.count", "count at entry", "no such update"),
        ("raise_update", "fetch.count.tries", "tries at entry", "tries + 1 at entry"),
        ("null_update", "fetch.count.tries", "tries at entry", "tries = null at entry"),
        ("keep_report", "fetch", "what a report leaves out becomes null", "it keeps its value"),
        ("recursion_limit", "retrying", "100 node executions", "99 node executions"),
        ("recursion_limit", "retrying", "100 node executions", "101 node executions"),
    ]


def test_what_routers_commands_and_forks_give_a_place_for():
    assert changes(asking(), "fix_route", "swap_target") == [
        ("fix_route", "ask", "- its router decides\n+ always on"),
        ("fix_route", "ask", "- its router decides\n+ always off"),
        ("swap_target", "ask.on", "- on -> judge\n+ on -> ask"),
        ("swap_target", "ask.on", "- on -> judge\n+ on -> __END__"),
        ("swap_target", "ask.off", "- off -> __END__\n+ off -> ask"),
        ("swap_target", "ask.off", "- off -> __END__\n+ off -> judge"),
        ("swap_target", "judge.good", "- goto good -> __END__\n+ goto good -> ask"),
        ("swap_target", "judge.good", "- goto good -> __END__\n+ goto good -> judge"),
        ("swap_target", "judge.bad", "- goto bad -> ask\n+ goto bad -> judge"),
        ("swap_target", "judge.bad", "- goto bad -> ask\n+ goto bad -> __END__"),
    ]
    assert changes(spreading(), "drop_branch", "swap_wait", "swap_concurrency") == [
        ("drop_branch", "plan.BIG", "- a + b + c because BIG, when big\n+ b + c because BIG, when big"),
        ("drop_branch", "plan.BIG", "- a + b + c because BIG, when big\n+ a + c because BIG, when big"),
        ("drop_branch", "plan.BIG", "- a + b + c because BIG, when big\n+ a + b because BIG, when big"),
        ("drop_branch", "plan.SMALL", "- a + b because SMALL, for anything else\n+ b because SMALL, for anything else"),
        ("drop_branch", "plan.SMALL", "- a + b because SMALL, for anything else\n+ a because SMALL, for anything else"),
        ("swap_wait", "plan.rule", "- all_of, 2 at once\n+ any_of, 2 at once"),
        ("swap_concurrency", "plan.rule", "- all_of, 2 at once\n+ all_of, 1 at once"),
        ("swap_concurrency", "plan.rule", "- all_of, 2 at once\n+ all_of, 3 at once"),
    ]


@pytest.mark.parametrize(
    ("operator", "place", "after", "script", "expected"),
    [
        ("drop_rule", "read.AGAIN", None, POOR, "read SPENT bin SPENT"),
        ("swap_rules", "read.AGAIN", None, POOR, "read SPENT bin SPENT"),
        ("reroute_rule", "read.FINE", "out because FINE, when good", GOOD, "read FINE bin FINE"),
        ("swap_reason", "read.FINE", None, GOOD, "read FAIR file FILED"),
        ("swap_reason", "file->__END__", None, GOOD, "read FINE file FINE"),
        ("swap_reason", "bin->__END__", None, ODD, "read UNREADABLE bin FINE"),
        ("default_as_rule", "read.UNREADABLE", "on because FINE, for anything else", ODD, "read FINE file FILED"),
        ("drop_condition", "read.AGAIN.poor", None, ODD | {"read": ["odd", "good"]}, "read AGAIN read FINE file FILED"),
        ("condition_true", "read.FINE.good", None, ODD, "read FINE file FILED"),
        ("condition_false", "read.FINE.good", None, GOOD, "read UNREADABLE bin UNREADABLE"),
        ("negate_condition", "read.FINE.good", None, ODD, "read FINE file FILED"),
        ("flip_value", "read.FINE.good", "good is true for word='odd'", ODD, "read FINE file FILED"),
        ("flip_value", "read.SPENT.poor", "poor is false for word='poor'", POOR,
         "read AGAIN read UNREADABLE bin UNREADABLE"),
        ("raise_limit", "read.AGAIN.tries_left", None, {"read": ["poor", "poor", "good"]},
         "read AGAIN read AGAIN read FINE file FILED"),
        ("lower_limit", "read.AGAIN.tries_left", None, POOR, "read SPENT bin SPENT"),
        ("swap_target", "read.again", "again -> bin", POOR, "read AGAIN bin AGAIN"),
        ("swap_edge", "file->__END__", "-> bin", GOOD, "read FINE file FILED bin FILED"),
    ],
)  # fmt: skip
def test_a_mutant_of_the_desk_takes_another_way(operator, place, after, script, expected):
    model = desk()
    changed = mutant(model, operator, place, after).applied(model)
    assert way(ran(changed, **script)) == expected
    assert way(ran(model, **script)) != expected


def test_a_limit_that_is_raised_is_raised_by_one():
    model = desk()
    changed = mutant(model, "raise_limit", "read.AGAIN.tries_left").applied(model)
    assert way(ran(changed, read=["poor"] * 3)) == "read AGAIN read AGAIN read SPENT bin SPENT"


@pytest.mark.parametrize(
    ("operator", "place", "key", "values", "others"),
    [
        ("drop_update", "read.count", "tries", [0, 1, 1], [0, 0, 0]),
        ("raise_update", "read.count.tries", "tries", [0, 1, 1], [0, 2, 2]),
        ("swap_updates", "read.red", "mark", ["blue"] * 3, ["red"] * 3),
        ("null_update", "read.blue.mark", "mark", ["blue"] * 3, [None] * 3),
    ],
)
def test_a_mutant_of_the_desk_writes_something_else(operator, place, key, values, others):
    model = desk()
    changed = mutant(model, operator, place).applied(model)
    assert [state[key] for state in ran(model, read=["poor", "poor"]).states[1:]] == values
    assert [state[key] for state in ran(changed, read=["poor", "poor"] + ["good"] * 9).states[1:4]] == others


def test_a_report_that_is_kept_an_attempt_and_an_outcome_that_are_not_read():
    model = desk()
    script = {"read": ["poor", "odd"]}
    assert ran(model, **script).states[2]["note"] is None
    assert ran(mutant(model, "keep_report", "read").applied(model), **script).states[2]["note"] == "?"
    events = [(event.outcome, event.attempt) for event in ran(model, **script).events]
    assert events == [("poor", 1), ("odd", 2), ("COMPLETED", 1)]
    uncounted = ran(mutant(model, "drop_attempt", "read").applied(model), **script).events
    assert [event.attempt for event in uncounted] == [1, 1, 1]
    unread = ran(mutant(model, "drop_outcome", "read").applied(model), **script).events
    assert [event.outcome for event in unread] == ["COMPLETED"] * 3


def test_a_router_and_a_command_that_lead_elsewhere():
    model = asking()
    fixed = mutant(model, "fix_route", "ask", "always off").applied(model)
    assert way(ran(fixed, ask=["on"], judge=["good"])) == "ask off"
    other = mutant(model, "swap_target", "judge.good", "goto good -> ask").applied(model)
    assert way(ran(other, ask=["on", "off"], judge=["good"])) == "ask on judge GOOD ask off"


def test_forks_with_a_branch_less_and_with_another_wait():
    model = spreading()
    less = mutant(model, "drop_branch", "plan.BIG", "a + c because BIG, when big").applied(model)
    assert ran(less, plan=["big"]).path == ("plan", "one", "three", "join")
    any_of = mutant(model, "swap_wait", "plan.rule").applied(model)
    assert ran(any_of, plan=["big"]).path == ("plan", "one", "join")
    one = mutant(model, "swap_concurrency", "plan.rule", "all_of, 1 at once").applied(model)
    assert {each.max_concurrency for each in one.graph.topology.forks} == {1}


def test_the_recursion_limit_moves_by_one():
    model = desk(4)
    limits = [each.applied(model).graph.recursion_limit for each in mutants_of(model)[-2:]]
    assert limits == [3, 5]


def test_a_mutant_that_the_checks_refuse_says_why():
    model = desk()
    with pytest.raises(CompileError, match="unreachable_node at file"):
        mutant(model, "swap_target", "read.on", "on -> bin").applied(model)


def test_there_is_a_mutant_of_every_operator_and_each_is_another():
    found = [each for model in (desk(), asking(), spreading()) for each in mutants_of(model)]
    assert {each.operator for each in found} == set(OPERATORS)
    for model in (desk(), asking(), spreading(), diagnosis_model()):
        twice = Counter((each.operator, each.place, each.after) for each in mutants_of(model))
        assert [one for one, count in twice.items() if count > 1] == []
