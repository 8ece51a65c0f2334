"""The verification bench: exploration, proof and coverage of any model."""

from diagnosis.verify.chances import Chances, Ending, Slope, outcome_odds
from diagnosis.verify.counterexample import scenario_for
from diagnosis.verify.coverage import KINDS, WINNER, Coverage, Item, kinds_of, measure
from diagnosis.verify.lasso import Lasso, find_lasso
from diagnosis.verify.odds import Odds, OddsError, as_share
from diagnosis.verify.paths import Call, Script, Transition
from diagnosis.verify.proof import ROUTE_TAKEN, RULE_TAKEN, Proof, Verdict
from diagnosis.verify.prover import PropertyError, claims_of, prove
from diagnosis.verify.space import MAX_STATES, Progress, StateSpace, explore

__all__ = [
    "KINDS",
    "MAX_STATES",
    "ROUTE_TAKEN",
    "RULE_TAKEN",
    "WINNER",
    "Call",
    "Chances",
    "Coverage",
    "Ending",
    "Item",
    "Lasso",
    "Odds",
    "OddsError",
    "Progress",
    "Proof",
    "PropertyError",
    "Script",
    "Slope",
    "StateSpace",
    "Transition",
    "Verdict",
    "as_share",
    "claims_of",
    "explore",
    "find_lasso",
    "kinds_of",
    "measure",
    "outcome_odds",
    "prove",
    "scenario_for",
]
