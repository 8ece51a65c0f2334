"""What a graph is made of, as plain immutable data: nodes, edges and keys."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from diagnosis.runtime.decisions import (
    Choice,
    Decision,
    Effect,
    Event,
    Reading,
    RouterDecision,
    is_count,
    is_text,
    keys_of,
)
from diagnosis.runtime.errors import DefinitionError, Finding, one_of
from diagnosis.runtime.strategies import Replace, Strategy

START: Final = "__START__"
END: Final = "__END__"

FIXED: Final = "FIXED"
"""The reason code of a fixed edge that declares none."""

COMPLETED: Final = "COMPLETED"
"""The outcome of a node that declares no function for it."""

Action = Callable[..., Any]
"""``(state) -> update`` or ``(state, config) -> update``, sync or async."""


class Repeat(enum.Enum):
    """The mark for a fixed edge whose reason code is the one that led to its source."""

    REASON = "repeat the reason that led here"


REPEAT: Final = Repeat.REASON


Wait = Literal["all_of", "any_of"]
"""What a join waits for: every branch, or the first one that does not fail."""

GOTO: Final = "goto"
"""The name of the rule that a Command of a node follows."""


@dataclass(frozen=True, slots=True)
class Fork:
    """How a fan-out runs: where its branches meet again, and what the join waits for.

    Attributes:
        join: the node that runs once, when the branches have ended; the nearest node that every way from every target
            to END passes, where absent.
        wait: ``all_of`` or ``any_of``; see :data:`Wait`.
        max_concurrency: how many branches may be under way at once; all of them where absent.
        routes: the route keys that may be chosen together; where absent, all that do not lead to END.

    Raises:
        DefinitionError: an option has a value that it cannot have.
    """

    join: str | None = None
    wait: Wait = "all_of"
    max_concurrency: int | None = None
    routes: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.join is not None and not is_text(self.join):
            raise DefinitionError(f"a fork's join is the name of a node, found {self.join!r}")
        if self.wait not in ("all_of", "any_of"):
            raise DefinitionError(f"a fork waits for 'all_of' or 'any_of' its branches, found {self.wait!r}")
        if self.max_concurrency is not None and not is_count(self.max_concurrency):
            raise DefinitionError(f"max_concurrency is a number of branches from 1, found {self.max_concurrency!r}")
        if self.routes is not None:
            object.__setattr__(self, "routes", keys_of(self.routes))


@dataclass(frozen=True, slots=True)
class Node:
    """A node and what surrounds its action.

    Attributes:
        name: the node's id.
        action: what runs; see :data:`Action`.
        kind: how pictures tell it apart, such as ``agent``, ``code`` or ``fallback``.
        owns: the keys that the action may write; ``None`` means every key that is not private to a subgraph.
        whole_report: whether an owned Replace key that an update leaves out becomes null.
        entry: updates before the action, in order.
        exit: updates after it, in order.
        attempt: gives the attempt number; 1 where absent.
        outcome: gives the outcome in one word; ``COMPLETED`` where absent.
        goto: route key -> node or END, for the Commands that the action may return.
        fork: how several route keys of one Command run; ``None`` where a Command names one only.
        aliases: what a key is called in the compiled subgraph that the node comes from -> what it is called here, where
            that differs.
    """

    name: str
    action: Action
    kind: str = "node"
    owns: tuple[str, ...] | None = None
    whole_report: bool = False
    entry: tuple[Effect, ...] = ()
    exit: tuple[Effect, ...] = ()
    attempt: Reading | None = None
    outcome: Reading | None = None
    goto: Mapping[str, str] = field(default_factory=dict)
    fork: Fork | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)

    @property
    def effects(self) -> tuple[Effect, ...]:
        """Its entry and exit updates."""
        return self.entry + self.exit


@dataclass(frozen=True, slots=True)
class Edge:
    """A fixed edge; several from one source are a fan-out.

    Attributes:
        source: a node or START.
        target: a node or END.
        reason: the reason code, or :data:`REPEAT`.
        fork: how the fan-out runs that the edge is part of.
    """

    source: str
    target: str
    reason: str | Repeat = FIXED
    fork: Fork | None = None


@dataclass(frozen=True, slots=True)
class Conditional:
    """The conditional edges of one source.

    Attributes:
        source: the node that decides.
        decision: rules, or a router.
        targets: route key -> node or END, in order.
        fork: how several route keys chosen at once run; ``None`` where the decision chooses one only.
        owns: the keys that Commands of a router may update.
    """

    source: str
    decision: Decision | RouterDecision
    targets: Mapping[str, str]
    fork: Fork | None = None
    owns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EventLog:
    """Where and how a graph keeps its events in state.

    Attributes:
        key: an Append key; the runtime adds one element per node execution.
        record: gives the element for an event.
        check: given what an action itself reported under the key, and the element that the runtime is about to add,
            gives a text that says why the report is refused, or ``None``.
    """

    key: str
    record: Callable[[Event], Any]
    check: Callable[[Any, Any], str | None]


@dataclass(frozen=True)
class Definition:
    """A whole graph as data; nothing in it has been checked yet.

    Attributes:
        name: how messages and pictures name the graph.
        keys: state key -> strategy, in order.
        nodes: in order of declaration; a name may stand twice, which the checks report.
        edges: the fixed edges.
        conditionals: the conditional ones.
        inputs: input key -> type of its value; ``None`` means that any declared key may be given.
        id_key: the input key that identifies a run: made when absent, and the default thread id.
        event_log: where events go in state, if anywhere.
        private: key that a subgraph keeps to itself -> the nodes of that subgraph; at a join of a fork outside of it,
            what branches wrote there is not merged.
        noted: private key that is an output of its subgraph -> the private key under which it is noted what the
            subgraph wrote since it was entered, and the word that is noted.
        found: what was found to be wrong when subgraphs were put into the graph.
    """

    name: str
    keys: Mapping[str, Strategy]
    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    conditionals: tuple[Conditional, ...] = ()
    inputs: Mapping[str, type] | None = None
    id_key: str | None = None
    event_log: EventLog | None = None
    private: Mapping[str, frozenset[str]] = field(default_factory=dict)
    noted: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    found: tuple[Finding, ...] = ()
    _by_name: dict[str, Node] = field(init=False, repr=False, compare=False, default_factory=dict)
    _conditionals_of: dict[str, Conditional] = field(init=False, repr=False, compare=False, default_factory=dict)
    _edges_of: dict[str, list[Edge]] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._by_name.update((node.name, node) for node in reversed(self.nodes))
        self._conditionals_of.update((each.source, each) for each in reversed(self.conditionals))
        for edge in self.edges:
            self._edges_of.setdefault(edge.source, []).append(edge)

    def node(self, name: str) -> Node:
        """Give a node by its name.

        Args:
            name: a declared name.

        Raises:
            KeyError: there is no such node.
        """
        return self._by_name[name]

    @property
    def names(self) -> tuple[str, ...]:
        """The node names, each once, in order of declaration."""
        return tuple(dict.fromkeys(node.name for node in self.nodes))

    @property
    def entry(self) -> str | None:
        """The node that START leads to, or ``None``."""
        return next((edge.target for edge in self.edges if edge.source == START), None)

    @property
    def open_keys(self) -> tuple[str, ...]:
        """The keys that no subgraph keeps to itself, in order."""
        return tuple(key for key in self.keys if key not in self.private)

    @property
    def notes(self) -> frozenset[str]:
        """The private keys under which it is noted what subgraphs wrote."""
        return frozenset(note for note, _ in self.noted.values())

    def conditional(self, source: str) -> Conditional | None:
        """Give the conditional edges of a node, or ``None`` where it has a fixed one.

        Args:
            source: a node's name.
        """
        return self._conditionals_of.get(source)

    def edges_from(self, source: str) -> tuple[Edge, ...]:
        """Give the fixed edges of a node, in order of declaration.

        Args:
            source: a node's name.
        """
        return tuple(self._edges_of.get(source, ()))

    def commanded(self, choice: Choice) -> bool:
        """Tell whether a Command of a node made a choice.

        Args:
            choice: a choice of this graph.
        """
        return choice.rule == GOTO and self.node_has_goto(choice.source)

    def node_has_goto(self, name: str) -> bool:
        """Tell whether a node may return Commands.

        Args:
            name: any name.
        """
        return name in self._by_name and bool(self._by_name[name].goto)

    def links(self) -> Iterator[tuple[str, str]]:
        """Go through every (source, target): fixed ones, conditional ones, gotos; a pair may come twice."""
        for edge in self.edges:
            yield edge.source, edge.target
        for conditional in self.conditionals:
            for target in conditional.targets.values():
                yield conditional.source, target
        for node in self.nodes:
            for target in node.goto.values():
                yield node.name, target

    def writable(self, node: Node) -> tuple[str, ...]:
        """Give the keys that a node's action may write, the event key included.

        Args:
            node: one of the nodes.
        """
        if node.owns is None:
            return self.open_keys
        return node.owns if self.event_log is None else (*node.owns, self.event_log.key)

    def undeclared(self, node: str, key: object) -> str:
        """Say of a key that the graph does not declare what there is instead.

        Args:
            node: the node that is concerned.
            key: the key.

        Returns:
            A text that begins with ``which the graph does not declare``.
        """
        there = self._by_name[node].aliases.get(key) if isinstance(key, str) else None
        if there is not None:
            return f"which the graph does not declare; {_called(key, there)}"
        known = [name for name in self.keys if name not in self.notes and node in self.private.get(name, (node,))]
        return f"which the graph does not declare; its keys are {one_of(known)}"

    def disowned(self, node: str, key: str) -> str:
        """Say of a key that a node does not own what it may write instead.

        Args:
            node: the node.
            key: the key.

        Returns:
            A text that begins with ``which it does not own``.
        """
        there = self._by_name[node].aliases.get(key)
        if there is not None:
            return f"which it does not own; {_called(key, there)}"
        writable = self.writable(self._by_name[node])
        return f"which it does not own; it may write {one_of(name for name in self.keys if name in writable)}"

    def whole(self, node: Node) -> tuple[str, ...]:
        """Give the keys that become null where the node's update leaves them out.

        Args:
            node: one of the nodes.
        """
        if not node.whole_report:
            return ()
        aside = self.event_log.key if self.event_log else None
        return tuple(
            key
            for key in (self.open_keys if node.owns is None else node.owns)
            if key != aside and isinstance(self.keys.get(key), Replace)
        )


def _called(key: object, there: str) -> str:
    return f"the {key!r} of the subgraph is called {there!r} here: write {there!r}"
