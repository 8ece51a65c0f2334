"""Runs that never end: a script that reaches a loop, and the loop."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diagnosis.runtime import Command, Decision, Definition, Place, Strategy, evaluate, loops
from diagnosis.runtime.position import Opening
from diagnosis.verify.canonical import canonical
from diagnosis.verify.keys import StateKeys
from diagnosis.verify.moves import mover, view
from diagnosis.verify.paths import Call, Script, Transition, script_text
from diagnosis.verify.space import StateSpace

MANY_VALUES = 8
"""A key with more values than this is taken for one that may grow without end."""

LAPS = 64
"""How often such a loop is gone round at least before it counts."""

MOST_PACKED = 20_000
"""Packed control states, from the first on, among which loops are looked for where the space is not complete."""

TRIES = 16
"""Loops that are tried out where the space is not complete."""


@dataclass(frozen=True, slots=True)
class Lasso:
    """A run that goes on for ever.

    Attributes:
        stem: the script that reaches the loop.
        loop: the script of one lap; every further lap is the same.
        growing: the keys that change from lap to lap although nothing on the loop depends on them.
    """

    stem: Script
    loop: Script
    growing: tuple[str, ...] = ()

    def unrolled(self, length: int) -> Script:
        """Give the run up to a number of node executions.

        Args:
            length: node executions.
        """
        laps = (length - len(self.stem)) // len(self.loop) + 1
        return (self.stem + self.loop * max(laps, 1))[: max(length, 0)]

    def text(self) -> str:
        """Say how to reach the loop, and the loop."""
        stem = script_text(self.stem) or "the start"
        loop = script_text(self.loop, " -> ")
        growing = f"; {', '.join(self.growing)} goes on changing, but nothing on the loop depends on it"
        return f"after {stem}: for ever {loop}{growing if self.growing else ''}"


def find_lasso(space: StateSpace) -> Lasso | None:
    """Find a run that never ends.

    Args:
        space: the explored space. Where it is complete, a lasso is found exactly if there is one. Where it is not,
            loops are looked for that repeat but for keys with many values, and each is gone round a number of times:
            as long as a run may go on under the recursion limit, and longer. It counts only if nothing that its
            decisions depend on differs after any of these laps, as the outermost branch sees it that goes round; what
            an outcome's function writes is taken from them.

    Returns:
        The lasso that is reached soonest, or ``None``.
    """
    if space.cycles:
        return lasso_in(space, dict(enumerate(space.outgoing)), space.depths, space.script_to)
    return None if space.complete else _in_quotient(space)


def lasso_in(
    space: StateSpace,
    ways: Mapping[int, Sequence[Transition]],
    depths: Mapping[int, int] | Sequence[int],
    script_to: Callable[[int], Script],
) -> Lasso | None:
    """Find the lasso that is reached soonest on some of the transitions of a space.

    Args:
        space: the explored space.
        ways: control state -> the transitions that count; none leads to a state that is not named.
        depths: control state -> the fewest of them that lead there.
        script_to: gives the shortest script on them that reaches a control state.

    Returns:
        The lasso, or ``None`` where these transitions have no cycle.
    """
    cycles = loops({index: [edge.target for edge in edges if edge.target is not None] for index, edges in ways.items()})
    if not cycles:
        return None
    cycle = min(cycles, key=lambda cycle: min(depths[index] for index in cycle))
    start = min(cycle, key=lambda index: (depths[index], index))
    members = set(cycle)
    inner = {
        index: [(space.call(edge), edge.target) for edge in ways[index] if edge.target in members] for index in cycle
    }
    return Lasso(script_to(start), tuple(call for _, call in _shortest_lap(start, inner)))


def _shortest_lap(start: Any, ways: Mapping[Any, Iterable[tuple[Call, Any]]]) -> list[tuple[Any, Call]]:
    """Give (place, call) from a place back to itself, which is known to be possible."""
    came: dict[Any, tuple[Any, Call]] = {}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        for call, target in ways[here]:
            if target == start:
                lap = [(here, call)]
                while lap[-1][0] != start:
                    lap.append(came[lap[-1][0]])
                return lap[::-1]
            if target not in came:
                came[target] = (here, call)
                queue.append(target)
    return []


def _in_quotient(space: StateSpace) -> Lasso | None:
    """Look for loops among the states with growing keys left out, and try each on the real step."""
    definition = space.model.graph.definition
    keys = definition.keys
    indices = range(len(space.states) if space.packed is None else min(len(space.states), MOST_PACKED))
    stands = [_stands(space, i) for i in indices]
    views = [view(*stands[i], space.mover(i)) for i in indices]
    values = {key: {canonical(keys[key].read(view[key])) for view in views} for key in space.projection}
    steady = [key for key in space.projection if len(values[key]) <= MANY_VALUES]
    if len(steady) == len(space.projection):
        return None
    told = StateKeys(definition, steady, writes=False)
    names = [told.of(*stand) for stand in stands]
    first: dict[Any, int] = {}
    ways: dict[Any, list[tuple[Call, Any]]] = {}
    for index, name in enumerate(names):
        first.setdefault(name, index)
        known = ways.setdefault(name, [])
        for edge in space.outgoing[index]:
            if edge.target is None or edge.target >= len(names):
                continue
            if (space.call(edge), names[edge.target]) not in known:
                known.append((space.call(edge), names[edge.target]))
    found = loops({name: [target for _, target in targets] for name, targets in ways.items()})
    for cycle in sorted(found, key=lambda cycle: min(space.depths[first[name]] for name in cycle))[:TRIES]:
        members = set(cycle)
        inner = {name: [(call, target) for call, target in ways[name] if target in members] for name in cycle}
        # From the outermost branch on the loop: what stands beside that branch takes no part in the loop.
        outermost = min(len(space.mover(first[name]).path) for name in cycle)
        starts = [name for name in cycle if len(space.mover(first[name]).path) == outermost]
        for start in sorted(starts, key=lambda name: (space.depths[first[name]], first[name]))[:TRIES]:
            lap = tuple(call for _, call in _shortest_lap(start, inner))
            growing = _lap_repeats(space, first[start], lap)
            if growing is not None:
                return Lasso(space.script_to(first[start]), lap, growing)
    return None


def _stands(space: StateSpace, index: int) -> tuple[Place, Mapping[str, Any]]:
    """Give a control state: where the run stands, and the state outside branches, of the projected keys at least."""
    if space.packed is not None:
        return space.mover(index), space.packed.known_state(index)
    return space.positions[index], space.states[index]


def _lap_repeats(space: StateSpace, index: int, lap: Script) -> tuple[str, ...] | None:
    """Go round a lap on the real step; give the keys that changed, or ``None`` where a next lap may differ."""
    keys = space.model.graph.definition.keys
    place, state, start = space.positions[index], space.states[index], space.mover(index)
    changed: dict[str, None] = {}
    for _ in range(max(LAPS, space.model.graph.recursion_limit // len(lap) + 1)):
        before = view(place, state, start)
        walked = _walk(space, place, state, lap)
        if walked is None:
            return None
        place, state, depends = walked
        here = mover(place)
        if (here.node, here.path) != (start.node, start.path):
            return None
        after = view(place, state, start)
        if any(_reads_differ(keys[key], before[key], after[key]) for key in depends):
            return None
        changed.update((key, None) for key in space.projection if canonical(before[key]) != canonical(after[key]))
    return tuple(changed)


def _reads_differ(strategy: Strategy, before: Any, after: Any) -> bool:
    return bool(canonical(strategy.read(before)) != canonical(strategy.read(after)))


def _walk(
    space: StateSpace, place: Place, state: Mapping[str, Any], lap: Script
) -> tuple[Place, Mapping[str, Any], set[str]] | None:
    """Go round once; give where it ends, the state, and the keys on which the way depended."""
    definition, moves = space.model.graph.definition, space.moves
    depends: set[str] = set()
    flows: list[tuple[set[str], set[str]]] = []
    for node, outcome, *won in lap:
        here = mover(place)
        if here.node != node:
            return None
        done = moves.execute(place, state, here, outcome)
        if done.reported is None:
            return None
        ways = [left for left in moves.onward(here, done) if left.winning == (won[0] if won else None)]
        if not ways or ways[0].place is None:
            return None
        place, state = ways[0].place, ways[0].state
        flows += [(set(effect.reads), set(effect.writes)) for effect in definition.node(node).effects]
        flows.append((done.reads, set(done.reported.report)))
        sources = set(done.reads) if isinstance(done.update, Command) else set[str]()
        for look in moves.notes.looks:
            sources |= look.reads
            if isinstance(look.given, Command):
                flows.append((look.reads, set(look.given.update)))
        following = done.reported.following
        if type(following) is Opening:
            flows.append((sources, {key for _, _, sent in following.targets for key in sent}))
        depends |= sources
        if not moves.notes.looks and not isinstance(done.update, Command):
            depends |= decided_on(definition, node, done.reported.after)
    while True:
        more = {key for reads, writes in flows if writes & depends for key in reads}
        if more <= depends:
            return place, state, depends
        depends |= more


def decided_on(definition: Definition, node: str, state: Mapping[str, Any]) -> set[str]:
    """Give the keys that rules really read: conditions after the first false one are not evaluated.

    Args:
        definition: the graph.
        node: the node that decides; one without rules reads nothing.
        state: the state that it decides on.
    """
    conditional = definition.conditional(node)
    if conditional is None or not isinstance(conditional.decision, Decision):
        return set()
    reads: set[str] = set()
    for row in evaluate(node, conditional.decision.rules, conditional.targets, state):
        for condition, truth in zip(row.rule.when, row.truths, strict=True):
            reads.update(condition.reads)
            if not truth:
                break
        else:
            break
    return reads
