"""A model: a graph with all that its nodes may report, which is what can be scripted, explored and covered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from diagnosis.runtime.boundary import Boundary
from diagnosis.runtime.commands import Command, Send, ways_of
from diagnosis.runtime.compiled import CompiledGraph
from diagnosis.runtime.decisions import Event, State, is_text
from diagnosis.runtime.definition import COMPLETED
from diagnosis.runtime.display import Shown
from diagnosis.runtime.errors import DefinitionError, DiagnosisError, one_of
from diagnosis.runtime.frozen import freeze
from diagnosis.runtime.nodestep import Report
from diagnosis.runtime.properties import Property, bound, ends
from diagnosis.runtime.run import Executed, Run
from diagnosis.runtime.transitions import causes_of, transitions_of

Returned = Mapping[str, Any] | Command
"""What an action returns: an update, or a Command where its node declares a goto."""

Update = Returned | Callable[[State], Returned]
"""What a node reports: an update, a Command, or a pure function that gives one from the state that the action sees."""


class ShortFormError(DiagnosisError):
    """A short form in a script is not one that the model knows.

    Attributes:
        at: where inside the short form: keys and list places.
        found: what stands there.
        allowed: what may stand there.
    """

    def __init__(self, at: Iterable[str | int], found: str, allowed: str) -> None:
        self.at = tuple(at)
        self.found = found
        self.allowed = allowed
        super().__init__(f"found {found}; allowed: {allowed}")


class ShortForms(Protocol):
    """How scripts say what a node reports."""

    def parse(self, node: str, item: Mapping[str, Any]) -> Update:
        """Give the update or the Command that a short form stands for.

        Args:
            node: the node that reports.
            item: the short form; a bare text ``x`` comes as ``{"status": "x"}``.

        Raises:
            ShortFormError: the model knows no such form.
        """

    def spell(self, node: str, outcome: str) -> str | Mapping[str, Any]:
        """Give the short form of an outcome of the alphabet.

        Args:
            node: the node that reports.
            outcome: a name of its alphabet.
        """


@dataclass(frozen=True)
class OutcomeNames:
    """Short forms that are the outcomes' names: what a model has where it brings no others.

    Attributes:
        alphabet: node -> outcome -> update or Command.
    """

    alphabet: Mapping[str, Mapping[str, Update]]

    def parse(self, node: str, item: Mapping[str, Any]) -> Update:
        """Give what a named outcome reports."""
        for key in item:
            if key != "status":
                raise ShortFormError([key], f"the unknown key {key!r}", "'status', 'goto', 'raises' or 'update'")
        outcome = item.get("status")
        known = self.alphabet[node]
        if not isinstance(outcome, str) or outcome not in known:
            found = repr(outcome) if isinstance(outcome, str) else f"{type(outcome).__name__} {outcome!r}"
            raise ShortFormError(["status"], found, one_of(known))
        return known[outcome]

    def spell(self, node: str, outcome: str) -> str:
        """Give the outcome's name."""
        return outcome


