"""Where branches stand: a lane for each that can ever be under way, as Promela makes no variables at run time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from diagnosis.exports.domains import Held
from diagnosis.exports.trees import ExportError
from diagnosis.runtime import (
    REPEAT,
    Append,
    Choice,
    Command,
    Conditional,
    Definition,
    FanOut,
    FanOuts,
    Remove,
    Replace,
    ReplaceAll,
    RunError,
    Send,
    Wait,
    freeze,
    ways_of,
)
from diagnosis.runtime.strategies import refuse_marker
from diagnosis.verify.canonical import canonical

Writes = tuple[tuple[str, Held], ...]
"""What is written, in order: (key, value)."""


LEFT_OUT = Held(("left out",), None)
"""The null of a key that a whole report leaves out: it is put in as it is."""


class ForkKind(NamedTuple):
    """What tells one fork from another at the same place.

    Attributes:
        source: the node that opens it.
        join: where its branches meet.
        wait: ``all_of`` or ``any_of``.
        limit: how many branches may be under way at once.
    """

    source: str
    join: str
    wait: Wait
    limit: int | None


@dataclass(frozen=True)
class Lane:
    """The place of a branch: its number in a kind of fork, in the lane around it.

    Attributes:
        around: the lane that the fork opens in; ``None`` for the run itself.
        fork: the kind of fork; ``None`` for the run itself.
        number: the branch's place in the fork.
    """

    around: Lane | None = None
    fork: ForkKind | None = None
    number: int = 0

    @property
    def line(self) -> tuple[Lane, ...]:
        """The lanes from the outermost branch to this one; none for the run itself."""
        return () if self.around is None else (*self.around.line, self)

    @property
    def label(self) -> str:
        """A readable name; empty for the run itself."""
        return "_".join(f"{lane.fork.source}_{lane.number}" for lane in self.line if lane.fork)

    def leaves_aside(self, definition: Definition, key: str) -> bool:
        """Tell whether a key is private to a subgraph, so that the join of this lane's fork does not see it.

        Args:
            definition: the graph.
            key: a key of it.
        """
        private = definition.private.get(key)
        return self.fork is not None and private is not None and self.fork.source not in private


RUN = Lane()
"""The run outside branches."""


@dataclass(frozen=True)
class Way:
    """One thing that a decision may come to.

    Attributes:
        choices: a choice, or one for each branch that it opens.
        fan_out: what opens them, where branches open.
        sent: for each branch what only it sees.
        update: what a Command of a router updates on the way.
        repeats: whether the reason that led here is repeated.
    """

    choices: tuple[Choice, ...]
    fan_out: FanOut | None = None
    sent: tuple[Writes, ...] = ()
    update: Writes = ()
    repeats: bool = False

    @property
    def fork(self) -> ForkKind:
        """The kind of fork that it opens."""
        assert self.fan_out is not None
        assert self.fan_out.join is not None
        fork = self.fan_out.fork
        return ForkKind(self.fan_out.source, self.fan_out.join, fork.wait, fork.max_concurrency)


class Ways:
    """The ways out of the nodes of one graph, as its definition declares them.

    Args:
        definition: the graph.
        deciding: the keys that decide; of others only whether they take a value is told.
    """

    def __init__(self, definition: Definition, deciding: Collection[str]) -> None:
        self._definition = definition
        self._deciding = frozenset(deciding)
        self._fan_outs = FanOuts(definition)
        self._log = definition.event_log.key if definition.event_log else None

    def fixed(self, node: str) -> Way | None:
        """Give the way along the fixed edges of a node, or ``None`` where it has none.

        Args:
            node: the node.
        """
        edges = self._definition.edges_from(node)
        if not edges:
            return None
        fan_out = self._fan_outs.of(node, "edges")
        choices = tuple(
            Choice(node, edge.target, None, None, "" if edge.reason is REPEAT else str(edge.reason)) for edge in edges
        )
        if fan_out is not None:
            return Way(choices, fan_out)
        return Way(choices[:1], repeats=edges[0].reason is REPEAT)

    def of_rule(self, conditional: Conditional, number: int) -> Way:
        """Give the way of a rule.

        Args:
            conditional: the decision with its targets.
            number: the place of the rule.
        """
        rule = conditional.decision.rules[number]  # type: ignore[union-attr]
        choices = tuple(
            Choice(conditional.source, conditional.targets[route], route, rule.name, rule.reason)
            for route in rule.routes
        )
        return Way(choices, self._fan_outs.of(conditional.source, "rule", rule.name))

    def routed(self, conditional: Conditional, given: Any) -> Way:
        """Give the way that a router chose.

        Args:
            conditional: the router with its targets.
            given: what it gave.

        Raises:
            RunError: the graph does not allow it.
        """
        fan_out = self._fan_outs.of(conditional.source, "router")
        if not isinstance(given, Command):
            if not isinstance(given, str | Send | list | tuple):
                raise RunError(f"{given!r} is no route")
            goto = (given,) if isinstance(given, Send) else given
            return self._going(conditional.source, goto, conditional.targets, fan_out, None, None)
        for key in given.update:
            if key not in conditional.owns:
                raise RunError(f"the router updates {key!r}, which it does not own")
        update = self.writes(given.update)
        return self._going(
            conditional.source, given.goto, conditional.targets, fan_out, None, given.reason, update=update
        )

    def commanded(self, node: str, command: Command) -> Way:
        """Give the way that a Command of a node says.

        Args:
            node: the node.
            command: the Command.

        Raises:
            RunError: the graph does not allow it.
        """
        targets = self._definition.node(node).goto
        return self._going(
            node, command.goto, targets, self._fan_outs.of(node, "goto"), "goto", command.reason, update=()
        )

    def _going(
        self,
        node: str,
        goto: Any,
        targets: Mapping[str, str],
        fan_out: FanOut | None,
        rule: str | None,
        reason: str | None,
        update: Writes = (),
    ) -> Way:
        sends = ways_of(goto)
        for send in sends:
            if send.goto not in targets:
                raise RunError(f"{send.goto!r} is not in the mapping")
        choices = tuple(Choice(node, targets[send.goto], send.goto, rule, reason or send.goto) for send in sends)
        if isinstance(goto, str):
            return Way(choices, update=update)
        if not sends or fan_out is None or not all(send.goto in fan_out.routes for send in sends):
            raise RunError("the routes in a list open no branches here")
        return Way(choices, fan_out, tuple(self.writes(send.update) for send in sends), update)

    def writes(self, update: Mapping[str, Any], allowed: Mapping[str, Any] | None = None) -> Writes:
        """Check and freeze an update.

        Args:
            update: key -> value.
            allowed: the keys that it may hold; any key of the graph where absent.

        Raises:
            RunError: it holds another key.
            ValueRefusedError: a value cannot be kept.
            MergeError: a value is a marker where none may stand.
            ExportError: it holds the event key.
        """
        keys = self._definition.keys
        made = []
        for key, value in update.items():
            if key not in (keys if allowed is None else allowed):
                raise RunError(f"{key!r} may not be written")
            if key == self._log:
                raise ExportError(f"key {key!r} holds events, and something else than the runtime writes it")
            frozen = freeze(value)
            if not isinstance(keys[key], Append):
                refuse_marker(frozen)
            made.append((key, self._held(key, frozen)))
        return tuple(made)

    def _held(self, key: str, frozen: Any) -> Held:
        """Give a value so that it can be compared as far as it decides."""
        strategy = self._definition.keys[key]
        if key in self._deciding and isinstance(strategy, Replace):
            return Held(canonical(strategy.read(frozen)), frozen)
        fits = isinstance(strategy, Replace) and strategy.type is None
        return Held(None if fits else canonical(frozen), frozen)


def edits(value: Any) -> bool:
    """Tell whether what is written takes something out of a history.

    Args:
        value: a frozen value.
    """
    if isinstance(value, Remove | ReplaceAll):
        return True
    return isinstance(value, tuple) and any(isinstance(item, Remove) for item in value)
