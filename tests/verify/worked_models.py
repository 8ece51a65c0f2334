"""Models that workers can import by name."""

from __future__ import annotations

import os
import signal
import time

from branched_models import drawn, looping_branch, mapped, racing, redirected, supervised, voting, with_subgraph
from graphs import idle, retrying, unreachable_guard

from diagnosis.runtime import (
    END,
    START,
    Append,
    Command,
    Condition,
    Decision,
    Effect,
    Fork,
    Model,
    Reading,
    Replace,
    Rule,
    Send,
    StateGraph,
    always,
)

LOOPING = unreachable_guard()
RETRYING = retrying(bound=3)
VOTING = voting(3, read=True)
RACING = racing("left", max_concurrency=1)
LAPPING = looping_branch(2)
SUPERVISED = supervised()
REDIRECTED = redirected()
MAPPED = mapped(1, 2)
NESTED = with_subgraph()


def counting(width: int = 3, depth: int = 4, seconds: float = 0.0, *, each=None, name: str = "counting") -> Model:
    """A node whose outcomes add up, over and over, with a rule, an entry update and readings of its own."""

    def added(number):
        def report(state):
            if seconds:
                time.sleep(seconds)
            if each is not None:
                each(state)
            return {"sum": state["sum"] + number, "log": [f"added {number}"]}

        return report

    graph = StateGraph({"sum": Replace(initial=0), "laps": Replace(initial=0), "log": Append()}, name=name)
    graph.add_node(
        "add",
        idle,
        entry=Effect("lap", lambda s: {"laps": s["laps"] + 1}, reads="laps", writes="laps"),
        attempt=Reading(lambda s: s["laps"], "laps"),
        outcome=Reading(lambda s: f"sum {s['sum']}", "sum"),
    )
    graph.add_edge(START, "add")
    done = Condition("enough", lambda s: s["laps"] >= depth, "laps")
    odd = Condition("odd", lambda s: s["sum"] % 2 == 1, "sum")
    rules = [Rule("end", "ODD", (done, odd)), Rule("end", "EVEN", done), Rule("again", "MORE")]
    graph.add_conditional_edges("add", Decision(rules), {"end": END, "again": "add"})
    small = always("small", "The sum stays small.", lambda move: move.after["sum"] < 2 * depth, reads="sum")
    outcomes = {f"plus_{number}": added(number) for number in range(width)}
    return Model(name, graph.compile(), {"add": outcomes}, properties=(small,), counters=("sum",))


COUNTING = counting()
SLOW = counting(3, 40, 0.002, name="slow")


def _raises(state):
    if state["sum"] == 2:
        raise ValueError("two is too much")


RAISING = counting(each=_raises, name="raising")


def _dies(state):
    """End the process at the third lap, but only where it is a worker."""
    if state["laps"] == 3 and os.environ.get("DIAGNOSIS_TEST_HOME") != str(os.getpid()):
        os.kill(os.getpid(), signal.SIGKILL)


DYING = counting(each=_dies, name="dying")


def _sends(state):
    if state["size"] == "none":
        return Command("join", {"note": "nothing to do"}, reason="NONE")
    return [Send("work", {"item": number}) for number in range(2)] if state["size"] == "two" else "work"


def sending() -> Model:
    """A router that sends, gives a Command or one route; branches read what they were sent."""
    options = {"reads": ("size",), "owns": ["note"], "fork": Fork()}
    keys = {"size": Replace(), "item": Replace(), "note": Replace(), "found": Append()}
    graph = drawn(
        "START -> plan",
        "work -> join",
        "join -> END",
        keys=keys,
        name="sending",
        routers=[("plan", _sends, {"work": "work", "join": "join"}, options)],
    )
    return Model(
        "sending",
        graph.compile(),
        {
            "plan": {size: {"size": size} for size in ("none", "one", "two")},
            "work": {"good": lambda s: {"found": [s["item"]]}, "bad": lambda s: {"found": [None]}},
            "join": {"ok": {}},
        },
    )


SENDING = sending()


def made() -> Model:
    """Give a model anew at every call."""
    return counting()
