"""The pure step in two halves: ``enter`` before a node's action, ``leave`` after it.

The runtime awaits the action between the two; exploration puts every outcome between them. Nothing here waits, logs or
remembers: a run's position and state go in and come out. In a run with branches both halves move one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from diagnosis.runtime.branching import Branching, Reported, closable
from diagnosis.runtime.decisions import Event
from diagnosis.runtime.definition import END, Definition
from diagnosis.runtime.errors import DefinitionError, InputError, MergeError, RunError, ValueRefusedError, one_of
from diagnosis.runtime.fanouts import FanOuts
from diagnosis.runtime.nodestep import NodeStep, Report, Writes, merges_of
from diagnosis.runtime.position import Child, Opening, Place, Position, child_at, movable, named, standing, with_child
from diagnosis.runtime.visits import VisitStep, noted_by


class Entered(NamedTuple):
    """What stands ready for a node's action.

    Attributes:
        position: where the run stands now; goes into ``leave``.
        state: the state outside branches; goes into ``leave``.
        view: what the action sees.
        attempt: which attempt of the node it is, from 1.
    """

    position: Place
    state: Mapping[str, Any]
    view: Mapping[str, Any]
    attempt: int


class Step:
    """The step of one checked graph.

    Args:
        definition: a graph without findings.

    Attributes:
        definition: the graph.
        start: the position that runs start at.
        fan_outs: where branches begin and meet.
        branching: how they open, end and join.
    """

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self.start = Position(definition.entry or END)
        self._initial = {key: strategy.initial for key, strategy in definition.keys.items()}
        merges = merges_of(definition)
        self.fan_outs = FanOuts(definition)
        self.branching = Branching(definition)
        self._nodes = {
            name: (VisitStep if noted_by(definition, name) else NodeStep)(
                definition, definition.node(name), merges, self.fan_outs
            )
            for name in definition.names
        }

    def begin(self, values: Mapping[str, Any]) -> tuple[Position, dict[str, Any]]:
        """Give the position and state that a run starts with.

        Args:
            values: the input: key -> value.

        Returns:
            The first position, and a state that holds every declared key.

        Raises:
            InputError: a key that the graph does not take, or a value of the wrong type.
        """
        definition = self.definition
        if type(values) is not dict and not isinstance(values, Mapping):
            raise InputError(
                f"the input of graph {definition.name!r} is a mapping from key to value, found {type(values).__name__}"
            )
        allowed = definition.inputs if definition.inputs is not None else definition.keys
        state = self._initial.copy()
        for key, value in values.items():
            if key not in allowed:
                raise InputError(f"the input of graph {definition.name!r} holds {key!r}; it takes {one_of(allowed)}")
            if definition.inputs is not None and not isinstance(value, definition.inputs[key]):
                raise InputError(
                    f"the input of graph {definition.name!r}: {key!r} must be a {definition.inputs[key].__name__}, "
                    f"found {type(value).__name__}"
                )
            try:
                state[key] = definition.keys[key].start(value)
            except (ValueRefusedError, MergeError) as error:
                raise InputError(f"the input of graph {definition.name!r}: {key!r}: {error}") from error
        return self.start, state

    def at(self, node: str) -> NodeStep:
        """Give the step of one node.

        Args:
            node: a node's name.

        Raises:
            DefinitionError: there is no such node.
        """
        found = self._nodes.get(node)
        if found is None:
            raise DefinitionError(f"no node to execute at {node!r}; nodes are {one_of(self._nodes)}")
        return found

    def enabled(self, position: Place) -> tuple[str, ...]:
        """Give the branches that may move, in order of declaration; ``""`` is the one of a run without branches.

        Args:
            position: where the run stands.
        """
        if type(position) is Position and position.node == END:
            return ()
        return tuple(here.branch for here in movable(position))

    def enter(self, position: Place, state: Mapping[str, Any], branch: str = "") -> Entered:
        """Do what comes before a node's action.

        Args:
            position: where the run stands; not END.
            state: the state outside branches; it is not changed.
            branch: the branch that moves.

        Returns:
            What ``leave`` needs, what the action sees, and its attempt, from 1.

        Raises:
            DefinitionError: no such branch stands at a node.
            EffectError: an entry update raised or wrote what it does not declare.
            ConditionError: the attempt function raised.
        """
        if type(position) is Position:
            entered, attempt = self.at(position.node).enter(state)
            return Entered(position, entered, entered, attempt)
        here = named(position, branch)
        child = child_at(position, here.path)
        child, attempt = self.prepared(child, self.at(here.node), here.node)
        child = standing(child, here, "running")
        return Entered(with_child(position, here.path, child), state, child.state, attempt)

    def prepared(self, child: Child, step: NodeStep, node: str) -> tuple[Child, int]:
        """Do what comes before the action of a node in a branch.

        Args:
            child: the branch.
            step: the step of the node.
            node: the node.

        Returns:
            The branch, which sees what the action is to see, and the attempt.
        """
        writes: Writes = []
        seen, attempt = step.enter(child.state, writes)
        if not writes:
            return child, attempt
        wrote = (child.writes, tuple([(key, value, node) for key, value in writes]))
        return Child(child.branch, child.place, seen, wrote), attempt

    def leave(
        self, position: Place, state: Mapping[str, Any], update: object, branch: str = ""
    ) -> tuple[Place, Mapping[str, Any], Event | None, Report]:
        """Do what comes after a node's action: check, merge, decide, record, move.

        Args:
            position: the position that ``enter`` gave.
            state: the state that ``enter`` gave; it is not changed.
            update: what the action returned: an update or a Command.
            branch: the branch that moves.

        Returns:
            The next position, the next state outside branches, the event with its decision, and the update as it was
            taken in. Where the last branch of a fork ends, what the branches wrote is in the state. Where a branch
            fails that merely loses by it, there is no event.

        Raises:
            DefinitionError: no such branch stands at a node.
            ReportError: the update is no mapping, or holds a value that cannot be kept.
            UndeclaredKeyError: it holds a key that the graph does not declare.
            OwnershipError: it holds a key that the node does not own.
            EffectError: an exit update raised or wrote what it does not declare.
            ConditionError: a condition, the router or a reading raised.
            UnmappedRouteError: no rule held, or the route key is not in the mapping.
            JoinError: what the branches of a fork wrote cannot be merged.
        """
        if type(position) is Position:
            if not isinstance(state, dict | MappingProxyType):
                state = {**state}
            following, after, event, report = self.at(position.node).leave(position, state, update)
            if type(following) is Opening:
                place, opened = self.open(following, after)
                return place, opened, event, report
            return following, after, event, report  # type: ignore[return-value]
        here = named(position, branch)
        try:
            reported = self.reported(child_at(position, here.path), self.at(here.node), here, update)
        except RunError as error:
            settled = self.branching.failed(position, state, here.path, error)
            return settled.place, settled.state, None, {}
        settled = self.branching.moved(position, state, here.path, reported)
        return settled.place, settled.state, reported.event._replace(branch=here.branch), reported.report

    def open(self, opening: Opening, state: Mapping[str, Any]) -> tuple[Place, Mapping[str, Any]]:
        """Open a fork outside branches.

        Args:
            opening: what every branch starts with.
            state: the state.
        """
        fork = self.branching.forked(opening, state)
        if not closable(fork):
            return fork, state
        settled = self.branching.settled(fork, state, (0,))
        return settled.place, settled.state

    def reported(
        self, child: Child, step: NodeStep, here: Position, update: object, attempt: int | None = None
    ) -> Reported:
        """Take in what the action of a node in a branch returned; the branch has not moved yet.

        Args:
            child: the branch.
            step: the step of the node.
            here: where the branch stands.
            update: what the action returned.
            attempt: the attempt that ``enter`` gave, where it is at hand.

        Raises:
            RunError: what :meth:`leave` raises, but for joins.
        """
        writes: Writes = []
        try:
            following, after, event, report = step.leave(here, child.state, update, attempt, writes)
        except RunError as error:
            error.attempt = attempt or 1
            raise
        return Reported(following, after, writes, event, report)

    def fail(
        self, position: Place, state: Mapping[str, Any], branch: str, error: RunError
    ) -> tuple[Place, Mapping[str, Any]]:
        """Go on after the action of a branch failed: under ``any_of`` it merely loses.

        Args:
            position: where the run stands.
            state: the state outside branches.
            branch: the branch that failed.
            error: why.

        Raises:
            RunError: the error itself, or that of a branch declared before; nothing is left to go on with.
        """
        path = () if type(position) is Position else named(position, branch).path
        settled = self.branching.failed(position, state, path, error)
        return settled.place, settled.state

    def choose(self, position: Place, fork: str, winner: int) -> Place:
        """Settle beforehand which branch of an ``any_of`` wins; only that branch moves then.

        Args:
            position: where the run stands.
            fork: the name of an open fork, such as ``plan``.
            winner: the place of the branch in it, from 0.

        Raises:
            DefinitionError: there is no such fork or branch.
        """
        return self.branching.choose(position, fork, winner)
