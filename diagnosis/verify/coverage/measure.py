"""Measuring: runs counted against what any run of the graph can show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from diagnosis.runtime import (
    START,
    Conditional,
    Executed,
    Model,
    RouterDecision,
    RuleTruth,
    Run,
    causes_of,
    decided_on,
    evaluate,
)
from diagnosis.verify.coverage import seen
from diagnosis.verify.coverage.items import edge_item
from diagnosis.verify.coverage.kinds import WINNER, Atom, CoverageError, with_further
from diagnosis.verify.coverage.observed import Observed
from diagnosis.verify.coverage.result import Coverage, assembled
from diagnosis.verify.coverage.walk import edges_of
from diagnosis.verify.space import StateSpace, explore
from diagnosis.verify.winners import winners_of


def measure(
    model: Model, runs: Iterable[Run], *, space: StateSpace | None = None, kinds: Iterable[str] = ()
) -> Coverage:
    """Measure what runs cover of a model.

    Args:
        model: the graph under test.
        runs: runs of its graph, ended or not.
        space: the explored space that tells what is feasible; explored here where absent.
        kinds: what to count beside what is counted of every graph: ``edge_pair``, ``outcome_edge``, ``transition``,
            ``masking`` or ``decisive``.

    Returns:
        The coverage. Every condition of every rule is evaluated at every decision; one that raises covers nothing.

    Raises:
        CoverageError: there is no such kind, or a run is of another graph.
    """
    counted = with_further(model, kinds)
    return measured(Observed(explore(model) if space is None else space, counted), runs)


def measured(observed: Observed, runs: Iterable[Run]) -> Coverage:
    """Measure what runs cover of a model that was explored before.

    Args:
        observed: the explored space, with what is counted.
        runs: runs of its graph, ended or not.

    Raises:
        CoverageError: a run is of another graph.
    """
    tally = Tally(observed)
    for run in runs:
        tally.add(run)
    return tally.coverage()


class Tally:
    """What runs showed, counted.

    Args:
        observed: the explored space, with what is counted.

    Attributes:
        seen: how often each observation was made.
        outside: reports that are no outcome of the alphabet.
        errors: conditions that raised.
        runs: how many runs were counted.
    """

    def __init__(self, observed: Observed) -> None:
        self._observed = observed
        self._model = observed.space.model
        self._definition = self._model.graph.definition
        self._start: Atom = ("edge", edge_item(START, self._definition.entry or ""))
        self._paired = "edge_pair" in observed.kinds
        self.seen: Counter[Atom] = Counter()
        self.outside: dict[str, None] = {}
        self.errors: dict[str, None] = {}
        self.runs = 0

    def coverage(self) -> Coverage:
        """Give what the runs cover."""
        return assembled(self._observed, self._observed.kinds, self.seen, self.runs, self.outside, self.errors)

    def add(self, run: Run) -> None:
        """Count a run.

        Args:
            run: a run of the graph, ended or not.

        Raises:
            CoverageError: it is a run of another graph.
        """
        check_graph(self._model, run)
        self.runs += 1
        self.seen[self._start] += 1
        outcomes = []
        for index, executed in enumerate(run.steps):
            event = executed.event
            self.seen.update(seen.of_choices(self._definition, event.choices))
            outcomes.append(self._model.outcomes_of(executed))
            self.seen.update(seen.of_outcomes(event.node, outcomes[-1], event.choices))
            if not outcomes[-1]:
                self.outside[f"{event.node} {dict(executed.report)!r}"] = None
            if self._paired:
                before = [run.events[cause].node for cause in causes_of(run, index)] or [START]
                self.seen.update(seen.of_pairs(before, event.node, event.choices))
            self._truths(executed)
        if run.stop == "error" and run.failed_at in self._definition.names:
            # It began there but did not end; a limit begins nothing.
            self.seen["node", run.failed_at] += 1
        self.seen.update((WINNER, item) for item in winners_of(run))
        names = self._observed.names
        if names:
            for edges in edges_of(run, self._observed.space, outcomes):
                self.seen.update(("transition", names[edge]) for edge in edges)

    def _truths(self, executed: Executed) -> None:
        source = executed.event.node
        rows = truths_at(self._model, executed)
        self.seen.update(seen.of_truths(source, rows))
        for row in rows:
            for condition, error in zip(row.rule.when, row.errors, strict=True):
                if error is not None:
                    self.errors[f"{source}.{row.rule.name}.{condition.name}: {error}"] = None


def check_graph(model: Model, run: Run) -> None:
    """Refuse a run of another graph.

    Args:
        model: the graph under test.
        run: the run.

    Raises:
        CoverageError: it is one.
    """
    if run.graph.definition is model.graph.definition:
        return
    if run.graph.fingerprint != model.graph.fingerprint:
        raise CoverageError(
            f"a run of graph {run.graph.name!r} ({run.graph.fingerprint}) says nothing of model {model.name!r}, whose "
            f"graph is {model.graph.name!r} ({model.graph.fingerprint}); give runs of the model's graph"
        )


def truths_at(model: Model, executed: Executed) -> tuple[RuleTruth, ...]:
    """Give the rules of a node's decision, fully evaluated on the state that it decided on.

    Args:
        model: the graph under test.
        executed: one node execution.
    """
    definition = model.graph.definition
    conditional: Conditional | None = definition.conditional(executed.event.node)
    if conditional is None or isinstance(conditional.decision, RouterDecision):
        return ()
    return evaluate(
        conditional.source, conditional.decision.rules, conditional.targets, decided_on(executed, definition)
    )
