"""Statements that write variables: merging, what branches keep, moving, the opening and closing of forks."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from diagnosis.exports.blocks import Block, Choice, among
from diagnosis.exports.domains import Held
from diagnosis.exports.lanes import LEFT_OUT, RUN, ForkKind, Lane, Way, Writes, edits
from diagnosis.exports.machine import BEGAN, LOG, REASON, WROTE, Machine, WiderError
from diagnosis.exports.trees import ExportError, Leaf, Sets, Split, Tree, joined
from diagnosis.runtime import END

ESCAPED = "assert(false); /* a value that was not tabulated */"


class Writer:
    """Writes the statements of one lane.

    Args:
        machine: the graph.
        lane: the lane.
        sets: the values that its variables may have.
    """

    def __init__(self, machine: Machine, lane: Lane, sets: Sets) -> None:
        self.machine, self.lane = machine, lane
        self.sets: Sets | None = dict(sets)
        self.top = Block()
        self.code = self.top
        self._fallible = False
        self.winner = 0

    # --- blocks ---------------------------------------------------------------------------------------------------

    def add(self, block: Block) -> None:
        """Add statements; where they may fail, what follows is done only where they did not.

        Args:
            block: the statements.
        """
        self.code += block
        if self._fallible:
            self._fallible = False
            rest = Block()
            self.code.append(Choice([("bad", Block()), ("else", rest)]))
            self.code = rest

    def failure(self) -> Block:
        """Give the statements of a failure.

        Raises:
            ExportError: a failure here cannot be said.
        """
        machine = self.machine
        if any(lane.fork is not None and lane.fork.wait == "any_of" for lane in self.lane.line):
            raise ExportError(
                f"a branch of an any_of can fail, at {self.lane.label}: which of its branches then wins cannot be said "
                "in Promela here; let its reports be such that none is refused"
            )
        if machine.interleaved and self.lane != RUN:
            raise ExportError(
                f"a branch can fail, at {self.lane.label}, which cannot be said for all interleavings of the branches "
                "beside it; export it in order of declaration"
            )
        machine.may_fail = True
        self._fallible = True
        return Block(["bad = 1;"])

    def option(self, name: str, numbers: Iterable[int]) -> str:
        """Give the test of a variable for some of its values.

        Args:
            name: the variable.
            numbers: the numbers of the values.
        """
        return among(self.variable(name), [self.rank(name, number) for number in numbers])

    def rank(self, name: str, number: int) -> int:
        """Give the number that a value is printed as.

        Args:
            name: the variable, as a tree calls it.
            number: the number of the value.
        """
        return self.machine.rank(name, number)

    def variable(self, name: str) -> str:
        """Give the Promela variable that a tree calls by a name.

        Args:
            name: the name.
        """
        return self.machine.variable(self.lane, name)

    def spread(
        self, tree: Tree, sets: Sets, make: Callable[[Leaf, Sets], tuple[Block, Sets | None]]
    ) -> tuple[Block, Sets | None]:
        """Write a tree as nested choices.

        Args:
            tree: the tree.
            sets: the values that variables may have.
            make: writes what one result leads to.

        Returns:
            The statements, and the values that variables may have after them; ``None`` where nothing comes after them.
        """
        if isinstance(tree, Leaf):
            return make(tree, sets)
        options: list[tuple[str, Block]] = []
        after: Sets | None = None
        for numbers, inner in tree.grouped:
            left = tuple(number for number in numbers if number in sets[tree.name])
            if left:
                block, found = self.spread(inner, {**sets, tree.name: left}, make)
                options.append((self.option(tree.name, left), block))
                after = joined(after, found)
        if len(options) == 1:
            return options[0][1], after
        return Block([Choice([*options, ("else", Block([ESCAPED]))])]), after

    # --- writing keys ---------------------------------------------------------------------------------------------

    def updated(self, tree: Tree, sets: Sets) -> tuple[Block, Sets | None]:
        """Write what a tree of updates changes.

        Args:
            tree: its results are writes.
            sets: the values that variables may have.
        """

        def make(leaf: Leaf, under: Sets) -> tuple[Block, Sets | None]:
            return (self.failure(), None) if leaf.failed else self.written(leaf.value, under)

        block, after = self.spread(tree, sets, make)
        return self._counted(tree) or block, after

    def _counted(self, tree: Tree) -> Block | None:
        """Write a counter as such: a key that each of its values makes greater or smaller by the same."""
        if isinstance(tree, Leaf) or self.machine.merges.get(tree.name, True) is not None or self.lane != RUN:
            return None
        steps = set()
        for number, inner in tree.ways:
            if isinstance(inner, Split) or inner.failed or [key for key, _ in inner.value] != [tree.name]:
                return None
            domain = self.machine.domains[tree.name]
            steps.add(domain.rank(domain.number(inner.value[0][1].value)) - domain.rank(number))
        if len(steps) != 1 or len(tree.ways) < 2:
            return None
        (step,), name = steps, self.variable(tree.name)
        return Block([f"{name} = {name} {'+' if step >= 0 else '-'} {abs(step)};"])

    def written(self, writes: Writes, sets: Sets) -> tuple[Block, Sets | None]:
        """Write keys.

        Args:
            writes: what is written.
            sets: the values that variables may have.
        """
        block = Block()
        now: Sets | None = sets
        for key, value in writes:
            if now is None:
                break
            if edits(value.value) and key not in self.machine.domains:
                raise WiderError([key])
            more, now = self.merged(key, value, now)
            block += more
            if now is not None:
                block += self._kept(key, value, now)
                now = self._sets_kept
        return block, now

    def merged(self, key: str, value: Held, sets: Sets) -> tuple[Block, Sets | None]:
        """Write one key by its strategy; of one that does not decide, only whether it can take the value.

        Args:
            key: the key.
            value: what is written.
            sets: the values that variables may have.
        """
        merge = None if value is LEFT_OUT else self.machine.merges[key]
        if key not in self.machine.domains:
            try:
                if merge is not None:
                    merge(self.machine.definition.keys[key].initial, value.value)
            except Exception:
                return self.failure(), None
            return Block(), sets
        domain = self.machine.domains[key]

        def new(old: int) -> int | None:
            if merge is None:
                return domain.number(value.value)
            try:
                made = merge(domain.values[old], value.value)
            except Exception:
                return None
            return domain.number(made)

        return self.tabled(key, new, sets)

    def tabled(self, name: str, new: Callable[[int], int | None], sets: Sets) -> tuple[Block, Sets | None]:
        """Write a variable by a function of its own value.

        Args:
            name: the variable.
            new: number of the value -> that of the new one, or ``None`` where it fails.
            sets: the values that variables may have.
        """
        found: dict[int | None, list[int]] = {}
        for old in sets[name]:
            found.setdefault(new(old), []).append(old)
        good = sorted(number for number in found if number is not None)
        if good == sorted(sets[name]) and all(olds == [number] for number, olds in found.items()):
            return Block(), sets
        options: list[tuple[str, Block]] = []
        variable = self.machine.use(self.lane, name)
        for number, olds in found.items():
            block = self.failure() if number is None else Block([f"{variable} = {self.machine.rank(name, number)};"])
            options.append((self.option(name, olds), block))
        block = options[0][1] if len(options) == 1 else Block([Choice([*options, ("else", Block([ESCAPED]))])])
        return block, {**sets, name: tuple(good)} if good else None

    def _kept(self, key: str, value: Held, sets: Sets) -> Block:
        """Write what a branch keeps of what it wrote."""
        self._sets_kept = sets
        if f"{WROTE}{key}" in sets:
            self._sets_kept = {**sets, f"{WROTE}{key}": (1,)}
            return Block([f"{self.machine.use(self.lane, WROTE + key)} = 1;"])
        name = f"{LOG}{key}"
        if name not in sets:
            return Block()
        log = self.machine.logs[key]
        block, after = self.tabled(name, lambda old: log.number((*log.values[old], value.value)), sets)
        assert after is not None
        self._sets_kept = after
        return block

    # --- moving ---------------------------------------------------------------------------------------------------

    def give_reason(self, target: str, reason: str, repeats: bool = False) -> Block:
        """Write the reason that leads to a node, where something can tell.

        Args:
            target: the node.
            reason: the reason code.
            repeats: whether it is the one that led here.
        """
        machine = self.machine
        if target not in machine.reasoned:
            return Block([f"{machine.reason(self.lane)} = 0;"]) if (self.lane, REASON) in machine.used else Block()
        machine.use(self.lane, REASON)
        return Block() if repeats else Block([f"{machine.reason(self.lane)} = {machine.code(reason)};"])

    def moved(self, target: str, sets: Sets) -> Block:
        """Write that the lane comes to a node, which may end it.

        Args:
            target: the node.
            sets: the values that variables may have.
        """
        machine, lane = self.machine, self.lane
        if lane.fork is not None and target in (lane.fork.join, END):
            return self._through(sets)
        if target != END:
            machine.arrive(lane, target, sets)
            return Block([f"{machine.at(lane)} = {machine.node(target)};"])
        return Block([f"{machine.at(lane)} = END;", "RUN_ENDS"])

    def _through(self, sets: Sets) -> Block:
        """Write that a branch is through: of what it sees only what it wrote counts from now on."""
        machine, lane = self.machine, self.lane
        assert lane.fork is not None
        assert lane.around is not None
        block = Block([f"{machine.at(lane)} = ENDED;"])
        left = dict(sets)
        for key in machine.keys:
            name, bit = machine.variable(lane, key), f"{WROTE}{key}"
            kept = set(sets.get(bit, (0,)))
            if (lane, key) not in machine.used:
                continue
            if kept == {0}:
                block.append(f"{name} = 0;")
            elif 0 in kept:
                block.append(f"{name} = ({machine.variable(lane, bit)} -> {name} : 0);")
            left[key] = sets[key]
        for extra, variable in ((REASON, machine.reason(lane)), (BEGAN, machine.born(lane))):
            if (lane, extra) in machine.used:
                block.append(f"{variable} = 0;")
        machine.end(lane, left)
        siblings = machine.branches[lane.around, lane.fork]
        close = f"close_{self.fork_label(lane.around, lane.fork)}();"
        others = [each for each in siblings if each != lane]
        if lane.fork.wait == "any_of":
            block += [f"clear_{machine.names.of('lane', each.label)}();" for each in others]
            block.append(close)
        elif others:
            ready = " && ".join(f"{machine.at(each)} <= ENDED" for each in others)
            block.append(Choice([(ready, Block([close])), ("else", Block())]))
        else:
            block.append(close)
        return block

    def fork_label(self, lane: Lane, fork: ForkKind) -> str:
        """Give the name of what closes a fork.

        Args:
            lane: where it is open.
            fork: the kind of fork.
        """
        return self.machine.names.of("fork", f"{lane.label} {self.machine.fork(fork)}".strip())

    def opened(self, way: Way, sets: Sets, winner: int | None) -> Block:
        """Write that a fork opens.

        Args:
            way: what opens it.
            sets: the values that variables may have.
            winner: the one branch that begins, where only that one can win.
        """
        machine, lane, fork = self.machine, self.lane, way.fork
        firsts = [choice.target for choice in way.choices]
        block = Block([f"{machine.at(lane)} = {machine.fork(fork)};"])
        block += self.give_reason(fork.join, way.choices[0].reason)
        machine.wait(lane, fork, sets)
        born_ended = True
        for child in machine.lanes(lane, fork, firsts):
            if winner is not None and child.number != winner:
                continue
            choice = way.choices[child.number]
            inside = {**sets, **dict.fromkeys(machine.logged(child), (0,))}
            inside = {name: numbers for name, numbers in inside.items() if not _of_lane(name, lane, child, machine)}
            inner = Writer(machine, child, inside)
            sent = way.sent[child.number] if way.sent else ()
            here = choice.target != fork.join
            born_ended = born_ended and not here
            if here or sent:
                for key in machine.keys:
                    inner.code.append(f"{machine.use(child, key)} = {machine.variable(lane, key)};")
                inner.send(sent)
            if inner.sets is not None and here:
                inner.code += inner.give_reason(choice.target, choice.reason)
                if len(machine.firsts[child]) > 1:
                    machine.use(child, BEGAN)
                    inner.code.append(f"{machine.born(child)} = {machine.node(choice.target)};")
                inner.code += inner.moved(choice.target, inner.sets)
            elif inner.sets is not None:
                inner.code += [f"{machine.variable(child, key)} = 0;" for key in (machine.keys if sent else ())]
                inner.code.append(f"{machine.at(child)} = ENDED;")
                machine.end(child, inner.sets)
            block += inner.top
        if born_ended:
            block.append(f"close_{self.fork_label(lane, fork)}();")
        return block

    def send(self, writes: Writes) -> None:
        """Write what a branch was sent; the join does not see it.

        Args:
            writes: what was sent.
        """
        for key, value in writes:
            if self.sets is not None:
                block, self.sets = self.merged(key, value, self.sets)
                self.add(block)


def _of_lane(name: str, lane: Lane, child: Lane, machine: Machine) -> bool:
    """Tell whether a variable keeps what the lane around a branch wrote, which the branch has no part in."""
    return name.startswith((WROTE, LOG)) and name not in machine.logged(child)
