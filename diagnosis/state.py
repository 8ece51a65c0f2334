"""The 26 state keys of the Chat Diagnosis graph and their typed reads (contract, section 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeGuard

from diagnosis.runtime import Append, History, Replace, Strategy, is_text
from diagnosis.status import (
    ComposerStatus,
    E,
    ExecutorStatus,
    GatekeeperStatus,
    PlannerMode,
    PlannerStatus,
    Verdict,
    VerifierStatus,
    member_reader,
)

EVENTS: Final = "orchestration_events"

EXHAUSTED: Final = 1
"""What a counter that holds no count reads as, so that garbage never buys a retry."""

GAP_VERIFICATIONS: Final = ("no_evidence", "indirect_support")
"""The verifications of a fact that more evidence could change."""

_LISTS: Final = (tuple, list, History)
_MAPPINGS: Final = (dict, Mapping)  # a dict first, which is the quicker question

EMPTY: Final[Mapping[str, Any]] = {}


def is_count(value: object) -> TypeGuard[int]:
    """Tell whether a stored counter holds a count.

    Args:
        value: what is stored.

    Returns:
        True for a whole number from 0 that is no bool.
    """
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def read_count(value: object) -> int:
    """Read a counter: null as 0, a count as itself, anything else as exhausted.

    Args:
        value: what is stored.
    """
    if value is None:
        return 0
    if type(value) is int:
        return value if value >= 0 else EXHAUSTED
    return int(value) if is_count(value) else EXHAUSTED


def read_mapping(value: object) -> Mapping[str, Any]:
    """Read a mapping; anything else reads as the empty one.

    Args:
        value: what is stored.
    """
    return value if isinstance(value, _MAPPINGS) else EMPTY


def read_list(value: object) -> Sequence[Any]:
    """Read a list or tuple; anything else reads as the empty one.

    Args:
        value: what is stored.
    """
    return value if isinstance(value, _LISTS) else ()


def trusted_bindings(value: object) -> tuple[Mapping[str, Any], ...]:
    """Give the bindings that count as trusted.

    Args:
        value: the stored ``checked_bindings``.

    Returns:
        The mappings whose ``trusted`` is exactly true, in order.
    """
    return tuple(item for item in read_list(value) if _is_trusted(item))


def has_trusted_binding(value: object) -> bool:
    """Tell whether at least one binding counts as trusted.

    Args:
        value: the stored ``checked_bindings``.
    """
    return any(map(_is_trusted, read_list(value)))


def _is_trusted(item: object) -> bool:
    return isinstance(item, _MAPPINGS) and item.get("trusted") is True


def gap_facts(value: object) -> tuple[Mapping[str, Any], ...]:
    """Give the checked facts that more evidence could change.

    Args:
        value: the stored ``verifier_output``.

    Returns:
        The mappings under ``facts_checked`` with a non-blank ``fact`` and a verification of no evidence or indirect
        support, in order.
    """
    return tuple(
        item
        for item in read_list(read_mapping(value).get("facts_checked"))
        if isinstance(item, _MAPPINGS)
        and is_text(item.get("fact"))
        and isinstance(item.get("verification"), str)
        and item["verification"] in GAP_VERIFICATIONS
    )


def _member(kind: type[E], initial: E | None = None) -> Replace:
    return Replace(initial=initial, read=member_reader(kind))


def _count() -> Replace:
    return Replace(initial=0, read=read_count)


KEYS: Final[Mapping[str, Strategy]] = {
    "run_id": Replace(),
    "session_id": Replace(),
    "user_query": Replace(),
    "planner_mode": _member(PlannerMode, PlannerMode.INITIAL),
    "planner_status": _member(PlannerStatus),
    "planner_output": Replace(read=read_mapping),
    "planner_retry_count": _count(),
    "executor_status": _member(ExecutorStatus),
    "executor_output": Replace(read=read_mapping),
    "tool_trace_summary": Replace(read=read_list),
    "gatekeeper_status": _member(GatekeeperStatus),
    "gatekeeper_output": Replace(read=read_mapping),
    "checked_bindings": Replace(read=has_trusted_binding),
    "verifier_verdict_ceiling": _member(Verdict),
    "verified_input": Replace(read=read_mapping),
    "verifier_status": _member(VerifierStatus),
    "verifier_output": Replace(read=lambda value: bool(gap_facts(value))),
    "verifier_retry_count": _count(),
    "effective_verdict": _member(Verdict),
    "evidence_retry_count": _count(),
    "evidence_retry_context": Replace(read=read_mapping),
    "composer_status": _member(ComposerStatus),
    "composer_output": Replace(read=read_mapping),
    "composer_retry_count": _count(),
    "final_answer": Replace(read=is_text),
    EVENTS: Append(read=read_list),
}
"""Every key with its strategy and typed read. What decisions make of bindings, of facts and of the answer is whether
there is a trusted one, one with a gap, and a text: that is how these three keys read."""

INPUTS: Final[Mapping[str, type]] = {"run_id": str, "session_id": str, "user_query": str}
"""What the input of a run may hold."""

COUNTERS: Final = ("planner_retry_count", "verifier_retry_count", "composer_retry_count", "evidence_retry_count")


_READS: Final = {key: strategy.read for key, strategy in KEYS.items()}


def read(state: Mapping[str, Any], key: str) -> Any:
    """Read a key of a state by its type; never raises.

    Args:
        state: the state; an absent key reads as null does.
        key: one of the 26 keys.
    """
    return _READS[key](state.get(key))
