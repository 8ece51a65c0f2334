"""Random small graphs without branches, whose conditions overlap and exclude each other."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from diagnosis.runtime import END, START, Condition, Decision, Model, Replace, Rule, StateGraph


@st.composite
def sequential_models(draw: st.DrawFn) -> Model:
    """Draw a model of up to three nodes that report one of a few values, until so many were reported."""
    names = [f"n{number}" for number in range(draw(st.integers(1, 3)))]
    values = range(draw(st.integers(1, 3)))
    limit = draw(st.integers(1, 3))
    graph = StateGraph({"x": Replace(), "steps": Replace(initial=0)}, name="sequence").add_edge(START, names[0])
    subsets = st.frozensets(st.sampled_from((0, 1, 2)))
    spent = Condition("spent", lambda s: s["steps"] >= limit, "steps")

    def among(label: str) -> Condition:
        chosen = draw(subsets)
        return Condition(label, lambda s: s["x"] in chosen, "x")

    def reporting(value: int) -> Any:
        return lambda s: {"x": value, "steps": s["steps"] + 1}

    for name in names:
        graph.add_node(name, lambda state: {})
        rules = [
            Rule("first", "FIRST", tuple(among(f"c{place}") for place in range(draw(st.integers(1, 3))))),
            Rule("second", "SECOND", (among("d0"), spent)),
            Rule("end", "SPENT", spent),
            Rule("other", "OTHER"),
        ]
        places = {"other": draw(st.sampled_from([*names, END]))}
        # What stands before the count must not go round for ever.
        later = names[names.index(name) + 1 :]
        targets = {**places, "first": draw(st.sampled_from([*later, END])), "second": (*later, END)[0], "end": END}
        graph.add_conditional_edges(name, Decision(rules), targets)
    alphabet = {name: {f"v{value}": reporting(value) for value in values} for name in names}
    return Model("sequence", graph.compile(), alphabet)
