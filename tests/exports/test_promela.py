"""SPIN, given the Promela text, counts what exploration counts; and the text is not made from an exploration."""

from __future__ import annotations

import dataclasses
import itertools
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from exported_models import idle, nested, searching, voting
from spin import needs_spin, spin

from diagnosis import diagnosis_model
from diagnosis.exports import ExportError, promela
from diagnosis.runtime import (
    END,
    START,
    Append,
    Condition,
    Decision,
    Effect,
    Fork,
    Model,
    Replace,
    Rule,
    StateGraph,
)
from diagnosis.verify import explore
from diagnosis.verify.moves import Moves


def sizes(model, **options):
    """Control states with the one that SPIN stops in, transitions, scripts, longest run: as explored."""
    space = explore(model, **options)
    stops = any(edge.target is None for edge in space.transitions)
    assert space.counts is not None
    return len(space.states) + stops, space.size, space.counts[0][0], space.counts[1][0]


def counted(text, longest=40):
    """The same as SPIN counts them; each script is a state of its own by what was reported so far."""
    found, scripts = spin(text), spin(text, f"SCRIPTS={longest}")
    assert found.errors == scripts.errors == 0
    return found.states, found.transitions, scripts.scripts, scripts.longest


@needs_spin
def test_spin_counts_the_contract_graph_as_exploration_does():
    model = diagnosis_model()
    assert counted(promela(model)) == (1165, 1517, 10903, 18) == sizes(model)


@needs_spin
@pytest.mark.parametrize("model", [searching(), nested(), voting()], ids=lambda model: model.name)
def test_spin_counts_branches_in_order_of_declaration_as_exploration_does(model):
    assert counted(promela(model)) == sizes(model)


INTERLEAVED = {"searching": (359, 867, 58195, 14), "nested": (93, 155, 164, 7), "voters": (134, 298, 1208, 11)}


@needs_spin
@pytest.mark.parametrize("model", [searching(), nested(), voting()], ids=lambda model: model.name)
def test_spin_counts_all_interleavings(model):
    found = counted(promela(model, interleave=True))
    assert found == INTERLEAVED[model.name]
    assert found == sizes(model, interleave=True)


@needs_spin
def test_no_run_is_longer_than_the_longest_and_one_is_as_long():
    text = promela(diagnosis_model())
    assert [spin(text, f"LIMIT={limit}").errors for limit in (17, 18)] == [1, 0]


@needs_spin
def test_under_a_smaller_alphabet_there_are_as_many_scripts_of_each_length():
    model = diagnosis_model()
    kept = {"verifier": ("RETRYABLE_FAILED", "PASS/no_gap", "LOW_CONFID/gap"), "gatekeeper": ("PASS/1", "REJECT/0")}
    alphabet = {
        node: {name: outcomes[name] for name in kept.get(node, tuple(outcomes)[:3])}
        for node, outcomes in model.alphabet.items()
    }
    smaller = dataclasses.replace(model, alphabet=alphabet)
    lengths = Counter(len(script) for script in explore(smaller).scripts())
    assert spin(promela(smaller), "SCRIPTS=40").lengths == lengths
    assert len(lengths) > 8


@needs_spin
def test_where_exploration_is_broken_the_counts_part(monkeypatch):
    """A step of the explorer that loses every third move changes its counts, and not a byte of the text."""
    model = diagnosis_model()
    text = promela(model)
    right, number = sizes(model), itertools.count()
    onward = Moves.onward

    def losing(self, here, done):
        return [] if next(number) % 3 == 2 else onward(self, here, done)

    monkeypatch.setattr(Moves, "onward", losing)
    assert promela(model) == text
    wrong = sizes(model)
    assert counted(text) == right
    assert all(one != other for one, other in zip(wrong[:3], right[:3], strict=True))


@needs_spin
def test_a_run_that_never_ends_is_a_cycle_of_spin_too():
    fails = Condition("failed", lambda s: s["status"] != "ok", "status")
    graph = StateGraph({"status": Replace()}, name="for_ever")
    graph.add_node("fetch", idle).add_edge(START, "fetch")
    graph.add_conditional_edges(
        "fetch", Decision([Rule("again", "AGAIN", fails), Rule("end", "OK")]), {"again": "fetch", "end": END}
    )
    model = Model("for_ever", graph.compile(), {"fetch": {"ok": {"status": "ok"}, "failed": {"status": "failed"}}})
    assert spin(promela(model), compiler=("-DNP",), run=("-l",)).errors == 1
    assert spin(promela(diagnosis_model()), compiler=("-DNP",), run=("-l",)).errors == 0


# --- what is not said -------------------------------------------------------------------------------------------------


def counting(condition, *, effect=None, keys=None, outcome=None):
    """A node that goes round while a condition holds."""
    graph = StateGraph(keys or {"n": Replace(initial=0)}, name="counting")
    graph.add_node("count", idle, entry=effect or ()).add_edge(START, "count")
    graph.add_conditional_edges(
        "count", Decision([Rule("again", "AGAIN", condition), Rule("end", "DONE")]), {"again": "count", "end": END}
    )
    return Model("counting", graph.compile(), {"count": {"ok": outcome or {}}})


def test_a_key_without_a_bound_is_refused_by_name():
    more = Effect("one_more", lambda s: {"n": s["n"] + 1}, reads="n", writes="n")
    with pytest.raises(ExportError, match="key 'n' takes more than 250 values"):
        promela(counting(Condition("even", lambda s: s["n"] % 2 >= 0, "n"), effect=more))


def test_a_key_that_conditions_bound_is_no_trouble():
    more = Effect("one_more", lambda s: {"n": s["n"] + 1}, reads="n", writes="n")
    text = promela(counting(Condition("below_3", lambda s: s["n"] < 3, "n"), effect=more))
    assert "k_n = k_n + 1;" in text


