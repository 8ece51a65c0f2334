"""What the nodes of the Chat Diagnosis graph may report: short forms for scripts, and the verification alphabet.

A short form says the part of a report that routing reads; the rest (a plan, evidence, an answer) is made up here,
always the same, so that scripted runs repeat (contract, section 8, and the scenario format).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from diagnosis.evidence import FALLBACK_ANSWERS, build_retry_context, build_verified_input, fallback_answer
from diagnosis.runtime import ShortFormError, State, Update, one_of
from diagnosis.state import gap_facts, read, trusted_bindings
from diagnosis.status import UNKNOWN, GatekeeperStatus, Verdict, VerifierStatus, read_member
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

Item = Mapping[str, Any]

COMPLETED: Final = "COMPLETED"
QUOTE: Final = "p99 latency rose at 14:02"
GAP_FACT: Final = {"fact": "p99 latency rose", "verification": "no_evidence"}
ANSWER: Final = "Latency rose at 14:02, just after a deployment."

_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    PLANNER: ("status",),
    EXECUTOR: ("status",),
    GATEKEEPER: ("status", "trusted_bindings"),
    VERIFIED_INPUT: ("status",),
    VERIFIER: ("status", "verdict", "facts_checked"),
    COMPOSER: ("status",),
    EVIDENCE_RETRY: ("status",),
    FALLBACK: ("status",),
}

UNSCRIPTED: Final[Mapping[str, Update]] = {
    VERIFIED_INPUT: lambda state: {"verified_input": build_verified_input(state)},
    EVIDENCE_RETRY: lambda state: {"evidence_retry_context": build_retry_context(state)},
    FALLBACK: lambda state: {"final_answer": fallback_answer(state)},
}
"""The nodes that are plain code and can report one thing only."""


def _found(value: object) -> str:
    if value is None:
        return "null"
    return f"{type(value).__name__} {value!r}"


def _text(item: Item, key: str, at: tuple[str | int, ...] = ()) -> str:
    value = item[key]
    if not isinstance(value, str):
        raise ShortFormError((*at, key), _found(value), "a text; put it in quotes")
    return value


def _planner(item: Item, status: str) -> Update:
    if status != COMPLETED:
        return {"planner_status": status}
    return {"planner_status": status, "planner_output": {"goal": "find what changed", "steps": ["read the metrics"]}}


def _executor(item: Item, status: str) -> Update:
    if status != COMPLETED:
        return {"executor_status": status}
    citation = {"tool_call_id": "t1", "quote": QUOTE}
    claims = [{"claim_id": "c1", "claim": "latency rose", "citations": [citation]}]
    return {
        "executor_status": status,
        "executor_output": {"version": "executor_evidence_v2", "claims": claims},
        "tool_trace_summary": [{"tool_call_id": "t1", "tool": "metrics", "arguments": {}, "output": QUOTE}],
    }


def _binding(number: int) -> dict[str, Any]:
    return {
        "claim_id": f"c{number}",
        "claim": "latency rose",
        "tool_call_id": f"t{number}",
        "quote": QUOTE,
        "trusted": True,
        "reason": "quote found",
    }


def _gatekeeper(item: Item, status: str) -> Update:
    count = item.get("trusted_bindings", 1 if status in ("PASS", "LOW_CONFID") else 0)
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise ShortFormError(["trusted_bindings"], _found(count), "a whole number from 0")
    return {
        "gatekeeper_status": status,
        "gatekeeper_output": {"checked": count},
        "checked_bindings": [_binding(number + 1) for number in range(count)],
    }


def _verifier(item: Item, status: str) -> Update:
    facts = item.get("facts_checked", [])
    if not isinstance(facts, list | tuple):
        raise ShortFormError(["facts_checked"], _found(facts), "a list of mappings of fact and verification")
    for place, fact in enumerate(facts):
        if not isinstance(fact, Mapping):
            raise ShortFormError(["facts_checked", place], _found(fact), "a mapping of fact and verification")
        for key in fact:
            if key not in ("fact", "verification"):
                raise ShortFormError(["facts_checked", place, key], f"the unknown key {key!r}", "fact, verification")
            _text(fact, key, ("facts_checked", place))
    output: dict[str, Any] = {"facts_checked": [dict(fact) for fact in facts]}
    report: dict[str, Any] = {"verifier_status": status, "verifier_output": output}
    if "verdict" in item:
        output["verdict"] = report["effective_verdict"] = _text(item, "verdict")
    return report


def _composer(item: Item, status: str) -> Update:
    if status != COMPLETED:
        return {"composer_status": status}
    return {"composer_status": status, "composer_output": {"sections": 1}, "final_answer": ANSWER}


_REPORTS: Final = {
    PLANNER: _planner,
    EXECUTOR: _executor,
    GATEKEEPER: _gatekeeper,
    VERIFIER: _verifier,
    COMPOSER: _composer,
}


class DiagnosisForms:
    """The short forms of the Chat Diagnosis graph."""

    def parse(self, node: str, item: Item) -> Update:
        """Give the report that a short form stands for.

        Args:
            node: the node that reports.
            item: its fields.

        Raises:
            ShortFormError: a field is unknown, missing or of the wrong type.
        """
        for key in item:
            if key not in _FIELDS[node]:
                allowed = one_of((*_FIELDS[node], "raises", "update"))
                raise ShortFormError([key], f"the unknown key {key!r}", allowed)
        if "status" in item:
            status = _text(item, "status")
        elif node == GATEKEEPER:
            raise ShortFormError([], "no status", "a status; it is required for the gatekeeper")
        else:
            status = COMPLETED
        if node in UNSCRIPTED:
            if status != COMPLETED:
                raise ShortFormError(["status"], repr(status), "'COMPLETED', or an item with 'raises' or 'update'")
            return UNSCRIPTED[node]
        return _REPORTS[node](item, status)

    def spell(self, node: str, outcome: str) -> str | Item:
        """Give the short form of an outcome of the alphabet.

        Args:
            node: the node that reports.
            outcome: a name of its alphabet.
        """
        item = ITEMS[node][outcome]
        return item["status"] if set(item) == {"status"} else item


_TECHNICAL: Final = ("COMPLETED", "INVALID_OUTPUT", "RETRYABLE_FAILED", "FAILED", UNKNOWN)


def _statuses(*names: str) -> dict[str, Item]:
    return {name: {"status": name} for name in names}


def _judgement(verdict: str, gap: bool) -> Item:
    return {"verdict": verdict, "facts_checked": [GAP_FACT]} if gap else {"verdict": verdict}


def _of_gatekeeper(status: str, trusted: int) -> str:
    return f"{status}/{trusted}"


def _of_verdict(verdict: str, gap: bool) -> str:
    return f"{verdict}/{'gap' if gap else 'no_gap'}"


ITEMS: Final[Mapping[str, Mapping[str, Item]]] = {
    PLANNER: _statuses(*_TECHNICAL),
    EXECUTOR: _statuses("COMPLETED", "FAILED", UNKNOWN),
    GATEKEEPER: {
        _of_gatekeeper(status, trusted): {"status": str(status), "trusted_bindings": trusted}
        for status in (*GatekeeperStatus, UNKNOWN)
        for trusted in (0, 1)
    },
    VERIFIED_INPUT: _statuses(COMPLETED),
    VERIFIER: {
        **_statuses(*_TECHNICAL[1:]),
        **{
            _of_verdict(verdict, gap): _judgement(str(verdict), gap)
            for verdict in (*Verdict, UNKNOWN)
            for gap in (False, True)
        },
    },
    COMPOSER: _statuses(*_TECHNICAL),
    EVIDENCE_RETRY: _statuses(COMPLETED),
    FALLBACK: _statuses(COMPLETED),
}
"""Node -> outcome -> short form: the verification alphabet (contract, section 8)."""


def alphabet() -> dict[str, dict[str, Update]]:
    """Give the verification alphabet: node -> outcome -> report.

    One fixed answer stands for all of the fallback's: routing reads only that there is one.
    """
    forms = DiagnosisForms()
    reports = {node: {name: forms.parse(node, item) for name, item in items.items()} for node, items in ITEMS.items()}
    reports[FALLBACK] = {COMPLETED: {"final_answer": FALLBACK_ANSWERS[PLANNER]}}
    return reports


def classify(node: str, report: Mapping[str, Any], state: State) -> str:
    """Name the outcome of the alphabet that a report amounts to.

    Args:
        node: the node that reported.
        report: what it reported.
        state: the state after it.
    """
    if node in UNSCRIPTED:
        return COMPLETED
    if node == GATEKEEPER:
        status = read_member(GatekeeperStatus, report.get("gatekeeper_status"))
        return _of_gatekeeper(status or UNKNOWN, int(bool(trusted_bindings(report.get("checked_bindings")))))
    if node == VERIFIER and read_member(VerifierStatus, report.get("verifier_status")) == COMPLETED:
        verdict = read_member(Verdict, report.get("effective_verdict"))
        return _of_verdict(verdict or UNKNOWN, bool(gap_facts(report.get("verifier_output"))))
    return str(read(state, f"{node}_status") or UNKNOWN)
