"""Models of small graphs with branches and Commands, for scenarios."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diagnosis.runtime import (
    END,
    START,
    Append,
    Command,
    Condition,
    Decision,
    Fork,
    Model,
    Replace,
    Rule,
    Send,
    StateGraph,
)

WORDS: Mapping[str, Any] = {"done": {"log": ["done"]}, "poor": {"log": ["poor"]}}


def nothing(state: Mapping[str, Any]) -> dict[str, Any]:
    return {}


def _model(graph: StateGraph, **alphabet: Any) -> Model:
    compiled = graph.compile(recursion_limit=60)
    return Model(compiled.name, compiled, dict.fromkeys(compiled.definition.names, WORDS) | alphabet)


def rounds() -> Model:
    """plan -> look, check -> meet; meet goes another round as long as somebody was poor. check goes on to recheck."""
    graph = StateGraph({"log": Append(), "rounds": Replace(initial=0)}, name="rounds")
    for node in ("plan", "look", "check", "recheck", "meet"):
        graph.add_node(node, nothing)
    graph.add_edge(START, "plan")
    graph.add_edge("plan", "look", reason="LOOK").add_edge("plan", "check", reason="CHECK")
    graph.add_edge("look", "meet", reason="LOOKED").add_edge("check", "recheck", reason="AGAIN")
    graph.add_edge("recheck", "meet", reason="CHECKED")
    poor = Condition("poor", lambda state: state["log"][-1] == "poor", "log")
    rules = Decision([Rule("again", "MORE", (poor,)), Rule("end", "ENOUGH")])
    graph.add_conditional_edges("meet", rules, {"again": "plan", "end": END})
    return _model(graph)


def nested() -> Model:
    """Two branches, web and paper; web opens two of its own, fast and slow, again as long as merge is poor."""
    graph = StateGraph({"log": Append()}, name="nested")
    for node in ("plan", "web", "fast", "slow", "merge", "paper", "meet"):
        graph.add_node(node, nothing)
    graph.add_edge(START, "plan").add_edge("plan", ["web", "paper"]).add_edge("web", ["fast", "slow"])
    graph.add_edge(["fast", "slow"], "merge")
    poor = Condition("poor", lambda state: state["log"][-1] == "poor", "log")
    rules = Decision([Rule("again", "MORE", (poor,)), Rule("on", "ENOUGH")])
    graph.add_conditional_edges("merge", rules, {"again": "web", "on": "meet"})
    graph.add_edge("paper", "meet").add_edge("meet", END)
    return _model(graph, meet={"met": {}})


def race(first: str = "fast") -> Model:
    """fast and slow race each other; slow is looked through by a second node."""
    graph = StateGraph({"log": Append(), "answer": Replace()}, name="race")
    for node in ("ask", "fast", "slow", "review", "tell"):
        graph.add_node(node, nothing)
    order = sorted(["fast", "slow"], key=lambda node: node != first)
    graph.add_edge(START, "ask").add_edge("ask", order, fork=Fork(wait="any_of"))
    graph.add_edge("fast", "tell").add_edge("slow", "review").add_edge("review", "tell").add_edge("tell", END)
    return _model(graph, ask={"asked": {}}, tell={"told": {}})


def races() -> Model:
    """A race inside a race: one racer splits into two who race each other, and has the better one looked through."""
    graph = StateGraph({"log": Append(), "answer": Replace()}, name="races")
    for node in ("ask", "fast", "split", "left", "right", "pick", "tell"):
        graph.add_node(node, nothing)
    graph.add_edge(START, "ask").add_edge("ask", ["fast", "split"], fork=Fork(wait="any_of"))
    graph.add_edge("split", ["left", "right"], fork=Fork(wait="any_of")).add_edge(["left", "right"], "pick")
    graph.add_edge(["fast", "pick"], "tell").add_edge("tell", END)
    silly = {"silly": lambda state: {"log": [state["log"][7]]}, **WORDS}
    return _model(graph, ask={"asked": {}}, split={"s": {}}, left=silly, pick={"p": {}}, tell={"told": {}})


def crowd(wait: Any = "all_of") -> Model:
    """boss sends items to as many workers as it likes; each may have its work checked."""
    graph = StateGraph({"log": Append(), "item": Replace(), "note": Replace()}, name="crowd")
    ways = {"worker": "worker", "helper": "helper", "sum": "sum", "end": END}
    graph.add_node("boss", nothing, goto=ways, fork=Fork(join="sum", wait=wait, routes=("worker", "helper", "sum")))
    for node in ("worker", "helper", "check", "sum"):
        graph.add_node(node, nothing)
    graph.add_edge(START, "boss").add_edge("worker", "check").add_edge("check", "sum").add_edge("helper", "sum")
    graph.add_edge("sum", END)
    gotos = {
        "two": Command([Send("worker", {"item": 1}), Send("worker", {"item": 2})], {"note": "two"}, reason="TWO"),
        "one": Command(["worker"], {"note": "two"}, reason="ONE"),
        "stop": Command("end", reason="STOP"),
    }
    return _model(graph, boss=gotos, worker={"copies": lambda state: {"log": [state["item"]]}, **WORDS}, sum={"s": {}})


def decided() -> Model:
    """plan goes left and right at once, or right alone; left lets a router race p and q, and r goes on after them."""
    graph = StateGraph({"log": Append()}, name="decided")
    for node in ("plan", "left", "p", "q", "r", "right", "meet"):
        graph.add_node(node, nothing)
    poor = Condition("poor", lambda state: state["log"][-1] == "poor", "log")
    done = Condition("done", lambda state: state["log"][-1] == "done", "log")
    both = ("right", "left")
    rules = Decision([Rule("right", "ONE", (poor,)), Rule(both, "BOTH", (done,)), Rule(both, "OTHERWISE")])
    graph.add_edge(START, "plan").add_conditional_edges("plan", rules, {"left": "left", "right": "right"})
    race = Fork(join="r", wait="any_of", routes=("p", "q"))
    ways = {"p": "p", "q": "q", "on": "r"}
    graph.add_conditional_edges("left", lambda state: ["q", "p", "q"], ways, fork=race)
    graph.add_edge(["p", "q"], "r").add_edge(["r", "right"], "meet").add_edge("meet", END)
    return _model(graph, left={"l": {}}, r={"r": {}}, meet={"m": {}})


def crew() -> Model:
    """What the documentation shows: workers whose work is checked, and two who race to answer."""
    graph = StateGraph({"log": Append(), "item": Replace(), "plan": Replace()}, name="crew")
    graph.add_node("boss", nothing, goto={"worker": "worker"}, fork=Fork(join="vote"))
    for node in ("worker", "check", "vote", "fast", "slow", "tell"):
        graph.add_node(node, nothing, owns=["log"])
    graph.add_edge(START, "boss").add_edge("worker", "check").add_edge("check", "vote")
    graph.add_edge("vote", ["fast", "slow"], fork=Fork(wait="any_of")).add_edge(["fast", "slow"], "tell")
    graph.add_edge("tell", END)
    checked = {"good": {"log": ["good"]}, "poor": {"log": ["poor"]}}
    return _model(
        graph, boss={"rest": Command(["worker"], reason="REST")}, check=checked, vote={"v": {}}, tell={"t": {}}
    )


def brackets() -> Model:
    """Nodes whose own names end like paths: x, x[0] and x[0][1]; x[0] opens branches, y is the first of one of them."""
    graph = StateGraph({"log": Append()}, name="brackets")
    for node in ("plan", "x", "x[0]", "x[0][1]", "y", "meet"):
        graph.add_node(node, nothing)
    graph.add_edge(START, "plan").add_edge("plan", ["x[0]", "x"]).add_edge("x[0]", ["y", "x[0][1]"])
    graph.add_edge(["y", "x[0][1]", "x"], "meet").add_edge("meet", END)
    return _model(graph, plan={"p": {}}, meet={"m": {}})


def enclosed() -> Model:
    """A graph as a node of another, in a branch."""
    inner = StateGraph({"log": Append()}, name="inner")
    inner.add_node("look", nothing).add_node("judge", nothing)
    inner.add_edge(START, "look").add_edge("look", "judge").add_edge("judge", END)
    graph = StateGraph({"log": Append()}, name="enclosed")
    graph.add_node("plan", nothing).add_node("child", inner.compile()).add_node("other", nothing, owns=())
    graph.add_node("meet", nothing, owns=())
    graph.add_edge(START, "plan").add_edge("plan", ["child", "other"]).add_edge(["child", "other"], "meet")
    graph.add_edge("meet", END)
    return Model("enclosed", graph.compile(), {"plan": {"p": {}}, "child-look": WORDS, "child-judge": WORDS})


def boxed() -> Model:
    """A compiled graph as a node, whose keys have other names outside; it races another node."""
    inner = StateGraph({"res": Replace(), "found": Replace(), "total": Replace(initial=0)}, name="inner")
    inner.add_node("look", nothing).add_edge(START, "look").add_edge("look", END)
    graph = StateGraph({"log": Append(), "answer": Replace(), "total": Replace()}, name="boxed")
    graph.add_node("ask", nothing, owns=()).add_node("other", nothing).add_node("tell", nothing, owns=())
    names = {"found": "answer"}
    graph.add_node("child", inner.compile(), inputs=names, outputs={"answer": "found", "total": "res"})
    graph.add_edge(START, "ask").add_edge("ask", ["child", "other"], fork=Fork(wait="any_of"))
    graph.add_edge(["child", "other"], "tell").add_edge("tell", END)
    return Model("boxed", graph.compile(), {"child-look": {"done": {}, "none": {}}, "other": WORDS})


def desk() -> Model:
    """A node that may redirect to one of two others, and one that may not."""
    graph = StateGraph({"log": Append(), "note": Replace()}, name="desk")
    graph.add_node("triage", nothing, goto={"sell": "sales", "fix": "support", "bye": END})
    graph.add_node("sales", nothing).add_node("support", nothing, goto={"back": "triage"})
    graph.add_edge(START, "triage").add_edge("sales", END, reason="SOLD").add_edge("support", END, reason="FIXED")
    graph.add_edge("triage", "sales", reason="BY_DEFAULT")
    return _model(
        graph,
        triage={
            "sell": Command("sell", {"note": "n"}, reason="ASKED"),
            "fix": Command("fix", {"note": "n"}, reason="ASKED"),
            "fix_now": Command("fix", {"note": "n"}, reason="URGENT"),
            "default": {"note": "n"},
        },
        sales={"sold": {}},
        support={"fixed": {}, "back": lambda state: Command("back", {"log": ["back"]}, reason="WRONG_DESK")},
    )
