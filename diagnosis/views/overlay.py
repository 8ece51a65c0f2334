"""Overlays: what a run or a coverage adds to the picture of its graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from diagnosis.runtime import END, START, Decision, JoinError, Run, TopologyEdge
from diagnosis.views.labels import visible

if TYPE_CHECKING:
    from diagnosis.verify import Chances, Coverage

EdgeKey = tuple[str, bool, str | None, str]
"""Source, whether it is a goto, route key, target: what tells the edges of a picture apart."""

TIMES: Final = "\u00d7"
"""The multiplication sign, which every engine has a glyph for."""

_SHOWN_STEPS: Final = 6
"""Step numbers that stand on one node or edge; of more, the last ones give way to a count."""

_TAKEN: Final = "#c2410c"
_FAILED: Final = "#b91c1c"
_COVERED: Final = "#15803d"
_FADED: Final = "#9ca3af"

_ON_PATH: Final = {"color": _TAKEN, "penwidth": "3"}
_STOPPED: Final = {"color": _FAILED, "fillcolor": "#fee2e2", "penwidth": "3", "peripheries": "2", "fontcolor": _FAILED}
_ASIDE: Final = {"color": _FADED, "fillcolor": "white", "fontcolor": "#6b7280"}
_EDGE_TAKEN: Final = {"color": _TAKEN, "penwidth": "2.5", "fontcolor": _TAKEN}
_EDGE_ASIDE: Final = {"color": "#b6bcc6", "fontcolor": "#7b8494"}

_SEEN: Final = {"color": _COVERED, "penwidth": "2"}
_MISSED: Final = {"color": _FAILED, "fillcolor": "white", "penwidth": "2", "fontcolor": _FAILED}
_INFEASIBLE: Final = {"color": _FADED, "fillcolor": "#f3f4f6", "fontcolor": "#6b7280"}
_EDGE_SEEN: Final = {"color": _COVERED, "fontcolor": "#166534"}
_EDGE_MISSED: Final = {"color": _FAILED, "fontcolor": _FAILED, "style": "dotted", "penwidth": "2.5"}
_EDGE_INFEASIBLE: Final = {"color": "#c3c8d0", "fontcolor": "#7b8494", "style": "dotted"}


@dataclass(frozen=True, slots=True)
class Look:
    """How one node or edge differs from its plain form.

    Attributes:
        note: what is written beside the label, such as step numbers or hits.
        attributes: DOT attributes in place of those of its kind.
        reasons: reason code -> what is written behind it, on an edge that carries several.
    """

    note: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Overlay:
    """A look for every node and edge that a picture shows in a way of its own.

    Attributes:
        title: the lines over the picture.
        nodes: node -> look.
        edges: edge -> look.
        other_node: the look of all other nodes.
        other_edge: the look of all other edges.
    """

    title: tuple[str, ...]
    nodes: Mapping[str, Look]
    edges: Mapping[EdgeKey, Look]
    other_node: Look = Look()
    other_edge: Look = Look()

    def node(self, name: str) -> Look:
        """Give the look of a node.

        Args:
            name: its name.
        """
        return self.nodes.get(name, self.other_node)

    def edge(self, edge: TopologyEdge) -> Look:
        """Give the look of an edge.

        Args:
            edge: one of the picture's edges.
        """
        return self.edges.get(edge_key(edge), self.other_edge)


def edge_key(edge: TopologyEdge) -> EdgeKey:
    """Give what tells an edge from all others.

    Args:
        edge: one of the picture's edges.
    """
    return edge.source, edge.kind == "goto", edge.route, edge.target


PLAIN: Final = Overlay((), {}, {})
"""The overlay that changes nothing."""


def numbers_text(numbers: Sequence[int]) -> str:
    """Write numbers such as ``3, 7``; of many, the first ones, the last one and how many there are.

    Args:
        numbers: the numbers, in order.
    """
    if len(numbers) <= _SHOWN_STEPS:
        return ", ".join(map(str, numbers))
    first = ", ".join(map(str, numbers[: _SHOWN_STEPS - 2]))
    return f"{first}, … {numbers[-1]} ({len(numbers)}{TIMES})"


def steps_text(numbers: Sequence[int]) -> str:
    """Write step numbers such as ``steps 3, 7``.

    Args:
        numbers: the numbers, in order.
    """
    return f"step{'' if len(numbers) == 1 else 's'} {numbers_text(numbers)}"


def run_overlay(run: Run) -> Overlay:
    """Show the path of a run: its steps in order, and where it stopped.

    Args:
        run: a run, ended or not.
    """
    visits: dict[str, list[int]] = {}
    taken: dict[EdgeKey, list[int]] = {}
    why: dict[EdgeKey, dict[str, list[int]]] = {}
    definition = run.graph.definition
    branch_ended = False
    for number, event in enumerate(run.events, start=1):
        visits.setdefault(event.node, []).append(number)
        for choice in event.choices:
            goto = definition.commanded(choice)
            key = (choice.source, goto, choice.route, choice.target)
            _note(taken.setdefault(key, []), number)
            _note(why.setdefault(key, {}).setdefault(choice.reason, []), number)
        branch_ended = branch_ended or bool(event.branch and event.choice.target == END)
    nodes = {node: Look(steps_text(steps), _ON_PATH) for node, steps in visits.items()}
    nodes[START] = Look("", _ON_PATH)
    if run.ended or branch_ended:
        nodes[END] = Look("" if run.ended else "of a branch", _ON_PATH)
    if not run.ended:
        nodes[run.failed_at] = _stopped(run, visits.get(run.failed_at, []))
    edges = {
        key: Look(
            steps_text(steps),
            _EDGE_TAKEN,
            {reason: f" ({numbers_text(own)})" for reason, own in why[key].items()},
        )
        for key, steps in taken.items()
    }
    edges[START, False, None, definition.entry or ""] = Look("", _EDGE_TAKEN)
    return Overlay((f"Run of {run.graph.name}", run.summary), nodes, edges, Look("", _ASIDE), Look("", _EDGE_ASIDE))


def _note(numbers: list[int], number: int) -> None:
    """Note a step once, however many branches it opened there."""
    if not numbers or numbers[-1] != number:
        numbers.append(number)


def _stopped(run: Run, before: Sequence[int]) -> Look:
    """Mark the node at which a run failed, or before which it met its limit."""
    number = len(run.events) + 1
    where = f" in {visible(run.error.branch)}" if run.error is not None and run.error.branch else ""
    # At a limit and at a join no node is under way.
    began = run.stop == "error" and not isinstance(run.error, JoinError)
    steps = [*before, number] if began else before
    lines = [steps_text(steps)] if steps else []
    if run.stop == "limit":
        lines.append(f"{TIMES} limit met{where} before step {number}")
    else:
        lines.append(f"{TIMES} failed{where}: {type(run.error).__name__}")
    return Look("\n".join(lines), _STOPPED)


def coverage_overlay(coverage: Coverage) -> Overlay:
    """Show how often each node, edge and reason was seen, and what was not.

    Args:
        coverage: the coverage of the graph that is drawn.
    """
    definition = coverage.model.graph.definition
    found = {(item.kind, item.name): item for item in coverage.items}

    def look(kind: str, name: str, reasons: Mapping[str, str], *, edge: bool) -> Look:
        item = found[kind, name]
        if not item.feasible:
            return Look("infeasible", _EDGE_INFEASIBLE if edge else _INFEASIBLE)
        if not item.covered:
            return Look(f"0{TIMES} not covered", _EDGE_MISSED if edge else _MISSED)
        return Look(f"{item.hits}{TIMES}", _EDGE_SEEN if edge else _SEEN, reasons)

    nodes = {name: look("node", name, {}, edge=False) for name in definition.names}
    edges = {}
    for edge in coverage.model.graph.topology.edges:
        if edge.route is None:
            edges[edge_key(edge)] = look("edge", f"{edge.source}->{edge.target}", {}, edge=True)
        else:
            reasons = _reason_notes(coverage, edge)
            edges[edge_key(edge)] = look("route", f"{edge.source}.{edge.route}", reasons, edge=True)
        won = found.get(("winner", f"{edge.source}->{edge.target}"))
        if edge.parallel and won is not None:
            own = edges[edge_key(edge)]
            word = f"won {won.hits}{TIMES}" if won.feasible else "cannot win"
            edges[edge_key(edge)] = Look(f"{own.note}, {word}", own.attributes, own.reasons)
    shown = ("node", "edge", "reason", "rule", *(kind for kind in coverage.kinds if kind == "winner"))
    counts = [f"{kind}s {'{} of {}'.format(*coverage.counts(kind))}" for kind in shown]
    runs = f"{coverage.runs} run{'' if coverage.runs == 1 else 's'}"
    return Overlay((f"Coverage of {coverage.model.name} by {runs}", ", ".join(counts)), nodes, edges)


def _reason_notes(coverage: Coverage, edge: TopologyEdge) -> dict[str, str]:
    """Tell how often each reason of a route was given; a plain router has one reason a route, with nothing to add."""
    conditional = coverage.model.graph.definition.conditional(edge.source)
    if edge.kind == "goto" or conditional is None or not isinstance(conditional.decision, Decision):
        return {}
    items = {item.name: item for item in coverage.of("rule")}
    notes = {}
    for reason in edge.reasons:
        rules = [rule for rule in conditional.decision.rules if edge.route in rule.routes and rule.reason == reason]
        own = [items[f"{edge.source}.{rule.name}"] for rule in rules]
        feasible = any(item.feasible for item in own)
        notes[reason] = f" {sum(item.hits for item in own)}{TIMES}" if feasible else " infeasible"
    return notes


def chances_overlay(chances: Chances) -> Overlay:
    """Show how often each node is expected to be executed, and how likely it is left by each edge.

    Args:
        chances: the chances of the graph that is drawn. An edge is the wider, the likelier it is.
    """
    definition = chances.model.graph.definition
    flows: dict[EdgeKey, dict[str, float]] = {}
    for edge, flow in chances.flows:
        for choice in edge.choices:
            key = (choice.source, definition.commanded(choice), choice.route, choice.target)
            own = flows.setdefault(key, {})
            own[choice.reason] = own.get(choice.reason, 0.0) + float(flow)
    executions = {node: float(number) for node, number in chances.executions.items()}
    nodes = {
        node: Look(f"{number:.3g}{TIMES} a run", _SEEN if number else _ASIDE) for node, number in executions.items()
    }
    edges = {}
    for key, reasons in flows.items():
        left = executions[key[0]]
        share = sum(reasons.values()) / left if left else 0.0
        look = {"penwidth": f"{1 + 4 * min(share, 1.0):.2f}"}
        shares = {reason: f" {flow / left:.3g}" for reason, flow in reasons.items()} if left else {}
        edges[key] = Look(f"p = {share:.3g}" if left else "", look if share else _EDGE_ASIDE, shares)
    edges[START, False, None, definition.entry or ""] = Look("", {"penwidth": "5.00"})
    calls = (
        f"{float(chances.expected_executions):.4g} executions, {float(chances.expected_calls):.4g} model calls a run"
    )
    return Overlay((f"Odds of {chances.model.name}", calls), nodes, edges, Look(), Look("", _EDGE_ASIDE))
