"""How files name branches: by a node, with the path of a branch in brackets, such as ``worker[1]``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Final, NamedTuple

from diagnosis.runtime import END, CompiledGraph, Decision, FanOut, bracketed, one_of
from diagnosis.runtime.position import Path

_Shape = tuple[int | None, ...]
"""A path that runs may show; ``None`` stands for any number."""

_BRACKETED: Final = re.compile(r"(?:\[(?:0|[1-9][0-9]{0,8})\])+")


class _Shapes(NamedTuple):
    """For every node, the paths of the branches that may execute it, and of those that may begin with it."""

    executed: Mapping[str, Iterable[_Shape]]
    begun: Mapping[str, Iterable[_Shape]]


class BranchNames:
    """The branches that runs of a graph may open.

    Args:
        graph: the graph.
    """

    def __init__(self, graph: CompiledGraph) -> None:
        self._graph = graph
        self._names = graph.definition.names
        self._paths: dict[str, Path] = {}

    def readings(self, text: str) -> list[tuple[str, Path]]:
        """Give every node and path that a text may stand for, the one with the longest name first.

        Args:
            text: a node's name, or one with a path in brackets.
        """
        found = []
        for node in self._names:
            rest = text[len(node) :]
            if text.startswith(node) and (not rest or _BRACKETED.fullmatch(rest)):
                found.append((node, tuple(map(int, rest[1:-1].split("][")))) if rest else (node, ()))
        return sorted(found, key=lambda reading: -len(reading[0]))

    def path_of(self, branch: str) -> Path:
        """Give the path of a branch that a run has opened.

        Args:
            branch: its name; empty outside branches.
        """
        if branch not in self._paths:
            readings = [(node, path) for node, path in self.readings(branch) if path]
            begun = [path for node, path in readings if _among(path, self._shapes.begun[node])]
            self._paths[branch] = begun[0] if begun else ()
        return self._paths[branch]

    def executes(self, node: str, path: Path) -> bool:
        """Tell whether a branch with a path may execute a node.

        Args:
            node: the node.
            path: the path; empty outside branches.
        """
        return _among(path, self._shapes.executed[node])

    def told(self, node: str) -> str:
        """Name the branches that may execute a node; empty where there are none.

        Args:
            node: the node.
        """
        return _one_of((node, shape) for shape in self._shapes.executed[node] if shape)

    def contest(self, text: str) -> tuple[str, Path] | None:
        """Give the source and the path of an ``any_of`` fork by its name, or ``None`` where there is none.

        Args:
            text: the node that opens it, with the path of its branch in brackets where it has one.
        """
        for node, path in self.readings(text):
            if self._contests(node) and self.executes(node, path):
                return node, path
        return None

    def told_contests(self) -> str:
        """Name the ``any_of`` forks that runs may open; empty where there are none."""
        return _one_of(
            (node, shape) for node in self._names if self._contests(node) for shape in self._shapes.executed[node]
        )

    def may_win(self, branch: str, source: str, path: Path) -> bool:
        """Tell whether a branch may be one of an ``any_of`` fork.

        Args:
            branch: the branch's name.
            source: the node that opens the fork.
            path: the path of the fork.
        """
        for fan_out in self._contests(source):
            for number, target in self._opened(fan_out):
                for node, found in self.readings(branch):
                    if node == target and _fits(found, (*path, number)):
                        return True
        return False

    def told_winners(self, source: str, path: Path) -> str:
        """Name the branches that an ``any_of`` fork may have.

        Args:
            source: the node that opens it.
            path: its path.
        """
        return _one_of(
            (target, (*path, number)) for fan_out in self._contests(source) for number, target in self._opened(fan_out)
        )

    def _contests(self, source: str) -> list[FanOut]:
        return [each for each in self._fan_outs(source) if each.fork.wait == "any_of"]

    def _fan_outs(self, source: str) -> list[FanOut]:
        return [each for each in self._graph.step.fan_outs.all if each.source == source]

    def _opened(self, fan_out: FanOut) -> list[tuple[int | None, str]]:
        """Give the first nodes of the branches of a fan-out, each with its place where that is always the same."""
        definition = self._graph.definition
        if fan_out.origin == "edges":
            return [(number, edge.target) for number, edge in enumerate(definition.edges_from(fan_out.source))]
        conditional = definition.conditional(fan_out.source)
        if fan_out.origin == "rule" and conditional is not None and isinstance(conditional.decision, Decision):
            rule = next(rule for rule in conditional.decision.rules if rule.name == fan_out.rule)
            return [(number, conditional.targets[route]) for number, route in enumerate(rule.routes)]
        return [(None, target) for target in fan_out.targets]

    @cached_property
    def _shapes(self) -> _Shapes:
        executed: dict[str, dict[_Shape, None]] = {node: {} for node in self._names}
        begun: dict[str, dict[_Shape, None]] = {node: {} for node in self._names}
        levels: dict[tuple[str, str | None], list[str]] = {}
        todo: list[tuple[str, str | None, _Shape]] = [(self._graph.definition.entry or END, None, ())]
        while todo:
            start, join, shape = todo.pop()
            if (start, join) not in levels:
                levels[start, join] = self._graph.step.fan_outs.level(start, join)
            for node in levels[start, join]:
                if shape in executed[node]:
                    continue
                executed[node][shape] = None
                # A fork is never opened inside itself.
                for fan_out in self._fan_outs(node) if len(shape) < len(self._graph.step.fan_outs.all) else ():
                    for number, target in self._opened(fan_out):
                        inner = (*shape, number)
                        begun[target][inner] = None
                        todo.append((target, fan_out.join, inner))
        return _Shapes(executed, begun)


def _fits(path: Path, shape: _Shape) -> bool:
    return len(path) == len(shape) and all(
        wanted is None or wanted == number for number, wanted in zip(path, shape, strict=True)
    )


def _among(path: Path, shapes: Iterable[_Shape]) -> bool:
    return any(_fits(path, shape) for shape in shapes)


def _one_of(branches: Iterable[tuple[str, _Shape]]) -> str:
    """Write the names of branches; ``[n]`` stands for any number."""
    names: dict[str, None] = {}
    any_number = False
    for node, shape in branches:
        any_number = any_number or None in shape
        names[node + "".join("[n]" if number is None else bracketed((number,)) for number in shape)] = None
    return one_of(names) + (", n being a number from 0" if any_number else "") if names else ""
