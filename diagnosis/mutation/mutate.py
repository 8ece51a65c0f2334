"""Mutation: every small change of a graph put to a set of scenarios."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from diagnosis.mutation.differences import Difference, States, difference
from diagnosis.mutation.mutant import Mutant
from diagnosis.mutation.operators import mutants_of
from diagnosis.mutation.product import Product
from diagnosis.mutation.report import MutantResult, MutationReport
from diagnosis.runtime import CompileError, DefinitionError, Model, Run
from diagnosis.scenarios import Case, Suite, play
from diagnosis.verify import MAX_STATES
from diagnosis.verify.winners import contests_of


def mutate(
    model: Model,
    suite: Suite | Iterable[Case],
    *,
    max_states: int = MAX_STATES,
    max_seconds: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> MutationReport:
    """Change the routing of a graph in every small way, and say which changes scenarios notice.

    A scenario notices a mutant where its run differs from that of the unchanged graph; what the scenario expects plays
    no part. What no scenario notices is compared with the graph over every script.

    Args:
        model: the graph.
        suite: the scenarios; those of other graphs are left out.
        max_states: the budget of control states.
        max_seconds: the budget of time of each exploration; what is not found within the budgets is not decided.
        progress: called with the mutants done and how many there are.

    Returns:
        A result for each mutant.
    """
    cases = suite.cases if isinstance(suite, Suite) else tuple(suite)
    product = Product(model, max_states=max_states, max_seconds=max_seconds)
    bench = _Bench(model, [case for case in cases if case.scenario.graph == model.name], product)
    mutants = mutants_of(model, space=product.space)
    results = []
    for number, mutant in enumerate(mutants, start=1):
        results.append(bench.result(mutant))
        if progress is not None:
            progress(number, len(mutants))
    return MutationReport(model, bench.scenarios, tuple(results))


class _Bench:
    """Scenarios with the runs of the unchanged graph."""

    def __init__(self, model: Model, cases: list[Case], product: Product) -> None:
        self._model = model
        self._product = product
        self._states = States(model.graph.definition)
        # A run does not tell what branches executed that lost an any_of.
        self._contested = bool(contests_of(model.graph))
        self.scenarios = tuple(case.scenario.name for case in cases)
        # What ends says more, and what is short; it costs less, too.
        ran = [(case, play(replace(case, model=model))[0]) for case in cases]
        self._ran = sorted(ran, key=lambda each: (not each[1].ended, len(each[1].events)))

    def result(self, mutant: Mutant) -> MutantResult:
        try:
            changed = mutant.applied(self._model)
        except (CompileError, DefinitionError) as error:
            return MutantResult(mutant, "invalid", str(error))
        noticed: tuple[str, Difference] | None = None
        for case, run in self._ran:
            if mutant.node is not None and not self._contested and not _reaches(run, mutant.node):
                continue
            found = difference(run, play(replace(case, model=changed))[0], self._states, mutant.node)
            if found is None or (noticed is not None and found.how == "crash"):
                continue
            noticed = (case.scenario.name, found)
            if found.how == "assertion":
                break
        if noticed is not None and noticed[1].how != "crash":
            name, shown = noticed
            return MutantResult(mutant, "bound" if shown.how == "bound" else "assertion", shown.text, name)
        return self._unnoticed(mutant, changed, noticed)

    def _unnoticed(self, mutant: Mutant, changed: Model, crash: tuple[str, Difference] | None) -> MutantResult:
        """Compare a mutant with the graph over every script, where at most a crash was seen."""
        found = self._product.compare(mutant, changed)
        name, detail = (None, "") if crash is None else (crash[0], crash[1].text)
        if crash is None and found.equivalent:
            return MutantResult(mutant, "equivalent", "agrees on every script")
        if crash is not None and (found.equivalent or found.crashes):
            return MutantResult(mutant, "crash", detail, name)
        if found.difference is not None:
            detail = f"{found.difference.text}{f'; a crash alone does not count ({name})' if crash else ''}"
            return MutantResult(mutant, "survived", detail, None, found.killer)
        return MutantResult(mutant, "survived", f"not decided: {found.undecided}")


def _reaches(run: Run, node: str) -> bool:
    return node in run.path or run.failed_at == node
