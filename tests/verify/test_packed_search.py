"""The search over packed states gives what the plain search gives, whatever the graph."""

from __future__ import annotations

import importlib.util
import random
import sys

import pytest
from graphs import idle, misspelt, never_gives_up, retrying, unreachable_guard

from benchmarks.scaled import Limits, one_agent, several_agents
from diagnosis.catalog import diagnosis_model
from diagnosis.runtime import (
    END,
    REPEAT,
    START,
    Append,
    Command,
    Condition,
    Custom,
    Decision,
    Effect,
    Merge,
    Model,
    Reading,
    Replace,
    Rule,
    StateGraph,
    always,
    sometimes,
)
from diagnosis.verify import lasso, probe, prove, space
from diagnosis.verify.packed import WORD, Index, Layout, Names, Roots
from diagnosis.verify.space import StateSpace

np = pytest.importorskip("numpy")


@pytest.fixture
def no_walks(monkeypatch):
    """Leave out the single walks beyond the budget, which a packed space has beside it, not in it."""
    monkeypatch.setattr(probe, "MAX_MOVES", 0)


def random_model(seed: int) -> Model:
    """A graph with counters, histories, entry and exit updates, plain routers and Commands, all drawn by chance."""
    chance = random.Random(seed)
    keys = {"n": Replace(initial=0), "m": Replace(initial=0), "word": Replace(), "log": Append(), "map": Merge()}
    graph = StateGraph(keys, name=f"random{seed}")
    names = [f"node{i}" for i in range(chance.randint(2, 5))]
    limits = {"n": chance.randint(1, 4), "m": chance.randint(1, 6)}
    words = ["a", "b", True, 1, 1.0, None]

    def counting(key):
        def counted(state):
            return {key: state[key] + 1} if state[key] <= limits[key] and state["word"] in ("a", True) else {}

        return Effect(f"count_{key}", counted, reads=(key, "word"), writes=key)

    def below(key):
        return Condition(f"{key}_below", lambda s: s[key] < limits[key], key)

    conditions = [
        below("n"),
        below("m"),
        Condition("is_a", lambda s: s["word"] == "a", "word"),
        Condition("is_true", lambda s: s["word"] is True, "word"),
        Condition("short", lambda s: len(s["log"]) < 3, "log"),
        Condition("mapped", lambda s: s["map"].get("x") == 1, "map"),
    ]
    alphabet, every = {}, {target: target for target in [*names, END]}
    for name in names:
        goto = {"stop": END, "on": names[-1]} if chance.random() < 0.3 else None
        graph.add_node(
            name,
            idle,
            goto=goto,
            entry=[counting("n")] if chance.random() < 0.5 else (),
            exit=[counting("m")] if chance.random() < 0.5 else (),
            attempt=Reading(lambda s: s["n"] + 1, "n") if chance.random() < 0.3 else None,
        )
        outcomes = {str(i): {"word": chance.choice(words)} for i in range(chance.randint(1, 3))}
        if chance.random() < 0.4:
            outcomes["logs"] = lambda s: {"log": ["x"]} if len(s["log"]) < 3 else {"log": []}
        if chance.random() < 0.3:
            outcomes["maps"] = {"map": {"x": chance.randint(0, 1)}}
        if chance.random() < 0.2:
            outcomes["fails"] = lambda s: {"word": ["b"][s["n"]]}
        if goto:
            outcomes["leaves"] = Command("stop", {"m": 0}, reason="LEFT")
        alphabet[name] = outcomes
        if chance.random() < 0.25:
            graph.add_conditional_edges(name, lambda s, to=names[-1]: to if s["n"] < 2 else END, every)
        elif name == names[-1] and chance.random() < 0.5:
            graph.add_edge(name, END, reason=REPEAT)
        else:
            # The next node is always on the way, so that all are reached.
            routes = [chance.choice([*names, END]) for _ in range(chance.randint(0, 2))]
            routes.append([*names, END][names.index(name) + 1])
            rules = [
                Rule(route, f"R{i}", tuple(chance.sample(conditions, chance.randint(1, 2))))
                for i, route in enumerate(routes)
            ]
            decision = Decision([*rules, Rule(END, "ELSE")])
            graph.add_conditional_edges(name, decision, {route: route for route in [*routes, END]})
    graph.add_edge(START, names[0])
    claims = (
        always("few", "x", lambda move: move.after["n"] < 2, reads="n"),
        sometimes("word_b", "x", lambda move: move.before["word"] == "b", reads="word"),
        always("first", "x", lambda move, seen: seen < 4, start=0, remember=lambda seen, m: seen + (m.outcome == "0")),
    )
    return Model(f"random{seed}", graph.compile(), alphabet, claims, bound=5)


