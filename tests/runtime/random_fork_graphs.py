"""Random graphs with branches: a strategy for terms, the graph of a term, and actions that take their time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fork_oracle import (
    GOING,
    INITIAL,
    MERGES,
    START_NODE,
    WRAP_AFTER,
    WRAP_BEFORE,
    Exit,
    Fan,
    Lap,
    Task,
    Term,
    Ways,
    Work,
    entry_of,
    parts,
    path_of,
    update_of,
    uses_command,
)
from hypothesis import strategies as st

from diagnosis.runtime import (
    END,
    REPEAT,
    START,
    Append,
    Command,
    CompiledGraph,
    Condition,
    Custom,
    Decision,
    Effect,
    Fork,
    Merge,
    Replace,
    Rule,
    RunConfig,
    Send,
    StateGraph,
    Strategy,
)

MOST_NODES = 16
NO_LIMIT = 1_000

PAYLOADS: Sequence[Mapping[str, Any]] = (
    {},
    {"given": 1},
    {"given": 2, "log": ["sent"]},
    {"sum": 1_000},
    {"text": "~", "mix": 3},
)


@dataclass(frozen=True)
class Allowed:
    """What terms may hold; ``failures`` is how many nodes never raise for two that may, none where it is 0."""

    failures: int = 10
    any_of: bool = True
    exits: bool = True
    plain: bool = True
    conflicts: bool = False


# --- terms --------------------------------------------------------------------------------------------------------


@st.composite
def programs(draw: st.DrawFn, allowed: Allowed = Allowed(), *, forks: bool = True) -> tuple[Term, ...]:
    """Draw a whole term; it ends with a plain node, so that every fork has a join."""
    made = _Maker(draw, allowed)
    shape = draw(st.sampled_from(["fan", "terms", "start"]))
    first = [Work(made.task(False))]
    if shape == "start":
        body = [replace(made.fan(2, False, "edges"), task=Task(START_NODE))]
    elif shape == "fan" and forks:
        body = [*first, made.fan(2, False), *made.terms(1, False, 0)]
    else:
        body = [*first, *made.terms(2, False, 1)]
    return (*body, Work(Task("last")))


class _Maker:
    def __init__(self, draw: st.DrawFn, allowed: Allowed) -> None:
        self.draw = draw
        self.allowed = allowed
        self.count = 0

    def one_of(self, *values: Any) -> Any:
        return self.draw(st.sampled_from(values))

    def task(self, repeated: bool) -> Task:
        name = f"n{self.count}"
        self.count += 1
        writes: dict[str, Any] = {}
        kind = self.one_of("none", "text", "sum", "mix", "entries", "own", "all")
        if kind in ("text", "all"):
            writes["text"] = ...
        if kind in ("sum", "all"):
            writes["sum"] = 2**self.count
        if kind in ("mix", "all"):
            writes["mix"] = self.count
        if kind in ("entries", "all"):
            writes["entries"] = {self.one_of("k", "l"): name}
        # One branch at most may write a Replace key.
        if kind in ("own", "all") and (not repeated or self.allowed.conflicts):
            writes[f"own_{name}"] = ...
        if self.allowed.conflicts:
            shared = self.one_of(None, "shared0", "shared1")
            if shared is not None:
                writes[shared] = self.one_of("same", ...)
        fails = self.one_of(*[None] * self.allowed.failures, 1, 2) if self.allowed.failures else None
        return Task(name, writes, fails, self.one_of(False, False, True))

    def terms(self, depth: int, repeated: bool, least: int) -> tuple[Term, ...]:
        return tuple(self.term(depth, repeated) for _ in range(self.draw(st.integers(least, 3))))

    def term(self, depth: int, repeated: bool) -> Term:
        kinds = ["work", "work", *(["exit"] if self.allowed.exits else [])]
        if depth > 0 and self.count < MOST_NODES:
            kinds += ["lap", "fan", "fan", "supervisor"]
        kind = self.one_of(*kinds)
        if kind == "work":
            return Work(self.task(repeated), self.one_of("FIXED", "REASON", None))
        if kind == "exit":
            modulus = self.one_of(3, 2, 1)
            return Exit(self.task(repeated), modulus, self.draw(st.integers(0, modulus - 1)))
        if kind == "lap":
            body = self.terms(depth - 1, repeated, 1)
            return Lap(body, self.task(repeated), self.one_of(2, 1, 3))
        if kind == "fan":
            return self.fan(depth, repeated)
        return self.supervisor(depth, repeated)

    def fan(self, depth: int, repeated: bool, kind: str | None = None) -> Fan:
        kind = kind or self.one_of("edges", "rule", "router", "command", "goto")
        task = self.task(repeated)
        several = kind in ("router", "command", "goto")
        count = self.draw(st.integers(1 if several else 2, 3))
        branches = self.branches(depth - 1, count, repeated or several)
        if kind == "edges":
            alternatives = (Ways(tuple((index, {}) for index in range(count))),)
        elif kind == "rule":
            # Every route is given by some rule.
            more = self.draw(st.lists(st.permutations(range(count)), max_size=1))
            least = 1 if self.allowed.plain else 2
            some = [order[: self.draw(st.integers(least, count))] for order in more]
            alternatives = tuple(
                Ways(tuple((index, {}) for index in order), len(order) == 1) for order in [*some, [*range(count)]]
            )
        else:
            alternatives = tuple(self.ways(count) for _ in range(self.draw(st.integers(1, 2))))
        return self.made(task, kind, branches, alternatives, False)

    def supervisor(self, depth: int, repeated: bool) -> Fan:
        kind = self.one_of("goto", "router", "command")
        task = self.task(repeated)
        count = self.draw(st.integers(1, 3))
        branches = self.branches(depth - 1, count, True, empty=False)
        rounds = tuple(self.ways(count) for _ in range(self.draw(st.integers(1, 3))))
        return self.made(task, kind, branches, rounds, True)

    def ways(self, count: int) -> Ways:
        index = st.integers(0, count - 1)
        if self.allowed.plain and self.one_of(False, False, False, True):
            return Ways(((self.draw(index), {}),), True)
        ways = st.lists(st.tuples(index, st.sampled_from(PAYLOADS)), min_size=1, max_size=3)
        return Ways(tuple(self.draw(ways)))

    def branches(self, depth: int, count: int, repeated: bool, *, empty: bool = True) -> tuple[Any, ...]:
        made = [self.terms(depth, repeated, 1) for _ in range(count)]
        if empty and count > 1 and self.one_of(False, False, False, True):
            made[self.draw(st.integers(0, count - 1))] = ()
        return tuple(made)

    def made(self, task: Task, kind: str, branches: Any, alternatives: Any, supervises: bool) -> Fan:
        # Where a branch can leave for END, or there is but one, nothing says where the branches meet.
        must = len(branches) == 1 or any(isinstance(part, Exit) for branch in branches for part in parts(branch))
        update = self.one_of({}, {"sum": 5}, {"text": "+"}) if kind in ("command", "goto") else {}
        return Fan(
            task,
            kind,
            branches,
            alternatives,
            supervises,
            self.one_of("all_of", "all_of", "any_of") if self.allowed.any_of else "all_of",
            self.one_of(None, None, 1, 2, 3),
            must or self.one_of(False, True),
            update,
        )


# --- graphs -------------------------------------------------------------------------------------------------------

Act = Callable[[Task, Callable[[Mapping[str, Any], str], Any]], Callable[..., Any]]
"""(task, what it reports given its state and branch) -> action."""


def at_once(task: Task, report: Callable[[Mapping[str, Any], str], Any]) -> Callable[..., Any]:
    """Give the action that does not wait."""
    return lambda state, config: report(state, config.branch)


def graph_of(terms: Sequence[Term]) -> CompiledGraph:
    """Make the graph of a term; its actions do not wait."""
    own = {key for term in parts(terms) for key in term.task.writes if key.startswith("own_")}
    keys: dict[str, Strategy] = {key: Replace() for key in {*INITIAL, *own} - {*MERGES}}
    keys |= {"log": Append(), "token": Append(), "events": Append(), "entries": Merge()}
    keys |= {key: Custom(initial=INITIAL[key], merge=MERGES[key]) for key in ("sum", "text", "mix")}
    graph = StateGraph(keys)
    graph.log_events("events")
    if entry_of(terms, END) != START_NODE:
        graph.add_edge(START, entry_of(terms, END))
    _add(graph, terms, END)
    return graph.compile(recursion_limit=NO_LIMIT)


def actions_of(terms: Sequence[Term], act: Act) -> dict[str, Callable[..., Any]]:
    """Give the actions of a term's nodes, in some way of waiting."""
    tasks = [term for term in parts(terms) if term.task.name != START_NODE]
    return {term.task.name: act(term.task, report_of(term)) for term in tasks}


