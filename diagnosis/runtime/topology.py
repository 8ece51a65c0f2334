"""A graph as something to look at: its nodes and edges, with what stands on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from diagnosis.runtime.decisions import Decision
from diagnosis.runtime.definition import END, START, Definition, Repeat
from diagnosis.runtime.display import Shown


@dataclass(frozen=True, slots=True)
class TopologyNode:
    """A node of the picture.

    Attributes:
        name: its id.
        kind: its kind, as declared; ``start`` and ``end`` for the sentinels.
    """

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class TopologyEdge:
    """An edge of the picture: one route key, or one fixed edge.

    Attributes:
        source: a node or START.
        target: a node or END.
        kind: ``fixed`` or ``conditional``.
        route: the route key; ``None`` on a fixed edge.
        reasons: the reason codes that travel on it, in rule order; empty where the edge repeats the one before it.
    """

    source: str
    target: str
    kind: Literal["fixed", "conditional"]
    route: str | None
    reasons: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Topology(Shown):
    """The nodes and edges of a graph, exactly as declared.

    Attributes:
        name: the graph's name.
        nodes: START, the nodes in order of declaration, END.
        edges: every edge, by source in node order; route keys in the order of the mapping.
    """

    name: str
    nodes: tuple[TopologyNode, ...]
    edges: tuple[TopologyEdge, ...]

    def text(self) -> str:
        """Give a line a node and a line an edge."""
        inner = len(self.nodes) - 2
        lines = [f"{self.name}: {inner} nodes, {len(self.edges)} edges"]
        for node in self.nodes:
            if node.kind == "end":
                continue
            lines.append(f"{node.name} ({node.kind})")
            for edge in self.edges:
                if edge.source == node.name:
                    route = "" if edge.route is None else f" [{edge.route}]"
                    reasons = f" {', '.join(edge.reasons)}" if edge.reasons else ""
                    lines.append(f"  -> {edge.target}{route}{reasons}")
        return "\n".join(lines)


def topology_of(definition: Definition) -> Topology:
    """Give the picture of a graph.

    Args:
        definition: a graph without findings.
    """
    nodes = [TopologyNode(START, "start")]
    nodes += [TopologyNode(name, definition.node(name).kind) for name in definition.names]
    nodes.append(TopologyNode(END, "end"))
    edges: list[TopologyEdge] = []
    for source in (node.name for node in nodes):
        for edge in definition.edges:
            if edge.source == source:
                own = () if source == START or isinstance(edge.reason, Repeat) else (edge.reason,)
                edges.append(TopologyEdge(source, edge.target, "fixed", None, own))
        conditional = definition.conditional(source)
        if conditional is None:
            continue
        for route, target in conditional.targets.items():
            reasons: tuple[str, ...] = (route,)
            if isinstance(conditional.decision, Decision):
                reasons = tuple(
                    dict.fromkeys(rule.reason for rule in conditional.decision.rules if route in rule.routes)
                )
            edges.append(TopologyEdge(source, target, "conditional", route, reasons))
    return Topology(definition.name, tuple(nodes), tuple(edges))
