"""A script for one graph: every outcome of a scenario read once, ready to be reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from diagnosis.runtime import DiagnosisError, Model, ShortFormError, Update, freeze, one_of, thaw, told
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
        calls: node -> its calls in order; a node that is not named is not scripted.
    """

    calls: Mapping[str, tuple[Call, ...]]

    @classmethod
    def of(cls, scenario: Scenario, model: Model) -> Script:
        """Read the script of a scenario, and check all else in it that depends on the graph.

        Args:
            scenario: the scenario.
            model: the model of its graph.

        Raises:
            DocumentError: the scenario does not fit the graph; the error says where.
        """
        nodes = model.graph.definition.names
        calls: dict[str, tuple[Call, ...]] = {}
        for node, items in scenario.script.items():
            if node not in nodes:
                raise DocumentError(f"the unknown node {shown(node)}", one_of(nodes), place=("script", node))
            calls[node] = tuple(_call(model, node, item, ("script", node, i)) for i, item in enumerate(items))
        for key in scenario.expect.counters or ():
            if key not in model.counters:
                raise DocumentError(
                    f"the unknown counter {shown(key)}", one_of(model.counters), place=("expect", "counters", key)
                )
        _check_input(scenario, model)
        return cls(MappingProxyType(calls))


def _call(model: Model, node: str, item: Any, place: Place) -> Call:
    if isinstance(item, str):
        short: Mapping[str, Any] = {"status": item}
    elif "raises" in item:
        return Raise(item["raises"])
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


def _ready(update: Update) -> Update:
    """Freeze an update now, so that no call has to."""
    return update if callable(update) else freeze(update)


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
