"""Flattening: how subgraphs become a part of the graph that they are nodes of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from diagnosis.runtime.decisions import Decision
from diagnosis.runtime.definition import END, FIXED, REPEAT, START, Conditional, Definition, Edge, Fork, Node
from diagnosis.runtime.errors import Finding, one_of
from diagnosis.runtime.fanouts import FanOuts, Origin, together
from diagnosis.runtime.sharing import SharedKeys
from diagnosis.runtime.subgraph import Child, Subgraph, nothing


def flattened(outline: Definition, subgraphs: Sequence[Subgraph]) -> Definition:
    """Put subgraphs into the graph that they are nodes of.

    A subgraph that is not put there, since something is wrong with it or nothing leads to it, leaves a node of its name
    in its place, so that whatever else is wrong is found as well.

    Args:
        outline: the graph, with a node :func:`standing_for` each subgraph.
        subgraphs: those that are to be put there.

    Returns:
        A definition without subgraphs; its nodes are called ``child-node``.
    """
    if not subgraphs:
        return outline
    count = Counter(node.name for node in outline.nodes)
    children = [Child(subgraph) for subgraph in subgraphs if count[subgraph.name] == 1]
    keys = SharedKeys(outline)
    for child in children:
        if not child.compiled:
            keys.join(child)
    for child in children:
        if child.compiled:
            keys.give(child)
    fan_outs = FanOuts(outline)
    reached = fan_outs.reached((START,), frozenset()) - {START, END}
    fit = {child.name: child for child in children if child.name in reached and not child.found}
    return _Flat(outline, fan_outs, fit).definition(keys, [finding for child in children for finding in child.found])


class _Flat:
    """The nodes and edges of a graph, with its subgraphs in their places.

    Args:
        outline: the graph, with a node for each subgraph.
        fan_outs: its fan-outs.
        children: the subgraphs that are put there, by name.
    """

    def __init__(self, outline: Definition, fan_outs: FanOuts, children: Mapping[str, Child]) -> None:
        self._outline = outline
        self._fan_outs = fan_outs
        self._children = children
        self._nodes: list[Node] = []
        self._edges: list[Edge] = []
        self._conditionals: list[Conditional] = []
        self._place()

    def definition(self, keys: SharedKeys, found: list[Finding]) -> Definition:
        """Give the whole.

        Args:
            keys: its keys.
            found: what is wrong with the subgraphs.
        """
        outline = self._outline
        inputs = outline.inputs
        if inputs is None and keys.private:
            inputs = dict.fromkeys(keys.open, object)
        return replace(
            outline,
            keys=keys.all,
            nodes=tuple(self._nodes),
            edges=tuple(self._edges),
            conditionals=tuple(self._conditionals),
            inputs=inputs,
            private=keys.private,
            noted=keys.noted,
            found=(*found, *self._reaching_inside()),
        )

    def _place(self) -> None:
        outline, children = self._outline, self._children
        edges = [
            Edge(edge.source, self._entry(edge.target), edge.reason, self._fork(edge.source, "edges", edge.fork))
            for edge in outline.edges
        ]
        conditionals = [
            replace(
                each,
                targets=_values(each.targets, self._entry),
                fork=self._fork(each.source, "rule" if isinstance(each.decision, Decision) else "router", each.fork),
            )
            for each in outline.conditionals
        ]
        placed: list[_Placed] = []
        for node in outline.nodes:
            child = children.get(node.name)
            if child is None:
                fork = self._fork(node.name, "goto", node.fork)
                self._nodes.append(replace(node, goto=_values(node.goto, self._entry), fork=fork))
                continue
            ways_out = (
                [edge for edge in edges if edge.source == child.name],
                [each for each in conditionals if each.source == child.name],
            )
            part = _Placed(child, *ways_out)
            placed.append(part)
            self._nodes += part.nodes
        gone = {part.child.name for part in placed if not part.has_exit}
        self._edges += [edge for edge in edges if edge.source not in gone]
        self._conditionals += [each for each in conditionals if each.source not in gone]
        for part in placed:
            self._edges += part.edges
            self._conditionals += part.conditionals

    def _entry(self, target: str) -> str:
        child = self._children.get(target)
        return target if child is None else child.entry

    def _fork(self, source: str, origin: Origin, fork: Fork | None) -> Fork | None:
        """Give the fork of a fan-out with its join, which is found while a subgraph is one node."""
        found = {each.join for each in self._fan_outs.all if (each.source, each.origin) == (source, origin)}
        join = found.pop() if len(found) == 1 else None
        if join is None:
            return fork
        return replace(fork or Fork(), join=self._entry(join))

    def _reaching_inside(self) -> Iterator[Finding]:
        """Go through the graph's own edges that lead into the middle of a subgraph, or out of it."""
        outline = self._outline
        inside = {node.name for node in self._nodes} - {*outline.names}
        ends = [(f"{source} -> {target}", name) for source, target in outline.links() for name in (source, target)]
        ends += [(fan_out.where, fan_out.fork.join or "") for fan_out in self._fan_outs.all]
        for where, name in dict.fromkeys(ends):
            if name in inside:
                detail = f"{name!r} is inside a subgraph; name the subgraph itself; nodes are {one_of(outline.names)}"
                yield Finding("unknown_node", where, detail)


