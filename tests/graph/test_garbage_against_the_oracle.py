"""Whatever stands in the state or comes in a report: nothing raises, garbage buys no retry, and the oracle agrees."""

import asyncio
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from contract_oracle import END, Oracle, RefusedError, count, known
from graph_ports import GOOD, NODES
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnosis.catalog import diagnosis_model
from diagnosis.evidence import build_retry_context, build_verified_input, fallback_answer
from diagnosis.factory import OWNED
from diagnosis.router import GUARDS
from diagnosis.runtime import Position, Run, RunError, freeze, thaw
from diagnosis.state import COUNTERS, KEYS, read
from diagnosis.status import (
    ComposerStatus,
    ExecutorStatus,
    GatekeeperStatus,
    PlannerMode,
    PlannerStatus,
    Verdict,
    VerifierStatus,
)
from diagnosis.trace import trace_of

MODEL = diagnosis_model()
STEP = MODEL.graph.step

RELAXED = settings(deadline=None)
"""A machine that is busy with something else is no failure."""

ENUMERATIONS = (
    PlannerStatus,
    ExecutorStatus,
    GatekeeperStatus,
    VerifierStatus,
    ComposerStatus,
    Verdict,
    PlannerMode,
)
NAMES = sorted({name for kind in ENUMERATIONS for name in kind.__members__})
WORDS = (
    *("fact", "verification", "facts_checked", "trusted", "no_evidence", "indirect_support", "direct_support"),
    *("UNKNOWN", " COMPLETED", "pass", "", " "),
)

members = st.sampled_from([member for kind in ENUMERATIONS for member in kind])
texts = st.one_of(st.sampled_from(NAMES), st.sampled_from(WORDS), st.text(max_size=5))
atoms = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 3), st.floats(), st.binary(max_size=3), texts, members, st.dates()
)
facts = st.fixed_dictionaries(
    {}, optional={"fact": atoms, "verification": st.one_of(st.sampled_from(["no_evidence", "indirect_support"]), atoms)}
)
bindings = st.fixed_dictionaries({}, optional={"trusted": atoms, "claim": atoms})
values = st.recursive(
    st.one_of(atoms, facts, bindings),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(texts, inner, max_size=3),
        st.dictionaries(texts, inner, max_size=3).map(MappingProxyType),
        st.fixed_dictionaries({"facts_checked": st.lists(st.one_of(inner, facts), max_size=3)}),
        st.sets(st.integers(0, 3), max_size=2),
    ),
    max_leaves=8,
)
counters = st.one_of(st.sampled_from([0, 1, 2, None]), atoms, values)


def value_of(key: str) -> st.SearchStrategy[Any]:
    """Garbage for a key, half of the time near to what belongs there."""
    if key in COUNTERS:
        return counters
    if key == "checked_bindings":
        return st.one_of(values, st.lists(bindings, max_size=3))
    if key == "verifier_output":
        return st.one_of(values, st.fixed_dictionaries({"facts_checked": st.lists(facts, max_size=3)}))
    if key.endswith(("_status", "_verdict", "_ceiling", "_mode")):
        return st.one_of(st.sampled_from(NAMES), members, values)
    return values


FAILURES = st.sampled_from(["INVALID_OUTPUT", "RETRYABLE_FAILED"])
states = st.fixed_dictionaries({}, optional={key: value_of(key) for key in KEYS})
whole = states.map(lambda given: {**dict.fromkeys(KEYS), **given})


def way(node: str, state: Mapping[str, Any]) -> tuple[str, str]:
    for rule in GUARDS[node].rules:
        truths = [condition.test(state) for condition in rule.when]  # each of them, so that any could raise
        if all(truths):
            return rule.route, rule.reason
    raise AssertionError("no rule holds")


@RELAXED
@given(st.one_of(states, whole, whole.map(freeze)))
def test_no_typed_read_raises_and_each_gives_what_it_should(state: Mapping[str, Any]) -> None:
    for key in KEYS:
        found = read(state, key)
        if key in COUNTERS:
            assert type(found) is int
            assert found >= 0
            number = count(state.get(key))
            assert found == (1 if number is None else number)
        elif key.endswith(("_status", "_verdict", "_ceiling", "_mode")):
            kind = next(each for each in ENUMERATIONS if each.__name__.lower() == enumeration_of(key).lower())
            assert found is None or type(found) is kind
            assert (found and found.name) == known(state.get(key), kind.__name__)
        elif key in ("checked_bindings", "verifier_output", "final_answer"):
            assert type(found) is bool


def enumeration_of(key: str) -> str:
    if key in ("verifier_verdict_ceiling", "effective_verdict"):
        return "Verdict"
    return key.replace("_", "")


@RELAXED
@given(st.one_of(states, whole))
def test_no_guard_raises_and_each_decides_as_the_oracle_does(state: dict[str, Any]) -> None:
    oracle = Oracle()
    oracle.state.update(dict.fromkeys(KEYS) | state)
    for node in GUARDS:
        target, reason = getattr(oracle, f"_decide_{node}")()
        route, found = way(node, state)
        assert found == reason
        assert MODEL.graph.definition.conditional(node).targets[route] == target  # type: ignore[union-attr]


