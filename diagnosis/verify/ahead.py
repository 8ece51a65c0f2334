"""Executing nodes ahead of a search: workers do it for the control states that the search will come to."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from typing import Any

from diagnosis.runtime import END, Model, Place, Position
from diagnosis.runtime.position import child_at
from diagnosis.scale import Crew, Origin, pack, unpack, worker_model
from diagnosis.verify.moves import Execution, Moves
from diagnosis.verify.tape import Tape, taped

CHUNK = 8
"""Control states that a worker is handed at once."""

MAX_CHUNKS = 256
"""Chunks that are under way at once."""

_local = threading.local()


class AheadMoves(Moves):
    """The node executions of a model, whose functions workers have called already where the search was foreseen.

    The search stays as it is, in one process and in its own order; so what it finds does not depend on how many workers
    there are, nor on what they did.

    Args:
        model: the graph under test.
        executor: the workers.

    Raises:
        NotImportableError: other processes cannot import the model.
    """

    def __init__(self, model: Model, executor: Executor) -> None:
        self._tape = Tape()
        super().__init__(taped(model, self._tape))
        self._crew = Crew(executor, model)
        self._asked = 0
        self._under_way: deque[tuple[Future[Any], list[int]]] = deque()
        self._answers: dict[tuple[int, int], dict[str, bytes]] = {}

    def begin(self) -> None:
        """Forget what is under way: a search begins, or has ended."""
        for future, _ in self._under_way:
            future.cancel()
        self._under_way.clear()
        self._answers.clear()
        self._asked = 0

    def reach(
        self,
        here: int,
        places: Sequence[Place],
        states: Sequence[Mapping[str, Any]],
        movers: Sequence[Position],
        seconds: float | None = None,
    ) -> bool:
        """Have a control state executed, and hand out those that are known beyond it.

        Args:
            here: the control state that the search has come to.
            places: where a run stands in each that is known.
            states: the state outside branches.
            movers: which position moves.
            seconds: how long to wait at most.

        Returns:
            Whether workers were waited for.

        Raises:
            WorkersError: the workers were lost.
        """
        if self._asked <= here:
            # Few states, such as the first ones, are shared out.
            size = min(CHUNK, -(-(len(states) - self._asked) // 8))
            while self._asked < len(states):
                self._ask(size, places, states, movers)
        while len(states) - self._asked >= CHUNK and len(self._under_way) < MAX_CHUNKS:
            self._ask(CHUNK, places, states, movers)
        waited = False
        while self._under_way and self._under_way[0][1][0] <= here:
            future, chosen = self._under_way[0]
            try:
                answers = self._crew.result(future, seconds)
            except TimeoutError:
                return True
            self._under_way.popleft()
            for index, answer in zip(chosen, answers, strict=True):
                self._answers[id(places[index]), id(states[index])] = answer
            waited = True
        return waited

    def _ask(
        self, size: int, places: Sequence[Place], states: Sequence[Mapping[str, Any]], movers: Sequence[Position]
    ) -> None:
        chosen, items = [], []
        for index in range(self._asked, min(self._asked + size, len(states))):
            place, state, here = places[index], states[index], movers[index]
            self._asked = index + 1
            if here.node == END:
                continue
            seen = state if type(place) is Position else child_at(place, here.path).state
            try:
                items.append(pack((here.node, here.reason, dict(seen))))
            except Exception:
                continue  # it holds what cannot travel, so the search executes it itself
            chosen.append(index)
        if items:
            self._under_way.append((self._crew.submit(_execute, items), chosen))

    def execute(self, place: Place, state: Mapping[str, Any], here: Position, outcome: str) -> Execution:
        """Execute a node; arguments as in :class:`Moves`."""
        answer = self._answers.get((id(place), id(state)), {})
        packed = answer.pop(outcome, None)
        self._tape.tell([] if packed is None else unpack(packed))
        return super().execute(place, state, here, outcome)


def _execute(origin: Origin, items: list[bytes]) -> list[dict[str, bytes]]:
    """Put every outcome into each of some states, in a worker; give what the functions gave."""
    kept: dict[Origin, tuple[Moves, Tape]] = _local.__dict__.setdefault("moves", {})
    if origin not in kept:
        tape = Tape()
        kept[origin] = Moves(taped(worker_model(origin), tape)), tape
    moves, tape = kept[origin]
    answers = []
    for item in items:
        node, reason, state = unpack(item)
        here, answer = Position(node, reason), {}
        for outcome in moves.model.alphabet[node]:
            notes = tape.note()
            # What a function raises, it raises again where the search comes to it.
            with suppress(Exception, SystemExit):
                moves.execute(here, state, here, outcome)
            # What cannot travel is found again there, too.
            with suppress(Exception):
                answer[outcome] = pack(notes)
        answers.append(answer)
    return answers
