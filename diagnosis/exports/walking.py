"""One node execution as Promela: entry updates, report, exit updates, decision, move."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diagnosis.exports.blocks import FALSE, TRUE, Block, Choice, all_of, any_of, quoted
from diagnosis.exports.domains import Domain
from diagnosis.exports.lanes import LEFT_OUT, RUN, Lane, Way, Writes
from diagnosis.exports.machine import LOG, WROTE, Machine, WiderError
from diagnosis.exports.trees import ExportError, Leaf, Probe, Sets, Tree, grow, joined, leaves, narrowed
from diagnosis.exports.writing import Writer
from diagnosis.runtime import (
    Command,
    Condition,
    Conditional,
    Decision,
    Effect,
    Reading,
    ReadView,
    Replace,
    RunError,
    State,
    is_text,
    resolve,
)

Ask = Callable[[str], Any]

BEFORE = "before "
"""How the variable begins that holds what a key was when the action saw it."""


class _Beside(BaseException):
    """A function looks at a key that does not decide."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


@dataclass(frozen=True)
class Reported:
    """What an outcome reports.

    Attributes:
        writes: the update.
        way: where a Command leads; ``None`` where the node's own edges decide.
    """

    writes: Writes
    way: Way | None = None


class Walk(Writer):
    """Writes what one outcome of one node leads to.

    Args:
        machine: the graph.
        lane: the lane that executes the node.
        node: the node.
        outcome: what it reports.
        sets: the values that its variables may have.
        winner: the branch that wins, where it opens an ``any_of`` in order of declaration.
        claimed: writes what properties say of the move: ``(walk, way, sets) -> statements``.
    """

    def __init__(
        self,
        machine: Machine,
        lane: Lane,
        node: str,
        outcome: str,
        sets: Sets,
        winner: int = 0,
        claimed: Callable[[Walk, Way, Sets], Block] | None = None,
    ) -> None:
        super().__init__(machine, lane, sets)
        self.node, self.outcome, self.winner, self._claimed = node, outcome, winner, claimed
        self._definition = machine.definition.node(node)
        self._branching = False
        self._saved, self._place = self.code, 0
        self.entered: Sets = {}
        self.extra: Callable[[str], Domain] | None = None
        self._before: dict[str, None] = {}
        self._begin()
        if self._before:
            saved = [f"{self.variable(BEFORE + key)} = {self.variable(key)};" for key in self._before]
            self._saved[self._place : self._place] = ["#ifdef CLAIMED", *saved, "#endif"]

    def _begin(self) -> None:
        for effect in self._definition.entry:
            self._effect(effect)
        if self.sets is None:
            return
        self.entered = self.sets
        self._reading("attempt", self._definition.attempt, _is_attempt)
        self._saved, self._place = self.code, len(self.code)
        reported = self._reported()
        if reported is None or self.sets is None:
            return
        ways = dict.fromkeys(leaf.value.way for leaf, _ in leaves(reported, self.sets) if not leaf.failed)
        if len(ways) < 2:
            self._after(reported, next(iter(ways), None))
            return
        self._branching = True
        outer, sets, options = self.code, self.sets, []
        for way in ways:

            def leads(leaf: Leaf, way: Way | None = way) -> bool:
                return not leaf.failed and leaf.value.way == way

            self.code, self.sets = Block(), narrowed(reported, sets, leads)
            top = self.code
            self._after(reported, way)
            options.append((self.when(reported, sets, leads), top))
        options.append(("else", self.failure()))
        self._fallible = False
        outer.append(Choice(options))

    def _after(self, reported: Tree, way: Way | None) -> None:
        """Write what follows the report."""
        assert self.sets is not None
        updates = _mapped(reported, lambda found: found.writes)
        self._do(self.updated(updates, self.sets))
        for effect in self._definition.exit:
            self._effect(effect)
        if self.sets is None:
            return
        if way is not None:
            self._lead(way)
            return
        conditional = self.machine.definition.conditional(self.node)
        if conditional is None:
            fixed = self.machine.ways.fixed(self.node)
            if fixed is None:
                self.add(self.failure())
                self.sets = None
            else:
                self._lead(fixed)
        elif isinstance(conditional.decision, Decision):
            self.code += self._rules(conditional, 0, self.sets)
        else:
            self._router(conditional)

    @property
    def seen_before(self) -> list[str]:
        """The variables that hold what properties ask for of the state that the action saw."""
        return [self.variable(BEFORE + key) for key in self._before]

    def variable(self, name: str) -> str:
        """Give the Promela variable that a tree calls by a name, those of properties included.

        Args:
            name: the name.
        """
        machine = self.machine
        if name.startswith(BEFORE):
            self._before[name.removeprefix(BEFORE)] = None
            return machine.names.of("before", name.removeprefix(BEFORE))
        plain = name in machine.domains or self.extra is None or name.startswith((WROTE, LOG))
        return super().variable(name) if plain else machine.names.of("m", name)

    def rank(self, name: str, number: int) -> int:
        """Give the number that a value is printed as.

        Args:
            name: the variable, as a tree calls it.
            number: the number of the value.
        """
        if name.startswith(BEFORE):
            return super().rank(name.removeprefix(BEFORE), number)
        if name in self.machine.domains or self.extra is None or name.startswith((WROTE, LOG)):
            return super().rank(name, number)
        return self.extra(name).rank(number)

    def _do(self, done: tuple[Block, Sets | None]) -> None:
        block, self.sets = done
        self.add(block)

    # --- tables ---------------------------------------------------------------------------------------------------

    def tree(self, who: str, function: Callable[[Ask], Any], sets: Sets | None = None) -> Tree:
        """Tabulate a function over the values that the keys may have here.

        Args:
            who: how an error names it.
            function: ``ask -> result``.
            sets: the values; those of here where absent.
        """
        known = self.sets if sets is None else sets
        assert known is not None
        machine = self.machine

        def numbers(name: str) -> Sequence[int]:
            if name not in machine.domains:
                raise _Beside(name)
            return tuple(known[name])

        try:
            return grow(who, function, numbers, machine.value)
        except _Beside as beside:
            raise WiderError([beside.key]) from None

    def state(self, ask: Ask, reads: Sequence[str] | None, who: str) -> State:
        """Give a state that asks for its values, with the declared reads only.

        Args:
            ask: gives the value of a key.
            reads: the declared reads; ``None`` for all.
            who: how an error names the reader.
        """
        probe = Probe(ask, self.machine.definition.keys)
        return probe if reads is None else ReadView(probe, reads, who)

    def _effect(self, effect: Effect) -> None:
        if self.sets is None:
            return
        who = f"update {effect.name!r} of node {self.node!r}"

        def changes(ask: Ask) -> Writes:
            found = effect.apply(self.state(ask, effect.reads, who))
            return self.machine.ways.writes(found or {}, dict.fromkeys(effect.writes))

        self._do(self.updated(self.tree(who, changes), self.sets))

    def _reading(self, what: str, reading: Reading | None, allowed: Callable[[Any], bool]) -> None:
        """Write the failure of an attempt or outcome function, where it can fail."""
        if reading is None or self.sets is None:
            return
        who = f"the {what} function of node {self.node!r}"

        def read(ask: Ask) -> None:
            value = reading.get(self.state(ask, reading.reads, who))
            if not allowed(value):
                raise RunError(f"{who} gave {value!r}")

        self._do(
            self.spread(
                self.tree(who, read),
                self.sets,
                lambda leaf, under: (self.failure(), None) if leaf.failed else (Block(), under),
            )
        )

    def _reported(self) -> Tree | None:
        machine, node = self.machine, self.node
        update = machine.model.alphabet[node][self.outcome]
        allowed = dict.fromkeys(machine.definition.writable(self._definition))
        whole = machine.definition.whole(self._definition)

        def report(ask: Ask) -> Reported:
            found: Any = resolve(update, self.state(ask, None, ""))
            given = found.update if isinstance(found, Command) else found
            if not isinstance(given, Mapping):
                raise RunError(f"{node!r} returned no mapping")
            writes = machine.ways.writes(given, allowed) + tuple((key, LEFT_OUT) for key in whole if key not in given)
            return Reported(writes, machine.ways.commanded(node, found) if isinstance(found, Command) else None)

        try:
            return self.tree(f"outcome {self.outcome!r} of node {node!r}", report)
        except WiderError:
            keys = machine.definition.keys
            meets = self.lane != RUN and any(isinstance(keys[key], Replace) for key in allowed)
            if meets or self._definition.goto or any(key in machine.domains for key in allowed):
                raise
            # Whatever it reads and reports, nothing of it decides.
            return Leaf(Reported(()))

    # --- decisions ------------------------------------------------------------------------------------------------

    def when(self, tree: Tree, sets: Sets, leads: Callable[[Leaf], bool]) -> str:
        """Give the expression that tells whether a tree leads to some results.

        Args:
            tree: the tree.
            sets: the values that variables may have.
            leads: picks the results.
        """
        if isinstance(tree, Leaf):
            return TRUE if leads(tree) else FALSE
        terms, whole = [], 0
        for numbers, inner in tree.grouped:
            left = [number for number in numbers if number in sets[tree.name]]
            if not left:
                continue
            term = self.when(inner, {**sets, tree.name: left}, leads)
            whole += term == TRUE
            terms.append(all_of((self.option(tree.name, left), term)))
        return TRUE if whole == len(terms) else any_of(terms)

    def _condition(self, rule: str, condition: Condition, sets: Sets) -> Tree:
        who = f"condition {condition.name!r} of {self.node}.{rule}"
        return self.tree(who, lambda ask: bool(condition.test(self.state(ask, condition.reads, who))), sets)

    def _rules(self, conditional: Conditional, number: int, sets: Sets | None) -> Block:
        """Write the rules from one on: the first whose conditions all hold decides."""
        rules = conditional.decision.rules  # type: ignore[union-attr]
        if sets is None:
            return Block(["assert(false); /* no value leads here */"])
        if number == len(rules):
            return self._failed()
        rule = rules[number]
        fires: list[str] = []
        fails: list[str] = []
        here: Sets | None = sets
        past: Sets | None = None
        for condition in rule.when:
            assert here is not None
            tree = self._condition(rule.name, condition, here)
            failing = self.when(tree, here, lambda leaf: leaf.failed)
            if failing != FALSE:
                fails.append(all_of((*fires, failing)))
            fires.append(self.when(tree, here, lambda leaf: leaf.value is True and not leaf.failed))
            past = joined(past, narrowed(tree, here, lambda leaf: leaf.value is False and not leaf.failed))
            here = narrowed(tree, here, lambda leaf: leaf.value is True and not leaf.failed)
            if here is None:
                break
        options: list[tuple[str, Block]] = []
        if here is not None:
            self._branching = self._branching or all_of(fires) != TRUE
            way = self.machine.ways.of_rule(conditional, number)
            options.append((all_of(fires), self._led(way, here)))
        if fails:
            options.append((any_of(fails), self._failed()))
        if past is None:
            if len(options) == 1:
                return options[0][1]
            options.append(("else", Block(["assert(false); /* no value leads here */"])))
            return Block([Choice(options)])
        rest = self._rules(conditional, number + 1, past)
        return Block([Choice([*options, ("else", rest)])]) if options else rest

    def _failed(self) -> Block:
        block = self.failure()
        self._fallible = False
        return block

    def _router(self, conditional: Conditional) -> None:
        decision: Any = conditional.decision
        who = f"the router of node {self.node!r}"
        tree = self.tree(
            who,
            lambda ask: self.machine.ways.routed(conditional, decision.router(self.state(ask, decision.reads, who))),
        )
        self._branching = self._branching or not isinstance(tree, Leaf)
        assert self.sets is not None

        def make(leaf: Leaf, under: Sets) -> tuple[Block, Sets | None]:
            if leaf.failed:
                return self._failed(), None
            outer, self.code = self.code, Block()
            top = self.code
            self._do(self.written(leaf.value.update, under))
            if self.sets is not None:
                self._lead(leaf.value)
            self.code = outer
            return top, None

        sets = self.sets
        block, _ = self.spread(tree, sets, make)
        self.code += block

    # --- moving ---------------------------------------------------------------------------------------------------

    def _lead(self, way: Way) -> None:
        assert self.sets is not None
        self.code += self._led(way, self.sets)

    def _led(self, way: Way, sets: Sets) -> Block:
        """Write that the lane goes a way."""
        block = Block()
        outcome = self._definition.outcome
        if outcome is not None:
            outer, self.code, kept = self.code, Block(), self.sets
            top, self.sets = self.code, sets
            self._reading("outcome", outcome, is_text)
            self.code += self._gone(way, sets)
            self.code, self.sets = outer, kept
            return top
        block += self._gone(way, sets)
        return block

    def _gone(self, way: Way, sets: Sets) -> Block:
        choice = way.choices[0]
        to = " ".join(f"{each.target}" for each in way.choices)
        where = f"{self.lane.label}: " if self.lane != RUN else ""
        text = f"{where}{self.node} {self.outcome} -> {to} {'(as before)' if way.repeats else choice.reason}"
        block = Block([f'printf("{quoted(text)}\\n");'])
        if self._claimed is not None:
            block += self._claimed(self, way, sets)
        if way.fan_out is None:
            block += self.give_reason(choice.target, choice.reason, way.repeats)
            block += self.moved(choice.target, sets)
            return block
        winner = None
        if way.fork.wait == "any_of" and not self.machine.interleaved:
            if self._branching:
                raise ExportError(
                    f"node {self.node!r} opens an any_of on conditions, and in order of declaration who wins is chosen "
                    "as it opens; export all interleavings, or open it on fixed edges or by a Command"
                )
            winner = self.winner
            count = len(way.choices) if way.fork.limit is None else min(len(way.choices), way.fork.limit)
            self.machine.contests[self.lane, self.node, self.outcome] = count
        block += self.opened(way, sets, winner)
        return block


def _is_attempt(value: Any) -> bool:
    return type(value) is int and value >= 1


def _mapped(tree: Tree, function: Callable[[Any], Any]) -> Tree:
    """Give a tree with other results."""
    if isinstance(tree, Leaf):
        return tree if tree.failed else Leaf(function(tree.value))
    ways = tuple((number, _mapped(inner, function)) for number, inner in tree.ways)
    return ways[0][1] if len({inner for _, inner in ways}) == 1 else type(tree)(tree.name, ways)
