"""The DOT text holds every node and edge, tells kinds apart, and shows a run or a coverage."""

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from drawn_graphs import EXPLODES, LONGEST, STRAIGHT, hostile_graph, idle, played, small_graph, small_model, small_run

from diagnosis.catalog import diagnosis_model
from diagnosis.runtime import END, START, StateGraph, Topology, TopologyEdge, TopologyNode
from diagnosis.verify import measure
from diagnosis.views import DrawError, dot_text
from diagnosis.views.dot import KINDS, style_of
from diagnosis.views.overlay import TIMES

STATEMENT = re.compile(r'^\t+(\w+)(?: -> (\w+)(?::s)?)? \[((?:"(?:[^"\\]|\\.)*"|[^"])*)\]$')
ATTRIBUTE = re.compile(r'(\w+)=(?:"((?:[^"\\]|\\.)*)"|(\S+))')

Statements = tuple[dict[str, dict[str, str]], list[tuple[str, str, dict[str, str]]]]


def parsed(dot: str) -> Statements:
    """Read the statements of a DOT text back: nodes by identifier, and edges."""
    nodes, edges = {}, []
    for line in dot.splitlines():
        found = STATEMENT.match(line)
        if found is None or found[1] in ("graph", "node", "edge"):
            continue
        attributes = {name: quoted or bare for name, quoted, bare in ATTRIBUTE.findall(found[3])}
        if found[2]:
            edges.append((found[1], found[2], attributes))
        else:
            nodes[found[1]] = attributes
    return nodes, edges


def lines(attributes: dict[str, str]) -> list[str]:
    return [line.strip() for line in re.split(r"\\[ln]", attributes["label"]) if line.strip()]


def edge(statements: Statements, source: str, target: str, word: str = "") -> dict[str, str]:
    (found,) = (a for s, t, a in statements[1] if (s, t) == (source, target) and word in a.get("label", ""))
    return found


def test_the_contract_graph_has_all_its_nodes_and_edges() -> None:
    topology = diagnosis_model().graph.topology
    nodes, edges = parsed(dot_text(topology))
    assert list(nodes) == [node.name for node in topology.nodes]
    assert [(source, target) for source, target, _ in edges] == [(e.source, e.target) for e in topology.edges]
    assert len(edges) == 18


def test_edges_carry_route_key_and_every_reason() -> None:
    statements = parsed(dot_text(diagnosis_model().graph.topology))
    assert lines(edge(statements, "planner", "fallback")) == [
        "[fallback]",
        "PLANNER_RETRY_EXHAUSTED",
        "PLANNER_FAILED",
        "PLANNER_STATUS_UNKNOWN",
    ]
    assert lines(edge(statements, "verified_input", "verifier")) == ["VERIFIED_INPUT_READY"]
    assert lines(edge(statements, "fallback", END)) == []
    tooltip = "planner -> fallback [fallback]: PLANNER_RETRY_EXHAUSTED, PLANNER_FAILED, PLANNER_STATUS_UNKNOWN"
    assert edge(statements, "planner", "fallback")["tooltip"] == tooltip


def test_fixed_edges_are_solid_and_conditional_ones_dashed() -> None:
    topology = diagnosis_model().graph.topology
    _, edges = parsed(dot_text(topology))
    styles = {"fixed": "solid", "conditional": "dashed"}
    assert [attributes["style"] for *_, attributes in edges] == [styles[edge.kind] for edge in topology.edges]


def test_kinds_differ_in_shape_and_in_fill() -> None:
    assert len({style["shape"] for style in KINDS.values()}) == len(KINDS)
    assert len({style["fillcolor"] for style in KINDS.values()}) == len(KINDS)
    nodes, _ = parsed(dot_text(diagnosis_model().graph.topology))
    assert (nodes["planner"]["shape"], nodes["gatekeeper"]["shape"], nodes["fallback"]["shape"]) == (
        "box",
        "component",
        "octagon",
    )


def test_an_unknown_kind_has_a_style_of_its_own_and_is_named() -> None:
    assert style_of("tool") == style_of("tool")
    assert style_of("tool") != style_of("human")
    nodes, _ = parsed(dot_text(small_graph().topology))
    assert lines(nodes["check"]) == ["check", "(tool)"]
    assert style_of("half \udc80")["style"] == "filled"


def test_two_route_keys_to_one_target_are_two_edges() -> None:
    _, edges = parsed(dot_text(small_graph().topology))
    assert [lines(a) for source, target, a in edges if (source, target) == ("ask", "check")] == [
        ["[good]", "ALL_WELL"],
        ["[doubtful]", "NOT_SURE"],
    ]


def test_a_plain_router_shows_its_route_keys_once() -> None:
    statements = parsed(dot_text(small_graph().topology))
    assert lines(edge(statements, "check", "stop")) == ["[yes]"]


