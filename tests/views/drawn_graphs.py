"""Graphs to look at: small ones, and one whose every text is chosen to do harm."""

from collections.abc import Callable, Mapping
from typing import Any

from diagnosis.catalog import diagnosis_model
from diagnosis.runtime import (
    END,
    REPEAT,
    START,
    Append,
    Command,
    CompiledGraph,
    Condition,
    Decision,
    Fork,
    Model,
    Replace,
    Rule,
    Run,
    Send,
    StateGraph,
)
from diagnosis.scenarios import Scenario, ScenarioResult, run_scenario

HOSTILE = {
    "quotes": "say \"hi\" and 'bye'",
    "backslash at the end": "C:\\temp\\",
    "escapes of DOT": "\\N \\G \\L \\l \\r \\n",
    "line breaks": "one\ntwo\r\nthree\ttabbed",
    "HTML of DOT": "<b>bold</b>",
    "whole HTML of DOT": "<<table><tr><td>x</td></tr></table>>",
    "script": "</svg><script>alert(1)</script>",
    "attribute": 'x" onload="alert(1)',
    "entities": "&lt;b&gt; &amp;amp; &#60; &",
    "control characters": "nul\x00 bell\x07 escape\x1b[31m delete\x7f",
    "Chinese": "规划器、检查订单服务为什么变慢",
    "right to left": "שלום עולם",
    "turned": "abc\u202efed\u2066x\u2069",
    "half a character": "half \udc80 of one",
    "no XML": "\ufffe\uffff",
    "keyword": "node",
    "port": "a:b:n",
    "braces": "{a|b} [c] (d) ];}",
    "markdown": "**bold** _it_ `code` ~~gone~~ [x](javascript:alert(1)) 1. list # head",
    "PlantUML": '@enduml !include /etc/passwd %date() [[http://x]] //it// __u__ ""m"" <&key> <color:red>',
    "Mermaid": "end %% --> |x| ;; @{shape: rect} :::class",
    "long word": "x" * 500,
    "long sentence": "the quick brown fox jumps over the lazy dog and goes on " * 6,
    "emoji": "👩‍💻 done ✓",
    "dashes": "a -- b -> c --> d",
    "comment": "// a /* b */ # c",
    "number": "007",
}


def idle(state: Mapping[str, Any]) -> dict[str, Any]:
    return {}


def holds(name: str) -> Condition:
    return Condition(name, lambda state: bool(state["flag"]), "flag")


def hostile_graph() -> CompiledGraph:
    """A chain through every hostile text as node, kind, route key, reason and condition."""
    texts = list(HOSTILE.values())
    graph = StateGraph(["flag"], name='hostile <graph> "x" \\N 图')
    for text in texts:
        graph.add_node(text, idle, kind=text)
    graph.add_edge(START, texts[0])
    for text, following in zip(texts, [*texts[1:], END], strict=True):
        rules = [Rule(text, text, holds(text)), Rule("back", f"again {text}")]
        graph.add_conditional_edges(text, Decision(rules), {text: following, "back": text})
    return graph.compile()


def small_graph() -> CompiledGraph:
    """Three nodes: two routes to one target, a plain router, a loop, and an own kind."""
    graph = StateGraph(["flag"], name="small")
    graph.add_node("ask", idle, kind="agent").add_node("check", idle, kind="tool").add_node("stop", idle)
    graph.add_edge(START, "ask")
    rules = [Rule("good", "ALL_WELL", (holds("fine"), holds("sure"))), Rule("doubtful", "NOT_SURE", holds("fine"))]
    rules += [Rule("again", "ONCE_MORE")]
    graph.add_conditional_edges("ask", Decision(rules), {"good": "check", "doubtful": "check", "again": "ask"})
    graph.add_conditional_edges("check", pick, {"yes": "stop", "no": END}, reads=["flag"])
    graph.add_edge("stop", END, reason="STOPPED")
    return graph.compile(recursion_limit=8)


def pick(state: Mapping[str, Any]) -> str:
    return "yes" if state["flag"] else "no"


