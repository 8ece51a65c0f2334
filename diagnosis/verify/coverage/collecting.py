"""Collecting runs where they happen: in the tests of an application, or in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from diagnosis.runtime import Model, Run, Shown, watching
from diagnosis.verify.coverage.kinds import with_further
from diagnosis.verify.coverage.measure import Tally
from diagnosis.verify.coverage.observed import Observed
from diagnosis.verify.coverage.result import Coverage
from diagnosis.verify.space import StateSpace, explore


class Collector(Shown):
    """The runs of one graph, counted as they come; none of them is kept.

    Args:
        model: the graph under test.
        space: the explored space; explored here where absent.
        kinds: what to count beside what is counted of every graph.

    Raises:
        CoverageError: there is no such kind.
    """

    def __init__(self, model: Model, *, space: StateSpace | None = None, kinds: Iterable[str] = ()) -> None:
        counted = with_further(model, kinds)
        self.model = model
        self._tally = Tally(Observed(explore(model) if space is None else space, counted))

    def add(self, run: Run) -> None:
        """Count a run.

        Args:
            run: a run of the graph, ended or not.

        Raises:
            CoverageError: it is a run of another graph.
        """
        self._tally.add(run)

    def offer(self, run: Run) -> None:
        """Count a run if it is one of the graph.

        Args:
            run: a run of any graph.
        """
        definition = self.model.graph.definition
        if run.graph.definition is definition or run.graph.fingerprint == self.model.graph.fingerprint:
            self._tally.add(run)

    @property
    def runs(self) -> int:
        """How many runs were counted."""
        return self._tally.runs

    @property
    def coverage(self) -> Coverage:
        """What they cover."""
        return self._tally.coverage()

    def text(self) -> str:
        """Give the coverage so far."""
        return self.coverage.text()


@contextmanager
def collecting(model: Model, *, space: StateSpace | None = None, kinds: Iterable[str] = ()) -> Iterator[Collector]:
    """Count every run of a graph that stops while the block lasts, whoever starts it.

    Runs of other threads are not counted, and neither is a stream that nobody followed to its end; give those to
    :meth:`Collector.add`.

    Args:
        model: the graph under test; a graph with other actions in its nodes is the same graph.
        space: the explored space; explored here where absent.
        kinds: what to count beside what is counted of every graph.

    Yields:
        The collector, whose ``coverage`` can be asked for at any time.

    Raises:
        CoverageError: there is no such kind.
    """
    collector = Collector(model, space=space, kinds=kinds)
    with watching(collector.offer):
        yield collector
