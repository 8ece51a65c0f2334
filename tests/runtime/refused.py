"""Graphs that are refused, and what is said of them."""

from __future__ import annotations

from typing import Any

import pytest

from diagnosis.runtime import END, START, CompileError, StateGraph


def nothing(state: Any) -> dict[str, Any]:
    return {}


def found(graph: StateGraph) -> list[str]:
    with pytest.raises(CompileError) as caught:
        graph.compile()
    return [str(finding) for finding in caught.value.findings]


def chain(*names: str, keys: Any = ("a", "b")) -> StateGraph:
    """START -> names in order -> END."""
    graph = StateGraph(keys)
    for name in names:
        graph.add_node(name, nothing)
    for source, target in zip((START, *names), (*names, END), strict=True):
        graph.add_edge(source, target)
    return graph
