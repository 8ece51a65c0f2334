"""What runs come to within their recursion limit, and where it stops them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import takewhile
from typing import Any, NamedTuple

from diagnosis.verify.paths import Call, Script, Transition, script_back
from diagnosis.verify.space import StateSpace

MAX_PRODUCT = 400_000
"""Combinations of a control state, what is remembered there, and what was executed, that are looked at at most."""


class _Used(NamedTuple):
    """What was executed, as the limit counts it: each branch by itself until its fork closes, and all of them then.

    Attributes:
        executed: the node executions before the next one: of the branch, and of what stood before the forks around it.
        forks: for each fork around it what was executed before it, and with its branches that have ended.
    """

    executed: int = 0
    forks: tuple[tuple[int, int], ...] = ()


class Stopped(NamedTuple):
    """What came of a search.

    Attributes:
        script: the shortest one that shows what was looked for, or ``None``.
        cut: why the search was given up, or ``None``.
    """

    script: Script | None
    cut: str | None = None


def search(
    space: StateSpace,
    start: Any,
    after: Callable[[Transition, Any], tuple[Any, bool]],
    *,
    before: bool = False,
) -> Stopped:
    """Look for a run that comes to something within the recursion limit; or for one that the limit stops before.

    Args:
        space: what was explored.
        start: what is remembered at first.
        after: ``(transition, memory) -> (memory, whether the run has come to it)``.
        before: whether to look for a run that the limit stops before it comes to it.
    """
    limit = space.model.graph.recursion_limit
    first = (0, start, _Used())
    came: dict[Any, tuple[Any, Call] | None] = {first: None}
    queue = deque([first])
    while queue:
        here = queue.popleft()
        index, memory, used = here
        for edge in space.outgoing[index]:
            if used.executed >= limit and not edge.hidden:
                if before:
                    return Stopped((*script_back(came, here), space.call(edge)))
                break
            remembered, hit = after(edge, memory)
            if hit and not before:
                return Stopped((*script_back(came, here), space.call(edge)))
            if hit or edge.target is None:
                continue
            following = _onward(space, edge, used, limit)
            if following is None:
                if before:
                    return Stopped((*script_back(came, here), space.call(edge)))
                continue
            there = (edge.target, remembered, following)
            if there not in came:
                came[there] = (here, space.call(edge))
                queue.append(there)
        if len(came) > MAX_PRODUCT:
            return Stopped(None, f"there are more than {MAX_PRODUCT} ways to come near the recursion limit")
    return Stopped(None)


def _onward(space: StateSpace, edge: Transition, used: _Used, limit: int) -> _Used | None:
    """Count a transition, and the forks that open and close by it; ``None`` where one closes with too much in it."""
    assert edge.target is not None
    left, entered = space.mover(edge.source).path, space.mover(edge.target).path
    count, forks = used.executed + (not edge.hidden), list(used.forks)
    if left == entered:
        return _Used(count, used.forks)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, entered, strict=False)))
    while len(forks) > shared:
        opened, total = forks.pop()
        count = total + count - opened
        if len(forks) == shared and len(entered) > shared:  # the next branch of the same fork
            forks.append((opened, count))
            count = opened
            break
        if count > limit:
            return None
    forks += [(count, count)] * (len(entered) - len(forks))
    return _Used(count, tuple(forks))
