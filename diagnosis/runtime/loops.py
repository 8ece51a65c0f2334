"""The loops of a directed graph: its strongly connected components that hold a cycle."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeVar

N = TypeVar("N", bound=Hashable)


def loops(ways: Mapping[N, Sequence[N]]) -> list[list[N]]:
    """Find all loops in time linear in nodes and edges (Tarjan's method, without recursion).

    Args:
        ways: node -> its targets; every target is a node.

    Returns:
        The loops, ordered by their first node in ``ways``; each lists its nodes in that order too.
    """
    rank = {node: i for i, node in enumerate(ways)}
    index: dict[N, int] = {}
    low: dict[N, int] = {}
    stack: list[N] = []
    on_stack: set[N] = set()
    found: list[list[N]] = []
    for root in ways:
        if root in index:
            continue
        work: list[tuple[N, Iterator[N]]] = [(root, iter(ways[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(ways[target])))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part = [stack.pop()]
                    while part[-1] != node:
                        part.append(stack.pop())
                    on_stack.difference_update(part)
                    if len(part) > 1 or node in ways[node]:
                        found.append(sorted(part, key=rank.__getitem__))
    return sorted(found, key=lambda loop: rank[loop[0]])
