"""How a fork closes: what its branches wrote comes together, and the lane around it goes on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from diagnosis.exports.blocks import Block, Choice, among
from diagnosis.exports.lanes import RUN, ForkKind, Lane
from diagnosis.exports.machine import LOG, WROTE, Machine
from diagnosis.exports.trees import Sets, joined
from diagnosis.exports.writing import ESCAPED, Writer
from diagnosis.runtime import Replace, ReplaceAll


class Closing(Writer):
    """Writes how a fork closes.

    Args:
        machine: the graph.
        lane: where it is open.
        fork: the kind of fork.
    """

    def __init__(self, machine: Machine, lane: Lane, fork: ForkKind) -> None:
        super().__init__(machine, lane, machine.forked[lane, fork])
        self.fork = fork
        self.children = machine.branches[lane, fork]
        ended = [child for child in self.children if child in machine.ended]
        if ended:
            self._conflicts(ended)
            for child in ended:
                self._merge(child, machine.ended[child])
            if self.sets is not None:
                self.code += [f"clear_{machine.names.of('lane', child.label)}();" for child in self.children]
                self.code += self.moved(fork.join, self.sets)

    def _conflicts(self, ended: list[Lane]) -> None:
        """Write the failure of two branches that wrote what only one may."""
        machine, wrote = self.machine, dict[str, list[Lane]]()
        if self.fork.wait == "any_of":
            return
        for child in ended:
            for name, numbers in machine.ended[child].items():
                if name.startswith((WROTE, LOG)) and set(numbers) != {0}:
                    wrote.setdefault(name, []).append(child)
        for name, children in wrote.items():
            if len(children) < 2:
                continue
            terms = [f"({machine.variable(child, name)} != 0)" for child in children]
            guard = f"{' + '.join(terms)} > 1"
            if name.startswith(LOG):
                log = machine.logs[name.removeprefix(LOG)]
                alone = []
                for child in children:
                    numbers = [n for n in machine.ended[child][name] if any(map(_replaces, log.values[n]))]
                    if numbers:
                        alone.append(among(machine.variable(child, name), [log.rank(number) for number in numbers]))
                if not alone:
                    continue
                guard = f"({guard}) && ({' || '.join(alone)})"
            failed = self.failure()
            self._fallible = False
            rest = Block()
            self.code.append(Choice([(guard, failed), ("else", rest)]))
            self.code = rest

    def _merge(self, child: Lane, ended: Sets) -> None:
        machine = self.machine
        for name in machine.logged(child):
            numbers = ended.get(name, (0,))
            if self.sets is None or set(numbers) <= {0}:
                continue
            key = name.removeprefix(LOG).removeprefix(WROTE)
            own = name in machine.logged(self.lane) and self.lane != RUN
            if isinstance(machine.definition.keys[key], Replace):
                block = Block()
                if key in machine.domains:
                    variable = machine.use(self.lane, key)
                    block.append(f"{variable} = {machine.variable(child, key)};")
                    self.sets = {**self.sets, key: tuple(sorted({*self.sets[key], *ended[key]}))}
                if own:
                    block.append(f"{machine.use(self.lane, name)} = 1;")
                    self.sets = {**self.sets, name: tuple(sorted({*self.sets[name], 1}))}
                if block:
                    self.add(Block([Choice([(machine.variable(child, name), block), ("else", Block())])]))
            else:
                self._merge_log(child, key, numbers, own)

    def _merge_log(self, child: Lane, key: str, numbers: Iterable[int], own: bool) -> None:
        machine, log = self.machine, self.machine.logs[key]
        assert self.sets is not None
        name, domain, merge = f"{LOG}{key}", machine.domains[key], machine.merges[key]
        assert merge is not None
        options: list[tuple[str, Block]] = []
        after: Sets | None = None
        # A branch that was not there, or lost, wrote nothing.
        for number in sorted({0, *numbers}):

            def folded(old: int, number: int = number) -> int | None:
                value: Any = domain.values[old]
                try:
                    for each in log.values[number]:
                        value = merge(value, each)
                except Exception:
                    return None
                return domain.number(value)

            def both(old: int, number: int = number) -> int:
                return log.number((*log.values[old], *log.values[number]))

            block, sets = self.tabled(key, folded, self.sets)
            if own and sets is not None:
                more, sets = self.tabled(name, both, sets)
                block += more
            after = joined(after, sets)
            options.append((among(machine.variable(child, name), [log.rank(number)]), block))
        self.sets = after
        self.add(Block([Choice([*options, ("else", Block([ESCAPED]))])]))


def _replaces(value: Any) -> bool:
    return isinstance(value, ReplaceAll)
