"""Mutation: small changes of a declared graph, and whether scenarios notice them."""

from diagnosis.mutation.differences import Difference, How, States, difference
from diagnosis.mutation.domains import Domains
from diagnosis.mutation.mutant import OPERATORS, Mutant
from diagnosis.mutation.mutate import mutate
from diagnosis.mutation.operators import mutants_of
from diagnosis.mutation.product import Finding, Product
from diagnosis.mutation.report import RESULTS, MutantResult, MutationReport, Result

__all__ = [
    "OPERATORS",
    "RESULTS",
    "Difference",
    "Domains",
    "Finding",
    "How",
    "Mutant",
    "MutantResult",
    "MutationReport",
    "Product",
    "Result",
    "States",
    "difference",
    "mutants_of",
    "mutate",
]
