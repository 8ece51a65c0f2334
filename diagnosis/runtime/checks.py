"""Everything that can be known to be wrong with a graph before it runs, found in one pass."""

from __future__ import annotations

import inspect
import types
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from diagnosis.runtime.decisions import Decision, RouterDecision
from diagnosis.runtime.definition import END, GOTO, START, Definition, Repeat
from diagnosis.runtime.errors import Finding, one_of
from diagnosis.runtime.fanouts import FanOuts
from diagnosis.runtime.loops import loops
from diagnosis.runtime.strategies import Append, Strategy

Links = Mapping[str, tuple[str, ...]]


def findings(definition: Definition) -> list[Finding]:
    """List everything that is wrong with a graph.

    Args:
        definition: the graph.

    Returns:
        All findings, by subject: subgraphs first, then names and declarations, then edges, then reachability.
    """
    fan_outs = FanOuts(definition)
    return [
        *definition.found,
        *_nodes(definition),
        *_keys(definition),
        *_edges(definition),
        *_decisions(definition),
        *_reach(definition, fan_outs),
        *fan_outs.findings(),
    ]


def _twice(items: Iterable[str]) -> list[str]:
    return [item for item, count in Counter(items).items() if count > 1]


def _nodes(definition: Definition) -> Iterator[Finding]:
    if not definition.nodes:
        yield Finding("no_nodes", definition.name, "the graph has no node; add one with add_node")
    for name in _twice(node.name for node in definition.nodes):
        yield Finding("duplicate_node", name, "added more than once; give each node its own name")
    for node in definition.nodes:
        if node.name in (START, END):
            yield Finding("reserved_name", node.name, "START and END are no nodes of one's own; choose another name")
        if not callable(node.action):
            yield Finding("no_action", node.name, f"its action is {node.action!r}; it needs a function")
        elif arity(node.action) is None:
            yield Finding("bad_action", node.name, "its action must take (state) or (state, config)")


def arity(action: object) -> int | None:
    """Tell how many arguments an action is called with.

    Args:
        action: a callable.

    Returns:
        1 for ``(state)``, 2 for ``(state, config)``, and ``None`` for one that takes neither.
    """
    if type(action) is types.FunctionType and action.__defaults__ is None and not action.__code__.co_kwonlyargcount:
        code = action.__code__
        if not code.co_flags & inspect.CO_VARARGS and not hasattr(action, "__wrapped__"):
            # The same answer at a hundredth of the cost: scripted runs give new actions to a graph each time.
            return code.co_argcount if code.co_argcount in (1, 2) else None
    try:
        parameters = inspect.signature(action).parameters.values()  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return 1
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = sum(p.default is p.empty for p in positional)
    if any(p.kind is p.KEYWORD_ONLY and p.default is p.empty for p in parameters) or required > 2:
        return None
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return 2
    if not positional:
        return None
    # A second parameter with a default of its own, as in ``lambda state, name=name: ...``, is none for the config.
    return 2 if required == 2 or (len(positional) > 1 and positional[1].name == "config") else 1


def _keys(definition: Definition) -> Iterator[Finding]:
    keys = definition.keys
    for key, strategy in keys.items():
        if not isinstance(strategy, Strategy):
            yield Finding("bad_strategy", key, f"found {strategy!r}; a key takes Replace, Append, Merge or Custom")

    def unknown(where: str, names: Iterable[str], node: str = "") -> Iterator[Finding]:
        for name in names:
            if name not in keys or node not in definition.private.get(name, (node,)):
                own = definition.open_keys
                yield Finding("unknown_key", where, f"declares {name!r}; the keys of the graph are {one_of(own)}")

    for node in definition.nodes:
        yield from unknown(f"node {node.name!r}, owned keys", node.owns or (), node.name)
        for effect in node.effects:
            where = f"node {node.name!r}, update {effect.name!r}"
            yield from unknown(where, dict.fromkeys(effect.reads + effect.writes), node.name)
        for label, reading in (("attempt", node.attempt), ("outcome", node.outcome)):
            yield from unknown(f"node {node.name!r}, {label}", reading.reads if reading else (), node.name)
    for conditional in definition.conditionals:
        source = conditional.source
        if isinstance(conditional.decision, Decision):
            for rule in conditional.decision.rules:
                for condition in rule.when:
                    where = f"node {source!r}, rule {rule.name!r}, condition {condition.name!r}"
                    yield from unknown(where, condition.reads, source)
        else:
            yield from unknown(f"node {source!r}, router", conditional.decision.reads or (), source)
        yield from unknown(f"node {source!r}, keys that its decision owns", conditional.owns, source)
    yield from unknown("input keys", definition.inputs or ())
    if definition.id_key is not None:
        yield from unknown("id key", [definition.id_key])
    if definition.event_log is not None:
        yield from unknown("event key", [definition.event_log.key])
        if not isinstance(keys.get(definition.event_log.key, Append()), Append):
            yield Finding("bad_strategy", definition.event_log.key, "the event key must be an Append key")
        elif getattr(keys.get(definition.event_log.key), "unique", False):
            yield Finding("bad_strategy", definition.event_log.key, "the event key keeps every event; drop unique=True")


