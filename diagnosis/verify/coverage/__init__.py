"""Coverage: which parts of a graph a set of runs has shown, out of those that any run can show."""

from diagnosis.verify.coverage.items import declared_items
from diagnosis.verify.coverage.kinds import FURTHER, KINDS, WINNER, CoverageError, kinds_of
from diagnosis.verify.coverage.measure import measure
from diagnosis.verify.coverage.result import Coverage, Item
from diagnosis.verify.coverage.suggest import Suggestion, shortest_scenarios, suggest

__all__ = [
    "FURTHER",
    "KINDS",
    "WINNER",
    "Coverage",
    "CoverageError",
    "Item",
    "Suggestion",
    "declared_items",
    "kinds_of",
    "measure",
    "shortest_scenarios",
    "suggest",
]
