"""Graphs with branches that were made to be compared with SPIN."""

from __future__ import annotations

from diagnosis.runtime import (
    END,
    START,
    Append,
    Command,
    Condition,
    Custom,
    Decision,
    Effect,
    Fork,
    Merge,
    Model,
    Replace,
    Rule,
    Send,
    StateGraph,
    always,
)


def idle(state):
    return {}


def searching(most: int = 3) -> Model:
    """As many searches as were planned, each tried twice at most; what they found is weighed, perhaps asked again."""
    keys = {
        "questions": Replace(),
        "question": Replace(),
        "status": Custom(lambda old, new: new),
        "tries": Custom(lambda old, new: old + new, initial=0),
        "found": Append(read=lambda pages: len(pages)),
        "rounds": Replace(initial=0),
    }
    graph = StateGraph(keys, name="searching")
    graph.add_node("plan", idle, owns=["questions"])
    count = Effect("count_try", lambda s: {"tries": 1}, writes="tries")
    graph.add_node("search", idle, owns=["status", "found"], entry=count)
    again = Effect(
        "next_round",
        lambda s: {"rounds": s["rounds"] + 1, "tries": -s["tries"]},
        reads=("rounds", "tries"),
        writes=("rounds", "tries"),
    )
    graph.add_node("weigh", idle, owns=[], entry=again)
    graph.add_edge(START, "plan")

    def send(state):
        return [Send("search", {"question": number, "tries": number % 2}) for number in range(state["questions"])]

    graph.add_conditional_edges("plan", send, {"search": "search"}, reads="questions", fork=Fork(join="weigh"))
    failed = Condition("failed", lambda s: s["status"] == "failed", "status")
    left = Condition("tries_left", lambda s: s["tries"] < 2, "tries")
    rules = [Rule("again", "SEARCH_AGAIN", (failed, left)), Rule("on", "SEARCHED")]
    graph.add_conditional_edges("search", Decision(rules), {"again": "search", "on": "weigh"})
    little = Condition("little", lambda s: len(s["found"]) < 2, "found")
    first = Condition("first_round", lambda s: s["rounds"] < 2, "rounds")
    graph.add_conditional_edges(
        "weigh",
        Decision([Rule("plan", "TOO_LITTLE", (little, first)), Rule("end", "ENOUGH")]),
        {"plan": "plan", "end": END},
    )
    searches = {"hit": {"status": "ok", "found": ["page"]}, "failed": {"status": "failed", "found": []}}
    plans = {str(number): {"questions": number} for number in range(1, most + 1)}
    return Model(
        "searching",
        graph.compile(recursion_limit=60),
        {"plan": plans, "search": searches},
        properties=(
            always("few_tries", "No search is tried a third time.", lambda m: m.after["tries"] <= 2, reads="tries"),
            always(
                "one_search_finds_it",
                "No weighing sees three pages.",
                lambda m: m.node != "weigh" or len(m.after["found"]) < 3,
                reads="found",
            ),
        ),
        counters=("rounds",),
    )


def nested() -> Model:
    """A desk that sends work out by Command: alone, or to two sides at once, of which one races two ways."""
    keys = {
        "answer": Replace(),
        "votes": Custom(lambda old, new: min(old + new, 3), initial=0),
        "notes": Merge(),
        "side": Replace(),
    }
    graph = StateGraph(keys, name="nested")
    graph.add_node("desk", idle, goto={"left": "left", "right": "right"}, fork=Fork(join="meet"))
    for node in ("left", "fast", "careful", "pick", "right", "check", "meet"):
        graph.add_node(node, idle)
    graph.add_edge(START, "desk")
    graph.add_edge("left", ["fast", "careful"], fork=Fork(join="pick", wait="any_of"))
    graph.add_edge(["fast", "careful"], "pick").add_edge("pick", "meet")
    graph.add_edge("right", "check")
    many = Condition("voted", lambda s: s["votes"] > 1, "votes")
    graph.add_conditional_edges(
        "check", Decision([Rule("back", "NOT_YET", Condition("none", lambda s: s["votes"] < 1, "votes")),
                           Rule("on", "VOTED")]), {"back": "right", "on": "meet"},
    )  # fmt: skip
    known = Condition("noted", lambda s: "left" in s["notes"], "notes")
    graph.add_conditional_edges(
        "meet", Decision([Rule("end", "MANY", many), Rule("end", "NOTED", known), Rule("end", "FEW")]), {"end": END}
    )
    return Model(
        "nested",
        graph.compile(recursion_limit=40),
        {
            "desk": {
                "both": Command(["left", "right"], reason="BOTH"),
                "twice": Command([Send("right", {"votes": 1}), Send("left", {"notes": {"sent": 1}})], reason="TWICE"),
                "one": Command("left", {"side": "left"}, reason="ONE"),
            },
            "left": {"begun": {}},
            "fast": {"vote": {"votes": 1, "answer": "fast"}, "pass": {}},
            "careful": {"note": {"notes": {"left": 1}}, "vote": {"votes": 2}},
            "pick": {"picked": {}},
            "right": {"vote": {"votes": 1}},
            "check": {"checked": {}, "doubted": {"notes": {"right": 1}}},
            "meet": {"met": {}},
        },
    )


def voting(rounds: int = 2) -> Model:
    """Three voters, two at a time, whose join decides; two that write the same key stop the run."""
    keys = {"round": Replace(initial=0), "yes": Append(), "winner": Replace(), "loud": Replace()}
    graph = StateGraph(keys, name="voters")
    for node in ("open", "a", "b", "c", "count"):
        graph.add_node(node, idle)
    graph.add_edge(START, "open")
    late = Condition("late", lambda s: s["round"] > rounds, "round")
    graph.add_conditional_edges(
        "open",
        Decision([Rule("end", "TOO_LATE", late), Rule(("a", "b", "c"), "VOTE")]),
        {"a": "a", "b": "b", "c": "c", "end": END},
        fork=Fork(join="count", max_concurrency=2),
    )
    graph.add_edge(["a", "b", "c"], "count")
    won = Condition("won", lambda s: len(s["yes"]) > 1, "yes")
    loud = Condition("loud", lambda s: s["loud"] is not None, "loud")
    graph.add_conditional_edges(
        "count", Decision([Rule("end", "WON", won), Rule("end", "LOUD", loud), Rule("again", "AGAIN")]),
        {"end": END, "again": "open"},
    )  # fmt: skip
    votes = {"yes": {"yes": ["yes"]}, "no": {}}
    return Model(
        "voters",
        graph.compile(recursion_limit=60),
        {
            "open": {"opened": lambda s: {"round": s["round"] + 1}},
            "a": {**votes, "shout": {"loud": "a"}},
            "b": {**votes, "shout": {"loud": "b"}},
            "c": votes,
            "count": {"counted": {}},
        },
    )
