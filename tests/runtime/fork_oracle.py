"""What a graph with branches must do, worked out on the term that it was made from: one branch after the other.

A term says in nested pieces what a graph says in nodes and edges. The interpreter below follows the rules of branches
in plain Python; it knows nothing of the engine.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

START_NODE = "entry"
GOING = "CALLED"
WRAP_BEFORE = {"mix": 7}
WRAP_AFTER = {"text": "!"}

Payload = Mapping[str, Any]
Way = tuple[int, Payload]
"""A branch to open, by its place among the branches of the term, and what it is sent."""


class BoomError(Exception):
    """What an action raises that is to fail."""


@dataclass(frozen=True)
class Task:
    """A node: what it writes, at which of its visits it raises, whether it has an entry and an exit update."""

    name: str
    writes: Mapping[str, Any] = field(default_factory=dict)
    fails: int | None = None
    wrapped: bool = False


@dataclass(frozen=True)
class Work:
    """A node that leads on; without a reason it repeats the one that led to it."""

    task: Task
    reason: str | None = "FIXED"


@dataclass(frozen=True)
class Exit:
    """A node that leads to END where the length of the log has this remainder."""

    task: Task
    modulus: int
    remainder: int


@dataclass(frozen=True)
class Lap:
    """A node that leads back to what stands before it, until the log holds its name so many times."""

    body: tuple[Term, ...]
    task: Task
    times: int


@dataclass(frozen=True)
class Ways:
    """What a decision opens; ``plain`` is one route that opens no branch."""

    ways: tuple[Way, ...]
    plain: bool = False


@dataclass(frozen=True)
class Fan:
    """A node that opens branches, which join at whatever comes next.

    The length of the log says which of the alternatives is taken. A supervisor is its own join: at each visit it takes
    the next one, and when none is left it leads on.
    """

    task: Task
    kind: str  # edges, rule, router, command, goto
    branches: tuple[tuple[Term, ...], ...]
    alternatives: tuple[Ways, ...]
    supervises: bool = False
    wait: str = "all_of"
    max_concurrency: int | None = None
    names_join: bool = True
    update: Mapping[str, Any] = field(default_factory=dict)


Term = Work | Exit | Lap | Fan


def update_of(task: Task, state: Mapping[str, Any], branch: str) -> dict[str, Any]:
    """Give what the action of a node reports."""
    log = list(state["log"])
    visit = log.count(task.name) + 1
    if visit == task.fails:
        raise BoomError(task.name)
    update = {"log": [task.name], "token": [f"{branch}|{task.name}|{visit}"]}
    for key, value in task.writes.items():
        update[key] = f"{task.name}{len(log)}{state['given'] or ''};" if value is ... else value
    return update


def entry_of(terms: Sequence[Term], following: str) -> str:
    """Give the first node of some terms, or the one that follows them."""
    for term in terms:
        return entry_of(term.body, term.task.name) if isinstance(term, Lap) else term.task.name
    return following


def parts(terms: Sequence[Term]) -> Iterator[Term]:
    """Go through all terms, those inside others included."""
    for term in terms:
        yield term
        if isinstance(term, Lap):
            yield from parts(term.body)
        elif isinstance(term, Fan):
            for branch in term.branches:
                yield from parts(branch)


def path_of(branch: str) -> tuple[int, ...]:
    """Give the numbers that a branch's name ends with."""
    return tuple(map(int, re.findall(r"\[(\d+)\]", branch)))


def bracketed(path: Sequence[int]) -> str:
    return "".join(f"[{number}]" for number in path)


def _one_by_one(old: Any, new: Any) -> Any:
    return (old * 31 + new) % 100_003


MERGES: Mapping[str, Callable[[Any, Any], Any]] = {
    "log": lambda old, new: [*old, *new],
    "token": lambda old, new: [*old, *new],
    "events": lambda old, new: [*old, *new],
    "entries": lambda old, new: {**old, **new},
    "sum": lambda old, new: old + new,
    "text": lambda old, new: old + new,
    "mix": _one_by_one,
}
"""All keys but the Replace keys: how a write is put together with what is there."""

INITIAL: Mapping[str, Any] = {
    "log": [],
    "token": [],
    "events": [],
    "entries": {},
    "sum": 0,
    "text": "",
    "mix": 1,
    "given": None,
    "shared0": None,
    "shared1": None,
}


class AwayError(Exception):
    """The strand was routed to END."""


class HaltError(Exception):
    """The strand failed."""

    def __init__(self, kind: str, node: str, branch: str) -> None:
        super().__init__(kind, node, branch)
        self.kind, self.node, self.branch = kind, node, branch
        self.writers: dict[str, list[list[str]]] = {}


