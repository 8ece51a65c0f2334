"""The explorer against every interleaving: branches one after the other, and who wins, must be all there is."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from interleavings import TooManyError, every_outcome, outcome_of, replayed
from random_forks import forked_terms, model_of

from diagnosis.verify import explore

PLACES = 2_500
"""Places of the product that are walked at most; larger graphs are left out."""


def compared(terms) -> bool:
    """Compare the explorer with the product; tell whether the graph was small enough."""
    model = model_of(terms)
    space = explore(model, max_states=5_000)
    assert space.complete
    assert space.counts is not None
    if space.counts[0][0] > 500:
        return False
    try:
        expected = every_outcome(model, PLACES)
    except TooManyError:
        return False
    scripts = list(space.scripts())
    assert len(scripts) == len(set(scripts)) == space.counts[0][0]
    assert {script: {outcome_of(replayed(model, script))} for script in scripts} == expected
    assert max(map(len, scripts)) == space.counts[1][0]
    assert min(map(len, scripts)) == space.to_end[0]
    return True


@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(forked_terms())
def test_the_explorer_finds_what_every_interleaving_can_come_to_and_nothing_else(terms):
    compared(terms)
