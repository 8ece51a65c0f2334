"""The explored space with what each of its transitions shows: feasible items, and the shortest scripts to them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from diagnosis.runtime import END, START
from diagnosis.verify.coverage import seen
from diagnosis.verify.coverage.causes import FIRST_CAUSES, Causes, causes_after
from diagnosis.verify.coverage.items import edge_item
from diagnosis.verify.coverage.kinds import WINNER, Atom, kinds_of
from diagnosis.verify.coverage.names import transition_names
from diagnosis.verify.paths import Call, Script, Transition, script_back
from diagnosis.verify.space import StateSpace

Edge = tuple[int, int]
"""A control state, and the place of a transition among those that leave it."""


class Way(NamedTuple):
    """A transition with what it shows.

    Attributes:
        call: the transition as a script names it.
        target: the spot that it leads to; ``None`` where the run stops with an error.
        atoms: what it shows.
    """

    call: Call
    target: int | None
    atoms: tuple[Atom, ...]


class Observed:
    """A space whose transitions say what they show.

    A spot is a control state; where pairs of edges are counted, a control state with the nodes that led to it.

    Args:
        space: the explored space.
        kinds: the kinds that are counted.

    Attributes:
        space: the space.
        kinds: the kinds.
        depths: for each the fewest executions that lead there.
        names: control state and place -> name of the transition; empty where transitions are not counted.
    """

    def __init__(self, space: StateSpace, kinds: Iterable[str] | None = None) -> None:
        self.space = space
        self.kinds = kinds_of(space.model) if kinds is None else tuple(kinds)
        self.names: dict[Edge, str] = transition_names(space) if "transition" in self.kinds else {}
        self._start: Atom = ("edge", edge_item(START, space.model.graph.definition.entry or ""))
        self._shown_by: dict[Any, tuple[Atom, ...]] = {}
        self._paired = "edge_pair" in self.kinds
        self.depths = [0]
        self._parents: list[tuple[int, Call] | None] = [None]
        self._states = [0]

    @cached_property
    def ways(self) -> list[list[Way]]:
        """For each spot the ways on."""
        found: list[list[Way]] = []
        space, known = self.space, {(0, self._key(FIRST_CAUSES)): 0}
        causes: list[Causes] = [FIRST_CAUSES]
        for spot, state in enumerate(self._states):  # grows while it is walked
            ways = []
            for place, edge in enumerate(space.outgoing[state]):
                target = None
                if edge.target is not None:
                    following = FIRST_CAUSES
                    if self._paired:
                        positions = space.positions
                        following = causes_after(
                            causes[spot], positions[state], space.mover(state), positions[edge.target]
                        )
                    key = (edge.target, self._key(following))
                    target = known.setdefault(key, len(self._states))
                    if target == len(self._states):
                        self._states.append(edge.target)
                        self.depths.append(self.depths[spot] + 1)
                        self._parents.append((spot, space.call(edge)))
                        causes.append(following)
                atoms = self._shown(edge, (state, place), causes[spot])
                ways.append(Way(space.call(edge), target, atoms if spot else (self._start, *atoms)))
            found.append(ways)
        return found

    def _key(self, causes: Causes) -> Any:
        return tuple(sorted(causes.items())) if self._paired else None

    def _shown(self, edge: Transition, at: Edge, causes: Causes = FIRST_CAUSES) -> tuple[Atom, ...]:
        """Give what a transition shows; many of them show the same."""
        here = self.space.mover(edge.source)
        before = causes[here.path] if self._paired else ()
        won = edge.winner is not None and edge.target is not None
        key = (here.node, edge.outcome, edge.choices, id(edge.truths), edge.hidden, before, at if won else None)
        if key not in self._shown_by:
            self._shown_by[key] = tuple(self._all_shown(edge, before))
        found = self._shown_by[key]
        return (*found, ("transition", self.names[at])) if at in self.names else found

    def _all_shown(self, edge: Transition, before: Iterable[str]) -> Iterator[Atom]:
        if edge.hidden:
            return
        node = self.space.node(edge.source)
        if edge.choice is None:
            # No event tells of it; only where the run stopped is on record.
            yield "node", node
        else:
            yield from seen.of_choices(self.space.model.graph.definition, edge.choices)
            yield from seen.of_outcomes(node, (edge.outcome,), edge.choices)
            yield from seen.of_truths(node, edge.truths)
            yield from seen.of_pairs(before, node, edge.choices)
        if edge.winner is not None and edge.target is not None:
            yield WINNER, edge_item(node, self.space.node(edge.target))

    @cached_property
    def atoms(self) -> set[Atom]:
        """Everything that some run is known to show."""
        found = {self._start}
        if self._paired:
            return found.union(*(way.atoms for ways in self.ways for way in ways))
        for state, outgoing in enumerate(self.space.outgoing):
            for place, edge in enumerate(outgoing):
                self._shown(edge, (state, place))
        transitions = {("transition", name) for name in self.names.values()}
        return found.union(transitions, *self._shown_by.values())

    def ended(self, spot: int) -> bool:
        """Tell whether a run has ended in a spot.

        Args:
            spot: its number.
        """
        return self.space.node(self._states[spot]) == END

    @cached_property
    def rest(self) -> list[int | None]:
        """For each spot the fewest executions to where a run stops; ``None`` where none is known to."""
        sources: list[list[int]] = [[] for _ in self.ways]
        rest: list[int | None] = [None for _ in self.ways]
        stopping = []
        for spot, ways in enumerate(self.ways):
            for way in ways:
                if way.target is None:
                    stopping.append(spot)
                else:
                    sources[way.target].append(spot)
        length, level = 0, [spot for spot in range(len(self.ways)) if self.ended(spot)]
        while level or length == 0:
            for spot in level:
                rest[spot] = length
            before = [source for spot in level for source in sources[spot]] + (stopping if length == 0 else [])
            level = [spot for spot in dict.fromkeys(before) if rest[spot] is None]
            length += 1
        return rest

    def script_to(self, spot: int) -> Script:
        """Give the shortest script that reaches a spot.

        Args:
            spot: its number.
        """
        return script_back(self._parents, spot)

    def finish(self, spot: int | None, done: int = 0) -> list[Way]:
        """Give the shortest ways from a spot to where the run stops; up to the recursion limit where it does not stop.

        Args:
            spot: its number, or ``None`` where the run has stopped.
            done: executions before it.
        """
        found: list[Way] = []
        limit = self.space.model.graph.recursion_limit
        while spot is not None and self.ways[spot] and done + len(found) <= limit:
            way = min(self.ways[spot], key=self.left)
            found.append(way)
            spot = way.target
        return found

    def stops(self, script: Sequence[object], last: int | None) -> bool:
        """Tell whether a run has stopped after a script; in a space that is not complete it may lead out of it.

        Args:
            script: what is executed.
            last: the spot that it leads to, or ``None`` where the run stops with an error.
        """
        if last is None or self.ended(last):
            return True
        return len(script) > self.space.model.graph.recursion_limit

    def left(self, way: Way) -> float:
        """Give the fewest executions from the end of a way to where the run stops; infinity where none is known.

        Args:
            way: the way.
        """
        if way.target is None:
            return 0
        rest = self.rest[way.target]
        return float("inf") if rest is None else rest

    def shortest(self, atoms: Collection[Atom]) -> dict[Atom, Script]:
        """Give the shortest whole script that shows each of some atoms; the first one found of those equally short.

        Args:
            atoms: what is to be shown; an atom that nothing is known to show is left out.
        """
        wanted = set(atoms)
        best: dict[Atom, tuple[float, int, Way]] = {}
        for spot, ways in enumerate(self.ways):
            for way in ways:
                length = self.depths[spot] + 1 + self.left(way)
                for atom in way.atoms:
                    if atom in wanted and (atom not in best or length < best[atom][0]):
                        best[atom] = (length, spot, way)
        found = {}
        for atom in atoms:
            if atom in best:
                _, spot, way = best[atom]
                after = [way, *self.finish(way.target, self.depths[spot] + 1)]
                script = (*self.script_to(spot), *(each.call for each in after))
                if self.stops(script, after[-1].target):
                    found[atom] = script
        return found

    def shown_by(self, script: Script) -> set[Atom]:
        """Give what a script shows.

        Args:
            script: what is executed, from the start.
        """
        found: set[Atom] = set()
        spot: int | None = 0
        for call in script:
            assert spot is not None
            way = next(way for way in self.ways[spot] if way.call == call)
            found.update(way.atoms)
            spot = way.target
        return found
