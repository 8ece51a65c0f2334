"""Properties of a model as assertions over the variables of its Promela text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from diagnosis.exports.blocks import TRUE, Block
from diagnosis.exports.domains import Domain
from diagnosis.exports.lanes import RUN, Way
from diagnosis.exports.machine import Machine
from diagnosis.exports.trees import ExportError, Leaf, Probe, Sets, Tree, grow
from diagnosis.exports.walking import BEFORE, Walk
from diagnosis.runtime import Command, Move, Property, ReadView, bracketed, resolve

MEMORY = "memory of "
"""How the variable begins that holds what a property remembers."""


class _Late(Mapping[str, Any]):
    """A report that is made when it is looked at, because it may rest on keys that no property reads."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> Mapping[str, Any]:
        made = self._make()
        found: Mapping[str, Any] = made.update if isinstance(made, Command) else made
        return found

    def __getitem__(self, key: str) -> Any:
        return self._made[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


class Claims:
    """The properties of one model that are said move by move.

    Args:
        machine: the graph.

    Attributes:
        said: property -> the number that its definition ends with.
        left_out: (property, why it is not said).
        grown: whether a property was found to remember something new.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.said: dict[str, int] = {}
        self.left_out: list[tuple[str, str]] = []
        self.grown = False
        self._claims: list[Property] = []
        self.memories: dict[str, Domain] = {}
        for claim in machine.model.properties:
            if claim.test is None:
                continue
            if claim.kind == "eventually":
                self.left_out.append((claim.name, "it is about whole runs, not about moves"))
                continue
            beside = [key for key in claim.reads if key not in machine.domains]
            if beside:
                self.left_out.append((claim.name, f"it reads {beside[0]!r}, which routing does not"))
                continue
            self._claims.append(claim)
            self.said[claim.name] = len(self.said) + 1
            if claim.remember is not None:
                self.memories[claim.name] = Domain(f"what property {claim.name!r} remembers")
                self.memories[claim.name].number(claim.start)

    @property
    def remembering(self) -> bool:
        """Whether a property has a memory, whose values must be found first."""
        return bool(self.memories)

    def drop(self, name: str, why: str) -> None:
        """Leave a property out.

        Args:
            name: the property.
            why: why it cannot be said.
        """
        self.left_out.append((name, why))
        self._claims = [claim for claim in self._claims if claim.name != name]
        del self.said[name]
        self.memories.pop(name, None)

    def order(self) -> None:
        """Settle how remembered values are printed."""
        for domain in self.memories.values():
            domain.order()

    def start(self, name: str) -> int:
        """Give the number that the first memory of a property is printed as.

        Args:
            name: the property.
        """
        return self.memories[name].rank(0)

    def write(self, walk: Walk, way: Way, sets: Sets) -> Block:
        """Write what the properties say of a move, which is yet to be made.

        Args:
            walk: the node execution.
            way: where it leads.
            sets: the values that variables may have.
        """
        block = Block()
        for claim in list(self._claims):
            walk.extra = self._numbered
            try:
                said = self._written(claim, walk, way, sets)
            except ExportError as error:
                self.drop(claim.name, str(error))
                continue
            if said:
                block += [f"#ifdef CLAIM_{self.said[claim.name]}", *said, "#endif"]
        return block

    def _numbered(self, name: str) -> Domain:
        return self.memories[name.removeprefix(MEMORY)]

    def _written(self, claim: Property, walk: Walk, way: Way, sets: Sets) -> Block:
        memory = self.memories.get(claim.name)
        remembered = MEMORY + claim.name
        inside = dict(sets) | {BEFORE + key: numbers for key, numbers in walk.entered.items()}
        if memory is not None:
            inside[remembered] = tuple(range(len(memory.values)))
        move = self._move(claim, walk, way)

        def judged(ask: Callable[[str], Any]) -> Any:
            made = move(ask)
            if claim.remember is None:
                return claim.holds(made, None)
            after = claim.remember(ask(remembered), made)
            return claim.holds(made, after), after

        def value(name: str, number: int, another: bool) -> Any:
            if name == remembered:
                assert memory is not None
                return memory.values[number]
            return self._machine.value(name.removeprefix(BEFORE), number, another)

        def numbers(name: str) -> Sequence[int]:
            if name not in inside:
                raise ExportError(f"it rests on key {name.removeprefix(BEFORE)!r}, which routing does not read")
            return tuple(inside[name])

        tree = grow(f"property {claim.name!r}", judged, numbers, value)
        decides = claim.kind == "sometimes"
        if memory is None:
            good = walk.when(tree, inside, lambda leaf: leaf.failed or leaf.value is not decides)
            return Block([] if good == TRUE else [f"assert({good});"])
        return self._with_memory(claim, walk, tree, inside, memory, decides)

    def _with_memory(
        self, claim: Property, walk: Walk, tree: Tree, inside: Sets, memory: Domain, decides: bool
    ) -> Block:
        name = walk.variable(MEMORY + claim.name)

        def make(leaf: Leaf, under: Sets) -> tuple[Block, Sets | None]:
            if leaf.failed or leaf.value[0] is decides:
                return Block(["assert(false);"]), under
            known = len(memory.values)
            number = memory.number(leaf.value[1])
            self.grown = self.grown or len(memory.values) > known
            return Block([f"{name} = {memory.rank(number)};"]), under

        return walk.spread(tree, inside, make)[0]

    def _move(self, claim: Property, walk: Walk, way: Way) -> Callable[[Callable[[str], Any]], Move]:
        """Give the function that makes the move that a property sees."""
        machine, who = self._machine, f"property {claim.name!r}"
        keys, node = machine.definition.keys, machine.definition.node(walk.node)
        branch = ""
        if walk.lane != RUN:
            firsts = list(machine.firsts[walk.lane])
            if len(firsts) > 1:
                raise ExportError("a branch may begin at several nodes, so that its name is not known here")
            branch = firsts[0] + bracketed(tuple(lane.number for lane in walk.lane.line))
        update = machine.model.alphabet[walk.node][walk.outcome]
        first, *others = way.choices

        def made(ask: Callable[[str], Any]) -> Move:
            before = Probe(ask, keys, BEFORE)
            return Move(
                walk.node,
                walk.outcome,
                node.attempt.get(before) if node.attempt else 1,
                ReadView(before, claim.reads, who),
                _Late(lambda: resolve(update, before)),
                ReadView(Probe(ask, keys), claim.reads, who),
                first,
                tuple(others),
                branch,
            )

        return made
