"""Canaries: texts that tell where they come from, wherever they turn up."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

_TOKEN = re.compile(r"canary[ -]0*(\d+)\b", re.IGNORECASE)
_NONE: frozenset[str] = frozenset()


class Canaries:
    """The sources of a graph, each with a text of its own.

    Twins share their sources, but each twin writes other text for those that are replaced in it.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        # The values are kept, so that no other one gets their identity.
        self._found: dict[int, tuple[Any, frozenset[str]]] = {}

    def text(self, sources: Iterable[str], replaced: Collection[str] = ()) -> str:
        """Give a text that holds the canary of each source.

        Args:
            sources: the sources.
            replaced: a text of any of those is another one, of another length.
        """
        told = sorted(sources)
        for source in told:
            if source not in self._numbers:
                self._numbers[source] = len(self._names)
                self._names.append(source)
        numbers = [self._numbers[source] for source in told]
        if any(source in replaced for source in told):
            # The whole of it, so that no part of the text is the same in both twins.
            return "".join(f"(OTHER TEXT, canary-{number:05}.)" for number in numbers)
        return "".join(f"[canary {number}]" for number in numbers)

    def sources(self, value: Any) -> frozenset[str]:
        """Give the sources whose canaries a value holds, in any depth.

        Args:
            value: any value.
        """
        if value is None or type(value) in (int, bool, float):
            return _NONE
        known = self._found.get(id(value))
        if known is not None:
            return known[1]
        if isinstance(value, str):
            found = frozenset(self._names[int(n)] for n in _TOKEN.findall(value) if int(n) < len(self._names))
        elif isinstance(value, Mapping):
            found = _NONE.union(*(self.sources(part) for item in value.items() for part in item))
        elif isinstance(value, Sequence | frozenset) and not isinstance(value, bytes):
            found = _NONE.union(*map(self.sources, value))
        else:
            found = self.sources(repr(value))
        self._found[id(value)] = value, found
        return found


class Speaker:
    """The voice of one hostile fake in one execution.

    Args:
        canaries: the sources.
        node: the node.
        copied: the sources of all that it was handed.
        replaced: the sources whose text is another one in this twin.
    """

    def __init__(self, canaries: Canaries, node: str, copied: frozenset[str], replaced: Collection[str]) -> None:
        self._canaries, self._node, self._copied, self._replaced = canaries, node, copied, replaced

    def __call__(self, name: str) -> str:
        """Give a text of the node's own that copies all that it was handed; arguments as those of a Voice."""
        return self._canaries.text(self._copied | {f"{self._node}.{name}"}, self._replaced)

    def own(self, name: str) -> str:
        """Give a text of the node's own that copies nothing; arguments as those of a Voice."""
        return self._canaries.text({f"{self._node}.{name}"}, self._replaced)
