"""What the contract promises of every run of the Chat Diagnosis graph, as properties to prove."""

from __future__ import annotations

from typing import Final

from diagnosis.runtime import Move, Property, always, bound, ends, sometimes
from diagnosis.state import COUNTERS, read
from diagnosis.topology import COMPOSER, EVIDENCE_RETRY, EXECUTOR, FALLBACK, LONGEST_RUN, VERIFIER

_STATUSES: Final = {node: f"{node}_status" for node in ("planner", "executor", "gatekeeper", "verifier", "composer")}


def _at_most_once(counter: str) -> Property:
    def test(move: Move) -> bool:
        return bool(read(move.after, counter) <= 1)

    name = "evidence_is_retried_at_most_once" if counter == "evidence_retry_count" else f"{counter}_at_most_1"
    return always(name, f"{counter} never exceeds 1.", test, reads=counter)


def _executions_since_evidence_retry(count: int, move: Move) -> int:
    return 0 if move.node == EVIDENCE_RETRY else count + (move.node == EXECUTOR)


def _executor_once(move: Move, count: int) -> bool:
    return count <= 1


def _fallback_is_last(move: Move) -> bool:
    return move.node != FALLBACK or move.last


def _answer_is_judged(move: Move) -> bool:
    if move.node != COMPOSER or not move.last:
        return True
    verdict, ceiling = read(move.after, "effective_verdict"), read(move.after, "verifier_verdict_ceiling")
    trusted = read(move.after, "checked_bindings")
    return bool(trusted and verdict in ("PASS", "LOW_CONFID") and ceiling is not None and verdict.rank >= ceiling.rank)


def _unknown(move: Move) -> bool:
    """Tell whether what a node reported reads as unknown after it."""
    key = _STATUSES.get(move.node)
    if key is None:
        return False
    if read(move.after, key) is None:
        return True
    completed = move.node == VERIFIER and read(move.after, key) == "COMPLETED"
    return completed and read(move.after, "effective_verdict") is None


def _unknown_falls_back(move: Move) -> bool:
    return not _unknown(move) or move.choice.target == FALLBACK


def _unanswered_without_evidence(move: Move) -> bool:
    return move.node != FALLBACK or bool(read(move.after, "final_answer"))


PROPERTIES: Final = (
    ends(),
    bound(
        LONGEST_RUN,
        statement=f"No run executes more than {LONGEST_RUN} nodes, and {LONGEST_RUN} is reached.",
    ),
    *(_at_most_once(counter) for counter in COUNTERS),
    always(
        "executor_runs_once_a_round",
        "The executor is never executed twice within a round.",
        _executor_once,
        start=0,
        remember=_executions_since_evidence_retry,
    ),
    always("fallback_is_last", "Nothing is executed after the fallback.", _fallback_is_last),
    always(
        "an_answer_is_judged",
        "A composed answer had a trusted binding and the verdict PASS or LOW_CONFID, not above its ceiling.",
        _answer_is_judged,
        reads=("effective_verdict", "verifier_verdict_ceiling", "checked_bindings"),
    ),
    always(
        "unknown_falls_back",
        "Every unknown status or verdict leads to the fallback.",
        _unknown_falls_back,
        reads=(*_STATUSES.values(), "effective_verdict"),
    ),
    always("fallback_answers", "The fallback always answers.", _unanswered_without_evidence, reads="final_answer"),
    sometimes(
        "an_answer_is_composed",
        "Some run ends with a composed answer.",
        lambda move: move.node == COMPOSER and move.last,
    ),
    sometimes(
        "a_gap_is_closed",
        "Some run composes an answer after a second round of evidence.",
        lambda move: move.node == COMPOSER and move.last and read(move.after, "evidence_retry_count") == 1,
        reads="evidence_retry_count",
    ),
)
"""The properties of the graph as a whole; that each rule of each guard is taken is claimed of every graph."""
