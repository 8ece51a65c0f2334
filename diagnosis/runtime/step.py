"""The pure step in two halves: ``enter`` before a node's action, ``leave`` after it.

The runtime awaits the action between the two; exploration puts every outcome between them. Nothing here waits, logs or
remembers: a run's position and state go in and come out.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from diagnosis.runtime.decisions import Event
from diagnosis.runtime.definition import END, Definition
from diagnosis.runtime.errors import DefinitionError, InputError, MergeError, ValueRefusedError, one_of
from diagnosis.runtime.nodestep import NodeStep, Position, Report, merges_of

__all__ = ["Position", "Report", "Step"]


class Step:
    """The step of one checked graph.

    Args:
        definition: a graph without findings.

    Attributes:
        definition: the graph.
        start: the position that runs start at.
    """

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self.start = Position(definition.entry or END)
        self._initial = {key: strategy.initial for key, strategy in definition.keys.items()}
        merges = merges_of(definition)
        self._nodes = {name: NodeStep(definition, definition.node(name), merges) for name in definition.names}

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

    def enter(self, position: Position, state: Mapping[str, Any]) -> tuple[Mapping[str, Any], int]:
        """Do what comes before a node's action.

        Args:
            position: where the run stands; not END.
            state: the state there; it is not changed.

        Returns:
            The state that the action sees, and its attempt, from 1.

        Raises:
            EffectError: an entry update raised or wrote what it does not declare.
            ConditionError: the attempt function raised.
        """
        return self.at(position.node).enter(state)

    def leave(
        self, position: Position, state: Mapping[str, Any], update: object
    ) -> tuple[Position, dict[str, Any], Event, Report]:
        """Do what comes after a node's action: check, merge, decide, record, move.

        Args:
            position: where the run stands; not END.
            state: the state that ``enter`` gave; it is not changed.
            update: what the action returned.

        Returns:
            The next position, the next state, the event with its decision, and the update as it was taken in.

        Raises:
            ReportError: the update is no mapping, or holds a value that cannot be kept.
            UndeclaredKeyError: it holds a key that the graph does not declare.
            OwnershipError: it holds a key that the node does not own.
            EffectError: an exit update raised or wrote what it does not declare.
            ConditionError: a condition, the router or a reading raised.
            UnmappedRouteError: no rule held, or the route key is not in the mapping.
        """
        if not isinstance(state, dict | MappingProxyType):
            state = {**state}
        return self.at(position.node).leave(position, state, update)
