"""A graph as Promela, the language of the model checker SPIN, printed from its declared rules."""

from __future__ import annotations

from collections.abc import Iterator

from diagnosis.exports.blocks import Block, Choice, all_of, quoted
from diagnosis.exports.claims import MEMORY, Claims
from diagnosis.exports.closing import Closing
from diagnosis.exports.domains import UnboundedError
from diagnosis.exports.lanes import RUN, Lane
from diagnosis.exports.machine import BEGAN, EFFORTS, REASON, Machine, WiderError, first_projection
from diagnosis.exports.trees import Sets
from diagnosis.exports.walking import Walk
from diagnosis.runtime import DefinitionError, Model

_FIRST = 4
"""The number of the first node."""

_PREAMBLE = """\
#define NOWHERE 0
#define ENDED 1
#define END 2
#define STOPPED 3
"""

_HISTORY = """\
#if defined(SCRIPTS)
short script[SCRIPTS];
short taken;
#define TAKES(outcome) script[taken] = outcome; taken++;
#elif defined(LENGTHS) || defined(LIMIT)
short taken;
#define TAKES(outcome) taken++;
#else
#define TAKES(outcome) skip;
#endif
#if defined(SCRIPTS) || defined(LENGTHS)
#define RUN_ENDS c_code { printf("a run of %d\\n", now.taken); };
#elif defined(LIMIT)
#define RUN_ENDS assert(taken <= LIMIT);
#else
#define RUN_ENDS skip;
#endif
#ifdef NO_ERROR
#define STOPS assert(false);
#else
#define STOPS skip;
#endif
"""


def promela(model: Model, *, interleave: bool = False) -> str:
    """Print a graph as Promela.

    Each condition, and each entry, exit, attempt and outcome function, is tabulated for itself over the values that the
    keys it reads may have; the order of rules, the first that holds, merging, counting, moving, opening and joining is
    said in Promela. A state of SPIN is a control state, a transition an outcome put into one.

    Args:
        model: the graph under test.
        interleave: whether all orders in which branches may move are explored; else branches move in order of
            declaration, one after the other, as :func:`diagnosis.explore` does it.

    Returns:
        The text of a file for ``spin -a``.

    Raises:
        DefinitionError: it is no model.
        ExportError: something of it cannot be said: a function without a finite table, a key without a bound.
    """
    if not isinstance(model, Model):
        raise DefinitionError(f"Promela is printed of a Model, found {type(model).__name__}; see diagnosis.Model")
    keys, efforts = first_projection(model), list(EFFORTS)
    while True:
        try:
            return _Text(Machine(model, keys, interleave, efforts[0])).text()
        except WiderError as wider:
            keys |= wider.keys
        except UnboundedError:
            efforts.pop(0)
            if not efforts:
                raise