def test_a_node_of_the_kind_start_keeps_its_name() -> None:
    graph = StateGraph(["flag"]).add_node("go", idle, kind="start").add_edge(START, "go").add_edge("go", END).compile()
    nodes, _ = parsed(dot_text(graph.topology))
    assert nodes["go"]["label"] == "go"
    assert nodes[START]["label"] == "START"


def test_an_identifier_that_dot_keeps_for_itself_is_replaced() -> None:
    nodes = tuple(TopologyNode(name, "node") for name in ("node", "Graph", "a:b:n", "007"))
    topology = Topology("t", nodes, (TopologyEdge("node", "Graph", "fixed", None, ("A",)),))
    found, edges = parsed(dot_text(topology))
    assert list(found) == ["node_0", "node_1", "node_2", "node_3"]
    assert [attributes["label"] for attributes in found.values()] == ["node", "Graph", "a:b:n", "007"]
    assert edges[0][:2] == ("node_0", "node_1")


def test_the_background_is_white_and_the_font_is_named() -> None:
    dot = dot_text(small_graph().topology)
    assert "bgcolor=white" in dot
    assert dot.count("fontname=Arial") == 3


def test_a_run_numbers_its_steps_on_nodes_and_edges() -> None:
    run = played(LONGEST).run
    statements = parsed(dot_text(run.graph.topology, run=run))
    nodes, _ = statements
    assert lines(nodes["planner"]) == ["planner", "steps 1, 2, 9, 10"]
    assert lines(nodes["evidence_retry"]) == ["evidence_retry", "step 8"]
    assert lines(edge(statements, "planner", "planner")) == ["steps 1, 9", "[retry_planner]", "PLANNER_RETRY"]
    assert lines(edge(statements, "evidence_retry", "planner")) == ["step 8", "EVIDENCE_RETRY_SCHEDULED"]


def test_a_run_says_which_of_several_reasons_it_had() -> None:
    run = played(LONGEST).run
    statements = parsed(dot_text(run.graph.topology, run=run))
    assert lines(edge(statements, "composer", "fallback")) == [
        "step 17",
        "[fallback]",
        "COMPOSER_RETRY_EXHAUSTED (17)",
        "COMPOSER_FAILED",
        "COMPOSER_STATUS_UNKNOWN",
    ]


def test_the_path_of_a_run_is_thicker_than_the_rest() -> None:
    run = played(STRAIGHT).run
    topology = run.graph.topology
    nodes, edges = parsed(dot_text(topology, run=run))
    thick = [(s, t) for s, t, attributes in edges if float(attributes.get("penwidth", 1)) > 2]
    path = [START, *run.path, END]
    assert thick == list(pairwise(path))
    assert {name for name, attributes in nodes.items() if attributes.get("penwidth") == "3"} == set(path)


def test_a_run_that_failed_marks_the_node_with_a_word_and_a_double_line() -> None:
    run = played(EXPLODES).run
    statements = parsed(dot_text(run.graph.topology, run=run))
    executor = statements[0]["executor"]
    assert lines(executor) == ["executor", "step 2", f"{TIMES} failed: ActionError"]
    assert executor["peripheries"] == "2"
    assert "penwidth" not in statements[0][END]
    assert lines(edge(statements, "planner", "executor"))[0] == "step 1"


def test_a_run_that_failed_at_once_marks_its_first_node() -> None:
    run = small_run()
    statements = parsed(dot_text(run.graph.topology, run=run))
    assert lines(statements[0]["ask"]) == ["ask", "step 1", f"{TIMES} failed: ActionError"]
    assert edge(statements, START, "ask")["penwidth"] == "2.5"


def test_a_run_that_met_its_limit_says_before_which_step() -> None:
    run = small_run(*[False] * 8)
    nodes, _ = parsed(dot_text(run.graph.topology, run=run))
    assert lines(nodes["ask"]) == ["ask", f"steps 1, 2, 3, 4, … 8 (8{TIMES})", f"{TIMES} limit met before step 9"]


def test_a_limit_met_before_a_node_that_never_ran_gives_it_no_step() -> None:
    run = small_run(True, limit=1)
    nodes, _ = parsed(dot_text(run.graph.topology, run=run))
    assert lines(nodes["check"]) == ["check", "(tool)", f"{TIMES} limit met before step 2"]


def test_coverage_counts_hits_on_nodes_edges_and_reasons() -> None:
    model = diagnosis_model()
    coverage = measure(model, [played(LONGEST).run, played(STRAIGHT).run])
    statements = parsed(dot_text(model.graph.topology, coverage=coverage))
    assert lines(statements[0]["planner"]) == ["planner", f"5{TIMES}"]
    assert lines(edge(statements, START, "planner")) == [f"2{TIMES}"]
    assert lines(edge(statements, "verified_input", "verifier"))[0] == f"3{TIMES}"
    assert lines(edge(statements, "composer", "fallback")) == [
        f"1{TIMES}",
        "[fallback]",
        f"COMPOSER_RETRY_EXHAUSTED 1{TIMES}",
        f"COMPOSER_FAILED 0{TIMES}",
        f"COMPOSER_STATUS_UNKNOWN 0{TIMES}",
    ]


