"""What a proof says of one property, and the run that shows it."""

from __future__ import annotations

from diagnosis.scenarios import run_scenario


def verdict(proof, name):
    return next(found for found in proof.verdicts if found.claim.name == name)


def shown(proof, name):
    """Run the counterexample of a property; it must pass. Give the run."""
    scenario = proof.counterexample(verdict(proof, name))
    assert scenario is not None
    result = run_scenario(scenario, proof.model)
    assert result.passed, result.mismatches
    return result.run
