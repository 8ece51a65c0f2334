"""Key names: how the code of one graph runs on the state of another, where its keys go by other names."""

from __future__ import annotations

import inspect
import types
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from diagnosis.runtime.checks import arity
from diagnosis.runtime.commands import Command, Send
from diagnosis.runtime.decisions import Condition, Decision, Effect, Reading, RouterDecision, Rule, State
from diagnosis.runtime.definition import Action, Node


class Renamed(Mapping[str, Any]):
    """A state that shows some of its keys under names of their own, and nothing else.

    Args:
        state: the state.
        names: what a key is called here -> what it is called there.
    """

    __slots__ = ("_names", "_state")

    def __init__(self, state: State, names: Mapping[str, str]) -> None:
        self._state = state
        self._names = names

    def __getitem__(self, key: str) -> Any:
        return self._state[self._names[key]]

    def __iter__(self) -> Iterator[str]:
        there = frozenset(self._state)
        return (key for key, name in self._names.items() if name in there)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __or__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**self, **other}

    def __ror__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**other, **self}

    def __repr__(self) -> str:
        return repr({**self})

    def copy(self) -> dict[str, Any]:
        """Give a dictionary with the same entries."""
        return {**self}


class Renaming:
    """The key names of a graph, and those that its keys have in the graph that it became a part of.

    Args:
        graph: how messages name the part.
        names: key of the part -> key of the whole.
    """

    def __init__(self, graph: str, names: Mapping[str, str]) -> None:
        self._graph = graph
        self._names = names
        self._same = all(key == name for key, name in names.items())

    def keys(self, keys: Iterable[str]) -> tuple[str, ...]:
        """Give the names of some keys in the whole.

        Args:
            keys: keys of the part.
        """
        return tuple(self._names[key] for key in keys)

    def node(self, node: Node, owns: Iterable[str]) -> Node:
        """Give a node of the part as one of the whole; only what concerns keys is changed.

        Args:
            node: the node.
            owns: what it may write where it does not say.
        """
        owned = self.keys(owns if node.owns is None else node.owns)
        if self._same:
            return replace(node, owns=owned)
        aliases = {key: name for key, name in self._names.items() if key != name}
        return replace(
            node,
            aliases={**aliases, **{key: self._names[name] for key, name in node.aliases.items()}},
            action=self._action(node.action),
            owns=owned,
            entry=tuple(map(self._effect, node.entry)),
            exit=tuple(map(self._effect, node.exit)),
            attempt=self._reading(node.attempt),
            outcome=self._reading(node.outcome),
        )

    def decision(self, decision: Decision | RouterDecision) -> Decision | RouterDecision:
        """Give a decision of the part as one of the whole.

        Args:
            decision: rules, or a router.
        """
        if self._same:
            return decision
        if isinstance(decision, RouterDecision):
            router = decision.router
            reads = None if decision.reads is None else self.keys(decision.reads)
            return RouterDecision(lambda state: self._given(router(Renamed(state, self._names))), reads)
        return Decision(
            Rule(rule.route, rule.reason, tuple(map(self._condition, rule.when)), rule.name) for rule in decision.rules
        )

    def _seen(self, function: Callable[[State], Any]) -> Callable[[State], Any]:
        names = self._names
        return lambda state: function(Renamed(state, names))

    def _condition(self, condition: Condition) -> Condition:
        return Condition(condition.name, self._seen(condition.test), self.keys(condition.reads))

    def _reading(self, reading: Reading | None) -> Reading | None:
        return None if reading is None else Reading(self._seen(reading.get), self.keys(reading.reads))

    def _effect(self, effect: Effect) -> Effect:
        apply = effect.apply

        def renamed(state: State) -> Any:
            return self._given(apply(Renamed(state, self._names)))

        return Effect(effect.name, renamed, reads=self.keys(effect.reads), writes=self.keys(effect.writes))

    def _action(self, action: Action) -> Action:
        """Give the action that is called with the names of the whole, with the config where this one is."""
        if arity(action) == 1:
            call = self._called(action)
            return lambda state: call(state)
        call = self._called(action)
        return lambda state, config: call(state, config)

    def _called(self, action: Action) -> Action:
        names = self._names
        if inspect.iscoroutinefunction(action) or inspect.iscoroutinefunction(type(action).__call__):

            async def awaited(state: State, *config: Any) -> Any:
                return self._given(await action(Renamed(state, names), *config))

            return awaited

        def called(state: State, *config: Any) -> Any:
            given = action(Renamed(state, names), *config)
            if type(given) is not dict and (type(given) is types.CoroutineType or inspect.isawaitable(given)):
                return self._later(given)
            return self._given(given)

        return called

    async def _later(self, given: Awaitable[Any]) -> Any:
        return self._given(await given)

    def _given(self, given: Any) -> Any:
        """Give what an action, an update or a router gave, with the names of the whole."""
        if isinstance(given, Command):
            goto = given.goto if isinstance(given.goto, str) else [self._given(way) for way in given.goto]
            return Command(goto, self._given(given.update), reason=given.reason)
        if isinstance(given, Send):
            return Send(given.goto, self._given(given.update))
        if isinstance(given, Mapping):
            return {self._written(key): value for key, value in given.items()}
        if isinstance(given, list | tuple):
            return [self._given(way) if isinstance(way, Send) else way for way in given]
        return given

    def _written(self, key: Any) -> Any:
        # What is no key of the part must be none of the whole, whatever keys that has.
        return self._names.get(key) or (f"{key} (of subgraph {self._graph})" if isinstance(key, str) else key)
