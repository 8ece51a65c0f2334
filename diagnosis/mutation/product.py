"""A graph and a mutant side by side over every script: where they part, or that they never do.

As long as the two agree, they stand in the same control state. So their product is the graph's own space, and only the
executions of the changed node have to be put to both. This needs every key in the projection that the changed part
writes. Changes of how a fork waits, and of the recursion limit, show in no single execution: there, scripts are run.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, Final, NamedTuple

from diagnosis.mutation.differences import Difference, States, difference, seen
from diagnosis.mutation.mutant import Mutant
from diagnosis.runtime import END, Model, Position, Run
from diagnosis.scenarios import Case, Scenario, case_of, play
from diagnosis.scenarios.writer import file_stem
from diagnosis.verify import Script, StateSpace, Transition, scenario_for
from diagnosis.verify.keys import StateKeys
from diagnosis.verify.moves import Execution, Left, Moves
from diagnosis.verify.winners import contests_of

MAX_SCRIPTS: Final = 1_000
"""Scripts that are run at most for one mutant whose change shows in no single execution."""

MAX_TRIES: Final = 12
"""Scripts that are run at most to show a difference that was found between two executions."""

SHOWN_BY_RUNS: Final = ("swap_wait", "swap_concurrency")
"""The operators whose mutants are compared by running every script."""


class Finding(NamedTuple):
    """What the product of a graph and a mutant comes to.

    Attributes:
        equivalent: whether they agree on every script.
        crashes: whether they differ, and wherever they do the mutant fails.
        killer: the shortest scenario that shows a difference, whose expectation is the run of the graph.
        difference: what it shows.
        undecided: why nothing was found out, if nothing was.
    """

    equivalent: bool = False
    crashes: bool = False
    killer: Scenario | None = None
    difference: Difference | None = None
    undecided: str | None = None


class _OutOfTime(Exception):  # noqa: N818 - a message of the comparison to itself
    """The time for comparing is used up."""


class Product:
    """A graph, to be compared with its mutants over every script.

    Control states that no run reaches within the recursion limit do not count.

    Args:
        model: the graph.
        max_states: the budget of control states.
        max_seconds: the budget of time of an exploration, and of all comparisons together.

    Attributes:
        space: its control states; those of wider projections are explored as they are needed.
    """

    def __init__(self, model: Model, *, max_states: int, max_seconds: float | None) -> None:
        self._model = model
        self._states = States(model.graph.definition)
        self._everything = StateKeys(model.graph.definition, self._states.keys)
        self._budget = (max_states, max_seconds)
        self._limit = model.graph.recursion_limit
        # One more than a run may take, for the mutant that allows it. What loses an any_of counts for no limit.
        self._contested = bool(contests_of(model.graph))
        self._deepest = float("inf") if self._contested else self._limit + 1
        self.space = self._explored((), model)
        self._spaces = {frozenset(self.space.projection): self.space}
        self._deadline = None if max_seconds is None else time.monotonic() + max_seconds
        self._played: dict[Script, tuple[Case, Run]] = {}
        self._names: dict[str, Mutant] = {}
        self._done: dict[int, dict[tuple[int, str], tuple[Execution, list[Left]]]] = {}

    def compare(self, mutant: Mutant, changed: Model) -> Finding:
        """Compare the graph with a mutant.

        Args:
            mutant: the mutant.
            changed: the model with its graph.
        """
        try:
            return self._compared(mutant, changed)
        except _OutOfTime:
            return Finding(undecided=f"the budget of {self._budget[1]:g} s was used up")

    def _compared(self, mutant: Mutant, changed: Model) -> Finding:
        if mutant.operator in SHOWN_BY_RUNS:
            return self._by_runs(mutant, changed)
        if mutant.operator == "recursion_limit":
            return self._by_length(mutant, changed)
        space = self._wide(mutant)
        if mutant.node is None:
            end = space.finish(0, self._limit)
            shown = self._shown(mutant, changed, iter([end]), crashes=False)
            return shown if shown.undecided is None else self._by_runs(mutant, changed)
        found = self._partings(space, mutant.node, Moves(changed), self._done.setdefault(id(space), {}))
        if not found and self._contested:
            # No script of the graph holds what a branch does that loses for it; one of the mutant's may.
            # As it agrees so far, it is about as large; one that is much larger runs away where the graph never goes.
            space = self._explored(mutant.writes, changed, 200 + 10 * len(space.states))
            found = [(edge, False) for edge, _ in self._partings(space, mutant.node, Moves(self._model), {})]
        if not found:
            return Finding(equivalent=True) if self._whole(space) else Finding(undecided=space.stopped)
        crashes = all(crash for _, crash in found)
        edges = sorted((edge for edge, crash in found if crash == crashes), key=space.through)
        shown = self._shown(mutant, changed, (self._script(space, edge) for edge in edges), crashes=crashes)
        # Where a branch parts that loses an any_of in the end, no run may show it.
        return shown if shown.undecided is None else self._by_runs(mutant, changed)

    def _partings(
        self, space: StateSpace, node: str, moves: Moves, done: dict[tuple[int, str], tuple[Execution, list[Left]]]
    ) -> list[tuple[Transition, bool]]:
        """Give the transitions of a space at which other moves part from its own, as far as a shorter run may come.

        Args:
            space: the control states.
            node: the only node whose execution may differ.
            moves: the other moves.
            done: what the own ones came to, as far as that is known.

        Returns:
            For each, whether only the other moves fail there.
        """
        found, shortest = [], float("inf")
        for edge, crash in self._parting(space, node, moves, done):
            if space.depths[edge.source] + 1 > shortest:
                break
            found.append((edge, crash))
            shortest = shortest if crash else min(shortest, space.through(edge))
        return found

    def _wide(self, mutant: Mutant) -> StateSpace:
        """Give the control states under a projection that holds all that the changed part writes."""
        extra = frozenset(mutant.writes) - set(self.space.projection)
        wanted = extra | set(self.space.projection)
        for projection, space in self._spaces.items():
            if wanted <= projection:
                return space
        space = self._explored(extra, self._model)
        self._spaces[frozenset(wanted)] = space
        return space

    def _explored(self, extra: Iterable[str], model: Model, most: int | None = None) -> StateSpace:
        max_states, max_seconds = self._budget
        max_states = max_states if most is None else min(max_states, most)
        return StateSpace(model, extra=extra, max_states=max_states, max_seconds=max_seconds, max_depth=self._deepest)

    def _script(self, space: StateSpace, edge: Transition) -> Script:
        """Give the shortest script through a transition, as long as a run may get where none ends."""
        begun = space.script_through(edge)
        room = self._limit - len(begun)
        return begun if edge.target is None else (*begun, *space.finish(edge.target, max(room, 0)))

    def _parting(
        self, space: StateSpace, node: str, moves: Moves, done: dict[tuple[int, str], tuple[Execution, list[Left]]]
    ) -> Iterator[tuple[Transition, bool]]:
        for index in range(len(space.states)):
            if space.node(index) != node or not space.outgoing[index] or space.depths[index] >= self._deepest:
                continue
            self._look_at_the_clock()
            place, state, here = space.positions[index], space.states[index], space.mover(index)
            for outcome in dict.fromkeys(edge.outcome for edge in space.outgoing[index]):
                if (index, outcome) not in done:
                    own = space.moves.execute(place, state, here, outcome)
                    done[index, outcome] = (own, space.moves.onward(here, own))
                one, ways = done[index, outcome]
                other = moves.execute(place, state, here, outcome)
                onward = moves.onward(here, other)
                if not self._alike(one, ways, other, onward):
                    crash = _fails(other, onward) and not _fails(one, ways)
                    yield from ((edge, crash) for edge in space.outgoing[index] if edge.outcome == outcome)

    def _look_at_the_clock(self) -> None:
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise _OutOfTime

    def _whole(self, space: StateSpace) -> bool:
        """Tell whether all was explored that a run reaches within the recursion limit."""
        if space.complete:
            return True
        ways = enumerate(space.outgoing)
        return all(space.depths[index] >= self._deepest for index, out in ways if not out and space.node(index) != END)

    def _alike(self, one: Execution, ways: list[Left], other: Execution, onward: list[Left]) -> bool:
        if (one.reported is None) != (other.reported is None) or len(ways) != len(onward):
            return False
        if one.reported is not None and other.reported is not None:
            if seen(one.reported.event) != seen(other.reported.event):
                return False
            if self._states.different(one.reported.after, other.reported.after) is not None:
                return False
        return all(map(self._same_way, ways, onward))

    def _same_way(self, one: Left, other: Left) -> bool:
        if one.place is None or other.place is None:
            return one.place is other.place and one.lost == other.lost
        if type(one.place) is Position and type(other.place) is Position:
            return one.place == other.place and self._states.different(one.state, other.state) is None
        return self._everything.of(one.place, one.state) == self._everything.of(other.place, other.state)

    def _shown(self, mutant: Mutant, changed: Model, scripts: Iterator[Script], *, crashes: bool) -> Finding:
        """Run the first scripts until one shows a difference; what only fails counts where nothing else can be seen."""
        for script in islice(scripts, MAX_TRIES):
            self._look_at_the_clock()
            found = self._ran(changed, script)
            if found is not None and (crashes or found.how != "crash"):
                return Finding(crashes=crashes, killer=self._killer(mutant, script), difference=found)
        return Finding(undecided="a difference between two executions was found, but no run that shows it")

    def _ran(self, changed: Model, script: Script) -> Difference | None:
        """Run a script on graph and mutant."""
        if script not in self._played:
            scenario = scenario_for(self._model, script, name="script", title="")
            case = case_of(scenario, {self._model.name: self._model})
            self._played[script] = case, play(case)[0]
        case, run = self._played[script]
        return difference(run, play(replace(case, model=changed))[0], self._states)

    def _killer(self, mutant: Mutant, script: Script) -> Scenario:
        title = f"Tells the graph from one with {mutant.operator} at {mutant.place}: {mutant.after}"
        return scenario_for(self._model, script, name=self._name(mutant), title=title)

    def _name(self, mutant: Mutant) -> str:
        """Give the name of the scenario that tells a mutant from the graph; no other mutant gets it."""
        name = stem = file_stem(f"kills_{mutant.operator}_{mutant.place}_{mutant.after}")
        number = 1
        while self._names.setdefault(name, mutant) is not mutant:
            number += 1
            name = f"{stem}_{number}"
        return name

    def _by_runs(self, mutant: Mutant, changed: Model) -> Finding:
        """Run every script, where there are not too many."""
        counts = self.space.counts
        if counts is None or counts[0][0] > MAX_SCRIPTS:
            scripts = (self._script(self.space, edge) for edge in self._opening(mutant))
            found = self._shown(mutant, changed, scripts, crashes=False)
            why = f"there are more than {MAX_SCRIPTS} scripts, or no end of them, and the first ones show no difference"
            return found if found.undecided is None else Finding(undecided=why)
        crashing: tuple[Script, Difference] | None = None
        for script in sorted(self.space.scripts(), key=len):
            self._look_at_the_clock()
            shown = self._ran(changed, script)
            if shown is not None and shown.how != "crash":
                return Finding(killer=self._killer(mutant, script), difference=shown)
            if shown is not None and crashing is None:
                crashing = script, shown
        if crashing is None:
            return Finding(equivalent=True)
        return Finding(crashes=True, killer=self._killer(mutant, crashing[0]), difference=crashing[1])

    def _opening(self, mutant: Mutant) -> list[Transition]:
        edges = [edge for edge in self.space.transitions if self.space.node(edge.source) == mutant.node and edge.others]
        return sorted(edges, key=self.space.through)

    def _by_length(self, mutant: Mutant, changed: Model) -> Finding:
        """Compare two recursion limits: they part where a run takes as many executions as the higher one allows."""
        higher = max(mutant.recursion_limit, self._limit)
        counts = self.space.counts
        if counts is not None and counts[1][0] < higher:
            return Finding(equivalent=True)
        script = _of_length(self.space, higher)
        if script is None:
            return Finding(equivalent=True) if self._whole(self.space) else Finding(undecided=self.space.stopped)
        return self._shown(mutant, changed, iter([script]), crashes=False)


def _of_length(space: StateSpace, length: int) -> Script | None:
    """Give a script whose run takes at least so many executions, or ``None`` where there is none."""
    layer: dict[int | None, Any] = {0: None}
    for number in range(1, length + 1):
        following: dict[int | None, Any] = {}
        for index, before in layer.items():
            for edge in () if index is None else space.outgoing[index]:
                if edge.target is not None or number == length:
                    following.setdefault(edge.target, (before, edge))
        layer = following
    return _unrolled(space, next(iter(layer.values()))) if layer else None


def _unrolled(space: StateSpace, chain: Any) -> Script:
    script = []
    while chain is not None:
        chain, edge = chain
        script.append(space.call(edge))
    return tuple(reversed(script))


def _fails(done: Execution, ways: list[Left]) -> bool:
    return done.reported is None or any(way.error is not None for way in ways)
