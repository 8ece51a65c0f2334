"""YAML text, read as plain data with the line of every part, without ever writing an alias out.

The parser's events are put together here and not by PyYAML's composer, because only then are the limits checked before
memory or stack has been spent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from diagnosis.scenarios.limits import (
    MAX_ALIASES,
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_NODES,
    Unfit,
    flaw_of,
    too_deep,
    too_many_nodes,
)
from diagnosis.scenarios.places import QUOTE_IT, Place, shortened, shown

_Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_SAFE: Final[Any] = yaml.SafeLoader("")
"""PyYAML's rules for what a bare word means; used for single words only."""

_CORE: Final = "tag:yaml.org,2002:"
_TAGS: Final = {f"{_CORE}{name}": name for name in ("str", "int", "float", "bool", "null", "map", "seq")}
_TAGS_ALLOWED: Final = f"no tag, or one of {', '.join(f'!!{name}' for name in _TAGS.values())}"
_BARE_WORDS: Final = {f"{_CORE}merge", f"{_CORE}value"}
"""What a bare ``<<`` or ``=`` resolves to; here they are texts."""


@dataclass(slots=True)
class Tree:
    """A part of a document.

    Attributes:
        data: its content as plain data.
        line: its line, from 1.
        parts: key or list place -> the part there.
        size: how many nodes it has, each alias counted as what it stands for.
        depth: its levels of nesting, aliases followed.
    """

    data: Any
    line: int
    parts: dict[str | int, Tree] = field(default_factory=dict)
    size: int = 1
    depth: int = 0


@dataclass(slots=True)
class _Open:
    """A mapping or list whose end has not come yet."""

    tree: Tree
    anchor: str | None
    key: str | None = None

    def place(self) -> tuple[str | int, ...]:
        """The place of the part that is being read inside it."""
        if isinstance(self.tree.data, list):
            return (len(self.tree.data),)
        return () if self.key is None else (self.key,)


def read_yaml(text: str) -> Tree:
    """Read YAML.

    Args:
        text: the whole text.

    Raises:
        Unfit: it is no YAML, or not one safe, plain document.
    """
    reading = _Reading()
    try:
        for event in yaml.parse(text, Loader=_Parser):
            reading.take(event)
    except yaml.MarkedYAMLError as error:
        what = " ".join(filter(None, (error.context, error.problem)))
        raise _unfit(f"no YAML ({what})", "YAML; mend it there", error.problem_mark) from None
    except yaml.reader.ReaderError as error:
        raise Unfit(
            f"a character that YAML refuses ({error.reason}, at offset {error.position})",
            "printable characters; write others as escapes in double quotes",
        ) from None
    if reading.root is None:
        raise Unfit("a file without content", "a scenario, or a list of scenarios")
    return reading.root


def _line(event: Any) -> int:
    line: int = event.start_mark.line
    return line + 1


def _unfit(found: str, allowed: str, mark: Any, place: Place = ()) -> Unfit:
    return Unfit(found, allowed, place=place, line=mark.line + 1, column=mark.column + 1)


