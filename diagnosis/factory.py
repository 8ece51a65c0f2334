"""The Chat Diagnosis graph: nodes, ownership, and the retry wrapper as entry and exit updates (contract, section 5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diagnosis.actions import Actions
from diagnosis.router import GUARDS, TARGETS
from diagnosis.runtime import END, REPEAT, START, CompiledGraph, Effect, Reading, State, StateGraph
from diagnosis.state import EVENTS, INPUTS, KEYS, is_count, read, read_count
from diagnosis.status import RETRYABLE, UNKNOWN, GatekeeperStatus, PlannerMode, Verdict, VerifierStatus
from diagnosis.topology import (
    COMPOSER,
    EVIDENCE_RETRY,
    EVIDENCE_RETRY_SCHEDULED,
    EXECUTOR,
    FALLBACK,
    GATEKEEPER,
    GRAPH,
    KINDS,
    NODES,
    PLANNER,
    RECURSION_LIMIT,
    VERIFIED_INPUT,
    VERIFIED_INPUT_READY,
    VERIFIER,
)
from diagnosis.trace import check_own, record

OWNED: Mapping[str, tuple[str, ...]] = {
    PLANNER: ("planner_status", "planner_output"),
    EXECUTOR: ("executor_status", "executor_output", "tool_trace_summary"),
    GATEKEEPER: ("gatekeeper_status", "gatekeeper_output", "checked_bindings"),
    VERIFIED_INPUT: ("verified_input",),
    VERIFIER: ("verifier_status", "verifier_output", "effective_verdict"),
    COMPOSER: ("composer_status", "composer_output", "final_answer"),
    EVIDENCE_RETRY: ("evidence_retry_context",),
    FALLBACK: ("final_answer",),
}
"""Node -> the keys that its action may write."""


def _count_retry(node: str) -> Effect:
    status, count = f"{node}_status", f"{node}_retry_count"

    typed_read = KEYS[status].read

    def apply(state: State) -> dict[str, Any]:
        return _raised(state, count) if typed_read(state.get(status)) in RETRYABLE else {}

    return Effect(f"count_{node}_retry", apply, reads=(status, count), writes=count)


def _raised(state: State, count: str) -> dict[str, Any]:
    """Raise a counter by one; one that holds no count stays as it is, and so stays exhausted."""
    value = state[count]
    return {count: read(state, count) + 1} if value is None or is_count(value) else {}


_CEILINGS: Mapping[str, Verdict] = {"PASS": Verdict.PASS, "LOW_CONFID": Verdict.LOW_CONFID}


def _ceiling(state: State) -> dict[str, Any]:
    return {"verifier_verdict_ceiling": _CEILINGS.get(read(state, "gatekeeper_status"))}


def _lower(state: State) -> dict[str, Any]:
    if read(state, "verifier_status") != "COMPLETED":
        return {"effective_verdict": None}
    verdict = read(state, "effective_verdict")
    if verdict is None:
        return {}
    ceiling = read(state, "verifier_verdict_ceiling")
    if ceiling is None:
        return {"effective_verdict": None}
    return {"effective_verdict": ceiling} if ceiling.rank > verdict.rank else {}


def _answer_missing(state: State) -> dict[str, Any]:
    if read(state, "composer_status") == "COMPLETED" and not read(state, "final_answer"):
        return {"composer_status": "INVALID_OUTPUT"}
    return {}


def _drop_answer(state: State) -> dict[str, Any]:
    return {} if read(state, "composer_status") == "COMPLETED" else {"final_answer": None}


def _require_answer(state: State) -> None:
    if not read(state, "final_answer"):
        raise ValueError(f"final_answer is {state['final_answer']!r}; the fallback must answer with a non-blank text")


def _set(name: str, key: str, value: Any) -> Effect:
    update = {key: value}
    return Effect(name, lambda state: update, writes=key)


ENTRY: Mapping[str, tuple[Effect, ...]] = {node: (_count_retry(node),) for node in (PLANNER, VERIFIER, COMPOSER)}
"""Node -> what the wrapper does before its action."""

EXIT: Mapping[str, tuple[Effect, ...]] = {
    GATEKEEPER: (Effect("derive_ceiling", _ceiling, reads="gatekeeper_status", writes="verifier_verdict_ceiling"),),
    VERIFIED_INPUT: (_set("reset_verifier_retries", "verifier_retry_count", 0),),
    VERIFIER: (
        Effect(
            "lower_to_ceiling",
            _lower,
            reads=("verifier_status", "effective_verdict", "verifier_verdict_ceiling"),
            writes="effective_verdict",
        ),
    ),
    COMPOSER: (
        Effect(
            "refuse_blank_answer", _answer_missing, reads=("composer_status", "final_answer"), writes="composer_status"
        ),
        Effect("drop_unfinished_answer", _drop_answer, reads="composer_status", writes="final_answer"),
    ),
    EVIDENCE_RETRY: (
        Effect(
            "count_evidence_retry",
            lambda state: _raised(state, "evidence_retry_count"),
            reads="evidence_retry_count",
            writes="evidence_retry_count",
        ),
        _set("reset_planner_retries", "planner_retry_count", 0),
        _set("plan_the_gap_only", "planner_mode", PlannerMode.EVIDENCE_GAP_ONLY),
    ),
    FALLBACK: (Effect("require_answer", _require_answer, reads="final_answer"),),
}
"""Node -> what the wrapper does after its action."""


_WORDS: Mapping[object, str] = {
    None: UNKNOWN,
    **{member: str(member) for kind in (VerifierStatus, GatekeeperStatus) for member in kind},
}
"""What a status or verdict reads as -> the outcome's word; members of the same name share it."""


