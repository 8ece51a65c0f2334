"""Running scenarios in workers."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import cached_property
from typing import Any

from diagnosis.runtime import Run
from diagnosis.scale import Crew, Origin, WorkersError, pack, unpack, worker_model
from diagnosis.scenarios.result import ScenarioResult
from diagnosis.scenarios.runner import run_case
from diagnosis.scenarios.scenario import Scenario
from diagnosis.scenarios.suite import Case, case_of

CHUNK = 16
"""Scenarios that a worker is handed at once."""

MAX_CHUNKS = 64
"""Chunks that are under way at once."""

_STORED = ("mismatches", "trace", "counters", "unused", "unused_winners")
_TOLD = ("path", "outcomes", "error", "summary", "places")


class SweptResult(ScenarioResult):
    """What a scenario came to in a worker; its run is made again, in this process, when somebody asks for it.

    Args:
        case: the scenario.
        told: what the worker told of it.
    """

    def __init__(self, case: Case, told: Mapping[str, Any]) -> None:
        stored = {name: told[name] for name in _STORED}
        self.__dict__.update(scenario=case.scenario, file=case.file, _case=case, _told=told)
        self.__dict__.update(stored)

    @cached_property
    def run(self) -> Run:
        """The run."""
        return run_case(self.__dict__["_case"]).run

    def _tell(self, name: str) -> Any:
        return self.__dict__["_told"][name]

    path = property(lambda self: self._tell("path"))
    outcomes = property(lambda self: self._tell("outcomes"))
    error = property(lambda self: self._tell("error"))
    summary = property(lambda self: self._tell("summary"))
    places = property(lambda self: self._tell("places"))


def sweep(cases: Sequence[Case], executor: Executor) -> Iterator[ScenarioResult]:
    """Run scenarios in workers.

    Args:
        cases: the scenarios.
        executor: the workers.

    Yields:
        The results, in order of the scenarios. Where a worker met an exception, the scenario runs here and meets it.

    Raises:
        NotImportableError: the workers cannot import a model.
        WorkersError: they were lost. Results that had come by then are yielded before.
    """
    crews: dict[int, Crew] = {}
    for case in cases:
        if id(case.model) not in crews:
            crews[id(case.model)] = Crew(executor, case.model)
    waiting = deque(_chunks(cases))
    under_way: deque[tuple[Crew, Sequence[Case], Future[Any]]] = deque()
    lost: WorkersError | None = None
    try:
        while under_way or (waiting and lost is None):
            while waiting and lost is None and len(under_way) < MAX_CHUNKS:
                chunk = waiting.popleft()
                crew = crews[id(chunk[0].model)]
                try:
                    under_way.append((crew, chunk, crew.submit(_run, [_document(case) for case in chunk])))
                except WorkersError as error:
                    lost = error
            if under_way:
                crew, chunk, future = under_way.popleft()
                if lost is not None and not future.done():
                    continue
                try:
                    answers = crew.result(future)
                except WorkersError as error:
                    lost = lost or error
                    continue
                for case, answer in zip(chunk, answers, strict=True):
                    yield run_case(case) if answer is None else SweptResult(case, unpack(answer))
    finally:
        for _, _, future in under_way:
            future.cancel()
    if lost is not None:
        raise lost


def _chunks(cases: Sequence[Case]) -> Iterator[Sequence[Case]]:
    """Cut scenarios into runs of one model each."""
    size = min(CHUNK, -(-len(cases) // 8))
    chunk: list[Case] = []
    for case in cases:
        if chunk and (len(chunk) == size or case.model is not chunk[0].model):
            yield chunk
            chunk = []
        chunk.append(case)
    if chunk:
        yield chunk


def _document(case: Case) -> bytes | None:
    """Give a scenario as plain data; ``None`` where it holds what cannot travel."""
    with suppress(Exception):
        return pack(case.scenario.to_map())
    return None


def _run(origin: Origin, documents: list[bytes | None]) -> list[bytes | None]:
    """Run scenarios, in a worker; give ``None`` for one that must be run at home."""
    model = worker_model(origin)
    answers: list[bytes | None] = []
    for document in documents:
        answer = None
        if document is not None:
            with suppress(Exception, SystemExit):
                result = run_case(case_of(Scenario.parse(unpack(document)), lambda name: model))
                answer = pack({name: getattr(result, name) for name in (*_STORED, *_TOLD)})
        answers.append(answer)
    return answers
