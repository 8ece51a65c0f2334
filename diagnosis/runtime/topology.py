"""A graph as something to look at: its nodes and edges, with what stands on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from diagnosis.runtime.decisions import Decision
from diagnosis.runtime.definition import END, START, Definition, Repeat, Wait
from diagnosis.runtime.display import Shown
from diagnosis.runtime.fanouts import FanOut, FanOuts, Origin

EdgeKind = Literal["fixed", "conditional", "goto"]


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
        kind: ``fixed``, ``conditional``, or ``goto`` for what a Command of the node may name.
        route: the route key; ``None`` on a fixed edge.
        reasons: the reason codes that travel on it, in rule order; empty where the edge repeats the one before it, and
            on a goto, whose Command gives the reason.
        parallel: whether it may open a branch.
        ends_branch: whether it leads to END from a node of a branch: there it ends the branch, and the join still runs.
    """

    source: str
    target: str
    kind: EdgeKind
    route: str | None
    reasons: tuple[str, ...]
    parallel: bool = False
    ends_branch: bool = False


@dataclass(frozen=True, slots=True)
class TopologyFork:
    """A place where branches begin, with the node where they meet.

    Attributes:
        source: the node that opens the branches.
        origin: what opens them: its ``edges``, a ``rule``, its ``router``, or a ``goto`` of its Commands.
        rule: the name of the rule that opens them, if one does.
        targets: the first nodes of the branches, each once, in order of declaration.
        join: the node that runs once, when the branches have ended.
        wait: what the join waits for: ``all_of`` or ``any_of``.
        max_concurrency: how many branches may be under way at once, or ``None``.
        routes: the route keys that open a branch each, in order; none for fixed edges.
        reason: the reason code of the rule, if a rule opens them.
    """

    source: str
    origin: Origin
    rule: str | None
    targets: tuple[str, ...]
    join: str
    wait: Wait
    max_concurrency: int | None
    routes: tuple[str, ...] = ()
    reason: str | None = None

    @property
    def by(self) -> str:
        """What opens the branches, in words."""
        words = {"edges": "its edges", "router": "its router", "goto": "its Commands"}
        return words.get(self.origin, f"rule {self.rule}")

    @property
    def waits(self) -> str:
        """What the join waits for, in words, with the number of branches at once where there is one."""
        return self.wait if self.max_concurrency is None else f"{self.wait}, at most {self.max_concurrency} at once"


@dataclass(frozen=True, repr=False)
class Topology(Shown):
    """The nodes and edges of a graph, exactly as declared.

    Attributes:
        name: the graph's name.
        nodes: START, the nodes in order of declaration, END.
        edges: every edge, by source in node order; route keys in the order of the mapping, those of gotos last.
        forks: every fan-out, by source in node order.
    """

    name: str
    nodes: tuple[TopologyNode, ...]
    edges: tuple[TopologyEdge, ...]
    forks: tuple[TopologyFork, ...] = ()

    def text(self) -> str:
        """Give a line a node, a line an edge, and a line a fork; ``=>`` is an edge that may open a branch."""
        inner = len(self.nodes) - 2
        lines = [f"{self.name}: {inner} nodes, {len(self.edges)} edges"]
        for node in self.nodes:
            if node.name == END:
                continue
            lines.append(f"{node.name} ({node.kind})")
            for edge in self.edges:
                if edge.source == node.name:
                    lines.append(f"  {_edge_text(edge)}")
            lines += [f"  {_fork_text(fork)}" for fork in self.forks if fork.source == node.name]
        return "\n".join(lines)


def _edge_text(edge: TopologyEdge) -> str:
    arrow = "=>" if edge.parallel else "->"
    route = "" if edge.route is None else f" [{edge.route}]"
    goto = " goto" if edge.kind == "goto" else ""
    reasons = f" {', '.join(edge.reasons)}" if edge.reasons else ""
    ends = " (ends its branch)" if edge.ends_branch else ""
    return f"{arrow} {edge.target}{route}{goto}{reasons}{ends}"


def _fork_text(fork: TopologyFork) -> str:
    into = ", ".join(f"[{route}]" for route in fork.routes) or ", ".join(fork.targets)
    return f"fork by {fork.by}: {into}; joined at {fork.join}: {fork.waits}"


def topology_of(definition: Definition) -> Topology:
    """Give the picture of a graph.

    Args:
        definition: a graph without findings.
    """
    nodes = [TopologyNode(START, "start")]
    nodes += [TopologyNode(name, definition.node(name).kind) for name in definition.names]
    nodes.append(TopologyNode(END, "end"))
    fan_outs = FanOuts(definition)
    forks = [_fork(definition, fan_out) for node in nodes for fan_out in fan_outs.all if fan_out.source == node.name]
    # What opens branches: a route key of a conditional edge or of a goto; all fixed edges of a source, which have none.
    opening = {(fork.source, fork.origin == "goto", route) for fork in forks for route in fork.routes or (None,)}
    edges = (
        TopologyEdge(
            source,
            target,
            kind,
            route,
            reasons,
            parallel=(source, kind == "goto", route) in opening,
            ends_branch=target == END and source in fan_outs.inside,
        )
        for source, target, kind, route, reasons in _edges(definition)
    )
    return Topology(definition.name, tuple(nodes), tuple(edges), tuple(forks))


def _edges(definition: Definition) -> Iterator[tuple[str, str, EdgeKind, str | None, tuple[str, ...]]]:
    for source in (START, *definition.names):
        for edge in definition.edges_from(source):
            own = () if source == START or isinstance(edge.reason, Repeat) else (edge.reason,)
            yield source, edge.target, "fixed", None, own
        conditional = definition.conditional(source)
        if conditional is not None:
            for route, target in conditional.targets.items():
                reasons: tuple[str, ...] = (route,)
                if isinstance(conditional.decision, Decision):
                    rules = (rule for rule in conditional.decision.rules if route in rule.routes)
                    reasons = tuple(dict.fromkeys(rule.reason for rule in rules))
                yield source, target, "conditional", route, reasons
        if definition.node_has_goto(source):
            for route, target in definition.node(source).goto.items():
                yield source, target, "goto", route, ()


def _fork(definition: Definition, fan_out: FanOut) -> TopologyFork:
    """Give a fan-out with the route keys that open its branches."""
    assert fan_out.join is not None
    source, fork = fan_out.source, fan_out.fork
    routes, reason = fan_out.routes, None
    conditional = definition.conditional(source)
    if fan_out.rule is not None and conditional is not None and isinstance(conditional.decision, Decision):
        rule = next(rule for rule in conditional.decision.rules if rule.name == fan_out.rule)
        routes, reason = rule.routes, rule.reason
    return TopologyFork(
        source,
        fan_out.origin,
        fan_out.rule,
        fan_out.targets,
        fan_out.join,
        fork.wait,
        fork.max_concurrency,
        routes,
        reason,
    )
