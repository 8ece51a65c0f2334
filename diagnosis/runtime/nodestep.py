"""The step of one node: what is looked up once, when the graph is compiled, and the two halves themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from diagnosis.runtime.decisions import Choice, Effect, Event, RouterDecision, Rule, State, is_text
from diagnosis.runtime.definition import COMPLETED, END, Definition, Node, Repeat
from diagnosis.runtime.errors import (
    ConditionError,
    EffectError,
    OwnershipError,
    ReportError,
    UndeclaredKeyError,
    UnmappedRouteError,
    ValueRefusedError,
    one_of,
    told,
)
from diagnosis.runtime.frozen import ATOMS, freeze
from diagnosis.runtime.strategies import Merging

Report = Mapping[str, Any]
"""What a node's action reported: a frozen update."""

Merges = Mapping[str, Merging | None]
"""State key -> how a new value is put together with the old one; ``None`` where it takes its place."""

_KEPT_EVENTS = 1024

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Position:
    """Where a run stands.

    Attributes:
        node: the node that comes next, or END.
        reason: the reason code that led there; ``None`` at the start.
    """

    node: str
    reason: str | None = None


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
    """One possible choice, with the position it leads to and the events seen on it."""

    __slots__ = ("_choice", "_record", "events", "plain", "position")

    def __init__(self, choice: Choice, record: Callable[[Event], Any] | None) -> None:
        self._choice = choice
        self.position = Position(choice.target, choice.reason)
        self.plain = Event(choice.source, COMPLETED, 1, choice)
        self._record = record
        self.events: dict[tuple[str, int], tuple[Event, Any]] = {}

    def event(self, outcome: str, attempt: int) -> tuple[Event, Any]:
        """Make the event of this choice, and the element of the event log for it, and keep both for the next time."""
        event = Event(self._choice.source, outcome, attempt, self._choice)
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

    Attributes:
        prepares: whether ``enter`` does anything; if not, it gives the state as it is and the attempt 1.
    """

    __slots__ = (
        "_attempt",
        "_entry",
        "_exit",
        "_keys",
        "_log",
        "_log_key",
        "_merges",
        "_name",
        "_outcome",
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

    def __init__(self, definition: Definition, node: Node, merges: Merges) -> None:
        self._name = node.name
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
        self._router: Callable[[State], str] | None = None
        self._ways: dict[str, _Way] = {}
        self._targets: Mapping[str, str] = {}
        conditional = definition.conditional(node.name)
        if conditional is None:
            edge = next(edge for edge in definition.edges if edge.source == node.name)
            self._targets = {"": edge.target}
            if not isinstance(edge.reason, Repeat):
                self._way = self._leading(edge.target, None, None, edge.reason)
        elif isinstance(conditional.decision, RouterDecision):
            self._router = conditional.decision.router
            self._ways = {
                route: self._leading(target, route, None, route) for route, target in conditional.targets.items()
            }
        else:
            for rule in conditional.decision.rules:
                way = self._leading(conditional.targets[rule.route], rule.route, rule.name, rule.reason)
                self._rules.append((tuple(condition.test for condition in rule.when), way, rule))

    def _leading(self, target: str, route: str | None, rule: str | None, reason: str) -> _Way:
        return _Way(Choice(self._name, target, route, rule, reason), self._record)

    def enter(self, state: Mapping[str, Any]) -> tuple[Mapping[str, Any], int]:
        """Do what comes before the action.

        Args:
            state: the state; it is not changed.

        Returns:
            The state that the action sees, and its attempt, from 1.
        """
        view = MappingProxyType(state)
        for effect in self._entry:
            changes = self._changes(effect, view)
            if changes:
                state = {**state, **changes}
                view = MappingProxyType(state)
        return state, 1 if self._attempt is None else self._attempt_in(self._attempt, view)

    def leave(
        self, position: Position, state: Mapping[str, Any], update: object, attempt: int | None = None
    ) -> tuple[Position, dict[str, Any], Event, Report]:
        """Do what comes after the action: check, merge, decide, record, move.

        Args:
            position: where the run stands.
            state: the state that the action saw; it is not changed.
            update: what the action returned.
            attempt: the attempt that ``enter`` gave, where it is at hand; read from the state where not.

        Returns:
            The next position, the next state, the event with its decision, and the update as it was taken in.
        """
        # A copy first: the action may have kept its dictionary, and may change it at any time.
        report = update.copy() if type(update) is dict else self._mapping(update)
        merged: dict[str, Any] = state | report  # type: ignore[operator]
        writes = self._writes
        own = None
        key = ""
        try:
            for key, value in report.items():
                merge = writes[key]
                if type(value) not in ATOMS:
                    merged[key] = report[key] = value = freeze(value)
                if merge is not None:
                    if merge is aside:
                        merged[key], own = state[key], value
                    else:
                        merged[key] = merge(state[key], value)
        except Exception as error:
            self._refuse_keys(report)
            raise ReportError(f"node {self._name!r} wrote {key!r}: {error}", node=self._name) from error
        if self._plain:
            way = self._way or self._decide(position, MappingProxyType(merged))
            return way.position, merged, way.plain, report
        for key in self._whole:
            if key not in report:
                merged[key] = None
        view = MappingProxyType(merged)
        for effect in self._exit:
            changes = self._changes(effect, view)
            if changes:
                merged.update(changes)
        way = self._way or self._decide(position, view)
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
                    f"node {self._name!r} wrote {key!r}, which the graph does not declare; "
                    f"its keys are {one_of(self._keys)}",
                    node=self._name,
                )
        if wrong:
            allowed = [key for key in self._keys if key in self._writes]
            raise OwnershipError(
                f"node {self._name!r} wrote {wrong[0]!r}, which it does not own; it may write {one_of(allowed)}",
                node=self._name,
            )

    def _changes(self, effect: Effect, state: State) -> Mapping[str, Any]:
        """Give what an effect changes: key -> its merged value."""
        try:
            changes = effect.apply(state)
            if not changes:
                return _NOTHING
            writes, merged = effect.writes, {}
            for key, value in changes.items():
                if key not in writes:
                    raise ValueRefusedError(f"it wrote {key!r}; it declares {one_of(writes)}")
                if type(value) not in ATOMS:
                    value = freeze(value)
                merge = self._merges[key]
                merged[key] = value if merge is None else merge(state[key], value)
            return merged
        except Exception as error:
            raise EffectError(f"node {self._name!r}, update {effect.name!r}: {told(error)}", node=self._name) from error

    def _decide(self, position: Position, view: State) -> _Way:
        if self._rules:
            return self._first_rule(view)
        if self._router is not None:
            return self._routed(self._router, view)
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

    def _routed(self, router: Callable[[State], str], view: State) -> _Way:
        try:
            route = router(view)
        except Exception as error:
            raise ConditionError(
                f"the router of node {self._name!r} raised {told(error)}{self._hint(error)}", node=self._name
            ) from error
        way = self._ways.get(route) if is_text(route) else None
        if way is None:
            hint = " (END must be in the mapping to be a route)" if route == END else ""
            raise UnmappedRouteError(
                f"the router of node {self._name!r} gave {route!r}, which is not in its mapping{hint}; "
                f"the keys are {one_of(self._ways)}",
                node=self._name,
            )
        return way

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
