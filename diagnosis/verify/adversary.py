"""Hostile fakes: they copy everything they are handed into everything they may write, and route alike."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from diagnosis.runtime import (
    Action,
    Boundary,
    Command,
    Definition,
    DiagnosisError,
    Model,
    Node,
    Replace,
    RunConfig,
    Send,
    State,
    Update,
    freeze,
    one_of,
    told,
)
from diagnosis.runtime.checks import arity
from diagnosis.runtime.frozen import MARKERS
from diagnosis.verify.canaries import Canaries, Speaker
from diagnosis.verify.canonical import canonical
from diagnosis.verify.reads import Recorder

REAL = "real"
"""The outcome of a node whose real action runs, where its alphabet has several."""

COPIED = "copied"
"""The field in which a hostile fake puts what it copies into a mapping."""


class FlowError(DiagnosisError):
    """A boundary does not fit its graph, or code that it names failed."""


class Sources(Collection[str]):
    """The sources that patterns stand for.

    Args:
        patterns: such as ``search.*``; none stands for every source.
    """

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self.patterns = patterns

    def __contains__(self, source: object) -> bool:
        return not self.patterns or any(fnmatchcase(str(source), pattern) for pattern in self.patterns)

    def __iter__(self) -> Iterator[str]:
        return iter(self.patterns)

    def __len__(self) -> int:
        return len(self.patterns)


class Adversary:
    """A model under attack: its untrusted nodes are hostile fakes, its real actions run.

    Args:
        model: the graph under test.
        boundary: what is trusted.
        projection: the keys whose typed reads decide; hostile text leaves them alike.
        canaries: the sources.

    Attributes:
        failures: what code of the boundary failed with.
    """

    def __init__(self, model: Model, boundary: Boundary, projection: Collection[str], canaries: Canaries) -> None:
        self.model, self.boundary, self.canaries = model, boundary, canaries
        self.failures: list[str] = []
        self._definition = model.graph.definition
        self._projection = set(projection) - _aside(self._definition)
        names = self._definition.names
        named = (*boundary.real, *boundary.handed, *boundary.reports, *(boundary.untrusted or ()))
        for node in (*named, *(node for barrier in boundary.barriers for node in barrier.nodes)):
            if node not in names:
                raise FlowError(f"the boundary of {model.name!r} names node {node!r}; nodes are {one_of(names)}")
        for key in (sink.partition(".")[0] for barrier in boundary.barriers for sink in barrier.sinks):
            if key not in self._definition.keys:
                raise FlowError(
                    f"the boundary of {model.name!r} names key {key!r}; keys are {one_of(self._definition.keys)}"
                )
        hostile = names if boundary.untrusted is None else boundary.untrusted
        self.hostile = tuple(node for node in hostile if node not in boundary.real)

    def attacked(self, replaced: Collection[str] = ()) -> Model:
        """Give the model whose fakes are hostile.

        Args:
            replaced: the sources whose text is another one: what a twin is made of.
        """
        alphabet: dict[str, dict[str, Update]] = {}
        for node, outcomes in self.model.alphabet.items():
            if node in self.boundary.real:
                name = next(iter(outcomes)) if len(outcomes) == 1 else REAL
                alphabet[node] = {name: self._real(node, self.boundary.real[node])}
            elif node in self.hostile:
                alphabet[node] = {name: self._hostile(node, update, replaced) for name, update in outcomes.items()}
            else:
                alphabet[node] = dict(outcomes)
        return replace(self.model, alphabet=alphabet, input=self._input(replaced))

    def _input(self, replaced: Collection[str]) -> Mapping[str, Any]:
        given = dict(self.model.input)
        for key in given if self.boundary.inputs is None else self.boundary.inputs:
            if key not in self._definition.keys:
                raise FlowError(
                    f"the boundary of {self.model.name!r} names input {key!r}, which is no key of the graph"
                )
            given[key] = self._dressed(key, given.get(key, ""), Speaker(self.canaries, "input", frozenset(), replaced))
        return given

    def _real(self, node: str, action: Action) -> Callable[[State], Any]:
        count = arity(action)
        if count is None:
            raise FlowError(f"the real action of node {node!r} must take (state) or (state, config)")
        log = self._definition.event_log

        def run(state: State) -> Any:
            seen = state if log is None or not isinstance(state, Recorder) else _Aside(state, log.key)
            try:
                given: Any = action(seen, RunConfig()) if count == 2 else action(seen)
                return _finished(given) if hasattr(given, "send") else given
            except Exception as error:
                self.failures.append(f"the real action of node {node!r} failed: {told(error)}")
                raise

        return run

    def _hostile(self, node: str, update: Update, replaced: Collection[str]) -> Callable[[State], Any]:
        handed = self.boundary.handed.get(node)
        made: dict[frozenset[str], Any] = {}

        def report(state: State) -> Any:
            plain = state.plain if isinstance(state, Recorder) else state
            base = update(state) if callable(update) else update
            try:
                seen = plain if handed is None else handed(plain)
                copied = frozenset[str]().union(
                    *map(self.canaries.sources, seen.values() if handed is None else (seen,))
                )
                if callable(update) or copied not in made:
                    made[copied] = self._reported(node, base, Speaker(self.canaries, node, copied, replaced))
            except Exception as error:
                self.failures.append(f"the boundary's code for node {node!r} failed: {told(error)}")
                raise
            return made[copied]

        return report

    def _reported(self, node: str, base: Any, voice: Speaker) -> Any:
        if isinstance(base, Command):
            goto: str | list[str | Send] = (
                base.goto
                if isinstance(base.goto, str)
                else [
                    Send(way.goto, self._update(way.update, voice)) if isinstance(way, Send) else way
                    for way in base.goto
                ]
            )
            return Command(goto, self._update(base.update, voice), reason=base.reason)
        hook = self.boundary.reports.get(node)
        if hook is not None:
            return freeze(dict(hook(base, voice)))
        made = self._update(base, voice)
        made.update(self._unasked(self._definition.node(node), base, voice))
        return freeze(made)

    def _update(self, base: Mapping[str, Any], voice: Speaker) -> dict[str, Any]:
        return {key: self._dressed(key, value, voice) for key, value in base.items()}

    def _unasked(self, node: Node, base: Mapping[str, Any], voice: Speaker) -> Iterator[tuple[str, Any]]:
        """Go through the keys that a node owns and leaves out, each with as much text as decisions do not notice."""
        for key in node.owns or ():
            strategy = self._definition.keys.get(key)
            decides = key in self._projection
            if key in base or not isinstance(strategy, Replace) or node.aliases or (decides and not node.whole_report):
                continue
            for value in ({COPIED: voice(key)}, voice(key)):
                if self._alike(key, None, value):
                    yield key, value
                    break

    def _dressed(self, key: str, value: Any, voice: Speaker) -> Any:
        """Give a value with hostile text in place of every text, as far as decisions read it alike."""
        if key not in self._definition.keys or type(value) in MARKERS:
            return value
        text = voice(key)
        lists = isinstance(self._definition.keys[key], Replace)
        for more in (lists, False):
            made = _replaced(value, text, extended=more)
            if self._alike(key, value, made):
                return made
        for path in list(_texts(value)):
            made = _with(value, path, text)
            if self._alike(key, value, made):
                value = made
        return value

    def _alike(self, key: str, value: Any, made: Any) -> bool:
        strategy = self._definition.keys[key]
        try:
            strategy.start(made)
            return key not in self._projection or canonical(freeze(strategy.read(freeze(value)))) == canonical(
                freeze(strategy.read(freeze(made)))
            )
        except Exception:  # a type of the user's own refuses it
            return False


def _aside(definition: Definition) -> set[str]:
    """Give the keys that only entry and exit updates read, and from which no decision learns anything."""
    decisive: set[str] = set()
    for conditional in definition.conditionals:
        reads = conditional.decision.reads
        decisive.update(definition.keys if reads is None else reads)
    for node in definition.nodes:
        for reading in (node.attempt, node.outcome):
            decisive.update(reading.reads if reading else ())
    effects = [effect for node in definition.nodes for effect in node.effects]
    while True:
        more = {key for effect in effects if set(effect.writes) & decisive for key in effect.reads} - decisive
        if not more:
            return {key for effect in effects for key in effect.reads} - decisive
        decisive |= more


class _Aside(Mapping[str, Any]):
    """A state whose event log is read unnoticed: to tell states apart by it would tell every two runs apart."""

    def __init__(self, recorder: Recorder, log: str) -> None:
        self._recorder, self._log = recorder, log

    def __getitem__(self, key: str) -> Any:
        return self._recorder.plain[key] if key == self._log else self._recorder[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._recorder.plain)

    def __len__(self) -> int:
        return len(self._recorder)


def _finished(coroutine: Any) -> Any:
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    coroutine.close()
    raise FlowError("it waits for something; a real action of a boundary must be plain code")


def _replaced(value: Any, text: str, *, extended: bool) -> Any:
    if isinstance(value, str):
        return text
    if isinstance(value, Mapping):
        made = {key: _replaced(item, text, extended=extended) for key, item in value.items()}
        return {**made, COPIED: text} if extended else made
    if isinstance(value, list | tuple):
        items = [_replaced(item, text, extended=extended) for item in value]
        return [*items, {COPIED: text}] if extended else items
    return value


Route = tuple[Any, ...]


def _texts(value: Any, at: Route = ()) -> Iterator[Route]:
    if isinstance(value, str):
        yield at
    elif isinstance(value, Mapping | list | tuple):
        for key, item in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _texts(item, (*at, key))


def _with(value: Any, at: Route, text: str) -> Any:
    if not at:
        return text
    if isinstance(value, Mapping):
        return {key: _with(item, at[1:], text) if key == at[0] else item for key, item in value.items()}
    return [_with(item, at[1:], text) if place == at[0] else item for place, item in enumerate(value)]
