"""Random graphs without branches whose runs all end, and every run of them, found without the explorer."""

from __future__ import annotations

import random
from typing import NamedTuple

from diagnosis.runtime import END, START, Choice, Condition, Decision, Effect, Model, Replace, Rule, StateGraph

LIMIT = 4
"""Nodes that a run may execute before it cannot go back any more."""


class Seen(NamedTuple):
    node: str
    outcome: str
    choice: Choice
    before: dict
    after: dict


def random_model(seed: int, *, claims: tuple = (), shift: int | None = None) -> Model:
    """Give a graph; with a shift, the same one with one rule changed."""
    made = random.Random(seed)
    nodes = [f"n{number}" for number in range(made.randint(2, 4))]
    graph = StateGraph({"a": Replace(), "b": Replace(initial=0), "count": Replace(initial=0)}, name="random")
    count = Effect("count", lambda s: {"count": s["count"] + 1}, reads="count", writes="count")
    conditions = [
        *(Condition(f"a_is_{n}", lambda s, n=n: s["a"] == n, "a") for n in (0, 1)),
        *(Condition(f"b_is_{n}", lambda s, n=n: s["b"] == n, "b") for n in (0, 1)),
    ]
    early = Condition("early", lambda s: s["count"] < LIMIT, "count")
    alphabet = {}
    changed = random.Random(shift) if shift is not None else None
    hit = changed.randrange(len(nodes)) if changed else None
    graph.add_edge(START, nodes[0])
    for number, node in enumerate(nodes):
        graph.add_node(node, lambda state: {}, entry=count)
        alphabet[node] = {
            f"o{n}": {key: made.randint(0, 1) for key in made.sample(["a", "b"], made.randint(0, 2))}
            for n in range(made.randint(1, 3))
        }
        rules = []
        targets = {"on": nodes[number + 1] if number + 1 < len(nodes) else END, "end": END}
        targets |= {f"to_{other}": other for other in nodes}
        for place in range(made.randint(0, 3)):
            route = made.choice(["end", "on", f"to_{made.choice(nodes)}"])
            when = tuple(made.sample(conditions, made.randint(1, 2)))
            rules.append(Rule(route, f"R{place}", (*when, early) if route.startswith("to_") else when))
        rules.append(Rule("on", "ELSE"))
        if changed is not None and number == hit:
            place = changed.randrange(len(rules))
            rule = rules[place]
            if changed.random() < 0.5 and rule.when:
                rules[place] = Rule("end" if rule.route == "on" else "on", rule.reason, rule.when)
            else:
                rules[place] = Rule(rule.route, f"{rule.reason}_NEW", rule.when, name=rule.name)
        used = {rule.route for rule in rules}
        graph.add_conditional_edges(node, Decision(rules), {key: to for key, to in targets.items() if key in used})
    return Model("random", graph.compile(), alphabet, claims)


def runs_of(model: Model) -> list[list[Seen]]:
    """Go through every run on the plain step, depth first."""
    step = model.graph.step
    found: list[list[Seen]] = []

    def go(position, state, run):
        if position.node == END:
            found.append(run)
            return
        for outcome, update in model.alphabet[position.node].items():
            entered = step.enter(position, state)
            following, after, event, _ = step.leave(entered.position, entered.state, update)
            seen = Seen(position.node, outcome, event.choice, dict(entered.view), dict(after))
            go(following, after, [*run, seen])

    go(*step.begin(model.input), [])
    return found