def report_of(term: Term) -> Callable[[Mapping[str, Any], str], Any]:
    """Give what a node's action returns, given what it sees and its branch."""
    task = term.task
    if not isinstance(term, Fan) or term.kind != "goto":
        return lambda state, branch: update_of(task, state, branch)

    def commanded(state: Mapping[str, Any], branch: str) -> Any:
        update = update_of(task, state, branch)
        after = {**state, "log": [*state["log"], task.name]}
        return Command(_chosen(term, after), {**update, **term.update}, reason=GOING)

    return commanded


def _chosen(fan: Fan, state: Mapping[str, Any]) -> Any:
    """Give the route key, or the list of them and of Sends, that a node decides for after its own write."""
    log = list(state["log"])
    if fan.supervises:
        visits = log.count(fan.task.name)
        if visits > len(fan.alternatives):
            return "done"
        chosen = fan.alternatives[visits - 1]
    else:
        chosen = fan.alternatives[len(log) % len(fan.alternatives)]
    if chosen.plain:
        return f"b{chosen.ways[0][0]}"
    return [Send(f"b{index}", sent) if sent else f"b{index}" for index, sent in chosen.ways]


def _router(fan: Fan) -> Callable[[Mapping[str, Any]], Any]:
    if not uses_command(fan):
        return lambda state: _chosen(fan, state)
    return lambda state: Command(_chosen(fan, state), fan.update, reason=GOING)


