"""The keys of a graph and its subgraphs: which they share, and which a subgraph keeps to itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from diagnosis.runtime.decisions import Effect, State
from diagnosis.runtime.definition import Definition
from diagnosis.runtime.errors import one_of
from diagnosis.runtime.frozen import FrozenList, History, register_immutable
from diagnosis.runtime.markers import alike
from diagnosis.runtime.strategies import Append, Merging, Replace, Strategy, refuse_marker
from diagnosis.runtime.subgraph import Child


@register_immutable
@dataclass(frozen=True, slots=True)
class Afresh:
    """What the entry of a subgraph writes to its private keys: they start with a value, whatever they held.

    Attributes:
        value: a value as a run starts with it, frozen.
    """

    value: Any


@dataclass(frozen=True)
class Private(Strategy):
    """The strategy of a private key: that of the subgraph's own key, which can also start afresh.

    Attributes:
        of: the strategy of the key where it comes from.
    """

    of: Strategy

    def start(self, value: Any) -> Any:
        """Give the stored form of a value that the subgraph starts with.

        Args:
            value: an initial or input value.
        """
        return self.of.start(value)

    def merging(self) -> Merging:
        """Give the function that merges, and starts afresh."""
        merge = self.of.merging()

        def merge_or_start(old: Any, new: Any) -> Any:
            if type(new) is Afresh:
                return new.value
            if merge is None:
                refuse_marker(new)
                return new
            return merge(old, new)

        return merge_or_start


@dataclass(frozen=True)
class PrivateReplace(Private, Replace):
    """The strategy of a private key that is a Replace key."""


def _private(strategy: Strategy) -> Strategy:
    if isinstance(strategy, Private):
        return strategy
    kind = PrivateReplace if isinstance(strategy, Replace) else Private
    return kind(strategy, initial=strategy.initial, read=strategy.read)


def _same(one: Strategy, other: Strategy, also_initial: bool) -> bool:
    """Tell whether two strategies are of one type and have equal options."""
    options = [field.name for field in fields(one) if field.name != "initial"]
    return (
        type(one) is type(other)
        and all(getattr(one, option) == getattr(other, option) for option in options)
        and (not also_initial or alike(one.initial, other.initial))
    )


def _told(strategy: Strategy) -> str:
    """Write a strategy with the options that are not left as they are."""
    told = []
    for field in fields(strategy):
        value = getattr(strategy, field.name)
        default = strategy.start(None) if field.name == "initial" else field.default
        if value != default:
            told.append(f"{field.name}={getattr(value, '__name__', None) or repr(value)}")
    return f"{type(strategy).__name__}({', '.join(told)})"


class SharedKeys:
    """The keys of a graph and of its subgraphs.

    Attributes:
        all: key -> strategy.
        private: private key -> the nodes of the subgraph that it belongs to.
        noted: private key that is an output of its subgraph -> the private key under which it is noted when it is
            written, and the word that is noted.
    """

    def __init__(self, outline: Definition) -> None:
        self.all = dict(outline.keys)
        self.private: dict[str, frozenset[str]] = {}
        self.noted: dict[str, tuple[str, str]] = {}
        self._log = outline.event_log.key if outline.event_log else None
        self._from = dict.fromkeys(outline.keys, f"graph {outline.name!r}")

    @property
    def open(self) -> list[str]:
        """The keys that are private to none."""
        return [key for key in self.all if key not in self.private]

    def join(self, child: Child) -> None:
        """Let the keys of a StateGraph join."""
        for key in child.names:
            strategy = child.definition.keys[key]
            if not isinstance(strategy, Strategy):
                strategy = Replace()  # what it is instead is told already
            if key not in self.all:
                self.all[key] = strategy
                self._from[key] = f"subgraph {child.name!r}"
            else:
                advice = "or compile the subgraph, so that it has keys of its own"
                self._compare(child, key, key, strategy, advice, also_initial=True)
        self._log_of(child)
        self._hide(child, child.hidden)

    def give(self, child: Child) -> None:
        """Give a compiled graph keys of its own, shared with the graph where they are inputs and outputs alike."""
        own, here, subgraph = list(child.names), self.open, child.subgraph
        inputs = outputs = {key: key for key in own if key in here}
        if subgraph.inputs is not None:
            inputs = _known(child, "inputs", subgraph.inputs, (own, "the subgraph"), (here, "the graph"))
        if subgraph.outputs is not None:
            outputs = _known(child, "outputs", subgraph.outputs, (here, "the graph"), (own, "the subgraph"))
        shared = {key: name for key, name in inputs.items() if outputs.get(name) == key}
        strategies = child.definition.keys
        for key, name in shared.items():
            # It starts with what the graph has there, whatever its own initial value is.
            advice = "or say with inputs= and outputs= which keys are shared"
            self._compare(child, key, name, strategies[key], advice, also_initial=False)
        child.names = {key: shared.get(key, f"{child.name}.{key}") for key in own}
        self._log_of(child)
        kept = {key: name for key, name in child.names.items() if key not in shared}
        self._hide(child, {**kept, **child.hidden})
        begin = {name: strategies[key] for key, name in kept.items() if key not in inputs}
        if begin:
            values = {name: Afresh(strategy.initial) for name, strategy in begin.items()}
            child.enters.append(Effect("start", lambda state: values, writes=tuple(begin)))
        child.enters += [_input(key, name, kept[key], strategies[key]) for key, name in inputs.items() if key in kept]
        written = {name: key for name, key in outputs.items() if shared.get(key) != name}
        if written:
            self._note(child, written.values())
        for name, key in written.items():
            if name == self._log:
                detail = f"writes {name!r}, where only the runtime adds events; choose another key"
                child.found.append(child.finding("event_log", "outputs", detail))
            child.leaves.append(_output(name, child.names[key], *self.noted[child.names[key]]))

    def _note(self, child: Child, outputs: Iterable[str]) -> None:
        """Let it be noted which outputs a compiled graph writes from its entry on."""
        note = f"{child.name}.(written)"
        self._add(child, note, _private(Append(unique=True, read=_in_any_order)), None)
        self.noted.update((child.names[key], (note, key)) for key in outputs)
        none = {note: Afresh(History())}
        child.enters.append(Effect("nothing written", lambda state: none, writes=note))

    def _compare(
        self, child: Child, key: str, name: str, strategy: Strategy, advice: str, *, also_initial: bool
    ) -> None:
        """Tell where a shared key has another strategy in the subgraph."""
        other: object = self.all[name]
        if isinstance(other, Strategy) and not _same(strategy, other, also_initial):
            detail = (
                f"is {_told(strategy)} here, but {_told(other)} in {self._from[name]}"
                f"{'' if name == key else f', as {name!r}'}; give both the same strategy, {advice}"
            )
            child.found.append(child.finding("key_conflict", f"key {key!r}", detail))

    def _log_of(self, child: Child) -> None:
        log = child.definition.event_log
        if log is not None and child.names.get(log.key) != self._log:
            detail = (
                f"keeps events under {log.key!r}, but only the outermost graph does so; remove log_events from the "
                "subgraph, or let the graph log its events under the same key"
            )
            child.found.append(child.finding("event_log", "log_events", detail))

    def _hide(self, child: Child, names: Mapping[str, str]) -> None:
        """Add keys that are private to a subgraph."""
        definition = child.definition
        for key, name in names.items():
            if name in self.all:
                detail = f"is called {name!r} beside other graphs' keys, where there is a key of that name; rename that"
                child.found.append(child.finding("key_conflict", f"key {key!r}", detail))
                continue
            self._add(child, name, _private(definition.keys[key]), definition.private.get(key))
        self.noted.update((names[key], (names[note], word)) for key, (note, word) in definition.noted.items())

    def _add(self, child: Child, name: str, strategy: Strategy, inner: Iterable[str] | None) -> None:
        """Add a key that is private to a subgraph, or to a subgraph inside it that has these nodes."""
        nodes = child.definition.names if inner is None else inner
        ends = (child.entry, child.name) if inner is None else ()
        self.all[name] = strategy
        self.private[name] = frozenset((*map(child.node, nodes), *ends))
        self._from[name] = f"subgraph {child.name!r}"


def _known(
    child: Child, what: str, given: Mapping[str, str], keys: tuple[list[str], str], values: tuple[list[str], str]
) -> dict[str, str]:
    """Give the pairs of a mapping whose keys there are, and tell the others."""
    for names, (known, whose) in ((given, keys), (given.values(), values)):
        for name in dict.fromkeys(names):
            if name not in known:
                detail = f"names {name!r}; the keys of {whose} are {one_of(known)}"
                child.found.append(child.finding("unknown_key", what, detail))
    return {key: value for key, value in given.items() if key in keys[0] and value in values[0]}


def _input(key: str, name: str, private: str, strategy: Strategy) -> Effect:
    def seed(state: State) -> dict[str, Any]:
        return {private: Afresh(strategy.start(state[name]))}

    return Effect(f"input {key!r}", seed, reads=name, writes=private)


def _in_any_order(names: Any) -> frozenset[str]:
    return frozenset(names)


def _output(name: str, private: str, note: str, word: str) -> Effect:
    def write(state: State) -> dict[str, Any]:
        if word not in state[note]:
            return {}
        value = state[private]
        return {name: FrozenList(value) if type(value) is History else value}

    return Effect(f"output {name!r}", write, reads=(private, note), writes=name)