@needs_spin
def test_a_key_that_only_another_key_bounds_is_no_trouble():
    """The sum has a bound because the counter has one; key by key that cannot be seen."""
    model = counting(
        Condition("below_3", lambda s: s["n"] < 3, "n"),
        keys={"n": Replace(initial=0), "sum": Replace(initial=0)},
        effect=Effect("add", lambda s: {"n": s["n"] + 1, "sum": s["sum"] + 2}, reads=("n", "sum"), writes=("n", "sum")),
    )
    assert counted(promela(model)) == sizes(model) == (4, 3, 1, 3)


def test_a_condition_that_answers_differently_is_refused_by_name():
    answers = itertools.cycle([True, False])
    with pytest.raises(ExportError, match=r"condition 'moody' of count\.AGAIN cannot be tabulated: .*pure function"):
        promela(counting(Condition("moody", lambda s: next(answers), "n")))


def test_a_condition_that_tells_apart_what_reads_alike_is_refused_by_name():
    """Exploration takes the first of two values that read alike; a table of it would hide what is true of the other."""
    keys = {"n": Replace(initial=0, read=lambda value: value % 10)}
    ten = Condition("exactly_ten", lambda s: s["n"] == 10, "n")
    with pytest.raises(ExportError, match=r"condition 'exactly_ten' of count\.AGAIN cannot be tabulated: .*read alike"):
        promela(counting(ten, keys=keys, outcome={"n": 10}))


def test_a_condition_with_too_many_combinations_is_refused_by_name():
    names = [f"n{number}" for number in range(16)]
    graph = StateGraph({name: Replace() for name in names}, name="wide")
    all_keys = Condition("odd", lambda s: sum(s[name] for name in names) % 2 == 1, names)
    previous = START
    for name in names:
        graph.add_node(name, idle).add_edge(previous, name)
        previous = name
    graph.add_conditional_edges(
        previous, Decision([Rule("odd", "ODD", all_keys), Rule("even", "EVEN")]), {"odd": END, "even": END}
    )
    model = Model("wide", graph.compile(), {name: {"0": {name: 0}, "1": {name: 1}} for name in names})
    with pytest.raises(ExportError, match=r"condition 'odd' of n15\.ODD cannot be tabulated: .*more than 20000"):
        promela(model)


def test_a_race_whose_branches_can_fail_is_refused_by_name():
    graph = StateGraph({"way": Replace()}, name="race")
    for node in ("plan", "fast", "slow", "join"):
        graph.add_node(node, idle)
    graph.add_edge(START, "plan").add_edge("slow", "join").add_edge("join", END)
    graph.add_edge("plan", ["fast", "slow"], fork=Fork(join="join", wait="any_of"))
    graph.add_conditional_edges("fast", lambda s: s["way"], {"on": "join"}, reads=["way"])
    ways = {"ok": {"way": "on"}, "lost": {"way": "nowhere"}}
    alphabet = {"plan": {"go": {}}, "fast": ways, "slow": {"ok": {}}, "join": {"ok": {}}}
    model = Model("race", graph.compile(), alphabet)
    with pytest.raises(ExportError, match="a branch of an any_of can fail, at plan_0"):
        promela(model)


def test_a_fork_of_too_many_branches_is_refused_by_name():
    with pytest.raises(ExportError, match="node 'plan' opens more than 32 branches at once"):
        promela(searching(33))


def test_what_is_no_model_is_refused():
    with pytest.raises(Exception, match="printed of a Model, found str"):
        promela("diagnosis")


def test_an_event_history_that_routing_reads_is_refused_by_name():
    graph = StateGraph({"events": Append()}, name="events")
    graph.log_events("events", lambda event: event.node, lambda own, record: None)
    graph.add_node("count", idle).add_edge(START, "count")
    long = Condition("long", lambda s: len(s["events"]) > 3, "events")
    graph.add_conditional_edges(
        "count", Decision([Rule("end", "LONG", long), Rule("again", "AGAIN")]), {"again": "count", "end": END}
    )
    with pytest.raises(ExportError, match="key 'events' holds events"):
        promela(Model("events", graph.compile(), {"count": {"ok": {}}}))


# --- the text ---------------------------------------------------------------------------------------------------------

PROGRAM = """
import sys; sys.path.insert(0, {here!r})
from exported_models import nested, voting
from diagnosis import diagnosis_model
from diagnosis.exports import fingerprint, promela
for model in (diagnosis_model(), nested(), voting()):
    print(promela(model), promela(model, interleave=True), fingerprint(model))
"""


def test_every_byte_is_the_same_in_every_process():
    outputs = set()
    for seed in ("1", "2"):
        program = PROGRAM.format(here=str(Path(__file__).parent))
        environment = {"PATH": "/nonexistent", "PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        outputs.add(done.stdout)
    assert len(outputs) == 1


def test_names_and_texts_of_any_kind_do_no_harm():
    odd = 'a "b" %d \\n */ é'
    graph = StateGraph({odd: Replace()}, name=odd)
    graph.add_node("a-b", idle).add_node("a_b", idle)
    graph.add_edge(START, "a-b").add_edge("a-b", "a_b", reason=odd)
    known = Condition(odd, lambda s: s[odd] == odd, odd)
    graph.add_conditional_edges("a_b", Decision([Rule("x", odd, known), Rule("y", "Y")]), {"x": END, "y": END})
    model = Model(odd, graph.compile(), {"a-b": {odd: {odd: odd}}, "a_b": {"ok": {}, odd: {odd: None}}})
    text = promela(model)
    assert text.isascii()
    assert "N_a_b " in text
    assert "N_a_b_2 " in text