def small_model() -> Model:
    """The small graph; no report leads to its route ``doubtful``."""
    alphabet = {
        "ask": {"fine": {"flag": True}, "odd": {"flag": False}},
        "check": {"more": {"flag": True}, "enough": {"flag": False}},
        "stop": {"done": {}},
    }
    return Model("small", small_graph(), alphabet)


def small_run(*flags: bool, limit: int | None = None) -> Run:
    """Run the small graph; ask and check report the flags one by one, and raise when none is left."""
    left = list(flags)

    def report(state: Mapping[str, Any]) -> dict[str, Any]:
        if not left:
            raise OSError("the line is <dead>")
        return {"flag": left.pop(0)}

    graph = small_graph().with_actions({"ask": report, "check": report})
    return graph.run(check=False, recursion_limit=limit)


def noted(name: str) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """An action that appends its name to ``notes``."""
    return lambda state: {"notes": [name]}


def forking(name: str, *nodes: str, kind: str = "agent") -> StateGraph:
    """A graph that keeps notes, with nodes that append their names."""
    graph = StateGraph({"notes": Append(), "flag": Replace(), "item": Replace()}, name=name)
    for node in nodes:
        graph.add_node(node, noted(node), kind=kind)
    return graph


def fixed_fork() -> CompiledGraph:
    """A fan-out of fixed edges: branches of one, two and three nodes, one of which may be routed to END."""
    graph = forking("fixed fork", "plan", "logs", "traces", "zoom", "metrics", "slice", "compare", "report")
    graph.add_edge(START, "plan")
    graph.add_edge("plan", ["logs", "traces", "metrics"], fork=Fork(join="report", max_concurrency=2))
    graph.add_edge("logs", "report").add_edge("traces", "zoom", reason="SPANS_FOUND").add_edge("zoom", "report")
    rules = [Rule("more", "METRICS_FOUND", holds("flagged")), Rule("none", "NO_METRICS")]
    graph.add_conditional_edges("metrics", Decision(rules), {"more": "slice", "none": END})
    graph.add_edge("slice", "compare").add_edge("compare", "report").add_edge("report", END, reason="REPORTED")
    return graph.compile()


def rule_fork() -> CompiledGraph:
    """Rules that open branches and one that opens none; two route keys lead to one node."""
    graph = forking("rule fork", "triage", "ask", "search", "answer")
    graph.add_edge(START, "triage")
    rules = [
        Rule(("ask", "wide", "deep"), "HARD_CASE", (holds("hard"), holds("rich"))),
        Rule(("wide", "deep"), "NEEDS_SEARCH", holds("unknown")),
        Rule("ask", "UNCLEAR", holds("unclear")),
        Rule("deep", "NARROW", holds("narrow")),
        Rule("known", "KNOWN"),
    ]
    targets = {"ask": "ask", "wide": "search", "deep": "search", "known": "answer"}
    graph.add_conditional_edges("triage", Decision(rules), targets)
    return graph.add_edge(["ask", "search"], "answer").add_edge("answer", END).compile()


def nested_forks() -> CompiledGraph:
    """A fork in a branch of a fork, whose branches meet before the outer ones do."""
    graph = forking("nested forks", "plan", "left", "deep", "wide", "gather", "right", "report")
    graph.add_edge(START, "plan").add_edge("plan", ["left", "right"])
    graph.add_edge("left", ["deep", "wide"]).add_edge(["deep", "wide"], "gather").add_edge("gather", "report")
    return graph.add_edge("right", "report").add_edge("report", END, reason=REPEAT).compile()


def race() -> CompiledGraph:
    """The first of two wins; one of them goes round until it has found something."""
    graph = forking("race", "ask", "search", "check", "cache", "answer")
    graph.add_edge(START, "ask").add_edge("ask", ["search", "cache"], fork=Fork(wait="any_of"))
    graph.add_edge("search", "check")
    rules = [Rule("again", "FOUND_NOTHING", holds("flagged")), Rule("enough", "FOUND")]
    graph.add_conditional_edges("check", Decision(rules), {"again": "search", "enough": "answer"})
    return graph.add_edge("cache", "answer").add_edge("answer", END).compile(recursion_limit=12)


