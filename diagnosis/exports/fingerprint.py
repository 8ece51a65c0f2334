"""A fingerprint of a graph: the same on every machine, another as soon as anything changes that routing rests on."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence, Set
from enum import Enum
from typing import Any

from diagnosis.exports.promela import promela
from diagnosis.exports.trees import ExportError
from diagnosis.runtime import Command, Decision, Fork, Model, Node, Remove, ReplaceAll, RouterDecision, Send, Strategy

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def fingerprint(model: Model) -> dict[str, Any]:
    """Give the fingerprint of a model, as a whole and part by part.

    Args:
        model: the graph under test.

    Returns:
        ``graph`` -> a SHA-256 over all parts; ``parts`` -> part -> its own: ``topology``, ``keys``, ``rules``,
        ``alphabet``, ``properties``; and ``tables``, what every condition, update, outcome function and property gives
        for every value, or ``None`` where they have no finite tables.
    """
    parts: dict[str, str | None] = {
        "topology": _hashed(_topology(model)),
        "keys": _hashed({key: _strategy(strategy) for key, strategy in model.graph.definition.keys.items()}),
        "rules": _hashed(_rules(model)),
        "alphabet": _hashed([stable(model.alphabet), stable(model.input)]),
        "properties": _hashed(
            [[claim.name, claim.kind, claim.statement, claim.reads, claim.limit] for claim in model.claims]
        ),
        "tables": _tables(model),
    }
    return {"graph": _hashed(parts), "parts": parts}


def _hashed(document: object) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode("ascii")).hexdigest()


def _tables(model: Model) -> str | None:
    try:
        return _hashed(_COMMENT.sub("", promela(model)))
    except ExportError:
        return None


def stable(value: Any) -> Any:
    """Give a value as JSON that is the same in every process.

    Args:
        value: a value; a function is only said to be one.
    """
    if value is None or type(value) in (str, int, float, bool):
        return [type(value).__name__, value if value == value else "nan"]
    if isinstance(value, Enum):
        return [type(value).__name__, value.name]
    if isinstance(value, Command):
        return ["Command", stable(value.goto), stable(value.update), value.reason]
    if isinstance(value, Send):
        return ["Send", value.goto, stable(value.update)]
    if isinstance(value, Remove):
        return ["Remove", stable(value.value)]
    if isinstance(value, ReplaceAll):
        return ["ReplaceAll", stable(value.values)]
    if isinstance(value, Mapping):
        return ["mapping", *([stable(key), stable(item)] for key, item in value.items())]
    if isinstance(value, Set):
        return ["set", *sorted(map(stable, value), key=json.dumps)]
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return ["sequence", *map(stable, value)]
    if callable(value):
        return ["function"]
    return [type(value).__name__, _ADDRESS.sub("", repr(value))]


def _strategy(strategy: Strategy) -> Any:
    declared = strategy.type
    named = None if declared is None else getattr(declared, "__name__", None) or _ADDRESS.sub("", repr(declared))
    return [type(strategy).__name__, stable(strategy.initial), named, bool(getattr(strategy, "unique", False))]


def _fork(fork: Fork | None) -> Any:
    return None if fork is None else [fork.join, fork.wait, fork.max_concurrency, fork.routes]


def _topology(model: Model) -> Any:
    definition = model.graph.definition
    return {
        "nodes": [
            [node.name, node.owns, node.whole_report, dict(node.goto), _fork(node.fork)] for node in definition.nodes
        ],
        "edges": [[edge.source, edge.target, str(edge.reason), _fork(edge.fork)] for edge in definition.edges],
        "routes": [
            [each.source, list(each.targets.items()), _fork(each.fork), each.owns] for each in definition.conditionals
        ],
        "recursion_limit": model.graph.recursion_limit,
        "private": {key: sorted(nodes) for key, nodes in definition.private.items()},
    }


def _node(node: Node) -> Any:
    effects = [[effect.name, effect.reads, effect.writes] for effect in node.effects]
    return [
        node.name,
        len(node.entry),
        effects,
        [reading and reading.reads for reading in (node.attempt, node.outcome)],
    ]


def _decision(decision: Decision | RouterDecision) -> Any:
    if isinstance(decision, RouterDecision):
        return ["router", decision.reads]
    return [
        [rule.name, rule.routes, rule.reason, [[condition.name, condition.reads] for condition in rule.when]]
        for rule in decision.rules
    ]


def _rules(model: Model) -> Any:
    definition = model.graph.definition
    return {
        "nodes": [_node(node) for node in definition.nodes],
        "decisions": [[each.source, _decision(each.decision)] for each in definition.conditionals],
    }