@dataclass(frozen=True, repr=False)
class Model(Shown):
    """A graph under test.

    Attributes:
        name: how files and commands name it.
        graph: the compiled graph.
        alphabet: for every node, outcome name -> what it then reports; see :data:`Update`. A function that raises says
            that the node may fail. A node with one outcome
            need not be scripted. One that may write nothing and has no goto, such as the one that is put behind START,
            may be left out: its one outcome is an empty update.
        properties: what should hold, beside what is claimed of every graph.
        counters: the state keys that reports and files show as counters.
        bound: the node executions of the longest run, where one is claimed.
        short_forms: how scripts say what a node reports; the outcomes' names where absent.
        classify: ``(node, report, state after) -> outcome``, for reports that the alphabet does not hold letter by
            letter; ``None`` for one outside the alphabet. The report of a Command is its update.
        trace: ``run -> trace map``, for the record of a run; its transitions and ending where absent.
        summary: ``(final node, final state) -> what the trace tells of the ending`` beside final node and reason; the
            final node is ``None`` of a run that did not end. By it, recorded traces are checked.
        input: what runs start with when explored.
        boundary: what its text must not reach, where that is claimed.
    """

    name: str
    graph: CompiledGraph
    alphabet: Mapping[str, Mapping[str, Update]]
    properties: tuple[Property, ...] = ()
    counters: tuple[str, ...] = ()
    bound: int | None = None
    short_forms: ShortForms | None = None
    classify: Callable[[str, Report, State], str | None] | None = None
    trace: Callable[[Run], Mapping[str, Any] | None] | None = None
    summary: Callable[[str | None, State], Mapping[str, Any]] | None = None
    input: Mapping[str, Any] = field(default_factory=dict)
    boundary: Boundary | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.graph, CompiledGraph):
            raise DefinitionError(f"model {self.name!r} needs a compiled graph, found {type(self.graph).__name__}")
        names, keys = self.graph.definition.names, self.graph.definition.keys
        alphabet: Any = self.alphabet
        if not isinstance(alphabet, Mapping) or not all(isinstance(found, Mapping) for found in alphabet.values()):
            raise DefinitionError(f"the alphabet of model {self.name!r} must be a mapping: node -> outcome -> update")
        if not all(isinstance(claim, Property) for claim in self.properties):
            raise DefinitionError(
                f"the properties of model {self.name!r} must be made by always, sometimes, "
                "never_after, eventually, ends or bound"
            )
        if self.boundary is not None and not isinstance(self.boundary, Boundary):
            raise DefinitionError(
                f"the boundary of model {self.name!r} must be a Boundary, found {type(self.boundary).__name__}"
            )
        for what, function in (("classify", self.classify), ("trace", self.trace)):
            if function is not None and not callable(function):
                raise DefinitionError(f"{what} of model {self.name!r} must be a function, found {function!r}")
        silent = [node.name for node in self.graph.definition.nodes if node.owns == () and not node.goto]
        if not all(node in alphabet for node in silent):
            # The frozen class gets its alphabet completed; nothing else about it ever changes.
            object.__setattr__(self, "alphabet", {**{node: {COMPLETED: {}} for node in silent}, **alphabet})
        for node in names:
            if not self.alphabet.get(node):
                raise DefinitionError(f"model {self.name!r} gives no outcomes for node {node!r}; each node needs one")
        for node, outcomes in self.alphabet.items():
            if node not in names:
                raise DefinitionError(f"model {self.name!r} gives outcomes for {node!r}; nodes are {one_of(names)}")
            for outcome, update in outcomes.items():
                if not is_text(outcome):
                    raise DefinitionError(
                        f"model {self.name!r}: an outcome of {node!r} is named by a text that is not blank, "
                        f"found {outcome!r}"
                    )
                if isinstance(update, Command):
                    flaw = goto_flaw(self.graph, node, update.goto)
                    if flaw is not None:
                        raise DefinitionError(
                            f"model {self.name!r}: the goto of {node}.{outcome}: found {flaw.found}; "
                            f"allowed: {flaw.allowed}"
                        )
                elif not isinstance(update, Mapping) and not callable(update):
                    raise DefinitionError(
                        f"model {self.name!r}: {node}.{outcome} must be an update or a function that gives one"
                    )
        for key in self.counters:
            if key not in keys:
                raise DefinitionError(f"model {self.name!r} counts {key!r}; the keys of its graph are {one_of(keys)}")
        claims = [claim.name for claim in self.claims]
        for claim in self.claims:
            if claims.count(claim.name) > 1:
                raise DefinitionError(f"model {self.name!r} has two properties named {claim.name!r}")
            for key in claim.reads:
                if key not in keys:
                    raise DefinitionError(f"property {claim.name!r} reads {key!r}; the keys are {one_of(keys)}")

    @property
    def forms(self) -> ShortForms:
        """The short forms of scripts."""
        return self.short_forms or OutcomeNames(self.alphabet)

    @property
    def claims(self) -> tuple[Property, ...]:
        """The properties to check: every run ends, the bound, and those of one's own."""
        own = {claim.kind for claim in self.properties if claim.test is None}
        general: tuple[Property, ...] = () if "eventually" in own else (ends(),)
        if self.bound is not None and "bound" not in own:
            general += (bound(self.bound),)
        return general + self.properties

    @property
    def unscripted(self) -> tuple[str, ...]:
        """The nodes that a script may leave out, because they can report one thing only."""
        return tuple(node for node, outcomes in self.alphabet.items() if len(outcomes) == 1)

    @property
    def branched(self) -> bool:
        """Whether the graph can open branches."""
        return bool(self.graph.step.fan_outs.all)

    @property
    def trace_version(self) -> int:
        """The version of its traces: 1, or 2 where the graph can open branches."""
        return 2 if self.branched else 1

    def outcome_of(self, node: str, report: Report, state: State, event: Event | None = None) -> str | None:
        """Name the outcome of the alphabet that a report amounts to.

        Args:
            node: the node that reported.
            report: what it reported; of a Command, the update.
            state: the state after it.
            event: the event of it, by which two Commands with the same update are told apart, and a Command from an
                update.

        Returns:
            A name, or ``None`` for a report outside the alphabet.
        """
        outcomes = self.alphabet[node]
        by_goto = event is not None and self.graph.definition.commanded(event.choice)
        if event is not None and by_goto:
            for outcome, update in outcomes.items():
                if isinstance(update, Command) and update.update == report and _chose(update, event):
                    return outcome
        if self.classify is not None:
            return self.classify(node, report, state)
        for outcome, update in outcomes.items():
            if isinstance(update, Command):
                if event is None and update.update == report:
                    return outcome
            elif not by_goto and not callable(update) and update == report:
                return outcome
        return next(iter(outcomes)) if len(outcomes) == 1 else None

    def outcomes_of(self, executed: Executed) -> tuple[str, ...]:
        """Name every outcome of the alphabet that a node execution of a run amounts to.

        Args:
            executed: the node execution.

        Returns:
            Their names, in order: several where the alphabet holds outcomes that report the same, none where the report
            is outside of it. A function of the alphabet is asked what it reports in the state that the action saw.
        """
        event, report = executed.event, executed.report
        found: tuple[str, ...] = ()
        if self.classify is None:
            outcomes, view = self.alphabet[event.node], executed.before
            if any(map(callable, outcomes.values())):
                view = MappingProxyType(self.graph.step.at(event.node).enter(view)[0])
            found = tuple(name for name, update in outcomes.items() if self._reports(update, view, report, event))
        named = None if found else self.outcome_of(event.node, report, executed.after, event)
        return found if named is None else (named,)

    def _reports(self, update: Update, view: State, report: Report, event: Event) -> bool:
        """Tell whether an outcome reports what an event tells."""
        try:
            returned = resolve(update, view)
        except Exception:
            return False
        by_goto = self.graph.definition.commanded(event.choice)
        if isinstance(returned, Command):
            return by_goto and returned.update == report and _chose(returned, event)
        return not by_goto and returned == report

    def trace_of(self, run: Run) -> Mapping[str, Any] | None:
        """Give the trace map of a run, or ``None`` where nothing had happened.

        Args:
            run: a run of the model's graph.

        Returns:
            The transitions and the ending: version 1. For a graph that can open branches, version 2: events too, each
            with the branch it happened in and the places of the events that led to it; a transition has the place of
            the event that it left, and the branch that it led to.
        """
        if self.trace is not None:
            return self.trace(run)
        events = run.events
        if not events:
            return None
        branched = self.branched
        transitions: list[dict[str, Any]] = []
        for source, target, reason in transitions_of(run):
            left, right = events[source], events[target]
            transition = {"from": left.node, "to": right.node, "reason_code": reason, "attempt": left.attempt}
            transitions.append({**transition, "branch": right.branch, "after": source} if branched else transition)
        made: dict[str, Any] = {"version": self.trace_version}
        if branched:
            made["events"] = [
                {
                    "node": event.node,
                    "outcome": event.outcome,
                    "attempt": event.attempt,
                    "branch": event.branch,
                    "after": list(causes_of(run, index)),
                }
                for index, event in enumerate(events)
            ]
        return {
            **made,
            "transitions": transitions,
            "final_node": run.final_node,
            "termination_reason": run.reason,
            **(self.summary(run.final_node, run.state) if self.summary is not None else {}),
        }

    def text(self) -> str:
        """Give the graph and the size of the alphabet."""
        count = sum(len(outcomes) for outcomes in self.alphabet.values())
        return f"Model {self.name}: {count} outcomes, {len(self.claims)} properties\n{self.graph.text()}"


