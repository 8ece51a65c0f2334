"""Twins: each script is run twice, with other untrusted text, and what is protected must be the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from diagnosis.runtime import Barrier, Model, Place
from diagnosis.verify.canonical import canonical
from diagnosis.verify.moves import Execution, Moves, mover
from diagnosis.verify.paths import Call, Script
from diagnosis.verify.space import Progress

MAX_SCRIPTS = 50_000
"""Scripts that are run in pairs where no other limit is given."""


def sink_value(state: Mapping[str, Any], sink: str) -> Any:
    """Give what stands in a sink.

    Args:
        state: the state.
        sink: ``key``, or ``key.field`` for a field of a mapping.

    Returns:
        The value; ``None`` where there is none.
    """
    key, _, field = sink.partition(".")
    value = state.get(key)
    if not field:
        return value
    return value.get(field) if isinstance(value, Mapping) else None


class _At(NamedTuple):
    place: Place
    state: Mapping[str, Any]


class Twins:
    """Runs in pairs: one as it is, and for each group of barriers one in which the text of its sources is another.

    Args:
        model: the model under attack.
        groups: the same model with other text, and the barriers whose sources it replaces.

    Attributes:
        broken: barrier -> the shortest script after which what it protects differs, and how.
        diverged: a script on which a pair does not take the same path, and how; ``None`` where there is none.
    """

    def __init__(self, model: Model, groups: Iterable[tuple[Model, Sequence[Barrier]]]) -> None:
        self._first = Moves(model)
        self._others = [(Moves(other), barriers) for other, barriers in groups]
        self._begin = [_At(*model.graph.step.begin(each.model.input)) for each in self._all]
        self.broken: dict[str, tuple[Script, str]] = {}
        self.diverged: tuple[Script, str] | None = None

    @property
    def _all(self) -> list[Moves]:
        return [self._first, *(moves for moves, _ in self._others)]

    def run(self, scripts: Iterable[Script], total: int | None, progress: Progress | None) -> int:
        """Run scripts; what neighbouring ones have in common is run once.

        Args:
            scripts: complete scripts.
            total: how many there are, where known.
            progress: called now and then.

        Returns:
            How many were run.
        """
        done = 0
        before: Script = ()
        ways: list[list[_At] | None] = [self._begin]
        for script in scripts:
            same = 0
            while same < min(len(before), len(script)) and before[same] == script[same]:
                same += 1
            del ways[same + 1 :]
            for place in range(same, len(script)):
                here = ways[-1]
                ways.append(None if here is None else self._moved(here, script[: place + 1], place + 1 == len(script)))
            done, before = done + 1, script
            if progress is not None and done % 256 == 0:
                progress(done, total or done)
        return done

    def _moved(self, here: list[_At], script: Script, last: bool) -> list[_At] | None:
        """Move every twin on by the last call of a script; ``None`` where that is the end of it."""
        call = script[-1]
        executions = []
        for moves, at in zip(self._all, here, strict=True):
            if mover(at.place).node != call[0]:
                self._differs(script, f"node {mover(at.place).node!r} comes in place of {call[0]!r}")
                return None
            executions.append(moves.execute(at.place, at.state, mover(at.place), call[1]))
        first = executions[0]
        for (_, barriers), other in zip(self._others, executions[1:], strict=True):
            if self._event(first) != self._event(other):
                self._differs(script, f"{call[0]!r} goes on as {self._event(first)}, or as {self._event(other)}")
                return None
            for barrier in barriers:
                self._compare(barrier, first, other, script)
        onward: list[_At] = []
        for moves, at, done in zip(self._all, here, executions, strict=True):
            left = self._left(moves, at, done, call)
            if left is None:
                if not last:
                    self._differs(script, "one of a pair stops with an error")
                return None
            onward.append(left)
        return onward

    def _differs(self, script: Script, how: str) -> None:
        """Note the first pair whose paths differ: untrusted text decided more than what routing reads of it."""
        if self.diverged is None or len(script) < len(self.diverged[0]):
            self.diverged = script, f"a pair took two paths: {how}"

    def _event(self, done: Execution) -> Any:
        """Give what shows of an execution, as far as untrusted text may not change it."""
        if done.reported is None:
            return type(done.failure).__name__
        event = done.reported.event
        return event.node, event.attempt, tuple((choice.target, choice.route) for choice in event.choices)

    def _compare(self, barrier: Barrier, first: Execution, other: Execution, script: Script) -> None:
        known = self.broken.get(barrier.name)
        if first.reported is None or other.reported is None or (known and len(known[0]) <= len(script)):
            return
        if barrier.nodes and script[-1][0] not in barrier.nodes:
            return
        for sink in barrier.sinks:
            one, two = (sink_value(done.reported.after, sink) for done in (first, other) if done.reported is not None)
            if canonical(one) != canonical(two):
                self.broken[barrier.name] = script, f"{sink} changes with the text of a run: {one!r} or {two!r}"
                return

    def _left(self, moves: Moves, at: _At, done: Execution, call: Call) -> _At | None:
        winner = call[2] if len(call) == 3 else None
        for left in moves.onward(mover(at.place), done):
            if left.place is not None and left.lost is None and left.winning == winner:
                return _At(left.place, left.state)
        return None
