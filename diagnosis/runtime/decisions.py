"""Decisions as data: ordered rules of named conditions, each with a route and a reason code."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeGuard

from diagnosis.runtime.errors import DefinitionError, ReadError

State = Mapping[str, Any]
"""A read-only state: key -> frozen value."""

Router = Callable[[State], Any]
"""A plain function that gives the route key; or a list of route keys and Sends, or a Command."""


def keys_of(names: str | Iterable[str]) -> tuple[str, ...]:
    """Give key names as a tuple, a single text being one name.

    Args:
        names: one key or several.
    """
    return (names,) if isinstance(names, str) else tuple(names)


def is_text(value: object) -> TypeGuard[str]:
    """Tell whether a value is a text with more in it than blanks.

    Args:
        value: anything.
    """
    return isinstance(value, str) and value.strip() != ""


def is_count(value: object) -> TypeGuard[int]:
    """Tell whether a value is a whole number from 1.

    Args:
        value: anything.
    """
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def refuse_async(function: Callable[..., Any], what: str) -> None:
    """Refuse a function that is none, or whose result would be a coroutine.

    Args:
        function: what should be a plain function.
        what: how an error message names it.

    Raises:
        DefinitionError: it is not callable, or is a coroutine function.
    """
    if not callable(function):
        raise DefinitionError(f"{what} needs a function of the state, not {function!r}")
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
        raise DefinitionError(f"{what} is a coroutine function; only actions may be async, routing is pure")


def _all_are(kind: type, items: Iterable[object]) -> bool:
    return all(isinstance(item, kind) for item in items)


@dataclass(frozen=True, slots=True)
class Condition:
    """A named predicate of the state.

    Attributes:
        name: how tables, pictures and coverage items name it.
        test: a pure function of the state, true or false.
        reads: the state keys that it reads.
    """

    name: str
    test: Callable[[State], bool]
    reads: tuple[str, ...]

    def __init__(self, name: str, test: Callable[[State], bool], reads: str | Iterable[str]) -> None:
        if not is_text(name):
            raise DefinitionError(f"a condition needs a name, found {name!r}")
        refuse_async(test, f"condition {name!r}")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "test", test)
        object.__setattr__(self, "reads", keys_of(reads))


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of a decision: where the graph goes, and why, when all its conditions hold.

    Attributes:
        route: the route key; several open a branch each.
        reason: the reason code.
        when: the conditions, tested in order up to the first that is false; none means always.
        name: how coverage names the rule; the reason code where not given.
    """

    route: str | tuple[str, ...]
    reason: str
    when: tuple[Condition, ...] = ()
    name: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.route, str) and isinstance(self.route, Iterable):
            object.__setattr__(self, "route", tuple(self.route))
        for label, values in (("route", self.routes), ("reason", (self.reason,))):
            if not values or not all(map(is_text, values)):
                found = values[0] if len(values) == 1 else values
                raise DefinitionError(f"a rule needs a {label} that is a non-blank text, found {found!r}")
        if not isinstance(self.name, str):
            raise DefinitionError(
                f"rule {self.reason!r}: its name is a text, found {self.name!r}; several conditions are given as one "
                "list: Rule(route, reason, [first, second])"
            )
        given: Any = self.when
        conditions = tuple(given) if isinstance(given, Iterable) else (given,)
        if not _all_are(Condition, conditions):
            raise DefinitionError(f"rule {self.name or self.reason!r}: 'when' takes Condition objects")
        object.__setattr__(self, "when", conditions)
        object.__setattr__(self, "name", self.name or self.reason)

    @property
    def routes(self) -> tuple[str, ...]:
        """The route keys; one, unless the rule opens branches."""
        return self.route if isinstance(self.route, tuple) else (self.route,)


