"""What is known of a graph that is to be said in Promela: its variables, their values, and where each may be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from diagnosis.exports.blocks import Names
from diagnosis.exports.domains import MAX_VALUES, Domain
from diagnosis.exports.lanes import RUN, ForkKind, Lane, Ways
from diagnosis.exports.trees import ExportError, Sets, joined
from diagnosis.runtime import END, REPEAT, Model, Replace
from diagnosis.verify.reads import declared_reads

MAX_BRANCHES = 32
"""Branches that one fork may open at most."""

WROTE = "wrote "
"""How the variable of a branch begins that says whether it wrote a Replace key."""

LOG = "log "
"""How the variable of a branch begins that holds what it wrote to a key that merges."""


REASON = "reason of"
"""The name of the variable that holds the reason that led where a lane stands."""

BEGAN = "beginning of"
"""The name of the variable that holds the node that a branch began at."""


class WiderError(Exception):
    """Further keys decide than those that were known.

    Attributes:
        keys: the keys.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self.keys = set(keys)
        super().__init__(self.keys)


class Effort(NamedTuple):
    """How far the values of keys are followed.

    Attributes:
        cells: how many cases are kept apart at a node before they are taken together, key by key.
        values: how many values a key may take.
    """

    cells: int
    values: int


EFFORTS = (Effort(1, 64), Effort(500, MAX_VALUES), Effort(1, MAX_VALUES))
"""Key by key a counter may seem to have no bound that another key sets it; apart, a long one takes long."""


