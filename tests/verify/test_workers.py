"""Searches whose functions are called by the workers of an executor."""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import os
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import pytest
import worked_models

from diagnosis import shipped
from diagnosis.graphs import model_at
from diagnosis.runtime import DiagnosisError
from diagnosis.scale import NotImportableError, WorkersError, process_pool
from diagnosis.verify import explore, prove

ALL = [name for name, value in vars(worked_models).items() if name.isupper() and name not in ("END", "START")]
QUICK = [name for name in ALL if name not in ("SLOW", "DYING", "LOOPING")]


@pytest.fixture(scope="module")
def processes():
    with process_pool(2) as pool:
        yield pool


def text_of(proof):
    """Give all that a proof says, down to each transition."""
    space = proof.space
    edges = [
        repr((edge.source, edge.outcome, edge.target, edge.choices, edge.attempt, edge.error, edge.winner))
        for edge in space.transitions
    ]
    states = [repr(dict(state)) for state in space.states]
    parents = [space.script_to(index) for index in range(len(states))]
    verdicts = [(verdict.claim.name, verdict.holds, verdict.detail, verdict.script) for verdict in proof.verdicts]
    return json.dumps([proof.to_json(), proof.text(), edges, states, parents, verdicts], default=str)


@pytest.mark.parametrize("name", QUICK)
def test_a_proof_is_the_same_to_the_byte_with_one_two_and_three_threads(name):
    model = getattr(worked_models, name)
    expected = text_of(prove(model))
    for workers in (1, 2, 3):
        with ThreadPoolExecutor(workers) as pool:
            assert text_of(prove(model, executor=pool)) == expected


@pytest.mark.parametrize("name", QUICK)
def test_a_proof_is_the_same_to_the_byte_with_processes(name, processes):
    model = getattr(worked_models, name)
    assert text_of(prove(model, executor=processes)) == text_of(prove(model))


@pytest.mark.parametrize("workers", [1, 3])
def test_the_shipped_proof_is_the_same_to_the_byte_with_any_number_of_processes(workers):
    expected = text_of(prove(shipped("diagnosis")))
    with process_pool(workers) as pool:
        assert text_of(prove(shipped("diagnosis"), executor=pool)) == expected


@pytest.mark.parametrize("budget", [1, 2, 7, 40])
def test_a_budget_of_states_ends_the_search_at_the_same_place(budget):
    model = worked_models.SENDING if budget < 7 else worked_models.LOOPING
    with ThreadPoolExecutor(2) as pool:
        found = prove(model, max_states=budget, executor=pool)
    assert text_of(found) == text_of(prove(model, max_states=budget))
    assert found.space.stopped is not None


def test_workers_call_the_functions_and_the_search_does_not(monkeypatch):
    called = []
    here = os.getpid()
    seen = worked_models.counting(each=lambda state: called.append(os.getpid()))
    monkeypatch.setattr(worked_models, "WATCHED", seen, raising=False)
    with multiprocessing_fork(2) as pool:
        space = explore(seen, executor=pool)
    assert called == []
    expected = explore(seen)
    assert set(called) == {here}
    assert space.size == expected.size


def multiprocessing_fork(workers: int) -> Executor:
    """Give processes that have what this one has, patches included."""
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("fork"))


def test_what_a_function_raises_in_a_worker_is_the_error_that_it_is_in_process(processes):
    proof = prove(worked_models.RAISING, executor=processes)
    expected = prove(worked_models.RAISING)
    failed = next(edge for edge in proof.space.transitions if edge.error is not None)
    assert failed.error == next(edge.error for edge in expected.space.transitions if edge.error is not None)
    assert "raised ValueError: two is too much" in failed.error


def test_a_model_made_in_this_process_is_refused_with_what_to_do():
    with ThreadPoolExecutor(1) as pool, pytest.raises(NotImportableError, match="MODULE:ATTRIBUTE") as refused:
        prove(worked_models.made(), executor=pool)
    assert "model 'counting' was made in this process" in str(refused.value)


def test_a_changed_copy_of_an_importable_model_is_refused():
    changed = dataclasses.replace(shipped("diagnosis"), bound=3)
    with ThreadPoolExecutor(1) as pool, pytest.raises(NotImportableError, match="was made in this process"):
        explore(changed, executor=pool)


