"""Small graphs with branches, Commands and subgraphs, with known answers."""

from __future__ import annotations

from graphs import idle

from diagnosis.runtime import (
    END,
    START,
    Append,
    Command,
    Condition,
    Custom,
    Decision,
    Fork,
    Model,
    Replace,
    Rule,
    Send,
    StateGraph,
)


def drawn(*lines, keys=("x",), forks=None, routers=None, name="drawn", nodes=None):
    """Give a graph of fixed edges from lines such as ``plan -> a b``; ``routers`` are (source, decision, targets)."""
    graph = StateGraph(keys, name=name)
    edges = [(source, targets.split()) for source, _, targets in (line.partition(" -> ") for line in lines)]
    routed = [(source, targets) for source, _, targets, *_ in routers or ()]
    names = dict.fromkeys(name for source, targets in edges for name in (source, *targets))
    names |= dict.fromkeys(name for source, targets in routed for name in (source, *targets.values()))
    for each in names:
        if each not in ("START", "END", END):
            graph.add_node(each, idle, **(nodes or {}).get(each, {}))
    places = {"START": START, "END": END}
    for source, targets in edges:
        for target in targets:
            graph.add_edge(places.get(source, source), places.get(target, target), fork=(forks or {}).get(source))
    for source, decision, targets, *options in routers or ():
        graph.add_conditional_edges(source, decision, targets, **(options[0] if options else {}))
    return graph


def adding(old, new):
    return old + new


def voting(count: int, *, read: bool = False) -> Model:
    """Two branches with so many outcomes each; the end may depend on what they voted."""
    keys = {"left": Replace(), "right": Replace(), "votes": Append()}
    graph = drawn("START -> plan", "plan -> left right", "left -> join", "right -> join", keys=keys, name="voting")
    many = Condition("many", lambda s: len(set(s["votes"])) > 1, "votes")
    rules = Decision(
        [Rule("end", "SPLIT", many if read else ()), Rule("end", "AGREED")] if read else [Rule("end", "DONE")]
    )
    graph.add_conditional_edges("join", rules, {"end": END})
    outcomes = {
        side: {f"v{number}": {side: number, "votes": [number]} for number in range(count)} for side in ("left", "right")
    }
    return Model("voting", graph.compile(), {"plan": {"go": {}}, **outcomes, "join": {"ok": {}}})


def conflicting() -> Model:
    """Two branches that may both write the answer."""
    graph = drawn("START -> plan", "plan -> left right", "left -> join", "right -> join", "join -> END",
                  keys=["answer"], name="conflicting")  # fmt: skip
    outcomes = {"answers": {"answer": 1}, "passes": {}}
    return Model(
        "conflicting", graph.compile(), {"plan": {"go": {}}, "left": outcomes, "right": outcomes, "join": {"ok": {}}}
    )


def fails(state):
    """An outcome of a node that may fail."""
    raise OSError("no answer")


def racing(*risky: str, max_concurrency=None, claims=(), bad=fails) -> Model:
    """An ``any_of`` of three branches, one of two nodes; those that are risky may fail, or do what else is bad."""
    graph = StateGraph(["answer"], name="racing")
    for name in ("plan", "fast", "slow", "slower", "late", "join"):
        graph.add_node(name, idle)
    graph.add_edge(START, "plan")
    fork = Fork(join="join", wait="any_of", max_concurrency=max_concurrency)
    graph.add_edge("plan", ["fast", "slow", "late"], fork=fork)
    alphabet = {"plan": {"go": {}}, "slower": {"ok": {"answer": "slower"}}, "join": {"ok": {}}}
    for name, target in (("fast", "join"), ("slow", "slower"), ("late", "join")):
        graph.add_edge(name, target)
        alphabet[name] = {"ok": {"answer": name}, **({"bad": bad} if name in risky else {})}
    graph.add_edge("slower", "join").add_edge("join", END)
    return Model("racing", graph.compile(), alphabet, properties=tuple(claims))


def looping_branch(limit: int | None = None) -> Model:
    """A branch that tries again for ever, or until it has tried so often."""
    keys = {"status": Replace(), "tries": Replace(initial=0), "note": Replace()}
    graph = StateGraph(keys, name="looping")
    for name in ("plan", "try", "note", "join"):
        graph.add_node(name, idle)
    graph.add_edge(START, "plan").add_edge("plan", ["note", "try"]).add_edge("note", "join").add_edge("join", END)
    fine = Condition("fine", lambda s: s["status"] == "ok", "status")
    spent = Condition("spent", lambda s: limit is not None and s["tries"] >= limit, "tries")
    rules = [Rule("on", "OK", fine), Rule("on", "SPENT", spent), Rule("again", "AGAIN")]
    graph.add_conditional_edges("try", Decision(rules), {"on": "join", "again": "try"})

    def failed(state):
        return {"status": "failed", "tries": min(state["tries"] + 1, limit or 0)}

    return Model(
        "looping",
        graph.compile(recursion_limit=25),
        {"plan": {"go": {}}, "try": {"ok": {"status": "ok"}, "failed": failed}, "note": {"ok": {}}, "join": {"ok": {}}},
    )


