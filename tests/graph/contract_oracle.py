"""The Chat Diagnosis graph a second time: naive, over a plain dictionary, from the contract's text alone.

It imports nothing of the package, so that it cannot repeat a mistake of it. Values are compared the way the contract
puts it: a member of the enumeration that belongs to the key, known by the name of its class, or the exact text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

END = "__END__"

TECHNICAL = ("COMPLETED", "INVALID_OUTPUT", "RETRYABLE_FAILED", "FAILED")
VERDICTS = ("PASS", "LOW_CONFID", "REJECT")
ENUMERATIONS: dict[str, tuple[str, ...]] = {
    "PlannerStatus": TECHNICAL,
    "ExecutorStatus": ("COMPLETED", "FAILED"),
    "GatekeeperStatus": VERDICTS,
    "VerifierStatus": TECHNICAL,
    "ComposerStatus": TECHNICAL,
    "Verdict": VERDICTS,
    "PlannerMode": ("INITIAL", "EVIDENCE_GAP_ONLY"),
}
OWNED = {
    "planner": ("planner_status", "planner_output"),
    "executor": ("executor_status", "executor_output", "tool_trace_summary"),
    "gatekeeper": ("gatekeeper_status", "gatekeeper_output", "checked_bindings"),
    "verified_input": ("verified_input",),
    "verifier": ("verifier_status", "verifier_output", "effective_verdict"),
    "composer": ("composer_status", "composer_output", "final_answer"),
    "evidence_retry": ("evidence_retry_context",),
    "fallback": ("final_answer",),
}
COUNTED = ("planner", "verifier", "composer")


class RefusedError(Exception):
    """The execution is an error."""


def known(value: Any, enumeration: str) -> str | None:
    """The name of a status, verdict or mode, or None for unknown."""
    names = ENUMERATIONS[enumeration]
    if isinstance(value, Enum):
        return value.name if type(value).__name__ == enumeration else None
    return value if isinstance(value, str) and value in names else None


def count(value: Any) -> int | None:
    """A counter, or None for exhausted."""
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return None
    return value


def may_retry(value: Any) -> bool:
    number = count(value)
    return number is not None and number < 1


def blank(value: Any) -> bool:
    return not isinstance(value, str) or not value.strip()


def has_trusted_binding(value: Any) -> bool:
    if not isinstance(value, (list, tuple)):
        return False
    return any(isinstance(each, Mapping) and each.get("trusted") is True for each in value)


def has_gap(value: Any) -> bool:
    facts = value.get("facts_checked") if isinstance(value, Mapping) else None
    if not isinstance(facts, (list, tuple)):
        return False
    for fact in facts:
        if isinstance(fact, Mapping) and not blank(fact.get("fact")):
            found = fact.get("verification")
            if isinstance(found, str) and found in ("no_evidence", "indirect_support"):
                return True
    return False


class Oracle:
    """One run, report by report."""

    def __init__(self, run_id: str = "r", session_id: str | None = None, user_query: str | None = None) -> None:
        self.node = "planner"
        self.reason: str | None = None
        self.attempt = 1
        self.state: dict[str, Any] = {
            "run_id": run_id,
            "session_id": session_id,
            "user_query": user_query,
            "planner_mode": "INITIAL",
            "planner_status": None,
            "planner_output": None,
            "planner_retry_count": 0,
            "executor_status": None,
            "executor_output": None,
            "tool_trace_summary": None,
            "gatekeeper_status": None,
            "gatekeeper_output": None,
            "checked_bindings": None,
            "verifier_verdict_ceiling": None,
            "verified_input": None,
            "verifier_status": None,
            "verifier_output": None,
            "verifier_retry_count": 0,
            "effective_verdict": None,
            "evidence_retry_count": 0,
            "evidence_retry_context": None,
            "composer_status": None,
            "composer_output": None,
            "composer_retry_count": 0,
            "final_answer": None,
            "orchestration_events": [],
        }

    def copy(self) -> Oracle:
        other = object.__new__(Oracle)
        other.node, other.reason, other.attempt = self.node, self.reason, self.attempt
        other.state = {**self.state, "orchestration_events": list(self.state["orchestration_events"])}
        return other

    def status(self, node: str) -> str | None:
        return known(self.state[f"{node}_status"], f"{node.capitalize()}Status")

    def enter(self) -> None:
        """What the wrapper does before the action."""
        node, state = self.node, self.state
        self.attempt = 1
        if node in COUNTED:
            key = f"{node}_retry_count"
            number = count(state[key])
            if self.status(node) in ("INVALID_OUTPUT", "RETRYABLE_FAILED") and number is not None:
                number += 1
                state[key] = number
            self.attempt = 2 if number is None else number + 1

    def leave(self, report: Mapping[str, Any]) -> None:
        """What comes after the action: keys, whole report, exit update, decision, event, move."""
        node, state = self.node, self.state
        for key in report:
            if key not in OWNED[node]:
                raise RefusedError(key)
        for key in OWNED[node]:
            state[key] = report.get(key)
        getattr(self, f"_after_{node}", lambda: None)()
        target, reason = getattr(self, f"_decide_{node}")()
        event = {"node": node, "outcome": self._outcome(), "reason_code": reason, "attempt": self.attempt}
        state["orchestration_events"].append(event)
        self.node, self.reason = target, reason

    def execute(self, report: Mapping[str, Any]) -> None:
        self.enter()
        self.leave(report)

    def _after_gatekeeper(self) -> None:
        status = self.status("gatekeeper")
        self.state["verifier_verdict_ceiling"] = status if status in ("PASS", "LOW_CONFID") else None

    def _after_verified_input(self) -> None:
        self.state["verifier_retry_count"] = 0

    def _after_verifier(self) -> None:
        state = self.state
        verdict = known(state["effective_verdict"], "Verdict")
        ceiling = known(state["verifier_verdict_ceiling"], "Verdict")
        if self.status("verifier") != "COMPLETED" or (verdict is not None and ceiling is None):
            state["effective_verdict"] = None
        elif verdict is not None and ceiling is not None:
            state["effective_verdict"] = max(verdict, ceiling, key=VERDICTS.index)

    def _after_composer(self) -> None:
        state = self.state
        if self.status("composer") == "COMPLETED" and blank(state["final_answer"]):
            state["composer_status"] = "INVALID_OUTPUT"
        if self.status("composer") != "COMPLETED":
            state["final_answer"] = None

    def _after_evidence_retry(self) -> None:
        self.state["evidence_retry_count"] += 1
        self.state["planner_retry_count"] = 0
        self.state["planner_mode"] = "EVIDENCE_GAP_ONLY"

    def _after_fallback(self) -> None:
        if blank(self.state["final_answer"]):
            raise RefusedError("final_answer")

    def _technical(self, node: str) -> tuple[str, str]:
        status = self.status(node)
        if status in ("INVALID_OUTPUT", "RETRYABLE_FAILED"):
            if may_retry(self.state[f"{node}_retry_count"]):
                return node, f"{node.upper()}_RETRY"
            return "fallback", f"{node.upper()}_RETRY_EXHAUSTED"
        if status == "FAILED":
            return "fallback", f"{node.upper()}_FAILED"
        return "fallback", f"{node.upper()}_STATUS_UNKNOWN"

    def _decide_planner(self) -> tuple[str, str]:
        return ("executor", "PLAN_READY") if self.status("planner") == "COMPLETED" else self._technical("planner")

    def _decide_executor(self) -> tuple[str, str]:
        status = self.status("executor")
        if status == "COMPLETED":
            return "gatekeeper", "EVIDENCE_COLLECTED"
        return "fallback", "EXECUTOR_FAILED" if status == "FAILED" else "EXECUTOR_STATUS_UNKNOWN"

    def _decide_gatekeeper(self) -> tuple[str, str]:
        status = self.status("gatekeeper")
        if status == "REJECT":
            return "fallback", "GATEKEEPER_REJECTED"
        if status is None:
            return "fallback", "GATEKEEPER_STATUS_UNKNOWN"
        if has_trusted_binding(self.state["checked_bindings"]):
            return "verified_input", "EVIDENCE_TRUSTED"
        return "fallback", "NO_TRUSTED_BINDINGS"

    def _decide_verified_input(self) -> tuple[str, str]:
        return "verifier", "VERIFIED_INPUT_READY"

    def _decide_verifier(self) -> tuple[str, str]:
        if self.status("verifier") != "COMPLETED":
            return self._technical("verifier")
        state = self.state
        verdict = known(state["effective_verdict"], "Verdict")
        if verdict == "PASS":
            return "composer", "VERDICT_PASS"
        if verdict == "LOW_CONFID":
            ceiling = known(state["verifier_verdict_ceiling"], "Verdict")
            if ceiling == "PASS" and has_gap(state["verifier_output"]) and may_retry(state["evidence_retry_count"]):
                return "evidence_retry", "EVIDENCE_GAP"
            return "composer", "VERDICT_LOW_CONFID"
        return "fallback", "VERDICT_REJECTED" if verdict == "REJECT" else "VERDICT_UNKNOWN"

    def _decide_composer(self) -> tuple[str, str]:
        return (END, "ANSWER_COMPOSED") if self.status("composer") == "COMPLETED" else self._technical("composer")

    def _decide_evidence_retry(self) -> tuple[str, str]:
        return "planner", "EVIDENCE_RETRY_SCHEDULED"

    def _decide_fallback(self) -> tuple[str, str]:
        assert self.reason is not None
        return END, self.reason

    def _outcome(self) -> str:
        if self.node in ("verified_input", "evidence_retry", "fallback"):
            return "COMPLETED"
        status = self.status(self.node)
        if self.node == "verifier" and status == "COMPLETED":
            return known(self.state["effective_verdict"], "Verdict") or "UNKNOWN"
        return status or "UNKNOWN"

    def trace(self) -> dict[str, Any]:
        events = self.state["orchestration_events"]
        transitions = []
        for place in range(len(events) - 1):
            source = events[place]
            transitions.append(
                {
                    "from": source["node"],
                    "to": events[place + 1]["node"],
                    "reason_code": source["reason_code"],
                    "attempt": source["attempt"],
                }
            )
        return {
            "version": 1,
            "transitions": transitions,
            "final_node": events[-1]["node"],
            "termination_reason": events[-1]["reason_code"],
            "degraded": events[-1]["node"] == "fallback",
            "evidence_retry_count": self.state["evidence_retry_count"],
        }


Report = dict[str, Any]


def _alphabet() -> dict[str, dict[str, Report]]:
    """Section 8, with reports of the oracle's own making; UNKNOWN is an absent value."""

    def technical(node: str, more: Report) -> dict[str, Report]:
        failing = {name: {f"{node}_status": name} for name in TECHNICAL[1:]}
        return {"COMPLETED": {f"{node}_status": "COMPLETED", **more}, **failing, "UNKNOWN": {}}

    gatekeeper: dict[str, Report] = {}
    for status in (*VERDICTS, "UNKNOWN"):
        for trusted in (0, 1):
            report: Report = {} if status == "UNKNOWN" else {"gatekeeper_status": status}
            report["checked_bindings"] = [{"claim": "no", "trusted": False}, {"claim": "yes", "trusted": True}][
                : 1 + trusted
            ]
            gatekeeper[f"{status}/{trusted}"] = report
    verifier = {name: report for name, report in technical("verifier", {}).items() if name != "COMPLETED"}
    for verdict in (*VERDICTS, "UNKNOWN"):
        for name, verification in (("gap", "indirect_support"), ("no_gap", "direct_support")):
            report = {
                "verifier_status": "COMPLETED",
                "verifier_output": {"facts_checked": [{"fact": "f", "verification": verification}]},
            }
            if verdict != "UNKNOWN":
                report["effective_verdict"] = verdict
            verifier[f"{verdict}/{name}"] = report
    return {
        "planner": technical("planner", {"planner_output": {"goal": "g"}}),
        "executor": {
            "COMPLETED": {"executor_status": "COMPLETED"},
            "FAILED": {"executor_status": "FAILED"},
            "UNKNOWN": {},
        },
        "gatekeeper": gatekeeper,
        "verified_input": {"COMPLETED": {"verified_input": {"goal": "g"}}},
        "verifier": verifier,
        "composer": technical("composer", {"final_answer": "because"}),
        "evidence_retry": {"COMPLETED": {"evidence_retry_context": {"gaps": []}}},
        "fallback": {"COMPLETED": {"final_answer": "sorry"}},
    }


ALPHABET = _alphabet()

Script = tuple[tuple[str, str], ...]


def all_scripts() -> Iterator[tuple[Script, Oracle]]:
    """Every complete run over the alphabet, with the oracle at its end."""
    work: list[tuple[Script, Oracle]] = [((), Oracle())]
    while work:
        script, run = work.pop()
        for outcome, report in ALPHABET[run.node].items():
            after = run.copy()
            after.execute(report)
            longer = (*script, (run.node, outcome))
            if after.node == END:
                yield longer, after
            else:
                work.append((longer, after))
