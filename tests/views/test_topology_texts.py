"""Mermaid and PlantUML hold every node, edge and label, and hostile labels stay text."""

import re
from collections.abc import Callable

import pytest
from drawn_graphs import (
    FORKED,
    gotos,
    hostile_boxes,
    hostile_forks,
    hostile_graph,
    idle,
    rule_fork,
    small_graph,
    with_subgraph,
)

from diagnosis.catalog import diagnosis_model
from diagnosis.runtime import END, START, CompiledGraph, StateGraph, Topology, TopologyEdge
from diagnosis.views import dot_text, mermaid_text, plantuml_text
from diagnosis.views.labels import visible
from diagnosis.views.marks import Marks

GRAPHS = {
    "contract": diagnosis_model().graph,
    "small": small_graph(),
    "hostile": hostile_graph(),
    "hostile forks": hostile_forks(),
    "hostile boxes": hostile_boxes(),
    **{name: make() for name, make in FORKED.items()},
}

MERMAID_NODE = re.compile(r"    (\w+)[\[({\\/]+\"([^\"]*)\"[\])}\\/]+")
MERMAID_EDGE = re.compile(r"    (\w+) (-->|-\.->|-\.-o|==>)(?:\|\"([^\"]*)\"\|)? (\w+)")
MERMAID_BOX = re.compile(r"    subgraph (\w+)\[\"([^\"]*)\"\]|    end")
PLANT_NODE = re.compile(r"state \"([^\"]*)\" as (\w+)(?: <<(\w+)>> #[0-9A-F]{6})?")
PLANT_TOLD = re.compile(r"(\w+) : (.*)")
PLANT_EDGE = re.compile(r"(\w+|\[\*\]) (-->|-\[[a-z0-9=,]+\]->) (\w+|\[\*\])(?: : (.*))?")
PLANT_BOX = re.compile(r"state \"([^\"]*)\" as (\w+) \{|\}")


def mermaid_plain(text: str) -> str:
    return re.sub(r"#(\d+);", lambda found: chr(int(found[1])), text).replace("\u2060", "")


def plant_plain(text: str) -> str:
    return re.sub(r"<U\+([0-9A-F]{4,})>", lambda found: chr(int(found[1], 16)), text)


def labels(topology: Topology) -> list[list[str]]:
    marks = Marks(topology)
    return [[visible(line) for line in marks.edge_lines(edge)] for edge in topology.edges]


def unindented(line: str) -> str:
    """Give a line of Mermaid without the indents of the boxes around it."""
    return f"    {line.lstrip(' ')}"


def mermaid_arrow(edge: TopologyEdge) -> str:
    return "==>" if edge.parallel else {"fixed": "-->", "conditional": "-.->", "goto": "-.-o"}[edge.kind]


def plant_arrow(edge: TopologyEdge) -> str:
    kinds = {"fixed": "", "conditional": "dashed", "goto": "dotted"}
    styles = [*filter(None, [kinds[edge.kind]]), *(["thickness=3"] if edge.parallel else [])]
    return f"-[{','.join(styles)}]->" if styles else "-->"


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=list(GRAPHS))
def test_mermaid_declares_exactly_the_nodes_and_edges(graph: CompiledGraph) -> None:
    topology = graph.topology
    marks = Marks(topology)
    first, *rest = mermaid_text(topology).splitlines()
    assert first == "flowchart TD"
    rest = [line for line in rest if not MERMAID_BOX.fullmatch(unindented(line))]
    nodes = [MERMAID_NODE.fullmatch(unindented(line)) for line in rest[: len(topology.nodes)]]
    edges = [MERMAID_EDGE.fullmatch(line) for line in rest[len(topology.nodes) :]]
    assert all(nodes)
    assert all(edges)
    names = {found[1]: node.name for found, node in zip(nodes, topology.nodes, strict=True) if found}
    assert len(names) == len(topology.nodes)
    titles = [[mermaid_plain(line) for line in found[2].split("<br>")] for found in nodes if found]
    assert titles == [
        [visible({START: "START", END: "END"}.get(node.name, node.name))]
        + (
            []
            if node.kind in ("start", "end", "agent", "code", "entry", "fallback", "node")
            else [visible(f"({node.kind})")]
        )
        + [visible(text) for text in marks.node(node)]
        for node in topology.nodes
    ]
    assert [(names[found[1]], found[2], names[found[4]]) for found in edges if found] == [
        (edge.source, mermaid_arrow(edge), edge.target) for edge in topology.edges
    ]
    shown = [[mermaid_plain(line) for line in (found[3] or "").split("<br>") if line] for found in edges if found]
    assert shown == labels(topology)


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=list(GRAPHS))
def test_plantuml_declares_exactly_the_nodes_and_edges(graph: CompiledGraph) -> None:
    topology = graph.topology
    marks = Marks(topology)
    lines = [line.lstrip(" ") for line in plantuml_text(topology).splitlines()]
    assert (lines[0], lines[1], lines[-1]) == ("@startuml", "hide empty description", "@enduml")
    lines = [line for line in lines[2:-1] if not PLANT_BOX.fullmatch(line)]
    nodes = [found for line in lines if (found := PLANT_NODE.fullmatch(line))]
    edges = [found for line in lines if (found := PLANT_EDGE.fullmatch(line))]
    texts = [found for line in lines if (found := PLANT_TOLD.fullmatch(line))]
    assert len(lines) == len(nodes) + len(edges) + len(texts)
    inner = topology.nodes[1:-1]
    assert [plant_plain(found[1]) for found in nodes] == [visible(node.name) for node in inner]
    told: dict[str, list[str]] = {found[2]: [found[3]] if found[3] else [] for found in nodes}
    for found in texts:
        told[found[1]].append(plant_plain(found[2]))
    assert list(told.values()) == [[visible(text) for text in (node.kind, *marks.node(node))] for node in inner]
    names = {found[2]: node.name for found, node in zip(nodes, inner, strict=True)}
    assert [(names.get(found[1], START), found[2], names.get(found[3], END)) for found in edges] == [
        (edge.source, plant_arrow(edge), edge.target) for edge in topology.edges
    ]
    shown = [[plant_plain(line) for line in (found[4] or "").split("\\n") if line] for found in edges]
    assert shown == labels(topology)


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=list(GRAPHS))
def test_boxes_are_closed_and_their_names_are_no_nodes(graph: CompiledGraph) -> None:
    kinds = {node.name: node.kind for node in graph.topology.nodes}
    subgraphs = [visible(name) for name, kind in kinds.items() if kind == "exit"]
    for text, box, number, plain in (
        (mermaid_text(graph.topology), MERMAID_BOX, 1, mermaid_plain),
        (plantuml_text(graph.topology), PLANT_BOX, 2, plant_plain),
    ):
        depth, names, identifiers = 0, [], set()
        for line in text.splitlines():
            found = box.fullmatch(unindented(line) if number == 1 else line.lstrip(" "))
            if found is not None:
                opens = found[number] is not None
                depth += 1 if opens else -1
                assert depth >= 0
                if opens:
                    names.append(plain(found[3 - number]))
                    identifiers.add(found[number])
        assert depth == 0
        assert sorted(names) == sorted(subgraphs)
        assert len(identifiers) == len(names)
        assert not any(re.search(rf"{each} (-|=)|(>|o|\|) {each}$", text, re.MULTILINE) for each in identifiers)


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