class _Text:
    """The text of one graph."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.claims = Claims(machine)
        self._saying = False
        self._settle()
        machine.order()
        self._saying = True
        while self.claims.remembering:
            self.claims.grown = False
            for (lane, node), sets in machine.points.items():
                for _ in self._walks(lane, node, sets):
                    pass
            if not self.claims.grown:
                break
        self.claims.order()

    def _settle(self) -> None:
        """Follow every outcome through every node until no further value turns up."""
        machine = self.machine
        while machine.pending:
            while machine.pending:
                lane, node, sets = machine.pending.pop()
                for _ in self._walks(lane, node, sets):
                    pass
            for lane, fork in list(machine.forked):
                Closing(machine, lane, fork)

    def _walks(self, lane: Lane, node: str, sets: Sets) -> Iterator[Walk]:
        """Go through all that the outcomes of a node lead to."""
        machine = self.machine
        for outcome in machine.model.alphabet[node]:
            winner = 0
            while winner < machine.contests.get((lane, node, outcome), 1):
                yield Walk(machine, lane, node, outcome, sets, winner, self.claims.write if self._saying else None)
                winner += 1

    def _turn(self, lane: Lane) -> Iterator[str]:
        """Give the guards that tell whether it is a branch's turn."""
        machine = self.machine
        for each in lane.line:
            assert each.around is not None
            assert each.fork is not None
            before = [machine.at(other) for other in machine.branches[each.around, each.fork][: each.number]]
            if not machine.interleaved:
                yield from (f"{place} <= ENDED" for place in before)
            elif each.fork.limit is not None and each.fork.limit <= each.number:
                yield f"({' + '.join(f'({place} > ENDED)' for place in before)}) < {each.fork.limit}"

    def text(self) -> str:
        machine = self.machine
        walks = [walk for (lane, node), sets in machine.points.items() for walk in self._walks(lane, node, sets)]
        options = [self._option(walk, number) for number, walk in enumerate(walks, 1)]
        closings = [
            (f"close_{closing.fork_label(lane, fork)}", closing.top)
            for lane, fork in machine.forked
            for closing in [Closing(machine, lane, fork)]
        ]
        lanes = [lane for lane in machine.below(RUN) if lane != RUN]
        lines = [self._header(), _PREAMBLE.rstrip(), *self._constants(), "", *self._variables(lanes), "", _HISTORY]
        for lane in lanes:
            clear = Block([f"{name} = 0;" for each in machine.below(lane) for name in self._of_lane(each)])
            lines += _inline(f"clear_{machine.names.of('lane', lane.label)}", clear)
        for name, block in closings:
            lines += _inline(name, block)
        stop = Block([f"{name} = 0;" for lane in machine.below(RUN) for name in self._of_lane(lane)])
        lines += _inline("stop", Block([*stop, "at = STOPPED;", "STOPS", "RUN_ENDS"]))
        lines += ["active proctype graph() {", "end:\tdo", *(line for each in options for line in each), "\tod", "}"]
        return "\n".join(lines) + "\n"

    def _option(self, walk: Walk, number: int) -> list[str]:
        machine = self.machine
        guard = all_of((f"{machine.at(walk.lane)} == {machine.node(walk.node)}", *self._turn(walk.lane)))
        block = Block([f"TAKES({number})", *walk.top])
        if machine.may_fail:
            block.append(Choice([("bad", Block(["stop();", "bad = 0;"])), ("else", Block())]))
        if walk.seen_before:
            block += ["#ifdef CLAIMED", *(f"{name} = 0;" for name in walk.seen_before), "#endif"]
        where = f"{walk.lane.label}: " if walk.lane != RUN else ""
        return [
            f"\t/* {_comment(f'{where}{walk.node} reports {walk.outcome}')} */",
            f"\t:: d_step {{ {guard} ->",
            *block.lines(2),
            "\t}",
        ]

    def _header(self) -> str:
        machine = self.machine
        order = "all interleavings of branches" if machine.interleaved else "branches in order of declaration"
        return "\n".join(
            [
                f"/* {_comment(machine.model.name)}: {order}.",
                " * A state is a control state, a transition an outcome put into one; STOPPED is the one state in",
                " * which every run ends that stops with an error.",
                " *   spin -a model.pml && gcc -O2 -DSAFETY -DNOREDUCE -o pan pan.c && ./pan",
                " * spin -a -DSCRIPTS=n prints the length of each script of at most n executions, -DLENGTHS those of",
                " * runs that differ in state or length, -DLIMIT=n claims that no run is longer, -DNO_ERROR that none",
                " * stops with an error. -DCLAIM_n asserts a property, or of one that some run shows, that none does:",
                *(_comment(f" *   CLAIM_{number} {name}") for name, number in self.claims.said.items()),
                *(_comment(f" *   left out: {name}: {why}") for name, why in self.claims.left_out),
                " */",
            ]
        )

    def _constants(self) -> Iterator[str]:
        machine = self.machine
        nodes = [machine.node(node) for node in dict.fromkeys(node for _, node in machine.points)]
        forks = [machine.fork(fork) for fork in dict.fromkeys(fork for _, fork in machine.forked)]
        for number, name in enumerate(dict.fromkeys((*nodes, *forks)), _FIRST):
            yield f"#define {name} {number}"
        for number, name in enumerate(machine.names.given("R"), 1):
            yield f"#define {name} {number}"

    def _variables(self, lanes: list[Lane]) -> Iterator[str]:
        machine = self.machine
        places = _FIRST + len(machine.points) + len(machine.forked)
        yield f"{_type(places)} at = {machine.node(machine.start)};"
        for lane in lanes:
            yield f"{_type(places)} {machine.at(lane)};"
        for name, number in self.claims.said.items():
            domain = self.claims.memories.get(name)
            if domain is not None:
                kind = _type(len(domain.values) - 1)
                yield f"#ifdef CLAIM_{number}"
                yield f"{kind} {machine.names.of('m', MEMORY + name)} = {self.claims.start(name)};"
                yield "#endif"
        if machine.may_fail:
            yield "bit bad;"
        if self.claims.said:
            yield f"#if {' || '.join(f'defined(CLAIM_{number})' for number in self.claims.said.values())}"
            yield "#define CLAIMED"
            yield from (f"short {name};" for name in machine.names.given("before"))
            yield "#endif"
        for lane, name in machine.used:
            if name == REASON:
                yield f"{_type(len(machine.names.given('R')))} {machine.reason(lane)};"
            elif name == BEGAN:
                yield f"{_type(places)} {machine.born(lane)};"
        for lane in (RUN, *lanes):
            for name in (*machine.keys, *(machine.logged(lane) if lane != RUN else ())):
                if lane != RUN and (lane, name) not in machine.used:
                    continue
                domain = machine.domain(name)
                kind = "bit" if domain is None else _type(len(domain.values) - 1)
                start = f" = {machine.rank(name, machine.initial[name])}" if lane == RUN else ""
                yield f"{kind} {machine.variable(lane, name)}{start}; /* {self._legend(lane, name)} */"

    def _legend(self, lane: Lane, name: str) -> str:
        machine, domain = self.machine, self.machine.domain(name)
        where = f"{lane.label}: " if lane != RUN else ""
        if domain is None:
            return _comment(f"{where}{name}")
        ordered = sorted(range(len(domain.values)), key=domain.rank)
        values = ", ".join(f"{machine.rank(name, number)} {_short(domain.values[number])}" for number in ordered[:16])
        return _comment(f"{where}{name}: {values}{', ...' if len(ordered) > 16 else ''}")

    def _of_lane(self, lane: Lane) -> Iterator[str]:
        """Go through the variables of a lane."""
        machine = self.machine
        yield machine.at(lane)
        for name in (*machine.keys, *(machine.logged(lane) if lane != RUN else ())):
            if lane == RUN or (lane, name) in machine.used:
                yield machine.variable(lane, name)
        if (lane, REASON) in machine.used:
            yield machine.reason(lane)
        if (lane, BEGAN) in machine.used:
            yield machine.born(lane)


def _inline(name: str, block: Block) -> list[str]:
    return [f"inline {name}() {{", *block.lines(1), "}", ""]


def _type(greatest: int) -> str:
    return "bit" if greatest < 2 else "byte" if greatest < 256 else "short"


def _short(value: object) -> str:
    text = repr(value)
    if "set(" in text or " at 0x" in text:
        # Its text is another in every process.
        return f"a {type(value).__name__}"
    return text if len(text) <= 40 else text[:37] + "..."


def _comment(text: str) -> str:
    return quoted(text).replace("%%", "%").replace("*/", "* /").replace("/*", "/ *")