class Machine:
    """The variables of one graph.

    Nothing here comes from an exploration. Which values a key may have at which node follows from the functions of the
    graph, each tabulated for itself, and from the conditions on the way there, key by key.

    Args:
        model: the graph under test.
        projection: the keys that decide.
        interleaved: whether any branch may move that is under way, or only the first in order of declaration.
        effort: how far values are followed.

    Attributes:
        keys: the keys that decide, in order.
        domains: key -> its values.
        logs: key that merges -> what a branch may have written to it.
        points: (lane, node) -> the values that variables may have there.
        pending: cases that were found and not followed yet: (lane, node, values).
        forked: (lane, kind of fork) -> the same while the fork is open.
        ended: lane -> the same when the branch is through.
        branches: (lane, kind of fork) -> the lanes of its branches.
        firsts: lane -> the first nodes that it may begin at.
        used: (lane, variable) that is ever written.
        grown: whether something new was found.
    """

    def __init__(self, model: Model, projection: Iterable[str], interleaved: bool, effort: Effort) -> None:
        definition = model.graph.definition
        self.model, self.definition, self.interleaved = model, definition, interleaved
        self.keys = tuple(key for key in definition.keys if key in set(projection))
        log = definition.event_log
        if log is not None and log.key in self.keys:
            raise ExportError(f"key {log.key!r} holds events, and routing reads it; that has no finite table")
        self.ways = Ways(definition, self.keys)
        self.names = Names()
        self.domains = {key: Domain(f"key {key!r}", definition.keys[key].read, effort.values) for key in self.keys}
        self.logs = {
            key: Domain(f"what a branch writes to key {key!r}", limit=effort.values)
            for key in self.keys
            if not isinstance(definition.keys[key], Replace)
        }
        for domain in self.logs.values():
            domain.number(())
        self.merges = {key: strategy.merging() for key, strategy in definition.keys.items()}
        self.reasoned = {END} | {edge.source for edge in definition.edges if edge.reason is REPEAT}
        self.points: dict[tuple[Lane, str], Sets] = {}
        self.pending: list[tuple[Lane, str, Sets]] = []
        self._limit = effort.cells
        self._cells: dict[tuple[Lane, str], dict[tuple[tuple[int, ...], ...], None]] = {}
        self.forked: dict[tuple[Lane, ForkKind], Sets] = {}
        self.ended: dict[Lane, Sets] = {}
        self.branches: dict[tuple[Lane, ForkKind], list[Lane]] = {}
        self.firsts: dict[Lane, dict[str, None]] = {}
        self.used: dict[tuple[Lane, str], None] = {}
        self.contests: dict[tuple[Lane, str, str], int] = {}
        self.may_fail = False
        self.grown = False
        start, state = model.graph.step.begin(model.input)
        self.start = start.node
        self.initial = {key: self.domains[key].number(state[key]) for key in self.keys}
        self.arrive(RUN, self.start, {key: (number,) for key, number in self.initial.items()})

    # --- variables ------------------------------------------------------------------------------------------------

    def logged(self, lane: Lane) -> list[str]:
        """Give the variables with which a branch keeps what it wrote.

        Args:
            lane: a lane of a branch.
        """
        definition = self.definition
        open_keys = [key for key in definition.keys if not lane.leaves_aside(definition, key)]
        log = definition.event_log.key if definition.event_log else None
        return [
            f"{WROTE}{key}" if isinstance(definition.keys[key], Replace) else f"{LOG}{key}"
            for key in open_keys
            if key != log and (key in self.keys or isinstance(definition.keys[key], Replace))
        ]

    def variable(self, lane: Lane, name: str) -> str:
        """Give the Promela variable of a key, or of what a branch wrote to it.

        Args:
            lane: where.
            name: the key; or the name of what is kept of what was written.
        """
        return self.names.of("k" + (f"_{lane.label}" if lane.label else ""), name)

    def at(self, lane: Lane) -> str:
        """Give the variable that holds where a lane stands.

        Args:
            lane: the lane.
        """
        return self.names.of("at", lane.label) if lane.label else "at"

    def reason(self, lane: Lane) -> str:
        """Give the variable that holds the reason that led where a lane stands.

        Args:
            lane: the lane.
        """
        return self.names.of("reason", lane.label) if lane.label else "reason"

    def born(self, lane: Lane) -> str:
        """Give the variable that holds the node that a branch began at.

        Args:
            lane: the lane.
        """
        return self.names.of("began", lane.label)

    def node(self, node: str) -> str:
        """Give the constant that stands for a node.

        Args:
            node: the node.
        """
        return "END" if node == END else self.names.of("N", node)

    def fork(self, fork: ForkKind) -> str:
        """Give the constant that stands for an open fork.

        Args:
            fork: the kind of fork.
        """
        return self.names.of("F", f"{fork.source} {fork.join} {fork.wait} {fork.limit}")

    def code(self, reason: str) -> str:
        """Give the constant that stands for a reason code.

        Args:
            reason: the reason code.
        """
        return self.names.of("R", reason) if reason else "0"

    def domain(self, name: str) -> Domain | None:
        """Give the values of a variable; ``None`` where it is a bit.

        Args:
            name: a key, or the name of what is kept of what was written.
        """
        if name.startswith(WROTE):
            return None
        return self.logs[name.removeprefix(LOG)] if name.startswith(LOG) else self.domains[name]

    def rank(self, name: str, number: int) -> int:
        """Give the number that a value is printed as.

        Args:
            name: the variable.
            number: the number of the value.
        """
        domain = self.domain(name)
        return number if domain is None else domain.rank(number)

    def use(self, lane: Lane, name: str) -> str:
        """Note that a variable is written, and give it.

        Args:
            lane: where.
            name: the variable.
        """
        if (lane, name) not in self.used:
            self.used[lane, name] = None
            self.grown = True
        return self.variable(lane, name)

    # --- what is found --------------------------------------------------------------------------------------------

    def _widened(self, table: dict[Any, Sets], place: Any, sets: Sets) -> None:
        before = table.get(place)
        after = joined(before, sets)
        assert after is not None
        if before is None or any(len(after[name]) > len(before[name]) for name in after):
            table[place] = {name: tuple(numbers) for name, numbers in after.items()}
            self.grown = True

    def arrive(self, lane: Lane, node: str, sets: Sets) -> None:
        """Note that a lane may come to a node.

        Args:
            lane: the lane.
            node: the node.
            sets: the values that its variables may have then.
        """
        place = (lane, node)
        cells = self._cells.setdefault(place, {})
        cell = tuple(tuple(sorted(numbers)) for numbers in sets.values())
        if cell in cells:
            return
        known = self.grown
        self.grown = False
        self._widened(self.points, place, sets)
        wider, self.grown = self.grown, self.grown or known
        if len(cells) < self._limit:
            cells[cell] = None
            self.pending.append((lane, node, dict(zip(sets, cell, strict=True))))
        elif wider:
            self.pending.append((lane, node, self.points[place]))

    def wait(self, lane: Lane, fork: ForkKind, sets: Sets) -> None:
        """Note that a fork may be open in a lane.

        Args:
            lane: the lane.
            fork: the kind of fork.
            sets: the values that its variables may have then.
        """
        self._widened(self.forked, (lane, fork), sets)

    def end(self, lane: Lane, sets: Sets) -> None:
        """Note that a branch may be through.

        Args:
            lane: its lane.
            sets: the values that its variables may have then.
        """
        self._widened(self.ended, lane, sets)

    def lanes(self, lane: Lane, fork: ForkKind, firsts: Iterable[str]) -> list[Lane]:
        """Give the lanes of the branches of a fork.

        Args:
            lane: where it opens.
            fork: the kind of fork.
            firsts: the first node of each branch.

        Raises:
            ExportError: there are too many.
        """
        known = self.branches.setdefault((lane, fork), [])
        names = list(firsts)
        if len(names) > MAX_BRANCHES:
            raise ExportError(
                f"node {fork.source!r} opens more than {MAX_BRANCHES} branches at once; each needs variables of its "
                "own in a model for another checker, so let the outcomes send out fewer"
            )
        for number in range(len(known), len(names)):
            known.append(Lane(lane, fork, number))
            self.grown = True
        for each, first in zip(known, names, strict=False):
            begun = self.firsts.setdefault(each, {})
            if first not in begun:
                begun[first] = None
                self.grown = True
        return known[: len(names)]

    def below(self, lane: Lane) -> list[Lane]:
        """Give a lane and every lane inside it.

        Args:
            lane: the lane.
        """
        inner = [child for (around, _), found in self.branches.items() if around == lane for child in found]
        return [lane, *(each for child in inner for each in self.below(child))]

    def values(self, sets: Sets, name: str) -> list[Any]:
        """Give the values that a key may have.

        Args:
            sets: the numbers of values by variable.
            name: the key.
        """
        return [self.domains[name].values[number] for number in sets[name]]

    def value(self, name: str, number: int, another: bool = False) -> Any:
        """Give the value of a key that a number stands for.

        Args:
            name: the key.
            number: the number.
            another: whether it is to be another value that reads alike, where there is one.
        """
        domain = self.domains[name]
        return (domain.others if another else domain.values)[number]

    def order(self) -> None:
        """Settle how values are printed, once all are known."""
        for domain in (*self.domains.values(), *self.logs.values()):
            domain.order()


def first_projection(model: Model) -> set[str]:
    """Give the keys that a graph declares to decide by.

    Args:
        model: the graph under test.
    """
    return set(declared_reads(model.graph.definition))
