"""Traces of graphs with branches: events in order of declaration, and which of them led to which."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from diagnosis.runtime import END
from diagnosis.traces.deviation import Finding
from diagnosis.traces.seen import Observed, Seen, Way

_BRACKETS = re.compile(r"(?:\[\d+\])*$")

Path = tuple[int, ...]


def path_of(branch: str) -> Path:
    """Give the path of a branch: the numbers in brackets behind its name.

    Args:
        branch: such as ``worker[1][0]``; empty outside branches.
    """
    found = _BRACKETS.search(branch)
    return tuple(int(number[:9]) for number in re.findall(r"\d+", found[0])) if found else ()


class _Track:
    """A branch, or the run outside branches: its last execution, and the branches of the fork that is open in it."""

    def __init__(self, opened: int | None) -> None:
        self.opened = opened
        self.last: int | None = None
        self.inner: dict[int, _Track] = {}

    def tips(self) -> list[int]:
        """Give the last executions: of every branch, where a fork is open or has just closed."""
        if self.inner:
            return [tip for number in sorted(self.inner) for tip in self.inner[number].tips()]
        return [] if self.last is None else [self.last]

    def openers(self) -> list[int]:
        """Give the executions that opened the forks that are open in it, or have just closed."""
        inner = [opener for track in self.inner.values() for opener in track.openers()]
        return inner if self.last is None or not self.inner else [self.last, *inner]


def causes_of(paths: Sequence[Path], recorded: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Work out which executions led to which.

    Args:
        paths: for each execution, the path of its branch.
        recorded: what is recorded of it. It counts where a branch led straight to the join and executed nothing, which
            nothing else tells.

    Returns:
        For each execution the places of those that led to it.
    """
    found: list[tuple[int, ...]] = []
    root = _Track(None)
    for index, (path, noted) in enumerate(zip(paths, recorded, strict=True)):
        track = root
        for number in path:
            track = track.inner.setdefault(number, _Track(track.last))
        tips = track.tips()
        if not tips and track.opened is not None:
            tips = [track.opened]
        openers = set(track.openers())
        fits = [place for place in noted if place not in openers] == tips
        found.append(tuple(noted) if fits else tuple(tips))
        track.inner = {}
        track.last = index
    return found


def woven(
    run_id: str | None,
    events: Sequence[Mapping[str, Any]],
    steps: Sequence[Mapping[str, Any]],
    summary: dict[str, Any],
    began: float | None,
) -> Observed:
    """Make one observation of events and transitions, which tell of each other.

    Args:
        run_id: the run, where recorded.
        events: the events, each a mapping of its fields.
        steps: the transitions, in the order of the events that they lead to.
        summary: what is said of the ending.
        began: when the run began, in seconds since 1970.
    """
    paths = [path_of(event["branch"]) for event in events]
    causes = causes_of(paths, [event["after"] for event in events])
    places: dict[tuple[int, str, str], list[int]] = {}
    for index, step in reversed(list(enumerate(steps))):
        places.setdefault((step["after"], step["branch"], step["to"]), []).append(index)
    ways: list[list[Way]] = [[] for _ in events]
    at: list[int | None] = [None for _ in events]
    findings: list[Finding] = []
    expected = 0
    for target, before in enumerate(causes):
        event = events[target]
        if tuple(event["after"]) != before:
            where = expected if before and expected < len(steps) else None
            detail = f"events[{target}].after is {list(event['after'])}; by its branches it follows {list(before)}"
            findings.append(Finding("illegal_edge", where, detail))
        for source in before:
            left = places.get((source, event["branch"], event["node"]))
            place = left.pop() if left else None
            if place != expected:
                findings.append(_contradiction(events, steps, source, target, expected))
            if place is not None:
                step, outer = steps[place], paths[source]
                if place == expected and (step["from"], step["attempt"]) != _left(events[source]):
                    findings.append(_contradiction(events, steps, source, target, place))
                index = paths[target][len(outer)] if len(paths[target]) > len(outer) else -1
                ways[source].append(Way(index, event["node"], step["reason_code"]))
                if at[source] is None:
                    at[source] = place
            expected += 1
    if expected < len(steps):
        detail = f"there are {len(steps)} transitions; the events make {expected}"
        findings.append(Finding("illegal_edge", expected, detail))
    reason = summary["termination_reason"]
    ended = summary["final_node"] is not None and reason is not None
    if ended:
        ways[-1].append(Way(-1, END, reason))
    seen = [
        Seen(
            event["node"],
            event["branch"],
            event["attempt"],
            event["outcome"],
            tuple(way) if ended or index < len(events) - 1 else None,
            ended and not findings,
        )
        for index, (event, way) in enumerate(zip(events, ways, strict=True))
    ]
    return Observed(
        run_id,
        tuple(seen),
        tuple(at),
        (True,) * len(events),
        ended,
        summary,
        tuple((step["from"], step["to"], step["reason_code"]) for step in steps),
        tuple(findings),
        tuple(event["at"] for event in events),
        tuple(causes),
        began,
    )


def _left(event: Mapping[str, Any]) -> tuple[str, int]:
    return event["node"], event["attempt"]


def _contradiction(
    events: Sequence[Mapping[str, Any]], steps: Sequence[Mapping[str, Any]], source: int, target: int, place: int
) -> Finding:
    """Say that a transition is not the one that the events make."""
    left, reached = events[source], events[target]
    should = f"events {source} and {target} make one from {left['node']} to {reached['node']}"
    if place >= len(steps):
        return Finding("illegal_edge", None, f"a transition is missing: {should}")
    step = steps[place]
    same = (step["from"], step["to"], step["after"], step["branch"])
    if same == (left["node"], reached["node"], source, reached["branch"]):
        detail = f"it is attempt {left['attempt']} of {left['node']} by its event, not {step['attempt']}"
        return Finding("reason_mismatch", place, detail)
    told = f"it leads from {step['from']} to {step['to']} after event {step['after']} in branch {step['branch']!r}"
    return Finding("illegal_edge", place, f"{told}; {should} in branch {reached['branch']!r}")