@pytest.mark.parametrize("text", [dot_text, mermaid_text, plantuml_text])
@pytest.mark.parametrize(
    "hidden", ["\u2060", "\u200b", "\u3164", "\u200d", "\x1b", "\x07", "\r", "\n", "\\n", "\u2028"]
)
def test_no_text_holds_what_nobody_sees(text: Callable[[Topology], str], hidden: str) -> None:
    name = f"a{hidden}b"
    graph = StateGraph(["x"], name=name).add_node(name, idle, kind=name).add_edge(START, name)
    made = text(graph.add_edge(name, END, reason=name).compile().topology)
    assert [ascii(char) for char in made if not char.isprintable() and char not in "\n\t"] == []
    assert hidden in ("\n", "\\n") or hidden not in made


def test_a_graph_with_gotos_in_mermaid() -> None:
    assert mermaid_text(gotos().topology) == (
        "flowchart TD\n"
        '    __START__(["START"])\n'
        '    refund("refund")\n'
        '    bill("bill")\n'
        '    desk["desk<br>joins its own branches: all_of"]\n'
        '    close[["close"]]\n'
        '    __END__(["END"])\n'
        "    __START__ --> desk\n"
        '    refund -->|"FIXED"| desk\n'
        '    bill -->|"FIXED"| desk\n'
        '    desk -->|"SILENT"| close\n'
        '    desk ==>|"#124;#124; [refund] goto"| refund\n'
        '    desk ==>|"#124;#124; [bill] goto"| bill\n'
        '    desk -.-o|"[done] goto"| __END__\n'
        '    close -->|"FIXED"| __END__\n'
    )


def test_a_graph_with_rules_that_open_branches_in_plantuml() -> None:
    bars = "<U+007C><U+007C>"
    assert plantuml_text(rule_fork().topology) == (
        "@startuml\n"
        "hide empty description\n"
        'state "triage" as triage <<agent>> #DBEAFE\n'
        'state "ask" as ask <<agent>> #DBEAFE\n'
        'state "search" as search <<agent>> #DBEAFE\n'
        'state "answer" as answer <<agent>> #DBEAFE\n'
        "answer : joins triage<U+003A> all_of\n"
        "[*] --> triage\n"
        f"triage -[dashed,thickness=3]-> ask : [ask]\\n{bars} HARD_CASE\\nUNCLEAR\n"
        f"triage -[dashed,thickness=3]-> search : {bars} [wide]\\nHARD_CASE\\nNEEDS_SEARCH\n"
        f"triage -[dashed,thickness=3]-> search : [deep]\\n{bars} HARD_CASE\\n{bars} NEEDS_SEARCH\\nNARROW\n"
        "triage -[dashed]-> answer : [known]\\nKNOWN\n"
        "ask --> answer : FIXED\n"
        "search --> answer : FIXED\n"
        "answer --> [*] : FIXED\n"
        "@enduml\n"
    )


def test_a_subgraph_is_a_box_in_both() -> None:
    topology = with_subgraph().topology
    assert (
        '    subgraph box_0["child"]\n'
        '        node_4[\\"child#45;START<br>(enter)"/]\n'
        '        node_5("child#45;split")\n'
        '        node_6("child#45;x")\n'
        '        node_7("child#45;y")\n'
        '        node_8("child#45;meet<br>joins child#45;split: all_of")\n'
        '        child[/"child<br>(exit)"\\]\n'
        "    end\n"
    ) in mermaid_text(topology)
    assert (
        'state "child" as box_0 {\n'
        '  state "child<U+002D>START" as node_4\n'
        "  node_4 : enter\n"
        '  state "child<U+002D>split" as node_5 <<agent>> #DBEAFE\n'
    ) in plantuml_text(topology)
