"""The control states that a model can reach, found breadth first on the pure step."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from diagnosis.runtime import (
    END,
    REPEAT,
    Choice,
    Model,
    Position,
    RouterDecision,
    RuleTruth,
    RunError,
    Update,
    evaluate,
    freeze,
    loops,
    told,
)
from diagnosis.verify.canonical import canonical, size
from diagnosis.verify.reads import Recorder, declared_reads
from diagnosis.verify.strict import strict_step

MAX_STATES = 100_000
"""Control states explored at most where no other budget is given."""

MAX_ELEMENTS = 1_000
"""Elements of a list or mapping that routing reads; one that grows beyond is taken to grow without end."""

Progress = Callable[[int, int], None]
"""``(states explored, states known)``, called now and then."""

Script = tuple[tuple[str, str], ...]
"""Node and outcome, execution by execution."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One outcome put into one control state.

    Attributes:
        source: index of the control state.
        outcome: the name of the outcome.
        target: index of the control state after it; ``None`` where routing failed.
        choice: the decision; ``None`` where routing failed.
        attempt: which attempt of the node it is.
        truths: the rules of the decision, fully evaluated; empty for fixed edges and plain routers.
        error: the error, where routing failed.
    """

    source: int
    outcome: str
    target: int | None
    choice: Choice | None
    attempt: int
    truths: tuple[RuleTruth, ...]
    error: str | None


class StateSpace:
    """The reachable control states of a model, in the order of discovery: shortest scripts first.

    A control state is the position and the typed reads of the projected keys. The reason that led to a position counts
    where something can tell: at END, and at nodes that repeat it.

    Args:
        model: the graph under test.
        extra: keys to project on beside those that routing reads.
        max_states: the budget of control states.
        max_seconds: the budget of time; none where absent.
        progress: called now and then.
    """

    def __init__(
        self,
        model: Model,
        *,
        extra: Iterable[str] = (),
        max_states: int = MAX_STATES,
        max_seconds: float | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.model = model
        self._definition = model.graph.definition
        self._step = strict_step(self._definition)
        self._log = self._definition.event_log.key if self._definition.event_log else None
        self._reasoned = {END} | {edge.source for edge in self._definition.edges if edge.reason is REPEAT}
        self._max_states, self._max_seconds, self._progress = max_states, max_seconds, progress
        self._writable = {node.name: set(self._definition.writable(node)) for node in self._definition.nodes}
        self._conditionals = {conditional.source: conditional for conditional in self._definition.conditionals}
        names = {*declared_reads(self._definition), *extra}
        while True:
            self.projection = tuple(key for key in self._definition.keys if key in names)
            self._reads = [(key, self._definition.keys[key].read) for key in self.projection]
            missing = self._search()
            if not missing:
                break
            names |= missing

    def _search(self) -> set[str]:
        """Explore; give the keys that an outcome's function turned out to read beside the projection.

        They count where the node may write a projected key: then what it reads may reach a decision.
        """
        self.positions: list[Position] = []
        self.states: list[Mapping[str, Any]] = []
        self.depths: list[int] = []
        self.parents: list[tuple[int, str] | None] = []
        self.outgoing: list[list[Transition]] = []
        self.stopped: str | None = None
        self._index: dict[Any, int] = {}
        self._entered: dict[int, Mapping[str, Any]] = {}
        self._truths: dict[Any, tuple[RuleTruth, ...]] = {}
        self._routes: dict[Any, str | None] = {}
        self._fixed = self._fixed_updates()
        projected = set(self.projection)
        began = time.monotonic()
        self._add(*self.model.graph.step.begin(self.model.input), None, 0)
        queue = deque([0])
        while queue:
            here = queue.popleft()
            if here % 1024 == 0 and self._progress is not None:
                self._progress(here, len(self.states))
            if self._max_seconds is not None and time.monotonic() - began > self._max_seconds:
                self.stopped = f"the budget of {self._max_seconds:g} s was used up"
                break
            position, state = self.positions[here], self.states[here]
            if position.node == END:
                continue
            if len(self.states) > self._max_states:
                self.stopped = f"the budget of {self._max_states} control states was used up"
            if self.stopped is not None:
                break
            for outcome, update in self.model.alphabet[position.node].items():
                transition, missing = self._put(here, position, state, outcome, update, projected, queue)
                if missing:
                    return missing
                self.outgoing[here].append(transition)
        if self._progress is not None:
            self._progress(len(self.states), len(self.states))
        return set()

    def _fixed_updates(self) -> dict[tuple[str, str], Any]:
        return {
            (node, outcome): freeze(dict(update))
            for node, outcomes in self.model.alphabet.items()
            for outcome, update in outcomes.items()
            if not callable(update)
        }

    def _put(
        self,
        here: int,
        position: Position,
        state: Mapping[str, Any],
        outcome: str,
        update: Update,
        projected: set[str],
        queue: deque[int],
    ) -> tuple[Transition, set[str]]:
        step = self._step
        attempt = 1
        try:
            entered, attempt = step.enter(position, state)
            report = self._fixed.get((position.node, outcome))
            if report is None:
                assert callable(update)
                recorder = Recorder(entered)
                try:
                    report = update(recorder)
                except Exception as error:
                    raise RunError(f"outcome {outcome!r} of node {position.node!r} raised {told(error)}") from error
                missing = recorder.reads - projected
                if missing and projected & self._writable[position.node]:
                    return Transition(here, outcome, None, None, 1, (), None), missing
            following, after, event, _ = step.leave(position, entered, report)
            decided = after if self._log is None else {**after, self._log: entered[self._log]}
            missing = self._unseen_reads(position.node, decided) - projected
            if missing:
                return Transition(here, outcome, None, None, 1, (), None), missing
            truths = self._evaluated(position.node, decided)
            self._look_again(position.node, decided, event.choice, truths)
        except RunError as error:
            return Transition(here, outcome, None, None, attempt, (), str(error)), set()
        known = len(self.states)
        target = self._add(following, after, (here, outcome), self.depths[here] + 1)
        if target == known:
            queue.append(target)
        return Transition(here, outcome, target, event.choice, event.attempt, truths, None), set()

    def _add(self, position: Position, state: Mapping[str, Any], parent: tuple[int, str] | None, depth: int) -> int:
        reason = position.reason if position.node in self._reasoned else None
        values = [read(state[name]) for name, read in self._reads]
        for (name, _), value in zip(self._reads, values, strict=True):
            if size(value) > MAX_ELEMENTS:
                self.stopped = f"key {name!r}, which routing reads, holds more than {MAX_ELEMENTS} elements"
        key = (position.node, reason, *map(canonical, values))
        found = self._index.setdefault(key, len(self.states))
        if found == len(self.states):
            self.positions.append(position)
            self.states.append(state)
            self.parents.append(parent)
            self.depths.append(depth)
            self.outgoing.append([])
        return found

    def _unseen_reads(self, node: str, state: Mapping[str, Any]) -> set[str]:
        """Give what a plain router that declares nothing reads: it may read the events too."""
        conditional = self._conditionals.get(node)
        if (
            conditional is None
            or not isinstance(conditional.decision, RouterDecision)
            or conditional.decision.reads is not None
        ):
            return set()
        recorder = Recorder(state)
        conditional.decision.router(recorder)
        return recorder.reads

    def _evaluated(self, node: str, state: Mapping[str, Any]) -> tuple[RuleTruth, ...]:
        conditional = self._conditionals.get(node)
        if conditional is None or isinstance(conditional.decision, RouterDecision):
            return ()
        key = self._looked_at(node, conditional.decision.reads, state)
        if key not in self._truths:
            self._truths[key] = evaluate(node, conditional.decision.rules, conditional.targets, state)
        return self._truths[key]

    def _looked_at(self, node: str, reads: Iterable[str], state: Mapping[str, Any]) -> Any:
        return (node, *(canonical(self._definition.keys[name].read(state[name])) for name in reads))

    def _look_again(self, node: str, state: Mapping[str, Any], choice: Choice, truths: tuple[RuleTruth, ...]) -> None:
        """Refuse a decision that differs between two looks at what it may read."""
        conditional = self._conditionals.get(node)
        if conditional is None:
            return
        if isinstance(conditional.decision, RouterDecision):
            reads = self.projection if conditional.decision.reads is None else conditional.decision.reads
            expected = self._routes.setdefault(self._looked_at(node, reads, state), choice.route)
            same = choice.route == expected
        else:
            expected = next((row.rule.name for row in truths if row.holds), None)
            erring = any(None in row.truths for row in truths)
            same = erring or choice.rule == expected
        if not same:
            raise RunError(
                f"node {node!r} decides differently for the same reads: {choice.rule or choice.route!r}, where it was "
                f"{expected!r} before; conditions and routers must be pure functions of the typed reads they declare",
                node=node,
            )

    @property
    def complete(self) -> bool:
        """Whether everything reachable was explored."""
        return self.stopped is None

    @property
    def transitions(self) -> Iterator[Transition]:
        """Every transition, in the order of discovery."""
        for outgoing in self.outgoing:
            yield from outgoing

    @cached_property
    def size(self) -> int:
        """The number of transitions: distinct pairs of control state and outcome."""
        return sum(map(len, self.outgoing))

    @cached_property
    def cycles(self) -> list[list[int]]:
        """The loops among the control states; a run can stay in each for ever."""
        ways = {
            index: [edge.target for edge in outgoing if edge.target is not None]
            for index, outgoing in enumerate(self.outgoing)
        }
        return loops(ways)

    def entered(self, index: int) -> Mapping[str, Any]:
        """Give the state that an action sees in a control state: after the entry updates.

        Args:
            index: the control state.
        """
        if index not in self._entered:
            self._entered[index] = self._step.enter(self.positions[index], self.states[index])[0]
        return self._entered[index]

    def script_to(self, index: int) -> Script:
        """Give the shortest script that reaches a control state.

        Args:
            index: the control state.
        """
        script = []
        parent = self.parents[index]
        while parent is not None:
            before, outcome = parent
            script.append((self.positions[before].node, outcome))
            parent = self.parents[before]
        return tuple(reversed(script))

    def script_through(self, edge: Transition) -> Script:
        """Give the shortest script that ends with a transition.

        Args:
            edge: the transition.
        """
        return (*self.script_to(edge.source), (self.positions[edge.source].node, edge.outcome))

    @cached_property
    def to_end(self) -> list[int | None]:
        """For each control state the fewest executions that end the run, or ``None`` where none does."""
        sources: list[list[int]] = [[] for _ in self.states]
        distance: list[int | None] = [0 if place.node == END else None for place in self.positions]
        for edge in self.transitions:
            if edge.target is not None:
                sources[edge.target].append(edge.source)
            else:
                distance[edge.source] = 1
        queue = deque(sorted((i for i, d in enumerate(distance) if d is not None), key=lambda i: distance[i] or 0))
        while queue:
            index = queue.popleft()
            for source in sources[index]:
                if distance[source] is None:
                    distance[source] = (distance[index] or 0) + 1
                    queue.append(source)
        return distance

    def finish(self, index: int, limit: int) -> Script:
        """Give a shortest script from a control state to the end of the run.

        Args:
            index: the control state.
            limit: executions at most, for states from which no run ends.
        """
        script: list[tuple[str, str]] = []
        here: int | None = index
        while here is not None and self.outgoing[here] and len(script) < limit:
            edge = min(self.outgoing[here], key=self._rest)
            script.append((self.positions[here].node, edge.outcome))
            here = edge.target
        return tuple(script)

    def through(self, edge: Transition) -> float:
        """Give the node executions of the shortest run through a transition; infinity where none ends.

        Args:
            edge: the transition.
        """
        return self.depths[edge.source] + 1 + self._rest(edge)

    def _rest(self, edge: Transition) -> float:
        if edge.target is None:
            return 0
        rest = self.to_end[edge.target]
        return float("inf") if rest is None else rest

    @cached_property
    def counts(self) -> tuple[list[int], list[int]] | None:
        """For each control state, how many scripts complete a run from it and how long the longest is.

        ``None`` where the space is not complete or has a cycle.
        """
        if not self.complete or self.cycles:
            return None
        scripts, longest = [0] * len(self.states), [0] * len(self.states)
        for index in reversed(self._topological()):
            if self.positions[index].node == END:
                scripts[index] = 1
            for edge in self.outgoing[index]:
                scripts[index] += 1 if edge.target is None else scripts[edge.target]
                rest = 0 if edge.target is None else longest[edge.target]
                longest[index] = max(longest[index], rest + 1)
        return scripts, longest

    def _topological(self) -> list[int]:
        waiting = [0] * len(self.states)
        for edge in self.transitions:
            if edge.target is not None:
                waiting[edge.target] += 1
        order = [0]
        for index in order:
            for edge in self.outgoing[index]:
                if edge.target is not None:
                    waiting[edge.target] -= 1
                    if not waiting[edge.target]:
                        order.append(edge.target)
        return order

    def scripts(self) -> Iterator[Script]:
        """Go through every complete script, in the order of the alphabet.

        Raises:
            ValueError: there is no finite list of them.
        """
        if self.counts is None:
            raise ValueError("the scripts cannot be listed: a run may go on for ever, or the space is not complete")
        path: list[tuple[str, str]] = []
        work: list[Iterator[Transition]] = [iter(self.outgoing[0])]
        while work:
            edge = next(work[-1], None)
            if edge is None:
                work.pop()
                if path:
                    path.pop()
                continue
            path.append((self.positions[edge.source].node, edge.outcome))
            if edge.target is None or not self.outgoing[edge.target]:
                yield tuple(path)
                path.pop()
            else:
                work.append(iter(self.outgoing[edge.target]))


def explore(
    model: Model,
    *,
    max_states: int = MAX_STATES,
    max_seconds: float | None = None,
    progress: Progress | None = None,
) -> StateSpace:
    """Explore every outcome script of a model.

    Args:
        model: the graph under test.
        max_states: the budget of control states.
        max_seconds: the budget of time.
        progress: called now and then with states explored and states known.

    Returns:
        The space; ``stopped`` says why it is not complete, if it is not.
    """
    return StateSpace(model, max_states=max_states, max_seconds=max_seconds, progress=progress)
