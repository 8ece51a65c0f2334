"""The shape of a recorded trace: what keys it has, and what may stand there."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from diagnosis.runtime import END, Model, is_text, one_of
from diagnosis.runtime.decisions import is_count
from diagnosis.traces.branching import woven
from diagnosis.traces.deviation import Finding, clipped
from diagnosis.traces.seen import Observed, Seen, Way

WRAPPER: Final = "orchestration_trace"
"""The key under which a record holds its trace."""

EARLIEST, LATEST = -62_000_000_000, 253_000_000_000
"""Seconds since 1970 of the times that can be told: from the year 5 to the year 9987."""

ENDING: Final = ("final_node", "termination_reason")
STEP: Final = ("from", "to", "reason_code", "attempt")


class ShapeError(Exception):
    """A document is not shaped like a trace; caught where traces are read.

    Attributes:
        finding: the deviation.
        run_id: the run, where recorded.
    """

    def __init__(self, finding: Finding, run_id: str | None = None) -> None:
        super().__init__(finding.detail)
        self.finding = finding
        self.run_id = run_id


class Shape:
    """The shape of the traces of one model.

    Args:
        model: the graph.
        summary: the keys that a trace has on its ending, final node and reason included.
    """

    def __init__(self, model: Model, summary: Iterable[str]) -> None:
        self.version = model.trace_version
        self._summary = tuple(summary)
        self._branched = model.branched
        self._step = (*STEP, "branch", "after") if self._branched else STEP
        middle = ("events", "transitions") if self._branched else ("transitions",)
        self._keys = ("version", *middle, *self._summary)
        # A trace function without a summary may say more than can be checked.
        self._open = model.trace is not None and model.summary is None

    def observed(self, document: object) -> Observed:
        """Read a trace, bare or in its record.

        Args:
            document: plain data, as JSON gives it.

        Raises:
            ShapeError: it is no trace of this shape, or one of another version.
        """
        if not isinstance(document, Mapping):
            raise _malformed(None, f"found {_kind(document)}; a trace is an object, bare or as {WRAPPER!r} of a record")
        run_id, trace = document.get("run_id"), document
        if not (run_id is None or isinstance(run_id, str)):
            raise _malformed(None, f"run_id is {_kind(run_id)}; allowed: a text or null")
        try:
            if WRAPPER in document:
                trace = document[WRAPPER]
                if trace is None:
                    raise ShapeError(Finding("incomplete", None, "the record holds no trace: nothing had happened"))
                if not isinstance(trace, Mapping):
                    raise _malformed(None, f"{WRAPPER} is {_kind(trace)}; allowed: an object or null")
            return self._trace(trace, run_id, _stamp(document.get("at"), "at", None), trace is document)
        except ShapeError as error:
            error.run_id = run_id
            raise

    def _trace(self, trace: Mapping[str, Any], run_id: str | None, began: float | None, bare: bool) -> Observed:
        version = trace.get("version")
        if not is_count(version):
            raise _malformed(None, f"version is {_kind(version, 'version' in trace)}; allowed: a whole number from 1")
        steps = _list(trace, "transitions")
        for index, step in enumerate(steps):
            _check_step(step, index)
        if version != self.version:
            detail = f"the trace says version {version}; traces of this graph have version {self.version}"
            raise ShapeError(Finding("version_skew", None, detail))
        _exactly(trace, self._keys, ("at", "run_id") if bare else (), "the trace", None, closed=not self._open)
        for index, step in enumerate(steps):
            _exactly(step, self._step, ("at",), f"transitions[{index}]", index)
        for key in ENDING:
            if not (trace[key] is None or is_text(trace[key])):
                raise _malformed(None, f"{key} is {_kind(trace[key])}; allowed: a text that is not blank, or null")
        summary = {key: trace[key] for key in self._summary}
        stamps = [_stamp(step.get("at"), f"transitions[{index}].at", index) for index, step in enumerate(steps)]
        if self._branched:
            return woven(run_id, self._events(trace), _branch_steps(steps), summary, began)
        return _chain(run_id, steps, summary, stamps, began)

    def _events(self, trace: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Give the events of a trace of a graph with branches, each checked."""
        found = []
        for index, event in enumerate(_list(trace, "events")):
            name = f"events[{index}]"
            if not isinstance(event, Mapping):
                raise _malformed(None, f"{name} is {_kind(event)}; allowed: an object")
            _exactly(event, ("node", "outcome", "attempt", "branch", "after"), ("at",), name, None)
            for key in ("node", "outcome"):
                if not is_text(event[key]):
                    raise _malformed(None, f"{name}.{key} is {_kind(event[key])}; allowed: a text that is not blank")
            if not is_count(event["attempt"]):
                raise _malformed(None, f"{name}.attempt is {_kind(event['attempt'])}; allowed: a whole number from 1")
            if not isinstance(event["branch"], str):
                raise _malformed(None, f"{name}.branch is {_kind(event['branch'])}; allowed: a text")
            after = event["after"]
            if not (isinstance(after, list | tuple) and all(_is_place(place, index) for place in after)):
                raise _malformed(None, f"{name}.after is {after!r}; allowed: a list of places of events before it")
            found.append({**event, "at": _stamp(event.get("at"), f"{name}.at", None)})
        if not found:
            raise _malformed(None, "events is an empty list; a trace tells of at least one node execution")
        return found


