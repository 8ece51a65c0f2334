"""Checking recorded traces from files, streams or memory, each deviation told as it is found."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import msgspec

from diagnosis.runtime import Model
from diagnosis.traces.checker import TraceChecker, TraceResult
from diagnosis.traces.deviation import Deviation, Finding, TraceFileError, clipped
from diagnosis.traces.durations import Durations
from diagnosis.traces.fast import FastPath
from diagnosis.traces.lines import MAX_LINE, Batch, batches
from diagnosis.traces.report import TraceReport, every_class

KEPT: Final = 10_000
"""Deviations that a report holds; all are counted, and told as they are found."""

NAMES: Final = 1_000
"""Different names outside the graph that a report holds."""

Source = str | os.PathLike[str] | BinaryIO | Iterable[Any]
"""A file by its path; a binary stream; or traces: JSON as text or bytes, or mappings. Paths among them are files."""

Tell = Callable[[Deviation], object]
"""Called with each deviation as it is found."""

Advance = Callable[[int], object]
"""Called with the bytes that were read so far."""


class _Place(NamedTuple):
    file: str | None
    line: int
    item: int | None = None


class TraceTally:
    """Checks traces one after the other, and keeps what they come to.

    Args:
        checker: of the graph.
        tell: called with each deviation as it is found.
        keep: deviations that the report holds at most.
    """

    def __init__(self, checker: TraceChecker, tell: Tell | None = None, *, keep: int = KEPT) -> None:
        self._checker = checker
        self._fast = FastPath(checker.automaton)
        self._tell = tell
        self._keep = keep
        self._conforming = self._deviating = self._unreadable = 0
        self._fitness, self._fitted = 0.0, 0
        self._classes: Counter[str] = Counter()
        self._kept: list[Deviation] = []
        self._refused: dict[str, str] = {}
        self._steps: Counter[tuple[str, str, str]] = Counter()
        self._ends: Counter[tuple[str, str]] = Counter()
        self._durations: dict[str, Durations] = {}
        self._outside: Counter[str] = Counter()
        automaton = checker.automaton
        self._reasons = {code for codes in automaton.reasons.values() for code in codes}
        self._outcomes = {(move.node, move.outcome) for moves in automaton.moves for move in moves}

    def add(self, source: Source, *, name: str | None = None, progress: Advance | None = None) -> None:
        """Check everything that a source holds.

        Args:
            source: see :data:`Source`.
            name: how deviations name a stream.
            progress: called now and then with the bytes read of this source.
        """
        if isinstance(source, str | os.PathLike):
            self._file(Path(source), progress)
        elif hasattr(source, "read"):
            stream: Any = source
            self._stream(stream, name, progress)
        elif isinstance(source, Mapping | bytes):
            self._traces(iter((source,)))
        else:
            self._traces(iter(source))

    def _file(self, path: Path, progress: Advance | None) -> None:
        try:
            with path.open("rb") as stream:
                self._stream(stream, str(path), progress)
        except OSError as error:
            self._refused[str(path)] = f"it cannot be read: {error.strerror or error}"

    def _stream(self, stream: BinaryIO, name: str | None, progress: Advance | None) -> None:
        done = 0
        try:
            for batch in batches(stream):
                self._batch(batch, name)
                done += sum(len(text) + 1 for text in batch.texts if text is not None)
                if progress is not None:
                    progress(done)
        except TraceFileError as error:
            self._refused[name or "-"] = str(error)

    def _traces(self, traces: Iterator[Any]) -> None:
        line = 1
        for given in iter(lambda: list(islice(traces, 256)), []):
            texts: list[bytes | None] = [None] * len(given)
            for place, trace in enumerate(given):
                text = trace.encode("utf-8", "surrogatepass") if isinstance(trace, str) else trace
                if isinstance(text, bytes):
                    texts[place] = text if len(text) <= MAX_LINE else None
            for place in self._fast.rest(texts):
                trace, where = given[place], _Place(None, line + place)
                if isinstance(trace, os.PathLike):
                    self._file(Path(trace), None)
                elif isinstance(trace, str | bytes):
                    self._one(texts[place], where)
                else:
                    self._taken(self._checker.check(trace), where)
            line += len(given)

    def _batch(self, batch: Batch, file: str | None) -> None:
        for place in self._fast.rest(batch.texts):
            if batch.lines is None:
                self._one(batch.texts[place], _Place(file, batch.first + place))
            else:
                self._one(batch.texts[place], _Place(file, batch.lines[place], batch.first + place))

    def _one(self, text: bytes | None, where: _Place) -> None:
        if text is None:
            self._cannot_read(where, f"the line is longer than {MAX_LINE >> 20} MiB; it was skipped unread")
        elif text.strip():
            try:
                document = msgspec.json.decode(text)
            except RecursionError:
                self._cannot_read(where, "the JSON is nested too deeply")
            except msgspec.DecodeError as error:
                self._cannot_read(where, f"it is no JSON: {error}")
            else:
                self._taken(self._checker.check(document), where)

    def _cannot_read(self, where: _Place, why: str) -> None:
        self._unreadable += 1
        self._deviates(where, None, Finding("malformed", None, why))

    def _taken(self, result: TraceResult, where: _Place) -> None:
        if result.conforms:
            self._conforming += 1
        else:
            self._deviating += 1
            for finding in result.findings:
                self._deviates(where, result.run_id, finding)
        if result.fitness is not None:
            self._fitness += result.fitness
            self._fitted += 1
        if result.observed is not None:
            self._shown(result)

    def _deviates(self, where: _Place, run_id: str | None, finding: Finding) -> None:
        kind, at, detail, conditions = finding
        run = None if run_id is None else clipped(run_id)
        deviation = Deviation(where.file, where.line, run, kind, at, clipped(detail, 2_000), conditions, where.item)
        self._classes[kind] += 1
        if len(self._kept) < self._keep:
            self._kept.append(deviation)
        if self._tell is not None:
            self._tell(deviation)

    def _shown(self, result: TraceResult) -> None:
        """Count what a trace shows, as far as the graph has it, and tell of what it has not."""
        observed, nodes, names = result.observed, {*self._checker.automaton.nodes, "__START__", "__END__"}, []
        assert observed is not None
        for source, target, reason in result.steps:
            strange = [f"node {node}" for node in (source, target) if node not in nodes]
            strange += [f"reason {reason}"] if reason and reason not in self._reasons else []
            names += strange
            if not strange:
                self._steps[source, target, reason] += 1
        names += [
            f"outcome {event.node}.{event.outcome}"
            for event in observed.events
            if event.outcome is not None and (event.node, event.outcome) not in self._outcomes
        ]
        for name in dict.fromkeys(map(clipped, names)):
            if name in self._outside or len(self._outside) < NAMES:
                self._outside[name] += 1
        final, reason = observed.summary["final_node"], observed.summary["termination_reason"]
        if observed.ended and final in nodes and reason in self._reasons:
            self._ends[final, reason] += 1
        for node, seconds in result.durations:
            if node in nodes:
                self._durations.setdefault(node, Durations()).add(seconds)

    def _timed(self) -> dict[str, Durations]:
        found: dict[str, Durations] = {}
        for node in self._checker.automaton.nodes:
            for timed in (self._durations, self._fast.durations):
                if node in timed:
                    found.setdefault(node, Durations()).join(timed[node])
        return found

    def report(self) -> TraceReport:
        """Give what has been found so far."""
        conforming = self._conforming + self._fast.conforming
        fitted = self._fitted + self._fast.conforming
        return TraceReport(
            self._checker.model,
            conforming,
            self._deviating,
            self._unreadable,
            tuple(self._kept),
            every_class(self._classes),
            dict(self._refused),
            (self._fitness + self._fast.conforming) / fitted if fitted else None,
            dict(sorted((self._steps + self._fast.steps).items())),
            dict(sorted((self._ends + self._fast.endings).items())),
            self._timed(),
            dict(sorted(self._outside.items())),
        )


def documents(stream: BinaryIO) -> Iterator[object]:
    """Give the JSON documents of a stream; what cannot be read is left out.

    Args:
        stream: JSON Lines, a JSON object or a JSON list.

    Raises:
        TraceFileError: it is a JSON document that is too large to be read as a whole.
    """
    for batch in batches(stream):
        for text in batch.texts:
            if text is not None and text.strip():
                with contextlib.suppress(msgspec.DecodeError, RecursionError):
                    yield msgspec.json.decode(text)


def check_traces(
    model: Model | TraceChecker, traces: Source, *, tell: Tell | None = None, keep: int = KEPT
) -> TraceReport:
    """Check recorded traces against a graph.

    Memory does not grow with the number of traces.

    Args:
        model: the graph, or a checker of it that is used again.
        traces: a file by its path, a binary stream, or traces: JSON as text or bytes, or mappings; see :data:`Source`.
        tell: called with each deviation as it is found.
        keep: deviations that the report holds at most.

    Raises:
        TraceFileError: the graph has more control states than can be explored.
    """
    checker = model if isinstance(model, TraceChecker) else TraceChecker(model)
    tally = TraceTally(checker, tell, keep=keep)
    tally.add(traces)
    return tally.report()