def supervised(rounds: int = 2) -> Model:
    """A supervisor that is its own join: it sends both workers out until it has done so often enough."""
    keys = {"rounds": Replace(initial=0), "found": Custom(adding, initial=0)}
    graph = StateGraph(keys, name="supervised")
    for name in ("boss", "dig", "scan"):
        graph.add_node(name, idle)
    graph.add_edge(START, "boss").add_edge("dig", "boss").add_edge("scan", "boss")
    more = Condition("more", lambda s: s["rounds"] <= rounds, "rounds")
    graph.add_conditional_edges(
        "boss",
        Decision([Rule(("dig", "scan"), "SEND", more), Rule("end", "ENOUGH")]),
        {"dig": "dig", "scan": "scan", "end": END},
        fork=Fork(join="boss"),
    )
    return Model(
        "supervised",
        graph.compile(),
        {
            "boss": {"next": lambda s: {"rounds": s["rounds"] + 1}},
            "dig": {"one": {"found": 1}, "none": {"found": 0}},
            "scan": {"done": {}},
        },
    )


def redirected() -> Model:
    """A node whose Commands go to three places; nothing ever goes to one of them."""
    graph = StateGraph(["x"], name="redirected")
    graph.add_node("desk", idle, goto={"sales": "sales", "help": "help", "lawyer": "lawyer"})
    for name in ("sales", "help", "lawyer"):
        graph.add_node(name, idle).add_edge(name, END)
    graph.add_edge(START, "desk")
    return Model(
        "redirected",
        graph.compile(),
        {
            "desk": {
                "sells": Command("sales", {"x": 1}, reason="WANTS_TO_BUY"),
                "helps": Command("help", reason="HAS_A_PROBLEM"),
            },
            **{name: {"ok": {}} for name in ("sales", "help", "lawyer")},
        },
    )


def mapped(*sizes: int) -> Model:
    """As many workers as the planner says; each may find something."""
    keys = {"size": Replace(initial=0), "item": Replace(), "found": Custom(adding, initial=0)}
    graph = StateGraph(keys, name="mapped")
    for name in ("plan", "work", "join"):
        graph.add_node(name, idle)
    graph.add_edge(START, "plan").add_edge("work", "join").add_edge("join", END)

    def router(state):
        return [Send("work", {"item": number}) for number in range(state["size"])]

    graph.add_conditional_edges("plan", router, {"work": "work"}, reads=["size"], fork=Fork())
    return Model(
        "mapped",
        graph.compile(),
        {
            "plan": {f"n{size}": {"size": size} for size in sizes},
            "work": {"hit": lambda s: {"found": s["item"]}, "miss": {}},
            "join": {"ok": {}},
        },
    )


def with_subgraph() -> Model:
    """A subgraph that retries within itself, as one of two branches; its counter is its own."""
    inner = StateGraph({"tries": Replace(initial=0), "status": Replace(), "answer": Replace()}, name="inner")
    inner.add_node("fetch", idle).add_edge(START, "fetch")
    fine = Condition("fine", lambda s: s["status"] == "ok", "status")
    spent = Condition("spent", lambda s: s["tries"] > 1, "tries")
    inner.add_conditional_edges(
        "fetch",
        Decision([Rule("end", "OK", fine), Rule("end", "SPENT", spent), Rule("again", "AGAIN")]),
        {"end": END, "again": "fetch"},
    )
    graph = StateGraph({"answer": Replace(), "log": Append()}, name="outer")
    graph.add_node("plan", idle).add_node("child", inner.compile())
    graph.add_node("note", idle).add_node("join", idle)
    graph.add_edge(START, "plan").add_edge("plan", ["child", "note"])
    graph.add_edge(["child", "note"], "join").add_edge("join", END)
    compiled = graph.compile()
    known = {
        "child-fetch": {
            "ok": {"child.status": "ok", "answer": "found"},
            # What a node of a subgraph reports is named as the state names it.
            "failed": lambda s: {"child.status": "failed", "child.tries": s["child.tries"] + 1},
        },
    }
    return Model(
        "outer", compiled, {name: known.get(name, {"ok": {}}) for name in compiled.definition.names}, counters=()
    )
