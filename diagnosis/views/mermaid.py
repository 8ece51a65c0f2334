"""Mermaid: the topology as text that code hosts and wikis draw."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from diagnosis.runtime import END, START, Topology, TopologyNode
from diagnosis.views.boxes import Box, boxed
from diagnosis.views.labels import identifiers, visible
from diagnosis.views.marks import Marks

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
    "entry": ('{"', '"}'),
    "enter": ('[\\"', '"/]'),
    "exit": ('[/"', '"\\]'),
}
_OTHER: Final = ('["', '"]')

_PLAIN_KINDS: Final = ("agent", "code", "entry", "fallback", "start", "end", "node")
"""Kinds whose word does not stand on the node."""

_ARROWS: Final = {"fixed": "-->", "conditional": "-.->", "goto": "-.-o"}
_OPENING: Final = "==>"

_MARKUP: Final = re.compile(r"[^A-Za-z0-9 _,:()\[\]\u0080-\U0010ffff]|\u2060")
"""All ASCII but what is plain text to Mermaid, to Markdown and to HTML; and the joiner, which nobody sees."""


def mermaid_text(topology: Topology) -> str:
    """Write a topology as a Mermaid flowchart, all labels in full.

    Fixed edges are solid, conditional ones dotted, gotos dotted with a circle at their end; edges that may open a
    branch are thick.

    Args:
        topology: what to write.
    """
    names = identifiers((node.name for node in topology.nodes), reserved=_RESERVED)
    marks = Marks(topology)
    lines = ["flowchart TD"]
    for part in boxed(topology, names.values()):
        lines += _declared(part, names, marks, "    ")
    for edge in topology.edges:
        arrow = _OPENING if edge.parallel else _ARROWS[edge.kind]
        label = _label(marks.edge_lines(edge))
        text = f'|"{label}"|' if label else ""
        lines.append(f"    {names[edge.source]} {arrow}{text} {names[edge.target]}")
    return "\n".join(lines) + "\n"


def _declared(part: TopologyNode | Box, names: Mapping[str, str], marks: Marks, indent: str) -> Iterator[str]:
    if isinstance(part, TopologyNode):
        yield f"{indent}{names[part.name]}{_node(part, marks)}"
        return
    yield f'{indent}subgraph {part.identifier}["{_escaped(part.name)}"]'
    for each in part.inside:
        yield from _declared(each, names, marks, f"{indent}    ")
    yield f"{indent}end"


def _node(node: TopologyNode, marks: Marks) -> str:
    left, right = _SHAPES.get(node.kind, _OTHER)
    title = {START: "START", END: "END"}.get(node.name, node.name)
    kind = [] if node.kind in _PLAIN_KINDS else [f"({node.kind})"]
    return f"{left}{_label([title, *kind, *marks.node(node)])}{right}"


def _label(lines: Iterable[str]) -> str:
    return "<br>".join(_escaped(line) for line in lines)


def _escaped(text: str) -> str:
    # A backslash before an n breaks the line even when spelled as an entity; a joiner without width keeps them apart.
    kept = visible(text).replace("\\n", "\\\u2060n")
    return _MARKUP.sub(lambda match: f"#{ord(match[0])};", kept)
