"""PlantUML: the topology as text for a state diagram."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from diagnosis.runtime import END, START, Topology, TopologyNode
from diagnosis.views.boxes import Box, boxed
from diagnosis.views.labels import identifiers, visible
from diagnosis.views.marks import Marks

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

_LINES: Final = {"fixed": (), "conditional": ("dashed",), "goto": ("dotted",)}
_OPENING: Final = ("thickness=3",)

_COLOURS: Final = {"agent": "#DBEAFE", "code": "#E7E5E4", "fallback": "#FEF3C7", "node": "#ECFDF5"}


def plantuml_text(topology: Topology) -> str:
    """Write a topology as a PlantUML state diagram, all labels in full.

    Fixed edges are solid, conditional ones dashed, gotos dotted; edges that may open a branch are thick.

    Args:
        topology: what to write.
    """
    names = identifiers((node.name for node in topology.nodes), reserved=_RESERVED)
    names |= {START: "[*]", END: "[*]"}
    marks = Marks(topology)
    lines = ["@startuml", "hide empty description"]
    for part in boxed(topology, names.values()):
        lines += _declared(part, names, marks, "")
    for edge in topology.edges:
        styles = [*_LINES[edge.kind], *(_OPENING if edge.parallel else ())]
        arrow = f"-[{','.join(styles)}]->" if styles else "-->"
        label = _label(marks.edge_lines(edge))
        lines.append(f"{names[edge.source]} {arrow} {names[edge.target]}{f' : {label}' if label else ''}")
    return "\n".join([*lines, "@enduml"]) + "\n"


def _declared(part: TopologyNode | Box, names: Mapping[str, str], marks: Marks, indent: str) -> Iterator[str]:
    if isinstance(part, Box):
        yield f'{indent}state "{_escaped(part.name)}" as {part.identifier} {{'
        for each in part.inside:
            yield from _declared(each, names, marks, f"{indent}  ")
        yield f"{indent}}}"
    elif part.name not in (START, END):
        name, kind = names[part.name], part.kind
        # Other stereotypes may mean more than a colour: a state that is a choice has no name, for example.
        known = f" <<{kind}>> {_COLOURS[kind]}" if kind in _COLOURS else ""
        yield f'{indent}state "{_escaped(part.name)}" as {name}{known}'
        if not known:
            yield f"{indent}{name} : {_escaped(kind)}"
        for text in marks.node(part):
            yield f"{indent}{name} : {_escaped(text)}"


def _label(lines: Iterable[str]) -> str:
    return "\\n".join(_escaped(line) for line in lines)


def _escaped(text: str) -> str:
    """Spell out by its number all that PlantUML would take for more than text."""
    return _MARKUP.sub(lambda match: f"<U+{ord(match[0]):04X}>", visible(text))
