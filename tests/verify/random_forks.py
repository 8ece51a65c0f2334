"""Random small graphs with branches, as terms and as models.

A term says in nested pieces what a graph says in nodes and edges: work one after the other, laps, and fans whose
branches are terms again. Every node notes what it reported under ``trace``, which nothing reads.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from diagnosis.runtime import (
    END,
    START,
    Append,
    Command,
    Condition,
    Custom,
    Decision,
    Effect,
    Fork,
    Merge,
    Model,
    Remove,
    Replace,
    ReplaceAll,
    Rule,
    Send,
    StateGraph,
)

GO, AWAY, BAD, FAIL = "go", "away", "bad", "fail"
"""Where a node leads: on, to END, or nowhere, which is an error; or what it does instead: it raises."""

MISFIT = "no number"
"""What a branch cannot be sent."""

WRITES: Mapping[str, Any] = {
    "nothing": {},
    "log": {"log": ["x"]},
    "note": {"notes": ["x"]},
    "shared": {"shared": 1},
    "again": {"shared": 2},
    "other": {"other": 1},
    "table": {"table": {"a": 1}},
    "cell": {"table": {"a": 2, "b": 1}},
    "sum": {"sum": 1},
    "mix": {"mix": 2},
    "mixed": {"mix": 3},
    "given": lambda state: {"sum": state["given"]},
    "copy": lambda state: {"mix": len(state["log"])},
    "odd": lambda state: {"shared": 2} if state["sum"] % 2 else {},
    "clear": {"notes": ReplaceAll([])},
    "seed": {"notes": Remove("seed")},
}
"""What an outcome may write, by name."""

PLAIN = ("nothing", "log", "note", "table", "cell", "sum", "mix", "mixed", "given", "copy")
ODD = ("shared", "again", "other", "odd", "clear", "seed")
"""Writes that may keep a join from merging."""

READS: Mapping[str, Callable[[Mapping[str, Any]], bool]] = {
    "log": lambda state: len(state["log"]) % 2 == 1,
    "shared": lambda state: state["shared"] == 1,
    "table": lambda state: state["table"].get("a") == 1,
    "sum": lambda state: state["sum"] % 2 == 1,
    "mix": lambda state: state["mix"] % 3 == 1,
}
"""What a gate may look at: a key, and whether it is open."""


@dataclass(frozen=True)
class Task:
    """A node: its outcomes, each with what it writes and where it leads, and what it does at its entry.

    ``gate`` is a key of READS: where it is shut, what leads on leads away.
    """

    name: str
    outcomes: tuple[tuple[str, str], ...]
    gate: str | None = None
    entry: bool = False


@dataclass(frozen=True)
class Work:
    """A node that leads on, or away, or nowhere."""

    task: Task


@dataclass(frozen=True)
class Lap:
    """A node that leads back to what stands before it, until it was executed so many times."""

    body: tuple[Term, ...]
    task: Task
    times: int


@dataclass(frozen=True)
class Fan:
    """A node that opens branches, which join at whatever comes next.

    Attributes:
        kind: what opens them: edges, rule, router or goto.
        calls: for a router or Commands, what is opened by each outcome of the task: the places of branches, each with
            what is sent there, or one place for a branch that is no branch but simply comes next.
    """

    task: Task
    kind: str
    branches: tuple[tuple[Term, ...], ...]
    wait: str = "all_of"
    max_concurrency: int | None = None
    calls: tuple[tuple[tuple[int, Any], ...] | int, ...] = ()
    update: bool = False


Term = Work | Lap | Fan


def tasks(terms: Sequence[Term]) -> Iterator[Task]:
    """Go through the nodes of a term, in order of declaration."""
    for term in terms:
        if isinstance(term, Lap):
            yield from tasks(term.body)
        yield term.task
        if isinstance(term, Fan):
            for branch in term.branches:
                yield from tasks(branch)


def entry_of(terms: Sequence[Term], following: str) -> str:
    """Give the first node of a term, or what comes after it."""
    for term in terms:
        return entry_of(term.body, term.task.name) if isinstance(term, Lap) else term.task.name
    return following


def _add(old: Any, new: Any) -> Any:
    return old + (new or 0)


def _fold(old: Any, new: Any) -> Any:
    return (old * 5 + new) % 97


def _failing(text: str) -> Any:
    def fails(state: Mapping[str, Any]) -> Any:
        raise OSError(text)

    return fails


@dataclass
class Built:
    """A graph while it is being made from a term."""

    graph: StateGraph
    alphabet: dict[str, dict[str, Any]] = field(default_factory=dict)

    def terms(self, terms: Sequence[Term], following: str) -> None:
        for number, term in enumerate(terms):
            after = entry_of(terms[number + 1 :], following)
            if isinstance(term, Work):
                self._node(term.task)
                self._ways(term.task, after)
            elif isinstance(term, Lap):
                self.terms(term.body, term.task.name)
                self._lap(term, entry_of(term.body, term.task.name), after)
            else:
                self._fan(term, after)

    def _node(self, task: Task, **options: Any) -> None:
        entry = Effect("count", lambda s: {"sum": 1}, reads=(), writes="sum")
        self.graph.add_node(task.name, lambda state: {}, entry=entry if task.entry else (), **options)
        self.alphabet[task.name] = {
            str(number): self._update(task, str(number), writes, leads)
            for number, (writes, leads) in enumerate(task.outcomes)
        }

    def _update(self, task: Task, outcome: str, writes: str, leads: str) -> Any:
        own = {"trace": [f"{task.name}={outcome}"]}
        if leads == FAIL:
            return _failing(f"{task.name}={outcome}")
        if self._leads(task):
            own[f"to_{task.name}"] = leads
        found = WRITES[writes]
        return (lambda state: {**found(state), **own}) if callable(found) else {**found, **own}

    def _leads(self, task: Task) -> bool:
        return any(leads in (AWAY, BAD) for _, leads in task.outcomes)

    def _ways(self, task: Task, after: str) -> None:
        """Lead a node on; one that may lead away or nowhere asks what it reported."""
        name = task.name
        if task.gate is not None:
            gate, test = task.gate, READS[task.gate]
            rules = [Rule("go", "OPEN", Condition("open", test, gate)), Rule("away", "SHUT")]
            self.graph.add_conditional_edges(name, Decision(rules), {"go": after, "away": END})
        elif self._leads(task):
            key = f"to_{name}"
            self.graph.add_conditional_edges(name, lambda s: s[key], {GO: after, AWAY: END}, reads=[key])
        else:
            self.graph.add_edge(name, after)

    def _lap(self, lap: Lap, back: str, after: str) -> None:
        name, times = lap.task.name, lap.times
        self._node(lap.task)
        key = f"laps_{name}"

        def counted(update: Any) -> Any:
            def found(state: Mapping[str, Any]) -> dict[str, Any]:
                made = update(state) if callable(update) else update
                return {**made, key: (state[key] or 0) + 1}

            return found

        self.alphabet[name] = {outcome: counted(update) for outcome, update in self.alphabet[name].items()}
        more = Condition("more", lambda s: s[key] < times, key)
        rules = Decision([Rule("back", "AGAIN", more), Rule("on", "ENOUGH")])
        self.graph.add_conditional_edges(name, rules, {"back": back, "on": after})

    def _fan(self, fan: Fan, after: str) -> None:
        name = fan.task.name
        fork = Fork(join=after, wait=fan.wait, max_concurrency=fan.max_concurrency)  # type: ignore[arg-type]
        firsts = [entry_of(branch, after) for branch in fan.branches]
        routes = {f"b{number}": first for number, first in enumerate(firsts)}
        if fan.kind == "goto":
            self._node(fan.task, goto=routes, fork=fork)
            self.alphabet[name] = {
                outcome: Command(self._goto(fan, call), update, reason=f"R{outcome}")
                for (outcome, update), call in zip(self.alphabet[name].items(), fan.calls, strict=True)
            }
        else:
            self._node(fan.task)
        if fan.kind == "edges":
            for first in dict.fromkeys(firsts):
                self.graph.add_edge(name, first, fork=fork)
        elif fan.kind == "rule":
            rule = Rule(tuple(routes), "ALL")
            self.graph.add_conditional_edges(name, Decision([rule]), routes, fork=fork)
        elif fan.kind == "router":
            key = f"call_{name}"
            self.alphabet[name] = {outcome: {**update, key: outcome} for outcome, update in self.alphabet[name].items()}
            gotos = [self._goto(fan, call) for call in fan.calls]

            def router(state: Mapping[str, Any]) -> Any:
                goto = gotos[int(state[key])]
                if fan.update:
                    return Command(goto, {"mix": 4}, reason="SENT")
                return goto

            owns = ["mix"] if fan.update else []
            self.graph.add_conditional_edges(name, router, routes, reads=[key], owns=owns, fork=fork)
        for branch in fan.branches:
            self.terms(branch, after)

    def _goto(self, fan: Fan, call: Any) -> Any:
        if isinstance(call, int):
            return f"b{call}"
        return [f"b{place}" if sent is None else Send(f"b{place}", {"given": sent}) for place, sent in call]


def model_of(terms: Sequence[Term], *, seeds: int = 1) -> Model:
    """Give the model of a term.

    Args:
        terms: the term; its last part is what joins what stands before it, and leads to END.
        seeds: how often the notes hold ``seed`` at the start.
    """
    own: dict[str, Any] = {}
    for task in tasks(terms):
        own |= {f"to_{task.name}": Replace(), f"call_{task.name}": Replace(), f"laps_{task.name}": Replace()}
    keys = {
        "trace": Append(),
        "log": Append(),
        "notes": Append(initial=["seed"] * seeds),
        "shared": Replace(),
        "other": Replace(),
        "table": Merge(),
        "sum": Custom(_add, initial=0),
        "mix": Custom(_fold, initial=1),
        "given": Replace(initial=0, type=int),
        **own,
    }
    built = Built(StateGraph(keys, name="random"))
    built.graph.add_edge(START, entry_of(terms, END))
    built.terms(terms, END)
    return Model("random", built.graph.compile(), built.alphabet)


# --- drawing terms ----------------------------------------------------------------------------------------------------


class _Drawn:
    """What all parts of one term draw from: few writes and gates, so that branches have to do with each other.

    Attributes:
        writes: the names of what outcomes may write.
        gates: the keys that gates may look at.
        leads: where the nodes of branches may lead.
    """

    def __init__(self, writes: Sequence[str], gates: Sequence[str], leads: Sequence[str]) -> None:
        self.writes, self.gates, self.leads = writes, gates, leads
        self.count = 0

    def new(self) -> str:
        self.count += 1
        return f"n{self.count}"


@st.composite
def _task(draw: st.DrawFn, names: _Drawn, outcomes: int = 2, leads: Sequence[str] = (GO,), odd: bool = True) -> Task:
    writes = st.sampled_from([name for name in names.writes if odd or name in PLAIN] or ["nothing"])
    size = draw(st.sampled_from([*range(outcomes, 0, -1), outcomes]))
    made = [(draw(writes), draw(st.sampled_from(leads))) for _ in range(size)]
    plain = all(lead in (GO, FAIL) for _, lead in made)
    gate = draw(st.none() | st.sampled_from(names.gates)) if plain and odd else None
    return Task(names.new(), tuple(made), gate, draw(st.integers(0, 5)) == 5)


@st.composite
def _branch(draw: st.DrawFn, names: _Drawn, depth: int) -> tuple[Term, ...]:
    parts: list[Term] = []
    for _ in range(draw(st.sampled_from([1, 2, 1, 2, 1, 0]))):
        kind = draw(st.sampled_from(["work", "fan", "work", "lap", "work"]))
        if kind == "fan" and depth > 0 and names.count < 7:
            parts.append(draw(_fan(names, depth - 1)))
        elif kind == "lap":
            leads = [lead for lead in names.leads if lead in (GO, FAIL)]
            parts.append(Lap((), draw(_task(names, 1, leads, odd=False)), draw(st.integers(1, 2))))
        else:
            parts.append(Work(draw(_task(names, leads=names.leads))))
    return tuple(parts)


@st.composite
def _fan(draw: st.DrawFn, names: _Drawn, depth: int) -> Fan:
    kind = draw(st.sampled_from(["edges", "edges", "rule", "router", "router", "goto"]))
    task = draw(_task(names, 2 if kind in ("router", "goto") else 1, odd=False))
    if kind == "goto":
        # A Command stands for itself: what it updates is no function.
        task = dataclasses.replace(
            task, outcomes=tuple((w if not callable(WRITES[w]) else "log", GO) for w, _ in task.outcomes)
        )
    if kind == "router":
        task = dataclasses.replace(
            task, outcomes=tuple((w if not callable(WRITES[w]) else "sum", GO) for w, _ in task.outcomes)
        )
    size = draw(st.sampled_from([2, 2, 3]))
    branches = [draw(_branch(names, depth)) for _ in range(size)]
    if kind in ("edges", "rule") and sum(not branch for branch in branches) > 1:
        branches = [branch or (Work(draw(_task(names))),) for branch in branches]
    calls: tuple[Any, ...] = ()
    if kind in ("router", "goto"):
        ways = st.tuples(st.integers(0, size - 1), st.sampled_from([None, 1, 2, None, 1, MISFIT]))
        one = st.integers(0, size - 1)
        several = st.lists(ways, min_size=1, max_size=3).map(tuple)
        calls = tuple(draw(st.one_of(several, several, one)) for _ in task.outcomes)
    return Fan(
        task,
        kind,
        tuple(branches),
        draw(st.sampled_from(["all_of", "any_of"])),
        draw(st.sampled_from([None, None, 1, 2])),
        calls,
        kind == "router" and draw(st.booleans()),
    )


@st.composite
def forked_terms(draw: st.DrawFn, depth: int = 1) -> tuple[Term, ...]:
    """Draw a term with at least one fan.

    Args:
        depth: how deep fans stand inside fans at most.
    """
    names = _Drawn(
        draw(st.lists(st.sampled_from(PLAIN + ODD), min_size=2, max_size=3)),
        draw(st.lists(st.sampled_from(sorted(READS)), min_size=1, max_size=2)),
        draw(st.sampled_from([(GO, GO, AWAY, BAD), (GO,), (GO, BAD), (GO, FAIL), (GO, FAIL, BAD, AWAY)])),
    )
    fan = draw(_fan(names, depth))
    parts: list[Term] = [fan]
    shape = draw(st.sampled_from(["once", "once", "twice", "lap"]))
    if shape == "twice":
        parts.append(draw(_fan(names, 0)))
    elif shape == "lap":
        parts = [Lap((fan,), draw(_task(names, 1, odd=False)), 2)]
    last = draw(_task(names, 1, odd=False))
    final = [Work(dataclasses.replace(last, gate=draw(st.sampled_from(names.gates))))]
    final.append(Work(Task(names.new(), (("nothing", GO),))))
    return (*parts, *final)
