"""Mermaid and PlantUML hold every node, edge and label, and hostile labels stay text."""

import re

import pytest
from drawn_graphs import hostile_graph, small_graph

from diagnosis.catalog import diagnosis_model
from diagnosis.runtime import END, START, CompiledGraph, Topology
from diagnosis.views import mermaid_text, plantuml_text
from diagnosis.views.labels import visible

GRAPHS = {"contract": diagnosis_model().graph, "small": small_graph(), "hostile": hostile_graph()}

MERMAID_NODE = re.compile(r"    (\w+)[\[({]+\"(.*)\"[\])}]+")
MERMAID_EDGE = re.compile(r"    (\w+) (-->|-\.->)(?:\|\"(.*)\"\|)? (\w+)")
PLANT_NODE = re.compile(r"state \"(.*)\" as (\w+)(?: <<(\w+)>> #[0-9A-F]{6})?")
PLANT_KIND = re.compile(r"(\w+) : (.*)")
PLANT_EDGE = re.compile(r"(\w+|\[\*\]) (-->|-\[dashed\]->) (\w+|\[\*\])(?: : (.*))?")


def mermaid_plain(text: str) -> str:
    return re.sub(r"#(\d+);", lambda found: chr(int(found[1])), text).replace("\u2060", "")


def plant_plain(text: str) -> str:
    return re.sub(r"<U\+([0-9A-F]{4,})>", lambda found: chr(int(found[1], 16)), text)


def labels(topology: Topology) -> list[list[str]]:
    found = []
    for edge in topology.edges:
        route = [] if edge.route is None else [f"[{edge.route}]"]
        found.append([visible(line) for line in route + [reason for reason in edge.reasons if reason != edge.route]])
    return found


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=list(GRAPHS))
def test_mermaid_declares_exactly_the_nodes_and_edges(graph: CompiledGraph) -> None:
    topology = graph.topology
    first, *rest = mermaid_text(topology).splitlines()
    assert first == "flowchart TD"
    nodes = [MERMAID_NODE.fullmatch(line) for line in rest[: len(topology.nodes)]]
    edges = [MERMAID_EDGE.fullmatch(line) for line in rest[len(topology.nodes) :]]
    assert all(nodes)
    assert all(edges)
    names = {found[1]: node.name for found, node in zip(nodes, topology.nodes, strict=True) if found}
    assert len(names) == len(topology.nodes)
    titles = [[mermaid_plain(line) for line in found[2].split("<br>")] for found in nodes if found]
    assert titles == [
        [visible({START: "START", END: "END"}.get(node.name, node.name))]
        + ([] if node.kind in ("start", "end", "agent", "code", "fallback", "node") else [visible(f"({node.kind})")])
        for node in topology.nodes
    ]
    arrows = {"fixed": "-->", "conditional": "-.->"}
    assert [(names[found[1]], found[2], names[found[4]]) for found in edges if found] == [
        (edge.source, arrows[edge.kind], edge.target) for edge in topology.edges
    ]
    shown = [[mermaid_plain(line) for line in (found[3] or "").split("<br>") if line] for found in edges if found]
    assert shown == labels(topology)


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=list(GRAPHS))
def test_plantuml_declares_exactly_the_nodes_and_edges(graph: CompiledGraph) -> None:
    topology = graph.topology
    lines = plantuml_text(topology).splitlines()
    assert (lines[0], lines[1], lines[-1]) == ("@startuml", "hide empty description", "@enduml")
    nodes = [found for line in lines if (found := PLANT_NODE.fullmatch(line))]
    edges = [found for line in lines if (found := PLANT_EDGE.fullmatch(line))]
    kinds = [found for line in lines if (found := PLANT_KIND.fullmatch(line))]
    assert len(lines) == 3 + len(nodes) + len(edges) + len(kinds)
    inner = topology.nodes[1:-1]
    assert [plant_plain(found[1]) for found in nodes] == [visible(node.name) for node in inner]
    told = {found[2]: found[3] for found in nodes} | {found[1]: plant_plain(found[2]) for found in kinds}
    assert list(told.values()) == [visible(node.kind) for node in inner]
    names = {found[2]: node.name for found, node in zip(nodes, inner, strict=True)}
    arrows = {"fixed": "-->", "conditional": "-[dashed]->"}
    assert [(names.get(found[1], START), found[2], names.get(found[3], END)) for found in edges] == [
        (edge.source, arrows[edge.kind], edge.target) for edge in topology.edges
    ]
    shown = [[plant_plain(line) for line in (found[4] or "").split("\\n") if line] for found in edges]
    assert shown == labels(topology)


def test_the_small_graph_in_mermaid() -> None:
    assert mermaid_text(small_graph().topology) == (
        "flowchart TD\n"
        '    __START__(["START"])\n'
        '    ask("ask")\n'
        '    check["check<br>(tool)"]\n'
        '    stop["stop"]\n'
        '    __END__(["END"])\n'
        "    __START__ --> ask\n"
        '    ask -.->|"[good]<br>ALL_WELL"| check\n'
        '    ask -.->|"[doubtful]<br>NOT_SURE"| check\n'
        '    ask -.->|"[again]<br>ONCE_MORE"| ask\n'
        '    check -.->|"[yes]"| stop\n'
        '    check -.->|"[no]"| __END__\n'
        '    stop -->|"STOPPED"| __END__\n'
    )


def test_the_small_graph_in_plantuml() -> None:
    assert plantuml_text(small_graph().topology) == (
        "@startuml\n"
        "hide empty description\n"
        'state "ask" as ask <<agent>> #DBEAFE\n'
        'state "check" as check\n'
        "check : tool\n"
        'state "stop" as stop <<node>> #ECFDF5\n'
        "[*] --> ask\n"
        "ask -[dashed]-> check : [good]\\nALL_WELL\n"
        "ask -[dashed]-> check : [doubtful]\\nNOT_SURE\n"
        "ask -[dashed]-> ask : [again]\\nONCE_MORE\n"
        "check -[dashed]-> stop : [yes]\n"
        "check -[dashed]-> [*] : [no]\n"
        "stop --> [*] : STOPPED\n"
        "@enduml\n"
    )


def test_what_would_break_a_line_or_underline_is_kept_apart() -> None:
    graph = hostile_graph().topology
    assert "one#92;#8288;ntwo" in mermaid_text(graph) or "one#92;\u2060ntwo" in mermaid_text(graph)
    assert "__u__" not in plantuml_text(graph)
    assert "[[" not in plantuml_text(graph)
