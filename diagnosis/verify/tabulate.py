"""The node executions of a graph without branches as rows: what a node depends on gives what it writes and leads to.

A row is made once, on the pure step, for the values of those keys only that the node's execution depends on: what its
entry and exit updates, its readings and its decision declare to read, what its outcomes' functions and its router were
seen to read, and what it merges with. A key that it overwrites in any case before that is no such key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from diagnosis.runtime import (
    END,
    Choice,
    Conditional,
    Custom,
    Decision,
    Model,
    Position,
    Rule,
    RuleTruth,
    RunError,
    evaluate,
)
from diagnosis.runtime.step import Entered
from diagnosis.verify.judge import Judge
from diagnosis.verify.keys import StateKeys
from diagnosis.verify.moves import Execution, Moves
from diagnosis.verify.needs import Needs
from diagnosis.verify.reach import Reach

Writes = tuple[tuple[int, int], ...]
"""What is written: (number of the key, number of the value)."""

Witness = Callable[[], Mapping[str, Any]]
"""Gives the whole state of the control state for which a row is made."""


class _Unread:
    """Stands for the value of a key that an execution does not depend on."""


_UNREAD = _Unread()


class Rekeyed(Exception):  # noqa: N818 - a message of the table to the search
    """A function was seen to read a further key: the rows of its node begin anew."""


class RowStep(NamedTuple):
    """What one outcome comes to.

    Attributes:
        outcome: its name.
        place: the number of the place that it leads to; ``None`` where the run stops with an error.
        position: that place, with the reason that led there.
        writes: all that is written, entry updates included, as far as it differs from what stood there.
        attempt: which attempt of the node it is.
        choice: the decision.
        error: the error of the run.
    """

    outcome: str
    place: int | None
    position: Position | None
    writes: Writes
    attempt: int
    choice: Choice | None
    error: str | None

    @property
    def others(self) -> tuple[Choice, ...]:
        """None: a decision that opened branches has further ones."""
        return ()


class Row(NamedTuple):
    """All that a node may come to in the control states that agree on what it depends on.

    Attributes:
        place: the number of the place.
        values: the numbers of the values that it depends on, key by key as in :meth:`Table.inputs`.
        entry: what its entry updates write.
        steps: one for each outcome; none at the end of a run.
    """

    place: int
    values: tuple[int, ...]
    entry: Writes
    steps: tuple[RowStep, ...]


def tabulable(model: Model, moves: Moves, projection: Sequence[str]) -> bool:
    """Tell whether the control states of a model can be explored by rows.

    Args:
        model: the graph under test.
        moves: its node executions.
        projection: the keys that control states are told apart by.

    Returns:
        False for graphs that can open branches, where the event key is projected on, and where a merge function of the
        user's own, of a key that is not, might fail for some of its values.
    """
    definition = model.graph.definition
    if moves.step.fan_outs.all or (definition.event_log is not None and definition.event_log.key in projection):
        return False
    custom = {key for key, strategy in definition.keys.items() if isinstance(strategy, Custom)}
    return custom <= set(projection)


class Table:
    """The rows of a model under one projection, made as they are asked for.

    Args:
        model: a model that is :func:`tabulable`.
        moves: its node executions.
        projection: the keys that control states are told apart by.

    Attributes:
        keys: the projected keys, by number.
        values: for each of them the values seen, by number: the first of those that read alike.
        places: the places seen, by number: the node, and the reason that led there where something can tell.
        grown: why the search must stop, where a value has grown beyond all bounds.
    """

    def __init__(self, model: Model, moves: Moves, projection: Sequence[str]) -> None:
        definition = model.graph.definition
        self.model, self._moves = model, moves
        self.keys = tuple(projection)
        self.values: list[list[Any]] = [[] for _ in self.keys]
        self.places: list[Position] = []
        self._known: list[dict[Any, int]] = [{} for _ in self.keys]
        self._number = {key: number for number, key in enumerate(self.keys)}
        self._told = StateKeys(definition, projection)
        self._place_numbers: dict[tuple[str, str | None], int] = {}
        self._reach = Reach(model, projection)
        self._judge = Judge(definition, self.keys)
        self._initial = moves.step.begin(model.input)[1]
        self._base = {**self._initial, **dict.fromkeys(self.keys, _UNREAD)}
        self._nodes = {node.name: Needs(model, node, self._number) for node in definition.nodes}
        self._entries: dict[Any, tuple[Writes, int, RunError | None]] = {}
        self._leaves: dict[Any, _Read | RowStep] = {}
        self._truths: dict[Any, tuple[RuleTruth, ...]] = {}
        self._rule_truths: dict[Any, RuleTruth] = {}
        self._logs = definition.event_log is not None

    @property
    def sizes(self) -> list[int]:
        """How many places were seen, and how many values of each key."""
        return [len(self.places), *map(len, self.values)]

    @property
    def grown(self) -> str | None:
        """Why the search must stop, where a value has grown beyond all bounds."""
        return self._told.grown

    def start(self) -> tuple[int, tuple[int, ...]]:
        """Give the place and the values that runs start with."""
        position, state = self._moves.step.begin(self.model.input)
        return self._place(position), tuple(self._value(n, state[key]) for n, key in enumerate(self.keys))

    def inputs(self, place: int) -> tuple[int, ...]:
        """Give the numbers of the keys that an execution at a place depends on.

        Args:
            place: the number of the place.
        """
        node = self.places[place].node
        return () if node == END else self._nodes[node].inputs

    def known_state(self, values: Mapping[int, int]) -> dict[str, Any]:
        """Give a state with the values of some keys; the others are as they were at the start.

        Args:
            values: number of the key -> number of its value.
        """
        return {**self._initial, **{self.keys[n]: self.values[n][value] for n, value in values.items()}}

    def replayed(self, outcomes: Iterable[str]) -> Mapping[str, Any]:
        """Give the whole state that a script leads to.

        Args:
            outcomes: what the nodes report, one after the other.
        """
        position: Position
        state: Mapping[str, Any]
        position, state = self._moves.step.begin(self.model.input)
        for outcome in outcomes:
            position, state = self.executed(position, state, outcome)
        return state

    def executed(
        self, position: Position, state: Mapping[str, Any], outcome: str
    ) -> tuple[Position, Mapping[str, Any]]:
        """Execute a node on the real step; it must not fail.

        Args:
            position: where the run stands.
            state: the whole state there.
            outcome: what the node reports.
        """
        reported = self._moves.execute(position, state, position, outcome).reported
        assert reported is not None
        assert isinstance(reported.following, Position)
        return reported.following, reported.after

    def row(self, place: int, values: tuple[int, ...], witness: Witness) -> Row:
        """Make a row.

        Args:
            place: the number of the place.
            values: the numbers of the values that it depends on.
            witness: gives the whole state, for functions that read beside the projection.

        Raises:
            Rekeyed: a function reads a further key of the projection.
            Wider: further keys decide.
        """
        position = self.places[place]
        if position.node == END:
            return Row(place, values, (), ())
        needs = self._nodes[position.node]
        before = dict(zip(needs.inputs, values, strict=True))
        entry, attempt, failure = self._entered(position, needs, before)
        now = {**before, **dict(entry)}
        steps = []
        for outcome in self.model.alphabet[position.node]:
            if failure is not None:
                steps.append(RowStep(outcome, None, None, (), 1, None, str(failure)))
                continue
            _, target, position_after, writes, _, choice, error = self._left(
                place, needs, now, outcome, attempt, witness
            )
            if entry:
                writes = tuple({**dict(entry), **dict(writes)}.items())
            writes = tuple([write for write in writes if before.get(write[0]) != write[1]])
            steps.append(RowStep(outcome, target, position_after, writes, attempt, choice, error))
        return Row(place, values, entry, tuple(steps))

    def truths(self, row: Row, step: RowStep) -> tuple[RuleTruth, ...]:
        """Give the rules of the decision after an outcome, fully evaluated; empty where none of them decided.

        Args:
            row: a row.
            step: one of its outcomes.
        """
        node = self.places[row.place].node
        conditional = self.model.graph.definition.conditional(node)
        if step.choice is None or conditional is None or not isinstance(conditional.decision, Decision):
            return ()
        if self.model.graph.definition.commanded(step.choice):
            return ()
        after = {**dict(zip(self.inputs(row.place), row.values, strict=True)), **dict(row.entry), **dict(step.writes)}
        asked = (node, *[after[n] for n in self._nodes[node].decided])
        if asked not in self._truths:
            self._truths[asked] = tuple(self._truth(conditional, rule, after) for rule in conditional.decision.rules)
        return self._truths[asked]

    def _truth(self, conditional: Conditional, rule: Rule, after: Mapping[int, int]) -> RuleTruth:
        """Evaluate a rule, once for what its own conditions read."""
        reads = [self._number[key] for condition in rule.when for key in condition.reads]
        asked = (conditional.source, rule.name, *[after[n] for n in reads])
        if asked not in self._rule_truths:
            state = self._partial({n: after[n] for n in reads})
            self._rule_truths[asked] = evaluate(conditional.source, (rule,), conditional.targets, state)[0]
        return self._rule_truths[asked]

    def _entered(self, here: Position, needs: Needs, before: Mapping[int, int]) -> tuple[Writes, int, RunError | None]:
        """Do what comes before the action."""
        asked = (here.node, *(before[n] for n in needs.entry))
        if asked not in self._entries:
            self._moves.notes.clear()
            state = self._partial(before)
            try:
                entered = self._moves.step.enter(here, state)
            except RunError as error:
                self._entries[asked] = ((), 1, error)
            else:
                self._reach.check(here, _NO_EXECUTION, self._moves.notes)
                self._entries[asked] = (self._written(needs, state, entered.view), entered.attempt, None)
        return self._entries[asked]

    def _left(
        self, place: int, needs: Needs, now: Mapping[int, int], outcome: str, attempt: int, witness: Witness
    ) -> RowStep:
        """Do what comes after it; the writes are those since the entry updates."""
        asked = (place, outcome, attempt if self._logs else 1)
        known = self._leaves.get(asked)
        while type(known) is _Read:
            known = known.ways.get(now[known.key])
        if known is not None:
            return known  # type: ignore[return-value]
        here = self.places[place]
        state = self._partial({n: now[n] for n in needs.exit})
        done = self._executed(here, needs, state, outcome, attempt)
        if done.reads - self._number.keys():
            # What it reads there is no part of the control state: the one that was found first stands for all.
            whole = self._moves.step.enter(here, witness()).view
            state = {**whole, **{key: state[key] for key in self.keys}}
            done = self._executed(here, needs, state, outcome, attempt)
        order = [self._number[key] for key in self._moves.notes.order if key in self._number]
        read = list(dict.fromkeys([*needs.merged, *(n for n in order if n in needs.exit)]))
        # Once more without what was not read: to write what stood there already is to write, too.
        state = {**state, **{self.keys[n]: _UNREAD for n in needs.exit if n not in read}}
        done = self._executed(here, needs, state, outcome, attempt)
        return self._remember(asked, read, now, self._told_step(here, needs, state, now, outcome, done))

    def _remember(self, asked: Any, read: Iterable[int], now: Mapping[int, int], step: RowStep) -> RowStep:
        """Keep a step under the values that were read for it, in the order in which they were read."""
        ways: dict[Any, _Read | RowStep] = self._leaves
        for key in dict.fromkeys(read):
            known = ways.setdefault(asked, _Read(key, {}))
            if type(known) is not _Read or known.key != key:
                # A pure function reads the same next after it read the same.
                return step._replace(place=None, position=None, choice=None, error=_IMPURE)
            ways, asked = known.ways, now[key]
        ways[asked] = step
        return step

    def _executed(
        self, here: Position, needs: Needs, state: Mapping[str, Any], outcome: str, attempt: int
    ) -> Execution:
        notes = self._moves.notes
        notes.clear()
        done = self._moves.leave(Entered(here, state, state, attempt), here, outcome)
        self._reach.check(here, done, notes)
        # What is overwritten in any case is read of the report, unless the outcome's function reads it.
        unread = {key for key in notes.order if key in self._number and self._number[key] not in needs.exit}
        further = {self._number[key] for key in unread if key in done.reads or key not in needs.overwritten}
        if further:
            needs.widen(further)
            self._entries.clear()
            self._leaves.clear()
            raise Rekeyed
        return done

    def _told_step(
        self,
        here: Position,
        needs: Needs,
        state: Mapping[str, Any],
        now: Mapping[int, int],
        outcome: str,
        done: Execution,
    ) -> RowStep:
        reported = done.reported
        if reported is None:
            return RowStep(outcome, None, None, (), done.attempt, None, str(done.failure))
        attempt, choice = reported.event.attempt, reported.event.choice
        looks = [look._replace(state=self._shown(look.state, now)) for look in self._moves.notes.looks]
        judged = done._replace(reported=reported._replace(after=self._shown(reported.after, now)))
        try:
            self._judge.truths(here.node, judged, looks)
        except RunError as error:
            return RowStep(outcome, None, None, (), attempt, None, str(error))
        assert isinstance(reported.following, Position)
        writes = self._written(needs, state, reported.after)
        return RowStep(outcome, self._place(reported.following), reported.following, writes, attempt, choice, None)

    def _partial(self, values: Mapping[int, int]) -> dict[str, Any]:
        """Give a state of which only the given keys are there to be read."""
        return {**self._base, **{self.keys[n]: self.values[n][value] for n, value in values.items()}}

    def _shown(self, state: Mapping[str, Any], now: Mapping[int, int]) -> Mapping[str, Any]:
        """Give a state with what stands there, or something harmless, where nothing was read or written."""
        stands = {**self._initial, **{self.keys[n]: self.values[n][value] for n, value in now.items()}}
        return {key: stands[key] if value is _UNREAD else value for key, value in state.items()}

    def _written(self, needs: Needs, before: Mapping[str, Any], after: Mapping[str, Any]) -> Writes:
        return tuple(
            (n, self._value(n, after[self.keys[n]]))
            for n in needs.writable
            if after[self.keys[n]] is not _UNREAD and after[self.keys[n]] is not before[self.keys[n]]
        )

    def _value(self, number: int, raw: Any) -> int:
        told = self._told.value(number, raw)
        known = self._known[number]
        found = known.setdefault(told, len(known))
        if found == len(self.values[number]):
            self.values[number].append(raw)
        return found

    def _place(self, position: Position) -> int:
        told = self._told.place(position)
        found = self._place_numbers.setdefault(told, len(self.places))
        if found == len(self.places):
            self.places.append(Position(*told) if told[1] is not None else Position(told[0]))
        return found


class _Read(NamedTuple):
    """What comes next of an execution: the value of a key decides.

    Attributes:
        key: the number of the key.
        ways: value -> what comes next.
    """

    key: int
    ways: dict[Any, Any]


_IMPURE = "a function of the node reads differently for the same reads; what routing calls must be pure"

_NO_EXECUTION = Execution(Position(END), {}, {}, 1, None, set(), None, None)
