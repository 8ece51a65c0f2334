"""Checking one trace: fold it through the legal traces, explain where it departs, and say how near it comes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

from diagnosis.runtime import END, START, Model, ValueRefusedError
from diagnosis.traces.align import align
from diagnosis.traces.automaton import Automaton, States
from diagnosis.traces.classify import classify, closing, settled, unknown
from diagnosis.traces.deviation import CLASSES, Finding
from diagnosis.traces.seen import Observed
from diagnosis.traces.shape import Shape, ShapeError
from diagnosis.verify import MAX_STATES, Progress
from diagnosis.verify.canonical import canonical

REMEMBERED: Final = 512
"""Explanations kept at hand: the same deviation tends to come again."""

LENGTH, TEXT = 100, 4_096
"""Node executions, and characters of their names, of the longest trace whose explanation is kept."""

Step = tuple[str, str, str]
"""Source, target and reason code."""


@dataclass(frozen=True, slots=True)
class TraceResult:
    """What checking one trace came to.

    Attributes:
        run_id: the run, where recorded.
        findings: every deviation, in the order of the trace; none where it conforms.
        fitness: from 0 to 1: how near it is to a legal run. ``None`` where it cannot be told.
        steps: what it shows: from START, each transition, and to END, each as (source, target, reason code).
        durations: each node whose beginning and end were recorded, with the seconds between them.
        observed: the trace as it was read; ``None`` where it has not the shape of one.
    """

    run_id: str | None
    findings: tuple[Finding, ...]
    fitness: float | None
    steps: tuple[Step, ...] = ()
    durations: tuple[tuple[str, float], ...] = ()
    observed: Observed | None = None

    @property
    def conforms(self) -> bool:
        """Whether it is the trace of a legal run."""
        return not self.findings


class TraceChecker:
    """Checks traces against a model, one after the other.

    Args:
        model: the graph.
        max_states: the budget of control states that are explored first.
        max_seconds: the budget of time for it.
        progress: called now and then while exploring.

    Attributes:
        automaton: the legal traces.
        shape: the shape of a trace.

    Raises:
        TraceFileError: the graph has more control states than can be explored.
    """

    def __init__(
        self,
        model: Model,
        *,
        max_states: int = MAX_STATES,
        max_seconds: float | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.model = model
        self.automaton = Automaton(model, max_states=max_states, max_seconds=max_seconds, progress=progress)
        self.shape = Shape(model, self.automaton.summary(None))
        self._explained: OrderedDict[Hashable, tuple[tuple[Finding, ...], float | None]] = OrderedDict()

    def check(self, document: object) -> TraceResult:
        """Check a trace.

        Args:
            document: plain data, as JSON gives it: the trace map, bare or in its record.
        """
        try:
            observed = self.shape.observed(document)
            findings, fitness = self._explanation(observed)
        except ShapeError as error:
            return TraceResult(error.run_id, (error.finding,), None)
        except (RecursionError, ValueRefusedError):
            return TraceResult(None, (Finding("malformed", None, "the trace is nested too deeply"),), None)
        steps = [(START, observed.events[0].node, "")] if observed.events else []
        steps += observed.transitions
        if observed.ended:
            steps.append((observed.summary["final_node"], END, observed.summary["termination_reason"]))
        return TraceResult(observed.run_id, findings, fitness, tuple(steps), tuple(observed.durations), observed)

    def _explanation(self, observed: Observed) -> tuple[tuple[Finding, ...], float | None]:
        names = sum(len(event.node) + sum(len(way.reason) for way in event.ways or ()) for event in observed.events)
        if len(observed.events) > LENGTH or names > TEXT:
            return self._explained_anew(observed)
        try:
            key = (observed.events, observed.ended, observed.findings, canonical(observed.summary))
            hash(key)
        except TypeError:  # the summary holds what cannot be hashed
            return self._explained_anew(observed)
        if key not in self._explained:
            self._explained[key] = self._explained_anew(observed)
            if len(self._explained) > REMEMBERED:
                self._explained.popitem(last=False)
        return self._explained[key]

    def _explained_anew(self, observed: Observed) -> tuple[tuple[Finding, ...], float | None]:
        events = observed.events
        if not events:
            return (Finding("incomplete", None, "nothing was recorded: no transition, and no final node"),), None
        first, last = self._fault(observed, 0, self.automaton.start)
        contradictions = [self._known(finding, observed) for finding in observed.findings]
        beyond = self._beyond(observed)
        if first is None and not contradictions and not beyond:
            return (), 1.0
        found = [] if first is None else [first]
        alignment = align(self.automaton, events, observed.chained)
        fitness = None
        if alignment is not None:
            cost = alignment.cost + len(contradictions) + len(beyond)
            fitness = max(0.0, 1 - cost / (len(events) + self.automaton.shortest))
        if first is not None and not last:
            edits = alignment.edits if alignment is not None else ()
            more = [self._fault(observed, place, states)[0] for place, states in edits]
            more.append(settled(self.automaton, observed.summary))
            found += [finding for finding in more if finding is not None]
        unique = dict.fromkeys([*contradictions, *found])
        for late in beyond:
            same = [finding for finding in unique if finding.at == late.at]
            if all(CLASSES.index(finding.kind) > CLASSES.index(late.kind) for finding in same):
                unique = {finding: None for finding in (*unique, late) if finding not in same}
        return tuple(sorted(unique, key=lambda each: (each.at is None, each.at or 0))), fitness

    def _beyond(self, observed: Observed) -> list[Finding]:
        """Say where there are more node executions than a run may take; where it did not end, branches may be ahead."""
        limit, count = self.model.graph.recursion_limit, len(observed.events)
        if count <= limit or (self.model.branched and not observed.ended):
            return []
        at = sum(map(len, observed.causes[:limit]))
        detail = f"there are {count} node executions; the recursion limit of {limit} stops a run before this one"
        return [Finding("limit_exceeded", at, detail)]

    def _known(self, finding: Finding, observed: Observed) -> Finding:
        """Say of a transition that contradicts its events that it names what is not there, where it does."""
        if finding.at is None:
            return finding
        source, target, reason = observed.transitions[finding.at]
        return unknown(self.automaton, (source, target), (reason,), finding.at) or finding

    def _fault(self, observed: Observed, place: int, states: States) -> tuple[Finding | None, bool]:
        """Follow a trace from one place on; give what is wrong where it first departs, and whether that is its end."""
        events = observed.events
        for index in range(place, len(events) - 1):
            following = states.step(events[index])
            if following is None:
                return classify(self.automaton, states, events[index], observed.at[index], first=index == 0), False
            states = following
        return closing(self.automaton, states, events[-1], observed.summary), True
