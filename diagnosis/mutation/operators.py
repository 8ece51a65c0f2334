"""All mutants of a graph."""

from __future__ import annotations

from collections.abc import Iterator

from diagnosis.mutation.decisions import decision_mutants
from diagnosis.mutation.domains import Domains
from diagnosis.mutation.edges import edge_mutants
from diagnosis.mutation.mutant import OPERATORS, Mutant
from diagnosis.mutation.nodes import node_mutants
from diagnosis.runtime import Model
from diagnosis.verify import StateSpace, explore


def mutants_of(model: Model, *, space: StateSpace | None = None) -> tuple[Mutant, ...]:
    """Give every small change of a graph: its decisions, edges and forks, and what surrounds its actions.

    Args:
        model: the graph.
        space: its explored control states, which tell what values conditions meet; explored here where absent.

    Returns:
        The mutants in the order of the operators, and within one in the order of declaration.
    """
    found = list(_all(model, Domains(explore(model) if space is None else space)))
    order = {operator: place for place, operator in enumerate(OPERATORS)}
    return tuple(sorted(found, key=lambda mutant: order[mutant.operator]))


def _all(model: Model, domains: Domains) -> Iterator[Mutant]:
    yield from decision_mutants(model, domains)
    yield from edge_mutants(model)
    yield from node_mutants(model, domains)
