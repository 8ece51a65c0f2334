"""The builder: add nodes and edges, then compile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import chain, count
from typing import Any, Final, Self

from diagnosis.runtime.compiled import DEFAULT_LIMIT, CompiledGraph
from diagnosis.runtime.decisions import Decision, Effect, Event, Reading, RouterDecision, State, is_text, keys_of
from diagnosis.runtime.definition import (
    FIXED,
    START,
    Action,
    Conditional,
    Definition,
    Edge,
    EventLog,
    Fork,
    Node,
    Repeat,
)
from diagnosis.runtime.errors import DefinitionError
from diagnosis.runtime.flattening import flattened
from diagnosis.runtime.schema import is_schema, keys_of_schema
from diagnosis.runtime.strategies import Replace, Strategy
from diagnosis.runtime.subgraph import Subgraph, nothing, standing_for

ENTRY: Final = "entry"
"""The node that decides where a graph begins whose START has several edges or a decision."""


class StateGraph:
    """A graph under construction.

    Args:
        keys: the state keys: a mapping from key to strategy; or names, which are then Replace keys; or a class whose
            fields they are: a pydantic model, a TypedDict or a dataclass. ``Annotated[T, strategy]`` gives the strategy
            of a field, where it is not Replace, and every write is checked against ``T``.
        name: how messages and pictures name the graph.
        inputs: the keys that the input of a run may hold, optionally with the type of their values; all where absent.
        id_key: the input key that identifies a run; made when absent, and the default thread id.

    Raises:
        DefinitionError: a key is no text, or a class is no schema.
    """

    def __init__(
        self,
        keys: Mapping[str, Strategy] | Iterable[str] | type[Any],
        *,
        name: str = "graph",
        inputs: Mapping[str, type] | Iterable[str] | None = None,
        id_key: str | None = None,
    ) -> None:
        given: Any = keys
        if is_schema(given):
            given = keys_of_schema(given)
        if not isinstance(given, Iterable):
            raise DefinitionError(
                f"the keys of a graph are a mapping from key to strategy, names, or a schema class; found {given!r}"
            )
        self._keys = dict(given) if isinstance(given, Mapping) else {key: Replace() for key in keys_of(given)}
        for key in self._keys:
            if not is_text(key):
                raise DefinitionError(f"a state key is a non-blank text, found {key!r}")
        self._name = name
        self._inputs: dict[str, type] | None = None
        if inputs is not None:
            self._inputs = dict(inputs) if isinstance(inputs, Mapping) else dict.fromkeys(keys_of(inputs), object)
        self._id_key = id_key
        self._nodes: list[Node] = []
        self._subgraphs: list[Subgraph] = []
        self._edges: list[Edge] = []
        self._conditionals: list[Conditional] = []
        self._log: EventLog | None = None

    def add_node(
        self,
        name: str,
        action: Action | StateGraph | CompiledGraph,
        *,
        inputs: Mapping[str, str] | Iterable[str] | None = None,
        outputs: Mapping[str, str] | Iterable[str] | None = None,
        kind: str = "node",
        owns: Iterable[str] | None = None,
        whole_report: bool = False,
        entry: Effect | Iterable[Effect] = (),
        exit: Effect | Iterable[Effect] = (),
        attempt: Reading | None = None,
        outcome: Reading | None = None,
        goto: Mapping[str, str] | None = None,
        fork: Fork | None = None,
    ) -> Self:
        """Add a node, or a whole graph in the place of one, whose nodes are then called ``name-node``.

        A StateGraph shares all its keys. A compiled graph has keys of its own, which start afresh each time it is
        entered; those that are inputs and outputs alike are shared: it reads and writes the key of this graph. It is
        entered by a node ``name-START`` and left by one called like itself, which does nothing but write the outputs.
        END ends it, and the edges of ``name`` lead on. Its recursion limit and its inputs count for nothing.

        Args:
            name: its id, unique in the graph.
            action: ``(state) -> update`` or ``(state, config) -> update``, sync or async. A second parameter that has
                a default is given the config only if it is called ``config``. Or a graph, which takes none of the
                options below but the next two.
            inputs: for a compiled graph, key of it -> key of this graph, or names; every key of the same name where
                absent.
            outputs: for a compiled graph, key of this graph -> key of it, or names; every key of the same name where
                absent.
            kind: how pictures tell it apart, such as ``agent``, ``code`` or ``fallback``.
            owns: the keys that the action may write; every key where absent.
            whole_report: whether an owned Replace key that an update leaves out becomes null.
            entry: pure updates before the action.
            exit: pure updates after it.
            attempt: gives the attempt number, from the state after the entry updates; 1 where absent.
            outcome: gives the outcome in one word, from the state after the exit updates.
            goto: route key -> node or END: where a Command that the action returns may lead. Where it returns an
                update instead, the node's own edges are followed.
            fork: how the branches run that a Command with several route keys opens; without it, it names one.

        Returns:
            The graph, so that calls can be chained.

        Raises:
            DefinitionError: the name is no text, the goto no mapping of texts, or an option has no place here.
        """
        if not is_text(name):
            raise DefinitionError(f"a node's name is a non-blank text, found {name!r}")
        if isinstance(action, StateGraph | CompiledGraph):
            options = {"kind": kind != "node", "owns": owns is not None, "whole_report": whole_report}
            options |= {"entry": bool(entry), "exit": bool(exit), "attempt": attempt is not None}
            options |= {"outcome": outcome is not None, "goto": goto is not None, "fork": fork is not None}
            self._add_subgraph(name, action, inputs, outputs, [option for option, given in options.items() if given])
            return self
        if inputs is not None or outputs is not None:
            raise DefinitionError(
                f"node {name!r}: inputs= and outputs= are for compiled graphs; say with owns= what an action may write"
            )
        owned = None if owns is None else keys_of(owns)
        before = (entry,) if isinstance(entry, Effect) else tuple(entry)
        after = (exit,) if isinstance(exit, Effect) else tuple(exit)
        ways = {} if goto is None else _mapping(goto, f"the goto of node {name!r}")
        if fork is not None and not ways:
            raise DefinitionError(f"node {name!r}: fork= is for Commands; say with goto= where they may lead")
        self._nodes.append(Node(name, action, kind, owned, whole_report, before, after, attempt, outcome, ways, fork))
        return self

    def _add_subgraph(
        self,
        name: str,
        graph: StateGraph | CompiledGraph,
        inputs: Mapping[str, str] | Iterable[str] | None,
        outputs: Mapping[str, str] | Iterable[str] | None,
        options: list[str],
    ) -> None:
        if options:
            raise DefinitionError(
                f"subgraph {name!r} takes no {', '.join(f'{option}=' for option in options)}; give that to the nodes "
                "inside it, or to a node before or after it"
            )
        if isinstance(graph, StateGraph):
            if inputs is not None or outputs is not None:
                raise DefinitionError(
                    f"subgraph {name!r} shares all its keys, since it is a StateGraph; compile it to give it inputs= "
                    "and outputs="
                )
            if graph._holds(self):
                raise DefinitionError(
                    f"subgraph {name!r} is, or holds, the graph that it is added to; lead an edge back"
                )
        pairs = [
            None if given is None else _pairs(given, f"the {what} of subgraph {name!r}")
            for what, given in (("inputs", inputs), ("outputs", outputs))
        ]
        self._nodes.append(standing_for(name))
        self._subgraphs.append(Subgraph(name, graph, *pairs))

    def _holds(self, graph: StateGraph) -> bool:
        inner = (subgraph.graph for subgraph in self._subgraphs)
        return self is graph or any(isinstance(each, StateGraph) and each._holds(graph) for each in inner)

    def add_edge(
        self,
        source: str | Iterable[str],
        target: str | Iterable[str],
        *,
        reason: str | Repeat = FIXED,
        fork: Fork | None = None,
    ) -> Self:
        """Add a fixed edge, or several at once; several from one source open a branch each.

        Args:
            source: a node or START, or several.
            target: a node or END, or several.
            reason: its reason code, or ``REPEAT`` for the one that led to the source.
            fork: how the branches run and where they join, if that is not to be found out.

        Returns:
            The graph.

        Raises:
            DefinitionError: there is no source or no target.
        """
        sources, targets = keys_of(source), keys_of(target)
        if not sources or not targets:
            raise DefinitionError("an edge needs a source and a target, found an empty list")
        self._edges += [Edge(one, other, reason, fork) for one in sources for other in targets]
        return self

    def add_conditional_edges(
        self,
        source: str,
        decision: Decision | Callable[[State], Any],
        targets: Mapping[str, str],
        *,
        reads: Iterable[str] | None = None,
        owns: str | Iterable[str] = (),
        fork: Fork | None = None,
    ) -> Self:
        """Add the conditional edges of a node.

        Args:
            source: the node that decides.
            decision: rules, or a plain function that gives the route key; with a ``fork``, also a list of route keys
                and Sends; or a Command.
            targets: every route key with its node or END; nothing else is ever followed.
            reads: the keys that a plain function reads; may be left out.
            owns: the keys that a Command of a plain function may update.
            fork: how the branches run that several route keys open, and where they join.

        Returns:
            The graph.

        Raises:
            DefinitionError: the mapping is none, is empty, or holds something but texts.
        """
        ways = _mapping(targets, f"conditional edges of {source!r}")
        made = decision if isinstance(decision, Decision) else _routing(decision, reads)
        self._conditionals.append(Conditional(source, made, ways, fork, keys_of(owns)))
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
        """Give the graph as data, unchecked.

        Subgraphs become a part of it. Where START has a decision or several edges, they leave from a node of their own,
        so that the decision is part of what is recorded; it is called ``entry``.
        """
        outline = Definition(
            self._name,
            dict(self._keys),
            tuple(self._nodes),
            tuple(self._edges),
            tuple(self._conditionals),
            self._inputs,
            self._id_key,
            self._log,
        )
        return with_entry(flattened(outline, self._subgraphs))

    def compile(self, *, recursion_limit: int = DEFAULT_LIMIT) -> CompiledGraph:
        """Check everything at once and give a graph that runs.

        Args:
            recursion_limit: how many node executions a run may take.

        Raises:
            CompileError: the graph has findings; the error lists all of them.
            DefinitionError: the limit is no number from 1.
        """
        return CompiledGraph(self.definition(), recursion_limit=recursion_limit)


def with_entry(definition: Definition) -> Definition:
    """Give a graph whose START has one fixed edge.

    Args:
        definition: a graph whose START may have several, or a decision.
    """
    edges = definition.edges_from(START)
    if len(edges) < 2 and definition.conditional(START) is None:
        return definition
    names = chain([ENTRY], (f"{ENTRY}_{n}" for n in count(2)))
    name = next(name for name in names if name not in definition.names)
    return replace(
        definition,
        nodes=(Node(name, nothing, "entry", ()), *definition.nodes),
        edges=(
            Edge(START, name),
            *(replace(edge, source=name) if edge.source == START else edge for edge in definition.edges),
        ),
        conditionals=tuple(
            replace(each, source=name) if each.source == START else each for each in definition.conditionals
        ),
    )


def _mapping(given: object, what: str) -> dict[str, str]:
    if not isinstance(given, Mapping) or not given:
        raise DefinitionError(f"{what} need a mapping from route key to node or END")
    for route, target in given.items():
        if not is_text(route) or not is_text(target):
            raise DefinitionError(f"{what}: route keys and targets are texts, found {route!r}: {target!r}")
    return dict(given)


def _pairs(given: object, what: str) -> dict[str, str]:
    names = keys_of(given) if isinstance(given, Iterable) else (given,)
    pairs = list(given.items()) if isinstance(given, Mapping) else [(name, name) for name in names]
    if not all(is_text(key) and is_text(other) for key, other in pairs):
        raise DefinitionError(f"{what} are a mapping from key to key, or names of keys; found {given!r}")
    return dict(pairs)


def _routing(router: Callable[[State], Any], reads: Iterable[str] | None) -> RouterDecision:
    return RouterDecision(router, None if reads is None else keys_of(reads))


def _plain_record(event: Event) -> dict[str, Any]:
    return {"node": event.node, "outcome": event.outcome, "reason": event.reason, "attempt": event.attempt}


def _no_events(own: Any, record: Any) -> str | None:
    return "it reported events of its own; the runtime writes them"
