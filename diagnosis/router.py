"""The guard tables of the Chat Diagnosis graph (contract, section 3): the first rule that holds decides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from diagnosis.runtime import END, Condition, Decision, Rule, State
from diagnosis.state import KEYS, read
from diagnosis.status import RETRYABLE
from diagnosis.topology import (
    COMPOSER,
    END_ROUTE,
    EVIDENCE_RETRY,
    EXECUTOR,
    FALLBACK,
    GATEKEEPER,
    PLANNER,
    RETRY_COMPOSER,
    RETRY_PLANNER,
    RETRY_VERIFIER,
    VERIFIED_INPUT,
    VERIFIER,
)

RETRY_LIMIT: Final = 1
"""How often a node may be retried, and evidence be sought again."""


def _is(name: str, key: str, *members: str) -> Condition:
    typed_read = KEYS[key].read
    names = frozenset(name for name in members if typed_read(name) in members)

    def test(state: State) -> bool:
        value = state.get(key)
        # An exact name, which is what nodes report, needs no reading: it stands for itself.
        return value in names if type(value) is str else typed_read(value) in members

    return Condition(name, test, key)


def _below(name: str, key: str) -> Condition:
    typed_read = KEYS[key].read

    def test(state: State) -> bool:
        return bool(typed_read(state.get(key)) < RETRY_LIMIT)

    return Condition(name, test, key)


def _holds(name: str, key: str) -> Condition:
    typed_read = KEYS[key].read

    def test(state: State) -> bool:
        return typed_read(state.get(key)) is True

    return Condition(name, test, key)


def _not_completed(state: State) -> bool:
    return bool(read(state, "verifier_status") != "COMPLETED")


def _retries(node: str, route: str) -> tuple[Rule, Rule, Rule]:
    """Give the three rows that a node with technical retries shares: once more, exhausted, failed."""
    status, prefix = f"{node}_status", node.upper()
    retryable = _is("retryable", status, *sorted(RETRYABLE))
    return (
        Rule(route, f"{prefix}_RETRY", (retryable, _below("retry_count_below_1", f"{node}_retry_count"))),
        Rule(FALLBACK, f"{prefix}_RETRY_EXHAUSTED", (retryable,)),
        Rule(FALLBACK, f"{prefix}_FAILED", (_is("failed", status, "FAILED"),)),
    )


_PASS_OR_LOW = _is("pass_or_low_confid", "gatekeeper_status", "PASS", "LOW_CONFID")
_VERDICT_LOW = _is("verdict_low_confid", "effective_verdict", "LOW_CONFID")

GUARDS: Final[Mapping[str, Decision]] = {
    PLANNER: Decision(
        [
            Rule(EXECUTOR, "PLAN_READY", (_is("completed", "planner_status", "COMPLETED"),)),
            *_retries(PLANNER, RETRY_PLANNER),
            Rule(FALLBACK, "PLANNER_STATUS_UNKNOWN"),
        ]
    ),
    EXECUTOR: Decision(
        [
            Rule(GATEKEEPER, "EVIDENCE_COLLECTED", (_is("completed", "executor_status", "COMPLETED"),)),
            Rule(FALLBACK, "EXECUTOR_FAILED", (_is("failed", "executor_status", "FAILED"),)),
            Rule(FALLBACK, "EXECUTOR_STATUS_UNKNOWN"),
        ]
    ),
    GATEKEEPER: Decision(
        [
            Rule(FALLBACK, "GATEKEEPER_REJECTED", (_is("reject", "gatekeeper_status", "REJECT"),)),
            Rule(VERIFIED_INPUT, "EVIDENCE_TRUSTED", (_PASS_OR_LOW, _holds("has_trusted_binding", "checked_bindings"))),
            Rule(FALLBACK, "NO_TRUSTED_BINDINGS", (_PASS_OR_LOW,)),
            Rule(FALLBACK, "GATEKEEPER_STATUS_UNKNOWN"),
        ]
    ),
    VERIFIER: Decision(
        [
            *_retries(VERIFIER, RETRY_VERIFIER),
            Rule(FALLBACK, "VERIFIER_STATUS_UNKNOWN", (Condition("not_completed", _not_completed, "verifier_status"),)),
            Rule(COMPOSER, "VERDICT_PASS", (_is("verdict_pass", "effective_verdict", "PASS"),)),
            Rule(
                EVIDENCE_RETRY,
                "EVIDENCE_GAP",
                (
                    _VERDICT_LOW,
                    _is("ceiling_pass", "verifier_verdict_ceiling", "PASS"),
                    _holds("evidence_gap", "verifier_output"),
                    _below("evidence_retry_count_below_1", "evidence_retry_count"),
                ),
            ),
            Rule(COMPOSER, "VERDICT_LOW_CONFID", (_VERDICT_LOW,)),
            Rule(FALLBACK, "VERDICT_REJECTED", (_is("verdict_reject", "effective_verdict", "REJECT"),)),
            Rule(FALLBACK, "VERDICT_UNKNOWN"),
        ]
    ),
    COMPOSER: Decision(
        [
            Rule(END_ROUTE, "ANSWER_COMPOSED", (_is("completed", "composer_status", "COMPLETED"),)),
            *_retries(COMPOSER, RETRY_COMPOSER),
            Rule(FALLBACK, "COMPOSER_STATUS_UNKNOWN"),
        ]
    ),
}
"""Source -> its ordered rules. A rule without conditions means anything else."""

TARGETS: Final[Mapping[str, Mapping[str, str]]] = {
    PLANNER: {EXECUTOR: EXECUTOR, RETRY_PLANNER: PLANNER, FALLBACK: FALLBACK},
    EXECUTOR: {GATEKEEPER: GATEKEEPER, FALLBACK: FALLBACK},
    GATEKEEPER: {VERIFIED_INPUT: VERIFIED_INPUT, FALLBACK: FALLBACK},
    VERIFIER: {COMPOSER: COMPOSER, RETRY_VERIFIER: VERIFIER, EVIDENCE_RETRY: EVIDENCE_RETRY, FALLBACK: FALLBACK},
    COMPOSER: {END_ROUTE: END, RETRY_COMPOSER: COMPOSER, FALLBACK: FALLBACK},
}
"""Source -> route key -> target (contract, section 1)."""
