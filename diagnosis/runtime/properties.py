"""Properties: what should hold for every run of a graph, as objects that a graph can carry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from diagnosis.runtime.decisions import Choice, State, is_count, keys_of, refuse_async
from diagnosis.runtime.definition import END
from diagnosis.runtime.errors import DefinitionError

Kind = Literal["always", "sometimes", "never_after", "eventually", "bound"]
"""What is claimed: of every step, of some step, of the steps after one, of every run in the end, or of its length."""


@dataclass(frozen=True, slots=True)
class Move:
    """One node execution as a property sees it.

    Attributes:
        node: the node that was executed.
        outcome: the name of what it reported, in the outcome alphabet.
        attempt: which attempt it was.
        before: the state that its action saw.
        report: what its action reported; of a Command, its update.
        after: the state after it; in a branch, as the branch sees it.
        choice: the decision that followed.
        others: the further choices of a decision that opened several branches.
        branch: the branch it was executed in, such as ``worker[1]``; empty outside branches.
    """

    node: str
    outcome: str
    attempt: int
    before: State
    report: Mapping[str, Any]
    after: State
    choice: Choice
    others: tuple[Choice, ...] = ()
    branch: str = ""

    @property
    def choices(self) -> tuple[Choice, ...]:
        """Every choice of the decision that followed: one, unless it opened branches."""
        return (self.choice, *self.others)

    @property
    def last(self) -> bool:
        """Whether the run ends with it; a branch that leads to END does not end the run."""
        return not self.branch and self.choice.target == END


@dataclass(frozen=True)
class Property:
    """A claim about all runs; made by :func:`always` and its like.

    Attributes:
        name: a short name, unique in a model.
        kind: what is claimed.
        statement: the claim as a sentence.
        reads: the state keys that ``test`` reads.
        test: ``move -> bool``, or ``(move, memory) -> bool`` where there is a memory; ``None`` for a bound, and for the
            claim that every run ends.
        start: the memory before the first move.
        remember: ``(memory, move) -> memory``, so that a claim can span several moves; a hashable value.
        limit: for a bound, the number of node executions.
    """

    name: str
    kind: Kind
    statement: str
    reads: tuple[str, ...] = ()
    test: Callable[..., bool] | None = None
    start: Any = None
    remember: Callable[[Any, Move], Any] | None = None
    limit: int | None = None

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise DefinitionError("a property needs a name")
        if self.test is not None:
            refuse_async(self.test, f"property {self.name!r}")
        try:
            hash(self.start)
        except TypeError as error:
            raise DefinitionError(f"the memory of property {self.name!r} must be hashable: {error}") from error

    def holds(self, move: Move, memory: Any) -> bool:
        """Evaluate the claim on one move.

        Args:
            move: the node execution.
            memory: the memory after it.
        """
        assert self.test is not None
        return bool(self.test(move) if self.remember is None else self.test(move, memory))


def always(
    name: str,
    statement: str,
    test: Callable[..., bool],
    *,
    reads: str | Iterable[str] = (),
    start: Any = None,
    remember: Callable[[Any, Move], Any] | None = None,
) -> Property:
    """Claim that a predicate holds for every move of every run.

    Args:
        name: a short name.
        statement: the claim as a sentence.
        test: ``move -> bool``, or ``(move, memory) -> bool`` with ``remember``.
        reads: the state keys that ``test`` and ``remember`` read.
        start: the memory before the first move.
        remember: how the memory goes on.
    """
    return Property(name, "always", statement, keys_of(reads), test, start, remember)


def sometimes(
    name: str,
    statement: str,
    test: Callable[..., bool],
    *,
    reads: str | Iterable[str] = (),
    start: Any = None,
    remember: Callable[[Any, Move], Any] | None = None,
) -> Property:
    """Claim that some move of some run meets a predicate; arguments are those of :func:`always`."""
    return Property(name, "sometimes", statement, keys_of(reads), test, start, remember)


def never_after(
    name: str,
    statement: str,
    after: Callable[[Move], bool],
    never: Callable[[Move], bool],
    *,
    reads: str | Iterable[str] = (),
) -> Property:
    """Claim that once one predicate held for a move, another holds for no later move of that run.

    The move for which the first one holds is not a later one; it may meet both.

    Args:
        name: a short name.
        statement: the claim as a sentence.
        after: ``move -> bool``, from which move on the claim counts.
        never: ``move -> bool``, what must not come later.
        reads: the state keys that both of them read.

    Raises:
        DefinitionError: one of them is no plain function.
    """
    for what, function in (("after", after), ("never", never)):
        refuse_async(function, f"{what!r} of property {name!r}")

    def remember(memory: tuple[bool, bool], move: Move) -> tuple[bool, bool]:
        return memory[1], memory[1] or bool(after(move))

    def test(move: Move, memory: tuple[bool, bool]) -> bool:
        return not (memory[0] and never(move))

    return Property(name, "never_after", statement, keys_of(reads), test, (False, False), remember)


def eventually(name: str, statement: str, test: Callable[[Move], bool], *, reads: str | Iterable[str] = ()) -> Property:
    """Claim that every run comes to a move that meets a predicate; a run that goes on for ever without one breaks it.

    Args:
        name: a short name.
        statement: the claim as a sentence.
        test: ``move -> bool``.
        reads: the state keys that ``test`` reads.
    """
    return Property(name, "eventually", statement, keys_of(reads), test)


def ends(name: str = "every_run_ends", statement: str = "Every run reaches END.") -> Property:
    """Claim that every run reaches END, whatever the nodes report.

    Args:
        name: a short name.
        statement: the claim as a sentence.
    """
    return Property(name, "eventually", statement)


def bound(limit: int, name: str | None = None, statement: str | None = None) -> Property:
    """Claim that no run takes more than a number of node executions, and that some run takes as many.

    Args:
        limit: node executions, from 1.
        name: a short name.
        statement: the claim as a sentence.

    Raises:
        DefinitionError: the limit is no number from 1.
    """
    if not is_count(limit):
        raise DefinitionError(f"a bound is a number of node executions from 1, found {limit!r}")
    return Property(
        name or f"at_most_{limit}_executions",
        "bound",
        statement or f"No run executes more than {limit} nodes, and {limit} is reached.",
        limit=limit,
    )
