from __future__ import annotations

from graphs import idle

from diagnosis.runtime import END, START, Condition, Decision, Effect, Model, Replace, Rule, StateGraph
from diagnosis.verify import explore, find_lasso, prove


def counting(update, *, rules=None, keys=None) -> Model:
    """One node that goes round until a rule says otherwise; what it reports may depend on the state."""
    graph = StateGraph({"steps": Replace(initial=0), "seen": Replace(initial=0), **(keys or {})}, name="counting")
    graph.add_node("a", idle).add_edge(START, "a")
    over = Condition("over", lambda s: s["steps"] > 10**9, "steps")
    graph.add_conditional_edges(
        "a", Decision(rules or [Rule("end", "OVER", over), Rule("again", "MORE")]), {"end": END, "again": "a"}
    )
    return Model("counting", graph.compile(recursion_limit=30), {"a": {"step": update}})


def test_a_counter_that_is_read_makes_no_lasso_even_if_its_end_is_far():
    space = explore(counting(lambda s: {"steps": s["steps"] + 1}), max_states=100)
    assert find_lasso(space) is None


def test_a_space_whose_keys_all_have_few_values_has_no_growing_key():
    def tree(state):
        return {"steps": (state["steps"] + 1) % 8, "seen": state["seen"] + (state["steps"] == 7)}

    assert find_lasso(explore(counting(tree), max_states=5)) is None


def test_a_loop_that_breaks_after_some_laps_is_no_lasso():
    def breaks(state):
        if state["steps"] > 30:
            raise ValueError("no more")
        return {"steps": state["steps"] + 1}

    named = Condition("named", lambda s: s["seen"] == 0, "seen")
    over = Condition("over", lambda s: s["steps"] > 10**9, "steps")
    rules = [Rule("again", "NAMED", named), Rule("end", "OVER", over), Rule("end", "ELSE")]
    assert find_lasso(explore(counting(breaks, rules=rules), max_states=20)) is None


def test_a_report_that_changes_its_mind_after_some_laps_is_no_lasso():
    """What it reads joins the projection, because it may write what decides."""

    def wakes_up(state):
        return {"seen": 1} if state["count"] > 5 else {"count": state["count"] + 1}

    named = Condition("named", lambda s: s["seen"] == 0, "seen")
    rules = [Rule("again", "NAMED", named), Rule("end", "ELSE")]
    proof = prove(counting(wakes_up, rules=rules, keys={"count": Replace(initial=0)}))
    assert proof.space.projection == ("seen", "count")
    assert proof.lasso is None
    assert proof.longest_path == 7


def test_an_effect_that_carries_a_growing_key_into_the_decision_makes_no_lasso():
    graph = StateGraph({"steps": Replace(initial=0), "late": Replace(initial=False)}, name="carried")
    carry = Effect("carry", lambda s: {"late": s["steps"] > 10**6}, reads="steps", writes="late")
    graph.add_node("a", idle, exit=carry).add_edge(START, "a")
    late = Condition("late", lambda s: s["late"], "late")
    graph.add_conditional_edges(
        "a", Decision([Rule("end", "LATE", late), Rule("again", "MORE")]), {"end": END, "again": "a"}
    )
    model = Model("carried", graph.compile(), {"a": {"step": lambda s: {"steps": s["steps"] + 1}}})
    assert find_lasso(explore(model, max_states=200)) is None


def test_the_lasso_says_how_it_is_reached_and_what_grows():
    named = Condition("named", lambda s: s["seen"] >= 0, "seen")
    over = Condition("over", lambda s: s["steps"] > 10**9, "steps")
    rules = [Rule("again", "NAMED", named), Rule("end", "OVER", over), Rule("end", "ELSE")]
    lasso = find_lasso(explore(counting(lambda s: {"steps": s["steps"] + 1}, rules=rules), max_states=50))
    assert lasso is not None
    assert lasso.text() == (
        "after the start: for ever a=step; steps goes on changing, but nothing on the loop depends on it"
    )


def test_a_loop_that_ends_within_the_recursion_limit_is_no_lasso():
    """Three counters of which any may be raised; what ends the loop is written only once their sum is high."""
    names = ("p", "q", "r")

    def raising(name):
        def update(state):
            total = sum(state[other] for other in names)
            return {"stop": True} if total >= 70 else {name: state[name] + 1}

        return update

    keys = {name: Replace(initial=0) for name in names}
    graph = StateGraph({**keys, "stop": Replace(initial=False)}, name="sum").add_node("a", idle).add_edge(START, "a")
    stop = Condition("stop", lambda s: s["stop"], "stop")
    rules = [Rule("end", "STOP", stop), Rule("again", "MORE")]
    graph.add_conditional_edges("a", Decision(rules), {"end": END, "again": "a"})
    model = Model("sum", graph.compile(recursion_limit=100), {"a": {name: raising(name) for name in names}})
    assert find_lasso(explore(model, max_states=2000)) is None
