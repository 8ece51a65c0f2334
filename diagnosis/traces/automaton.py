"""The legal traces of a model: its control states, kept as a set because a trace does not tell every outcome."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from diagnosis.runtime import END, Model, RuleTruth, freeze
from diagnosis.traces.deviation import TraceFileError
from diagnosis.traces.seen import Seen, Way
from diagnosis.verify import MAX_STATES, Progress, StateSpace
from diagnosis.verify.canonical import canonical
from diagnosis.verify.paths import Transition
from diagnosis.verify.reads import Recorder
from diagnosis.verify.winners import contests_of


class Move(NamedTuple):
    """One transition between control states, with all that a trace can tell of it.

    Attributes:
        node: the node that was executed.
        branch: the branch that it was executed in; empty outside branches.
        attempt: which attempt it was.
        outcome: what its event tells; ``None`` where traces tell no outcomes.
        choices: node and reason code of each way on.
        ways: how many of them may go on: all, or the one that wins.
        target: the control state after it.
        ends: whether the run ends with it.
    """

    node: str
    branch: str
    attempt: int
    outcome: str | None
    choices: tuple[tuple[str, str], ...]
    ways: tuple[int, ...]
    target: int
    ends: bool

    def fits(self, seen: Seen) -> bool:
        """Tell whether it may be what a trace shows.

        Args:
            seen: one node execution of the trace.
        """
        if self.node != seen.node or self.branch != seen.branch:
            return False
        if seen.attempt is not None and self.attempt != seen.attempt:
            return False
        if seen.outcome is not None and self.outcome is not None and self.outcome != seen.outcome:
            return False
        if seen.ways is None:
            return not self.ends
        if seen.exact and len(self.choices) > 1 and len(seen.ways) not in self.ways:
            return False
        return all(self.allows(way) for way in seen.ways)

    def allows(self, way: Way, *, reason: bool = True) -> bool:
        """Tell whether a way is one of its choices.

        Args:
            way: a way of a trace.
            reason: whether the reason code counts.
        """
        choices = self.choices if way.opens < 0 else self.choices[way.opens : way.opens + 1]
        return any(
            (not reason or code == way.reason) and (way.to is None or self._leads(target, way.to))
            for target, code in choices
        )

    def _leads(self, target: str, to: str) -> bool:
        if to == END:
            return self.ends
        # A branch that is routed to END goes on at the join.
        return target == to or (target == END and not self.ends)


class States:
    """A set of control states: where a run may stand after what a trace has shown so far.

    Args:
        automaton: the legal traces.
        members: the control states, in ascending order.
    """

    def __init__(self, automaton: Automaton, members: tuple[int, ...]) -> None:
        self._automaton = automaton
        self.members = members
        self._steps: dict[Seen, States] = {}
        self._ends: dict[Seen, Mapping[Any, Mapping[str, Any]]] = {}

    @cached_property
    def moves(self) -> list[Move]:
        """The moves that may come next, in order of declaration."""
        return [move for member in self.members for move in self._automaton.moves[member]]

    @cached_property
    def standing(self) -> list[tuple[str, str]]:
        """The node and branch that may come next, each pair once."""
        space = self._automaton.space
        return list(dict.fromkeys((space.node(member), space.branch(member)) for member in self.members))

    @cached_property
    def onward(self) -> list[tuple[Move, States | None]]:
        """Each different move that may come next, with where it leads; ``None`` for END."""
        found: dict[tuple[Any, ...], list[Move]] = {}
        for move in self.moves:
            found.setdefault((*move[:3], move.choices, move.ends), []).append(move)
        return [(moves[0], self._automaton.states(move.target for move in moves)) for moves in found.values()]

    def step(self, seen: Seen) -> States | None:
        """Go on by one node execution.

        Args:
            seen: what a trace shows.

        Returns:
            The states after it, or ``None`` where there are none.
        """
        if seen in self._steps:
            return self._steps[seen]
        following = self._automaton.states(move.target for move in self.moves if move.fits(seen) and not move.ends)
        if following is not None:
            self._steps[seen] = following
        return following

    def endings(self, seen: Seen) -> Mapping[Any, Mapping[str, Any]]:
        """Give what a trace may say of its ending: where it closes with END, or onward where the run did not end.

        Args:
            seen: its last node execution.

        Returns:
            Each summary, by a hashable form of it; nothing where the trace cannot close so.
        """
        if seen not in self._ends:
            summaries = [self._automaton.summary(move) for move in self.moves if move.fits(seen)]
            found = {canonical(freeze(summary)): summary for summary in summaries}
            if not found:
                return found
            self._ends[seen] = found
        return self._ends[seen]


class Automaton:
    """The legal traces of a model, made deterministic as they are needed.

    Args:
        model: the graph.
        max_states: the budget of control states.
        max_seconds: the budget of time.
        progress: called now and then while exploring.

    Attributes:
        moves: for each control state, the moves that lead on.
        start: where runs start.
        nodes: the nodes of the graph.
        reasons: source -> its reason codes.
        edges: the pairs of nodes that an edge joins.
        shortest: the node executions of the shortest run.

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

        def explored(*extra: str) -> StateSpace:
            return StateSpace(model, extra=extra, max_states=max_states, max_seconds=max_seconds, progress=progress)

        self.space = explored()
        wanted = self._summary_reads() - set(self.space.projection)
        if wanted:
            self.space = explored(*wanted)
        if not self.space.complete:
            raise TraceFileError(
                f"traces of graph {model.name!r} cannot be checked: {self.space.stopped}; "
                "what was not explored cannot be told from what is wrong"
            )
        self._known: dict[tuple[int, ...], States] = {}
        self._races = contests_of(model.graph)
        self.moves = [[self._move(edge) for edge in edges if _shown(edge)] for edges in self.space.outgoing]
        self.start = self._state((0,))
        self.shortest = self.space.shortest or 0
        self.nodes = model.graph.definition.names
        self.edges, self.reasons = self._declared()

    def _summary_reads(self) -> set[str]:
        """Give the keys that the summary of a run reads."""
        reads: set[str] = set()
        if self.model.summary is not None:
            for index, state in enumerate(self.space.states):
                recorder = Recorder(state)
                self.model.summary(None, recorder)
                reads |= recorder.reads
                for edge in self.space.outgoing[index]:
                    if edge.target is not None and self.space.node(edge.target) == END:
                        recorder = Recorder(self.space.states[edge.target])
                        self.model.summary(self.space.node(index), recorder)
                        reads |= recorder.reads
        return reads

    def _move(self, edge: Transition) -> Move:
        space, target = self.space, edge.target
        assert target is not None
        outcome = None
        if self.model.branched:
            here = space.mover_of(edge)
            done = space.moves.execute(space.positions[edge.source], space.states[edge.source], here, edge.outcome)
            outcome = done.reported.event.outcome if done.reported is not None else None
        choices = tuple((choice.target, choice.reason) for choice in edge.choices)
        # Only one goes on from a race, and where all branches lead straight to the join.
        alone = any(race.source == space.node(edge.source) for race in self._races)
        alone = alone or len({choice.target for choice in edge.choices}) == 1
        ways = (1,) if edge.winner is not None else (1, len(choices)) if alone else (len(choices),)
        return Move(
            space.node(edge.source),
            space.branch(edge.source),
            edge.attempt,
            outcome,
            choices,
            ways,
            target,
            space.node(target) == END,
        )

    def _declared(self) -> tuple[set[tuple[str, str]], dict[str, dict[str, None]]]:
        topology = self.model.graph.topology
        edges = {(edge.source, edge.target) for edge in topology.edges}
        joins = [fork.join for fork in topology.forks]
        edges |= {(edge.source, join) for edge in topology.edges if edge.ends_branch for join in joins}
        reasons: dict[str, dict[str, None]] = {}
        for edge in topology.edges:
            reasons.setdefault(edge.source, {}).update(dict.fromkeys(edge.reasons))
        for moves in self.moves:
            for move in moves:
                reasons.setdefault(move.node, {}).update((code, None) for _, code in move.choices)
        return edges, reasons

    def states(self, members: Iterable[int]) -> States | None:
        """Give the set of control states, or ``None`` where it is empty or holds only ends of runs.

        Args:
            members: indices of control states.
        """
        found = tuple(sorted({member for member in members if self.space.node(member) != END}))
        return self._state(found) if found else None

    def _state(self, members: tuple[int, ...]) -> States:
        if members not in self._known:
            self._known[members] = States(self, members)
        return self._known[members]

    def truths(self, states: States, node: str) -> list[tuple[RuleTruth, ...]]:
        """Give each way in which the rules of a node may come out in a set of states.

        Args:
            states: the states.
            node: the node.
        """
        found: dict[tuple[RuleTruth, ...], None] = {}
        for member in states.members:
            if self.space.node(member) == node:
                found.update((edge.truths, None) for edge in self.space.outgoing[member] if edge.truths)
        return list(found)

    def summary(self, move: Move | None) -> Mapping[str, Any]:
        """Give what a trace says of the ending.

        Args:
            move: the last move; ``None`` gives only the keys, as of a run that has just begun.
        """
        node = move.node if move is not None and move.ends else None
        reason = move.choices[0][1] if move is not None and move.ends else None
        found = {"final_node": node, "termination_reason": reason}
        if self.model.summary is not None:
            found.update(self.model.summary(node, self.space.states[0 if move is None else move.target]))
        return found

    @cached_property
    def _endings(self) -> dict[str, dict[str, dict[Any, Any]]]:
        """Final node -> key of the summary -> each value that it has in some run, by a hashable form."""
        found: dict[str, dict[str, dict[Any, Any]]] = {}
        for moves in self.moves:
            for move in moves:
                for key, value in self.summary(move).items() if move.ends else ():
                    found.setdefault(move.node, {}).setdefault(key, {})[canonical(freeze(value))] = value
        return found

    def endings_at(self, node: str | None) -> Mapping[str, Mapping[Any, Any]]:
        """Give the values that the summaries of runs have, which end at a node.

        Args:
            node: the final node.

        Returns:
            Key -> values, each by a hashable form of it; nothing where no run ends there.
        """
        return self._endings.get(node or "", {})


def _shown(edge: Transition) -> bool:
    """Tell whether a trace can show a transition: it is part of a run that did not stop there."""
    return edge.target is not None and edge.choice is not None and not edge.hidden
