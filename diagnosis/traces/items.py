"""What traces show of a graph, by the names that coverage uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from diagnosis.runtime import END, REPEAT, START, Decision, Model
from diagnosis.traces.checker import Step, TraceChecker

SHOWN = ("node", "route", "edge", "reason")
"""The kinds of coverage items that a trace shows."""

Item = tuple[str, str]
"""Kind and name of a coverage item, such as ``("route", "planner.executor")``."""


def items_of(model: Model, steps: Iterable[Step]) -> Iterator[Item]:
    """Go through the coverage items that steps show; a step may show one twice.

    Args:
        model: the graph.
        steps: transitions of traces as (source, target, reason code), START and END included.

    Returns:
        Node, edge, route and reason of each step. A reason that an edge repeats is no item of that edge. Where several
        route keys of a source lead to the same node for the same reason, each counts.
    """
    definition = model.graph.definition
    ends = {edge.source for edge in model.graph.topology.edges if edge.ends_branch}
    edges = {(edge.source, edge.target) for edge in model.graph.topology.edges}
    for source, target, reason in steps:
        if source != START:
            yield "node", source
        if (source, target) not in edges and source in ends:
            target = END  # a branch that is routed to END goes on at the join
        yield "edge", f"{source}->{target}"
        if source not in definition.names:
            continue
        conditional = definition.conditional(source)
        if conditional is not None and isinstance(conditional.decision, Decision):
            routes = [route for rule in conditional.decision.rules if rule.reason == reason for route in rule.routes]
        else:
            routes = [reason] if conditional is not None else []
        reached = conditional.targets if conditional is not None else {}
        chosen = [route for route in dict.fromkeys(routes) if reached.get(route) == target]
        if definition.node_has_goto(source) and not chosen:
            chosen = [route for route, to in definition.node(source).goto.items() if to == target]
        elif not any(edge.reason is REPEAT for edge in definition.edges_from(source)):
            yield "reason", reason
        for route in chosen:
            yield "route", f"{source}.{route}"


def counted(model: Model, steps: Mapping[Step, int]) -> Counter[Item]:
    """Count the coverage items that steps show.

    Args:
        model: the graph.
        steps: step -> how often it was shown, as :attr:`TraceReport.transition_counts` has it.
    """
    found: Counter[Item] = Counter()
    for step, hits in steps.items():
        for item in items_of(model, (step,)):
            found[item] += hits
    return found


def trace_items(checker: TraceChecker, documents: Iterable[object]) -> Iterator[frozenset[Item]]:
    """Give for each trace the coverage items that it shows; none for one that has not the shape of a trace.

    Args:
        checker: of the graph.
        documents: traces as plain data, bare or in their records.
    """
    for document in documents:
        yield frozenset(items_of(checker.model, checker.check(document).steps))
