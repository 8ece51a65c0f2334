"""The fan-outs of a graph: where branches begin, where they meet, and what is wrong with either."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from diagnosis.runtime.decisions import Decision
from diagnosis.runtime.definition import END, START, Definition, Fork
from diagnosis.runtime.errors import Finding, one_of

Origin = Literal["edges", "rule", "router", "goto"]
"""What opens a fan-out: several fixed edges, a rule with several route keys, a router, or a Command."""


@dataclass(frozen=True, slots=True)
class FanOut:
    """A fan-out as it is declared.

    Attributes:
        source: the node whose branches begin.
        origin: what opens it; see :data:`Origin`.
        rule: the name of the rule that opens it, if a rule does.
        targets: the first nodes of its branches, each once, in order of declaration.
        routes: the route keys that may be chosen together, for a router or Commands.
        fork: how it runs, as declared.
        join: where its branches meet; ``None`` where there is no such node.
    """

    source: str
    origin: Origin
    rule: str | None
    targets: tuple[str, ...]
    routes: tuple[str, ...]
    fork: Fork
    join: str | None

    @property
    def where(self) -> str:
        """How messages name it."""
        by = {"edges": "fan-out", "router": "fan-out of its router", "goto": "fan-out of its Commands"}
        return f"{self.source}, {by.get(self.origin, f'rule {self.rule!r}')}"


class FanOuts:
    """All fan-outs of a graph.

    Args:
        definition: the graph; it may have findings.
    """

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self._ways: dict[str, tuple[str, ...]] = dict.fromkeys((START, *definition.names, END), ())
        for source, target in dict.fromkeys(definition.links()):
            if source in self._ways and target in self._ways:
                self._ways[source] += (target,)
        self.all = tuple(self._declared())
        self._by_origin = {(each.source, each.origin, each.rule): each for each in reversed(self.all)}

    def of(self, source: str, origin: Origin, rule: str | None = None) -> FanOut | None:
        """Give one fan-out, or ``None`` where there is none.

        Args:
            source: a node's name.
            origin: what opens it.
            rule: the name of the rule that does.
        """
        return self._by_origin.get((source, origin, rule))

    @property
    def joins(self) -> dict[str, str]:
        """Source -> where its branches meet; several joins of one source are separated by commas."""
        found: dict[str, dict[str, None]] = {}
        for each in self.all:
            if each.join is not None:
                found.setdefault(each.source, {})[each.join] = None
        return {source: ", ".join(joins) for source, joins in found.items()}

    def _declared(self) -> Iterator[FanOut]:
        definition = self._definition
        for source in (START, *definition.names):
            edges = definition.edges_from(source)
            if len({edge.target for edge in edges}) > 1 or any(edge.fork for edge in edges):
                fork = next((edge.fork for edge in edges if edge.fork is not None), Fork())
                yield self._made(source, "edges", None, [edge.target for edge in edges], fork)
            conditional = definition.conditional(source)
            if conditional is not None:
                fork = conditional.fork or Fork()
                targets = conditional.targets
                if isinstance(conditional.decision, Decision):
                    for rule in conditional.decision.rules:
                        if len(rule.routes) > 1:
                            into = [targets[route] for route in rule.routes if route in targets]
                            yield self._made(source, "rule", rule.name, into, fork)
                elif conditional.fork is not None:
                    yield self._made(source, "router", None, together(targets, fork), fork)
        for node in definition.nodes:
            if node.fork is not None:
                yield self._made(node.name, "goto", None, together(node.goto, node.fork), node.fork)

    def _made(
        self, source: str, origin: Origin, rule: str | None, targets: Sequence[str] | Mapping[str, str], fork: Fork
    ) -> FanOut:
        routes: tuple[str, ...] = ()
        if isinstance(targets, Mapping):
            routes, targets = tuple(targets), list(targets.values())
        into = tuple(dict.fromkeys(target for target in targets if target in self._ways))
        join = fork.join if fork.join is not None else self._meeting(into)
        return FanOut(source, origin, rule, into, routes, fork, join)

    def _meeting(self, targets: Sequence[str]) -> str | None:
        """Give the nearest node that every way from every target to END passes; with one target, after it."""
        common: list[str] = []
        for number, target in enumerate(targets):
            chain = [*self._after(target)][1 if len(targets) == 1 else 0 :]
            common = chain if number == 0 else [node for node in common if node in chain]
        return next((node for node in common if node != END), None)

    def _after(self, node: str) -> Iterator[str]:
        """Go through the nodes that every way from a node to END passes, itself first, nearest first."""
        following = self._following
        while node in following:
            yield node
            if node == END:
                return
            node = following[node]

    @cached_property
    def _following(self) -> Mapping[str, str]:
        """Node -> the nearest other node that every way from it to END passes; nodes that reach END only."""
        back: dict[str, list[str]] = {node: [] for node in self._ways}
        for source, targets in self._ways.items():
            for target in targets:
                back[target].append(source)
        order: list[str] = []
        seen = {END}
        work = [(END, iter(back[END]))]
        while work:
            node, sources = work[-1]
            for source in sources:
                if source not in seen:
                    seen.add(source)
                    work.append((source, iter(back[source])))
                    break
            else:
                order.append(node)
                work.pop()
        rank = {node: number for number, node in enumerate(order)}
        found = {END: END}
        changed = True
        while changed:
            changed = False
            for node in reversed(order[:-1]):
                nearest: str | None = None
                for target in self._ways[node]:
                    if target in found:
                        nearest = target if nearest is None else _nearest_common(found, rank, nearest, target)
                if nearest is not None and found.get(node) != nearest:
                    found[node] = nearest
                    changed = True
        return found

    def reached(self, starts: Sequence[str], without: frozenset[str]) -> frozenset[str]:
        """Give the nodes that some nodes lead to, themselves included.

        Args:
            starts: where to begin.
            without: nodes that are never entered.
        """
        found = {node for node in starts if node not in without}
        queue = list(found)
        while queue:
            for target in self._ways.get(queue.pop(), ()):
                if target not in found and target not in without:
                    found.add(target)
                    queue.append(target)
        return frozenset(found)

    def region(self, fan_out: FanOut, target: str) -> frozenset[str]:
        """Give the nodes that a branch may execute before it ends.

        Args:
            fan_out: a fan-out with a join.
            target: the branch's first node.
        """
        return self.reached((target,), frozenset((fan_out.join or END, END)))

    @cached_property
    def inside(self) -> frozenset[str]:
        """The nodes that branches may execute."""
        return frozenset[str]().union(*(self.region(each, target) for each in self.all for target in each.targets))

    def level(self, start: str, join: str | None = None) -> list[str]:
        """Give the nodes that one branch executes itself, not those of branches inside it.

        Args:
            start: where it begins.
            join: where it ends; ``None`` outside branches.
        """
        found: dict[str, None] = {}
        todo = [start]
        while todo:
            node = todo.pop()
            if node not in found and node not in (join, END):
                found[node] = None
                todo += self._onward(node)
        return list(found)

    def _onward(self, node: str) -> Iterator[str]:
        """Go through what may come after a node in the branch that executes it: where it forks, the join."""
        definition = self._definition
        yield from (each.join for each in self.all if each.source == node and each.join is not None)
        if self.of(node, "edges") is None:
            yield from (edge.target for edge in definition.edges_from(node))
        conditional = definition.conditional(node)
        if conditional is not None and isinstance(conditional.decision, Decision):
            rules = conditional.decision.rules
            yield from (conditional.targets[rule.routes[0]] for rule in rules if len(rule.routes) == 1)
        elif conditional is not None:
            yield from conditional.targets.values()
        yield from definition.node(node).goto.values()

    def ends_of_branches(self) -> dict[str, tuple[str, ...]]:
        """Give the nodes that are executed in branches only -> the joins that run after them where they lead to END."""
        forked = {fan_out.source: fan_out for fan_out in self.all if fan_out.origin == "edges" and fan_out.join}
        outside, queue = {START}, [START]
        while queue:
            source = queue.pop()
            fan_out = forked.get(source)
            for target in self._ways[source] if fan_out is None else (fan_out.join,):
                if target is not None and target in self._ways and target not in outside:
                    outside.add(target)
                    queue.append(target)
        found: dict[str, tuple[str, ...]] = {}
        for fan_out in self.all:
            for target in fan_out.targets if fan_out.join in self._ways else ():
                for node in self.region(fan_out, target) - outside:
                    found[node] = (*found.get(node, ()), fan_out.join or END)
        return found

    def findings(self) -> Iterator[Finding]:
        """Go through everything that is wrong with the fan-outs."""
        for fan_out in self.all:
            yield from self._options(fan_out)
            if fan_out.join is None:
                yield Finding(
                    "no_join",
                    fan_out.where,
                    f"its branches {one_of(fan_out.targets)} meet nowhere before END; name the node that goes on after "
                    "them with Fork(join=...)",
                )
            elif fan_out.join in self._definition.names:
                yield from self._regions(fan_out, fan_out.join)
        for source in self._definition.names:
            given = {edge.fork for edge in self._definition.edges_from(source) if edge.fork is not None}
            if len(given) > 1:
                yield Finding("several_forks", source, "its fixed edges give different forks; give one")

    def _options(self, fan_out: FanOut) -> Iterator[Finding]:
        names = self._definition.names
        if fan_out.fork.join is not None and fan_out.fork.join not in names:
            yield Finding(
                "unknown_join", fan_out.where, f"joins at {fan_out.fork.join!r}; a join is one of {one_of(names)}"
            )
        if END in fan_out.targets:
            yield Finding("branch_to_end", fan_out.where, "a branch that leads straight to END does nothing; remove it")
        conditional = self._definition.conditional(fan_out.source)
        keys: Mapping[str, str] = conditional.targets if conditional is not None else {}
        if fan_out.origin == "goto":
            keys = self._definition.node(fan_out.source).goto
        for route in fan_out.fork.routes or ():
            if route not in keys:
                yield Finding("unmapped_route", fan_out.where, f"forks {route!r}; the keys are {one_of(keys)}")
        if not fan_out.targets:
            yield Finding("no_branches", fan_out.where, "no route can open a branch; remove the fork, or add routes")

    def _regions(self, fan_out: FanOut, join: str) -> Iterator[Finding]:
        source = fan_out.source
        regions = {target: self.region(fan_out, target) for target in fan_out.targets}
        later = self.reached(
            [node for node in self._ways[join] if node != source], frozenset((source, END, *fan_out.targets))
        )
        rank = {node: number for number, node in enumerate(self._ways)}
        owner: dict[str, str] = {}
        for target, region in regions.items():
            if source in region:
                detail = (
                    f"branch {target!r} leads back to the fork itself without passing the join {join!r}; name another "
                    "join with Fork(join=...), or the routes that open branches with Fork(routes=...)"
                )
                yield Finding("loop_around_fork", fan_out.where, detail)
                return
            inside = sorted(region, key=rank.__getitem__)
            for node in inside:
                if node in owner:
                    yield Finding(
                        "shared_branch_node",
                        fan_out.where,
                        f"both branch {owner[node]!r} and branch {target!r} lead to {node!r} before the join {join!r}; "
                        f"join there with Fork(join={node!r}), or give each branch a node of its own",
                    )
                    break
                owner[node] = target
            for node in inside:
                if node in later:
                    yield Finding(
                        "past_the_join",
                        fan_out.where,
                        f"branch {target!r} leads to {node!r} without passing the join {join!r}, which {node!r} comes "
                        "after; lead the branch to the join, or to END if it is through",
                    )
                    break
            for inner in self.all:
                if inner.source not in region or inner.join in (None, join):
                    continue
                past = next((first for first in inner.targets if join in self.region(inner, first)), None)
                if inner.join not in region:
                    yield Finding(
                        "crossed_joins",
                        inner.where,
                        f"begins in branch {target!r} of the fork at {source!r} but joins at {inner.join!r}, outside "
                        "of it; join inside the branch, or where the outer fork does",
                    )
                elif past is not None:
                    yield Finding(
                        "crossed_joins",
                        inner.where,
                        f"branch {past!r} leads to {join!r}, the join of the fork around it at {source!r}, without "
                        f"passing its own join {inner.join!r}; lead it to its own join, or join both forks at {join!r}",
                    )


def together(targets: Mapping[str, str], fork: Fork) -> dict[str, str]:
    """Give the routes that may be chosen together, with their targets.

    Args:
        targets: every route key with its target.
        fork: how they run.
    """
    if fork.routes is not None:
        return {route: targets[route] for route in fork.routes if route in targets}
    return {route: target for route, target in targets.items() if target != END}


def _nearest_common(following: Mapping[str, str], rank: Mapping[str, int], one: str, other: str) -> str:
    while one != other:
        while rank[one] < rank[other]:
            one = following[one]
        while rank[other] < rank[one]:
            other = following[other]
    return one
