"""The verification bench: exploration, proof and coverage of any model."""

from diagnosis.verify.adversary import FlowError
from diagnosis.verify.chances import Chances, Ending, Slope, outcome_odds
from diagnosis.verify.counterexample import scenario_for
from diagnosis.verify.coverage import KINDS, WINNER, Coverage, Item, kinds_of, measure
from diagnosis.verify.flow import BarrierVerdict, Flow, Reach, check_flow
from diagnosis.verify.lasso import Lasso, find_lasso
from diagnosis.verify.odds import Odds, OddsError, as_share
from diagnosis.verify.paths import Call, Script, Transition
from diagnosis.verify.proof import ROUTE_TAKEN, RULE_TAKEN, Proof, Verdict
from diagnosis.verify.prover import PropertyError, claims_of, prove
from diagnosis.verify.space import MAX_STATES, Progress, StateSpace, explore
from diagnosis.verify.twins import MAX_SCRIPTS

__all__ = [
    "KINDS",
    "MAX_SCRIPTS",
    "MAX_STATES",
    "ROUTE_TAKEN",
    "RULE_TAKEN",
    "WINNER",
    "BarrierVerdict",
    "Call",
    "Chances",
    "Coverage",
    "Ending",
    "Flow",
    "FlowError",
    "Item",
    "Lasso",
    "Odds",
    "OddsError",
    "Progress",
    "Proof",
    "PropertyError",
    "Reach",
    "Script",
    "Slope",
    "StateSpace",
    "Transition",
    "Verdict",
    "as_share",
    "check_flow",
    "claims_of",
    "explore",
    "find_lasso",
    "kinds_of",
    "measure",
    "outcome_odds",
    "prove",
    "scenario_for",
]
