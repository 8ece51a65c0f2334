"""What is built from verified evidence only, and the fixed answers of the fallback (contract, section 7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from diagnosis.runtime import State
from diagnosis.state import EVENTS, gap_facts, read, read_list, read_mapping, trusted_bindings
from diagnosis.topology import COMPOSER, EXECUTOR, GATEKEEPER, PLANNER, VERIFIER

FALLBACK_ANSWERS: Final[Mapping[str, str]] = {
    PLANNER: "I could not work out a plan to look into this. Please describe the problem again, or ask an operator.",
    EXECUTOR: "I could not collect evidence on this. Please try again later, or ask an operator.",
    GATEKEEPER: "I found no evidence that I can stand behind, so I give no diagnosis. Please ask an operator.",
    VERIFIER: "I could not confirm the findings, so I give no diagnosis. Please ask an operator.",
    COMPOSER: "I have confirmed findings but could not put them into an answer. Please ask an operator.",
}
"""Node fallen back from -> the answer, to which nothing that anybody wrote may add a byte."""

BINDING: Final = ("claim_id", "claim", "tool_call_id", "quote", "trusted", "reason")
"""What a binding is made of; anything else that stands in one is not passed on."""


def build_verified_input(state: State) -> dict[str, Any]:
    """Build what the verifier and the composer may see.

    Args:
        state: the state at verified_input.

    Returns:
        The user's query, the plan's goal, the trusted bindings (their six fields) and the verdict ceiling.
    """
    trusted = trusted_bindings(state.get("checked_bindings"))
    return {
        "user_query": state.get("user_query"),
        "goal": read_mapping(state.get("planner_output")).get("goal"),
        "bindings": [{key: item[key] for key in BINDING if key in item} for item in trusted],
        "verdict_ceiling": read(state, "verifier_verdict_ceiling"),
    }


def build_retry_context(state: State) -> dict[str, Any]:
    """Build what the planner is told about the gaps.

    Args:
        state: the state at evidence_retry.

    Returns:
        The gap facts with their verification, nothing else.
    """
    facts = gap_facts(state.get("verifier_output"))
    return {"gaps": [{"fact": fact["fact"], "verification": fact["verification"]} for fact in facts]}


def fallback_answer(state: State) -> str:
    """Choose the fallback's answer by the node that the run fell back from.

    Args:
        state: the state at fallback; its last event is that node's.
    """
    events = read_list(state.get(EVENTS))
    last = events[-1] if events else None
    node = last.get("node") if isinstance(last, Mapping) else getattr(last, "node", None)
    return FALLBACK_ANSWERS.get(str(node), FALLBACK_ANSWERS[PLANNER])
