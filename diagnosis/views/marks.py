"""Marks: the words on nodes and edges, the same in every language that pictures are written in."""

from __future__ import annotations

from typing import Final

from diagnosis.runtime import Topology, TopologyEdge, TopologyFork, TopologyNode

PARALLEL: Final = "||"
"""The sign of an edge that may open a branch."""

ENDS_BRANCH: Final = "(ends its branch)"
"""What stands on an edge to END after which a join still runs."""


class Marks:
    """The words on the nodes and edges of one topology.

    Args:
        topology: what is drawn.
    """

    def __init__(self, topology: Topology) -> None:
        self._forks = topology.forks
        self._gotos = any(edge.kind == "goto" for edge in topology.edges)
        self._ends = any(edge.ends_branch for edge in topology.edges)
        self._joins: dict[str, dict[tuple[str, ...], None]] = {}
        for fork in topology.forks:
            self._joins.setdefault(fork.join, {})[self._joined(fork)] = None

    def _joined(self, fork: TopologyFork) -> tuple[str, ...]:
        """Tell what a join joins; by what it was opened, where the branches of its source meet in several ways."""
        ways = {(each.join, each.wait, each.max_concurrency) for each in self._forks if each.source == fork.source}
        source = "its own branches" if fork.source == fork.join else fork.source
        by = f", {fork.by}" if len(ways) > 1 else ""
        most = () if fork.max_concurrency is None else (f"at most {fork.max_concurrency} at once",)
        return (f"joins {source}{by}: {fork.wait}", *most)

    def node(self, node: TopologyNode) -> list[str]:
        """Give what a node joins and what it waits for: a text or two a fork whose branches meet there.

        Args:
            node: one of the topology's nodes.
        """
        return [text for texts in self._joins.get(node.name, ()) for text in texts]

    def edge(self, edge: TopologyEdge) -> list[tuple[str, str | None]]:
        """Give what stands on an edge, with the reason code that a text tells, if it tells one.

        Args:
            edge: one of the topology's edges.

        Returns:
            The route key and the reasons, but for a reason that is the route key; each with its marks.
        """
        forking = self._forking(edge)
        every = edge.parallel and forking.issuperset(edge.reasons)
        found: list[tuple[str, str | None]] = []
        if edge.route is not None:
            goto = " goto" if edge.kind == "goto" else ""
            found.append((f"{PARALLEL} [{edge.route}]{goto}" if every else f"[{edge.route}]{goto}", None))
        for reason in edge.reasons:
            alone = edge.parallel and (edge.route is None or (not every and reason in forking))
            if alone or reason != edge.route:
                found.append((f"{PARALLEL} {reason}" if alone else reason, reason))
        if edge.ends_branch:
            found.append((ENDS_BRANCH, None))
        return found

    def _forking(self, edge: TopologyEdge) -> set[str]:
        """Give the reasons of an edge with which it opens a branch."""
        if edge.kind != "conditional":
            return set(edge.reasons)
        own = [fork for fork in self._forks if fork.source == edge.source and edge.route in fork.routes]
        if any(fork.origin == "router" for fork in own):
            return set(edge.reasons)
        return {fork.reason for fork in own if fork.origin == "rule" and fork.reason is not None}

    def edge_lines(self, edge: TopologyEdge) -> list[str]:
        """Give what stands on an edge.

        Args:
            edge: one of the topology's edges.
        """
        return [text for text, _ in self.edge(edge)]

    def legend(self) -> list[str]:
        """Give what the reader of a picture has to know; nothing where there are neither branches nor gotos."""
        lines = []
        if self._gotos:
            lines.append("dotted, open arrow: [key] goto, by a Command that also gives the reason")
        if self._forks:
            lines.append(f"{PARALLEL}, bar at the tail: may open branches, side by side; their join runs once")
        if self._ends:
            lines.append(f"{ENDS_BRANCH}: the branch is through, and the join still runs")
        return lines
