"""Changes of fixed edges, of what Commands may go to, of forks, and of the recursion limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from diagnosis.mutation.decisions import next_of, reasons_of, retargeted
from diagnosis.mutation.mutant import Mutant
from diagnosis.runtime import END, REPEAT, START, Definition, Edge, Fork, Model, Node


def edge_mutants(model: Model) -> Iterator[Mutant]:
    """Go through the changes of every fixed edge, goto and fork, and of the recursion limit.

    Args:
        model: the graph.
    """
    definition, limit = model.graph.definition, model.graph.recursion_limit
    for edge in definition.edges:
        for operator, before, after, changed in _edges(definition, edge):
            source = None if edge.source == START else edge.source
            yield Mutant(operator, f"{edge.source}->{edge.target}", before, after, source, changed, limit)
    for node in definition.nodes:
        for route, other, goto in retargeted(definition, node.goto):
            changed = _with_node(definition, node, replace(node, goto=goto))
            what = f"goto {route} -> {node.goto[route]}", f"goto {route} -> {other}"
            yield Mutant("swap_target", f"{node.name}.{route}", *what, node.name, changed, limit)
    yield from _forks(model)
    for allowed in (limit - 1, limit + 1):
        if allowed > 0:
            what = f"{limit} node executions", f"{allowed} node executions"
            yield Mutant("recursion_limit", definition.name, *what, None, definition, allowed)


def _edges(definition: Definition, edge: Edge) -> Iterator[tuple[str, str, str, Definition]]:
    def with_edge(new: Edge | None) -> Definition:
        others = [new if each is edge else each for each in definition.edges]
        return replace(definition, edges=tuple(each for each in others if each is not None))

    siblings = definition.edges_from(edge.source)
    taken = {each.target for each in siblings}
    for target in (*definition.names, END):
        if target not in taken and not (edge.source == START and target == END):
            yield "swap_edge", f"-> {edge.target}", f"-> {target}", with_edge(replace(edge, target=target))
    if len(siblings) > 1:
        yield "drop_branch", f"-> {edge.target}", "no such branch", with_edge(None)
    if edge.source == START:
        return
    if edge.reason is REPEAT:
        reason: str | None = next(iter(reasons_of(definition)), "FIXED")
        before = "the reason that led here"
    else:
        before = str(edge.reason)
        reason = next_of(reasons_of(definition), before)
    if reason is not None:
        yield "swap_reason", before, reason, with_edge(replace(edge, reason=reason))


def _with_node(definition: Definition, node: Node, new: Node) -> Definition:
    return replace(definition, nodes=tuple(new if each is node else each for each in definition.nodes))


def _forks(model: Model) -> Iterator[Mutant]:
    definition, limit = model.graph.definition, model.graph.recursion_limit
    # The rules of one decision share their fork.
    fan_outs = {(fan_out.source, fan_out.origin): fan_out for fan_out in model.graph.step.fan_outs.all}
    for fan_out in fan_outs.values():
        for operator, fork in _changed(fan_out.fork):
            what = _fork_text(fan_out.fork), _fork_text(fork)
            changed = _with_fork(definition, fan_out.source, fan_out.origin, fan_out.fork, fork)
            yield Mutant(operator, f"{fan_out.source}.{fan_out.origin}", *what, fan_out.source, changed, limit)


def _changed(fork: Fork) -> Iterator[tuple[str, Fork]]:
    yield "swap_wait", replace(fork, wait="any_of" if fork.wait == "all_of" else "all_of")
    at_once = fork.max_concurrency
    for other in (1,) if at_once is None else (at_once - 1, at_once + 1):
        if other > 0:
            yield "swap_concurrency", replace(fork, max_concurrency=other)


def _fork_text(fork: Fork) -> str:
    at_once = "all" if fork.max_concurrency is None else str(fork.max_concurrency)
    return f"{fork.wait}, {at_once} at once"


def _with_fork(definition: Definition, source: str, origin: str, old: Fork, new: Fork) -> Definition:
    if origin == "edges":
        edges = [replace(each, fork=new) if each.source == source else each for each in definition.edges]
        return replace(definition, edges=tuple(edges))
    if origin == "goto":
        node = definition.node(source)
        return _with_node(definition, node, replace(node, fork=new))
    conditionals = [replace(each, fork=new) if each.source == source else each for each in definition.conditionals]
    return replace(definition, conditionals=tuple(conditionals))
