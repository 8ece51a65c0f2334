"""Non-interference: what untrusted text can reach, and what it must not."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from diagnosis.runtime import (
    START,
    Action,
    Barrier,
    Boundary,
    Forked,
    Model,
    Place,
    Position,
    Shown,
    forks,
)
from diagnosis.runtime.position import child_at, written
from diagnosis.verify.adversary import Adversary, FlowError, Sources
from diagnosis.verify.canaries import Canaries
from diagnosis.verify.keys import StateKeys
from diagnosis.verify.moves import Execution
from diagnosis.verify.paths import Script, Transition
from diagnosis.verify.space import MAX_STATES, Progress, StateSpace, explore
from diagnosis.verify.twins import MAX_SCRIPTS, Twins, sink_value

SHOWN = (
    "shown: explicit flow over every script that was explored, and equality of runs in pairs that differ in untrusted "
    "text; not shown: paraphrase, and what a reader infers from which route was taken"
)
"""What such a report is worth."""


class Reach(NamedTuple):
    """One source that reaches one key.

    Attributes:
        source: where the text comes from: ``node.key``, or ``input.key``.
        node: the node that writes it there; START for the input.
        key: the key that is reached.
        script: the shortest script that shows it.
    """

    source: str
    node: str
    key: str
    script: Script


@dataclass(frozen=True)
class BarrierVerdict:
    """What came of one barrier.

    Attributes:
        barrier: the claim.
        holds: true, false, or ``None`` where the exploration met its budget first.
        detail: one line that says why.
        script: the shortest script that was found to break it.
        pairs: the scripts that were run in pairs for it.
    """

    barrier: Barrier
    holds: bool | None
    detail: str
    script: Script | None
    pairs: int

    @property
    def word(self) -> str:
        """The verdict in a word or two."""
        return {True: "holds", False: "broken", None: "not proven"}[self.holds]


@dataclass(frozen=True, repr=False)
class Flow(Shown):
    """What untrusted text can reach.

    Attributes:
        model: the graph under test.
        sources: the untrusted nodes.
        real: the nodes whose real action ran.
        reaches: each source with each key that it reaches, by each node that writes it there, shortest scripts first.
        verdicts: one for each barrier.
        pairs: the scripts that were run in pairs.
        every_script: whether these are all scripts there are; otherwise there is one through each transition.
        stopped: why not everything was explored, or ``None``.
    """

    model: Model
    sources: tuple[str, ...]
    real: tuple[str, ...]
    reaches: tuple[Reach, ...]
    verdicts: tuple[BarrierVerdict, ...]
    pairs: int
    every_script: bool
    stopped: str | None

    @property
    def holds(self) -> bool:
        """Whether every barrier holds."""
        return all(verdict.holds for verdict in self.verdicts)

    @property
    def counted(self) -> str:
        """What was run, in a line."""
        bound = "" if self.stopped is None else f"; bound hit: {self.stopped}"
        how = "every script" if self.every_script else "a script through every transition"
        pairs = f"{self.pairs} runs in pairs ({how})" if self.verdicts else "no barrier declared"
        return f"{len(self.reaches)} flows found, {pairs}{bound}"

    def text(self) -> str:
        """Give the verdicts and what each source reaches, a line each."""
        lines = [f"Flow of {self.model.name}: {self.counted}"]
        lines += [f"  {v.word:10}  {v.barrier.name}: {v.detail}" for v in self.verdicts]
        lines += [f"  {source} reaches {', '.join(keys)}" for source, keys in self.reached.items()]
        return "\n".join((*lines, SHOWN))

    @property
    def reached(self) -> Mapping[str, tuple[str, ...]]:
        """Source -> the keys that it reaches, nearest first."""
        found: dict[str, dict[str, None]] = {}
        for reach in self.reaches:
            found.setdefault(reach.source, {})[reach.key] = None
        return {source: tuple(keys) for source, keys in found.items()}

    def to_json(self) -> dict[str, Any]:
        """Give everything as plain data."""
        return {
            "graph": self.model.name,
            "holds": self.holds,
            "untrusted_nodes": list(self.sources),
            "real_nodes": list(self.real),
            "pairs": self.pairs,
            "every_script": self.every_script,
            "stopped": self.stopped,
            "barriers": [
                {
                    "name": verdict.barrier.name,
                    "statement": verdict.barrier.statement,
                    "verdict": verdict.word,
                    "detail": verdict.detail,
                    "script": None if verdict.script is None else [list(call) for call in verdict.script],
                }
                for verdict in self.verdicts
            ],
            "flows": [{**reach._asdict(), "script": [list(call) for call in reach.script]} for reach in self.reaches],
            "shown": SHOWN,
        }


class _FlowKeys(StateKeys):
    """Control states that are told apart by the sources in every key too."""

    def __init__(self, space: FlowSpace) -> None:
        super().__init__(space.model.graph.definition, space.projection)
        self._sources = space.canaries.sources

    def of(self, place: Place, state: Mapping[str, Any]) -> tuple[Hashable, ...]:
        """Give the key of a control state; arguments as in the base."""
        return (*super().of(place, state), tuple(self._held(place, state)))

    def _held(self, place: Place, state: Mapping[str, Any]) -> Iterator[Hashable]:
        yield tuple(map(self._sources, state.values()))
        if type(place) is Forked:
            for child in place.children:
                yield tuple(self._sources(value) for _, value, _ in written(child.writes))
                yield from self._held(child.place, child.state)


class FlowSpace(StateSpace):
    """The control states of a model under attack, told apart by what text every key holds.

    Args:
        model: the model.
        canaries: its sources.
        projection: the keys that decide.
        max_states: the budget of control states.
        max_seconds: the budget of time.
        progress: called now and then.
    """

    def __init__(
        self,
        model: Model,
        canaries: Canaries,
        *,
        projection: Iterable[str],
        max_states: int,
        max_seconds: float | None,
        progress: Progress | None,
    ) -> None:
        self.canaries = canaries
        # States that read alike differ in whose text they hold, which packed ones could not tell.
        super().__init__(
            model,
            extra=projection,
            max_states=max_states,
            max_seconds=max_seconds,
            progress=progress,
            packed=False,
        )

    def _state_keys(self) -> StateKeys:
        self._wrote: dict[tuple[int, int, str], Mapping[str, Any]] = {}
        return _FlowKeys(self)

    def _executed(self, place: Place, state: Mapping[str, Any], here: Position, outcome: str) -> Execution:
        done = super()._executed(place, state, here, outcome)
        if done.reported is not None:
            after = done.reported.after
            before = child_at(place, here.path).state if here.path else state
            found = {key: value for key, value in after.items() if value is not before.get(key)}
            self._wrote[id(place), id(state), outcome] = found
        return done

    def wrote(self, edge: Transition) -> Mapping[str, Any]:
        """Give what a transition wrote: key -> value after it.

        Args:
            edge: the transition.
        """
        return self._wrote.get((id(self.positions[edge.source]), id(self.states[edge.source]), edge.outcome), {})


def check_flow(
    model: Model,
    boundary: Boundary | None = None,
    *,
    real: Mapping[str, Action] | None = None,
    max_states: int = MAX_STATES,
    max_scripts: int = MAX_SCRIPTS,
    max_seconds: float | None = None,
    progress: Progress | None = None,
) -> Flow:
    """Find what untrusted text can reach, and whether barriers hold.

    Hostile fakes stand in for every untrusted node. They copy all that they are handed into all that they may write, as
    far as decisions read it alike, and each text tells where it comes from. Entry and exit updates, merges and real
    actions are those of the graph. For the barriers each script is run in pairs too, all text of their sources
    replaced in the second run: what they protect must not change.

    Args:
        model: the graph under test.
        boundary: what is trusted; that of the model where absent, and where it has none every node is untrusted.
        real: node -> the action that really runs there, beside those of the boundary.
        max_states: the budget of control states.
        max_scripts: scripts that are run in pairs; where there are more, one through each transition.
        max_seconds: the budget of time of the exploration.
        progress: called now and then with what is done and what is known.

    Raises:
        FlowError: the boundary does not fit the graph, or code that it names failed.
    """
    boundary = boundary or model.boundary or Boundary()
    if real:
        boundary = replace(boundary, real={**boundary.real, **real})
    space = explore(model, max_states=max_states, max_seconds=max_seconds)
    canaries = Canaries()
    adversary = Adversary(model, boundary, space.projection, canaries)
    attacked = adversary.attacked()
    flows = FlowSpace(
        attacked,
        canaries,
        projection=space.projection,
        max_states=max_states,
        max_seconds=max_seconds,
        progress=progress,
    )
    _raise(adversary)
    scripts = _scripts(flows, max_scripts)
    every = flows.counts is not None and flows.counts[0][0] <= max_scripts
    groups: dict[tuple[str, ...], list[Barrier]] = {}
    for barrier in boundary.barriers:
        groups.setdefault(barrier.sources, []).append(barrier)
    twins = Twins(attacked, [(adversary.attacked(Sources(sources)), group) for sources, group in groups.items()])
    pairs = twins.run(scripts(), flows.counts[0][0] if every and flows.counts else None, progress) if groups else 0
    _raise(adversary)
    stopped = space.stopped or flows.stopped
    verdicts = tuple(_verdict(barrier, flows, twins, pairs, stopped) for barrier in boundary.barriers)
    reaches = tuple(_reaches(flows))
    return Flow(model, adversary.hostile, tuple(boundary.real), reaches, verdicts, pairs, every, stopped)


def _raise(adversary: Adversary) -> None:
    if adversary.failures:
        raise FlowError(f"{adversary.failures[0]}; mend it, or leave the node to its alphabet")


def _scripts(space: FlowSpace, limit: int) -> Callable[[], Iterable[Script]]:
    """Give the scripts to run: all where they can be listed and are few enough, else one through each transition."""
    if space.counts is not None and space.counts[0][0] <= limit:
        return space.scripts
    most = space.model.graph.recursion_limit

    def through() -> Iterator[Script]:
        for edge in space.transitions:
            rest = () if edge.target is None else space.finish(edge.target, max(0, most - space.depths[edge.target]))
            yield (*space.script_through(edge), *rest)

    return lambda: dict.fromkeys(sorted(through()))


def _shown(space: FlowSpace) -> Iterator[Transition]:
    """Go through the transitions that are part of a run, in order of discovery."""
    return (edge for edge in space.transitions if not edge.hidden)


def _reaches(space: FlowSpace) -> Iterator[Reach]:
    sources = space.canaries.sources
    seen: set[tuple[str, str, str]] = set()
    for key, value in space.model.input.items():
        yield from (Reach(source, START, key, ()) for source in sorted(sources(value)))
    for edge in _shown(space):
        node = space.node(edge.source)
        found = [(source, key) for key, value in space.wrote(edge).items() for source in sorted(sources(value))]
        if edge.target is not None:
            found += _sent(space, edge.target, {key for _, _, key in seen} | {key for _, key in found})
        for source, key in found:
            if (source, node, key) not in seen:
                seen.add((source, node, key))
                yield Reach(source, node, key, space.script_through(edge))


def _sent(space: FlowSpace, index: int, written: set[str]) -> Iterator[tuple[str, str]]:
    """Go through what branches see and nobody wrote: what a Send gave them."""
    place, outside = space.positions[index], space.states[index]
    for fork in forks(place):
        for child in fork.children:
            for key, value in child.state.items():
                if key not in written and value is not outside.get(key):
                    yield from ((source, key) for source in sorted(space.canaries.sources(value)))


def _verdict(barrier: Barrier, space: FlowSpace, twins: Twins, pairs: int, stopped: str | None) -> BarrierVerdict:
    watched = Sources(barrier.sources)
    broken: list[tuple[Script, str]] = []
    for edge in _shown(space):
        if barrier.nodes and space.node(edge.source) not in barrier.nodes:
            continue
        found = _through(barrier, watched, space, space.wrote(edge))
        if found is not None:
            broken.append((space.script_through(edge), f"{found} by node {space.node(edge.source)!r}"))
            break
    pair = twins.broken.get(barrier.name)
    if pair is not None:
        broken.append(pair)
    if broken:
        script, detail = min(broken, key=lambda item: len(item[0]))
        return BarrierVerdict(barrier, False, detail, script, pairs)
    if twins.diverged is not None:
        return BarrierVerdict(barrier, None, twins.diverged[1], twins.diverged[0], pairs)
    if stopped is not None:
        return BarrierVerdict(barrier, None, f"bound hit: {stopped}", None, pairs)
    return BarrierVerdict(barrier, True, f"no canary, and the same in {pairs} pairs of runs", None, pairs)


def _through(barrier: Barrier, watched: Sources, space: FlowSpace, wrote: Mapping[str, Any]) -> str | None:
    for sink in barrier.sinks:
        if sink.partition(".")[0] in wrote:
            reached = sorted(s for s in space.canaries.sources(sink_value(wrote, sink)) if s in watched)
            if reached:
                return f"{reached[0]} reaches {sink}"
    return None
