"""PlantUML: the topology as text for a state diagram."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from diagnosis.runtime import END, START, Topology
from diagnosis.views.labels import identifiers, visible

_RESERVED: Final = frozenset(
    {
        "as",
        "choice",
        "entrypoint",
        "exitpoint",
        "expansioninput",
        "expansionoutput",
        "fork",
        "frame",
        "hide",
        "history",
        "inputpin",
        "join",
        "json",
        "left",
        "legend",
        "map",
        "note",
        "outputpin",
        "right",
        "scale",
        "sdlreceive",
        "skinparam",
        "state",
        "title",
        "top",
        "bottom",
        "of",
        "end",
        "start",
    }
)

_MARKUP: Final = re.compile(r"[^A-Za-z0-9 _,()\[\]\u0080-\U0010ffff]|_(?=_)|(?<=_)_|(?<=\[)\[|\[(?=\[)")
"""All ASCII but what is plain text to PlantUML and its wiki markup: ``__`` underlines, ``[[`` begins a link."""

_COLOURS: Final = {"agent": "#DBEAFE", "code": "#E7E5E4", "fallback": "#FEF3C7", "node": "#ECFDF5"}


def plantuml_text(topology: Topology) -> str:
    """Write a topology as a PlantUML state diagram: fixed edges solid, conditional ones dashed, all labels in full.

    Args:
        topology: what to write.
    """
    names = identifiers((node.name for node in topology.nodes), reserved=_RESERVED)
    names |= {START: "[*]", END: "[*]"}
    lines = ["@startuml", "hide empty description"]
    for node in topology.nodes:
        if node.name in (START, END):
            continue
        name, kind = names[node.name], node.kind
        # Other stereotypes may mean more than a colour: a state that is a choice has no name, for example.
        known = f" <<{kind}>> {_COLOURS[kind]}" if kind in _COLOURS else ""
        lines.append(f'state "{_escaped(node.name)}" as {name}{known}')
        if not known:
            lines.append(f"{name} : {_escaped(kind)}")
    for edge in topology.edges:
        arrow = "-->" if edge.kind == "fixed" else "-[dashed]->"
        route = [] if edge.route is None else [f"[{edge.route}]"]
        label = _label(route + [reason for reason in edge.reasons if reason != edge.route])
        lines.append(f"{names[edge.source]} {arrow} {names[edge.target]}{f' : {label}' if label else ''}")
    return "\n".join([*lines, "@enduml"]) + "\n"


def _label(lines: Iterable[str]) -> str:
    return "\\n".join(_escaped(line) for line in lines)


def _escaped(text: str) -> str:
    """Spell out by its number all that PlantUML would take for more than text."""
    return _MARKUP.sub(lambda match: f"<U+{ord(match[0]):04X}>", visible(text))
