"""Boxes: the nodes that are drawn inside one frame, since they came into the graph as one node."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from diagnosis.runtime import END, Topology, TopologyNode


@dataclass(frozen=True, slots=True)
class Box:
    """A subgraph that has keys of its own.

    Attributes:
        name: the subgraph's name.
        identifier: a plain word that is none of the nodes' identifiers.
        inside: its nodes and the boxes in it, in order of declaration.
    """

    name: str
    identifier: str
    inside: tuple[TopologyNode | Box, ...]


def boxed(topology: Topology, taken: Collection[str]) -> tuple[TopologyNode | Box, ...]:
    """Put the nodes of each subgraph between an ``enter`` and an ``exit`` into a box.

    Args:
        topology: what is drawn.
        taken: the identifiers of its nodes.

    Returns:
        Every node, in order of declaration; those of a subgraph in its box, at the place of the first of them.
    """
    kinds = {node.name: node.kind for node in topology.nodes}
    found = {
        name: _between(topology, f"{name}-START", name)
        for name, kind in kinds.items()
        if kind == "exit" and kinds.get(f"{name}-START") == "enter"
    }
    prefix = "box_"
    while any(name.startswith(prefix) for name in taken):
        prefix += "_"
    numbers = {name: f"{prefix}{number}" for number, name in enumerate(found)}

    def inside(names: frozenset[str]) -> tuple[TopologyNode | Box, ...]:
        parts: dict[str, TopologyNode | Box] = {}
        for node in topology.nodes:
            if node.name not in names:
                continue
            # The largest box that the node is in, among those that are smaller than this one.
            around = [name for name, nodes in found.items() if node.name in nodes and nodes < names]
            box = max(around, key=lambda name: len(found[name]), default=None)
            if box is None:
                parts[f"node {node.name}"] = node
            elif f"box {box}" not in parts:
                parts[f"box {box}"] = Box(box, numbers[box], inside(found[box]))
        return tuple(parts.values())

    return inside(frozenset(kinds))


def _between(topology: Topology, first: str, last: str) -> frozenset[str]:
    """Give the nodes that are reached from one node without going on from another, both included."""
    found, queue = {first, last}, [first]
    ways: dict[str, list[str]] = {}
    for edge in topology.edges:
        ways.setdefault(edge.source, []).append(edge.target)
    while queue:
        for target in ways.get(queue.pop(), ()):
            if target not in found and target != END:
                found.add(target)
                queue.append(target)
    return frozenset(found)
