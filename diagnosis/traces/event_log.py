"""Event logs of traces for process-mining tools: rows, CSV and XES."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final, NamedTuple, TextIO
from xml.sax.saxutils import quoteattr

from diagnosis.traces.checker import TraceChecker
from diagnosis.traces.deviation import TraceFileError
from diagnosis.traces.seen import Observed
from diagnosis.traces.shape import ShapeError

COLUMNS: Final = ("case", "number", "activity", "reason_code", "attempt", "outcome", "branch", "time", "stamp")
"""The columns of an event log as CSV."""

RECORDED: Final = "recorded"
"""The kind of a stamp that stood in the trace."""

ORDER: Final = "order"
"""The kind of a stamp that only counts: no time was recorded."""


class LogEvent(NamedTuple):
    """One node execution in an event log.

    Attributes:
        case: the run; ``trace 1`` and so on where no name was recorded.
        number: its place in the run, from 0.
        activity: the node.
        reason_code: why the run went on as it did; several are joined by `` + ``. Empty where the run did not go on.
        attempt: which attempt it was; ``None`` where traces do not record that.
        outcome: what the node reported; ``None`` where traces do not record that.
        branch: the branch; empty outside branches.
        time: when it was through, as ISO 8601; or the order of the log in the form of a time.
        stamp: :data:`RECORDED` or :data:`ORDER`.
    """

    case: str
    number: int
    activity: str
    reason_code: str
    attempt: int | None
    outcome: str | None
    branch: str
    time: str
    stamp: str


def event_log(checker: TraceChecker, documents: Iterable[object], *, strict: bool = True) -> Iterator[LogEvent]:
    """Give the node executions of traces one after the other, whether or not they conform.

    Args:
        checker: of the graph.
        documents: traces as plain data, bare or in their records.
        strict: whether a document that is no trace is refused; else it is left out.

    Returns:
        The events. Where not every execution of a trace has a recorded time, its stamps are order stamps: seconds since
        1970 that count the node executions of the log.

    Raises:
        TraceFileError: a document is no trace, and ``strict`` is set.
    """
    count = 0
    for number, document in enumerate(documents, 1):
        try:
            observed = checker.shape.observed(document)
        except ShapeError as error:
            if not strict:
                continue
            raise TraceFileError(f"trace {number} cannot be exported: {error}") from None
        case = observed.run_id if observed.run_id is not None else f"trace {number}"
        times, stamp = _times(observed, count)
        for index, event in enumerate(observed.events):
            reasons = " + ".join(dict.fromkeys(way.reason for way in event.ways or ()))
            yield LogEvent(
                case, index, event.node, reasons, event.attempt, event.outcome, event.branch, times[index], stamp
            )
        count += len(observed.events)


def _times(observed: Observed, count: int) -> tuple[list[str], str]:
    """Give the time of each execution; the last one of a chain has none of its own, and takes the one before it."""
    stamps = list(observed.stamps)
    if len(stamps) > 1 and stamps[-1] is None:
        stamps[-1] = stamps[-2]
    known = [stamp for stamp in stamps if stamp is not None]
    if len(known) == len(stamps):
        return [_iso(stamp) for stamp in known], RECORDED
    return [_iso(count + index) for index in range(len(stamps))], ORDER


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def write_csv(events: Iterable[LogEvent], stream: TextIO) -> int:
    """Write an event log as CSV.

    Args:
        events: see :func:`event_log`.
        stream: a text stream, opened with ``newline=""``.

    Returns:
        How many events were written.
    """
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    count = 0
    for event in events:
        writer.writerow(event)
        count += 1
    return count


_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<log xes.version="1849.2016" xes.features="" xmlns="http://www.xes-standard.org/">
  <extension name="Concept" prefix="concept" uri="http://www.xes-standard.org/concept.xesext"/>
  <extension name="Time" prefix="time" uri="http://www.xes-standard.org/time.xesext"/>
  <global scope="trace">
    <string key="concept:name" value="?"/>
  </global>
  <global scope="event">
    <string key="concept:name" value="?"/>
    <date key="time:timestamp" value="1970-01-01T00:00:00.000+00:00"/>
  </global>
  <classifier name="Activity" keys="concept:name"/>
"""


def write_xes(events: Iterable[LogEvent], stream: TextIO, *, name: str) -> int:
    """Write an event log as XES.

    Every event says in ``diagnosis:stamp`` what its time is: ``recorded``, or ``order`` where it only counts.

    Args:
        events: see :func:`event_log`; those of one case follow one another.
        stream: a text stream that encodes to UTF-8.
        name: the name of the log, such as that of the graph.

    Returns:
        How many events were written.
    """
    stream.write(_HEAD)
    stream.write(_attribute("string", "concept:name", name, 1))
    case: str | None = None
    count = 0
    for event in events:
        if event.number == 0 or event.case != case:
            stream.write("" if case is None else "  </trace>\n")
            stream.write("  <trace>\n" + _attribute("string", "concept:name", event.case, 2))
            case = event.case
        stream.write("    <event>\n")
        stream.write(_attribute("string", "concept:name", event.activity, 3))
        stream.write(_attribute("date", "time:timestamp", event.time, 3))
        stream.write(_attribute("string", "diagnosis:stamp", event.stamp, 3))
        for key in ("reason_code", "outcome", "branch"):
            value = getattr(event, key)
            stream.write(_attribute("string", f"diagnosis:{key}", value, 3) if value else "")
        if event.attempt is not None:
            stream.write(_attribute("int", "diagnosis:attempt", str(event.attempt), 3))
        stream.write("    </event>\n")
        count += 1
    stream.write("" if case is None else "  </trace>\n")
    stream.write("</log>\n")
    return count


def _attribute(kind: str, key: str, value: str, depth: int) -> str:
    quoted = quoteattr("".join(map(_printable, value)), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})
    return f"{'  ' * depth}<{kind} key={quoteattr(key)} value={quoted}/>\n"


def _printable(letter: str) -> str:
    r"""Give a letter, or, where XML cannot hold it, its number as ``\u0000``."""
    number = ord(letter)
    allowed = number in (9, 10, 13) or 0x20 <= number < 0xD800 or 0xE000 <= number < 0xFFFE or number > 0xFFFF
    return letter if allowed else f"\\u{number:04x}"
