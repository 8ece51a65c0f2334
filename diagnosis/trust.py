"""What is trusted in the Chat Diagnosis graph, and what its answers are kept clean of (contract, section 7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from diagnosis.evidence import build_retry_context, build_verified_input, fallback_answer
from diagnosis.runtime import Barrier, Boundary, State, Voice
from diagnosis.state import read_list, read_mapping
from diagnosis.status import UNKNOWN
from diagnosis.topology import (
    COMPOSER,
    EVIDENCE_RETRY,
    EXECUTOR,
    FALLBACK,
    GATEKEEPER,
    PLANNER,
    VERIFIED_INPUT,
    VERIFIER,
)

SUPPORT: Final = ("direct_support", "indirect_support")
"""The verifications of the facts that the composer is handed."""

Report = Mapping[str, Any]


def handed_to_planner(state: State) -> dict[str, Any]:
    """Give what the planner's model is handed: the question and the gaps.

    Args:
        state: the state at the planner.
    """
    return {key: state.get(key) for key in ("user_query", "planner_mode", "evidence_retry_context")}


def handed_to_executor(state: State) -> dict[str, Any]:
    """Give what the executor's model is handed: the question and the plan.

    Args:
        state: the state at the executor.
    """
    return {key: state.get(key) for key in ("user_query", "planner_output")}


def handed_to_gatekeeper(state: State) -> dict[str, Any]:
    """Give what the gatekeeper checks: the claims and the tool trace.

    Args:
        state: the state at the gatekeeper.
    """
    return {key: state.get(key) for key in ("executor_output", "tool_trace_summary")}


def handed_to_verifier(state: State) -> Any:
    """Give what the verifier's model is handed: the verified input.

    Args:
        state: the state at the verifier.
    """
    return state.get("verified_input")


def handed_to_composer(state: State) -> dict[str, Any]:
    """Give what the composer's model is handed: the verified input, the verdict, and the facts that are supported.

    Args:
        state: the state at the composer.
    """
    facts = read_list(read_mapping(state.get("verifier_output")).get("facts_checked"))
    return {
        "verified_input": state.get("verified_input"),
        "verdict": state.get("effective_verdict"),
        "facts": [
            {"fact": fact.get("fact"), "verification": fact.get("verification")}
            for fact in facts
            if isinstance(fact, Mapping) and fact.get("verification") in SUPPORT
        ],
    }


def _status(report: Report, key: str, voice: Voice) -> Any:
    """Give the status that is reported; in place of an unknown one anything may stand."""
    return voice("status") if report[key] == UNKNOWN else report[key]


def _executor(report: Report, voice: Voice) -> Report:
    """Claim one thing that a tool showed and one that none did."""
    quote = voice.own("trusted_claim")
    claims = [
        {"claim_id": "c1", "claim": quote, "citations": [{"tool_call_id": "t1", "quote": quote}]},
        {
            "claim_id": voice("untrusted_claim"),
            "claim": voice("untrusted_claim"),
            "citations": [{"tool_call_id": "t1", "quote": voice("untrusted_claim")}],
        },
    ]
    return {
        "executor_status": _status(report, "executor_status", voice),
        "executor_output": {"version": "executor_evidence_v2", "claims": claims, "more": voice("untrusted_claim")},
        "tool_trace_summary": [
            {
                "tool_call_id": "t1",
                "tool": voice("tool_text"),
                "arguments": {"query": voice("tool_text")},
                "output": f"{quote} {voice('tool_text')}",
            }
        ],
    }


def _gatekeeper(report: Report, voice: Voice) -> Report:
    """Trust as many bindings as are reported, and put all else that was seen around them."""
    trusted = [
        {
            **binding,
            "claim": voice.own("trusted_binding"),
            "quote": voice.own("trusted_binding"),
            "more": voice("untrusted_binding"),
        }
        for binding in report["checked_bindings"]
    ]
    text = voice("untrusted_binding")
    fields = {"claim_id": text, "claim": text, "tool_call_id": text, "quote": text, "reason": text}
    almost = [{**fields, "trusted": trust} for trust in (False, "true", 1, None)]
    return {
        "gatekeeper_status": _status(report, "gatekeeper_status", voice),
        "gatekeeper_output": {"findings": text},
        "checked_bindings": [*almost, text, *trusted, fields],
    }


def _verifier(report: Report, voice: Voice) -> Report:
    """Report the facts, and around them all that was seen."""
    output = read_mapping(report["verifier_output"])
    aside = voice("aside")
    facts = [{**fact, "fact": voice("gap_fact"), "more": aside} for fact in read_list(output.get("facts_checked"))]
    almost = [{"fact": aside, "verification": how} for how in ("contradicted", aside, None)]
    supported = {"fact": voice("supported_fact"), "verification": "direct_support", "more": aside}
    made: dict[str, Any] = {
        "verifier_status": _status(report, "verifier_status", voice),
        "verifier_output": {"facts_checked": [*almost, *facts, supported, aside], "more": aside},
    }
    if "effective_verdict" in report:
        made["effective_verdict"] = _status(report, "effective_verdict", voice)
    return made


async def _verified_input(state: State, config: object) -> dict[str, Any]:
    return {"verified_input": build_verified_input(state)}


async def _evidence_retry(state: State, config: object) -> dict[str, Any]:
    return {"evidence_retry_context": build_retry_context(state)}


async def _fallback(state: State, config: object) -> dict[str, Any]:
    return {"final_answer": fallback_answer(state)}


UNTRUSTED_CLAIMS: Final = (
    "executor.untrusted_claim",
    "executor.tool_text",
    "executor.status",
    "gatekeeper.untrusted_binding",
    "gatekeeper.status",
)
"""What the tools showed and the executor claimed, but for what a trusted binding quotes."""

BOUNDARY: Final = Boundary(
    barriers=(
        Barrier(
            "untrusted_claims_stay_out",
            "No untrusted claim reaches the verified input, the gaps to close, the composer's output or an answer.",
            sources=UNTRUSTED_CLAIMS,
            sinks=("verified_input", "evidence_retry_context", "composer_output", "final_answer"),
        ),
        Barrier(
            "retry_context_holds_gaps_only",
            "Nothing that the verifier wrote beside the gap facts reaches the gaps to close.",
            sources=("verifier.aside", "verifier.supported_fact", "verifier.status"),
            sinks="evidence_retry_context",
        ),
        Barrier(
            "ceiling_holds_no_text",
            "No text of anybody changes the verdict ceiling.",
            sinks=("verified_input.verdict_ceiling", "verifier_verdict_ceiling"),
        ),
        Barrier(
            "fallback_answers_are_fixed",
            "Nothing that a model, a tool or the user wrote changes a byte of the fallback's answer.",
            sinks="final_answer",
            nodes=FALLBACK,
        ),
    ),
    inputs=("user_query", "session_id"),
    handed={
        PLANNER: handed_to_planner,
        EXECUTOR: handed_to_executor,
        GATEKEEPER: handed_to_gatekeeper,
        VERIFIER: handed_to_verifier,
        COMPOSER: handed_to_composer,
    },
    reports={EXECUTOR: _executor, GATEKEEPER: _gatekeeper, VERIFIER: _verifier},
    real={VERIFIED_INPUT: _verified_input, EVIDENCE_RETRY: _evidence_retry, FALLBACK: _fallback},
)
"""The boundary of the graph: three real actions, and hostile fakes in all other nodes."""
