"""Small graphs with known answers."""

from __future__ import annotations

from diagnosis.runtime import (
    END,
    START,
    Append,
    Condition,
    Decision,
    Effect,
    Model,
    Replace,
    Rule,
    StateGraph,
    always,
)


def idle(state):
    return {}


def unreachable_guard(limit: int = 20, recursion_limit: int = 60) -> Model:
    """A loop whose router believes any known worker before it looks at its step counter."""
    graph = StateGraph({"worker": Replace(), "steps": Replace(initial=0), "log": Append()}, name="workers")
    for node in ("router", "work", "review", "note"):
        graph.add_node(node, idle)
    graph.add_edge(START, "router").add_edge("work", "review").add_edge("review", "note").add_edge("note", "router")
    graph.add_conditional_edges(
        "router",
        Decision(
            [
                Rule("work", "NAMED", Condition("worker_named", lambda s: s["worker"] in ("alpha", "beta"), "worker")),
                Rule("end", "TOO_MANY", Condition("steps_over_limit", lambda s: s["steps"] > limit, "steps")),
                Rule("work", "DEFAULT"),
            ]
        ),
        {"work": "work", "end": END},
    )
    return Model(
        "workers",
        graph.compile(recursion_limit=recursion_limit),
        {
            "router": {"alpha": {"worker": "alpha"}, "beta": {"worker": "beta"}},
            "work": {"done": lambda state: {"steps": state["steps"] + 1}},
            "review": {"fine": {"log": ["reviewed"]}},
            "note": {"noted": {}},
        },
        counters=("steps",),
    )


def retrying(limit: int = 2, *, bound: int | None = None, claims: tuple = (), count: bool = True) -> Model:
    """One node that may fail and is retried up to a limit."""
    entry = Effect(
        "count",
        lambda s: {"tries": s["tries"] + 1} if s["status"] == "failed" else {},
        reads=("status", "tries"),
        writes="tries",
    )
    graph = StateGraph({"status": Replace(), "tries": Replace(initial=0)}, name="retrying")
    graph.add_node("fetch", idle, owns=["status"], whole_report=True, entry=entry if count else ())
    graph.add_node("give_up", idle)
    graph.add_edge(START, "fetch").add_edge("give_up", END, reason="GAVE_UP")
    graph.add_conditional_edges(
        "fetch",
        Decision(
            [
                Rule("end", "FETCHED", Condition("fine", lambda s: s["status"] == "fine", "status")),
                Rule("again", "RETRY", Condition("tries_left", lambda s: s["tries"] < limit, "tries")),
                Rule("give_up", "EXHAUSTED"),
            ]
        ),
        {"end": END, "again": "fetch", "give_up": "give_up"},
    )
    return Model(
        "retrying",
        graph.compile(),
        {"fetch": {"fine": {"status": "fine"}, "failed": {"status": "failed"}}, "give_up": {"done": {}}},
        properties=claims,
        counters=("tries",),
        bound=bound,
    )


def never_gives_up():
    return always("never_gives_up", "Nothing gives up.", lambda move: move.node != "give_up")


def misspelt() -> Model:
    """A condition that reads a key that is not there."""
    graph = StateGraph(["status"], name="misspelt")
    graph.add_node("ask", idle).add_node("other", idle)
    graph.add_edge(START, "ask").add_edge("other", END)
    graph.add_conditional_edges(
        "ask",
        Decision(
            [
                Rule("end", "OK", Condition("fine", lambda s: s["status"] == "fine", "status")),
                Rule("end", "ODD", Condition("odd", lambda s: s["sttaus"] == "odd", "status")),
                Rule("other", "ELSE"),
            ]
        ),
        {"end": END, "other": "other"},
    )
    return Model(
        "misspelt",
        graph.compile(),
        {"ask": {"fine": {"status": "fine"}, "bad": {"status": "bad"}}, "other": {"ok": {}}},
    )
