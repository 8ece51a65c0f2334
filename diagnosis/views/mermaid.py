"""Mermaid: the topology as text that code hosts and wikis draw."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from diagnosis.runtime import END, START, Topology, TopologyEdge, TopologyNode
from diagnosis.views.labels import identifiers, visible

_RESERVED: Final = frozenset(
    {
        "accdescr",
        "acctitle",
        "call",
        "class",
        "classdef",
        "click",
        "default",
        "direction",
        "end",
        "flowchart",
        "graph",
        "href",
        "interpolate",
        "linkstyle",
        "node",
        "style",
        "subgraph",
    }
)

_SHAPES: Final = {
    "agent": ('("', '")'),
    "code": ('[["', '"]]'),
    "fallback": ('{{"', '"}}'),
    "start": ('(["', '"])'),
    "end": ('(["', '"])'),
}
_OTHER: Final = ('["', '"]')

_MARKUP: Final = re.compile(r"[^A-Za-z0-9 _,:()\[\]\u0080-\U0010ffff]")
"""All ASCII but what is plain text to Mermaid, to Markdown and to HTML."""


def mermaid_text(topology: Topology) -> str:
    """Write a topology as a Mermaid flowchart: fixed edges solid, conditional ones dotted, all labels in full.

    Args:
        topology: what to write.
    """
    names = identifiers((node.name for node in topology.nodes), reserved=_RESERVED)
    lines = ["flowchart TD"]
    lines += [f"    {names[node.name]}{_node(node)}" for node in topology.nodes]
    for edge in topology.edges:
        arrow = "-->" if edge.kind == "fixed" else "-.->"
        label = _label(_lines(edge))
        text = f'|"{label}"|' if label else ""
        lines.append(f"    {names[edge.source]} {arrow}{text} {names[edge.target]}")
    return "\n".join(lines) + "\n"


def _node(node: TopologyNode) -> str:
    left, right = _SHAPES.get(node.kind, _OTHER)
    title = {START: "START", END: "END"}.get(node.name, node.name)
    lines = [title] if node.kind in _SHAPES or node.kind == "node" else [title, f"({node.kind})"]
    return f"{left}{_label(lines)}{right}"


def _lines(edge: TopologyEdge) -> list[str]:
    route = [] if edge.route is None else [f"[{edge.route}]"]
    return route + [reason for reason in edge.reasons if reason != edge.route]


def _label(lines: Iterable[str]) -> str:
    return "<br>".join(_escaped(line) for line in lines)


def _escaped(text: str) -> str:
    # A backslash before an n breaks the line even when spelled as an entity; a joiner without width keeps them apart.
    kept = visible(text).replace("\\n", "\\\u2060n")
    return _MARKUP.sub(lambda match: f"#{ord(match[0])};", kept)