def test_what_was_not_covered_says_so_and_is_dotted() -> None:
    model = diagnosis_model()
    statements = parsed(dot_text(model.graph.topology, coverage=measure(model, [played(STRAIGHT).run])))
    missed = edge(statements, "planner", "fallback")
    assert lines(missed)[0] == f"0{TIMES} not covered"
    assert missed["style"] == "dotted"
    assert lines(statements[0]["evidence_retry"]) == ["evidence_retry", f"0{TIMES} not covered"]


def test_what_no_run_can_show_is_called_infeasible() -> None:
    model = small_model()
    statements = parsed(dot_text(model.graph.topology, coverage=measure(model, [small_run(True, False)])))
    impossible = edge(statements, "ask", "check", "doubtful")
    assert lines(impossible) == ["infeasible", "[doubtful]", "NOT_SURE"]
    assert impossible["style"] == "dotted"


def test_a_node_or_reason_that_no_run_can_show_is_called_infeasible() -> None:
    from diagnosis.runtime import Condition, Decision, Model, Rule

    never = Condition("never", lambda state: False, "flag")
    graph = StateGraph(["flag"], name="g").add_node("a", idle).add_node("b", idle).add_edge(START, "a")
    rules = [Rule("on", "NEVER", never), Rule("end", "HARDLY", never), Rule("end", "ALWAYS")]
    graph.add_conditional_edges("a", Decision(rules), {"on": "b", "end": END}).add_edge("b", END)
    model = Model("g", graph.compile(), {"a": {"x": {}}, "b": {"x": {}}})
    statements = parsed(dot_text(model.graph.topology, coverage=measure(model, [model.graph.run()])))
    assert lines(statements[0]["b"]) == ["b", "infeasible"]
    assert lines(edge(statements, "a", END)) == [
        f"1{TIMES}",
        "[end]",
        "HARDLY infeasible",
        f"ALWAYS 1{TIMES}",
    ]


def test_the_title_tells_what_the_picture_shows() -> None:
    model, run = diagnosis_model(), played(EXPLODES).run
    assert "diagnosis: 8 nodes, 18 edges" in dot_text(model.graph.topology)
    assert "Run of diagnosis\\lstopped by error after 1 node execution" in dot_text(run.graph.topology, run=run)
    covered = dot_text(model.graph.topology, coverage=measure(model, [run]))
    assert "Coverage of diagnosis by 1 run\\lnodes 2 of 8, edges 2 of 18" in covered


def test_a_run_and_a_coverage_at_once_are_refused() -> None:
    model, run = diagnosis_model(), played(STRAIGHT).run
    with pytest.raises(DrawError, match="a run, a coverage or chances, not several at once"):
        dot_text(model.graph.topology, run=run, coverage=measure(model, [run]))


def test_a_run_or_coverage_of_another_graph_is_refused_by_name() -> None:
    topology = diagnosis_model().graph.topology
    run = small_run(True, False)
    with pytest.raises(DrawError, match="the run is of graph 'small'"):
        dot_text(topology, run=run)
    with pytest.raises(DrawError, match="the coverage is of graph 'small'"):
        dot_text(topology, coverage=measure(small_model(), [run]))


def test_hostile_texts_stay_inside_their_quotes() -> None:
    topology = hostile_graph().topology
    nodes, edges = parsed(dot_text(topology))
    assert len(nodes) == len(topology.nodes)
    assert len(edges) == len(topology.edges)
    assert all("\\N" not in re.sub(r"\\\\", "", attributes["label"]) for attributes in nodes.values())


BYTES = """
import sys
sys.path.insert(0, {here!r})
from drawn_graphs import LONGEST, hostile_graph, played, small_model, small_run
from diagnosis.verify import measure
from diagnosis.views import draw
run = played(LONGEST).run
model = small_model()
pictures = [draw(hostile_graph()), draw(run), draw(model, coverage=measure(model, [small_run(True, False)]))]
for picture in pictures:
    for text in (picture.dot, picture.svg(), picture.mermaid(), picture.plantuml(), picture.text()):
        sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.write(picture.png())
    for kind, content in sorted(picture._repr_mimebundle_().items()):
        sys.stdout.buffer.write(kind.encode() + content.encode("utf-8", "backslashreplace"))
"""


def test_every_byte_is_the_same_in_every_process() -> None:
    program = BYTES.format(here=str(Path(__file__).parent))
    outputs = set()
    for seed, language in (("1", "C"), ("2", "de_DE.UTF-8"), ("3", "zh_CN.GBK")):
        environment = {"PATH": "/nonexistent", "PYTHONHASHSEED": seed, "LANG": language, "TZ": f"UTC{seed}"}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        assert done.stderr == b""
        outputs.add(done.stdout)
    assert len(outputs) == 1