def _add(graph: StateGraph, terms: Sequence[Term], following: str) -> None:
    for number, term in enumerate(terms):
        after = entry_of(terms[number + 1 :], following)
        if isinstance(term, Fan):
            _add_fan(graph, term, term.task.name if term.supervises else after, after)
            continue
        _add_node(graph, term)
        name = term.task.name
        if isinstance(term, Work):
            graph.add_edge(name, after, reason=REPEAT if term.reason is None else term.reason)
        elif isinstance(term, Exit):
            away = _log_condition(lambda log, t=term: len(log) % t.modulus == t.remainder)
            rules = [Rule("away", "AWAY", (away,)), Rule("on", "ON")]
            graph.add_conditional_edges(name, Decision(rules), {"away": END, "on": after})
        else:
            _add(graph, term.body, name)
            again = _log_condition(lambda log, t=term: log.count(t.task.name) < t.times)
            rules = [Rule("again", "AGAIN", (again,)), Rule("on", "ENOUGH")]
            graph.add_conditional_edges(name, Decision(rules), {"again": entry_of(term.body, name), "on": after})


def _add_node(graph: StateGraph, term: Term, **options: Any) -> None:
    task = term.task
    if task.wrapped:
        options["entry"] = Effect("before", lambda state: WRAP_BEFORE, writes=tuple(WRAP_BEFORE))
        options["exit"] = Effect("after", lambda state: WRAP_AFTER, writes=tuple(WRAP_AFTER))
    graph.add_node(task.name, at_once(task, report_of(term)), **options)


def _log_condition(test: Callable[[list[str]], bool]) -> Condition:
    return Condition("of_the_log", lambda state: test(list(state["log"])), "log")


