"""What untrusted text reaches is found, and a leak in any real action breaks a barrier."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from diagnosis import (
    END,
    START,
    Append,
    Barrier,
    Boundary,
    Condition,
    Decision,
    DefinitionError,
    Effect,
    FlowError,
    Fork,
    Model,
    Replace,
    Rule,
    Send,
    StateGraph,
    check_flow,
    diagnosis_model,
)
from diagnosis.evidence import build_retry_context, build_verified_input, fallback_answer
from diagnosis.state import gap_facts
from diagnosis.trust import BOUNDARY
from diagnosis.views import barriers_table, flow_table


def chain(*, effect=(), barriers=(), real=None, boundary=None, report=None, read=None) -> Model:
    """A search whose finding is shortened by plain code and then answered with."""
    keys = {"question": Replace(), "found": Replace(), "short": Replace(), "answer": Replace(), "ok": Replace()}
    graph = StateGraph(keys, name="chain")
    graph.add_node("search", lambda state: {}, kind="agent", owns=["found", "ok"], exit=effect)
    graph.add_node("shorten", lambda state: {}, kind="code", owns=["short"])
    graph.add_node("answer", lambda state: {}, kind="agent", owns=["answer"])
    graph.add_edge(START, "search")
    graph.add_conditional_edges(
        "search",
        Decision([Rule("yes", "FOUND", Condition("ok", lambda s: s["ok"] == "ok", "ok")), Rule("no", "NOT_FOUND")]),
        {"yes": "shorten", "no": END},
    )
    graph.add_edge("shorten", "answer")
    graph.add_edge("answer", END)
    return Model(
        "chain",
        graph.compile(),
        {
            "search": {"hit": report or {"found": "text", "ok": "ok"}, "miss": {"ok": "no"}},
            "shorten": {"done": {"short": "fixed"}},
            "answer": {"done": {"answer": "x"}},
        },
        input={"question": "why"},
        boundary=boundary
        or Boundary(
            barriers=tuple(barriers),
            handed={"answer": lambda state: state["short"], "search": lambda state: state["question"]},
            real=real or {},
        ),
    )


CLEAN = Barrier("clean", "The short form holds nothing that was found.", sinks="short", sources="search.*")


def rows(flow):
    return {(reach.source, reach.node, reach.key) for reach in flow.reaches}


def test_each_flow_is_told_with_its_node_key_and_shortest_script():
    flow = check_flow(chain(real={"shorten": lambda state: {"short": state["found"]}}))
    assert rows(flow) == {
        ("input.question", START, "question"),
        ("input.question", "search", "found"),
        ("search.found", "search", "found"),
        ("input.question", "shorten", "short"),
        ("search.found", "shorten", "short"),
        ("input.question", "answer", "answer"),
        ("search.found", "answer", "answer"),
        ("answer.answer", "answer", "answer"),
    }
    script = next(r.script for r in flow.reaches if (r.source, r.key) == ("search.found", "answer"))
    assert script == (("search", "hit"), ("shorten", "done"), ("answer", "done"))


def test_what_decisions_read_as_it_is_keeps_its_text():
    flow = check_flow(chain())
    assert not any(reach.key == "ok" for reach in flow.reaches)


def test_a_real_action_that_copies_breaks_the_barrier_with_the_shortest_script():
    flow = check_flow(chain(barriers=[CLEAN], real={"shorten": lambda state: {"short": f"<{state['found']}>"}}))
    assert not flow.holds
    assert flow.verdicts[0].detail == "search.found reaches short by node 'shorten'"
    assert flow.verdicts[0].script == (("search", "hit"), ("shorten", "done"))


def test_a_real_action_that_tells_nothing_holds_it():
    flow = check_flow(chain(barriers=[CLEAN], real={"shorten": lambda state: {"short": "found something"}}))
    assert flow.holds
    assert (flow.pairs, flow.every_script) == (2, True)


@pytest.mark.parametrize("tells", [len, lambda text: text[:3], lambda text: text.encode().hex()])
def test_what_a_text_gives_away_without_its_canary_is_seen_in_a_pair(tells):
    flow = check_flow(chain(barriers=[CLEAN], real={"shorten": lambda state: {"short": tells(state["found"])}}))
    assert flow.verdicts[0].word == "broken"
    assert "short changes with the text of a run" in flow.verdicts[0].detail


def test_an_exit_update_that_copies_is_found():
    leak = Effect("leak", lambda s: {"short": s["found"]}, reads="found", writes="short")
    flow = check_flow(chain(effect=(leak,), barriers=[CLEAN]))
    assert flow.verdicts[0].word == "broken"
    assert flow.verdicts[0].script == (("search", "hit"),)


def test_text_that_decides_beyond_what_routing_reads_leaves_it_unproven():
    calls = {"shorten": lambda state: {"short": "same"}}

    def by_length(state):
        return {"found": state["question"], "ok": "ok" if len(state["question"]) < 12 else "no"}

    boundary = Boundary(barriers=(Barrier("all", "", sinks="short"),), real={"search": by_length, **calls})
    flow = check_flow(chain(boundary=boundary))
    assert flow.verdicts[0].word == "not proven"
    assert "took two paths" in flow.verdicts[0].detail


def test_without_a_boundary_every_node_and_input_is_untrusted():
    flow = check_flow(dataclasses.replace(chain(), boundary=None))
    assert flow.sources == ("search", "shorten", "answer")
    assert flow.holds
    assert not flow.verdicts
    assert ("search.found", "shorten", "short") in rows(flow)


def test_real_actions_may_be_given_beside_the_model():
    flow = check_flow(chain(barriers=[CLEAN]), real={"shorten": lambda state, config: {"short": state["found"]}})
    assert flow.real == ("shorten",)
    assert not flow.holds


def test_a_real_action_that_fails_or_waits_is_refused_by_name():
    def broken(state):
        raise OSError("no disk")

    async def waiting(state):
        await asyncio.sleep(0)
        return {}

    with pytest.raises(FlowError, match=r"real action of node 'shorten' failed: .*no disk"):
        check_flow(chain(), real={"shorten": broken})
    with pytest.raises(FlowError, match="waits for something"):
        check_flow(chain(), real={"shorten": waiting})


@pytest.mark.parametrize(
    ("boundary", "told"),
    [
        (Boundary(untrusted=("nobody",)), "names node 'nobody'"),
        (Boundary(barriers=(Barrier("x", "", sinks="nothing.at"),)), "names key 'nothing'"),
        (Boundary(inputs=("nothing",)), "names input 'nothing'"),
    ],
)
def test_a_boundary_that_does_not_fit_is_refused(boundary, told):
    with pytest.raises(FlowError, match=told):
        check_flow(chain(boundary=boundary))


def test_barriers_need_a_sink_and_names_of_their_own():
    with pytest.raises(DefinitionError, match="names no sink"):
        Barrier("x", "", sinks=())
    with pytest.raises(DefinitionError, match="two barriers are named 'clean'"):
        Boundary(barriers=(CLEAN, CLEAN))
    with pytest.raises(DefinitionError, match="must be a Boundary"):
        dataclasses.replace(chain(), boundary="none")


def branched(wait: str, *, real=None, barriers=()) -> Model:
    keys = {"questions": Replace(), "question": Replace(), "found": Append(), "answer": Replace()}
    graph = StateGraph(keys, name="branched")
    graph.add_node("plan", lambda state: {}, owns=["questions"])
    graph.add_node("search", lambda state: {}, owns=["found"])
    graph.add_node("send", lambda state: {}, owns=["answer"])
    graph.add_edge(START, "plan")

    def each(state):
        return [Send("search", {"question": question}) for question in state["questions"]]

    graph.add_conditional_edges("plan", each, {"search": "search"}, reads="questions", fork=Fork(wait=wait))
    graph.add_edge("search", "send")
    graph.add_edge("send", END)
    return Model(
        "branched",
        graph.compile(),
        {
            "plan": {"two": {"questions": ["a", "b"]}},
            "search": {"hit": {"found": ["page"]}},
            "send": {"done": {"answer": "x"}},
        },
        boundary=Boundary(
            barriers=tuple(barriers), untrusted=("search", "send"), handed={"send": lambda state: None}, real=real or {}
        ),
    )


@pytest.mark.parametrize("wait", ["all_of", "any_of"])
def test_text_is_followed_through_branches_and_their_join(wait):
    barrier = Barrier("out", "What was found is not sent.", sinks="answer", sources="search.*")
    copies = {"send": lambda state: {"answer": "".join(state["found"])}}
    leaking = check_flow(branched(wait, real=copies, barriers=[barrier]))
    assert ("search.found", "search", "found") in rows(leaking)
    assert ("search.found", "send", "answer") in rows(leaking)
    assert leaking.verdicts[0].word == "broken"
    assert leaking.verdicts[0].script[-1] == ("send", "done")
    assert check_flow(branched(wait, real={"send": lambda state: {"answer": "ok"}}, barriers=[barrier])).holds


def test_a_graph_that_may_go_on_for_ever_is_run_along_every_transition():
    graph = StateGraph({"note": Replace(), "answer": Replace(), "more": Replace()}, name="loop")
    graph.add_node("think", lambda state: {}, owns=["note", "more"])
    graph.add_node("say", lambda state: {}, owns=["answer"])
    graph.add_edge(START, "think")
    again = Condition("again", lambda s: s["more"] is True, "more")
    rules = Decision([Rule("again", "MORE", again), Rule("say", "ENOUGH")])
    graph.add_conditional_edges("think", rules, {"again": "think", "say": "say"})
    graph.add_edge("say", END)
    model = Model(
        "loop",
        graph.compile(),
        {"think": {"more": {"note": "n", "more": True}, "done": {"note": "n"}}, "say": {"said": {"answer": "a"}}},
        boundary=Boundary(
            barriers=(Barrier("b", "", sinks="answer"),), real={"say": lambda state: {"answer": "fixed"}}
        ),
    )
    flow = check_flow(model)
    assert flow.holds
    assert not flow.every_script
    assert "a script through every transition" in flow.counted
    assert not check_flow(model, real={"say": lambda state: {"answer": state["note"]}}).holds


def test_the_contract_graph_holds_its_barriers_over_every_script(contract_flow):
    assert [verdict.word for verdict in contract_flow.verdicts] == ["holds"] * 4
    assert contract_flow.pairs == 10_903
    assert contract_flow.every_script
    assert contract_flow.real == ("verified_input", "evidence_retry", "fallback")


def test_in_the_contract_graph_untrusted_claims_end_at_the_gatekeeper(contract_flow):
    for source in ("executor.untrusted_claim", "executor.tool_text", "gatekeeper.untrusted_binding"):
        assert not {"verified_input", "composer_output", "final_answer"} & set(contract_flow.reached[source])
        assert "checked_bindings" in contract_flow.reached[source]
    assert "verified_input" in contract_flow.reached["gatekeeper.trusted_binding"]
    assert "final_answer" in contract_flow.reached["gatekeeper.trusted_binding"]
    assert "composer" in {reach.node for reach in contract_flow.reaches if reach.key == "final_answer"}
    assert "fallback" not in {reach.node for reach in contract_flow.reaches if reach.key == "final_answer"}


def test_flows_are_a_tidy_table(contract_flow):
    table = flow_table(contract_flow)
    assert list(table.columns) == ["source", "node", "key", "executions", "script"]
    assert len(table) == len(contract_flow.reaches)
    row = table[(table.source == "gatekeeper.trusted_binding") & (table.key == "verified_input")].iloc[0]
    assert row.script == "planner=COMPLETED > executor=COMPLETED > gatekeeper=PASS/1 > verified_input=COMPLETED"
    assert row.executions == 4
    assert list(barriers_table(contract_flow).verdict) == ["holds"] * 4
    assert "not shown: paraphrase" in contract_flow.text()


@pytest.fixture(scope="module")
def contract_flow():
    return check_flow(diagnosis_model())


def with_more(**more):
    return lambda state: {"verified_input": {**build_verified_input(state), **{k: f(state) for k, f in more.items()}}}


def bindings_that(keep):
    return lambda state: {"verified_input": {**build_verified_input(state), "bindings": keep(state)}}


LEAKS = {
    "tool trace": ("verified_input", with_more(trace=lambda s: s["tool_trace_summary"])),
    "number of claims in the trace": ("verified_input", with_more(size=lambda s: len(repr(s["tool_trace_summary"])))),
    "every binding": ("verified_input", bindings_that(lambda s: s["checked_bindings"])),
    "truthy bindings": (
        "verified_input",
        bindings_that(lambda s: [b for b in s["checked_bindings"] if hasattr(b, "get") and b.get("trusted")]),
    ),
    "other fields of a trusted binding": (
        "verified_input",
        bindings_that(lambda s: [b for b in s["checked_bindings"] if hasattr(b, "get") and b.get("trusted") is True]),
    ),
    "whole verifier output": ("evidence_retry", lambda s: {"evidence_retry_context": s["verifier_output"]}),
    "other fields of a gap fact": (
        "evidence_retry",
        lambda s: {"evidence_retry_context": {"gaps": list(gap_facts(s["verifier_output"]))}},
    ),
    "executor output in the gaps": (
        "evidence_retry",
        lambda s: {"evidence_retry_context": {**build_retry_context(s), "seen": s["executor_output"]}},
    ),
    "the question": ("fallback", lambda s: {"final_answer": f"{fallback_answer(s)} You asked: {s['user_query']}"}),
    "an unknown status": ("fallback", lambda s: {"final_answer": f"{fallback_answer(s)} {s['planner_status']}"}),
    "the length of the plan": (
        "fallback",
        lambda s: {"final_answer": fallback_answer(s) + " " * len(repr(s["planner_output"]))},
    ),
}  # fmt: skip


@pytest.mark.parametrize("leak", LEAKS)
def test_a_leak_in_each_real_action_of_the_contract_graph_is_found(leak):
    node, action = LEAKS[leak]
    flow = check_flow(diagnosis_model(), real={node: action}, max_scripts=1)
    assert not flow.holds
    broken = [verdict for verdict in flow.verdicts if verdict.word == "broken"]
    assert broken
    assert broken[0].script[-1][0] == node


def test_the_contract_boundary_names_every_real_action_that_is_plain_code():
    assert set(BOUNDARY.real) == {"verified_input", "evidence_retry", "fallback"}