@dataclass(frozen=True, slots=True)
class Decision:
    """An ordered list of rules; the first whose conditions all hold decides.

    Attributes:
        rules: the rows, in order.
    """

    rules: tuple[Rule, ...]

    def __init__(self, rules: Iterable[Rule]) -> None:
        given: Any = rules
        rows = tuple(given) if isinstance(given, Iterable) else ()
        if not rows or not _all_are(Rule, rows):
            raise DefinitionError("a decision needs at least one Rule, and nothing but rules")
        names = [rule.name for rule in rows]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise DefinitionError(f"rules of one decision need different names; given twice: {', '.join(twice)}")
        object.__setattr__(self, "rules", rows)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Every condition of every rule, in order, repetitions included."""
        return tuple(condition for rule in self.rules for condition in rule.when)

    @property
    def reads(self) -> tuple[str, ...]:
        """The keys that the conditions declare to read, each once, in order."""
        return tuple(dict.fromkeys(key for condition in self.conditions for key in condition.reads))


@dataclass(frozen=True, slots=True)
class RouterDecision:
    """A decision that is a plain function of the user's.

    Attributes:
        router: gives the route key; the reason code is the same text.
        reads: the keys it reads, or ``None`` where not declared: then it may read any.
    """

    router: Router
    reads: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        refuse_async(self.router, "a router")


@dataclass(frozen=True, slots=True)
class Effect:
    """A named, pure update of the state that a node carries: what a wrapper around its action does.

    Attributes:
        name: how errors and tables name it.
        apply: ``state -> update`` over ``writes`` only; an empty update or ``None`` changes nothing. It may raise to
            refuse the node's report.
        reads: the keys it reads.
        writes: the keys it may write.
    """

    name: str
    apply: Callable[[State], Mapping[str, Any] | None]
    reads: tuple[str, ...]
    writes: tuple[str, ...]

    def __init__(
        self,
        name: str,
        apply: Callable[[State], Mapping[str, Any] | None],
        *,
        reads: str | Iterable[str] = (),
        writes: str | Iterable[str] = (),
    ) -> None:
        refuse_async(apply, f"update {name!r}")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "apply", apply)
        object.__setattr__(self, "reads", keys_of(reads))
        object.__setattr__(self, "writes", keys_of(writes))


@dataclass(frozen=True, slots=True)
class Reading:
    """A pure function of the state that gives an attempt number or an outcome text.

    Attributes:
        get: ``state -> value``.
        reads: the keys it reads.
    """

    get: Callable[[State], Any]
    reads: tuple[str, ...]

    def __init__(self, get: Callable[[State], Any], reads: str | Iterable[str] = ()) -> None:
        refuse_async(get, "a reading")
        object.__setattr__(self, "get", get)
        object.__setattr__(self, "reads", keys_of(reads))


@dataclass(frozen=True, slots=True)
class Choice:
    """What one decision came to.

    Attributes:
        source: the node that was left.
        target: the node that comes next, or END.
        route: the route key; ``None`` on a fixed edge.
        rule: the name of the rule that held; ``None`` on a fixed edge and for a plain router.
        reason: the reason code.
    """

    source: str
    target: str
    route: str | None
    rule: str | None
    reason: str


class Event(NamedTuple):
    """One node execution, as the runtime saw it.

    Attributes:
        node: the node that was executed.
        outcome: what it reported, in one word.
        attempt: which attempt it was, from 1.
        choice: the decision that followed: route key, rule, reason code and target.
        others: the further choices of a decision that opened several branches.
        branch: the branch it was executed in, such as ``worker[1]``; empty outside branches.
        after: the places in the run of the events that led to it: one, but at a join the last of every branch. Filled
            in once a run is over that had branches; ``None`` means the event before it.
    """

    node: str
    outcome: str
    attempt: int
    choice: Choice
    others: tuple[Choice, ...] = ()
    branch: str = ""
    after: tuple[int, ...] | None = None

    @property
    def reason(self) -> str:
        """The reason code of the decision that followed."""
        return self.choice.reason

    @property
    def choices(self) -> tuple[Choice, ...]:
        """Every choice of the decision that followed: one, unless it opened branches."""
        return (self.choice, *self.others)

    def __repr__(self) -> str:
        branch = f", branch={self.branch!r}" if self.branch else ""
        return f"Event(node={self.node!r}, outcome={self.outcome!r}, attempt={self.attempt}{branch})"


class ReadView(Mapping[str, Any]):
    """A state that shows only declared keys, so that an undeclared read is found instead of believed.

    Args:
        state: the state.
        allowed: the keys that may be read.
        who: how the error names the reader.
    """

    __slots__ = ("_allowed", "_state", "_who")

    def __init__(self, state: State, allowed: Iterable[str], who: str) -> None:
        self._state = state
        self._allowed = frozenset(allowed)
        self._who = who

    def __getitem__(self, key: str) -> Any:
        if key not in self._allowed:
            if key not in self._state:
                raise ReadError(f"{self._who} reads {key!r}, which is no key of the state; see its spelling")
            raise ReadError(f"{self._who} reads {key!r}, which it does not declare; add it to its reads")
        return self._state[key]

    def __iter__(self) -> Any:
        return (key for key in self._state if key in self._allowed)

    def __len__(self) -> int:
        return sum(1 for _ in self)
