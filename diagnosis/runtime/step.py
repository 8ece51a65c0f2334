"""The pure step in two halves: ``enter`` before a node's action, ``leave`` after it.

The runtime awaits the action between the two; exploration puts every outcome between them. Nothing here waits, logs or
remembers: a run's position and state go in and come out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NoReturn

from diagnosis.runtime.decisions import Choice, Condition, Decision, Event, RouterDecision, State
from diagnosis.runtime.definition import COMPLETED, END, Definition, Edge, EventLog, Node, Repeat
from diagnosis.runtime.errors import (
    ConditionError,
    DefinitionError,
    EffectError,
    InputError,
    OwnershipError,
    ReportError,
    UndeclaredKeyError,
    UnmappedRouteError,
    ValueRefusedError,
    one_of,
)
from diagnosis.runtime.frozen import ATOMS, freeze
from diagnosis.runtime.strategies import MergeError, Merging

Report = Mapping[str, Any]
"""What a node's action reported: a frozen update."""

_KEPT_EVENTS = 1024


@dataclass(frozen=True, slots=True)
class Position:
    """Where a run stands.

    Attributes:
        node: the node that comes next, or END.
        reason: the reason code that led there; ``None`` at the start.
    """

    node: str
    reason: str | None = None


class _Way:
    """One possible choice, with the position it leads to and the events seen on it."""

    __slots__ = ("choice", "events", "plain", "position", "record")

    def __init__(self, choice: Choice, record: Callable[[Event], Any] | None) -> None:
        self.choice = choice
        self.position = Position(choice.target, choice.reason)
        self.record = record
        self.events: dict[tuple[str, int], tuple[Event, Any]] = {}
        self.plain = self.event(COMPLETED, 1)

    def event(self, outcome: str, attempt: int) -> tuple[Event, Any]:
        found = self.events.get((outcome, attempt))
        if found is None:
            event = Event(self.choice.source, outcome, attempt, self.choice)
            found = (event, freeze(self.record(event)) if self.record else None)
            if len(self.events) < _KEPT_EVENTS:
                self.events[(outcome, attempt)] = found
        return found


class _Plan:
    """What a step needs to know of one node, looked up once at compile time."""

    __slots__ = ("attempt", "edge", "entry", "exit", "name", "node", "outcome", "router", "rules", "way", "ways", "whole")
    __slots__ += ("writable",)

    def __init__(self, definition: Definition, node: Node) -> None:
        self.node = node
        self.name = node.name
        self.writable = frozenset(definition.writable(node))
        self.whole = definition.whole(node)
        self.entry = node.entry
        self.exit = node.exit
        self.attempt = node.attempt.get if node.attempt else None
        self.outcome = node.outcome.get if node.outcome else None
        self.way: _Way | None = None
        self.ways: dict[str, _Way] = {}
        self.edge: Edge | None = None
        self.router: Callable[[State], str] | None = None
        self.rules: list[tuple[tuple[Callable[[State], bool], ...], _Way]] = []
        record = definition.event_log.record if definition.event_log else None
        branch = definition.branch(node.name)
        if branch is None:
            self.edge = next(edge for edge in definition.edges if edge.source == node.name)
            if not isinstance(self.edge.reason, Repeat):
                self.way = _Way(Choice(node.name, self.edge.target, None, None, self.edge.reason), record)
        elif isinstance(branch.decision, RouterDecision):
            self.router = branch.decision.router
            self.ways = {
                route: _Way(Choice(node.name, target, route, None, route), record)
                for route, target in branch.targets.items()
            }
        else:
            self.rules = [
                (
                    tuple(condition.test for condition in rule.when),
                    _Way(Choice(node.name, branch.targets[rule.route], rule.route, rule.name, rule.reason), record),
                )
                for rule in branch.decision.rules
            ]


def _aside(old: Any, new: Any) -> Any:
    raise NotImplementedError("events an action reports are compared, never merged")


