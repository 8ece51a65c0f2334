"""Subgraphs: graphs that stand as one node in another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from diagnosis.runtime.checks import findings
from diagnosis.runtime.compiled import CompiledGraph
from diagnosis.runtime.decisions import Effect, State
from diagnosis.runtime.definition import END, Definition, Node
from diagnosis.runtime.errors import Finding
from diagnosis.runtime.fanouts import FanOuts
from diagnosis.runtime.renaming import Renaming

if TYPE_CHECKING:
    from diagnosis.runtime.graph import StateGraph

STANDS_FOR: Final = "subgraph"
"""The kind of the node that holds the place of a subgraph as long as it is not put there."""

ENTER: Final = "START"
"""How the node is called that enters a subgraph with keys of its own, after the name of the subgraph."""


def nothing(state: State) -> dict[str, Any]:
    """Do nothing: the action of the nodes that only carry updates or a decision.

    Args:
        state: the state.
    """
    return {}


def standing_for(name: str) -> Node:
    """Give the node that holds the place of a subgraph.

    Args:
        name: the subgraph's name.
    """
    return Node(name, nothing, STANDS_FOR, ())


@dataclass(frozen=True, slots=True)
class Subgraph:
    """A graph as a node of another.

    Attributes:
        name: the node's name.
        graph: a StateGraph, whose keys join those of the parent; or a compiled graph, which has keys of its own.
        inputs: key of the compiled graph -> key of the parent; ``None`` for every key of the same name.
        outputs: key of the parent -> key of the compiled graph; ``None`` for every key of the same name.
    """

    name: str
    graph: StateGraph | CompiledGraph
    inputs: Mapping[str, str] | None = None
    outputs: Mapping[str, str] | None = None

    def definition(self) -> Definition:
        """Give its graph as data, with the actions that a compiled graph was given in place of others."""
        if not isinstance(self.graph, CompiledGraph):
            return self.graph.definition()
        definition, calls = self.graph.definition, self.graph.calls
        return replace(definition, nodes=tuple(replace(node, action=calls[node.name][0]) for node in definition.nodes))


class Child:
    """A subgraph on its way into its parent.

    Attributes:
        subgraph: the subgraph.
        name: its name.
        definition: its graph as data.
        compiled: whether it has keys of its own.
        names: key -> key of the parent; what is private to a subgraph of its own is not in it.
        hidden: the same for what is private to a subgraph of its own.
        enters: the updates that set up its private keys.
        leaves: those that write its outputs.
        found: what is wrong with it.
    """

    def __init__(self, subgraph: Subgraph) -> None:
        self.subgraph = subgraph
        self.name = subgraph.name
        self.definition = subgraph.definition()
        self.compiled = isinstance(subgraph.graph, CompiledGraph)
        self.names = {key: key for key in self.definition.open_keys}
        self.hidden = {key: f"{self.name}.{key}" for key in self.definition.private}
        self.enters: list[Effect] = []
        self.leaves: list[Effect] = []
        self.found = [] if self.compiled else [self._told(each) for each in findings(self.definition)]
        if not self.found:
            self.found += self._both_ways()

    def _told(self, finding: Finding) -> Finding:
        return Finding(finding.kind, f"subgraph {self.name!r}, {finding.where}", finding.detail)

    def finding(self, kind: str, what: str, detail: str) -> Finding:
        """Give a finding about it.

        Args:
            kind: the class of the finding.
            what: the part of it that is concerned.
            detail: what was found and what to do.
        """
        return self._told(Finding(kind, what, detail))

    def node(self, name: str) -> str:
        """Give the name that one of its nodes has in the parent.

        Args:
            name: the node's own name.
        """
        return f"{self.name}-{name}"

    @property
    def entry(self) -> str:
        """The node of the parent that an edge into it leads to."""
        return self.node(ENTER if self.compiled else self.definition.entry or "")

    @cached_property
    def _fan_outs(self) -> FanOuts:
        return FanOuts(self.definition)

    @property
    def in_branches(self) -> frozenset[str]:
        """Its nodes that branches of its own forks execute."""
        return self._fan_outs.inside

    def _both_ways(self) -> Iterator[Finding]:
        ending = {source for source, target in self.definition.links() if target == END}
        outside = self._fan_outs.level(self.definition.entry or END)
        for node in self.definition.names:
            if node in ending and node in self.in_branches and node in outside:
                yield self.finding(
                    "ambiguous_end",
                    node,
                    "may lead to END both in a branch, which then ends, and outside of branches, where the subgraph is "
                    "left; lead the branch to its join instead, or give it a node of its own",
                )

    @property
    def chooses_end(self) -> bool:
        """Whether a decision or a Command outside branches may lead to END."""
        ways = [(each.source, each.targets) for each in self.definition.conditionals]
        ways += [(node.name, node.goto) for node in self.definition.nodes]
        return any(END in targets.values() and source not in self.in_branches for source, targets in ways)

    def renaming(self, node: str) -> Renaming:
        """Give the key names for the code of one of its nodes.

        Args:
            node: the node's own name.
        """
        private = self.definition.private
        inner = {key: name for key, name in self.hidden.items() if node in private[key]}
        return Renaming(self.name, {**self.names, **inner})