def transitions(found: StateSpace, index: int) -> list:
    return [
        (edge.source, edge.outcome, edge.target, edge.choice, edge.attempt, edge.truths, edge.error)
        for edge in found.outgoing[index]
    ]


def assert_same_space(model: Model, **budget) -> None:
    plain, packed = StateSpace(model, packed=False, **budget), StateSpace(model, packed=True, **budget)
    assert (plain.packed, packed.packed is None) == (None, False)
    assert (packed.projection, packed.stopped) == (plain.projection, plain.stopped)
    assert (len(packed.states), packed.size) == (len(plain.states), plain.size)
    assert list(packed.depths) == plain.depths
    assert packed.positions == plain.positions
    for index in range(len(plain.states)):
        assert packed.script_to(index) == plain.script_to(index)
        assert transitions(packed, index) == transitions(plain, index)
        assert packed.states[index] == plain.states[index]
    assert packed.cycles == plain.cycles
    assert (packed.counts is None) == (plain.counts is None)
    if plain.counts is not None:
        assert list(packed.counts[0]) == plain.counts[0]
        assert list(packed.counts[1]) == plain.counts[1]
    assert list(packed.to_end) == plain.to_end
    assert packed.shortest == plain.shortest
    assert packed.sure == plain.sure


def proof_of(model: Model, monkeypatch, pack_from: int, **budget):
    monkeypatch.setattr(space, "PACKED_FROM", pack_from)
    proof = prove(model, **budget)
    assert (proof.space.packed is None) == (pack_from > 0)
    verdicts = [(v.claim.name, v.holds, v.detail, v.script) for v in proof.verdicts]
    told = (proof.findings, proof.unbounded, proof.lengths, proof.terminations, proof.never_taken)
    return verdicts, proof.to_json(), proof.text(), told


def assert_same_proof(model: Model, monkeypatch, **budget) -> None:
    assert proof_of(model, monkeypatch, 0, **budget) == proof_of(model, monkeypatch, 10**9, **budget)


def test_the_contract_graph_is_explored_alike():
    assert_same_space(diagnosis_model())


@pytest.mark.parametrize("states", [1, 2, 40, 333, 1164, 1165])
def test_a_budget_of_states_cuts_both_off_at_the_same_one(states, no_walks):
    assert_same_space(diagnosis_model(), max_states=states)


@pytest.mark.parametrize(
    "model",
    [misspelt(), retrying(3), retrying(3, count=False), one_agent(Limits(1, 2, 0, 2))],
    ids=["misspelt", "retrying", "looping", "scaled"],
)
def test_small_graphs_are_explored_alike(model):
    assert_same_space(model)


def test_states_of_more_than_one_word_are_explored_alike(no_walks):
    model = several_agents([Limits(1, 1, 0, 0), Limits(0, 1, 0, 0), Limits(0, 0, 0, 0)])
    found = StateSpace(model, packed=True, max_states=700)
    assert found.packed.frontier.layout.words == 2
    assert_same_space(model, max_states=700)


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs_are_explored_alike(seed, no_walks):
    assert_same_space(random_model(seed), max_states=150)


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs_are_proven_alike(seed, monkeypatch, no_walks):
    assert_same_proof(random_model(seed), monkeypatch, max_states=150)


def test_the_contract_graph_is_proven_alike(monkeypatch):
    assert_same_proof(diagnosis_model(), monkeypatch)


@pytest.mark.parametrize(("bound", "count"), [(4, True), (5, True), (3, False)])
def test_broken_claims_have_the_same_shortest_counterexample(bound, count, monkeypatch):
    assert_same_proof(retrying(3, bound=bound, count=count, claims=(never_gives_up(),)), monkeypatch)


