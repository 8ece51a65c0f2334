"""The names of the Chat Diagnosis graph: nodes, route keys and fixed reasons (contract, section 1)."""

from __future__ import annotations

from typing import Final

GRAPH: Final = "diagnosis"

PLANNER: Final = "planner"
EXECUTOR: Final = "executor"
GATEKEEPER: Final = "gatekeeper"
VERIFIED_INPUT: Final = "verified_input"
VERIFIER: Final = "verifier"
COMPOSER: Final = "composer"
EVIDENCE_RETRY: Final = "evidence_retry"
FALLBACK: Final = "fallback"

NODES: Final = (PLANNER, EXECUTOR, GATEKEEPER, VERIFIED_INPUT, VERIFIER, COMPOSER, EVIDENCE_RETRY, FALLBACK)
"""The eight nodes, in the order of a good run."""

KINDS: Final = {
    PLANNER: "agent",
    EXECUTOR: "agent",
    GATEKEEPER: "code",
    VERIFIED_INPUT: "code",
    VERIFIER: "agent",
    COMPOSER: "agent",
    EVIDENCE_RETRY: "code",
    FALLBACK: "fallback",
}
"""Which nodes call a model, which are plain code, and which is the safe ending."""

RETRY_PLANNER: Final = "retry_planner"
RETRY_VERIFIER: Final = "retry_verifier"
RETRY_COMPOSER: Final = "retry_composer"
END_ROUTE: Final = "end"

VERIFIED_INPUT_READY: Final = "VERIFIED_INPUT_READY"
EVIDENCE_RETRY_SCHEDULED: Final = "EVIDENCE_RETRY_SCHEDULED"

RECURSION_LIMIT: Final = 32
"""Node executions: the last insurance, not a substitute for the guards."""

LONGEST_RUN: Final = 18
"""Node executions of the longest legal run."""
