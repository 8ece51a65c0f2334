"""Which keys of the state are read: as declared, and as seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from diagnosis.runtime import Definition


class Recorder(Mapping[str, Any]):
    """A state that remembers which keys were read.

    Args:
        state: the state.
        order: where the keys are noted too, in the order in which they are read.

    Attributes:
        plain: the state itself, for a look that is not to be remembered.
        reads: the keys that were read.
    """

    def __init__(self, state: Mapping[str, Any], order: dict[str, None] | None = None) -> None:
        self.plain = self._state = state
        self._order = {} if order is None else order
        self.reads: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        self.reads.add(key)
        self._order[key] = None
        return self._state[key]

    def __iter__(self) -> Iterator[str]:
        self.reads.update(self._state)
        self._order.update(dict.fromkeys(self._state))
        return iter(self._state)

    def __len__(self) -> int:
        return len(self._state)


def declared_reads(definition: Definition) -> tuple[str, ...]:
    """Give the keys that conditions, entry and exit updates, attempts and outcomes read, in the order of the keys.

    Args:
        definition: the graph. A plain router that declares nothing may read every key but the event key.
    """
    reads: set[str] = set()
    for node in definition.nodes:
        for effect in node.effects:
            reads.update(effect.reads)
        for reading in (node.attempt, node.outcome):
            reads.update(reading.reads if reading else ())
    for conditional in definition.conditionals:
        if conditional.decision.reads is None:
            aside = definition.event_log.key if definition.event_log else None
            reads.update(key for key in definition.keys if key != aside)
        else:
            reads.update(conditional.decision.reads)
    return tuple(key for key in definition.keys if key in reads)