def test_a_run_without_end_is_found_alike(monkeypatch, no_walks):
    assert_same_proof(unreachable_guard(), monkeypatch, max_states=600)


def test_scaled_graphs_have_the_known_sizes():
    found = StateSpace(one_agent(Limits.all(6)), max_states=10**6)
    assert found.packed is not None
    assert (len(found.states), found.size) == (109_875, 172_582)
    assert len(StateSpace(several_agents([Limits(1, 0, 1, 0)] * 2), max_states=10**6).states) == 137_755


def test_a_large_space_is_packed_without_being_asked():
    assert StateSpace(diagnosis_model(), max_states=10**6).packed is not None
    assert StateSpace(retrying(3)).packed is None


def branching() -> Model:
    graph = StateGraph({"log": Append()}, name="branching")
    for node in ("a", "b", "c", "d"):
        graph.add_node(node, idle)
    graph.add_edge(START, "a").add_edge("a", "b").add_edge("a", "c").add_edge("b", "d").add_edge("c", "d")
    graph.add_edge("d", END)
    return Model("branching", graph.compile(), {node: {"ok": {}} for node in ("a", "b", "c", "d")})


def test_graphs_that_cannot_be_packed_are_searched_plainly():
    assert StateSpace(branching(), packed=True).packed is None
    graph = StateGraph({"x": Custom(initial=0, merge=lambda old, new: old + new)}, name="custom").add_node("a", idle)
    graph.add_edge(START, "a").add_edge("a", END)
    model = Model("custom", graph.compile(), {"a": {"adds": {"x": 1}}})
    assert StateSpace(model, packed=True).packed is None
    assert StateSpace(model, packed=True, extra=["x"]).packed is not None


def test_a_function_that_reads_beside_the_projection_sees_the_whole_state():
    graph = StateGraph({"note": Replace(), "x": Replace(), "y": Replace()}, name="noted")
    graph.add_node("a", idle).add_node("b", idle).add_edge(START, "a").add_edge("b", END)
    graph.add_conditional_edges("a", Decision([Rule("b", "GO", Condition("c", lambda s: True, "x"))]), {"b": "b"})
    outcomes = {"a": {"says": {"note": "here"}}, "b": {"reads": lambda s: {"y": {"here": 1}[s["note"]]}}}
    model = Model("noted", graph.compile(), outcomes)
    assert [edge.error for edge in StateSpace(model, packed=True).transitions] == [None, None]
    assert_same_space(model)


def test_a_key_that_only_a_function_reads_keeps_states_apart():
    graph = StateGraph({"x": Replace(initial=0), "y": Replace(initial=0)}, name="copies")
    graph.add_node("a", idle).add_node("b", idle).add_edge(START, "a").add_edge("a", "b")
    odd = Condition("odd", lambda s: s["y"] % 2 == 1, "y")
    graph.add_conditional_edges("b", Decision([Rule(END, "ODD", odd), Rule("again", "EVEN")]), {END: END, "again": "a"})
    outcomes = {"a": {str(i): {"x": i} for i in range(3)}, "b": {"copies": lambda s: {"y": s["x"] + 1}}}
    assert_same_space(Model("copies", graph.compile(), outcomes))


def test_time_runs_out_in_the_packed_search_too():
    found = StateSpace(several_agents([Limits.all(9)] * 2), packed=True, max_states=10**8, max_seconds=0.3)
    assert found.stopped == "the budget of 0.3 s was used up"
    assert 0 < found.packed.frontier.explored < len(found.states)


def deep(*claims) -> Model:
    """A line of twelve nodes with two outcomes each, all of which are counted."""
    names = [f"n{number}" for number in range(12)]
    graph = StateGraph({"yes": Replace(initial=0), "no": Replace(initial=0)}, name="deep")
    both = ("yes", "no")
    said = {word: lambda s, word=word: {word: s[word] + 1} for word in both}
    for name, following in zip(names, [*names[1:], END], strict=True):
        graph.add_node(name, idle, owns=both)
        on = Condition("any", lambda s: s["yes"] + s["no"] >= 0, both)
        graph.add_conditional_edges(name, Decision([Rule("on", "ON", on), Rule("on", "ELSE")]), {"on": following})
    graph.add_edge(START, names[0])
    return Model("deep", graph.compile(), dict.fromkeys(names, said), claims)