@dataclass(eq=False)
class Happened:
    """One execution of a node that counts."""

    node: str
    branch: str
    led_by: str | None
    ways: tuple[tuple[str, str], ...]
    causes: tuple[Happened | None, ...]
    state: Mapping[str, Any]


@dataclass
class Strand:
    """A run outside branches, or a branch."""

    state: dict[str, Any]
    room: int
    branch: str = ""
    path: tuple[int, ...] = ()
    reason: str | None = None
    tips: tuple[Happened | None, ...] = (None,)
    used: int = 0
    writes: list[tuple[str, Any, str]] = field(default_factory=list)

    def write(self, key: str, value: Any, node: str) -> None:
        self.state = {**self.state, key: merged(key, self.state[key], value)}
        self.writes.append((key, value, node))


def merged(key: str, old: Any, new: Any) -> Any:
    return MERGES[key](old, new) if key in MERGES else new


Winner = Callable[[str, Sequence[str], int], str | None]
"""(name of an ``any_of`` fork, its branches, executions so far) -> the branch that wins, where that is known."""


class Outcome:
    """What must come of a term.

    Args:
        terms: the term.
        limit: node executions.
        winner: who wins an ``any_of``; where it says nothing, the first declared branch that does not fail.
        forced: whether nothing but that branch runs, so that its failure is the fork's.
    """

    def __init__(
        self, terms: Sequence[Term], limit: int, winner: Winner | None = None, *, forced: bool = False
    ) -> None:
        self.events: list[Happened] = []
        self.openings: list[tuple[str, str]] = []
        self.wins: list[tuple[str, str]] = []
        self.error: HaltError | None = None
        self._winner = winner
        self._forced = forced
        own = {key: None for term in parts(terms) for key in term.task.writes if key.startswith("own_")}
        strand = Strand({**INITIAL, **own}, limit)
        try:
            self._play(terms, strand, "__END__")
        except AwayError:
            pass
        except HaltError as error:
            self.error = error
        self.state = strand.state

    @property
    def winners(self) -> dict[str, list[str]]:
        """Fork -> the branches that won it."""
        found: dict[str, list[str]] = {}
        for fork, branch in self.wins:
            found.setdefault(fork, []).append(branch)
        return found

    @property
    def stop(self) -> str:
        if self.error is None:
            return "ended"
        return "limit" if self.error.kind == "LimitError" else "error"

    def causes(self) -> list[set[int]]:
        """Give for each event the places of those that led to it."""
        place = {id(event): number for number, event in enumerate(self.events)}
        return [{place[id(cause)] for cause in event.causes if cause is not None} for event in self.events]

    def _play(self, terms: Sequence[Term], strand: Strand, following: str) -> None:
        for number, term in enumerate(terms):
            after = entry_of(terms[number + 1 :], following)
            if isinstance(term, Work):
                reason = term.reason or strand.reason or ""
                self._execute(term.task, strand, [(after, reason)])
            elif isinstance(term, Exit):
                away = (strand_length(strand) + 1) % term.modulus == term.remainder
                self._execute(term.task, strand, [("__END__", "AWAY") if away else (after, "ON")])
                if away:
                    raise AwayError
            elif isinstance(term, Lap):
                again = True
                while again:
                    self._play(term.body, strand, term.task.name)
                    again = strand.state["log"].count(term.task.name) + 1 < term.times
                    back = entry_of(term.body, term.task.name)
                    self._execute(term.task, strand, [(back, "AGAIN") if again else (after, "ENOUGH")])
            elif term.supervises:
                while True:
                    visits = strand.state["log"].count(term.task.name)
                    if visits >= len(term.alternatives):
                        self._execute(term.task, strand, [(after, GOING if uses_command(term) else "done")], term)
                        break
                    self._fan(term, term.alternatives[visits], visits, strand, term.task.name)
            else:
                length = strand_length(strand) + (term.task.name != START_NODE)
                number = length % len(term.alternatives)
                self._fan(term, term.alternatives[number], number, strand, after)

    def _execute(self, task: Task, strand: Strand, ways: Sequence[tuple[str, str]], fan: Fan | None = None) -> None:
        if strand.used >= strand.room:
            raise HaltError("LimitError", task.name, strand.branch)
        probe = replace(strand, writes=[])
        if task.name != START_NODE:
            if task.wrapped:
                for key, value in WRAP_BEFORE.items():
                    probe.write(key, value, task.name)
            try:
                update = update_of(task, probe.state, strand.branch)
            except BoomError:
                raise HaltError("ActionError", task.name, strand.branch) from None
            late = fan.update if fan is not None and fan.kind == "command" else {}
            if fan is not None and fan.kind == "goto":
                update |= fan.update
            for each in (update, WRAP_AFTER if task.wrapped else {}, late):
                for key, value in each.items():
                    probe.write(key, value, task.name)
        plain = {"node": task.name, "outcome": "COMPLETED", "reason": ways[0][1], "attempt": 1}
        probe.write("events", [plain], task.name)
        event = Happened(task.name, strand.branch, strand.reason, tuple(ways), strand.tips, probe.state)
        self.events.append(event)
        strand.state = probe.state
        strand.writes += probe.writes
        strand.used += 1
        strand.tips = (event,)
        strand.reason = ways[0][1]

    def _fan(self, fan: Fan, chosen: Ways, number: int, strand: Strand, join: str) -> None:
        firsts = [entry_of(fan.branches[index], join) for index, _ in chosen.ways]
        reasons = {
            "edges": ["FIXED"] * len(firsts),
            "rule": [f"A{number}"] * len(firsts),
            "router": [f"b{index}" for index, _ in chosen.ways],
        }.get(fan.kind, [GOING] * len(firsts))
        self._execute(fan.task, strand, list(zip(firsts, reasons, strict=True)), fan)
        if chosen.plain:
            self._play(fan.branches[chosen.ways[0][0]], strand, join)
            return
        name = fan.task.name + bracketed(strand.path)
        self.openings.append((name, join))
        children = []
        for place, ((_, sent), first) in enumerate(zip(chosen.ways, firsts, strict=True)):
            path = (*strand.path, place)
            state = dict(strand.state)
            for key, value in sent.items():
                state[key] = merged(key, state[key], value)
            children.append(
                Strand(state, strand.room - strand.used, first + bracketed(path), path, reasons[place], strand.tips)
            )
        bodies = [fan.branches[index] for index, _ in chosen.ways]
        if fan.wait == "any_of":
            counted = [self._first(name, bodies, children, join)]
        else:
            counted = list(range(len(children)))
            for body, child in zip(bodies, children, strict=True):
                self._branch(body, child, join)
        self._join(strand, [(number, children[number]) for number in counted], join, reasons[0])

    def _branch(self, body: Sequence[Term], child: Strand, join: str) -> None:
        with contextlib.suppress(AwayError):
            self._play(body, child, join)

    def _first(self, name: str, bodies: Sequence[Sequence[Term]], children: Sequence[Strand], join: str) -> int:
        """Run the branch that wins and give its place; a branch without nodes has won when the fork opens."""
        at_once = next((number for number, body in enumerate(bodies) if not body), None)
        if at_once is not None:
            return at_once
        branches = [child.branch for child in children]
        given = self._winner(name, branches, len(self.events)) if self._winner is not None else None
        known = None if given is None else branches.index(given)
        order = [number for number in range(len(children)) if number != known]
        if known is not None:
            order = [known] if self._forced else [known, *order]
        before = len(self.events), len(self.openings), len(self.wins)
        lost: dict[int, tuple[HaltError, list[Happened], list[tuple[str, str]]]] = {}
        for number in order:
            # A branch that lost is judged by the default, whoever won the forks in it.
            if (
                lost
                and known is not None
                and any(getattr(part, "wait", "") == "any_of" for part in parts(bodies[number]))
            ):
                lost[number] = (HaltError("unknown", "", ""), [], [])
                continue
            self.wins.append((name, branches[number]))
            child = replace(children[number])
            child.writes = []
            try:
                self._branch(bodies[number], child, join)
            except HaltError as error:
                lost[number] = (error, self.events[before[0] :], self.openings[before[1] :])
                del self.events[before[0] :], self.openings[before[1] :], self.wins[before[2] :]
                continue
            children[number].__dict__.update(child.__dict__)
            return number
        error, events, openings = lost[min(lost)]
        self.events += events
        self.openings += openings
        raise error

    def _join(self, strand: Strand, counted: Sequence[tuple[int, Strand]], join: str, reason: str) -> None:
        writers: dict[str, dict[int, list[str]]] = {}
        for number, child in counted:
            for key, _, node in child.writes:
                if key not in MERGES:
                    names = writers.setdefault(key, {}).setdefault(number, [])
                    names.append(node + bracketed((*strand.path, number)))
        conflicts = {key: list(by.values()) for key, by in writers.items() if len(by) > 1}
        if conflicts:
            halt = HaltError("JoinError", join, strand.branch)
            halt.writers = conflicts
            raise halt
        used = strand.used + sum(child.used for _, child in counted)
        if used > strand.room:
            raise HaltError("LimitError", join, strand.branch)
        for _, child in counted:
            for key, value, node in child.writes:
                strand.write(key, value, node)
        strand.used = used
        strand.tips = tuple(dict.fromkeys(tip for _, child in counted for tip in child.tips))
        strand.reason = reason


def uses_command(fan: Fan) -> bool:
    """Tell whether a Command says where to go."""
    return fan.kind in ("command", "goto")


def strand_length(strand: Strand) -> int:
    return len(strand.state["log"])
