"""Conditions, rules, decisions, readings and properties refuse what they cannot be."""

import functools
from collections.abc import Callable
from typing import Any

import pytest

from diagnosis.runtime import (
    Append,
    Condition,
    Custom,
    Decision,
    DefinitionError,
    Effect,
    Event,
    Merge,
    MergeError,
    Move,
    Property,
    ReadError,
    Reading,
    ReadView,
    Replace,
    RouterDecision,
    Rule,
    ValueRefusedError,
    always,
    bound,
    ends,
    sometimes,
)
from diagnosis.runtime.decisions import Choice


async def later(state: Any) -> bool:
    return True


class Later:
    async def __call__(self, state: Any) -> bool:
        return True


@pytest.mark.parametrize("function", [later, Later(), functools.partial(later, 1)])
def test_routing_is_never_async(function: Any) -> None:
    for make, what in (
        (lambda: Condition("c", function, "a"), "condition 'c'"),
        (lambda: RouterDecision(function), "a router"),
        (lambda: Effect("e", function), "update 'e'"),
        (lambda: Reading(function), "a reading"),
        (lambda: always("p", "P.", function), "property 'p'"),
    ):
        with pytest.raises(DefinitionError) as caught:
            make()
        assert str(caught.value) == f"{what} is a coroutine function; only actions may be async, routing is pure"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Condition("", bool, "a"), "a condition needs a name, found ''"),
        (lambda: Condition("c", 5, "a"), "condition 'c' needs a function of the state, not 5"),
        (lambda: Rule("", "R"), "a rule needs a route that is a non-blank text, found ''"),
        (lambda: Rule("r", " "), "a rule needs a reason that is a non-blank text, found ' '"),
        (lambda: Rule("r", "R", (5,)), "rule 'R': 'when' takes Condition objects"),
        (lambda: Decision([]), "a decision needs at least one Rule, and nothing but rules"),
        (lambda: Decision([5]), "a decision needs at least one Rule, and nothing but rules"),
        (
            lambda: Decision([Rule("r", "R"), Rule("s", "R")]),
            "rules of one decision need different names; given twice: R",
        ),
        (lambda: Custom(), "Custom needs a function (old, new) -> merged"),
        (lambda: Custom(merge=5), "Custom needs a function (old, new) -> merged"),
        (lambda: Property(" ", "always", "P."), "a property needs a name"),
        (lambda: bound(0), "a bound is a number of node executions from 1, found 0"),
        (lambda: bound(True), "a bound is a number of node executions from 1, found True"),
    ],
)
def test_a_wrong_part_says_what_is_wrong(make: Callable[[], Any], text: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        make()
    assert str(caught.value) == text


def test_a_rule_takes_one_condition_or_several_and_is_named_after_its_reason() -> None:
    condition = Condition("c", bool, "a")
    assert Rule("r", "R", condition).when == (condition,)
    assert Rule("r", "R", [condition]).when == (condition,)
    assert Rule("r", "R").name == "R"
    assert Rule("r", "R", name="N").name == "N"


def test_a_second_condition_outside_a_list_is_refused_and_not_taken_for_a_name() -> None:
    one = Condition("one", lambda state: True, ())
    with pytest.raises(DefinitionError, match="several conditions are given as one list"):
        Rule("on", "BOTH", one, one)  # type: ignore[arg-type]


def test_a_decision_reads_what_its_conditions_read() -> None:
    one, two = Condition("one", bool, ["b", "a"]), Condition("two", bool, "a")
    decision = Decision([Rule("r", "R", (one, two)), Rule("s", "S", (two,))])
    assert decision.conditions == (one, two, two)
    assert decision.reads == ("b", "a")


def test_only_declared_keys_can_be_read_through_a_read_view() -> None:
    view = ReadView({"a": 1, "b": 2, "c": 3}, ["a", "c"], "condition 'x'")
    assert dict(view) == {"a": 1, "c": 3}
    assert len(view) == 2
    with pytest.raises(ReadError) as caught:
        view["b"]
    assert str(caught.value) == "condition 'x' reads 'b', which it does not declare; add it to its reads"


@pytest.mark.parametrize(
    ("strategy", "value", "text"),
    [
        (Append(), 5, "an Append key takes a list of new elements, not int; put it in a list"),
        (Append(), "text", "an Append key takes a list of new elements, not str; put it in a list"),
        (Merge(), [1], "a Merge key takes a mapping of entries, not list"),
    ],
)
def test_a_strategy_refuses_a_start_that_it_could_not_merge(strategy: Any, value: Any, text: str) -> None:
    with pytest.raises(MergeError) as caught:
        strategy.start(value)
    assert str(caught.value) == text


def test_strategies_give_what_runs_start_with() -> None:
    assert Replace().initial is None
    assert Replace(initial=[1]).initial == [1]
    assert Append().initial == []
    assert Append(initial=[1]).initial == [1]
    assert Append().start((1, 2)) == [1, 2]
    assert Merge().initial == {}
    assert Merge(initial={"a": 1}).initial == {"a": 1}
    assert Custom(initial=2, merge=max).initial == 2
    assert Replace().read(5) == 5
    with pytest.raises(ValueRefusedError):
        Replace(initial=object())


def move(target: str = "b") -> Move:
    return Move("a", "OK", 1, {"n": 0}, {"n": 1}, {"n": 1}, Choice("a", target, None, None, "R"))


def test_properties_are_claims_about_moves() -> None:
    claim = always("grows", "It grows.", lambda move: move.after["n"] > move.before["n"], reads="n")
    assert (claim.kind, claim.reads) == ("always", ("n",))
    assert claim.holds(move(), None)
    count = sometimes("third", "A third.", lambda move, n: n == 3, start=0, remember=lambda n, move: n + 1)
    assert count.kind == "sometimes"
    assert not count.holds(move(), 2)
    assert count.holds(move(), 3)
    assert ends().kind == "eventually"
    assert (bound(5).name, bound(5).limit) == ("at_most_5_executions", 5)
    assert bound(5).statement == "No run executes more than 5 nodes, and 5 is reached."
    assert (bound(5, "n", "S.").name, bound(5, "n", "S.").statement) == ("n", "S.")
    with pytest.raises(DefinitionError, match="must be hashable"):
        always("p", "P.", lambda move, memory: True, start=[])


def test_a_move_to_end_is_the_last() -> None:
    assert move("__END__").last
    assert not move().last


def test_an_event_carries_the_reason_of_its_choice() -> None:
    assert Event("a", "OK", 1, move().choice).reason == "R"
