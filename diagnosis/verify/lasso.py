"""Runs that never end: a script that reaches a loop, and the loop."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diagnosis.runtime import (
    Decision,
    Definition,
    Model,
    Position,
    RouterDecision,
    Strategy,
    evaluate,
    freeze,
    loops,
    resolve,
)
from diagnosis.verify.canonical import canonical
from diagnosis.verify.reads import Recorder
from diagnosis.verify.space import Script, StateSpace

MANY_VALUES = 8
"""A key with more values than this is taken for one that may grow without end."""

LAPS = 64
"""How often such a loop is gone round at least before it counts."""

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
        stem = ", ".join(f"{node}={outcome}" for node, outcome in self.stem) or "the start"
        loop = " -> ".join(f"{node}={outcome}" for node, outcome in self.loop)
        growing = f"; {', '.join(self.growing)} goes on changing, but nothing on the loop depends on it"
        return f"after {stem}: for ever {loop}{growing if self.growing else ''}"


def find_lasso(space: StateSpace) -> Lasso | None:
    """Find a run that never ends.

    Args:
        space: the explored space. Where it is complete, a lasso is found exactly if there is one. Where it is not,
            loops are looked for that repeat but for keys with many values, and each is gone round a number of times:
            as long as a run may go on under the recursion limit, and longer. It counts only if nothing that its
            decisions depend on differs after any of these laps; what an outcome's function writes is taken from them.

    Returns:
        The lasso that is reached soonest, or ``None``.
    """
    if space.cycles:
        return _in_cycle(space, min(space.cycles, key=lambda cycle: min(space.depths[i] for i in cycle)))
    return None if space.complete else _in_quotient(space)


def _in_cycle(space: StateSpace, cycle: Sequence[int]) -> Lasso:
    start = min(cycle, key=lambda index: (space.depths[index], index))
    ways = {
        index: [(edge.outcome, edge.target) for edge in space.outgoing[index] if edge.target in cycle]
        for index in cycle
    }
    lap = _shortest_lap(start, ways)
    return Lasso(space.script_to(start), tuple((space.positions[index].node, outcome) for index, outcome in lap))


def _shortest_lap(start: Any, ways: Mapping[Any, Iterable[tuple[str, Any]]]) -> list[tuple[Any, str]]:
    """Give (place, outcome) from a place back to itself, which is known to be possible."""
    came: dict[Any, tuple[Any, str]] = {}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        for outcome, target in ways[here]:
            if target == start:
                lap = [(here, outcome)]
                while lap[-1][0] != start:
                    lap.append(came[lap[-1][0]])
                return lap[::-1]
            if target not in came:
                came[target] = (here, outcome)
                queue.append(target)
    return []


def _in_quotient(space: StateSpace) -> Lasso | None:
    """Look for loops among the states with growing keys left out, and try each on the real step."""
    keys = space.model.graph.definition.keys
    readings = {key: [canonical(keys[key].read(state[key])) for state in space.states] for key in space.projection}
    steady = [key for key in space.projection if len(set(readings[key])) <= MANY_VALUES]
    if len(steady) == len(space.projection):
        return None
    names: list[Any] = [
        (place.node, *(readings[key][index] for key in steady)) for index, place in enumerate(space.positions)
    ]
    first: dict[Any, int] = {}
    ways: dict[Any, list[tuple[str, Any]]] = {}
    for index, name in enumerate(names):
        first.setdefault(name, index)
        known = ways.setdefault(name, [])
        for edge in space.outgoing[index]:
            if edge.target is not None and (edge.outcome, names[edge.target]) not in known:
                known.append((edge.outcome, names[edge.target]))
    found = loops({name: [target for _, target in targets] for name, targets in ways.items()})
    for cycle in sorted(found, key=lambda cycle: min(space.depths[first[name]] for name in cycle))[:TRIES]:
        members = set(cycle)
        inner = {name: [(o, t) for o, t in ways[name] if t in members] for name in cycle}
        for start in sorted(cycle, key=lambda name: (space.depths[first[name]], first[name]))[:TRIES]:
            lap = tuple((name[0], outcome) for name, outcome in _shortest_lap(start, inner))
            growing = _lap_repeats(space, first[start], lap)
            if growing is not None:
                return Lasso(space.script_to(first[start]), lap, growing)
    return None


def _lap_repeats(space: StateSpace, index: int, lap: Script) -> tuple[str, ...] | None:
    """Go round a lap on the real step; give the keys that changed, or ``None`` where a next lap may differ."""
    keys = space.model.graph.definition.keys
    position, state = space.positions[index], space.states[index]
    start = position.node
    changed: dict[str, None] = {}
    for _ in range(max(LAPS, space.model.graph.recursion_limit // len(lap) + 1)):
        before = state
        walked = _walk(space.model, position, state, lap)
        if walked is None:
            return None
        position, state, depends = walked
        if position.node != start or any(_reads_differ(keys[key], before[key], state[key]) for key in depends):
            return None
        changed.update((key, None) for key in space.projection if canonical(before[key]) != canonical(state[key]))
    return tuple(changed)


def _reads_differ(strategy: Strategy, before: Any, after: Any) -> bool:
    return bool(canonical(strategy.read(before)) != canonical(strategy.read(after)))


def _walk(
    model: Model, position: Position, state: Mapping[str, Any], lap: Script
) -> tuple[Position, Mapping[str, Any], set[str]] | None:
    """Go round once; give where it ends, the state, and the keys on which the way depended."""
    definition, step = model.graph.definition, model.graph.step
    depends: set[str] = set()
    flows: list[tuple[set[str], set[str]]] = []
    for node, outcome in lap:
        if position.node != node:
            return None
        update = model.alphabet[node][outcome]
        try:
            entered, _ = step.enter(position, state)
            recorder = Recorder(entered)
            report = freeze(dict(resolve(update, recorder)))
            position, state, _, _ = step.leave(position, entered, report)
        except Exception:  # the outcomes are the user's own code; whatever stops the run stops the lap
            return None
        flows.append((recorder.reads, set(report)))
        flows += [(set(effect.reads), set(effect.writes)) for effect in definition.node(node).effects]
        depends |= _decided_on(definition, node, state)
    while True:
        more = {key for reads, writes in flows if writes & depends for key in reads}
        if more <= depends:
            return position, state, depends
        depends |= more


def _decided_on(definition: Definition, node: str, state: Mapping[str, Any]) -> set[str]:
    """Give the keys that a decision really read: conditions after the first false one are not evaluated."""
    conditional = definition.conditional(node)
    if conditional is None:
        return set()
    if isinstance(conditional.decision, RouterDecision):
        recorder = Recorder(state)
        conditional.decision.router(recorder)
        return recorder.reads
    reads: set[str] = set()
    assert isinstance(conditional.decision, Decision)
    for row in evaluate(node, conditional.decision.rules, conditional.targets, state):
        for condition, truth in zip(row.rule.when, row.truths, strict=True):
            reads.update(condition.reads)
            if not truth:
                break
        else:
            break
    return reads
