"""Each budget says that it was met; what was not found by then is not proven, and an interrupt counts as one."""

from __future__ import annotations

import time

import pytest
from graphs import never_gives_up, retrying, unreachable_guard

from diagnosis.catalog import diagnosis_model
from diagnosis.runtime import DefinitionError, Model, always, eventually, never_after, sometimes
from diagnosis.verify import INTERRUPTED, Budget, explore, prove
from diagnosis.verify.budget import memory_used


def endless(*claims) -> Model:
    model = unreachable_guard()
    return Model("workers", model.graph, model.alphabet, claims, bound=40)


CLAIMS = (
    always("always", "x", lambda move: True),
    sometimes("sometimes", "x", lambda move: False),
    never_after("never_after", "x", lambda move: move.node == "work", lambda move: False),
    eventually("eventually", "x", lambda move: move.node == "nowhere"),
)


def asked(times: int):
    """Say yes from the given question on."""
    count = iter(range(10**9))
    return lambda: next(count) >= times


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"max_states": 40}, "the budget of 40 control states was used up"),
        ({"max_seconds": 1e-9}, "the budget of 1e-09 s was used up"),
        ({"max_memory": 1}, "the budget of 1 MiB was used up"),
        ({"interrupted": asked(40)}, "it was interrupted"),
    ],
)
def test_a_budget_that_is_met_proves_nothing_that_was_not_found(options, why):
    proof = prove(endless(*CLAIMS), **options)
    assert proof.space.stopped == why
    assert proof.reason == f"bound hit: {why}"
    assert not proof.holds
    open_ones = {
        verdict.claim.name: verdict for verdict in proof.verdicts if verdict.claim.name in {c.name for c in CLAIMS}
    }
    assert {name: (found.holds, found.detail) for name, found in open_ones.items()} == {
        claim.name: (None, f"bound hit, not proven: {why}") for claim in CLAIMS
    }
    assert all(verdict.holds is not True for verdict in proof.verdicts if verdict.claim.kind != "sometimes")
    assert (proof.scripts, proof.longest_path) == (None, None)


def test_what_was_broken_before_the_interrupt_is_told():
    broken = always("works_once", "x", lambda move: move.node != "work")
    proof = prove(endless(broken), interrupted=asked(40))
    found = next(verdict for verdict in proof.verdicts if verdict.claim.name == "works_once")
    assert found.holds is False
    assert proof.counterexample(found).expect.path[:2] == ("router", "work")


def test_an_interrupt_reaches_the_search_of_one_property():
    """The graph itself is small; only the memory of the property has no end."""
    claim = always("counting", "x", lambda move, n: True, start=0, remember=lambda n, move: n + 1)
    model = retrying(2, count=False, claims=(claim,))
    space = explore(model)
    assert space.complete
    states = len(space.states)
    began = time.monotonic()
    proof = prove(model, interrupted=asked(states + 1000))
    found = next(verdict for verdict in proof.verdicts if verdict.claim.name == "counting")
    assert (found.holds, found.detail) == (None, f"bound hit, not proven: {INTERRUPTED}")
    assert time.monotonic() - began < 5
    timed = prove(model, max_seconds=0.3)
    found = next(verdict for verdict in timed.verdicts if verdict.claim.name == "counting")
    assert found.detail == "bound hit, not proven: the budget of 0.3 s was used up"


def test_enough_memory_changes_nothing():
    proof = prove(diagnosis_model(), max_memory=100_000)
    assert (proof.holds, proof.scripts) == (True, 10903)


def test_the_memory_of_the_process_is_told():
    before = memory_used()
    assert before is not None
    held = bytearray(64 * 2**20)
    held[::4096] = b"x" * len(held[::4096])
    assert memory_used() - before > 48


def test_a_search_stops_soon_after_its_memory_is_used_up():
    limit = int(memory_used()) + 24
    space = explore(unreachable_guard(), max_states=10**7, max_seconds=60, max_memory=limit)
    assert space.stopped == f"the budget of {limit} MiB was used up"
    assert len(space.states) > 1000
    assert memory_used() < limit + 24


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True])
def test_a_memory_budget_is_a_number_of_mebibytes(wrong):
    with pytest.raises(DefinitionError, match="max_memory is a whole number of MiB from 1"):
        prove(diagnosis_model(), max_memory=wrong)


def test_a_time_budget_is_above_zero():
    with pytest.raises(DefinitionError, match="max_seconds is a number of seconds above 0"):
        explore(diagnosis_model(), max_seconds=0)


def test_where_memory_is_not_told_its_budget_is_refused(monkeypatch):
    from diagnosis.verify import budget

    monkeypatch.setattr(budget, "memory_used", lambda: None)
    with pytest.raises(DefinitionError, match="does not tell how much memory a process holds"):
        Budget(max_memory=100)


def test_a_counterexample_within_the_budget_is_a_whole_run():
    proof = prove(retrying(9, claims=(never_gives_up(),)), max_states=14)
    found = next(verdict for verdict in proof.verdicts if verdict.claim.name == "never_gives_up")
    assert proof.space.stopped
    assert (found.holds, found.shortest) == (False, False)
