"""The step of one node: what is looked up once, when the graph is compiled, and the two halves themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from diagnosis.runtime.commands import Command, Send, ways_of
from diagnosis.runtime.decisions import Choice, Effect, Event, RouterDecision, Rule, State, is_text
from diagnosis.runtime.definition import COMPLETED, END, GOTO, Definition, Node, Repeat
from diagnosis.runtime.errors import (
    ConditionError,
    DefinitionError,
    EffectError,
    MergeError,
    OwnershipError,
    ReportError,
    UndeclaredKeyError,
    UnmappedRouteError,
    ValueRefusedError,
    one_of,
    told,
)
from diagnosis.runtime.fanouts import FanOut, FanOuts
from diagnosis.runtime.frozen import ATOMS, MARKERS, FrozenList, freeze
from diagnosis.runtime.position import Opening, Position
from diagnosis.runtime.strategies import Merging, refuse_marker

Report = Mapping[str, Any]
"""What a node's action reported: a frozen update."""

Merges = Mapping[str, Merging | None]
"""State key -> how a new value is put together with the old one; ``None`` where it takes its place."""

Writes = list[tuple[str, Any]]
"""What was written, in order: (key, frozen value) before it is merged."""

_KEPT_EVENTS = 1024

_NOTHING: Mapping[str, Any] = MappingProxyType({})


def aside(old: Any, new: Any) -> Any:
    """Stand in for the merge function of the event key: what an action reports there is compared, never merged.

    Args:
        old: the events so far.
        new: what was reported.
    """
    raise ValueRefusedError("only the runtime adds events")


def merges_of(definition: Definition) -> Merges:
    """Give the merge function of every key of a graph.

    Args:
        definition: the graph.
    """
    merges = {key: strategy.merging() for key, strategy in definition.keys.items()}
    if definition.event_log is not None:
        merges[definition.event_log.key] = aside
    return merges


class _Way:
    """One possible decision, with the position or the fork it leads to and the events seen on it."""

    __slots__ = ("_choices", "_record", "events", "plain", "position")

    def __init__(
        self, choices: Sequence[Choice], position: Position | Opening, record: Callable[[Event], Any] | None
    ) -> None:
        self._choices = choices
        self.position = position
        self.plain = self._event(COMPLETED, 1)
        self._record = record
        self.events: dict[tuple[str, int], tuple[Event, Any]] = {}

    def _event(self, outcome: str, attempt: int) -> Event:
        first, *others = self._choices
        return Event(first.source, outcome, attempt, first, tuple(others))

    def event(self, outcome: str, attempt: int) -> tuple[Event, Any]:
        """Make the event of this decision, and the element of the event log for it; keep both for the next time."""
        event = self._event(outcome, attempt)
        try:
            made = (event, freeze(self._record(event)) if self._record else None)
        except Exception as error:
            raise ReportError(
                f"node {event.node!r}: its event cannot be recorded: {told(error)}", node=event.node
            ) from error
        if len(self.events) < _KEPT_EVENTS:
            self.events[(outcome, attempt)] = made
        return made


