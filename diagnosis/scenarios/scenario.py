"""A scenario: what each node reports, call by call, and what the run must then look like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, Strict, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from diagnosis.runtime import freeze, one_of, thaw
from diagnosis.scenarios.places import QUOTE_IT, DocumentError, Place, shortened, shown

DEFAULT_GRAPH: Final = "diagnosis"
"""The graph of a scenario that names none."""

_REFUSED: Final = "scenario_item"


def _refuse(found: str, allowed: str, *at: str | int) -> PydanticCustomError:
    return PydanticCustomError(_REFUSED, "{found}", {"found": found, "allowed": allowed, "at": at})


def _name(value: str) -> str:
    if not value.strip():
        raise _refuse("a blank name", "a text that is not blank")
    return value


def _not_null(value: object) -> object:
    if value is None:
        raise _refuse("null", "a value, or leave the key out")
    return value


def _item(value: Any) -> Any:
    """Check a script's item as far as that can be done without knowing the graph."""
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping):
        raise _refuse(shown(value), _text_or("a text or a mapping", value))
    for key in value:
        if not isinstance(key, str):
            raise _refuse(f"{shown(key)} as a key", f"a text as key; {QUOTE_IT}")
    for alone in ("raises", "update"):
        if alone in value and len(value) > 1 and not (alone == "update" and "goto" in value):
            others = one_of(key for key in value if key != alone)
            raise _refuse(f"{alone!r} beside {shortened(others)}", f"{alone!r} alone; make two items of it")
    if "raises" in value and not isinstance(value["raises"], str):
        raise _refuse(shown(value["raises"]), _text_or("a text", value["raises"]), "raises")
    if "update" in value:
        _check_update(value["update"], "update")
    if "goto" in value:
        _check_goto(value)
    return value


def _check_goto(item: Mapping[str, Any]) -> None:
    """Check an item that is a Command: where to go, with what update and for what reason."""
    _only(item, ("goto", "update", "reason"))
    if "reason" in item:
        reason = item["reason"]
        if not isinstance(reason, str):
            raise _refuse(shown(reason), _text_or("a text", reason), "reason")
        if not reason.strip():
            raise _refuse("a blank reason", "a text that is not blank", "reason")
    goto = item["goto"]
    if isinstance(goto, str):
        return
    if not isinstance(goto, list | tuple):
        raise _refuse(shown(goto), _text_or("a route key, or a list of them", goto), "goto")
    if not goto:
        raise _refuse("an empty list", "at least one route key", "goto")
    for number, way in enumerate(goto):
        if isinstance(way, str):
            continue
        at = ("goto", number)
        if not isinstance(way, Mapping):
            raise _refuse(shown(way), _text_or("a route key, or a mapping with 'to' and 'update'", way), *at)
        _only(way, ("to", "update"), *at)
        if "to" not in way:
            raise _refuse("no 'to'", "one; 'to' is required", *at)
        if not isinstance(way["to"], str):
            raise _refuse(shown(way["to"]), _text_or("a route key", way["to"]), *at, "to")
        if "update" in way:
            _check_update(way["update"], *at, "update")


def _only(item: Mapping[str, Any], keys: tuple[str, ...], *at: str | int) -> None:
    for key in item:
        if key not in keys:
            if not isinstance(key, str):
                raise _refuse(f"{shown(key)} as a key", f"a text as key; {QUOTE_IT}", *at)
            raise _refuse(f"the unknown key {shown(key)}", one_of(keys), *at, key)


def _check_update(update: object, *at: str | int) -> None:
    if not isinstance(update, Mapping):
        raise _refuse(shown(update), "a mapping from state key to value", *at)
    for key in update:
        if not isinstance(key, str):
            raise _refuse(f"{shown(key)} as a key", f"a text as key; {QUOTE_IT}", *at)


def _nothing() -> Any:
    return freeze({})


def _text_or(allowed: str, value: object) -> str:
    """Add how to turn a value into a text, where a text may have been meant."""
    return allowed if isinstance(value, Mapping | list | tuple) else f"{allowed}; {QUOTE_IT}"


_List = Strict(False)  # files hold lists; what is kept are tuples
_Frozen = AfterValidator(freeze)
_NotNull = BeforeValidator(_not_null)

Texts = Annotated[tuple[str, ...], _List]
Item = Annotated[Any, AfterValidator(_item)]
Script = Annotated[dict[str, Annotated[tuple[Item, ...], _List]], _Frozen]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    def to_map(self) -> dict[str, Any]:
        """Give what was given, as plain data that a file can hold."""
        return {
            field.alias or name: _plain(getattr(self, name))
            for name, field in type(self).model_fields.items()
            if name in self.model_fields_set
        }


