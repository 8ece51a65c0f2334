"""What a search sees of ``any_of`` forks: which branches can win them, and which mistakes only make a branch lose."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from diagnosis.runtime import Position
from diagnosis.runtime.errors import ActionError
from diagnosis.runtime.position import Opening, Path, bracketed
from diagnosis.verify.moves import Left
from diagnosis.verify.paths import Script


class Contender(NamedTuple):
    """A branch of an ``any_of`` fork.

    Attributes:
        fork: the name of the fork, such as ``plan``.
        branch: the name of the branch, such as ``fast[0]``.
    """

    fork: str
    branch: str


class Absorbed(NamedTuple):
    """A mistake of the definition that stops no run, because the branch in which it happens merely loses.

    Attributes:
        script: the shortest script that comes to it. It names the branch as the winner, so its run fails.
        error: the text of the error.
        by: the branch, and the fork that goes on without it.
    """

    script: Script
    error: str
    by: Contender


class Races:
    """The ``any_of`` forks of one search.

    Attributes:
        absorbed: the first mistake that was absorbed, if one was. What an outcome raises is none: the alphabet says on
            purpose that the node may fail.
    """

    def __init__(self) -> None:
        self.absorbed: Absorbed | None = None
        self._contenders: dict[Contender, None] = {}
        self._winners: set[tuple[str, str]] = set()

    @property
    def never_won(self) -> tuple[Contender, ...]:
        """The branches that were open to win and never did, in order of discovery."""
        return tuple(contender for contender in self._contenders if contender not in self._winners)

    def opened(self, following: Position | Opening, path: Path) -> None:
        """Note the branches of a fork that opens.

        Args:
            following: what a node leads to.
            path: the path of the branch in which it was executed.
        """
        if type(following) is not Opening or following.wait != "any_of":
            return
        around = bracketed(path)
        found = [
            Contender(following.source + around, f"{target}{around}[{number}]")
            for number, (target, _, _) in enumerate(following.targets)
        ]
        self._contenders.update(dict.fromkeys(found))
        # A branch that leads straight to the join has won at once.
        straight = (at for at, (target, _, _) in zip(found, following.targets, strict=True) if target == following.join)
        self._winners.update(list(straight)[:1])

    def won(self, left: Left) -> None:
        """Note who won the forks that closed.

        Args:
            left: what came of a node execution.
        """
        self._winners.update(left.won)

    def lost(self, left: Left, script: Callable[[], Script]) -> None:
        """Note why a branch failed.

        Args:
            left: what came of a node execution.
            script: gives the script that comes to it.
        """
        if self.absorbed is None and left.absorbed is not None:
            fork, branch, error = left.absorbed
            if not isinstance(error, ActionError):
                self.absorbed = Absorbed(script(), str(error), Contender(fork, branch))
