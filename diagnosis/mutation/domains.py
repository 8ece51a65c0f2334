"""The values that the conditions of a graph meet, as exploration finds them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from diagnosis.runtime import Condition
from diagnosis.verify import StateSpace
from diagnosis.verify.canonical import canonical


class Met(NamedTuple):
    """What a condition meets at a decision.

    Attributes:
        values: what each key of its reads reads as.
        state: a state in which they do.
    """

    values: tuple[Any, ...]
    state: Mapping[str, Any]


class Domains:
    """What can be read at each decision of a model.

    Args:
        space: the explored control states.

    Attributes:
        numbers: the keys that hold a whole number in some control state.
    """

    def __init__(self, space: StateSpace) -> None:
        self._keys = space.model.graph.definition.keys
        self._projection = set(space.projection)
        self.numbers = frozenset(key for state in space.states for key, value in state.items() if type(value) is int)
        self._states: dict[str, dict[int, Mapping[str, Any]]] = {}
        for edge in space.transitions:
            after = edge.after
            if after is None and edge.target is not None:
                after = space.states[edge.target]
            if after is not None and edge.choice is not None:
                self._states.setdefault(space.node(edge.source), {})[id(after)] = after

    def of(self, node: str, condition: Condition) -> dict[Hashable, Met]:
        """Give what a condition meets at a node, by the canonical form of the values, in the order of discovery.

        Args:
            node: the node that decides.
            condition: one of its conditions.

        Returns:
            The different values; none where the condition reads what is not explored.
        """
        if not self._projection.issuperset(condition.reads):
            return {}
        found: dict[Hashable, Met] = {}
        for state in self._states.get(node, {}).values():
            values = tuple(self._keys[key].read(state[key]) for key in condition.reads)
            found.setdefault(canonical(values), Met(values, state))
        return found