class _Placed:
    """A subgraph in its place.

    Args:
        child: the subgraph.
        edges: the fixed edges that lead out of it.
        conditionals: the conditional ones.

    Attributes:
        has_exit: whether a node of its name stands at its end, which the ways out of it lead from.
        nodes: the nodes.
        edges: the fixed edges between them and out of it.
        conditionals: the conditional ones.
    """

    def __init__(self, child: Child, edges: Sequence[Edge], conditionals: Sequence[Conditional]) -> None:
        self.child = child
        self._out = edges, conditionals
        targets = [edge.target for edge in edges]
        # Ways out that contradict each other stay at one node, where they are told once.
        sound = len(conditionals) == (0 if edges else 1) and len(set(targets)) == len(targets)
        self._single = edges[0] if sound and len(edges) == 1 and edges[0].fork is None else None
        self._copied = sound and not child.compiled
        self.has_exit = not self._copied or (self._single is None and child.chooses_end)
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self.conditionals: list[Conditional] = []
        definition = child.definition
        if child.compiled:
            self.nodes.append(Node(child.entry, nothing, "enter", (), entry=tuple(child.enters)))
        self.nodes += [self._node(node) for node in definition.nodes]
        if self.has_exit:
            self.nodes.append(Node(child.name, nothing, "exit", (), exit=tuple(child.leaves)))
        for edge in definition.edges:
            self._add(edge)
        self.conditionals += [self._conditional(each) for each in definition.conditionals]

    def _target(self, source: str) -> Callable[[str], str]:
        """Give how the ways out of one of its nodes are renamed."""
        end = END
        if source not in self.child.in_branches:
            end = self.child.name if self.has_exit or self._single is None else self._single.target
        return lambda target: end if target == END else self.child.node(target)

    def _node(self, node: Node) -> Node:
        child = self.child
        made = child.renaming(node.name).node(node, child.definition.open_keys)
        fork = _forking(node.fork, node.goto)
        ways = _values(node.goto, self._target(node.name))
        return replace(made, name=child.node(node.name), goto=ways, fork=_fork(fork, child.node))

    def _conditional(self, conditional: Conditional) -> Conditional:
        child, source = self.child, conditional.source
        renaming = child.renaming(source)
        fork = conditional.fork
        if not isinstance(conditional.decision, Decision):
            fork = _forking(fork, conditional.targets)
        return Conditional(
            child.node(source),
            renaming.decision(conditional.decision),
            _values(conditional.targets, self._target(source)),
            _fork(fork, child.node),
            renaming.keys(conditional.owns),
        )

    def _add(self, edge: Edge) -> None:
        child, source = self.child, edge.source
        if source == START:
            if child.compiled:
                self.edges.append(replace(edge, source=child.entry, target=child.node(edge.target)))
        elif edge.target != END or source in child.in_branches or not self._copied:
            self.edges.append(_edge(edge, child.node(source), self._target(source)(edge.target), child.node))
        elif self._single is not None:
            reason = edge.reason if self._single.reason is REPEAT or edge.reason != FIXED else self._single.reason
            self.edges.append(replace(self._single, source=child.node(source), reason=reason))
        else:
            edges, conditionals = self._out
            self.edges += [replace(way, source=child.node(source)) for way in edges]
            self.conditionals += [replace(way, source=child.node(source)) for way in conditionals]


def _values(targets: Mapping[str, str], rename: Callable[[str], str]) -> dict[str, str]:
    return {route: rename(target) for route, target in targets.items()}


def _edge(edge: Edge, source: str, target: str, rename: Callable[[str], str]) -> Edge:
    return Edge(source, target, edge.reason, _fork(edge.fork, rename))


def _fork(fork: Fork | None, rename: Callable[[str], str]) -> Fork | None:
    return fork if fork is None or fork.join is None else replace(fork, join=rename(fork.join))


def _forking(fork: Fork | None, targets: Mapping[str, str]) -> Fork | None:
    """Say of a fork which routes open branches, as long as those that do not are the ones that lead to END."""
    if fork is None or fork.routes is not None:
        return fork
    return replace(fork, routes=tuple(together(targets, fork)))
