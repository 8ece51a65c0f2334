"""Which control states belong to a run, where it was said beforehand who wins."""

from __future__ import annotations

from collections.abc import Sequence

from diagnosis.runtime import Forked
from diagnosis.verify.paths import Transition


def confirmed(outgoing: Sequence[Sequence[Transition]], around: Sequence[Sequence[Forked]]) -> list[bool]:
    """Tell which control states can be completed to a run.

    Outside ``any_of`` forks all can. Where a branch is to win, its run must reach the end of the fork or an error of
    the run, or go on for ever. Where all branches are to fail, it must reach an error of the run: what goes on for ever
    there does so in a branch that could also be the one to win. What was not explored counts only outside these forks.

    Args:
        outgoing: for each control state its transitions.
        around: for each the ``any_of`` forks around the branch that moves.

    Returns:
        For each control state whether it counts.
    """
    size = len(outgoing)
    failing = [any(fork.winner is None for fork in forks) for forks in around]
    sources: list[list[int]] = [[] for _ in range(size)]
    for edges in outgoing:
        for edge in edges:
            if edge.target is not None:
                sources[edge.target].append(edge.source)
    reaching = [False] * size
    work = [index for index in range(size) if failing[index] and any(edge.target is None for edge in outgoing[index])]
    while work:
        index = work.pop()
        if not reaching[index]:
            reaching[index] = True
            work += [source for source in sources[index] if failing[source]]
    kept = [reaching[index] or not failing[index] for index in range(size)]
    ways = [sum(1 for edge in edges if edge.target is None or kept[edge.target]) for edges in outgoing]
    work = [index for index in range(size) if kept[index] and around[index] and not failing[index] and not ways[index]]
    while work:
        index = work.pop()
        if not kept[index]:
            continue
        kept[index] = False
        for source in sources[index]:
            ways[source] -= 1
            if around[source] and not failing[source] and not ways[source] and kept[source]:
                work.append(source)
    return kept
