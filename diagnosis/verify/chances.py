"""Chances: expected executions and the probability of each ending, exactly, over all control states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from diagnosis.runtime import Model, Position, Shown
from diagnosis.verify.chain import ONE, ZERO, changed, parts, plain, visited, weighed
from diagnosis.verify.linear import Rows, solved
from diagnosis.verify.odds import Odds, OddsError
from diagnosis.verify.paths import Transition
from diagnosis.verify.space import MAX_STATES, Progress, StateSpace, explore

EXECUTIONS = "executions"
MODEL_CALLS = "model calls"

Quantity = str | tuple[str, str]
"""``executions``, ``model calls``, or an ending."""


class EndingChance(NamedTuple):
    """One way in which runs stop.

    Attributes:
        final_node: the node that was executed last.
        reason: the termination reason; of a run that stops with an error, ``(error)``.
    """

    final_node: str
    reason: str


class Slope(NamedTuple):
    """How a quantity changes with the probability of some outcomes of a node.

    Attributes:
        node: the node.
        outcomes: the outcomes whose probability changes; all others give way in proportion.
        quantity: ``executions``, ``model calls``, or an ending.
        slope: the derivative at the present odds; ``None`` where runs would not end.
    """

    node: str
    outcomes: tuple[str, ...]
    quantity: str | EndingChance
    slope: Fraction | None


@dataclass(frozen=True, repr=False)
class Chances(Shown):
    """What to expect of a graph under some odds.

    Attributes:
        model: the graph under test.
        odds: the odds.
        space: its control states.
        visits: for each control state, how often a run is expected to be there.
        weights: for each control state, the probability of each of its transitions.
    """

    model: Model
    odds: Odds
    space: StateSpace
    visits: Sequence[Fraction]
    weights: Sequence[Sequence[Fraction]]

    @property
    def flows(self) -> Iterable[tuple[Transition, Fraction]]:
        """Each transition that is part of a run, with how often a run is expected to take it."""
        for outgoing, visits, weights in zip(self.space.outgoing, self.visits, self.weights, strict=True):
            for edge, weight in zip(outgoing, weights, strict=True):
                if not edge.hidden:
                    yield edge, visits * weight

    @cached_property
    def executions(self) -> Mapping[str, Fraction]:
        """Node -> how often a run is expected to execute it."""
        found = dict.fromkeys(self.model.graph.definition.names, ZERO)
        for edge, flow in self.flows:
            found[self.space.node(edge.source)] += flow
        return found

    @property
    def expected_executions(self) -> Fraction:
        """The node executions that a run is expected to take."""
        return sum(self.executions.values(), ZERO)

    @property
    def expected_calls(self) -> Fraction:
        """The executions of nodes that call a model which a run is expected to take."""
        return sum((self.executions[node] for node in self.odds.callers), ZERO)

    @cached_property
    def endings(self) -> Mapping[EndingChance, Fraction]:
        """Each ending with its probability, the likeliest first; those that cannot come with 0."""
        found: dict[EndingChance, Fraction] = {}
        for edges, visits, weights in zip(self.space.outgoing, self.visits, self.weights, strict=True):
            for edge, weight in zip(edges, weights, strict=True):
                ending = self._ending(edge)
                if ending is not None:
                    found[ending] = found.get(ending, ZERO) + visits * weight
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def _ending(self, edge: Transition) -> EndingChance | None:
        node = self.space.node(edge.source)
        if edge.target is None:
            return EndingChance(node, "(error)")
        place = self.space.positions[edge.target]
        if not self.space.outgoing[edge.target] and type(place) is Position:
            return EndingChance(node, str(place.reason))
        return None

    def slopes(self, node: str, outcomes: Iterable[str]) -> tuple[Slope, ...]:
        """Give how everything changes with the probability that a node reports one of some outcomes.

        Args:
            node: the node.
            outcomes: names of its alphabet, such as those of its failures; all others give way in proportion.

        Returns:
            The partial derivatives of the expected executions, of the expected model calls and of the probability of
            each ending. They are exact, and those of the endings sum to 0.

        Raises:
            OddsError: a name is unknown, or it is all of the outcomes.
        """
        chosen = tuple(dict.fromkeys(outcomes))
        changes = self.odds.slopes(node, chosen)
        quantities: tuple[str | EndingChance, ...] = (EXECUTIONS, MODEL_CALLS, *self.endings)
        totals: list[Fraction | None] = [ZERO] * len(quantities)
        for index, visits in enumerate(self.visits):
            if not visits or self.space.node(index) != node:
                continue
            edges = self.space.outgoing[index]
            for edge, change in zip(edges, changed(self.odds, self.space, index, changes), strict=True):
                if not change:
                    continue
                rest = self._rest[edge.target] if edge.target is not None else self._nothing
                gains = self._gains(edge)
                for place, total in enumerate(totals):
                    if rest is None or total is None:
                        totals[place] = None
                    else:
                        totals[place] = total + visits * change * (gains[place] + rest[place])
        return tuple(Slope(node, chosen, quantity, total) for quantity, total in zip(quantities, totals, strict=True))

    def vary(
        self, node: str, outcomes: Iterable[str], shares: Iterable[Fraction]
    ) -> tuple[tuple[Fraction, Chances], ...]:
        """Compute everything anew for other probabilities of some outcomes of a node.

        Args:
            node: the node.
            outcomes: names of its alphabet; all others give way in proportion.
            shares: the probabilities that it reports one of them, each from 0 to 1.

        Raises:
            OddsError: a name is unknown, a share is no probability, or runs need not end then.
        """
        chosen = tuple(outcomes)
        return tuple(
            (share, outcome_odds(self.model, self.odds.varied(node, chosen, share), space=self.space))
            for share in shares
        )

    @property
    def _nothing(self) -> list[Fraction]:
        return [ZERO] * (2 + len(self.endings))

    def _gains(self, edge: Transition) -> list[Fraction]:
        """Give what one transition adds to each quantity."""
        counted = not edge.hidden
        node, ending = self.space.node(edge.source), self._ending(edge)
        calls = counted and node in self.odds.callers
        return [Fraction(counted), Fraction(calls), *(Fraction(each == ending) for each in self.endings)]

    @cached_property
    def _rest(self) -> list[list[Fraction] | None]:
        """For each control state what a run is still expected to add; ``None`` where it need not end."""
        rest: list[list[Fraction] | None] = [None] * len(self.space.states)
        for part in reversed(parts(self.space)):
            places = {index: place for place, index in enumerate(part)}
            right: Rows = []
            matrix = [[ONE if row == column else ZERO for column in places] for row in places]
            known = True
            for row, index in enumerate(part):
                sums = self._nothing
                for edge, weight in zip(self.space.outgoing[index], self.weights[index], strict=True):
                    if not weight:
                        continue
                    later: list[Fraction] | None = self._nothing
                    if edge.target in places:
                        matrix[row][places[edge.target]] -= weight
                    elif edge.target is not None:
                        later = rest[edge.target]
                    if later is None:
                        known = False
                        break
                    sums = [a + weight * (b + c) for a, b, c in zip(sums, self._gains(edge), later, strict=True)]
                right.append(sums)
            values = None if not known else right if plain(self.space, part) else solved(matrix, right)
            for index, place in places.items():
                rest[index] = None if values is None else values[place]
        return rest

    def text(self) -> str:
        """Give the expected executions and the endings, a line each."""
        lines = [
            f"Odds of {self.model.name}: {told(self.expected_executions)} node executions, "
            f"{told(self.expected_calls)} model calls a run"
        ]
        lines += [f"  {told(share)}  {end.reason} at {end.final_node}" for end, share in self.endings.items()]
        if self.odds.assumed:
            lines.append(f"  uniform, because no odds were given: {', '.join(self.odds.assumed)}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Give everything as plain data; each number as its exact fraction, a text, and as a float."""
        return {
            "graph": self.model.name,
            "assumed_uniform": list(self.odds.assumed),
            "model_call_nodes": list(self.odds.callers),
            "expected_executions": exact(self.expected_executions),
            "expected_model_calls": exact(self.expected_calls),
            "nodes": [{"node": node, **exact(number)} for node, number in self.executions.items()],
            "endings": [
                {"final_node": end.final_node, "termination_reason": end.reason, **exact(share)}
                for end, share in self.endings.items()
            ],
        }