def _plain(value: Any) -> Any:
    if isinstance(value, _Part):
        return value.to_map()
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return thaw(value)


class ExpectedTransition(_Part):
    """Two node executions, one of which led to the other, that a run must show.

    Attributes:
        source: the node that was left; ``from`` in files.
        target: the node that it led to; ``to`` in files.
        reason_code: why.
        attempt: which attempt of the source it was.
    """

    source: str = Field(alias="from")
    target: str = Field(alias="to")
    reason_code: str
    attempt: int


class Expect(_Part):
    """What a run must look like; only what was given counts (``model_fields_set``).

    Attributes:
        path: the nodes in the order of their executions.
        final_node: the last node; null for a run that did not end.
        termination_reason: the reason code with which the run ended; null for one that did not.
        degraded: whether the fallback answered; null for a run that did not end.
        evidence_retry_count: the trace's count.
        outcomes: the outcomes of the events, in order.
        branches: the branches that they happened in, in order; an empty text outside branches.
        counters: state key -> value at the end.
        transitions: all of them, in order.
        error: a text that the run's error must contain; the run is then expected to fail.
    """

    path: Annotated[Texts | None, _NotNull] = None
    final_node: str | None = None
    termination_reason: str | None = None
    degraded: bool | None = None
    evidence_retry_count: Annotated[int | None, _NotNull] = None
    outcomes: Annotated[Texts | None, _NotNull] = None
    branches: Annotated[Texts | None, _NotNull] = None
    counters: Annotated[Annotated[dict[str, int], _Frozen] | None, _NotNull] = None
    transitions: Annotated[Annotated[tuple[ExpectedTransition, ...], _List] | None, _NotNull] = None
    error: Annotated[str | None, _NotNull] = None

    def gives(self, name: str) -> bool:
        """Tell whether an expectation was given, be it null.

        Args:
            name: one of the attributes.
        """
        return name in self.model_fields_set


class Scenario(_Part):
    """What the nodes of a graph report, and what must come of it.

    Attributes:
        name: unique in a suite; also the run's id.
        title: one line for people.
        why: why the scenario matters.
        graph: the name of the graph.
        input: what the run starts with.
        script: node -> the outcomes of its calls, in order; a node with the path of a branch in brackets, such as
            ``worker[1]``, for its calls in that branch.
        expect: what the run must look like.
        winners: name of an ``any_of`` fork -> the branches that win it, one each time it opens.

    Raises:
        ValidationError: pydantic's, where one is made by hand; :meth:`parse` translates it.
    """

    name: Annotated[str, AfterValidator(_name)]
    title: str = ""
    why: str = ""
    graph: str = DEFAULT_GRAPH
    input: Annotated[dict[str, Any], _Frozen] = Field(default_factory=_nothing)
    script: Script = Field(default_factory=_nothing)
    expect: Expect = Field(default_factory=Expect)
    winners: Annotated[dict[str, Texts], _Frozen] = Field(default_factory=_nothing)

    def to_map(self) -> dict[str, Any]:
        """Give what was given, as plain data that a file can hold; what is expected comes last."""
        content = super().to_map()
        expect = content.pop("expect", None)
        return content if expect is None else {**content, "expect": expect}

    @classmethod
    def parse(cls, data: object) -> Self:
        """Read a scenario from plain data.

        Args:
            data: the mapping that a file holds.

        Raises:
            DocumentError: it is no scenario; the error says where.
        """
        if not isinstance(data, Mapping):
            raise DocumentError(shown(data), "a scenario: a mapping with a name")
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise _translated(error.errors(include_url=False)[0], data) from None


_ALLOWED: Final = {
    "int_type": "a whole number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
}


def _translated(error: ErrorDetails, data: Any) -> DocumentError:
    kind, value = error["type"], error["input"]
    place: Place = tuple(part for part in error["loc"] if part != "[key]")
    if kind == _REFUSED:
        context = error["ctx"]
        return DocumentError(context["found"], context["allowed"], place=(*place, *context["at"]))
    if kind == "missing":
        return DocumentError(f"no {place[-1]!r}", f"one; {place[-1]!r} is required", place=place[:-1])
    if kind == "extra_forbidden":
        return DocumentError(f"the unknown key {shown(place[-1])}", one_of(_keys_at(place)), place=place)
    if kind in ("string_type", "invalid_key"):
        return DocumentError(shown(value), _text_or("a text", value), place=place)
    return DocumentError(shown(value), _ALLOWED.get(kind, error["msg"]), place=place)


def _keys_at(place: Place) -> list[str]:
    """Give the keys of the part of a scenario in which an unknown one stands."""
    parts: dict[int, type[_Part]] = {1: Scenario, 2: Expect}
    part = parts.get(len(place), ExpectedTransition)
    return [field.alias or name for name, field in part.model_fields.items()]