class NodeStep:
    """The step of one node of a checked graph.

    Args:
        definition: the graph.
        node: the node.
        merges: how the keys of the graph are merged.
        fan_outs: the fan-outs of the graph.

    Attributes:
        prepares: whether ``enter`` does anything; if not, it gives the state as it is and the attempt 1.
    """

    __slots__ = (
        "_attempt",
        "_definition",
        "_entry",
        "_exit",
        "_fan_out",
        "_goto",
        "_goto_fan_out",
        "_keys",
        "_log",
        "_log_key",
        "_merges",
        "_name",
        "_outcome",
        "_owned_by_router",
        "_plain",
        "_record",
        "_router",
        "_rules",
        "_targets",
        "_way",
        "_ways",
        "_whole",
        "_writes",
        "prepares",
    )

    def __init__(self, definition: Definition, node: Node, merges: Merges, fan_outs: FanOuts) -> None:
        self._name = node.name
        self._definition = definition
        self._keys = tuple(definition.keys)
        self._merges = merges
        self._writes = {key: merges[key] for key in definition.writable(node)}
        self._whole = definition.whole(node)
        self._entry = node.entry
        self._exit = node.exit
        self._attempt = node.attempt.get if node.attempt else None
        self._outcome = node.outcome.get if node.outcome else None
        self._log = definition.event_log
        self._log_key = definition.event_log.key if definition.event_log else None
        self._record = definition.event_log.record if definition.event_log else None
        # What most nodes do not have is asked about with one look.
        self.prepares = bool(node.entry or node.attempt)
        self._plain = not (self._whole or node.exit or node.attempt or node.outcome or definition.event_log)
        # The ways out: one fixed way; or one a rule; or one a route key; or, where a fixed edge repeats the reason that
        # led here, one a reason, made as they come.
        self._way: _Way | None = None
        self._rules: list[tuple[tuple[Callable[[State], bool], ...], _Way, Rule]] = []
        self._router: Callable[[State], Any] | None = None
        self._ways: dict[str, _Way] = {}
        self._targets: Mapping[str, str] = {}
        self._fan_out: FanOut | None = None
        self._owned_by_router: tuple[str, ...] = ()
        self._goto = node.goto
        self._goto_fan_out = fan_outs.of(node.name, "goto")
        conditional = definition.conditional(node.name)
        if conditional is None:
            edges = definition.edges_from(node.name)
            self._fan_out = fan_outs.of(node.name, "edges")
            if self._fan_out is not None:
                choices = [Choice(node.name, edge.target, None, None, str(edge.reason)) for edge in edges]
                self._way = self._opening(self._fan_out, choices)
            elif edges:
                self._targets = {"": edges[0].target}
                if not isinstance(edges[0].reason, Repeat):
                    self._way = self._leading(edges[0].target, None, None, edges[0].reason)
        elif isinstance(conditional.decision, RouterDecision):
            self._targets = conditional.targets
            self._router = conditional.decision.router
            self._fan_out = fan_outs.of(node.name, "router")
            self._owned_by_router = conditional.owns
            self._ways = {
                route: self._leading(target, route, None, route) for route, target in conditional.targets.items()
            }
        else:
            for rule in conditional.decision.rules:
                choices = [
                    Choice(node.name, conditional.targets[route], route, rule.name, rule.reason)
                    for route in rule.routes
                ]
                fan_out = fan_outs.of(node.name, "rule", rule.name)
                way = self._opening(fan_out, choices) if fan_out else self._leading_by(choices[0])
                self._rules.append((tuple(condition.test for condition in rule.when), way, rule))

    def _leading(self, target: str, route: str | None, rule: str | None, reason: str) -> _Way:
        return self._leading_by(Choice(self._name, target, route, rule, reason))

    def _leading_by(self, choice: Choice) -> _Way:
        return _Way((choice,), Position(choice.target, choice.reason), self._record)

    def _opening(self, fan_out: FanOut, choices: Sequence[Choice], sent: Sequence[Mapping[str, Any]] = ()) -> _Way:
        """Give the way that opens a branch a choice."""
        assert fan_out.join is not None
        given = sent or (_NOTHING,) * len(choices)
        targets = tuple([(choice.target, choice.reason, sent) for choice, sent in zip(choices, given, strict=True)])
        fork = fan_out.fork
        return _Way(
            choices,
            Opening(self._name, targets, fan_out.join, fork.wait, fork.max_concurrency),
            self._record,
        )

    def enter(self, state: Mapping[str, Any], log: Writes | None = None) -> tuple[Mapping[str, Any], int]:
        """Do what comes before the action.

        Args:
            state: the state; it is not changed.
            log: where the written values are noted, for a branch.

        Returns:
            The state that the action sees, and its attempt, from 1.
        """
        view = MappingProxyType(state)
        for effect in self._entry:
            changes = self._changes(effect, view, log)
            if changes:
                state = {**state, **changes}
                view = MappingProxyType(state)
        return state, 1 if self._attempt is None else self._attempt_in(self._attempt, view)

    def leave(
        self,
        position: Position,
        state: Mapping[str, Any],
        update: object,
        attempt: int | None = None,
        log: Writes | None = None,
    ) -> tuple[Position | Opening, dict[str, Any], Event, Report]:
        """Do what comes after the action: check, merge, decide, record, move.

        Args:
            position: where the run stands.
            state: the state that the action saw; it is not changed.
            update: what the action returned: an update or a Command.
            attempt: the attempt that ``enter`` gave, where it is at hand; read from the state where not.
            log: where the written values are noted, for a branch.

        Returns:
            The next position or the fork to open, the next state, the event with its decision, and the update as it
            was taken in.
        """
        goto = None
        # A copy first: the action may have kept its dictionary, and may change it at any time.
        if type(update) is dict:
            report = update.copy()
        elif isinstance(update, Command):
            goto, report = self._commanded(update), dict(update.update)
        else:
            report = self._mapping(update)
        merged: dict[str, Any] = state | report  # type: ignore[operator]
        writes = self._writes
        own = None
        key = ""
        try:
            for key, value in report.items():
                merge = writes[key]
                if type(value) not in ATOMS:
                    merged[key] = report[key] = value = freeze(value)
                    if merge is None and type(value) in MARKERS:
                        refuse_marker(value)
                if merge is not None:
                    if merge is aside:
                        merged[key], own = state[key], value
                    else:
                        merged[key] = merge(state[key], value)
        except Exception as error:
            self._refuse_keys(report)
            raise ReportError(f"node {self._name!r} wrote {key!r}: {error}", node=self._name) from error
        if log is not None:
            log.extend(report.items())
            if self._log_key in report:
                log[:] = [write for write in log if write[0] != self._log_key]
            if self._whole:
                log.extend([(key, None) for key in self._whole if key not in report])
        if self._plain:
            way = goto or self._way or self._decide(position, merged, log)
            return way.position, merged, way.plain, report
        for key in self._whole:
            if key not in report:
                merged[key] = None
        view = MappingProxyType(merged)
        for effect in self._exit:
            changes = self._changes(effect, view, log)
            if changes:
                merged.update(changes)
        way = goto or self._way or self._decide(position, merged, log)
        if attempt is None:
            attempt = 1 if self._attempt is None else self._attempt_in(self._attempt, MappingProxyType(state))
        try:
            outcome = COMPLETED if self._outcome is None else self._outcome(view)
            known = way.events.get((outcome, attempt))
        except Exception as error:
            raise self._reading_failed("outcome", error) from error
        event, record = known or self._new_event(way, outcome, attempt)
        if self._log_key is not None:
            if own is not None:
                self._compare(own, record)
            merged[self._log_key] = merged[self._log_key].extended_by_one(record)
            if log is not None:
                log.append((self._log_key, FrozenList((record,))))
        return way.position, merged, event, report

    def _mapping(self, update: object) -> dict[str, Any]:
        if not isinstance(update, Mapping):
            raise ReportError(
                f"node {self._name!r} returned {type(update).__name__}, not a mapping; "
                "an action returns the keys it updates, {} for none",
                node=self._name,
            )
        try:
            return {**update}
        except Exception as error:
            raise ReportError(
                f"node {self._name!r} returned a mapping that cannot be read: {told(error)}", node=self._name
            ) from error

    def _refuse_keys(self, report: Mapping[Any, Any]) -> None:
        wrong = [key for key in report if key not in self._writes]
        for key in wrong:
            if key not in self._keys:
                raise UndeclaredKeyError(
                    f"node {self._name!r} wrote {key!r}, {self._definition.undeclared(self._name, key)}",
                    node=self._name,
                )
        if wrong:
            raise OwnershipError(
                f"node {self._name!r} wrote {wrong[0]!r}, {self._definition.disowned(self._name, wrong[0])}",
                node=self._name,
            )

    def _changes(self, effect: Effect, state: State, log: Writes | None) -> Mapping[str, Any]:
        """Give what an effect changes: key -> its merged value."""
        try:
            changes = effect.apply(state)
            if not changes:
                return _NOTHING
            writes, merged = effect.writes, {}
            for key, value in changes.items():
                if key not in writes:
                    raise ValueRefusedError(f"it wrote {key!r}; it declares {one_of(writes)}")
                merge = self._merges[key]
                if type(value) not in ATOMS:
                    value = freeze(value)
                    if merge is None:
                        refuse_marker(value)
                merged[key] = value if merge is None else merge(state[key], value)
                if log is not None:
                    log.append((key, value))
            return merged
        except Exception as error:
            raise EffectError(f"node {self._name!r}, update {effect.name!r}: {told(error)}", node=self._name) from error

    def _decide(self, position: Position, merged: dict[str, Any], log: Writes | None) -> _Way:
        if self._rules:
            return self._first_rule(MappingProxyType(merged))
        if self._router is not None:
            return self._routed(self._router, merged, log)
        if not self._targets:
            raise UnmappedRouteError(
                f"node {self._name!r} returned no Command and has no edges of its own; return one, or add an edge",
                node=self._name,
            )
        reason = position.reason or ""
        way = self._ways.get(reason)
        if way is None:
            way = self._ways[reason] = self._leading(self._targets[""], None, None, reason)
        return way

    def _first_rule(self, view: State) -> _Way:
        tried: tuple[Any, ...] = ()
        test: Any = None
        try:
            for row in self._rules:
                tried = row
                for test in row[0]:
                    if not test(view):
                        break
                else:
                    return row[1]
        except Exception as error:
            tests, _, rule = tried
            condition = rule.when[tests.index(test)]
            raise ConditionError(
                f"node {self._name!r}, rule {rule.name!r}, condition {condition.name!r} raised {told(error)}"
                f"{self._hint(error)}",
                node=self._name,
            ) from error
        raise UnmappedRouteError(
            f"node {self._name!r}: no rule of its decision holds; end the decision with a rule without conditions",
            node=self._name,
        )

    def _routed(self, router: Callable[[State], Any], merged: dict[str, Any], log: Writes | None) -> _Way:
        try:
            route = router(MappingProxyType(merged))
        except Exception as error:
            raise ConditionError(
                f"the router of node {self._name!r} raised {told(error)}{self._hint(error)}", node=self._name
            ) from error
        way = self._ways.get(route) if is_text(route) else None
        if way is not None:
            return way
        who = f"the router of node {self._name!r}"
        if isinstance(route, Command):
            if route.update:
                self._update_by_router(route.update, merged, log)
            return self._going(who, route.goto, self._targets, self._fan_out, None, route.reason)
        if isinstance(route, list | tuple | Send):
            return self._going(who, (route,) if isinstance(route, Send) else route, self._targets, self._fan_out)
        raise self._unmapped(who, route, self._targets)

    def _commanded(self, command: Command) -> _Way:
        who = f"the Command of node {self._name!r}"
        if not self._goto:
            raise UnmappedRouteError(
                f"node {self._name!r} returned a Command, but declares no goto; add goto={{route key: target}} to "
                "its add_node",
                node=self._name,
            )
        return self._going(who, command.goto, self._goto, self._goto_fan_out, GOTO, command.reason)

    def _going(
        self,
        who: str,
        goto: Any,
        targets: Mapping[str, str],
        fan_out: FanOut | None,
        rule: str | None = None,
        reason: str | None = None,
    ) -> _Way:
        """Give the way of one route key, or the one that opens a branch for each of several."""
        if isinstance(goto, str):
            if goto not in targets:
                raise self._unmapped(who, goto, targets)
            return self._leading(targets[goto], goto, rule, reason or goto)
        try:
            sends = ways_of(goto)
        except DefinitionError as error:
            raise UnmappedRouteError(f"{who} gave {goto!r}: {error}", node=self._name) from None
        if not sends:
            raise UnmappedRouteError(
                f"{who} gave no route at all; to end the run, map a key to END and give that key", node=self._name
            )
        made: dict[str, Choice] = {}
        for send in sends:
            route = send.goto
            if route in made:
                continue
            if route not in targets:
                raise self._unmapped(who, route, targets)
            if fan_out is None:
                raise UnmappedRouteError(
                    f"{who} gave a list of routes, but declares no fork; add fork=Fork(...) where it is added",
                    node=self._name,
                )
            if route not in fan_out.routes:
                raise UnmappedRouteError(
                    f"{who} gave {route!r} in a list, which is no route that opens a branch; those that do are "
                    f"{one_of(fan_out.routes)}",
                    node=self._name,
                )
            made[route] = Choice(self._name, targets[route], route, rule, reason or route)
        assert fan_out is not None
        return self._opening(fan_out, [made[send.goto] for send in sends], [self._sent(who, send) for send in sends])

    def _sent(self, who: str, send: Send) -> Mapping[str, Any]:
        """Check and freeze what a Send carries."""
        made: dict[str, Any] = {}
        for key, value in send.update.items():
            if type(value) in ATOMS and self._merges.get(key, aside) is not aside:
                made[key] = value
                continue
            if key not in self._keys:
                raise UndeclaredKeyError(
                    f"{who} sent {key!r} to {send.goto!r}, {self._definition.undeclared(self._name, key)}",
                    node=self._name,
                )
            if self._merges[key] is aside:
                raise ReportError(f"{who} sent {key!r} to {send.goto!r}: only the runtime adds events", node=self._name)
            try:
                made[key] = freeze(value)
                if self._merges[key] is None:
                    refuse_marker(made[key])
            except (ValueRefusedError, MergeError) as error:
                raise ReportError(f"{who} sent {key!r} to {send.goto!r}: {error}", node=self._name) from error
        return made

    def _update_by_router(self, update: Mapping[str, Any], merged: dict[str, Any], log: Writes | None) -> None:
        """Merge what the Command of a router updates; only keys that the decision owns."""
        for key, value in update.items():
            if key not in self._owned_by_router:
                raise OwnershipError(
                    f"the router of node {self._name!r} updates {key!r}, which it does not own; it may update "
                    f"{one_of(self._owned_by_router)}",
                    node=self._name,
                )
            try:
                frozen = freeze(value)
                merge = self._merges[key]
                if merge is None:
                    refuse_marker(frozen)
                merged[key] = frozen if merge is None else merge(merged[key], frozen)
            except Exception as error:
                raise ReportError(
                    f"the router of node {self._name!r} wrote {key!r}: {error}", node=self._name
                ) from error
            if log is not None:
                log.append((key, frozen))

    def _unmapped(self, who: str, route: object, targets: Mapping[str, str]) -> UnmappedRouteError:
        hint = " (END must be in the mapping to be a route)" if route == END else ""
        return UnmappedRouteError(
            f"{who} gave {route!r}, which is not in its mapping{hint}; the keys are {one_of(targets)}",
            node=self._name,
        )

    def _hint(self, error: Exception) -> str:
        """Name the keys of the graph where a key was asked for that is none of them."""
        if isinstance(error, KeyError) and error.args and error.args[0] not in self._keys:
            return f"; the keys of the graph are {one_of(self._keys)}"
        return ""

    def _attempt_in(self, get: Callable[[State], Any], view: State) -> int:
        try:
            value = get(view)
        except Exception as error:
            raise self._reading_failed("attempt", error) from error
        if type(value) is not int or value < 1:
            raise ConditionError(
                f"node {self._name!r}: its attempt function gave {value!r}, not a whole number from 1", node=self._name
            )
        return value

    def _new_event(self, way: _Way, outcome: Any, attempt: int) -> tuple[Event, Any]:
        if not is_text(outcome):
            raise ConditionError(
                f"node {self._name!r}: its outcome function gave {outcome!r}, not a non-blank text", node=self._name
            )
        return way.event(outcome, attempt)

    def _reading_failed(self, what: str, error: Exception) -> ConditionError:
        return ConditionError(f"node {self._name!r}: its {what} function raised {told(error)}", node=self._name)

    def _compare(self, own: Any, record: Any) -> None:
        assert self._log is not None
        try:
            refusal = self._log.check(own, record)
        except Exception as error:
            refusal = f"its events cannot be compared: {told(error)}"
        if refusal is not None:
            raise ReportError(f"node {self._name!r}: {refusal}", node=self._name)
