"""The graphs that ship with the package, as models, by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from diagnosis.actions import Actions
from diagnosis.alphabet import DiagnosisForms, alphabet, classify
from diagnosis.contract import PROPERTIES
from diagnosis.factory import build_graph
from diagnosis.runtime import DefinitionError, Model, State, one_of
from diagnosis.scale import noted
from diagnosis.state import COUNTERS
from diagnosis.topology import GRAPH, LONGEST_RUN, NODES
from diagnosis.trace import summary_of, trace_of
from diagnosis.trust import BOUNDARY


async def _unscripted(state: State, config: object) -> Mapping[str, Any]:
    raise DefinitionError("this graph is a model without actions; run it with actions of your own, or with a script")


@cache
def diagnosis_model() -> Model:
    """Give the Chat Diagnosis graph as a model: graph, alphabet, short forms, properties."""
    model = Model(
        GRAPH,
        build_graph(Actions(**dict.fromkeys(NODES, _unscripted))),
        alphabet(),
        properties=PROPERTIES,
        counters=COUNTERS,
        bound=LONGEST_RUN,
        short_forms=DiagnosisForms(),
        classify=classify,
        trace=trace_of,
        summary=summary_of,
        boundary=BOUNDARY,
    )
    return noted(model, f"{__name__}:diagnosis_model")


_SHIPPED = {GRAPH: diagnosis_model}


def shipped(name: str) -> Model:
    """Give a shipped model by its name.

    Args:
        name: such as ``diagnosis``.

    Raises:
        DefinitionError: no such graph ships.
    """
    if name not in _SHIPPED:
        raise DefinitionError(f"no graph named {name!r} ships; there is {one_of(_SHIPPED)}")
    return _SHIPPED[name]()


def models() -> dict[str, Model]:
    """Give every shipped model by name, as loading scenarios takes them."""
    return {name: shipped(name) for name in _SHIPPED}


def shipped_names() -> tuple[str, ...]:
    """Give the names of the shipped graphs."""
    return tuple(_SHIPPED)