def _edges(definition: Definition) -> Iterator[Finding]:
    names = definition.names
    if definition.nodes and definition.entry is None:
        yield Finding("no_entry_point", START, "nothing leads from START; add_edge(START, first node)")
    for source, target in dict.fromkeys(definition.links()):
        if source != START and source not in names:
            yield Finding("unknown_node", f"{source} -> {target}", f"no node {source!r}; nodes are {one_of(names)}")
        if target != END and target not in names:
            yield Finding(
                "unknown_node", f"{source} -> {target}", f"no node {target!r}; targets are {one_of((*names, END))}"
            )
    fixed = [f"{edge.source} -> {edge.target}" for edge in definition.edges]
    for pair in _twice(fixed):
        yield Finding("duplicate_edge", pair, "the same fixed edge was added more than once")
    for source in _twice(conditional.source for conditional in definition.conditionals):
        yield Finding("duplicate_edge", source, "conditional edges were added more than once; use one decision")
    for conditional in definition.conditionals:
        if definition.edges_from(conditional.source):
            yield Finding(
                "several_edges", conditional.source, "has a fixed edge and conditional edges; keep one of them"
            )
    for source in names:
        edges = definition.edges_from(source)
        if len(edges) > 1 and any(isinstance(edge.reason, Repeat) for edge in edges):
            yield Finding("repeating_fork", source, "an edge of a fan-out has a reason of its own, it repeats none")
    for node in definition.nodes:
        for target in node.goto.values():
            if target == START:
                yield Finding("unknown_node", f"{node.name} -> {target}", "a Command cannot go to START")


def _decisions(definition: Definition) -> Iterator[Finding]:
    for conditional in definition.conditionals:
        where, targets = conditional.source, conditional.targets
        if conditional.source == START:
            yield Finding("conditional_start", START, "START takes one fixed edge; decide in a first node")
        if isinstance(conditional.decision, RouterDecision):
            continue
        rules = conditional.decision.rules
        used = {route for rule in rules for route in rule.routes}
        for rule in rules:
            for route in rule.routes:
                if route not in targets:
                    missing = "END must be in the mapping; " if route == END else ""
                    yield Finding(
                        "unmapped_route",
                        f"{where}, rule {rule.name!r}",
                        f"routes to {route!r}; {missing}the mapping holds {one_of(targets)}",
                    )
            if rule.name == GOTO and definition.node_has_goto(where):
                yield Finding("reserved_name", f"{where}, rule {GOTO!r}", "Commands of the node go by that name")
        for key in targets:
            if key not in used:
                yield Finding("unused_route", where, f"the mapping holds {key!r}, which no rule gives; remove it")
        always = next((i for i, rule in enumerate(rules) if not rule.when), len(rules))
        for rule in rules[always + 1 :]:
            yield Finding(
                "shadowed_rule",
                f"{where}, rule {rule.name!r}",
                f"stands after {rules[always].name!r}, which always holds",
            )


def _reach(definition: Definition, fan_outs: FanOuts) -> Iterator[Finding]:
    names = definition.names
    ways: dict[str, tuple[str, ...]] = dict.fromkeys((START, *names, END), ())
    back: dict[str, tuple[str, ...]] = dict(ways)
    joins = fan_outs.ends_of_branches()
    for source, target in dict.fromkeys(definition.links()):
        if source in ways and target in ways:
            ways[source] += (target,)
            # Where a branch ends, the run goes on at the join.
            for onward in joins.get(source, (END,)) if target == END else (target,):
                back[onward] += (source,)
    if definition.entry is not None:
        reached = _closure(ways, START)
        for name in names:
            if name not in reached:
                yield Finding("unreachable_node", name, "no path from START leads to it; add an edge or remove it")
    ending = _closure(back, END)
    lost = {source for source, target in definition.links() if target not in ways}
    for name in names:
        if name in lost:
            continue  # its edge to an unknown node is told already
        if not ways[name]:
            yield Finding("dead_end", name, "has no way out; add an edge, to END if the run ends here")
        elif name not in ending:
            yield Finding("cannot_reach_end", name, "no path from it leads to END")
    for loop in loops(ways):
        leaves = any(name in lost or target not in loop for name in loop for target in ways[name])
        if loop[0] not in ending and not leaves:
            yield Finding("loop_without_exit", " -> ".join([*loop, loop[0]]), "nothing leads out of the loop")


def _closure(ways: Links, start: str) -> set[str]:
    seen, queue = {start}, [start]
    while queue:
        for target in ways[queue.pop()]:
            if target not in seen:
                seen.add(target)
                queue.append(target)
    return seen
