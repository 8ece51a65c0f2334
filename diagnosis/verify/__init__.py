"""The verification bench: exploration, proof and coverage of any model."""

from diagnosis.verify.adversary import FlowError
from diagnosis.verify.baseline import Baseline, BaselineError, read_baseline
from diagnosis.verify.budget import INTERRUPTED, Budget
from diagnosis.verify.chances import Chances, EndingChance, Slope, outcome_odds
from diagnosis.verify.compare import Change, Changed, Comparison, compare
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
from diagnosis.verify.findings import Remark, remarks_on
from diagnosis.verify.flow import BarrierVerdict, Flow, Reach, check_flow
from diagnosis.verify.lasso import Lasso, find_lasso
from diagnosis.verify.odds import Odds, OddsError, as_share
from diagnosis.verify.orders import DisagreementError
from diagnosis.verify.paths import Call, Script, Transition, script_text
from diagnosis.verify.proof import ROUTE_TAKEN, RULE_TAKEN, Proof, Verdict
from diagnosis.verify.prover import claims_of, prove
from diagnosis.verify.sight import PropertyError
from diagnosis.verify.space import MAX_STATES, Progress, StateSpace, explore
from diagnosis.verify.tally import Ending
from diagnosis.verify.twins import MAX_SCRIPTS

__all__ = [
    "FURTHER",
    "INTERRUPTED",
    "KINDS",
    "MAX_SCRIPTS",
    "MAX_STATES",
    "ROUTE_TAKEN",
    "RULE_TAKEN",
    "WINNER",
    "BarrierVerdict",
    "Baseline",
    "BaselineError",
    "Budget",
    "Call",
    "Chances",
    "Change",
    "Changed",
    "Collector",
    "Comparison",
    "Coverage",
    "CoverageError",
    "DisagreementError",
    "Ending",
    "EndingChance",
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
    "Remark",
    "Script",
    "Slope",
    "StateSpace",
    "Suggestion",
    "Transition",
    "Verdict",
    "as_share",
    "check_flow",
    "claims_of",
    "collecting",
    "compare",
    "explore",
    "find_lasso",
    "kinds_of",
    "measure",
    "outcome_odds",
    "prove",
    "read_baseline",
    "remarks_on",
    "scenario_for",
    "script_text",
    "shortest_scenarios",
    "suggest",
]
