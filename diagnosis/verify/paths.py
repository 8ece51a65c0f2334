"""Control states and transitions as a graph of its own: scripts, lengths and loops."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from diagnosis.runtime import END, Choice, Place, Position, RuleTruth, loops

if TYPE_CHECKING:
    from diagnosis.verify.packedspace import PackedSpace

Call = tuple[str, str] | tuple[str, str, str]
"""Node and outcome; and, where the node opens an ``any_of`` fork, the branch that wins it."""

Script = tuple[Call, ...]
"""What is executed, one after the other: branches in order of declaration, of an ``any_of`` only the one that wins."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One outcome put into one control state.

    Attributes:
        source: index of the control state.
        outcome: the name of the outcome.
        target: index of the control state after it; ``None`` where the run stops with an error.
        choice: the decision; ``None`` where the node failed, and where nothing of it is part of a run: see ``hidden``.
        attempt: which attempt of the node it is.
        truths: the rules of the decision, fully evaluated; empty for fixed edges, plain routers and Commands.
        error: the error of the run, where it stops with one.
        others: the further choices of a decision that opened several branches.
        winner: the branch that is to win, where an ``any_of`` fork was opened; ``None`` where all of them are to fail.
        after: what the branch sees after it, before any join; ``None`` outside branches, where it is the next state.
        hidden: whether it belongs to a branch that loses, so that its event is in no run: where all branches of an
            ``any_of`` fail, the run tells of the first one only.
        mover: the position that moved, where branches move in any order.
        won: the names of the ``any_of`` forks that closed then because the branch ended well.
        failed_in: the branch whose error stopped the run; empty outside branches.
    """

    source: int
    outcome: str
    target: int | None
    choice: Choice | None
    attempt: int
    truths: tuple[RuleTruth, ...]
    error: str | None
    others: tuple[Choice, ...] = ()
    winner: str | None = None
    after: Mapping[str, Any] | None = None
    hidden: bool = False
    mover: Position | None = None
    won: tuple[str, ...] = ()
    failed_in: str = ""

    @property
    def choices(self) -> tuple[Choice, ...]:
        """Every choice of the decision: none where there is no decision, several where it opened branches."""
        return () if self.choice is None else (self.choice, *self.others)


def script_text(script: Script, between: str = ", ") -> str:
    """Write a script, such as ``plan=ok, look=found (fast[0] wins)``.

    Args:
        script: its calls.
        between: what stands between two calls.
    """
    return between.join(
        f"{node}={outcome}" + "".join(f" ({won} wins)" for won in wins) for node, outcome, *wins in script
    )


def script_back(came: Mapping[Any, tuple[Any, Call] | None] | Sequence[tuple[int, Call] | None], place: Any) -> Script:
    """Give the script that a search followed to a place.

    Args:
        came: each place that was reached -> the place before it and the call that led on; ``None`` for the first one.
        place: one of them.
    """
    script: list[Call] = []
    before = came[place]
    while before is not None:
        place, call = before
        script.append(call)
        before = came[place]
    return tuple(reversed(script))


class Paths:
    """The control states that were found, in order of discovery, and the ways through them.

    Attributes:
        positions: where a run stands in each.
        states: the state outside branches.
        depths: the fewest node executions that lead there.
        outgoing: the transitions.
        stopped: why the search gave up, or ``None``.
        packed: the states and transitions in arrays, where there are many; all else is then made when it is asked for.
    """

    positions: Sequence[Place]
    states: Sequence[Mapping[str, Any]]
    depths: Sequence[int]
    outgoing: Sequence[list[Transition]]
    stopped: str | None
    packed: PackedSpace | None = None
    _parents: Sequence[tuple[int, Call] | None]
    _movers: Sequence[Position]

    def _show(self, packed: PackedSpace) -> None:
        """Show a packed space."""
        frontier = packed.frontier
        self.packed, self.stopped = packed, frontier.stopped
        self.positions, self.states = packed.lazy(packed.position), packed.states
        self.depths, self.outgoing = packed.lazy(frontier.depth), packed.lazy(packed.outgoing)
        self._parents, self._movers = packed.lazy(packed.parent), packed.lazy(packed.mover)

    def mover(self, index: int) -> Position:
        """Give the position that moves next in a control state.

        Args:
            index: the control state.
        """
        return self._movers[index]

    def node(self, index: int) -> str:
        """Give the node that is executed next in a control state; END where the run has ended.

        Args:
            index: the control state.
        """
        return self._movers[index].node

    def branch(self, index: int) -> str:
        """Give the branch that moves next in a control state; empty outside branches.

        Args:
            index: the control state.
        """
        return self._movers[index].branch

    def mover_of(self, edge: Transition) -> Position:
        """Give the position that moved in a transition.

        Args:
            edge: the transition.
        """
        return edge.mover or self._movers[edge.source]

    def call(self, edge: Transition) -> Call:
        """Give a transition as a script names it.

        Args:
            edge: the transition.
        """
        node = self.mover_of(edge).node
        return (node, edge.outcome) if edge.winner is None else (node, edge.outcome, edge.winner)

    @property
    def complete(self) -> bool:
        """Whether everything reachable was explored."""
        return self.stopped is None

    @property
    def transitions(self) -> Iterator[Transition]:
        """Every transition, in the order of discovery."""
        for outgoing in self.outgoing:
            yield from outgoing

    @property
    def samples(self) -> Iterable[Transition]:
        """Transitions in the order of discovery, the first of each kind at least.

        Those that are left out agree with an earlier one in node, outcome, attempt, decision and error.
        """
        return self.transitions if self.packed is None else self.packed.samples

    @cached_property
    def size(self) -> int:
        """The number of transitions: distinct control states and outcomes, and winners where an ``any_of`` opens."""
        return sum(map(len, self.outgoing)) if self.packed is None else self.packed.frontier.size

    def deeper(self, limit: int) -> Iterable[int]:
        """Give the control states to which no fewer node executions lead than one more than a limit.

        Args:
            limit: node executions.
        """
        if self.packed is None:
            return (index for index, depth in enumerate(self.depths) if depth > limit)
        return self.packed.frontier.deeper(limit)

    @cached_property
    def cycles(self) -> list[list[int]]:
        """The loops among the control states; a run can stay in each for ever."""
        return loops(dict(enumerate(self._ways))) if self.packed is None else self.packed.edges.cycles

    @cached_property
    def _ways(self) -> Sequence[Sequence[int]]:
        """For each control state those that it leads to."""
        if self.packed is not None:
            return self.packed.edges.ways
        return [[edge.target for edge in outgoing if edge.target is not None] for outgoing in self.outgoing]

    def script_to(self, index: int) -> Script:
        """Give the shortest script that reaches a control state.

        Args:
            index: the control state.
        """
        return script_back(self._parents, index)

    def script_through(self, edge: Transition) -> Script:
        """Give the shortest script that ends with a transition.

        Args:
            edge: the transition.
        """
        return (*self.script_to(edge.source), self.call(edge))

    @cached_property
    def to_end(self) -> Sequence[int | None]:
        """For each control state the fewest executions that end the run, or ``None`` where none does."""
        if self.packed is not None:
            lengths = self.packed.edges.to_end
            return self.packed.lazy(lambda index: None if lengths[index] < 0 else int(lengths[index]))
        return self._distances(hidden=1)

    def _distances(self, *, hidden: int) -> list[int | None]:
        """Give the fewest executions to the end, a hidden one counted as given."""
        sources: list[list[tuple[int, int]]] = [[] for _ in self.states]
        distance: list[int | None] = [0 if place.node == END else None for place in self._movers]
        for edge in self.transitions:
            weight = hidden if edge.hidden else 1
            if edge.target is not None:
                sources[edge.target].append((edge.source, weight))
            else:
                known = distance[edge.source]
                distance[edge.source] = weight if known is None else min(known, weight)
        queue = deque(sorted((i for i, d in enumerate(distance) if d is not None), key=lambda i: distance[i] or 0))
        while queue:
            index = queue.popleft()
            for source, weight in sources[index]:
                length, known = (distance[index] or 0) + weight, distance[source]
                if known is None or length < known:
                    distance[source] = length
                    if weight:
                        queue.append(source)
                    else:
                        queue.appendleft(source)
        return distance

    def finish(self, index: int, limit: int) -> Script:
        """Give a shortest script from a control state to the end of the run.

        Args:
            index: the control state.
            limit: executions at most, for states from which no run ends.
        """
        script: list[Call] = []
        here: int | None = index
        while here is not None and self.outgoing[here] and len(script) < limit:
            edge = min(self.outgoing[here], key=self._rest)
            script.append(self.call(edge))
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

    def _counted(self) -> tuple[Sequence[int], Sequence[int]] | None:
        """Count the scripts and the longest run from each control state, where there is a finite number."""
        if not self.complete or self.cycles:
            return None
        if self.packed is not None:
            edges = self.packed.edges
            return self.packed.lazy(edges.scripts), edges.lengths
        scripts, longest = [0] * len(self.states), [0] * len(self.states)
        for index in reversed(self.topological()):
            if self._movers[index].node == END:
                scripts[index] = 1
            for edge in self.outgoing[index]:
                scripts[index] += 1 if edge.target is None else scripts[edge.target]
                rest = 0 if edge.target is None else longest[edge.target]
                longest[index] = max(longest[index], rest if edge.hidden else rest + 1)
        return scripts, longest

    def topological(self) -> list[int]:
        """Give the control states in an order in which every transition leads onward; there must be no cycle."""
        return topological(self._ways)

    def scripts(self) -> Iterator[Script]:
        """Go through every complete script, in the order of the alphabet.

        Raises:
            ValueError: there is no finite list of them.
        """
        if self._counted() is None:
            raise ValueError("the scripts cannot be listed: a run may go on for ever, or the space is not complete")
        path: list[Call] = []
        work: list[Iterator[Transition]] = [iter(self.outgoing[0])]
        while work:
            edge = next(work[-1], None)
            if edge is None:
                work.pop()
                if path:
                    path.pop()
                continue
            path.append(self.call(edge))
            if edge.target is None or not self.outgoing[edge.target]:
                yield tuple(path)
                path.pop()
            else:
                work.append(iter(self.outgoing[edge.target]))


def topological(ways: Sequence[Sequence[int]]) -> list[int]:
    """Give what can be reached from the first place, each after all that lead to it; there must be no loop.

    Args:
        ways: for each place the places that it leads to.
    """
    waiting = [0] * len(ways)
    for targets in ways:
        for target in targets:
            waiting[target] += 1
    order = [0]
    for place in order:
        for target in ways[place]:
            waiting[target] -= 1
            if not waiting[target]:
                order.append(target)
    return order
