"""A run: what was executed, why it stopped, and the state at every step."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from diagnosis.runtime.decisions import Event
from diagnosis.runtime.definition import END
from diagnosis.runtime.display import Shown
from diagnosis.runtime.errors import RunError
from diagnosis.runtime.frozen import freeze
from diagnosis.runtime.nodestep import Report
from diagnosis.runtime.position import Place, Position, bracketed

if TYPE_CHECKING:
    from diagnosis.runtime.compiled import CompiledGraph
    from diagnosis.runtime.definition import Definition
    from diagnosis.runtime.explain import Explanation

Stop = Literal["ended", "limit", "error"]
"""Why a run stopped: it reached END, met its recursion limit, or failed."""


@dataclass(frozen=True)
class RunConfig:
    """What a run is told beside its input.

    Attributes:
        thread_id: which thread of runs it belongs to; the run's id where absent.
        metadata: anything the actions should know; read-only to them.
        attempt: which attempt of its node an action is called for, from 1; set by the runtime.
        branch: the branch it is called in, such as ``worker[1]``; set by the runtime.
    """

    thread_id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    attempt: int = 1
    branch: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "metadata", freeze(self.metadata))


@dataclass(frozen=True, slots=True)
class Executed:
    """One node execution of a run.

    Attributes:
        index: its place in the run, from 0; in a stream, in the order of completion.
        position: where the run, or its branch, stood: the node and the reason that led to it.
        before: the state before the entry updates; in a branch, as the branch sees it.
        report: what the action returned, as it was taken in.
        after: the state after the exit updates, the event included.
        event: the node, outcome, attempt and decision.
    """

    index: int
    position: Position
    before: Mapping[str, Any]
    report: Report
    after: Mapping[str, Any]
    event: Event

    def __repr__(self) -> str:
        choice = self.event.choice
        node = self.event.node + (f" in {self.event.branch}" if self.event.branch else "")
        targets = " + ".join(each.target for each in self.event.choices)
        return (
            f"{self.index + 1}. {node} (attempt {self.event.attempt}): {self.event.outcome} "
            f"-> {targets} because {choice.reason}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Run(Shown):
    """The record of one run.

    Attributes:
        graph: the graph that ran.
        config: what the run was told.
        stop: why it stopped: ``ended``, ``limit`` or ``error``.
        error: the error, unless the run ended.
        position: where it stands: at a node, or in a fork whose branches stand somewhere each.
        events: one for each node execution that completed; those of branches in order of declaration.
        unused_winners: the winners given beforehand for forks that did not open: fork -> branches.
    """

    graph: CompiledGraph
    config: RunConfig
    stop: Stop
    error: RunError | None
    position: Place
    events: tuple[Event, ...]
    # Plain dictionaries while nobody looks: a long run then costs the garbage collector half as many objects.
    _states: Sequence[Mapping[str, Any]]
    _reports: Sequence[Report]
    _state: Mapping[str, Any]
    # Where the state before an execution is not the one after the execution before it: in branches and at joins.
    _before: Mapping[int, tuple[Position, Mapping[str, Any]]] = field(default_factory=dict)
    unused_winners: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def states(self) -> tuple[Mapping[str, Any], ...]:
        """The state before the first execution and after each, read-only; in a branch, as the branch sees it."""
        return tuple(map(MappingProxyType, self._states))

    @cached_property
    def reports(self) -> tuple[Report, ...]:
        """What each action returned, as it was taken in."""
        return tuple(map(MappingProxyType, self._reports))

    @property
    def ended(self) -> bool:
        """Whether the run reached END."""
        return self.stop == "ended"

    @property
    def path(self) -> tuple[str, ...]:
        """The nodes in the order of their executions."""
        return tuple(event.node for event in self.events)

    @property
    def places(self) -> tuple[str, ...]:
        """The path, where a node in a branch has the branch's place behind it, such as ``check[1]``."""
        if not any(event.branch for event in self.events):
            return self.path
        return tuple(step.event.node + bracketed(step.position.path) for step in self.steps)

    @property
    def state(self) -> Mapping[str, Any]:
        """The final state, or the one before the execution that failed, without what subgraphs keep to themselves."""
        return self._without(self.graph.definition.private)

    @property
    def full_state(self) -> Mapping[str, Any]:
        """The same with the private keys of compiled subgraphs, such as ``child.n``."""
        return self._without(self.graph.definition.notes)

    def _without(self, hidden: Collection[str]) -> Mapping[str, Any]:
        state = {key: value for key, value in self._state.items() if key not in hidden} if hidden else self._state
        return MappingProxyType(state)

    @property
    def failed_at(self) -> str:
        """The node at which a run failed or met its limit; END for a run that ended."""
        return self.position.node or (self.error.node if self.error is not None else None) or END

    @property
    def final_node(self) -> str | None:
        """The last node of a run that ended."""
        return self.events[-1].node if self.ended and self.events else None

    @property
    def reason(self) -> str | None:
        """The reason code with which the run ended."""
        return self.events[-1].reason if self.ended and self.events else None

    @cached_property
    def steps(self) -> tuple[Executed, ...]:
        """The executions one by one, each with its state before and after."""
        found = []
        reason: str | None = None
        for index, event in enumerate(self.events):
            before, after = self.states[index], self.states[index + 1]
            place = Position(event.node, reason)
            if index in self._before:
                place, seen = self._before[index]
                before = MappingProxyType(seen)
            found.append(Executed(index, place, before, self.reports[index], after, event))
            reason = event.reason
        return tuple(found)

    def explain(self, index: int) -> Explanation:
        """Show why the run went on as it did after one of its node executions.

        Args:
            index: the execution's place in the run, from 0; negative numbers count from the end.

        Returns:
            Every rule of the node's decision, evaluated on the state that it decided on.

        Raises:
            IndexError: the run has no such execution.
        """
        step = self.steps[index]
        return self.graph.explain(step.event.node, decided_on(step, self.graph.definition), reason=step.position.reason)

    def text(self) -> str:
        """Give the path, one execution a line, and why the run stopped."""
        lines = [f"Run of {self.graph.name}: {self.summary}"]
        lines += [f"  {step!r}" for step in self.steps]
        return "\n".join(lines)

    @property
    def summary(self) -> str:
        """One line that says how the run stopped."""
        count = f"{len(self.events)} node execution{'s' if len(self.events) != 1 else ''}"
        if self.ended:
            return f"ended after {count} at {self.final_node} ({self.reason})"
        branch = f" in {self.error.branch}" if self.error is not None and self.error.branch else ""
        return f"stopped by {self.stop} after {count} at {self.failed_at}{branch}: {self.error}"


def decided_on(step: Executed, definition: Definition) -> Mapping[str, Any]:
    """Give the state that a node's decision was taken on: the one after it, without its own event.

    Args:
        step: a node execution.
        definition: the graph.
    """
    log = definition.event_log
    return step.after if log is None else {**step.after, log.key: step.before[log.key]}
