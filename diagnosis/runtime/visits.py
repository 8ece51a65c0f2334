"""Visits: what a compiled subgraph wrote since it was entered, which is what it hands to the graph around it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from diagnosis.runtime.decisions import Event
from diagnosis.runtime.definition import Definition, Node
from diagnosis.runtime.fanouts import FanOuts
from diagnosis.runtime.frozen import FrozenList
from diagnosis.runtime.nodestep import Merges, NodeStep, Report, Writes
from diagnosis.runtime.position import Opening, Position


def noted_by(definition: Definition, node: str) -> dict[str, tuple[str, str]]:
    """Give the outputs that a node of a subgraph may write, each with the key and the word by which that is noted.

    Args:
        definition: the graph.
        node: the node.
    """
    return {key: noted for key, noted in definition.noted.items() if node in definition.private[noted[0]]}


class VisitStep(NodeStep):
    """The step of a node in a compiled subgraph, which also notes the outputs of the subgraph that it writes.

    Args:
        definition: the graph.
        node: the node.
        merges: how the keys of the graph are merged.
        fan_outs: the fan-outs of the graph.
    """

    __slots__ = ("_all_merges", "_noted")

    def __init__(self, definition: Definition, node: Node, merges: Merges, fan_outs: FanOuts) -> None:
        super().__init__(definition, node, merges, fan_outs)
        self._all_merges = merges
        self._noted = noted_by(definition, node.name)

    def enter(self, state: Mapping[str, Any], log: Writes | None = None) -> tuple[Mapping[str, Any], int]:
        """Do what comes before the action; arguments are those of the step of any node."""
        writes: Writes = []
        state, attempt = super().enter(state, writes)
        notes = self._notes(state, writes)
        if log is not None:
            log += writes
        return ({**state, **notes} if notes else state), attempt

    def leave(
        self,
        position: Position,
        state: Mapping[str, Any],
        update: object,
        attempt: int | None = None,
        log: Writes | None = None,
    ) -> tuple[Position | Opening, dict[str, Any], Event, Report]:
        """Do what comes after the action; arguments are those of the step of any node."""
        writes: Writes = []
        following, merged, event, report = super().leave(position, state, update, attempt, writes)
        merged.update(self._notes(merged, writes))
        if log is not None:
            log += writes
        return following, merged, event, report

    def _notes(self, state: Mapping[str, Any], writes: Writes) -> Mapping[str, Any]:
        """Give the changed notes, and put them behind the writes; the entry of a subgraph writes notes of its own."""
        changed: dict[str, Any] = {}
        written = dict.fromkeys([key for key, _ in writes])
        for key in written:
            note, word = self._noted.get(key, ("", ""))
            merge = self._all_merges.get(note)
            if merge is None or note in written:
                continue
            value = FrozenList((word,))
            changed[note] = merge(changed.get(note, state[note]), value)
            writes.append((note, value))
        return MappingProxyType(changed)