class _Reading:
    """A document while its events come in."""

    def __init__(self) -> None:
        self.root: Tree | None = None
        self.open: list[_Open] = []
        self.anchors: dict[str, Tree] = {}
        self.aliases = 0
        self.count = 0

    @property
    def place(self) -> Place:
        return tuple(part for outer in self.open for part in outer.place())

    def refuse(self, event: Any, found: str, allowed: str) -> Unfit:
        return _unfit(found, allowed, event.start_mark, self.place)

    def take(self, event: Any) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self.begin(event)
            self.add(event, self.leaf(event), event.anchor)
        elif isinstance(event, yaml.SequenceStartEvent | yaml.MappingStartEvent):
            self.begin(event)
            empty: Any = [] if isinstance(event, yaml.SequenceStartEvent) else {}
            self.check_tag(event, "seq" if isinstance(empty, list) else "map")
            if len(self.open) >= MAX_DEPTH:
                raise too_deep(self.place, _line(event))
            if event.anchor is not None:
                # Until its end comes, an alias to it would make it hold itself.
                self.anchors.pop(event.anchor, None)
            self.open.append(_Open(Tree(empty, _line(event), depth=1), event.anchor))
        elif isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent):
            done = self.open.pop()
            self.add(event, done.tree, done.anchor)
        elif isinstance(event, yaml.AliasEvent):
            self.begin(event)
            self.add(event, self.alias(event), None)
        elif isinstance(event, yaml.DocumentStartEvent) and self.root is not None:
            raise self.refuse(event, "a second YAML document", "one document a file; a list holds several scenarios")

    def begin(self, event: Any) -> None:
        self.count += 1
        if self.count > MAX_NODES:
            raise too_many_nodes(self.place, _line(event))

    def alias(self, event: Any) -> Tree:
        self.aliases += 1
        if self.aliases > MAX_ALIASES:
            raise self.refuse(event, f"more than {MAX_ALIASES} aliases", f"at most {MAX_ALIASES}; write the parts out")
        name = event.anchor
        if any(outer.anchor == name for outer in self.open) and name not in self.anchors:
            raise self.refuse(
                event, f"the alias *{shortened(name)} inside what it stands for", "parts that do not hold themselves"
            )
        if name not in self.anchors:
            raise self.refuse(event, f"the alias *{shortened(name)}", "aliases of an anchor further up")
        return self.anchors[name]

    def check_tag(self, event: Any, kind: str) -> None:
        if event.tag in (None, "!"):
            return
        if _TAGS.get(event.tag) != kind:
            tag = event.tag.replace(_CORE, "!!")
            raise self.refuse(event, f"the tag {shown(tag)}", f"{_TAGS_ALLOWED}, on what it names")

    def leaf(self, event: Any) -> Tree:
        text, tag = event.value, event.tag
        if tag is None:
            tag = _SAFE.resolve(yaml.ScalarNode, text, event.implicit)
            if tag in _BARE_WORDS:
                tag = f"{_CORE}str"
        elif tag == "!":
            tag = f"{_CORE}str"
        elif tag not in _TAGS or _TAGS[tag] in ("map", "seq"):
            self.check_tag(event, "")
        if tag == f"{_CORE}str":
            value: Any = text
        else:
            kind = tag.removeprefix(_CORE)
            if len(text) > MAX_DIGITS:
                raise self.refuse(event, f"a very long {kind}", f"a shorter one, or a text; for a text, {QUOTE_IT}")
            try:
                value = yaml.SafeLoader.yaml_constructors[tag](_SAFE, yaml.ScalarNode(tag, text))
            except Exception:  # PyYAML's constructors raise whatever they stumble upon
                raise self.refuse(
                    event, f"{shown(text)}, which is no {kind}", f"one that is, or a text; for a text, {QUOTE_IT}"
                ) from None
        flaw = flaw_of(value)
        if flaw is not None:
            raise self.refuse(event, *flaw)
        return Tree(value, _line(event))

    def add(self, event: Any, tree: Tree, anchor: str | None) -> None:
        """Put a finished part into what is open around it."""
        if tree.size > MAX_NODES:
            raise too_many_nodes(self.place, _line(event))
        if len(self.open) + tree.depth > MAX_DEPTH:
            raise too_deep(self.place, _line(event))
        if anchor is not None:
            self.anchors[anchor] = tree
        if not self.open:
            self.root = tree
            return
        outer = self.open[-1]
        around = outer.tree
        if isinstance(around.data, list):
            around.parts[len(around.data)] = tree
            around.data.append(tree.data)
        elif outer.key is None:
            outer.key = self.key(event, tree, around)
            around.size += tree.size
            return
        else:
            around.parts[outer.key] = tree
            around.data[outer.key] = tree.data
            outer.key = None
        around.size += tree.size
        around.depth = max(around.depth, tree.depth + 1)

    def key(self, event: Any, tree: Tree, around: Tree) -> str:
        key = tree.data
        if not isinstance(key, str):
            raise self.refuse(event, f"{shown(key)} as a key", f"a text as key; {QUOTE_IT}")
        if key == "<<" and isinstance(event, yaml.ScalarEvent) and event.implicit[0]:
            raise self.refuse(event, "the merge key <<", "every key written out")
        if key in around.data:
            raise self.refuse(event, f"the key {shown(key)} twice", "every key once; remove one")
        return key
