"""Boundaries: who writes text that nobody vouches for, and what it must never reach."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from diagnosis.runtime.decisions import State, is_text, keys_of
from diagnosis.runtime.definition import Action
from diagnosis.runtime.errors import DefinitionError


class Voice(Protocol):
    """What a hostile fake writes its text with."""

    def __call__(self, name: str) -> str:
        """Give a text that comes from the source ``node.name`` and copies all that the node was handed.

        Args:
            name: what tells the source from others of the node.
        """

    def own(self, name: str) -> str:
        """Give a text that comes from the source ``node.name`` and copies nothing.

        Args:
            name: what tells the source from others of the node.
        """


@dataclass(frozen=True, slots=True)
class Barrier:
    """A claim that text of some sources never reaches some keys.

    Attributes:
        name: how tables name it.
        statement: what is claimed, in a sentence.
        sinks: what must not be reached: ``key``, or ``key.field`` for a field of a mapping.
        sources: patterns such as ``search.found``, ``search.*`` or ``input.question``; every source where empty.
        nodes: the nodes whose writes to the sinks count; those of all where empty.
    """

    name: str
    statement: str
    sinks: tuple[str, ...]
    sources: tuple[str, ...]
    nodes: tuple[str, ...]

    def __init__(
        self,
        name: str,
        statement: str,
        *,
        sinks: str | Iterable[str],
        sources: str | Iterable[str] = (),
        nodes: str | Iterable[str] = (),
    ) -> None:
        if not is_text(name):
            raise DefinitionError(f"a barrier needs a name, found {name!r}")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "statement", statement)
        for attribute, given in (("sinks", sinks), ("sources", sources), ("nodes", nodes)):
            object.__setattr__(self, attribute, keys_of(given))
        if not self.sinks:
            raise DefinitionError(f"barrier {name!r} names no sink; allowed: at least one 'key' or 'key.field'")


@dataclass(frozen=True)
class Boundary:
    """What is trusted in a graph, and what must hold of the rest.

    Attributes:
        barriers: the claims.
        untrusted: the nodes that write untrusted text; all that have no real action where ``None``.
        inputs: the input keys whose text is untrusted; those of the model's input where ``None``.
        handed: node -> pure function from the state to what its model is handed, all of which a hostile fake copies;
            the whole state where absent.
        reports: node -> function from a report of the alphabet and a :class:`Voice` to a hostile report that decisions
            read alike; where absent, every text is replaced and every key that the node owns is written.
        real: node -> the action that really runs there, in place of the alphabet. It must wait for nothing.
    """

    barriers: tuple[Barrier, ...] = ()
    untrusted: tuple[str, ...] | None = None
    inputs: tuple[str, ...] | None = None
    handed: Mapping[str, Callable[[State], Any]] = field(default_factory=dict)
    reports: Mapping[str, Callable[[Mapping[str, Any], Voice], Mapping[str, Any]]] = field(default_factory=dict)
    real: Mapping[str, Action] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [barrier.name for barrier in self.barriers]
        for name in names:
            if names.count(name) > 1:
                raise DefinitionError(f"two barriers are named {name!r}; give each its own name")