def _add_fan(graph: StateGraph, fan: Fan, join: str, after: str) -> None:
    name = fan.task.name
    source = START if name == START_NODE else name
    targets = {f"b{index}": entry_of(branch, join) for index, branch in enumerate(fan.branches)}
    routes = tuple(targets) if fan.supervises else None
    if fan.supervises:
        targets["done"] = after
    fork = Fork(join if fan.names_join else None, fan.wait, fan.max_concurrency, routes)
    if fan.kind == "goto":
        _add_node(graph, fan, goto=targets, fork=fork)
    elif source != START:
        _add_node(graph, fan)
    if fan.kind == "edges":
        graph.add_edge(source, list(targets.values()), fork=None if fork == Fork() else fork)
    elif fan.kind == "rule":
        rules = []
        for number, chosen in enumerate(fan.alternatives):
            routes = tuple(f"b{index}" for index, _ in chosen.ways)
            due = _log_condition(lambda log, n=number: len(log) % len(fan.alternatives) == n)
            last = number == len(fan.alternatives) - 1
            rules.append(Rule(routes[0] if chosen.plain else routes, f"A{number}", () if last else (due,)))
        graph.add_conditional_edges(name, Decision(rules), targets, fork=None if fork == Fork() else fork)
    elif fan.kind in ("router", "command"):
        graph.add_conditional_edges(name, _router(fan), targets, fork=fork, owns=tuple(fan.update))
    for branch in fan.branches:
        _add(graph, branch, join)


# --- timing -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Timing:
    """How long actions take, call by call and over again: turns of the event loop, or ``None`` for a plain function.

    Attributes:
        turns: before an action returns or raises.
        cleanup: after it was cancelled.
        stubborn: whether it returns its report although it was cancelled.
    """

    turns: tuple[int | None, ...]
    cleanup: tuple[int, ...]
    stubborn: tuple[bool, ...]


waits = st.sampled_from([0, 1, 2, 3, 5, 8, 13])


def timings(*, plain: bool = True) -> st.SearchStrategy[Timing]:
    """Draw a timing.

    Args:
        plain: whether some actions are plain functions.
    """
    turns = st.none() | waits if plain else waits
    return st.builds(
        Timing,
        st.lists(turns, min_size=1, max_size=12).map(tuple),
        st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple),
        st.lists(st.sampled_from([False, False, True]), min_size=1, max_size=3).map(tuple),
    )


class Stage:
    """Actions that take their time, and what was seen of them.

    Attributes:
        calls: how many actions were called.
        done: (branch, node) of the actions that returned, in this order; not of cancelled ones.
        running: those under way.
        overlaps: executions that began while an action was under way in a branch that should have ended.
    """

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self.calls = 0
        self.done: list[tuple[str, str]] = []
        self.running: dict[int, tuple[str, str]] = {}
        self.overlaps: list[tuple[str, str, tuple[str, str]]] = []

    def act(self, task: Task, report: Callable[[Mapping[str, Any], str], Any]) -> Callable[..., Any]:
        """Give the action of a task."""

        def action(state: Mapping[str, Any], config: RunConfig) -> Any:
            call, timing = self.calls, self._timing
            self.calls += 1
            branch = config.branch
            path = path_of(branch)
            for other in self.running.values():
                inner = path_of(other[0])
                if inner[: len(path)] == path:
                    self.overlaps.append((branch, task.name, other))
            turns = timing.turns[call % len(timing.turns)]
            if turns is None:
                update = report(state, branch)
                self.done.append((branch, task.name))
                return update
            return self._later(call, turns, task.name, branch, lambda: report(state, branch))

        return action

    async def _later(self, call: int, turns: int, node: str, branch: str, report: Callable[[], Any]) -> Any:
        timing = self._timing
        self.running[call] = (branch, node)
        try:
            try:
                for _ in range(turns):
                    await asyncio.sleep(0)
            except asyncio.CancelledError:
                for _ in range(timing.cleanup[call % len(timing.cleanup)]):
                    await asyncio.sleep(0)
                if not timing.stubborn[call % len(timing.stubborn)]:
                    raise
                return report()
            update = report()
            self.done.append((branch, node))
            return update
        finally:
            del self.running[call]