@RELAXED
@given(
    whole, st.sampled_from(["planner", "verifier", "composer"]), st.sampled_from(["INVALID_OUTPUT", "RETRYABLE_FAILED"])
)
def test_garbage_under_a_counter_never_buys_a_retry(state: dict[str, Any], node: str, status: str) -> None:
    state[f"{node}_status"] = status
    number = state[f"{node}_retry_count"]
    retried = way(node, state)[0] == f"retry_{node}"
    assert retried is (number is None or (type(number) is int and number == 0))
    _, _, entered, attempt = STEP.enter(Position(node), {**state, "orchestration_events": ()})
    if number is None or (isinstance(number, int) and not isinstance(number, bool) and number >= 0):
        assert entered[f"{node}_retry_count"] == (number or 0) + 1
        assert attempt == (number or 0) + 2
    else:
        assert entered[f"{node}_retry_count"] is number
        assert attempt == 2
    assert way(node, entered) == ("fallback", f"{node.upper()}_RETRY_EXHAUSTED")


@RELAXED
@given(whole)
def test_garbage_under_the_evidence_counter_never_buys_a_second_round(state: dict[str, Any]) -> None:
    state |= {
        "verifier_status": "COMPLETED",
        "effective_verdict": "LOW_CONFID",
        "verifier_verdict_ceiling": "PASS",
        "verifier_output": {"facts_checked": [{"fact": "f", "verification": "no_evidence"}]},
    }
    number = state["evidence_retry_count"]
    again = number is None or (type(number) is int and number == 0)
    expected = ("evidence_retry", "EVIDENCE_GAP") if again else ("composer", "VERDICT_LOW_CONFID")
    assert way("verifier", state) == expected


@RELAXED
@given(whole, st.sampled_from(["planner", "verifier", "composer"]), value_of("planner_status"))
def test_garbage_under_a_status_never_buys_a_retry(state: dict[str, Any], node: str, status: Any) -> None:
    state[f"{node}_status"] = status
    kind = f"{node.capitalize()}Status"
    if known(status, kind) not in ("INVALID_OUTPUT", "RETRYABLE_FAILED"):
        assert way(node, state)[0] != f"retry_{node}"


@RELAXED
@given(st.one_of(states, whole))
def test_what_is_built_from_the_state_never_raises(state: dict[str, Any]) -> None:
    assert set(build_verified_input(state)) == {"user_query", "goal", "bindings", "verdict_ceiling"}
    assert all(each["trusted"] is True for each in build_verified_input(state)["bindings"])
    assert all(set(each) == {"fact", "verification"} for each in build_retry_context(state)["gaps"])
    assert fallback_answer(state).strip()


# --- whole runs ---------------------------------------------------------------------------------------------------


def report_of(node: str) -> st.SearchStrategy[dict[str, Any]]:
    garbage = st.fixed_dictionaries({}, optional={key: value_of(key) for key in OWNED[node]})
    near = st.fixed_dictionaries({}, optional={key: value_of(key) for key in OWNED[node][:1]})
    return st.one_of(st.just(GOOD[node]), near.map(lambda change: {**GOOD[node], **change}), garbage)


GAP = {
    "verifier_status": "COMPLETED",
    "effective_verdict": Verdict.LOW_CONFID,
    "verifier_output": {"facts_checked": ({"fact": "f", "verification": "indirect_support"},)},
}
reports = st.fixed_dictionaries(
    {
        node: st.lists(
            st.one_of(
                st.just(GOOD[node]),
                report_of(node),
                FAILURES.map(lambda status, node=node: {f"{node}_status": status})
                if node in ("planner", "verifier", "composer")
                else report_of(node),
                st.just(GAP) if node == "verifier" else st.just(GOOD[node]),
            ),
            min_size=4,
            max_size=4,
        )
        for node in NODES
    }
)


def feeding(given_reports: Mapping[str, list[Any]]) -> dict[str, Callable[..., Any]]:
    queues = {node: list(items) for node, items in given_reports.items()}

    def action(node: str) -> Callable[..., Any]:
        async def act(state: Any, config: Any) -> Any:
            return queues[node].pop(0)

        return act

    return {node: action(node) for node in NODES}


def on_the_oracle(given_reports: Mapping[str, list[Any]]) -> tuple[Oracle, bool]:
    """The oracle at its end, or before the execution that was refused."""
    queues = {node: list(items) for node, items in given_reports.items()}
    run = Oracle()
    while run.node != END:
        before = run.copy()
        try:
            run.execute(queues[run.node].pop(0))
        except RefusedError:
            return before, False
    return run, True


def as_maps(run: Run) -> list[dict[str, Any]]:
    return [
        {"node": each.node, "outcome": each.outcome, "reason_code": each.reason_code, "attempt": each.attempt}
        for each in run.state["orchestration_events"]
    ]


@settings(RELAXED, max_examples=300)
@given(reports)
def test_any_reports_leave_the_state_that_the_oracle_leaves(given_reports: dict[str, list[Any]]) -> None:
    graph = MODEL.graph.with_actions(feeding(given_reports))
    found = asyncio.run(graph.arun({"run_id": "r"}, check=False))
    oracle, ended = on_the_oracle(given_reports)
    assert found.ended is ended
    if not ended:
        assert isinstance(found.error, RunError)
        assert found.error.node == found.position.node == oracle.node == "fallback"
    assert as_maps(found) == oracle.state["orchestration_events"]
    assert len(found.events) <= 18
    for key in KEYS:
        if key != "orchestration_events":
            # Frozen on both sides: what is copied and read-only must still be what was reported.
            assert (
                repr(thaw(found.state[key])) == repr(thaw(freeze(oracle.state[key])))
                or found.state[key] == oracle.state[key]
            ), key
    if found.events and ended:
        assert trace_of(found) == oracle.trace()
