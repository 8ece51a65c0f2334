"""The verification bench: exploration, proof and coverage of any model."""

from diagnosis.verify.counterexample import scenario_for
from diagnosis.verify.coverage import (
    FURTHER,
    KINDS,
    WINNER,
    Collector,
    Coverage,
    CoverageError,
    Item,
    Suggestion,
    collecting,
    kinds_of,
    measure,
    shortest_scenarios,
    suggest,
)
from diagnosis.verify.lasso import Lasso, find_lasso
from diagnosis.verify.paths import Call, Script, Transition
from diagnosis.verify.proof import ROUTE_TAKEN, RULE_TAKEN, Proof, Verdict
from diagnosis.verify.prover import PropertyError, claims_of, prove
from diagnosis.verify.space import MAX_STATES, Progress, StateSpace, explore

__all__ = [
    "FURTHER",
    "KINDS",
    "MAX_STATES",
    "ROUTE_TAKEN",
    "RULE_TAKEN",
    "WINNER",
    "Call",
    "Collector",
    "Coverage",
    "CoverageError",
    "Item",
    "Lasso",
    "Progress",
    "Proof",
    "PropertyError",
    "Script",
    "StateSpace",
    "Suggestion",
    "Transition",
    "Verdict",
    "claims_of",
    "collecting",
    "explore",
    "find_lasso",
    "kinds_of",
    "measure",
    "prove",
    "scenario_for",
    "shortest_scenarios",
    "suggest",
]