class Step:
    """The step of one checked graph.

    Args:
        definition: a graph without findings.
    """

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self.start = Position(definition.entry or END)
        self._plans = {name: _Plan(definition, definition.node(name)) for name in definition.names}
        self._log: EventLog | None = definition.event_log
        self._log_key = definition.event_log.key if definition.event_log else None
        self._merges: dict[str, Merging] = {}
        for key, strategy in definition.keys.items():
            merge = strategy.merging()
            if merge is not None:
                self._merges[key] = _aside if key == self._log_key else merge

    def begin(self, values: Mapping[str, Any]) -> tuple[Position, dict[str, Any]]:
        """Give the position and state that a run starts with.

        Args:
            values: the input: key -> value.

        Returns:
            The first position, and a state that holds every declared key.

        Raises:
            InputError: a key that the graph does not take, or a value of the wrong type.
        """
        definition = self.definition
        allowed = definition.inputs if definition.inputs is not None else definition.keys
        state = {key: strategy.initial for key, strategy in definition.keys.items()}
        for key, value in values.items():
            if key not in allowed:
                raise InputError(f"the input of graph {definition.name!r} holds {key!r}; it takes {one_of(allowed)}")
            if definition.inputs is not None and not isinstance(value, definition.inputs[key]):
                raise InputError(
                    f"the input of graph {definition.name!r}: {key!r} must be a {definition.inputs[key].__name__}, "
                    f"found {type(value).__name__}"
                )
            try:
                state[key] = definition.keys[key].start(value)
            except (ValueRefusedError, MergeError) as error:
                raise InputError(f"the input of graph {definition.name!r}: {key!r}: {error}") from error
        return self.start, state

    def enter(self, position: Position, state: Mapping[str, Any]) -> tuple[Mapping[str, Any], int]:
        """Do what comes before a node's action.

        Args:
            position: where the run stands; not END.
            state: the state there; it is not changed.

        Returns:
            The state that the action sees, and its attempt, from 1.

        Raises:
            EffectError: an entry update raised or wrote what it does not declare.
            ConditionError: the attempt function raised.
        """
        plan = self._plan(position)
        if plan.entry:
            entered = {**state}
            for effect in plan.entry:
                self._apply(plan, effect, entered)
            state = entered
        if plan.attempt is None:
            return state, 1
        return state, self._read(plan, "attempt", plan.attempt, state)

    def leave(
        self, position: Position, state: Mapping[str, Any], update: object
    ) -> tuple[Position, dict[str, Any], Event, Report]:
        """Do what comes after a node's action: check, merge, decide, record, move.

        Args:
            position: where the run stands; not END.
            state: the state that ``enter`` gave; it is not changed.
            update: what the action returned.

        Returns:
            The next position, the next state, the event with its decision, and the update as it was taken in.

        Raises:
            ReportError: the update is no mapping, or holds a value that cannot be kept.
            UndeclaredKeyError: it holds a key that the graph does not declare.
            OwnershipError: it holds a key that the node does not own.
            EffectError: an exit update raised or wrote what it does not declare.
            ConditionError: a condition, the router or a reading raised.
            UnmappedRouteError: no rule held, or the route key is not in the mapping.
        """
        plan = self._plans.get(position.node) or self._plan(position)
        if type(update) is not dict and not isinstance(update, Mapping):
            raise ReportError(
                f"node {plan.name!r} returned {type(update).__name__}, not a mapping; "
                "an action returns the keys it updates, {} for none",
                node=plan.name,
            )
        if not plan.writable.issuperset(update):
            self._refuse_keys(plan, update)
        merged = {**state}
        report: dict[str, Any] = {}
        merges = self._merges
        own = None
        key = ""
        try:
            for key, value in update.items():
                if type(value) not in ATOMS:
                    value = freeze(value)
                report[key] = value
                merge = merges.get(key)
                if merge is None:
                    merged[key] = value
                elif merge is _aside:
                    own = value
                else:
                    merged[key] = merge(merged[key], value)
        except Exception as error:
            raise ReportError(f"node {plan.name!r} wrote {key!r}: {error}", node=plan.name) from error
        for key in plan.whole:
            if key not in report:
                merged[key] = None
        for effect in plan.exit:
            self._apply(plan, effect, merged)
        way = plan.way or self._decide(plan, position, merged)
        if plan.outcome is None and plan.attempt is None:
            event, record = way.plain
        else:
            outcome = COMPLETED if plan.outcome is None else self._read(plan, "outcome", plan.outcome, merged)
            attempt = 1 if plan.attempt is None else self._read(plan, "attempt", plan.attempt, state)
            event, record = way.event(outcome, attempt)
        log = self._log
        if log is not None:
            if own is not None:
                refusal = log.check(own, record)
                if refusal is not None:
                    raise ReportError(f"node {plan.name!r}: {refusal}", node=plan.name, attempt=event.attempt)
            merged[log.key] = merged[log.key].extended((record,))
        return way.position, merged, event, report

    def _plan(self, position: Position) -> _Plan:
        plan = self._plans.get(position.node)
        if plan is None:
            raise DefinitionError(f"no node to execute at {position.node!r}; nodes are {one_of(self._plans)}")
        return plan

    def _decide(self, plan: _Plan, position: Position, state: Mapping[str, Any]) -> _Way:
        view = MappingProxyType(state)
        if plan.rules:
            tests: tuple[Callable[[State], bool], ...] = ()
            test = None
            way: _Way | None = None
            try:
                for tests, way in plan.rules:
                    for test in tests:
                        if not test(view):
                            break
                    else:
                        return way
            except Exception as error:
                raise self._condition_failed(plan, tests, test, way, error) from error
            raise UnmappedRouteError(
                f"node {plan.name!r}: no rule of its decision holds; end the decision with a rule without conditions",
                node=plan.name,
            )
        if plan.router is not None:
            try:
                route = plan.router(view)
            except Exception as error:
                raise ConditionError(
                    f"the router of node {plan.name!r} raised {told(error)}", node=plan.name
                ) from error
            found = plan.ways.get(route) if isinstance(route, str) else None
            if found is None:
                hint = " (END must be in the mapping to be a route)" if route == END else ""
                raise UnmappedRouteError(
                    f"the router of node {plan.name!r} gave {route!r}, which is not in its mapping{hint}; "
                    f"the keys are {one_of(plan.ways)}",
                    node=plan.name,
                )
            return found
        reason = position.reason or ""
        if reason not in plan.ways:
            edge = plan.edge
            assert edge is not None
            plan.ways[reason] = _Way(
                Choice(plan.name, edge.target, None, None, reason), self._log.record if self._log else None
            )
        return plan.ways[reason]

    def _condition_failed(
        self, plan: _Plan, tests: tuple[Callable[[State], bool], ...], test: Any, way: _Way | None, error: Exception
    ) -> ConditionError:
        branch = self.definition.branch(plan.name)
        assert branch is not None and isinstance(branch.decision, Decision) and way is not None
        rule = next(rule for rule in branch.decision.rules if rule.name == way.choice.rule)
        condition: Condition = rule.when[tests.index(test)]
        return ConditionError(
            f"node {plan.name!r}, rule {rule.name!r}, condition {condition.name!r} raised {told(error)}", node=plan.name
        )

    def _read(self, plan: _Plan, what: str, get: Callable[[State], Any], state: Mapping[str, Any]) -> Any:
        try:
            value = get(MappingProxyType(state))  # type: ignore[arg-type]
        except Exception as error:
            raise ConditionError(f"node {plan.name!r}: its {what} function raised {told(error)}", node=plan.name) from error
        fits = (
            isinstance(value, int) and value >= 1 and not isinstance(value, bool)
            if what == "attempt"
            else isinstance(value, str) and value.strip() != ""
        )
        if not fits:
            wanted = "a whole number from 1" if what == "attempt" else "a non-blank text"
            raise ConditionError(f"node {plan.name!r}: its {what} function gave {value!r}, not {wanted}", node=plan.name)
        return value

    def _apply(self, plan: _Plan, effect: Any, state: dict[str, Any]) -> None:
        try:
            changes = effect.apply(MappingProxyType(state))
            if not changes:
                return
            for key, value in changes.items():
                if key not in effect.writes:
                    raise ValueRefusedError(f"it wrote {key!r}; it declares {one_of(effect.writes)}")
                merge = self._merges.get(key)
                state[key] = freeze(value) if merge is None else merge(state[key], freeze(value))
        except Exception as error:
            raise EffectError(
                f"node {plan.name!r}, update {effect.name!r}: {told(error)}", node=plan.name
            ) from error

    def _refuse_keys(self, plan: _Plan, update: Mapping[Any, Any]) -> NoReturn:
        keys = self.definition.keys
        for key in update:
            if key not in keys:
                raise UndeclaredKeyError(
                    f"node {plan.name!r} wrote {key!r}, which the graph does not declare; its keys are {one_of(keys)}",
                    node=plan.name,
                )
        key = next(key for key in update if key not in plan.writable)
        allowed = [key for key in keys if key in plan.writable]
        raise OwnershipError(
            f"node {plan.name!r} wrote {key!r}, which it does not own; it may write {one_of(allowed)}", node=plan.name
        )


def told(error: BaseException) -> str:
    """Say what an exception is, in one line.

    Args:
        error: any exception.
    """
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


