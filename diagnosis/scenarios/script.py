"""A script for one graph: every outcome of a scenario read once, ready to be reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from diagnosis.runtime import (
    Command,
    DiagnosisError,
    Model,
    Send,
    ShortFormError,
    Update,
    freeze,
    frozen_update,
    one_of,
    thaw,
    told,
)
from diagnosis.runtime.model import goto_flaw
from diagnosis.runtime.position import Path
from diagnosis.scenarios.branch_names import BranchNames
from diagnosis.scenarios.places import QUOTE_IT, DocumentError, Place, shortened, shown
from diagnosis.scenarios.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Raise:
    """A call that raises.

    Attributes:
        message: the text of its error.
    """

    message: str


Call = Update | Raise
"""What one call of a node comes to."""


@dataclass(frozen=True, slots=True)
class Script:
    """What every scripted node does, call by call.

    Attributes:
        calls: key -> its calls in order. A key is a node; or a node with the path of a branch in brackets, such as
            ``worker[1]``. A node that is not named is not scripted.
        branches: node -> path -> the key of its calls in that branch, for keys that name one.
    """

    calls: Mapping[str, tuple[Call, ...]]
    branches: Mapping[str, Mapping[Path, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, scenario: Scenario, model: Model) -> Script:
        """Read the script of a scenario, and check all else in it that depends on the graph.

        Args:
            scenario: the scenario.
            model: the model of its graph.

        Raises:
            DocumentError: the scenario does not fit the graph; the error says where.
        """
        names = BranchNames(model.graph)
        calls: dict[str, tuple[Call, ...]] = {}
        branches: dict[str, dict[Path, str]] = {}
        for key, items in scenario.script.items():
            node, path = _scripted(names, model, key)
            if path:
                branches.setdefault(node, {})[path] = key
            calls[key] = tuple(read_item(model, node, item, ("script", key, i)) for i, item in enumerate(items))
        _check_winners(scenario, names)
        for key in scenario.expect.counters or ():
            if key not in model.counters:
                raise DocumentError(
                    f"the unknown counter {shown(key)}", one_of(model.counters), place=("expect", "counters", key)
                )
        _check_input(scenario, model)
        return cls(MappingProxyType(calls), MappingProxyType(branches))


def _scripted(names: BranchNames, model: Model, key: str) -> tuple[str, Path]:
    """Give the node that a key of a script names, and the path of the branch; without one it names all its calls."""
    nodes, place = model.graph.definition.names, ("script", key)
    readings = names.readings(key)
    for node, path in readings:
        if not path or names.executes(node, path):
            return node, path
    begun = max((node for node in nodes if key.startswith(f"{node}[")), key=len, default=None)
    if begun is None:
        raise DocumentError(f"the unknown node {shown(key)}", one_of(nodes), place=place)
    what = f"a branch that never executes {shown(begun)}" if readings else "brackets that are no path of a branch"
    raise DocumentError(f"{shown(key)}, {what}", _also(begun, names.told(begun)), place=place)


def _also(node: str, branches: str) -> str:
    return f"{node!r}, {branches}" if branches else f"{node!r}; no branch executes it"


def _check_winners(scenario: Scenario, names: BranchNames) -> None:
    for fork, branches in scenario.winners.items():
        contest = names.contest(fork)
        if contest is None:
            allowed = names.told_contests() or "no fork; the graph has none that waits for any_of"
            raise DocumentError(f"the unknown fork {shown(fork)}", allowed, place=("winners", fork))
        for number, branch in enumerate(branches):
            if not names.may_win(branch, *contest):
                raise DocumentError(
                    f"{shown(branch)}, which is no branch of it",
                    names.told_winners(*contest),
                    place=("winners", fork, number),
                )


def read_item(model: Model, node: str, item: Any, place: Place = ()) -> Call:
    """Read one item of a script.

    Args:
        model: the model of the graph.
        node: the node that reports.
        item: the item, checked as far as that can be done without knowing the graph.
        place: where it stands.

    Raises:
        DocumentError: it does not fit the graph.
    """
    if isinstance(item, str):
        short: Mapping[str, Any] = {"status": item}
    elif "raises" in item:
        return Raise(item["raises"])
    elif "goto" in item:
        return _command(model, node, item, place)
    elif "update" in item:
        return _ready(item["update"])
    else:
        short = item
    try:
        return _ready(model.forms.parse(node, thaw(short)))
    except ShortFormError as error:
        at = () if isinstance(item, str) else error.at
        raise DocumentError(shortened(error.found), error.allowed, place=(*place, *at)) from None
    except Exception as error:  # short forms are the user's own code
        raise DocumentError(
            f"an item that the short forms of graph {model.name!r} cannot read ({shortened(told(error))})",
            "an item that they can read, or one with 'raises' or 'update'",
            place=place,
        ) from error


def _command(model: Model, node: str, item: Mapping[str, Any], place: Place) -> Command:
    goto = item["goto"]
    given = (goto,) if isinstance(goto, str) else goto
    keys = [way if isinstance(way, str) else way["to"] for way in given]
    flaw = goto_flaw(model.graph, node, goto if isinstance(goto, str) else keys)
    if flaw is not None:
        at: Place = ("goto",)
        if flaw.at is not None:
            at = ("goto", flaw.at) if isinstance(goto[flaw.at], str) else ("goto", flaw.at, "to")
        raise DocumentError(shortened(flaw.found), flaw.allowed, place=(*place, *at))
    ways = [way if isinstance(way, str) else Send(way["to"], way.get("update")) for way in given]
    reason = item.get("reason", " + ".join(dict.fromkeys(keys)))
    command: Command = freeze(Command(goto if isinstance(goto, str) else ways, item.get("update"), reason=reason))
    return command


def _ready(update: Update) -> Update:
    """Freeze an update or a Command now, so that no call has to."""
    if isinstance(update, Command):
        frozen: Command = freeze(update)
        return frozen
    return update if callable(update) else frozen_update(update)


def _check_input(scenario: Scenario, model: Model) -> None:
    definition = model.graph.definition
    allowed: Mapping[str, Any] = definition.keys if definition.inputs is None else definition.inputs
    for key, value in scenario.input.items():
        place = ("input", key)
        if key not in allowed:
            raise DocumentError(f"the unknown key {shown(key)}", one_of(allowed), place=place)
        kind = object if definition.inputs is None else definition.inputs[key]
        if not isinstance(value, kind):
            wanted = f"a text; {QUOTE_IT}" if kind is str else f"a value of type {kind.__name__}"
            raise DocumentError(shown(value), wanted, place=place)
        try:
            model.graph.step.begin({key: value})
        except DiagnosisError as error:
            raise DocumentError(shown(value), f"what the graph takes ({error})", place=place) from None
