"""Pictures tell branches, joins, gotos and subgraphs apart, without colours too, and show runs and coverage on them."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from drawn_graphs import (
    FORKED,
    HOSTILE,
    chinese,
    failing,
    fixed_fork,
    forked_start,
    forking,
    gotos,
    holds,
    hostile_boxes,
    hostile_forks,
    idle,
    mapped,
    nested_forks,
    noted,
    race,
    rule_fork,
    small_graph,
    supervisor,
    wide,
    with_subgraph,
    writing,
)
from test_dot_text import edge, lines, parsed

from diagnosis.runtime import (
    END,
    START,
    Append,
    Command,
    CompiledGraph,
    Decision,
    Fork,
    Model,
    Rule,
    Run,
    StateGraph,
    TopologyNode,
)
from diagnosis.verify import measure
from diagnosis.views import dot_text, draw
from diagnosis.views.boxes import Box, boxed
from diagnosis.views.dot import KINDS
from diagnosis.views.labels import visible, wrapped
from diagnosis.views.marks import Marks
from diagnosis.views.overlay import TIMES

SVG = "{http://www.w3.org/2000/svg}"


def labels(graph: CompiledGraph, source: str) -> list[list[str]]:
    _, edges = parsed(dot_text(graph.topology))
    return [lines(attributes) for start, _, attributes in edges if start == source]


# What an edge says.


def test_an_edge_that_opens_a_branch_has_two_bars_and_a_bar_at_its_tail() -> None:
    _, edges = parsed(dot_text(fixed_fork().topology))
    opening = {(s, t): a for s, t, a in edges if a.get("arrowtail")}
    assert set(opening) == {("plan", "logs"), ("plan", "traces"), ("plan", "metrics")}
    for attributes in opening.values():
        assert (attributes["dir"], attributes["arrowtail"], attributes["style"]) == ("both", "tee", "solid")
        assert lines(attributes) == ["|| FIXED"]
    assert [(s, t) for s, t, attributes in edges if "||" in attributes["label"]] == list(opening)


def test_only_the_reasons_that_open_branches_are_marked_where_others_share_the_edge() -> None:
    assert labels(rule_fork(), "triage") == [
        ["[ask]", "|| HARD_CASE", "UNCLEAR"],
        ["|| [wide]", "HARD_CASE", "NEEDS_SEARCH"],
        ["[deep]", "|| HARD_CASE", "|| NEEDS_SEARCH", "NARROW"],
        ["[known]", "KNOWN"],
    ]


def test_a_reason_called_like_its_route_key_is_shown_where_it_alone_opens_branches() -> None:
    graph = forking("g", "plan", "a", "b", "join").add_edge(START, "plan")
    rules = [Rule(("a", "b"), "a", holds("both")), Rule("a", "ALONE", holds("one")), Rule("b", "b")]
    graph.add_conditional_edges("plan", Decision(rules), {"a": "a", "b": "b"})
    made = graph.add_edge(["a", "b"], "join").add_edge("join", END).compile()
    assert labels(made, "plan") == [["[a]", "|| a", "ALONE"], ["[b]", "|| a"]]


def test_a_router_marks_the_routes_that_may_open_branches() -> None:
    assert labels(mapped(), "split") == [["|| [worker]"], ["[none]"]]


def test_a_goto_is_dotted_with_an_open_arrow_and_says_so() -> None:
    _, edges = parsed(dot_text(gotos().topology))
    found = {t: a for s, t, a in edges if s == "desk"}
    assert {t: lines(a) for t, a in found.items()} == {
        "close": ["SILENT"],
        "refund": ["|| [refund] goto"],
        "bill": ["|| [bill] goto"],
        END: ["[done] goto"],
    }
    for target in ("refund", "bill", END):
        assert (found[target]["style"], found[target]["arrowhead"]) == ("dotted", "empty")
    assert "arrowhead" not in found["close"]
    assert [target for target, attributes in found.items() if "arrowtail" in attributes] == ["refund", "bill"]


def test_a_key_that_a_rule_and_a_command_may_give_is_two_edges() -> None:
    graph = StateGraph(["flag"]).add_node("a", idle, goto={"on": "b"}).add_node("b", idle).add_edge(START, "a")
    graph.add_conditional_edges("a", lambda state: "on", {"on": "b", "off": END}).add_edge("b", END)
    assert labels(graph.compile(), "a") == [["[on]"], ["[off]"], ["[on] goto"]]


def test_an_edge_to_end_that_only_ends_a_branch_says_so() -> None:
    statements = parsed(dot_text(fixed_fork().topology))
    assert lines(edge(statements, "metrics", END)) == ["[none]", "NO_METRICS", "(ends its branch)"]
    assert lines(edge(statements, "report", END)) == ["REPORTED"]


def test_the_tooltip_of_an_edge_tells_all_of_it() -> None:
    statements = parsed(dot_text(gotos().topology))
    assert edge(statements, "desk", "bill")["tooltip"] == "desk -> bill [bill] goto; may open a branch"
    assert edge(statements, "desk", END)["labeltooltip"] == f"desk -> {END} [done] goto"
    ended = edge(parsed(dot_text(fixed_fork().topology)), "metrics", END)
    assert ended["tooltip"] == f"metrics -> {END} [none]: NO_METRICS; ends its branch"


# What a node says.


@pytest.mark.parametrize(
    ("make", "joins"),
    [
        (fixed_fork, {"report": ["joins plan: all_of", "at most 2 at once"]}),
        (rule_fork, {"answer": ["joins triage: all_of"]}),
        (nested_forks, {"gather": ["joins left: all_of"], "report": ["joins plan: all_of"]}),
        (race, {"answer": ["joins ask: any_of"]}),
        (mapped, {"collect": ["joins split: all_of", "at most 2 at once"]}),
        (gotos, {"desk": ["joins its own branches: all_of"]}),
        (supervisor, {"supervisor": ["joins its own branches: all_of"]}),
        (chinese, {"汇总报告": ["joins 规划器: all_of"]}),
        (small_graph, {}),
    ],
)
def test_a_join_says_what_it_joins_and_what_it_waits_for(
    make: Callable[[], CompiledGraph], joins: dict[str, list[str]]
) -> None:
    topology = make().topology
    nodes, _ = parsed(dot_text(topology))
    shown = {lines(attributes)[0]: lines(attributes)[1:] for attributes in nodes.values()}
    assert {name: rest for name, rest in shown.items() if any("joins" in line for line in rest)} == joins
    for attributes in nodes.values():
        title, *rest = lines(attributes)
        if title in joins:
            assert attributes["tooltip"].endswith("; ".join(["", *rest]))


def test_a_source_whose_branches_meet_in_several_ways_is_told_with_what_opens_them() -> None:
    graph = forking("g", "a", "b", "c", "d", "e", "f")
    graph.add_node("plan", idle, goto={"b": "b", "c": "c"}, fork=Fork("d", "any_of")).add_edge(START, "plan")
    graph.add_edge("plan", ["a", "e"], fork=Fork("f")).add_edge(["b", "c"], "d").add_edge("d", "f")
    nodes, _ = parsed(dot_text(graph.add_edge(["a", "e"], "f").add_edge("f", END).compile().topology))
    assert lines(nodes["d"])[1:] == ["joins plan, its Commands: any_of"]
    assert lines(nodes["f"])[1:] == ["joins plan, its edges: all_of"]


def test_two_forks_that_meet_at_one_node_are_both_told_there() -> None:
    graph = forking("g", "plan", "left", "x", "y", "right", "join").add_edge(START, "plan")
    graph.add_edge("plan", ["left", "right"], fork=Fork("join", max_concurrency=2))
    graph.add_edge("left", ["x", "y"], fork=Fork("join", "any_of", 1)).add_edge(["x", "y", "right"], "join")
    nodes, _ = parsed(dot_text(graph.add_edge("join", END).compile().topology))
    assert lines(nodes["join"]) == [
        "join",
        "joins plan: all_of",
        "at most 2 at once",
        "joins left: any_of",
        "at most 1 at once",
    ]


def test_the_builders_own_kinds_have_shapes_and_are_named() -> None:
    shapes = [KINDS[kind]["shape"] for kind in ("entry", "enter", "exit")]
    assert len({*shapes, *(style["shape"] for style in KINDS.values())}) == len(KINDS)
    nodes, _ = parsed(dot_text(with_subgraph().topology))
    shown = {lines(attributes)[0]: attributes for attributes in nodes.values()}
    assert (shown["child-START"]["shape"], lines(shown["child-START"])[1]) == (KINDS["enter"]["shape"], "(enter)")
    assert (shown["child"]["shape"], lines(shown["child"])[1]) == (KINDS["exit"]["shape"], "(exit)")


def test_a_start_that_opens_branches_does_so_at_a_node_of_its_own() -> None:
    nodes, edges = parsed(dot_text(forked_start().topology))
    assert (nodes["entry"]["shape"], lines(nodes["entry"])) == (KINDS["entry"]["shape"], ["entry"])
    assert lines(nodes["join"])[1] == "joins entry: all_of"
    assert [(s, t, lines(a)) for s, t, a in edges[:3]] == [
        (START, "entry", []),
        ("entry", "left", ["|| FIXED"]),
        ("entry", "right", ["|| FIXED"]),
    ]


# What stands around: legend, boxes, rows.


def legend(graph: CompiledGraph) -> list[str]:
    found = re.search(r'graph \[.*?label="((?:[^"\\]|\\.)*)"', dot_text(graph.topology))
    assert found is not None
    return found[1].removesuffix("\\l").split("\\l")[1:]


DASHES = "solid: fixed edge; dashed: decided, by [route key] and REASON_CODE"
OPENS = "||, bar at the tail: may open branches, side by side; their join runs once"
GOES = "dotted, open arrow: [key] goto, by a Command that also gives the reason"
ENDS = "(ends its branch): the branch is through, and the join still runs"


def test_the_legend_explains_what_there_is_and_nothing_else() -> None:
    assert legend(small_graph()) == [DASHES]
    assert legend(race()) == [DASHES, OPENS]
    assert legend(fixed_fork()) == [DASHES, OPENS, ENDS]
    assert legend(gotos()) == [DASHES, GOES, OPENS]
    graph = StateGraph(["flag"]).add_node("a", idle, goto={"x": END}).add_edge(START, "a").compile()
    assert legend(graph) == [DASHES, GOES]


def test_a_run_has_its_summary_in_place_of_the_legend() -> None:
    run = gotos().run()
    assert "bar at the tail" not in dot_text(run.graph.topology, run=run)


def names(part: Box) -> list[Any]:
    return [part.name, [names(each) if isinstance(each, Box) else each.name for each in part.inside]]


def test_the_nodes_of_a_subgraph_with_keys_of_its_own_stand_in_a_box() -> None:
    parts = boxed(with_subgraph().topology, ())
    assert [part.name for part in parts] == [START, "plan", "beside", "after", "child", END]
    assert isinstance(parts[4], Box)
    assert names(parts[4]) == [
        "child",
        ["child-START", "child-split", "child-x", "child-y", "child-meet", "child"],
    ]
    dot = dot_text(with_subgraph().topology)
    frame = dot[dot.index("subgraph cluster_box_0 {") : dot.index("}")]
    assert 'label="child\\l"' in frame
    assert re.findall(r'^\t\t\w+ \[label="(child[-\w]*)', frame, re.MULTILINE) == names(parts[4])[1]


def test_boxes_stand_in_boxes() -> None:
    inner = StateGraph(["flag"]).add_node("x", idle).add_edge(START, "x").add_edge("x", END).compile()
    outer = StateGraph(["flag"]).add_node("in", inner).add_edge(START, "in").add_edge("in", END).compile()
    graph = StateGraph(["flag"]).add_node("out", outer).add_edge(START, "out").add_edge("out", END).compile()
    (part,) = (part for part in boxed(graph.topology, ()) if isinstance(part, Box))
    assert names(part) == ["out", ["out-START", ["out-in", ["out-in-START", "out-in-x", "out-in"]], "out"]]
    dot = draw(graph).dot
    depths = re.findall(r"^(\t+)subgraph cluster_box_", dot, re.MULTILINE)
    assert depths == ["\t", "\t\t"]


def test_a_box_never_takes_the_identifier_of_a_node() -> None:
    topology = with_subgraph().topology
    (part,) = (part for part in boxed(topology, ("box_0", "box__0")) if isinstance(part, Box))
    assert part.identifier == "box___0"


def test_without_subgraphs_there_is_no_box() -> None:
    topology = small_graph().topology
    assert boxed(topology, ()) == topology.nodes
    assert all(isinstance(part, TopologyNode) for part in boxed(nested_forks().topology, ()))


def test_many_branches_begin_in_several_rows() -> None:
    _, edges = parsed(dot_text(wide(64).topology))
    rows = [int(attributes.get("minlen", 1)) for source, _, attributes in edges if source == "plan"]
    assert rows == [1 + number % 8 for number in range(64)]
    _, edges = parsed(dot_text(wide(8).topology))
    assert not any("minlen" in attributes for *_, attributes in edges)


def test_sixty_four_branches_are_no_ribbon() -> None:
    svg = ElementTree.fromstring(draw(wide(64)).svg())
    width, height = (float((svg.get(name) or "").removesuffix("pt")) for name in ("width", "height"))
    assert width / height < 5


# Runs.


def shown(run: Run) -> tuple[dict[str, list[str]], Any]:
    statements = parsed(dot_text(run.graph.topology, run=run))
    return {name: lines(attributes) for name, attributes in statements[0].items()}, statements


def taken(statements: Any) -> set[tuple[str, str]]:
    return {(s, t) for s, t, attributes in statements[1] if attributes.get("penwidth") == "2.5"}


def test_a_run_takes_every_edge_that_it_opened_a_branch_along() -> None:
    nodes, statements = shown(fixed_fork().run())
    assert nodes["plan"] == ["plan", "step 1"]
    assert nodes["zoom"] == ["zoom", "step 4"]
    assert nodes["report"] == ["report", "joins plan: all_of", "at most 2 at once", "step 6"]
    assert {(s, t) for s, t in taken(statements) if s == "plan"} == {
        ("plan", "logs"),
        ("plan", "traces"),
        ("plan", "metrics"),
    }
    assert lines(edge(statements, "plan", "metrics")) == ["step 1", "|| FIXED"]
    assert lines(edge(statements, "metrics", END)) == ["step 5", "[none]", "NO_METRICS", "(ends its branch)"]
    assert ("metrics", "slice") not in taken(statements)
    assert nodes[END] == ["END"]


def test_branches_of_one_node_are_numbered_in_the_order_of_declaration() -> None:
    nodes, statements = shown(mapped().run())
    assert nodes["worker"] == ["worker", "steps 2, 4, 6"]
    assert nodes["check"] == ["check", "steps 3, 5, 7"]
    assert lines(edge(statements, "split", "worker")) == ["step 1", "|| [worker]"]
    assert ("split", "collect") not in taken(statements)


def test_a_reason_that_opened_two_branches_along_one_edge_counts_its_step_once() -> None:
    _, statements = shown(rule_fork().run({"flag": True}))
    assert lines(edge(statements, "triage", "search", "wide")) == [
        "step 1",
        "|| [wide]",
        "HARD_CASE (1)",
        "NEEDS_SEARCH",
    ]
    assert lines(edge(statements, "triage", "search", "deep")) == [
        "step 1",
        "[deep]",
        "|| HARD_CASE (1)",
        "|| NEEDS_SEARCH",
        "NARROW",
    ]


def test_a_branch_that_lost_was_opened_but_shows_no_steps() -> None:
    found = [True, True, False]
    graph = race().with_actions({"check": lambda state: {"flag": found.pop(0)}})
    nodes, statements = shown(graph.run())
    assert nodes["search"] == ["search", "steps 2, 4, 6"]
    assert nodes["cache"] == ["cache"]
    assert {("ask", "search"), ("ask", "cache")} <= taken(statements)
    assert ("cache", "answer") not in taken(statements)


def test_a_goto_of_a_run_is_not_the_edge_that_a_rule_takes() -> None:
    graph = StateGraph(["flag"]).add_node("b", idle).add_edge(START, "a").add_edge("b", END)
    graph.add_node("a", lambda state: Command("on", reason="SAID_ON"), goto={"on": "b"})
    graph.add_conditional_edges("a", lambda state: "on", {"on": "b", "off": END})
    _, statements = shown(graph.compile().run())
    assert [(lines(a), a["style"], "penwidth" in a) for s, _, a in statements[1] if s == "a"] == [
        (["[on]"], "dashed", False),
        (["[off]"], "dashed", False),
        (["step 1", "[on] goto"], "dotted", True),
    ]


def test_gotos_are_taken_alone_and_together() -> None:
    nodes, statements = shown(gotos().run())
    assert nodes["desk"] == ["desk", "joins its own branches: all_of", "steps 1, 4, 6"]
    assert lines(edge(statements, "desk", "bill")) == ["steps 1, 4", "|| [bill] goto"]
    assert lines(edge(statements, "desk", END)) == ["step 6", "[done] goto"]
    assert ("desk", "close") not in taken(statements)


def test_a_run_that_failed_in_a_branch_marks_the_node_and_names_the_branch() -> None:
    nodes, statements = shown(fixed_fork().with_actions({"zoom": failing}).run(check=False))
    assert nodes["zoom"] == ["zoom", "step 4", f"{TIMES} failed in traces[1]: ActionError"]
    assert statements[0]["zoom"]["peripheries"] == "2"
    assert statements[0][END].get("penwidth") != "3"
    assert ("logs", "report") in taken(statements)


def test_a_branch_may_have_ended_in_a_run_that_did_not() -> None:
    graph = forking("g", "plan", "a", "b", "c", "join").add_edge(START, "plan")
    graph.add_edge("plan", ["a", "b"], fork=Fork("join")).add_edge("a", END).add_edge("b", "c").add_edge("c", "join")
    run = graph.add_edge("join", END).compile().with_actions({"c": failing}).run(check=False)
    nodes, statements = shown(run)
    assert nodes[END] == ["END", "of a branch"]
    assert ("a", END) in taken(statements)
    assert ("join", END) not in taken(statements)


def test_a_limit_met_in_a_branch_names_it() -> None:
    graph = race().with_actions({"check": writing(True), "cache": failing})
    nodes, _ = shown(graph.run(check=False, recursion_limit=6))
    assert nodes["check"][-1] == f"{TIMES} limit met in search[0] before step 7"


def test_branches_that_cannot_be_joined_mark_the_fork_without_another_step() -> None:
    graph = rule_fork().with_actions({"ask": writing(1), "search": writing(2)})
    nodes, _ = shown(graph.run({"flag": True}, check=False))
    assert nodes["triage"] == ["triage", "step 1", f"{TIMES} failed: JoinError"]


# Coverage.


def gotos_model() -> Model:
    desk = {
        "both": Command(["refund", "bill"], reason="BOTH"),
        "bill": Command("bill", reason="BILL"),
        "done": Command("done", reason="DONE"),
        "silent": {},
    }
    ok: dict[str, Any] = {"ok": {}}
    return Model("gotos", gotos(), {"desk": desk, "refund": ok, "bill": ok, "close": ok})


def race_model() -> Model:
    ok: dict[str, Any] = {"ok": {}}
    check = {"nothing": {"flag": True}, "something": {"flag": False}}
    return Model("race", race(), {"ask": ok, "search": ok, "check": check, "cache": ok, "answer": ok})


def test_coverage_counts_gotos_and_the_branches_that_were_opened() -> None:
    model = gotos_model()
    statements = parsed(dot_text(model.graph.topology, coverage=measure(model, [model.graph.run()])))
    assert lines(edge(statements, "desk", "refund")) == [f"1{TIMES}", "|| [refund] goto"]
    assert lines(edge(statements, "desk", "bill")) == [f"2{TIMES}", "|| [bill] goto"]
    assert lines(edge(statements, "desk", END)) == [f"1{TIMES}", "[done] goto"]
    silent = edge(statements, "desk", "close")
    assert lines(silent) == [f"0{TIMES} not covered", "SILENT"]
    assert silent["style"] == "dotted"
    for target in ("refund", "bill", END):
        assert edge(statements, "desk", target)["arrowhead"] == "empty"


def test_coverage_counts_the_rules_of_an_edge_that_open_branches() -> None:
    ok: dict[str, Any] = {"ok": {}}
    triage = {"hard": {"flag": True}, "plain": {"flag": False}}
    model = Model("rule fork", rule_fork(), {"triage": triage, "ask": ok, "search": ok, "answer": ok})
    coverage = measure(model, [model.graph.run({"flag": True})])
    statements = parsed(dot_text(model.graph.topology, coverage=coverage))
    assert lines(edge(statements, "triage", "search", "wide")) == [
        f"1{TIMES}",
        "|| [wide]",
        f"HARD_CASE 1{TIMES}",
        "NEEDS_SEARCH infeasible",
    ]
    assert lines(edge(statements, "triage", "ask"))[2] == f"|| HARD_CASE 1{TIMES}"
    assert edge(statements, "triage", "ask")["arrowtail"] == "tee"


def test_coverage_tells_which_branches_have_won() -> None:
    model = race_model()
    run = model.graph.with_actions({"check": writing(False)}).run()
    dot = dot_text(model.graph.topology, coverage=measure(model, [run, run]))
    statements = parsed(dot)
    assert lines(edge(statements, "ask", "search")) == [f"2{TIMES}, won 2{TIMES}", "|| FIXED"]
    assert lines(edge(statements, "ask", "cache")) == [f"2{TIMES}, won 0{TIMES}", "|| FIXED"]
    assert "winners 1 of 2" in dot


# Texts from data, engines and bytes.


def test_hostile_texts_stay_texts_on_forks_joins_gotos_and_boxes() -> None:
    for graph in (hostile_forks(), hostile_boxes()):
        topology = graph.topology
        nodes, edges = parsed(dot_text(topology))
        assert len(nodes) == len(topology.nodes)
        assert len(edges) == len(topology.edges)
        root = ElementTree.fromstring(draw(graph).svg())
        texts = {"".join(found.itertext()).strip().replace("\xa0", " ") for found in root.iter(f"{SVG}text")}
        marks = Marks(topology)
        said = [line for node in topology.nodes for text in marks.node(node) for line in wrapped(text, width=40)]
        said += [line for each in topology.edges for text in marks.edge_lines(each) for line in wrapped(text)]
        said += [line for part in boxed(topology, ()) if isinstance(part, Box) for line in wrapped(part.name)]
        missing = [line for line in said if line.strip() not in texts]
        assert missing == []
        kinds = {found.tag.removeprefix(SVG) for found in root.iter()}
        assert kinds <= {"svg", "g", "a", "title", "text", "path", "polygon", "polyline", "ellipse"}


@pytest.mark.parametrize("name", list(HOSTILE))
def test_a_hostile_branch_that_fails_is_named_as_text(name: str) -> None:
    text = HOSTILE[name]
    graph = StateGraph({"notes": Append()}).add_node("plan", noted("plan")).add_node("join", idle)
    graph.add_node(text, failing).add_node("other", noted("other")).add_edge(START, "plan")
    graph.add_edge("plan", ["other", text]).add_edge(["other", text], "join").add_edge("join", END)
    run = graph.compile().run(check=False)
    svg = draw(run).svg()
    ElementTree.fromstring(svg)
    found = "".join(ElementTree.fromstring(svg).itertext())
    assert f"{TIMES} failed in {visible(text)[:10]}" in found


@pytest.mark.parametrize("make", [*FORKED.values(), wide], ids=[*FORKED, "wide"])
def test_every_picture_is_accepted_by_the_engine(make: Callable[[], CompiledGraph]) -> None:
    graph = make()
    picture = draw(graph)
    root = ElementTree.fromstring(picture.svg())
    groups = [found.get("class") for found in root.iter(f"{SVG}g")]
    assert groups.count("node") == len(graph.topology.nodes)
    assert groups.count("edge") == len(graph.topology.edges)
    assert picture.png().startswith(b"\x89PNG")


BYTES = """
import sys
sys.path.insert(0, {here!r})
from drawn_graphs import FORKED, fixed_fork, gotos, hostile_boxes, hostile_forks, wide
from diagnosis.views import draw, events_table, rules_table
for make in (*FORKED.values(), hostile_forks, hostile_boxes, wide):
    graph = make()
    picture = draw(graph)
    for text in (picture.dot, picture.svg(), picture.mermaid(), picture.plantuml(), picture.text()):
        sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.write(rules_table(graph).to_csv().encode("utf-8", "backslashreplace"))
for run in (fixed_fork().run(), gotos().run()):
    sys.stdout.buffer.write(draw(run).svg().encode() + events_table(run).to_csv().encode())
"""


def test_every_byte_is_the_same_in_every_process() -> None:
    program = BYTES.format(here=str(Path(__file__).parent))
    outputs = set()
    for seed in ("0", "1"):
        environment = {"PATH": "/nonexistent", "PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        outputs.add(done.stdout)
    assert len(outputs) == 1