def exact(number: Fraction | None) -> dict[str, Any]:
    """Give a number as plain data.

    Args:
        number: a fraction.

    Returns:
        ``exact``, a text, and ``value``, the nearest float; both null where there is none.
    """
    return {"exact": None if number is None else str(number), "value": None if number is None else float(number)}


def told(number: Fraction) -> str:
    """Give a number with four places after the point, or more where it is small.

    Args:
        number: a fraction.
    """
    value = float(number)
    return f"{value:.4f}" if value == 0 or abs(value) >= 0.001 else f"{value:.2e}"


def outcome_odds(
    model: Model,
    odds: Odds | Mapping[str, Mapping[str, Any]] | None = None,
    *,
    space: StateSpace | None = None,
    max_states: int = MAX_STATES,
    max_seconds: float | None = None,
    progress: Progress | None = None,
) -> Chances:
    """Compute what to expect of a graph whose nodes report outcomes with given probabilities.

    Each execution reports independently of what came before. The recursion limit cuts nothing off. A branch of an
    ``any_of`` fork that was drawn to win reports only outcomes with which it still can, in proportion to their odds.

    Args:
        model: the graph under test.
        odds: the odds, or node -> outcome -> probability; uniform where absent, which the result says.
        space: what was explored of the model, where it is at hand.
        max_states: the budget of control states.
        max_seconds: the budget of time.
        progress: called now and then with states explored and states known.

    Returns:
        Exact fractions: nothing is sampled or rounded.

    Raises:
        OddsError: the odds do not fit, the exploration met its budget, or a run may go on for ever with a probability
            that is not 0.
    """
    if not isinstance(odds, Odds):
        odds = Odds.of(model, odds)
    if space is None:
        space = explore(model, max_states=max_states, max_seconds=max_seconds, progress=progress)
    if space.stopped is not None:
        raise OddsError(
            f"the odds of graph {model.name!r} need every control state, but {space.stopped}; give a larger budget"
        )
    weights = [weighed(odds, space, index) for index in range(len(space.states))]
    return Chances(model, odds, space, visited(space, weights), weights)
