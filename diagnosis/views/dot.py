"""DOT: the topology of a graph in Graphviz's language."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from itertools import pairwise
from math import ceil, isqrt
from typing import TYPE_CHECKING, Any, Final

import graphviz

from diagnosis.runtime import END, START, DiagnosisError, Run, Topology, TopologyEdge, TopologyNode
from diagnosis.views.boxes import Box, boxed
from diagnosis.views.labels import escaped, identifiers, tooltip, wrapped
from diagnosis.views.marks import Marks
from diagnosis.views.overlay import PLAIN, Look, Overlay, chances_overlay, coverage_overlay, run_overlay

if TYPE_CHECKING:
    from diagnosis.verify import Chances, Coverage

KEYWORDS: Final = ("node", "edge", "graph", "digraph", "subgraph", "strict")
"""The words that DOT keeps for itself."""

_SENTINEL: Final = {"style": "filled", "color": "#1f2937", "fontsize": "11", "margin": "0.02"}
_SUBGRAPH: Final = {"style": "filled", "color": "#0369a1", "margin": "0.05,0.03"}

KINDS: Final[Mapping[str, Mapping[str, str]]] = {
    "agent": {"shape": "box", "style": "rounded,filled", "fillcolor": "#dbeafe", "color": "#1d4ed8"},
    "code": {"shape": "component", "style": "filled", "fillcolor": "#e7e5e4", "color": "#57534e"},
    "fallback": {"shape": "octagon", "style": "filled", "fillcolor": "#fef3c7", "color": "#b45309"},
    "node": {"shape": "ellipse", "style": "filled", "fillcolor": "#ecfdf5", "color": "#047857"},
    "entry": {"shape": "diamond", "style": "filled", "fillcolor": "#f5f5f4", "color": "#1f2937", "margin": "0.02"},
    "enter": {**_SUBGRAPH, "shape": "invhouse", "fillcolor": "#f0f9ff"},
    "exit": {**_SUBGRAPH, "shape": "house", "fillcolor": "#e0f2fe"},
    "start": {**_SENTINEL, "shape": "circle", "fillcolor": "#1f2937", "fontcolor": "white"},
    "end": {**_SENTINEL, "shape": "doublecircle", "fillcolor": "#f9fafb"},
}
"""Kind of node -> how it is drawn."""

_NAMED_KINDS: Final = ("enter", "exit")
"""Kinds whose word stands on the node all the same: the builder gives them, and no reader knows their shapes."""

_LINES: Final[Mapping[str, Mapping[str, str]]] = {
    "fixed": {"style": "solid", "penwidth": "1.5"},
    "conditional": {"style": "dashed"},
    "goto": {"style": "dotted", "penwidth": "1.5", "arrowhead": "empty"},
}
"""Kind of edge -> how it is drawn. Looks of runs and coverage change styles and colours, never the ends of an edge."""

_BOX: Final = {"style": "rounded", "color": "#0369a1", "fontsize": "11", "margin": "12"}
"""How the frame around the nodes of a subgraph is drawn."""

_IN_ROW: Final = 8
"""Branches of one fork that begin side by side."""

_PARALLEL: Final = {"dir": "both", "arrowtail": "tee"}

_OTHER_SHAPES: Final = ("note", "tab", "folder", "box3d", "hexagon", "cylinder")
_OTHER_FILLS: Final = ("#ede9fe", "#fce7f3", "#cffafe", "#ecfccb", "#ffedd5")

_GRAPH: Final = {
    "rankdir": "TB",
    "bgcolor": "white",
    "fontname": "Arial",
    "fontsize": "13",
    "labelloc": "t",
    "labeljust": "l",
    "nodesep": "0.2",
    "ranksep": "0.3",
    "pad": "0.15",
}
_NODE: Final = {"fontname": "Arial", "fontsize": "13", "margin": "0.2,0.1", "fontcolor": "#111827"}
_EDGE: Final = {"fontname": "Arial", "fontsize": "10", "color": "#4b5563", "fontcolor": "#374151", "arrowsize": "0.8"}
_SENTINELS: Final = {START: "START", END: "END"}


class DrawError(DiagnosisError):
    """Something cannot be drawn, or a picture cannot be saved, as asked."""


def dot_text(
    topology: Topology,
    *,
    run: Run | None = None,
    coverage: Coverage | None = None,
    chances: Chances | None = None,
) -> str:
    """Write a topology as DOT.

    Nodes differ in shape and fill by kind; fixed edges are solid, conditional ones dashed, gotos dotted. An edge is
    labelled with its route key in brackets and the reason codes that travel on it. An edge that may open a branch has a
    bar at its tail, and the node where branches meet says what it waits for. The nodes of a subgraph with keys of its
    own stand in a frame. What is too long is cut, and stands in full in the tooltip.

    Args:
        topology: what to draw.
        run: a run of this graph, whose path is shown with its step numbers.
        coverage: coverage of this graph, shown as hits on every node, edge and reason.
        chances: chances of this graph, shown as expected executions, and as the probability of every edge.

    Raises:
        DrawError: several are given, or one is of another graph.
    """
    overlay = _overlay(topology, run, coverage, chances)
    names = identifiers((node.name for node in topology.nodes), reserved=KEYWORDS)
    marks = Marks(topology)
    dot = graphviz.Digraph(
        name=graphviz.nohtml("topology"),
        graph_attr={**_GRAPH, **_title(topology, overlay, marks)},
        node_attr=_NODE,
        edge_attr=_EDGE,
    )

    def add(graph: graphviz.Digraph, part: TopologyNode | Box) -> None:
        if isinstance(part, TopologyNode):
            graph.node(names[part.name], **_node(part, marks, overlay.node(part.name)))
            return
        label = escaped(*wrapped(part.name), left=True)
        frame = {**_BOX, "label": label, "tooltip": tooltip(f"subgraph {part.name}")}
        with graph.subgraph(name=f"cluster_{part.identifier}", graph_attr=frame) as inner:
            for each in part.inside:
                add(inner, each)

    for part in boxed(topology, names.values()):
        add(dot, part)
    flow = _Flow(topology)
    for edge in topology.edges:
        attributes = {**_edge(edge, marks, overlay.edge(edge)), **flow.hints(edge)}
        dot.edge(names[edge.source], names[edge.target], **attributes)
    return str(dot.source)


def _overlay(topology: Topology, run: Run | None, coverage: Coverage | None, chances: Chances | None) -> Overlay:
    if sum(each is not None for each in (run, coverage, chances)) > 1:
        raise DrawError("a picture shows a run, a coverage or chances, not several at once")
    if run is not None:
        _check("run", run.graph.topology, topology)
        return run_overlay(run)
    if coverage is not None:
        _check("coverage", coverage.model.graph.topology, topology)
        return coverage_overlay(coverage)
    if chances is not None:
        _check("chances", chances.model.graph.topology, topology)
        return chances_overlay(chances)
    return PLAIN


def _check(what: str, found: Topology, wanted: Topology) -> None:
    if found != wanted:
        raise DrawError(
            f"the {what} is of graph {found.name!r}, with other nodes or edges than {wanted.name!r}, which is drawn; "
            f"draw the graph that the {what} is of"
        )


def _title(topology: Topology, overlay: Overlay, marks: Marks) -> dict[str, str]:
    size = f"{len(topology.nodes) - 2} nodes, {len(topology.edges)} edges"
    legend = "solid: fixed edge; dashed: decided, by [route key] and REASON_CODE"
    texts = overlay.title or (f"{topology.name}: {size}", legend, *marks.legend())
    lines = [line for text in texts for line in wrapped(text, width=80, lines=3)]
    return {"label": escaped(*lines, left=True), "tooltip": tooltip(topology.name)}


def style_of(kind: str) -> Mapping[str, str]:
    """Give how a kind of node is drawn; kinds without a style of their own get one that depends on their name only.

    Args:
        kind: the kind, as declared.
    """
    if kind in KINDS:
        return KINDS[kind]
    number = zlib.crc32(kind.encode("utf-8", "backslashreplace"))
    shape = _OTHER_SHAPES[number % len(_OTHER_SHAPES)]
    fill = _OTHER_FILLS[number // len(_OTHER_SHAPES) % len(_OTHER_FILLS)]
    return {"shape": shape, "style": "filled", "fillcolor": fill, "color": "#4b5563"}


class _Flow:
    """Hints for the layout: the order of declaration goes straight down, and edges keep clear of loops.

    Branches begin right below their fork; of many, each row holds some.
    """

    def __init__(self, topology: Topology) -> None:
        names = [node.name for node in topology.nodes]
        self._next = dict(pairwise(names))
        self._loops = {edge.source for edge in topology.edges if edge.source == edge.target}
        self._place = {name: place for place, name in enumerate(names)}
        opening: dict[str, list[TopologyEdge]] = {}
        for edge in topology.edges:
            if edge.parallel:
                opening.setdefault(edge.source, []).append(edge)
        self._turn = {edge: turn for edges in opening.values() for turn, edge in enumerate(edges)}
        self._rows = {source: min(ceil(len(edges) / _IN_ROW), isqrt(len(edges))) for source, edges in opening.items()}

    def hints(self, edge: TopologyEdge) -> dict[str, str]:
        """Give the attributes that place an edge.

        Args:
            edge: one of the topology's edges.
        """
        if edge.parallel:
            rows = self._rows[edge.source]
            staggered = {"minlen": str(1 + self._turn[edge] % rows)} if rows > 1 else {}
            return {"weight": "3", **staggered}
        if edge.target == END:
            return {"weight": "6"} if edge.kind == "conditional" else {}
        if self._next.get(edge.source) == edge.target:
            return {"weight": "12"}
        if edge.source in self._loops and self._place[edge.target] > self._place[edge.source]:
            return {"tailport": "s"}
        return {}


def _node(node: TopologyNode, marks: Marks, look: Look) -> dict[str, Any]:
    lines = [_SENTINELS[node.name]] if node.name in _SENTINELS else wrapped(node.name, width=24)
    if node.kind not in KINDS or node.kind in _NAMED_KINDS:
        lines += wrapped(f"({node.kind})", lines=1)
    joins = marks.node(node)
    lines += [line for text in joins for line in wrapped(text, width=40)]
    if look.note:
        lines += look.note.split("\n")
    full = tooltip("; ".join([f"{node.name} ({node.kind})", *joins]))
    return {"label": escaped(*lines), "tooltip": full, **style_of(node.kind), **look.attributes}


def _edge(edge: TopologyEdge, marks: Marks, look: Look) -> dict[str, Any]:
    lines = look.note.split("\n") if look.note else []
    for text, reason in marks.edge(edge):
        lines += wrapped(text)
        if reason is not None and len(edge.reasons) > 1:
            lines[-1] += look.reasons.get(reason, "")
    full = f"{edge.source} -> {edge.target}"
    if edge.route is not None:
        full += f" [{edge.route}]"
    if edge.kind == "goto":
        full += " goto"
    if edge.reasons:
        full += f": {', '.join(edge.reasons)}"
    if edge.parallel:
        full += "; may open a branch"
    if edge.ends_branch:
        full += "; ends its branch"
    style = {**_LINES[edge.kind], **(_PARALLEL if edge.parallel else {})}
    # Blanks keep the text off its own line, to the left of it, and off the next one.
    label = escaped(*(f"   {line}  " for line in lines), left=True)
    return {"label": label, "tooltip": tooltip(full), "labeltooltip": tooltip(full), **style, **look.attributes}