def each_item(state: Mapping[str, Any]) -> Any:
    notes = len(state["notes"])
    return [Send("worker", {"item": number}) for number in range(3)] if notes == 1 else "none"


def mapped() -> CompiledGraph:
    """A router that opens a branch an item, or none at all."""
    graph = forking("mapped", "split", "worker", "check", "collect")
    graph.add_edge(START, "split")
    fork = Fork(max_concurrency=2, join="collect", routes=("worker",))
    graph.add_conditional_edges("split", each_item, {"worker": "worker", "none": "collect"}, fork=fork)
    return graph.add_edge("worker", "check").add_edge("check", "collect").add_edge("collect", END).compile()


def commanded(state: Mapping[str, Any]) -> Any:
    said = ["both", "bill", "done"][min(2, state["notes"].count("desk"))]
    goto: Any = ["refund", "bill"] if said == "both" else said
    return Command(goto, {"notes": ["desk"]}, reason=f"SAID_{said.upper()}")


def gotos() -> CompiledGraph:
    """A node whose Commands go to one node or to two at once, and whose own edge leads on."""
    graph = forking("gotos", "refund", "bill")
    graph.add_node("desk", commanded, goto={"refund": "refund", "bill": "bill", "done": END}, fork=Fork(join="desk"))
    graph.add_node("close", noted("close"), kind="code")
    graph.add_edge(START, "desk").add_edge("desk", "close", reason="SILENT")
    return graph.add_edge(["refund", "bill"], "desk").add_edge("close", END).compile()


def supervisor() -> CompiledGraph:
    """A node that opens branches again and again, and joins them itself."""
    graph = forking("supervisor", "supervisor", "coder", "tester", "writer")
    graph.add_edge(START, "supervisor")
    rules = [
        Rule(("coder", "tester"), "CHANGE_REQUESTED", holds("flagged")),
        Rule("writer", "TEXT_REQUESTED", holds("worded")),
        Rule("done", "SATISFIED"),
    ]
    targets = {"coder": "coder", "tester": "tester", "writer": "writer", "done": END}
    graph.add_conditional_edges("supervisor", Decision(rules), targets, fork=Fork(join="supervisor"))
    return graph.add_edge(["coder", "tester", "writer"], "supervisor").compile()


def chinese() -> CompiledGraph:
    """Branches with Chinese names."""
    graph = forking("诊断", "规划器", "检查日志", "检查指标", "汇总报告")
    graph.add_edge(START, "规划器").add_edge("规划器", ["检查日志", "检查指标"], reason="需要证据")
    return graph.add_edge(["检查日志", "检查指标"], "汇总报告").add_edge("汇总报告", END, reason="完成").compile()


def wide(branches: int = 64) -> CompiledGraph:
    """Many branches."""
    names = [f"worker_{number}" for number in range(branches)]
    graph = forking("wide", "plan", *names, "report")
    return (
        graph.add_edge(START, "plan")
        .add_edge("plan", names)
        .add_edge(names, "report")
        .add_edge("report", END)
        .compile()
    )


def with_subgraph() -> CompiledGraph:
    """A compiled graph ``child`` as a node, which has a fork inside, beside a node of the graph around it."""
    child = forking("child", "split", "x", "y", "meet").add_edge(START, "split").add_edge("split", ["x", "y"])
    child.add_edge(["x", "y"], "meet").add_edge("meet", END)
    graph = forking("parent", "plan", "beside", "after", kind="code")
    graph.add_node("child", child.compile()).add_edge(START, "plan").add_edge("plan", ["child", "beside"])
    return graph.add_edge(["child", "beside"], "after").add_edge("after", END).compile()


def forked_start() -> CompiledGraph:
    """A START that opens branches."""
    graph = forking("forked start", "left", "right", "join").add_edge(START, ["left", "right"])
    return graph.add_edge(["left", "right"], "join").add_edge("join", END).compile()


