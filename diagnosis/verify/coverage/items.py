"""The coverage items that a model declares, and which observations each of them takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from diagnosis.runtime import GOTO, REPEAT, START, Conditional, Decision, Model, RouterDecision
from diagnosis.verify.coverage.kinds import SIDES, WINNER, Atom, kinds_of
from diagnosis.verify.winners import contests_of

Needs = Mapping[str, tuple[Atom, ...]]
"""Item -> the observations that it takes, all of them."""


def edge_item(source: str, target: str) -> str:
    """Name an edge.

    Args:
        source: a node or START.
        target: a node or END.
    """
    return f"{source}->{target}"


def declared_items(
    model: Model, kinds: Iterable[str] | None = None, transitions: Iterable[str] = ()
) -> dict[str, list[str]]:
    """List every item that a model declares, by kind, in order of declaration.

    The reasons of Commands are free texts and no items; nor are those of edges that repeat the one before them.

    Args:
        model: the graph under test.
        kinds: the kinds; those that are counted anyway where absent.
        transitions: the names of the control-state transitions, which exploration finds.
    """
    found = declared_needs(model, kinds_of(model) if kinds is None else kinds, transitions)
    return {kind: list(needs) for kind, needs in found.items()}


def declared_needs(model: Model, kinds: Iterable[str], transitions: Iterable[str] = ()) -> dict[str, Needs]:
    """Give every item that a model declares with the observations that it takes; see :func:`declared_items`."""
    definition = model.graph.definition
    items: dict[str, dict[str, tuple[Atom, ...]]] = {kind: {} for kind in kinds}

    def add(kind: str, names: Iterable[str]) -> None:
        if kind in items:
            items[kind].update((name, ((kind, name),)) for name in names)

    targets = {source: _targets(model, source) for source in definition.names}
    entry = definition.entry or ""
    add("edge", [edge_item(START, entry)])
    add("node", definition.names)
    add("transition", transitions)
    reasons: dict[str, None] = {}
    for source in definition.names:
        conditional = definition.conditional(source)
        goto = definition.node(source).goto
        routes = dict.fromkeys((*(conditional.targets if conditional else ()), *goto))
        add("route", [f"{source}.{route}" for route in routes])
        add("edge", [edge_item(source, target) for target in targets[source]])
        reasons.update((str(edge.reason), None) for edge in definition.edges_from(source) if edge.reason is not REPEAT)
        if conditional is not None:
            reasons.update(_reasons(conditional))
        for rule in conditional.decision.rules if conditional and isinstance(conditional.decision, Decision) else ():
            whole = f"{source}.{rule.name}"
            add("rule", [whole])
            for condition in rule.when:
                item = f"{whole}.{condition.name}"
                add("condition", [f"{item}=T", f"{item}=F"])
                for kind, (true, false) in SIDES.items():
                    if kind in items:
                        items[kind][item] = ((true, whole), (false, item))
        if goto:
            add("rule", [f"{source}.{GOTO}"])
        outcomes = [f"{source}.{outcome}" for outcome in model.alphabet[source]]
        add("outcome", outcomes)
        add("outcome_edge", [edge_item(outcome, target) for outcome in outcomes for target in targets[source]])
        before = [START] if source == entry else []
        before += [other for other in definition.names if source in targets[other]]
        add("edge_pair", [edge_item(edge_item(b, source), target) for b in before for target in targets[source]])
    add("reason", reasons)
    if WINNER in items:
        contests = contests_of(model.graph)
        won = [edge_item(each.source, target) for each in contests for target in each.targets if target != each.join]
        add(WINNER, won)
    return dict(items)


def _targets(model: Model, source: str) -> tuple[str, ...]:
    """Give where a node can lead, in order of declaration."""
    definition = model.graph.definition
    conditional = definition.conditional(source)
    targets = [edge.target for edge in definition.edges_from(source)]
    targets += [*(conditional.targets.values() if conditional else ()), *definition.node(source).goto.values()]
    return tuple(dict.fromkeys(targets))


def _reasons(conditional: Conditional) -> dict[str, None]:
    if isinstance(conditional.decision, RouterDecision):
        return dict.fromkeys(conditional.targets)
    return dict.fromkeys(rule.reason for rule in conditional.decision.rules)
