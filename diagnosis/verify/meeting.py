"""Two explored graphs under the same scripts, as long as both go the same way: their product."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from diagnosis.runtime import END, Position
from diagnosis.verify.paths import Call, Script, Transition, script_back
from diagnosis.verify.space import StateSpace

Kind = Literal["path", "termination", "reason"]
"""What differs first: where a run goes on; whether or how it ends; only the reason or attempt of a step."""

KINDS: Final[tuple[Kind, ...]] = ("path", "termination", "reason")

MAX_PAIRS: Final = 1_000_000
"""Pairs of control states that are visited at most."""


class Pair(NamedTuple):
    """A control state of each graph that the same script leads to.

    Attributes:
        left: the control state of the one.
        right: the control state of the other.
        differed: whether a reason or an attempt on the way was another one.
    """

    left: int
    right: int
    differed: bool = False


class Shared(NamedTuple):
    """One call in a pair.

    Attributes:
        source: the pair.
        left: the transition of the one; ``None`` where it has none for the call.
        right: the transition of the other; ``None`` where it has none for the call.
        kind: what differs; ``None`` where nothing does, or the outcome is in one alphabet only.
        target: the pair that follows, where both go on the same way.
    """

    source: Pair
    left: Transition | None
    right: Transition | None
    kind: Kind | None
    target: Pair | None = None

    @property
    def comparable(self) -> bool:
        """Whether both graphs know the outcome."""
        return self.kind is not None or (self.left is not None and self.right is not None)

    @property
    def ends(self) -> bool:
        """Whether both runs end with it, in the same way."""
        return self.comparable and self.kind not in ("path", "termination") and self.target is None


@dataclass
class Meeting:
    """The product of two explored graphs: each pair of control states that some script leads both to.

    A script is followed as long as both graphs execute the same node; where they part, the call at which they do is
    kept, and what either does then is in its own space.

    Args:
        left: the one graph, explored.
        right: the other graph, explored.

    Attributes:
        calls: every call in every pair, breadth first.
        stopped: why it is not complete, if it is not.
    """

    left: StateSpace
    right: StateSpace
    calls: list[Shared] = field(init=False, default_factory=list)
    stopped: str | None = field(init=False, default=None)
    _came: dict[Pair, tuple[Pair, Call] | None] = field(init=False, default_factory=dict)
    _depths: dict[Pair, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        start = Pair(0, 0)
        self._came[start], self._depths[start] = None, 0
        self.stopped = self.left.stopped or self.right.stopped
        queue = deque([start] if self.meets else [])
        while queue:
            here = queue.popleft()
            for shared in self._shared(here):
                self.calls.append(shared)
                there = shared.target
                if there is None or there in self._came:
                    continue
                assert shared.left is not None
                self._came[there] = (here, self.left.call(shared.left))
                self._depths[there] = self._depths[here] + 1
                queue.append(there)
            if len(self._came) > MAX_PAIRS:
                self.stopped = f"more than {MAX_PAIRS} pairs of control states"
                break

    @property
    def meets(self) -> bool:
        """Whether both begin at the same node."""
        return self.left.node(0) == self.right.node(0)

    def script_to(self, pair: Pair) -> Script:
        """Give the shortest script that leads both to a pair.

        Args:
            pair: the pair.
        """
        return script_back(self._came, pair)

    def depth(self, pair: Pair) -> int:
        """Give the fewest calls that lead to a pair.

        Args:
            pair: the pair.
        """
        return self._depths[pair]

    def prefixes(self) -> Counter[Pair]:
        """Count for each pair the scripts that lead to it; only where neither graph has a cycle."""
        waiting = Counter(shared.target for shared in self.calls if shared.target is not None)
        onward: dict[Pair, list[Pair]] = {}
        for shared in self.calls:
            if shared.target is not None:
                onward.setdefault(shared.source, []).append(shared.target)
        found = Counter({Pair(0, 0): 1})
        ready = [Pair(0, 0)]
        for here in ready:
            for there in onward.get(here, ()):
                found[there] += found[here]
                waiting[there] -= 1
                if not waiting[there]:
                    ready.append(there)
        return found

    def _shared(self, here: Pair) -> Iterator[Shared]:
        left, right = _by_outcome(self.left, here.left), _by_outcome(self.right, here.right)
        for outcome in dict.fromkeys((*left, *right)):
            ours, theirs = left.get(outcome, {}), right.get(outcome, {})
            node = self.left.node(here.left)
            known = outcome in self.left.model.alphabet[node] and outcome in self.right.model.alphabet[node]
            for winner in dict.fromkeys((*ours, *theirs)):
                one, other = ours.get(winner), theirs.get(winner)
                if one is None or other is None:
                    if not (self.left if one is None else self.right).complete:
                        continue  # it may only not have been explored
                    yield Shared(here, one, other, "path" if known else None)
                    continue
                kind = _kind(self.left, one, self.right, other)
                target = None
                if kind in (None, "reason") and one.target is not None and self.left.node(one.target) != END:
                    assert other.target is not None
                    target = Pair(one.target, other.target, here.differed or kind == "reason")
                yield Shared(here, one, other, kind, target)


def _by_outcome(space: StateSpace, index: int) -> dict[str, dict[str | None, Transition]]:
    found: dict[str, dict[str | None, Transition]] = {}
    for edge in space.outgoing[index]:
        found.setdefault(edge.outcome, {})[edge.winner] = edge
    return found


def onward(space: StateSpace, edge: Transition) -> tuple[str, ...]:
    """Say where a run goes on after a transition: how it ends, or the next node and its branch.

    Args:
        space: the space of the transition.
        edge: the transition.
    """
    if edge.target is None:
        return ("error", edge.error or "")
    if space.node(edge.target) == END:
        end = space.positions[edge.target]
        return (END, (end.reason or "") if isinstance(end, Position) else "")
    opened = tuple(choice.target for choice in edge.choices)
    return ("next", space.node(edge.target), space.branch(edge.target), *opened)


def _kind(left: StateSpace, one: Transition, right: StateSpace, other: Transition) -> Kind | None:
    ours, theirs = onward(left, one), onward(right, other)
    if ours != theirs:
        return "path" if ours[0] == theirs[0] == "next" else "termination"
    why = [[(choice.reason) for choice in edge.choices] + [str(edge.attempt)] for edge in (one, other)]
    return None if why[0] == why[1] else "reason"
