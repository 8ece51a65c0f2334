"""Graphs to look at: small ones, and one whose every text is chosen to do harm."""

from collections.abc import Mapping
from typing import Any

from diagnosis.catalog import diagnosis_model
from diagnosis.runtime import END, START, CompiledGraph, Condition, Decision, Model, Rule, Run, StateGraph
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
