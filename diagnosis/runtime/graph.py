"""The builder: add nodes and edges, then compile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

from diagnosis.runtime.compiled import DEFAULT_LIMIT, CompiledGraph
from diagnosis.runtime.decisions import Decision, Effect, Event, Reading, RouterDecision, State, is_text, keys_of
from diagnosis.runtime.definition import FIXED, Action, Conditional, Definition, Edge, EventLog, Node, Repeat
from diagnosis.runtime.errors import DefinitionError
from diagnosis.runtime.strategies import Replace, Strategy


class StateGraph:
    """A graph under construction.

    Args:
        keys: the state keys: a mapping from key to strategy, or names, which are then Replace keys.
        name: how messages and pictures name the graph.
        inputs: the keys that the input of a run may hold, optionally with the type of their values; all where absent.
        id_key: the input key that identifies a run; made when absent, and the default thread id.

    Raises:
        DefinitionError: a key is no text.
    """

    def __init__(
        self,
        keys: Mapping[str, Strategy] | Iterable[str],
        *,
        name: str = "graph",
        inputs: Mapping[str, type] | Iterable[str] | None = None,
        id_key: str | None = None,
    ) -> None:
        given: Any = keys
        if not isinstance(given, Iterable):
            raise DefinitionError(f"the keys of a graph are a mapping from key to strategy, or names; found {given!r}")
        self._keys = dict(keys) if isinstance(keys, Mapping) else {key: Replace() for key in keys_of(keys)}
        for key in self._keys:
            if not is_text(key):
                raise DefinitionError(f"a state key is a non-blank text, found {key!r}")
        self._name = name
        self._inputs: dict[str, type] | None = None
        if inputs is not None:
            self._inputs = dict(inputs) if isinstance(inputs, Mapping) else dict.fromkeys(keys_of(inputs), object)
        self._id_key = id_key
        self._nodes: list[Node] = []
        self._edges: list[Edge] = []
        self._conditionals: list[Conditional] = []
        self._log: EventLog | None = None

    def add_node(
        self,
        name: str,
        action: Action,
        *,
        kind: str = "node",
        owns: Iterable[str] | None = None,
        whole_report: bool = False,
        entry: Effect | Iterable[Effect] = (),
        exit: Effect | Iterable[Effect] = (),
        attempt: Reading | None = None,
        outcome: Reading | None = None,
    ) -> Self:
        """Add a node.

        Args:
            name: its id, unique in the graph.
            action: ``(state) -> update`` or ``(state, config) -> update``, sync or async. A second parameter that has
                a default is given the config only if it is called ``config``.
            kind: how pictures tell it apart, such as ``agent``, ``code`` or ``fallback``.
            owns: the keys that the action may write; every key where absent.
            whole_report: whether an owned Replace key that an update leaves out becomes null.
            entry: pure updates before the action.
            exit: pure updates after it.
            attempt: gives the attempt number, from the state after the entry updates; 1 where absent.
            outcome: gives the outcome in one word, from the state after the exit updates.

        Returns:
            The graph, so that calls can be chained.

        Raises:
            DefinitionError: the name is no text.
        """
        if not is_text(name):
            raise DefinitionError(f"a node's name is a non-blank text, found {name!r}")
        owned = None if owns is None else keys_of(owns)
        before = (entry,) if isinstance(entry, Effect) else tuple(entry)
        after = (exit,) if isinstance(exit, Effect) else tuple(exit)
        self._nodes.append(Node(name, action, kind, owned, whole_report, before, after, attempt, outcome))
        return self

    def add_edge(self, source: str, target: str, *, reason: str | Repeat = FIXED) -> Self:
        """Add a fixed edge.

        Args:
            source: a node or START.
            target: a node or END.
            reason: its reason code, or ``REPEAT`` for the one that led to the source.

        Returns:
            The graph.
        """
        self._edges.append(Edge(source, target, reason))
        return self

    def add_conditional_edges(
        self,
        source: str,
        decision: Decision | Callable[[State], str],
        targets: Mapping[str, str],
        *,
        reads: Iterable[str] | None = None,
    ) -> Self:
        """Add the conditional edges of a node.

        Args:
            source: the node that decides.
            decision: rules, or a plain function that gives the route key.
            targets: every route key with its node or END; nothing else is ever followed.
            reads: the keys that a plain function reads; may be left out.

        Returns:
            The graph.

        Raises:
            DefinitionError: the mapping is none, is empty, or holds something but texts.
        """
        given: object = targets
        if not isinstance(given, Mapping) or not given:
            raise DefinitionError(f"conditional edges of {source!r} need a mapping from route key to node or END")
        for route, target in targets.items():
            if not is_text(route) or not is_text(target):
                raise DefinitionError(
                    f"conditional edges of {source!r}: route keys and targets are texts, found {route!r}: {target!r}"
                )
        made = decision if isinstance(decision, Decision) else _routing(decision, reads)
        self._conditionals.append(Conditional(source, made, dict(targets)))
        return self

    def log_events(
        self,
        key: str,
        record: Callable[[Event], Any] | None = None,
        check: Callable[[Any, Any], str | None] | None = None,
    ) -> Self:
        """Keep an event of every node execution in state.

        Args:
            key: an Append key; only the runtime adds to it.
            record: gives the element for an event; a mapping of node, outcome, reason and attempt where absent.
            check: compares what an action itself reported under the key with the element about to be added, and gives
                a text that refuses it, or ``None``; where absent, an action may report nothing there.

        Returns:
            The graph.
        """
        self._log = EventLog(key, record or _plain_record, check or _no_events)
        return self

    def definition(self) -> Definition:
        """Give the graph as data, unchecked."""
        return Definition(
            self._name,
            dict(self._keys),
            tuple(self._nodes),
            tuple(self._edges),
            tuple(self._conditionals),
            self._inputs,
            self._id_key,
            self._log,
        )

    def compile(self, *, recursion_limit: int = DEFAULT_LIMIT) -> CompiledGraph:
        """Check everything at once and give a graph that runs.

        Args:
            recursion_limit: how many node executions a run may take.

        Raises:
            CompileError: the graph has findings; the error lists all of them.
            DefinitionError: the limit is no number from 1.
        """
        return CompiledGraph(self.definition(), recursion_limit=recursion_limit)


def _routing(router: Callable[[State], str], reads: Iterable[str] | None) -> RouterDecision:
    return RouterDecision(router, None if reads is None else keys_of(reads))


def _plain_record(event: Event) -> dict[str, Any]:
    return {"node": event.node, "outcome": event.outcome, "reason": event.reason, "attempt": event.attempt}


def _no_events(own: Any, record: Any) -> str | None:
    return "it reported events of its own; the runtime writes them"