class GotoFlaw(NamedTuple):
    """Why a node cannot go where a Command says.

    Attributes:
        at: the place in a list of route keys; ``None`` where it is not about one of them.
        found: what the Command says.
        allowed: what it may say.
    """

    at: int | None
    found: str
    allowed: str


def goto_flaw(graph: CompiledGraph, node: str, goto: str | Sequence[str | Send]) -> GotoFlaw | None:
    """Say why a node cannot go where a Command says, or give ``None``.

    Args:
        graph: the graph.
        node: one of its nodes.
        goto: a route key; or several, or several Sends, that are to open a branch each.
    """
    ways = graph.definition.node(node).goto
    if not ways:
        return GotoFlaw(
            None,
            f"a goto, but node {node!r} declares none",
            "none; or add the node with goto={route key: target}",
        )
    if isinstance(goto, str):
        return None if goto in ways else GotoFlaw(None, repr(goto), one_of(ways))
    fan_out = graph.step.fan_outs.of(node, "goto")
    if fan_out is None:
        return GotoFlaw(None, f"a list, but node {node!r} declares no fork", f"one of {one_of(ways)}")
    opening = [key for key, target in ways.items() if target in fan_out.targets]
    for at, way in enumerate(goto):
        key = way.goto if isinstance(way, Send) else way
        if key not in opening:
            what = ", which opens no branch" if key in ways else ""
            return GotoFlaw(at, f"{key!r}{what}", one_of(opening))
    return None


def _chose(command: Command, event: Event) -> bool:
    """Tell whether an event shows the choice of a Command."""
    ways = [way.goto for way in ways_of(command.goto)]
    return ways == [choice.route for choice in event.choices] and command.reason == event.reason


def resolve(update: Update, state: State) -> Returned:
    """Give what a node reports in a state.

    Args:
        update: an update, a Command, or a function that gives one.
        state: the state that the action sees.
    """
    return update(state) if callable(update) else update


def frozen_update(update: Returned) -> Returned:
    """Freeze what a node reports now, so that no execution has to.

    Args:
        update: an update or a Command.
    """
    given = update.update if isinstance(update, Command) else update
    # Each value alone: as the value of a key it may be a marker, which nothing else holds.
    values = {key: freeze(value) for key, value in given.items()}
    return Command(update.goto, values, reason=update.reason) if isinstance(update, Command) else values
