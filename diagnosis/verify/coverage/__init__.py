"""Coverage: which parts of a graph a set of runs has shown, out of those that any run can show."""

from diagnosis.verify.coverage.collecting import Collector, collecting
from diagnosis.verify.coverage.items import declared_items
from diagnosis.verify.coverage.kinds import FURTHER, KINDS, WINNER, CoverageError, kinds_of
from diagnosis.verify.coverage.measure import measure
from diagnosis.verify.coverage.observed import Observed
from diagnosis.verify.coverage.production import JOINED, Joined, joined
from diagnosis.verify.coverage.result import Coverage, Item
from diagnosis.verify.coverage.saved import graphs_in, loaded, merged, saved_text
from diagnosis.verify.coverage.suggest import Suggestion, shortest_scenarios, suggest

__all__ = [
    "FURTHER",
    "JOINED",
    "KINDS",
    "WINNER",
    "Collector",
    "Coverage",
    "CoverageError",
    "Item",
    "Joined",
    "Observed",
    "Suggestion",
    "collecting",
    "declared_items",
    "graphs_in",
    "joined",
    "kinds_of",
    "loaded",
    "measure",
    "merged",
    "saved_text",
    "shortest_scenarios",
    "suggest",
]
