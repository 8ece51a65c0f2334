"""The short way for the great majority of traces, which conform: decoded by type, and looked up label by label."""

from __future__ import annotations

import functools
from collections import Counter, deque
from datetime import datetime
from operator import attrgetter, getitem
from types import GenericAlias
from typing import Any, Final, Literal, NamedTuple

import msgspec

from diagnosis.runtime import END, START
from diagnosis.traces.automaton import Automaton, States
from diagnosis.traces.checker import Step
from diagnosis.traces.durations import Durations
from diagnosis.traces.seen import Seen, Way
from diagnosis.traces.shape import ENDING, WRAPPER
from diagnosis.verify.canonical import canonical

_FAILED = (msgspec.DecodeError, KeyError, TypeError, AttributeError, RecursionError)
"""What the short way meets where a trace does not conform, or is none."""

_MARK: Final = f'"{WRAPPER}":'.encode()
"""Before it a record says of itself, behind it stands its trace."""

ROWS: Final = 10_000
"""Different beginnings of traces that are kept apart, so that what they show is counted once a trace."""

BODIES: Final = 2_048
"""Different texts of traces that are remembered."""

BODY: Final = 4_096
"""Bytes of the longest text that is remembered."""

BLOCK: Final = 256
"""Traces after which it is seen whether remembering texts pays."""

PATIENCE: Final = 64
"""Blocks that go by at most until it is tried again, where it did not."""


class _Ends(dict[Any, int]):
    """How often a trace ended in some way, by what it said of it; a key that is not legal is none."""

    def __init__(self, row: _Row) -> None:
        super().__init__()
        self._row = row

    def __missing__(self, ending: Any) -> int:
        node, reason, *_ = ending
        seen = Seen(node, "", None, None, (Way(-1, END, reason),))
        # A summary of this shape has the keys in this order.
        if canonical(dict(zip(self._row.rows.keys, ending, strict=True))) in self._row.states.endings(seen):
            return 0
        raise KeyError(ending)


class _Row(dict[Any, "_Row"]):
    """Where a run may stand after some transitions: transition -> the row after it.

    Args:
        rows: all rows.
        states: the control states.
        before: the row before it and the transition from there; ``None`` at the start, and of a row that many lead to.
    """

    def __init__(self, rows: _Rows, states: States, before: tuple[_Row, Any] | None, *, shared: bool) -> None:
        super().__init__()
        self.rows = rows
        self.states = states
        self.before = before
        self.shared = shared
        self.ends = _Ends(self)

    def __missing__(self, step: Any) -> _Row:
        way = Way(-1, step.target, step.reason_code)
        following = self.states.step(Seen(step.source, "", step.attempt, None, (way,)))
        if following is None:
            raise KeyError(step)
        row = self[step] = self.rows.after(self, step, following)
        return row


class _Rows:
    """The rows of one model: a tree while it is small, so that an ending tells of all transitions before it.

    Args:
        automaton: the legal traces.
    """

    def __init__(self, automaton: Automaton) -> None:
        self.keys = tuple(automaton.summary(None))
        self.start = _Row(self, automaton.start, None, shared=False)
        self._tree = [self.start]
        self._shared: dict[States, _Row] = {}

    def after(self, row: _Row, step: Any, states: States) -> _Row:
        """Give the row after a transition: one of its own while there are few, else the one of its control states."""
        if not row.shared and len(self._tree) < ROWS:
            self._tree.append(_Row(self, states, (row, step), shared=False))
            return self._tree[-1]
        if states not in self._shared:
            self._shared[states] = _Row(self, states, None, shared=True)
        return self._shared[states]

    def steps(self) -> Counter[Step]:
        """Count the transitions of all traces that ended in the tree."""
        found: Counter[Step] = Counter()
        totals: Counter[int] = Counter()
        for row in reversed(self._tree):
            hits = totals.pop(id(row), 0) + sum(row.ends.values())
            if row.before is not None:
                before, step = row.before
                totals[id(before)] += hits
                found[step.source, step.target, step.reason_code] += hits
        return found

    def endings(self) -> Counter[tuple[str, str]]:
        """Count how traces ended: final node and reason code."""
        found: Counter[tuple[str, str]] = Counter()
        for row in (*self._tree, *self._shared.values()):
            for (node, reason, *_), hits in row.ends.items():
                found[node, reason] += hits
        return found