def _chain(
    run_id: str | None,
    steps: list[Mapping[str, Any]],
    summary: dict[str, Any],
    stamps: list[float | None],
    began: float | None,
) -> Observed:
    """Make node executions of transitions that follow one after the other."""
    final, reason = summary[ENDING[0]], summary[ENDING[1]]
    last = final if final is not None else steps[-1]["to"] if steps else None
    froms = [step["from"] for step in steps] + ([] if last is None else [last])
    chained = [step["to"] == after for step, after in zip(steps, froms[1:], strict=False)]
    events = [
        Seen(step["from"], "", step["attempt"], None, (Way(-1, step["to"], step["reason_code"]),)) for step in steps
    ]
    if last is not None:
        ended = final is not None and reason is not None
        events.append(Seen(last, "", None, None, (Way(-1, END, reason),) if ended else None))
    return Observed(
        run_id,
        tuple(events),
        (*range(len(steps)), None)[: len(events)],
        (*chained, True)[: len(events)],
        final is not None and reason is not None,
        summary,
        tuple((step["from"], step["to"], step["reason_code"]) for step in steps),
        (),
        (*stamps, None)[: len(events)],
        tuple((index - 1,)[: min(index, 1)] for index in range(len(events))),
        began,
    )


def _branch_steps(steps: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    for index, step in enumerate(steps):
        if not isinstance(step["branch"], str):
            raise _malformed(index, f"transitions[{index}].branch is {_kind(step['branch'])}; allowed: a text")
        if not _is_place(step["after"], math.inf):
            raise _malformed(
                index, f"transitions[{index}].after is {_kind(step['after'])}; allowed: the place of an event"
            )
    return steps


def _check_step(step: object, index: int) -> None:
    """Refuse what is no transition of any version."""
    name = f"transitions[{index}]"
    if not isinstance(step, Mapping):
        raise _malformed(index, f"{name} is {_kind(step)}; allowed: an object")
    for key in STEP[:3]:
        if not is_text(step.get(key)):
            found = _kind(step.get(key), key in step)
            raise _malformed(index, f"{name}.{key} is {found}; allowed: a text that is not blank")
    if not is_count(step.get("attempt")):
        found = _kind(step.get("attempt"), "attempt" in step)
        raise _malformed(index, f"{name}.attempt is {found}; allowed: a whole number from 1")


def _list(trace: Mapping[str, Any], key: str) -> list[Any]:
    found = trace.get(key)
    if not isinstance(found, list | tuple):
        raise _malformed(None, f"{key} is {_kind(found, key in trace)}; allowed: a list")
    return list(found)


def _exactly(
    found: Mapping[str, Any],
    keys: tuple[str, ...],
    more: tuple[str, ...],
    name: str,
    at: int | None,
    *,
    closed: bool = True,
) -> None:
    """Refuse a missing key, and one that is not known."""
    for key in keys:
        if key not in found:
            raise _malformed(at, f"{name} has no {key!r}; it has exactly {one_of(keys)}")
    for key in found if closed else ():
        if key not in keys and key not in more:
            raise _malformed(at, f"{name} has the unknown key {key!r}; it has exactly {one_of(keys)}")


def _stamp(value: object, name: str, at: int | None) -> float | None:
    """Read a time: a text of ISO 8601, or seconds since 1970."""
    if value is None:
        return None
    seconds: float | None = None
    if isinstance(value, str):
        with contextlib.suppress(ValueError, OverflowError):
            read = datetime.fromisoformat(value)
            seconds = (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
    elif isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(value) if EARLIEST <= value <= LATEST else None
    if seconds is not None and EARLIEST <= seconds <= LATEST:
        return seconds
    raise _malformed(at, f"{name} is {_kind(value)}; allowed: a time as ISO 8601 text, or seconds since 1970")


def _is_place(value: object, below: float) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < below


def _kind(value: object, there: bool = True) -> str:
    """Say in few words what stands somewhere."""
    if not there:
        return "missing"
    if value is None:
        return "null"
    if isinstance(value, bool | int | float | str):
        return clipped(repr(value[:100] if isinstance(value, str) else value), 80)
    if isinstance(value, Mapping):
        return "an object"
    return "a list" if isinstance(value, list | tuple) else type(value).__name__


def _malformed(at: int | None, detail: str) -> ShapeError:
    return ShapeError(Finding("malformed", at, detail))
