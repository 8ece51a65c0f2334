"""How a run differs from what a scenario expects of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from diagnosis.runtime import Run
from diagnosis.runtime.transitions import Transition
from diagnosis.runtime.transitions import transitions_of as moves_of
from diagnosis.scenarios.scenario import Expect


def transitions_of(run: Run) -> list[dict[str, Any]]:
    """Give the transitions between the node executions of a run, as files write them.

    Args:
        run: the run.
    """
    return [_written(run, move) for move in moves_of(run)]


def _written(run: Run, move: Transition) -> dict[str, Any]:
    left, right = run.events[move.source], run.events[move.target]
    return {"from": left.node, "to": right.node, "reason_code": move.reason, "attempt": left.attempt}


def differences(
    expect: Expect,
    run: Run,
    trace: Mapping[str, Any] | None,
    counters: Mapping[str, Any],
    unused: Sequence[str],
    unused_winners: Sequence[str] = (),
) -> Iterator[str]:
    """Give every difference as a text, the most telling first.

    Args:
        expect: what was expected.
        run: the run.
        trace: its trace map, if anything happened.
        counters: state key -> value at the end.
        unused: the outcomes that no call asked for.
        unused_winners: the winners of forks that did not open.
    """
    yield from _error(expect, run)
    yield from _lists(expect, run)
    found = trace or {}
    ending = f" ({run.reason})" if run.reason else ""
    for name, value in (
        ("final_node", run.final_node),
        ("termination_reason", run.reason),
        ("degraded", found.get("degraded")),
        ("evidence_retry_count", found.get("evidence_retry_count")),
    ):
        if expect.gives(name) and not _same(getattr(expect, name), value):
            why = "" if name == "termination_reason" else ending
            yield f"{name}: expected {_told(getattr(expect, name))}, found {_told(value)}{why}"
    for key, count in (expect.counters or {}).items():
        if not _same(count, counters.get(key)):
            yield f"counters.{key}: expected {_told(count)}, found {_told(counters.get(key))}"
    if unused and run.ended:
        yield f"unused outcomes: {', '.join(unused)}; no call asked for them; remove them, or see why the run is short"
    if unused_winners and run.ended:
        told = ", ".join(unused_winners)
        yield f"unused winners: {told}; no such fork opened for them; remove them, or see why the run is short"


def _error(expect: Expect, run: Run) -> Iterator[str]:
    if expect.error is None:
        if not run.ended:
            yield f"the run did not end: {run.error}"
    elif run.ended:
        yield f"error: expected one with {expect.error!r}, but the run ended at {run.final_node} ({run.reason})"
    elif expect.error not in str(run.error):
        yield f"error: expected one with {expect.error!r}, found {str(run.error)!r}"


def _lists(expect: Expect, run: Run) -> Iterator[str]:
    events = run.events
    stopped = "the end of the run" if run.ended else "the error"

    def came_from(index: int) -> str:
        if index >= len(events):
            return f" ({events[-1].reason})" if events and index == len(events) else ""
        reasons = dict.fromkeys(move.reason for move in moves_of(run) if move.target == index)
        return f" ({', '.join(reasons)})" if reasons else ""

    def of_node(index: int) -> str:
        return f" (of {events[index].node})" if index < len(events) else ""

    if expect.path is not None:
        yield from _first("path", expect.path, run.path, stopped, came_from)
    if expect.outcomes is not None:
        outcomes = [event.outcome for event in events]
        yield from _first("outcomes", expect.outcomes, outcomes, stopped, of_node)
    if expect.branches is not None:
        yield from _first("branches", expect.branches, [event.branch for event in events], stopped, of_node)
    if expect.transitions is not None:
        wanted = [transition.to_map() for transition in expect.transitions]
        yield from _first("transitions", wanted, transitions_of(run), stopped, lambda index: "")


def _first(
    name: str, wanted: Sequence[Any], found: Sequence[Any], stopped: str, note: Callable[[int], str]
) -> Iterator[str]:
    """Give the first difference of two lists."""
    for index, (left, right) in enumerate(zip(wanted, found, strict=False)):
        if isinstance(left, dict):
            for field, value in left.items():
                if not _same(value, right[field]):
                    yield f"{name}[{index}].{field}: expected {_told(value)}, found {_told(right[field])}"
                    return
        elif left != right:
            yield f"{name}[{index}]: expected {_told(left)}, found {_told(right)}{note(index)}"
            return
    both = min(len(wanted), len(found))
    if len(wanted) > both:
        yield f"{name}[{both}]: expected {_told(wanted[both])}, found {stopped}{note(both)}"
    elif len(found) > both:
        yield f"{name}[{both}]: expected nothing more, found {_told(found[both])}{note(both)}"


def _same(left: object, right: object) -> bool:
    """Compare as files do: true is not 1, and 1.0 is not 1."""
    return left == right and (isinstance(left, str) or type(left) is type(right))


def _told(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return f"{value['from']} -> {value['to']} ({value['reason_code']}, attempt {value['attempt']})"
    return repr(value)
