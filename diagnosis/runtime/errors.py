"""Every error of the package: one base class, and for each failure of a run a type of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from diagnosis.runtime.run import Run


def one_of(names: Iterable[object]) -> str:
    """Write a list of allowed names for an error message.

    Args:
        names: what is allowed, in the order to show.

    Returns:
        The names in quotes, joined by commas, or ``nothing`` for an empty list.
    """
    return ", ".join(repr(str(name)) for name in names) or "nothing"


def told(error: BaseException) -> str:
    """Say what an exception is, in one line.

    Args:
        error: any exception.
    """
    try:
        text = str(error)
    except Exception:
        text = "(its text cannot be told)"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


class DiagnosisError(Exception):
    """The base class of every error that this package raises on purpose."""


class DefinitionError(DiagnosisError):
    """A part of a graph, model or property is wrong where it is defined."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a graph.

    Attributes:
        kind: the class of the finding, such as ``dead_end``.
        where: the node, edge or declaration concerned.
        detail: a sentence that says what was found and what to do.
    """

    kind: str
    where: str
    detail: str

    def __str__(self) -> str:
        return f"{self.kind} at {self.where}: {self.detail}"


class CompileError(DefinitionError):
    """A graph has findings, so that it was not compiled; ``findings`` lists all of them."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        count = len(self.findings)
        lines = "".join(f"\n  - {finding}" for finding in self.findings)
        super().__init__(f"the graph has {count} finding{'s' if count != 1 else ''}:{lines}")


class FrozenError(DiagnosisError, TypeError):
    """Code tried to change a read-only value of the state."""


class ValueRefusedError(DiagnosisError):
    """A value cannot be kept in state, because nothing could stop later changes to it."""


class MergeError(DiagnosisError):
    """A strategy was given a value that it cannot merge."""


class ReadError(DiagnosisError):
    """A function read a key that it does not declare."""


class InputError(DiagnosisError):
    """The input of a run holds a key or a value that the graph does not take."""


class StopRunError(DiagnosisError):
    """Raised by an action, it stops the whole run: no fork that waits for ``any_of`` goes on without the branch."""


class RunError(DiagnosisError):
    """A run stopped with an error.

    Attributes:
        node: the node concerned, or ``None`` before the first.
        attempt: which attempt of the node it was, from 1.
        branch: the branch it came in, such as ``worker[1]``; empty outside branches.
        branch_path: the same as numbers: the branch's place in each fork around it.
        run: the run so far, with its path, events and state; set by the runtime.
    """

    def __init__(self, message: str, *, node: str | None = None, attempt: int = 1) -> None:
        super().__init__(message)
        self.node = node
        self.attempt = attempt
        self.branch = ""
        self.branch_path: tuple[int, ...] = ()
        self.run: Run | None = None

    @property
    def path(self) -> tuple[str, ...]:
        """The nodes that had been executed when the error came."""
        return () if self.run is None else self.run.path

    @property
    def state(self) -> Mapping[str, Any]:
        """The state as it was before the execution that failed."""
        return {} if self.run is None else self.run.state


class UnmappedRouteError(RunError):
    """A decision gave a route key that its mapping does not hold, or no rule held."""


class UndeclaredKeyError(RunError):
    """A node wrote a key that the graph does not declare."""


class OwnershipError(RunError):
    """A node wrote a declared key that it does not own."""


class ReportError(RunError):
    """A node returned something that is no valid report."""


class ConditionError(RunError):
    """A condition, a router, or a function for attempt or outcome raised."""


class EffectError(RunError):
    """An entry or exit update raised, or wrote what it does not declare."""


class ActionError(RunError):
    """A node's action raised; the cause is chained."""


class LimitError(RunError):
    """A run would have begun one node execution more than its recursion limit allows."""


class JoinError(RunError):
    """The results of parallel branches cannot be merged, or no branch is left to go on with."""


def action_failed(node: str, attempt: int, error: BaseException) -> ActionError:
    """Give the error of a node whose action raised, with what it raised as its cause.

    Args:
        node: the node.
        attempt: which attempt of it.
        error: what the action raised.
    """
    failed = ActionError(f"node {node!r}, attempt {attempt}, raised {told(error)}", node=node)
    failed.__cause__ = error
    return failed


def limit_met(limit: int, node: str) -> LimitError:
    """Give the error of a run that met its recursion limit.

    Args:
        limit: node executions.
        node: the node that would have come next.
    """
    return LimitError(
        f"the run met its recursion limit of {limit} node executions, and {node!r} would come next; "
        "see where it loops, or raise recursion_limit",
        node=node,
    )