def test_single_walks_show_what_lies_behind_the_budget_of_a_packed_search(monkeypatch):
    claims = (
        always("never_all", "x", lambda move: move.after["yes"] < 12, reads="yes"),
        sometimes("half", "x", lambda move: move.node == "n11" and move.after["yes"] == 6, reads="yes"),
    )
    monkeypatch.setattr(space, "PACKED_FROM", 0)
    model = deep(*claims)
    proof = prove(model, max_states=30)
    assert proof.space.packed is not None
    first, second = (verdict for verdict in proof.verdicts if verdict.claim in claims)
    assert (first.holds, first.shortest, first.script) == (False, False, tuple((f"n{n}", "yes") for n in range(12)))
    assert "seen on one of the walks after the budget was met" in first.detail
    assert second.holds is None
    monkeypatch.setattr(space, "PACKED_FROM", 10**9)
    plain = prove(model, max_states=30)
    assert [verdict for verdict in plain.verdicts if verdict.claim in claims] == [first, second]


def test_a_loop_behind_the_budget_of_a_packed_search_is_found(monkeypatch):
    monkeypatch.setattr(space, "PACKED_FROM", 0)
    monkeypatch.setattr(lasso, "MOST_PACKED", 1)
    proof = prove(unreachable_guard(), max_states=20)
    assert proof.space.packed is not None
    assert proof.lasso is not None
    assert next(v for v in proof.verdicts if v.claim.kind == "eventually").detail.startswith("never ends: ")


def test_progress_is_told_block_by_block():
    told = []
    StateSpace(one_agent(Limits.all(2)), packed=True, progress=lambda done, known: told.append((done, known)))
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1] == len(StateSpace(one_agent(Limits.all(2)), packed=False).states)
    assert len(told) > 10


def test_fields_are_as_wide_as_needed_and_come_back():
    layout = Layout([2, 5, 1, 2**40, 300, 2**20])
    assert layout.words == 2
    values = [1, 4, 0, 2**40 - 1, 299, 77]
    assert layout.values(layout.pack(values)) == tuple(values)
    assert layout.fits([2, 8, 2, 2**40, 512, 2**20])
    assert not layout.fits([3, 8, 2, 2**40, 512, 2**20])
    assert Layout([2] * WORD).words == 1
    assert Layout([2] * (WORD + 1)).words == 2


def test_many_words_become_one_number_and_come_back():
    words = np.random.default_rng(1).integers(0, 2**61, (4, 500))
    words[:, 250:] = words[:, :250]
    roots = Roots(4)
    found = roots.of(words)
    assert len(set(found.tolist())) == 250
    assert (roots.words(found) == words).all()
    assert (roots.of(words[:, ::-1]) == found[::-1]).all()


def test_names_keep_what_they_stand_for():
    names = Names()
    first = names.of(np.array([50, 7, 50]))
    assert first.tolist() == [1, 0, 1]
    assert names.of(np.array([7, 3, 50])).tolist() == [0, 2, 1]
    assert names.numbers(np.array([0, 1, 2])).tolist() == [7, 50, 3]


def test_the_index_agrees_with_a_dictionary():
    chance = np.random.default_rng(3)
    index, known = Index(), {}
    for size in (1, 40, 3000, 20_000):
        roots = chance.integers(0, 30_000, size)
        fresh = []
        for at, root in enumerate(roots.tolist()):
            if root not in known:
                known[root] = len(known)
                fresh.append(at)
        assert index.add(roots).tolist() == fresh
        assert index.roots.all.tolist() == list(known)
        asked = chance.integers(0, 40_000, 500)
        assert index.find(asked).tolist() == [known.get(root, -1) for root in asked.tolist()]


def test_the_package_loads_without_numpy():
    assert importlib.util.find_spec("numpy") is not None
    code = "import sys; from diagnosis import explore, prove; print('numpy' in sys.modules)"
    import subprocess

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