def _attempt(node: str) -> Reading:
    count = f"{node}_retry_count"
    return Reading(lambda state: read_count(state.get(count)) + 1, count)


def _status(node: str) -> Reading:
    key = f"{node}_status"
    typed_read = KEYS[key].read
    return Reading(lambda state: _WORDS[typed_read(state.get(key))], key)


def _verdict(state: State) -> str:
    status = read(state, "verifier_status")
    return _WORDS[read(state, "effective_verdict") if status == "COMPLETED" else status]


OUTCOMES: Mapping[str, Reading] = {
    **{node: _status(node) for node in (PLANNER, EXECUTOR, GATEKEEPER, COMPOSER)},
    VERIFIER: Reading(_verdict, ("verifier_status", "effective_verdict")),
}
"""Node -> how its outcome is read from the state after it; the others are always COMPLETED."""


def state_graph(actions: Actions) -> StateGraph:
    """Give the graph as a builder, not compiled yet; :func:`build_graph` compiles it with the limit that it rests on.

    Args:
        actions: the eight ports.
    """
    graph = StateGraph(KEYS, name=GRAPH, inputs=INPUTS, id_key="run_id")
    graph.log_events(EVENTS, record, check_own)
    ports = actions.by_node()
    for node in NODES:
        graph.add_node(
            node,
            ports[node],
            kind=KINDS[node],
            owns=OWNED[node],
            whole_report=True,
            entry=ENTRY.get(node, ()),
            exit=EXIT.get(node, ()),
            attempt=_attempt(node) if node in ENTRY else None,
            outcome=OUTCOMES.get(node),
        )
    graph.add_edge(START, PLANNER)
    for source, decision in GUARDS.items():
        graph.add_conditional_edges(source, decision, TARGETS[source])
    graph.add_edge(VERIFIED_INPUT, VERIFIER, reason=VERIFIED_INPUT_READY)
    graph.add_edge(EVIDENCE_RETRY, PLANNER, reason=EVIDENCE_RETRY_SCHEDULED)
    graph.add_edge(FALLBACK, END, reason=REPEAT)
    return graph


def build_graph(actions: Actions, *, recursion_limit: int = RECURSION_LIMIT) -> CompiledGraph:
    """Give the graph, ready to run.

    Args:
        actions: the eight ports.
        recursion_limit: node executions a run may take.

    Raises:
        DefinitionError: the limit is no number from 1.
    """
    return state_graph(actions).compile(recursion_limit=recursion_limit)