class _Mode(NamedTuple):
    """One way in which traces may be written.

    Attributes:
        decode: reads one.
        wrapped: whether they stand in records.
        stamped: whether they carry times.
    """

    decode: Any
    wrapped: bool
    stamped: bool


class FastPath:
    """Tells at once that a trace conforms, and counts what it shows; of any other it tells nothing.

    The transitions of a trace are decoded to values that are their own keys, so that following it is one look-up each.

    Args:
        automaton: the legal traces.

    Attributes:
        usable: whether the traces of the model can be read in this way: without branches, and with plain values in
            their summary.
        conforming: how many traces did.
        durations: node -> how long its executions took, where times were recorded.
    """

    def __init__(self, automaton: Automaton) -> None:
        model = automaton.model
        self.conforming = 0
        self.durations: dict[str, Durations] = {}
        self._rows = _Rows(automaton)
        self._counts: Counter[Any] = Counter()
        self._bodies: dict[bytes, tuple[_Ends, Any]] = {}
        self._waiting, self._patience = 0, 1
        self._most = automaton.model.graph.recursion_limit - 1
        self._entry = automaton.model.graph.definition.entry or END
        kinds = {key: _types(automaton, key) for key in automaton.summary(None) if key not in ENDING}
        self.usable = (
            not model.branched
            and (model.trace is None or model.summary is not None)
            and all(kind is not None for kind in kinds.values())
            and all(name.isidentifier() for name in kinds)
            and not {"version", "transitions", "run_id", "at"} & set(kinds)
        )
        if not self.usable:
            return
        # Names of the graph are decoded to one and the same text each, which is hashed once.
        node: Any = Literal[tuple(automaton.nodes)]
        reason: Any = Literal[tuple(dict.fromkeys(code for codes in automaton.reasons.values() for code in codes))]
        named: list[Any] = [("source", node), ("target", node), ("reason_code", reason), ("attempt", int)]
        ending: list[Any] = [(ENDING[0], node), (ENDING[1], reason), *kinds.items()]
        version = ("version", Literal[model.trace_version])
        run_id, at = ("run_id", str | None, None), ("at", datetime | None, None)

        def struct(name: str, *fields: Any, closed: bool = True) -> Any:
            names = {"source": "from", "target": "to"}
            return msgspec.defstruct(name, fields, frozen=True, gc=False, forbid_unknown_fields=closed, rename=names)

        self._step = struct("Step", *named)
        own = (version, ("transitions", GenericAlias(list, (self._step,))), *ending)
        timed = (version, ("transitions", GenericAlias(list, (struct("TimedStep", *named, at),))), *ending)
        trace, untimed = struct("Trace", *own), ("at", None, None)
        self._head: Any = msgspec.json.Decoder(struct("Head", (WRAPPER, int), run_id, untimed, closed=False)).decode
        self._modes = deque(
            _Mode(msgspec.json.Decoder(each).decode, wrapped, stamped)
            for each, wrapped, stamped in (
                (struct("Record", (WRAPPER, trace), run_id, untimed, closed=False), True, False),
                (struct("Bare", *own, run_id), False, False),
                (struct("TimedRecord", (WRAPPER, struct("Timed", *timed)), run_id, at, closed=False), True, True),
                (struct("TimedBare", *timed, run_id, at), False, True),
            )
        )
        self._ending = attrgetter(*ENDING, *kinds)

    def rest(self, texts: list[bytes | None]) -> list[int]:
        """Count the traces that conform, and give the places of all others.

        Args:
            texts: a trace each, as JSON.
        """
        if not self.usable:
            return list(range(len(texts)))
        left: list[int] = []
        for begin in range(0, len(texts), BLOCK):
            block = texts[begin : begin + BLOCK]
            before = len(left)
            if self._modes[0].stamped:
                self._timed(block, begin, left)
            elif self._waiting:
                self._waiting -= 1
                self._decoded(block, begin, left)
            elif self._remembered(block, begin, left) < len(block) // 2:
                self._patience = min(PATIENCE, 2 * self._patience)
                self._waiting = self._patience
            else:
                self._patience = 1
            failed = len(left) - before
            self.conforming += len(block) - failed
            if failed > len(block) // 2:
                self._modes.rotate(-1)
        return left

    def _decoded(self, texts: list[bytes | None], begin: int, left: list[int]) -> None:
        """Decode each trace and follow it; the places of those where that fails are added to ``left``."""
        start, ending, reduce, get = self._rows.start, self._ending, functools.reduce, getitem
        decode, wrapped, _ = self._modes[0]
        most = self._most
        steps: list[Any] = []
        for place, text in enumerate(texts, begin):
            try:
                trace = decode(text)
                if wrapped:
                    trace = trace.orchestration_trace
                if len(trace.transitions) > most:
                    left.append(place)
                    continue
                row = reduce(get, trace.transitions, start)
                row.ends[ending(trace)] += 1
                if row.shared:
                    steps += trace.transitions
            except _FAILED:
                left.append(place)
        self._counts.update(steps)

    def _timed(self, texts: list[bytes | None], begin: int, left: list[int]) -> None:
        """Do the same with traces that carry times."""
        start, step, (decode, wrapped, _) = self._rows.start, self._step, self._modes[0]
        for place, text in enumerate(texts, begin):
            try:
                record = decode(text)
                trace = record.orchestration_trace if wrapped else record
                taken = trace.transitions
                if len(taken) > self._most:
                    left.append(place)
                    continue
                steps = [step(each.source, each.target, each.reason_code, each.attempt) for each in taken]
                row = functools.reduce(getitem, steps, start)
                before, spans = record.at, []
                for each in taken:
                    if before is not None and each.at is not None:
                        spans.append((each.source, (each.at - before).total_seconds()))
                    before = each.at
                row.ends[self._ending(trace)] += 1
            except _FAILED:
                left.append(place)
                continue
            if row.shared:
                self._counts.update(steps)
            for node, seconds in spans:
                self.durations.setdefault(node, Durations()).add(seconds)

    def _remembered(self, texts: list[bytes | None], begin: int, left: list[int]) -> int:
        """Do the same, but look up each text first; give how many were known."""
        bodies, head_of, wrapped = self._bodies, self._head, self._modes[0].wrapped
        known = 0
        for place, text in enumerate(texts, begin):
            try:
                head, mark, body = text.partition(_MARK) if wrapped else (b"", b"", text)  # type: ignore[union-attr]
                if body in bodies:
                    if wrapped:
                        head_of(head + mark + b"0}")
                    ends, key = bodies[body]
                    ends[key] += 1
                    known += 1
                else:
                    self._learn(text, head, body)
            except _FAILED:
                left.append(place)
        return known

    def _learn(self, text: Any, head: bytes, body: Any) -> None:
        """Follow a trace whose text is new, and remember what became of it.

        What stands behind the mark has one meaning, whatever stands before it, as long as a value is due there in the
        outermost object; a record whose text before the mark takes a 0 and a closing brace is such a one.
        """
        mode = self._modes[0]
        trace = mode.decode(text).orchestration_trace if mode.wrapped else mode.decode(text)
        if len(trace.transitions) > self._most:
            raise KeyError("limit_exceeded")
        row = functools.reduce(getitem, trace.transitions, self._rows.start)
        key = self._ending(trace)
        row.ends[key] += 1
        if row.shared:
            self._counts.update(trace.transitions)
        elif len(body) <= BODY and (not mode.wrapped or self._takes(head)):
            if len(self._bodies) >= BODIES:
                self._bodies.clear()
            self._bodies[body] = (row.ends, key)

    def _takes(self, head: bytes) -> bool:
        try:
            self._head(head + _MARK + b"0}")
        except _FAILED:
            return False
        return True

    @property
    def steps(self) -> Counter[Step]:
        """How often each transition was shown by the traces that conform, from START and to END included."""
        found: Counter[Step] = Counter({(START, self._entry, ""): self.conforming} if self.conforming else {})
        found += self._rows.steps()
        for step, hits in self._counts.items():
            found[step.source, step.target, step.reason_code] += hits
        for (node, reason), hits in self.endings.items():
            found[node, END, reason] += hits
        return found

    @property
    def endings(self) -> Counter[tuple[str, str]]:
        """How often runs ended: final node and reason code -> traces that conform."""
        return self._rows.endings()


def _types(automaton: Automaton, key: str) -> Any:
    """Give the type of a key of the summary, or ``None`` where it has no single plain one."""
    kinds = {
        type(value)
        for node in automaton.nodes
        for value in automaton.endings_at(node).get(key, {}).values()
        if value is not None
    }
    plain = kinds <= {bool, int, str} and len(kinds) == 1
    return next(iter(kinds)) | None if plain else None