def test_a_model_named_by_a_function_of_a_module_is_importable(processes):
    model = model_at("worked_models:made")
    assert text_of(prove(model, executor=processes)) == text_of(prove(model))


def test_a_worker_that_finds_another_model_under_the_name_says_so(monkeypatch):
    monkeypatch.setattr(worked_models, "SWAPPED", worked_models.counting(width=2), raising=False)
    model = worked_models.SWAPPED
    with multiprocessing_fork(1) as pool:
        pool.submit(os.getpid).result()
        monkeypatch.setattr(worked_models, "SWAPPED", worked_models.counting(width=3))
        changed = worked_models.SWAPPED
        with pytest.raises(NotImportableError, match="another model as worked_models:SWAPPED"):
            explore(changed, executor=pool)
    assert changed is not model


def test_a_worker_that_cannot_import_the_module_says_so(processes, monkeypatch):
    monkeypatch.setattr(worked_models, "LATER", worked_models.counting(), raising=False)
    with pytest.raises(NotImportableError, match="a worker cannot import worked_models:LATER: AttributeError"):
        explore(worked_models.LATER, executor=processes)


def test_what_is_no_executor_is_refused():
    with pytest.raises(DiagnosisError, match="executor is int; allowed: a concurrent"):
        explore(worked_models.COUNTING, executor=2)


def test_a_worker_that_is_killed_is_a_clear_error_that_keeps_what_was_explored():
    expected = explore(worked_models.COUNTING)
    with process_pool(2) as pool, pytest.raises(WorkersError) as lost:
        explore(worked_models.DYING, executor=pool)
    space = lost.value.partial
    explored = sum(1 for edges in space.outgoing if edges)
    assert 0 < explored < sum(1 for edges in expected.outgoing if edges)
    assert [(edge.source, edge.outcome, edge.target) for edges in space.outgoing[:explored] for edge in edges] == [
        (edge.source, edge.outcome, edge.target) for edges in expected.outgoing[:explored] for edge in edges
    ]
    assert space.stopped is not None
    assert not space.complete
    text = str(lost.value)
    assert f"{explored} of {len(space.states)} known control states had been explored" in text
    assert "without an executor" in text


def test_a_search_goes_on_from_scratch_without_the_workers_that_were_lost(monkeypatch):
    monkeypatch.setenv("DIAGNOSIS_TEST_HOME", str(os.getpid()))
    assert prove(worked_models.DYING).to_json()["control_states"] == len(explore(worked_models.COUNTING).states)


def test_a_pool_that_was_shut_down_is_a_clear_error():
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(WorkersError, match="the workers were lost"):
        explore(worked_models.COUNTING, executor=pool)


def test_the_bar_moves_while_workers_are_waited_for():
    moved = []
    with ThreadPoolExecutor(1) as pool:
        explore(worked_models.COUNTING, executor=pool, progress=lambda done, known: moved.append((done, known)))
    assert len(moved) > 2
    assert moved == sorted(moved)
    size = len(explore(worked_models.COUNTING).states)
    assert moved[-1] == (size, size)


class Stuck(Executor):
    """Workers that never do anything."""

    def submit(self, fn, /, *args, **kwargs):
        return Future()


def test_a_budget_of_time_ends_the_wait_for_workers():
    began = time.monotonic()
    space = explore(worked_models.COUNTING, executor=Stuck(), max_seconds=0.3)
    assert time.monotonic() - began < 20
    assert space.stopped == "the budget of 0.3 s was used up"


class Noting(Executor):
    """Workers of this process that note what they are handed."""

    def __init__(self):
        self.handed = []

    def submit(self, fn, /, *args, **kwargs):
        self.handed.append((fn, args))
        future = Future()
        future.set_result(fn(*args))
        return future


def test_what_travels_is_names_and_bytes_and_never_a_model():
    noting = Noting()
    explore(shipped("diagnosis"), executor=noting)
    assert noting.handed
    for _, (work, origin, packed) in noting.handed:
        assert work.__module__ == "diagnosis.verify.ahead"
        assert list(map(type, origin)) == [str, str, str]
        assert type(packed) is bytes
        for telling in (b"diagnosis.runtime.model", b"CompiledGraph", b"diagnosis.runtime.definition"):
            assert telling not in packed