def hostile_forks() -> CompiledGraph:
    """Every hostile text as fork, branch, join, rule, route key, reason and goto."""
    texts = list(HOSTILE.values())
    graph = StateGraph({"flag": Replace()}, name='hostile <forks> "||" \\N')
    for text in texts:
        graph.add_node(text, idle, kind="agent", goto={f"{text} goto": END, "next": f"{text} join"})
        graph.add_node(f"{text} one", idle).add_node(f"{text} two", idle).add_node(f"{text} join", idle)
    graph.add_edge(START, texts[0])
    for text, following in zip(texts, [*texts[1:], END], strict=True):
        rules = [Rule((text, "two"), f"{text} both", holds(text), name=text), Rule("two", f"{text} one")]
        graph.add_conditional_edges(text, Decision(rules), {text: f"{text} one", "two": f"{text} two"})
        graph.add_edge([f"{text} one", f"{text} two"], f"{text} join").add_edge(f"{text} join", following)
    return graph.compile()


def hostile_boxes() -> CompiledGraph:
    """A subgraph with keys of its own for every hostile text, the first of them inside another one."""
    first, *texts = HOSTILE.values()
    inner = StateGraph(["flag"]).add_node("x", idle).add_edge(START, "x").add_edge("x", END).compile()
    outer = StateGraph(["flag"]).add_node("x", inner).add_edge(START, "x").add_edge("x", END).compile()
    graph = StateGraph(["flag"], name="boxes").add_node(first, outer).add_edge(START, first)
    for text, before in zip(texts, [first, *texts], strict=False):
        graph.add_node(text, inner).add_edge(before, text)
    return graph.add_edge(texts[-1], END).compile()


FORKED = {
    "fixed fork": fixed_fork,
    "rule fork": rule_fork,
    "nested forks": nested_forks,
    "race": race,
    "mapped": mapped,
    "gotos": gotos,
    "supervisor": supervisor,
    "chinese": chinese,
    "subgraph": with_subgraph,
    "forked start": forked_start,
}
"""Graphs with branches, gotos and joins, each of its own sort."""


GAP = {
    "status": "COMPLETED",
    "verdict": "LOW_CONFID",
    "facts_checked": [{"fact": "p99", "verification": "no_evidence"}],
}

LONGEST = {
    "name": "longest",
    "title": "Every retry there is",
    "script": {
        "planner": ["INVALID_OUTPUT", "COMPLETED", "RETRYABLE_FAILED", "COMPLETED"],
        "executor": ["COMPLETED", "COMPLETED"],
        "gatekeeper": ["PASS", "PASS"],
        "verifier": ["INVALID_OUTPUT", GAP, "RETRYABLE_FAILED", {"verdict": "LOW_CONFID"}],
        "composer": ["INVALID_OUTPUT", "RETRYABLE_FAILED"],
    },
}
STRAIGHT = {
    "name": "straight",
    "script": {
        "planner": ["COMPLETED"],
        "executor": ["COMPLETED"],
        "gatekeeper": ["PASS"],
        "verifier": [{"verdict": "PASS"}],
        "composer": ["COMPLETED"],
    },
}
EXPLODES = {"name": "explodes", "script": {"planner": ["COMPLETED"], "executor": [{"raises": "the line is <dead>"}]}}
GIVES_UP = {
    "name": "gives_up",
    "title": "<b>No</b> plan",
    "script": {"planner": ["FAILED"]},
    "expect": {"degraded": False},
}


def played(document: dict[str, Any]) -> ScenarioResult:
    """Run a scenario of the Chat Diagnosis graph."""
    return run_scenario(Scenario.parse(document), diagnosis_model())


def failing(state: Mapping[str, Any]) -> dict[str, Any]:
    """An action that fails."""
    raise OSError("gone")


def writing(value: object) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """An action that writes ``flag``."""
    return lambda state: {"flag": value}


def branched(name: str, graph: CompiledGraph, **actions: Any) -> ScenarioResult:
    """Run a graph with other actions in some of its nodes, as the result of a scenario that expects nothing."""
    scenario = Scenario.parse({"name": name, "graph": graph.name, "script": {}})
    return ScenarioResult(scenario, None, (), graph.with_actions(actions).run(check=False), None, {}, ())
