"""The short way for the great majority of traces, which conform: decoded by type, and looked up label by label."""

from __future__ import annotations

import functools
from collections import Counter
from operator import attrgetter, getitem
from typing import Any, Literal

import msgspec

from diagnosis.runtime import END, START
from diagnosis.traces.automaton import Automaton, States
from diagnosis.traces.checker import Step
from diagnosis.traces.seen import Seen, Way
from diagnosis.traces.shape import ENDING, WRAPPER
from diagnosis.verify.canonical import canonical

_FAILED = (msgspec.DecodeError, KeyError, TypeError, RecursionError)
"""What the short way meets where a trace does not conform, or is none."""

_COUNTED = 256
"""Traces whose transitions are counted together."""


class _Ends(dict[Any, int]):
    """How often a trace ended in some way, by what it said of it; a key that is not legal is none."""

    def __init__(self, row: _Row) -> None:
        super().__init__()
        self._row = row

    def __missing__(self, ending: Any) -> int:
        node, reason, *summary = ending
        if node is not None and reason is not None:
            for move in self._row.states.endings(Seen(node, "", None, None, (Way(-1, END, reason),))):
                expected = list(self._row.automaton.summary(move).values())[2:]
                if canonical(tuple(expected)) == canonical(tuple(summary)):
                    return 0
        raise KeyError(ending)


class _Row(dict[Any, "_Row"]):
    """One set of control states: transition -> the row after it."""

    def __init__(self, automaton: Automaton, states: States, known: dict[States, _Row]) -> None:
        super().__init__()
        self.automaton = automaton
        self.states = states
        self.ends = _Ends(self)
        self._known = known
        known[states] = self

    def __missing__(self, step: Any) -> _Row:
        way = Way(-1, step.target, step.reason_code)
        following = self.states.step(Seen(step.source, "", step.attempt, None, (way,)))
        if following is None:
            raise KeyError(step)
        row = self[step] = self._known.get(following) or _Row(self.automaton, following, self._known)
        return row


class FastPath:
    """Tells at once that a trace conforms, and counts what it shows; of any other it tells nothing.

    The transitions of a trace are decoded to values that are their own keys, so that following it is one look-up each.

    Args:
        automaton: the legal traces.

    Attributes:
        usable: whether the traces of the model can be read in this way: without branches, and with plain values in
            their summary.
        conforming: how many traces did.
    """

    def __init__(self, automaton: Automaton) -> None:
        model = automaton.model
        self.conforming = 0
        self._counts: Counter[Any] = Counter()
        self._known: dict[States, _Row] = {}
        self._start = _Row(automaton, automaton.start, self._known)
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
        node = Literal[tuple(automaton.nodes)]
        reason = Literal[tuple(dict.fromkeys(code for codes in automaton.reasons.values() for code in codes))]
        step = msgspec.defstruct(
            "Step",
            [("source", node), ("target", node), ("reason_code", reason), ("attempt", int)],
            frozen=True,
            gc=False,
            forbid_unknown_fields=True,
            rename={"source": "from", "target": "to"},
        )
        fields: list[Any] = [("version", Literal[model.trace_version]), ("transitions", list[step])]  # type: ignore[valid-type]
        fields += [(ENDING[0], node), (ENDING[1], reason), *kinds.items()]
        run_id = ("run_id", str | None, None)
        trace = msgspec.defstruct("Trace", fields, gc=False, forbid_unknown_fields=True)
        bare = msgspec.defstruct("Bare", [*fields, run_id], gc=False, forbid_unknown_fields=True)
        record = msgspec.defstruct("Record", [(WRAPPER, trace), run_id, ("at", None, None)], gc=False)
        self._decoders = [(msgspec.json.Decoder(record), True), (msgspec.json.Decoder(bare), False)]
        self._ending = attrgetter(*ENDING, *kinds)

    def rest(self, texts: list[bytes | None]) -> list[int]:
        """Count the traces that conform, and give the places of all others.

        Args:
            texts: a trace each, as JSON.
        """
        if not self.usable:
            return list(range(len(texts)))
        left: list[int] = []
        for begin in range(0, len(texts), _COUNTED):
            self._some(texts[begin : begin + _COUNTED], begin, left)
        return left

    def _some(self, texts: list[bytes | None], begin: int, left: list[int]) -> None:
        start, ending, reduce, get = self._start, self._ending, functools.reduce, getitem
        decode, wrapped = self._decoders[0][0].decode, self._decoders[0][1]
        steps: list[Any] = []
        before = len(left)
        for place, text in enumerate(texts, begin):
            try:
                trace = decode(text)  # type: ignore[arg-type]
                if wrapped:
                    trace = trace.orchestration_trace
                reduce(get, trace.transitions, start).ends[ending(trace)] += 1
                steps += trace.transitions
            except _FAILED:
                left.append(place)
        self._counts.update(steps)
        failed = len(left) - before
        self.conforming += len(texts) - failed
        if failed > len(texts) // 2:
            self._decoders.reverse()

    @property
    def steps(self) -> Counter[Step]:
        """How often each transition was shown by the traces that conform, from START and to END included."""
        found: Counter[Step] = Counter({(START, self._entry, ""): self.conforming} if self.conforming else {})
        for step, hits in self._counts.items():
            found[step.source, step.target, step.reason_code] += hits
        for (node, reason), hits in self.endings.items():
            found[node, END, reason] += hits
        return found

    @property
    def endings(self) -> Counter[tuple[str, str]]:
        """How often runs ended: final node and reason code -> traces that conform."""
        found: Counter[tuple[str, str]] = Counter()
        for row in self._known.values():
            for (node, reason, *_), hits in row.ends.items():
                found[node, reason] += hits
        return found


def _types(automaton: Automaton, key: str) -> Any:
    """Give the type of a key of the summary, or ``None`` where its values are of several types, or of none that is plain."""
    kinds = {
        type(value)
        for node in automaton.nodes
        for value in automaton.endings_at(node).get(key, {}).values()
        if value is not None
    }
    plain = kinds <= {bool, int, str} and len(kinds) == 1
    return next(iter(kinds)) | None if plain else None
