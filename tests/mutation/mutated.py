"""Small graphs that have a place for every operator, and how their mutants are run."""

from __future__ import annotations

from branched_models import drawn
from graphs import idle

from diagnosis.mutation import Mutant, mutants_of
from diagnosis.runtime import (
    END,
    REPEAT,
    START,
    Command,
    Condition,
    Decision,
    Effect,
    Fork,
    Model,
    Reading,
    Replace,
    Rule,
    Run,
    StateGraph,
)
from diagnosis.scenarios import Scenario, case_of, play


def desk(limit: int = 20) -> Model:
    """A desk that marks a letter, stamps it, and asks for a better one while it may; then somebody files it."""
    keys = {
        "word": Replace(),
        "note": Replace(),
        "tries": Replace(initial=0),
        "mark": Replace(initial="white"),
        "seal": Replace(),
    }
    count = Effect("count", lambda s: {"tries": s["tries"] + 1} if s["word"] == "poor" else {}, reads=("word", "tries"),
                   writes="tries")  # fmt: skip
    red = Effect("red", lambda s: {"mark": "red"}, writes="mark")
    blue = Effect("blue", lambda s: {"mark": "blue"}, writes="mark")
    reset = Effect("reset", lambda s: {"tries": 0}, writes="tries")
    graph = StateGraph(keys, name="desk")
    graph.add_node(
        "read",
        idle,
        owns=["word", "note"],
        whole_report=True,
        entry=count,
        exit=(red, blue),
        attempt=Reading(lambda s: s["tries"] + 1, "tries"),
        outcome=Reading(lambda s: str(s["word"]), "word"),
    )
    graph.add_node("file", idle, owns=["seal"], exit=reset)
    graph.add_node("bin", idle, owns=[])
    good = Condition("good", lambda s: s["word"] == "good", "word")
    poor = Condition("poor", lambda s: s["word"] == "poor", "word")
    left = Condition("tries_left", lambda s: s["tries"] < 1, "tries")
    rules = [
        Rule("on", "FINE", good),
        Rule("on", "FAIR", Condition("fair", lambda s: s["word"] == "fair", "word")),
        Rule("again", "AGAIN", (poor, left)),
        Rule("out", "SPENT", poor),
        Rule("out", "UNREADABLE"),
    ]
    graph.add_edge(START, "read").add_edge("file", END, reason="FILED").add_edge("bin", END, reason=REPEAT)
    graph.add_conditional_edges("read", Decision(rules), {"on": "file", "again": "read", "out": "bin"})
    return Model(
        "desk",
        graph.compile(recursion_limit=limit),
        {
            "read": {
                "good": {"word": "good"},
                "fair": {"word": "fair"},
                "poor": {"word": "poor", "note": "?"},
                "odd": {"word": "odd"},
            },
            "file": {"done": {"seal": "wax"}},
        },
    )


def asking() -> Model:
    """A plain router, and a node that says itself where to go."""
    graph = StateGraph(["way"], name="asking")
    graph.add_node("ask", idle, owns=["way"])
    graph.add_node("judge", idle, owns=[], goto={"good": END, "bad": "ask"})
    graph.add_edge(START, "ask")
    graph.add_conditional_edges("ask", lambda s: s["way"], {"on": "judge", "off": END}, reads=["way"])
    return Model(
        "asking",
        graph.compile(),
        {
            "ask": {"on": {"way": "on"}, "off": {"way": "off"}},
            "judge": {"good": Command("good", reason="GOOD"), "bad": Command("bad", reason="BAD")},
        },
    )


def spreading(wait: str = "all_of") -> Model:
    """Three branches, of which a rule opens two or three; each writes a key of its own."""
    keys = {"size": Replace(), **{name: Replace() for name in ("one", "two", "three")}}
    lines = ["START -> plan", "one -> join", "two -> join", "three -> join", "join -> END"]
    big = Condition("big", lambda s: s["size"] == "big", "size")
    rules = Decision([Rule(("a", "b", "c"), "BIG", big), Rule(("a", "b"), "SMALL")])
    fork = {"fork": Fork(join="join", wait=wait, max_concurrency=2)}
    routers = [("plan", rules, {"a": "one", "b": "two", "c": "three"}, fork)]
    graph = drawn(*lines, keys=keys, routers=routers, name="spreading")
    return Model(
        "spreading",
        graph.compile(),
        {
            "plan": {"big": {"size": "big"}, "small": {"size": "small"}},
            **{name: {"done": {name: True}} for name in ("one", "two", "three")},
            "join": {"done": {}},
        },
    )


def mutant(model: Model, operator: str, place: str, after: str | None = None) -> Mutant:
    """Give the one mutant that an operator makes at a place."""
    found = [
        each
        for each in mutants_of(model)
        if each.operator == operator and each.place == place and after in (None, each.after)
    ]
    assert len(found) == 1, [(each.place, each.after) for each in mutants_of(model) if each.operator == operator]
    return found[0]


def case(model: Model, name: str = "case", winners=None, **script):
    """Give a scenario of a model that was loaded."""
    data = {"name": name, "graph": model.name, "script": script, **({"winners": winners} if winners else {})}
    return case_of(Scenario.parse(data), {model.name: model})


def ran(model: Model, **script) -> Run:
    """Run a script."""
    return play(case(model, **script))[0]


def way(run: Run) -> str:
    """Write where a run went and why, such as ``read FINE file FILED``."""
    return " ".join(f"{event.node} {'+'.join(c.reason for c in event.choices)}" for event in run.events)
