"""Strict checks of frozen values against a type, in messages that say where, what was found and what is allowed."""

from __future__ import annotations

import collections.abc
import types
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin

from diagnosis.runtime.errors import DefinitionError, MergeError, told
from diagnosis.runtime.fields import Field, annotated, fields_of, has_fields, is_typed_dict
from diagnosis.runtime.frozen import FrozenDict, FrozenList, History

_LONGEST = 80

_KEPT_AS: Mapping[Any, Any] = {
    set: frozenset,
    collections.abc.MutableSet: frozenset,
    bytearray: bytes,
}
"""A declared type -> what state keeps of its values."""


class ValueType:
    """A type that values are checked against, strictly: ``"1"`` is no int, and neither is ``True``.

    Args:
        wanted: a type that pydantic can check.
        of: what is checked: a ``value`` of the type; ``elements`` to add to a list or tuple of the type; or ``entries``
            to merge into a mapping of the type. Of a TypedDict, a pydantic model or a dataclass, entries may be some of
            the fields, and nothing else.

    Raises:
        DefinitionError: pydantic cannot check it.
    """

    def __init__(self, wanted: Any, of: Literal["value", "elements", "entries"] = "value") -> None:
        # Loaded here, so that graphs without types do without it.
        import pydantic
        import pydantic.warnings

        self.label = notation(wanted)
        no_type = getattr(pydantic.warnings, "ArbitraryTypeWarning", UserWarning)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                warnings.simplefilter("error", no_type)
                if of == "entries":
                    stored, self.label = _entries(wanted)
                else:
                    stored = _stored(_list(wanted) if of == "elements" else wanted)
                # In a list, because some types take no configuration beside their own.
                config = pydantic.ConfigDict(arbitrary_types_allowed=True)
                adapter: Any = pydantic.TypeAdapter(list[stored], config=config)  # type: ignore[valid-type]
                adapter.rebuild()
        except DefinitionError:
            raise
        except Exception as error:
            raise DefinitionError(f"the type {self.label} cannot be checked: {_line(error)}") from error
        self._invalid = pydantic.ValidationError
        self._validate = adapter.validator.validate_python

    def check(self, value: Any, where: str = "", places: Sequence[int] | None = None) -> None:
        """Refuse a value of another type.

        Args:
            value: a frozen value.
            where: what the value is, for the message, where it is not the written value itself.
            places: for a list, where each of its elements stood in what was written.

        Raises:
            MergeError: the value is of another type.
        """
        plain = _plain(value)
        try:
            self._validate([plain], strict=True)
        except self._invalid as error:
            problems = [_Problem(plain, each, places) for each in error.errors(include_url=False)]
            # Of a union, what came furthest is what was meant.
            nearest = max(problems, key=lambda problem: problem.depth)
            raise MergeError(f"{where}{nearest.text}; allowed: {self.label}") from None
        except Exception as error:
            raise MergeError(f"{where}its type cannot be checked: {_line(error)}; allowed: {self.label}") from error


class _Problem:
    """One thing that pydantic found wrong with a value."""

    def __init__(self, value: Any, error: Mapping[str, Any], places: Sequence[int] | None) -> None:
        # The first part of the location is that of the list around the value; others may name a member of a union.
        location = error["loc"][1:]
        parts: list[str] = []
        of_key = False
        for i, part in enumerate(location):
            if part == "[key]":
                of_key = True
            elif isinstance(value, list | tuple) and isinstance(part, int) and part < len(value):
                value = value[part]
                parts.append(f"[{places[part] if places and i == 0 else part}]")
            elif isinstance(value, tuple) and hasattr(value, str(part)):
                value = getattr(value, str(part))
                parts.append(f".{part}")
            elif isinstance(value, dict):
                key = next((key for key in value if key == part or str(key) == part), None)
                if key is not None:
                    value = value[key]
                    parts.append(f"[{key!r}]")
        self.depth = len(parts)
        path = "".join(parts)
        kind, found = error["type"], f"found {_found(error['input'])}"
        if kind == "missing":
            self.text = f"{path}[{location[-1]!r}] is missing, {found}"
        elif kind == "extra_forbidden":
            self.text = f"{path} is no entry, {found}"
        else:
            at = f"the key at {path}" if of_key else path
            subject, should, rest = error["msg"].partition(" should ")
            if not should:
                self.text = f"{at}{': ' if at else ''}{subject}, {found}"
            elif subject == "Input":
                self.text = f"{at}{' ' if at else ''}must {rest}, {found}"
            else:
                self.text = f"{at}{': ' if at else ''}{subject} must {rest}, {found}"


def _line(error: Exception) -> str:
    return told(error).splitlines()[0]


def _found(value: Any) -> str:
    if value is None:
        return "None"
    text = repr(value)
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST - 3]}..."
    return f"{type(value).__name__} {text}"


def _plain(value: Any) -> Any:
    """Give a frozen value as it was before it was frozen; that sets stay frozen is seen to in the types."""
    kind = type(value)
    if kind is FrozenDict:
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, FrozenList | History):
        return [_plain(item) for item in value]
    if isinstance(value, tuple):
        items = [_plain(item) for item in value]
        return tuple(items) if kind is tuple else kind._make(items) if hasattr(kind, "_make") else kind(items)
    return value


def _stored(wanted: Any, inside: tuple[Any, ...] = ()) -> Any:
    """Give the type that fits what state keeps, with what pydantic would take too lightly made strict."""
    import pydantic

    origin, args = get_origin(wanted), get_args(wanted)
    if origin is Annotated:
        return annotated(_stored(args[0], inside), wanted.__metadata__)
    if origin is Literal:
        # For pydantic, True and 1.0 are the literal 1.
        return Annotated[Any, pydantic.PlainValidator(_one_of(args))]
    if origin in (Union, types.UnionType):
        return Union[tuple(_stored(arg, inside) for arg in args)]  # noqa: UP007
    if isinstance(origin, type) and issubclass(origin, collections.abc.Iterable):
        kept = _KEPT_AS.get(origin, origin)
        return kept[tuple(_stored(arg, inside) for arg in args)] if args else _KEPT_AS.get(origin, wanted)
    if origin is not None or not isinstance(wanted, type):
        return wanted
    if is_typed_dict(wanted) and wanted not in inside:
        inside = (*inside, wanted)
        return _typed_dict(wanted, [(field, field.required) for field in fields_of(wanted)], inside)
    if has_fields(wanted) and not is_typed_dict(wanted):
        # Pydantic would take a mapping for a model, and look into a model again.
        instance: Any = pydantic.InstanceOf
        return instance[wanted]
    return _KEPT_AS.get(wanted, wanted)


def _one_of(allowed: tuple[Any, ...]) -> Callable[[Any], Any]:
    from pydantic_core import PydanticCustomError

    choices = " or ".join(map(repr, allowed))

    def literal(value: Any) -> Any:
        if not any(type(value) is type(choice) and value == choice for choice in allowed):
            raise PydanticCustomError("literal_error", "Input should be {choices}", {"choices": choices})
        return value

    return literal


def _typed_dict(
    kind: Any, fields: list[tuple[Field, bool]], inside: tuple[Any, ...], config: Mapping[str, Any] | None = None
) -> Any:
    # Before Python 3.12 pydantic takes no other; it depends on this library.
    from typing_extensions import TypedDict

    entries: dict[str, Any] = {}
    for field, required in fields:
        entry = annotated(_stored(field.type, inside), field.notes)
        entries[field.name] = Required[entry] if required else NotRequired[entry]
    make: Any = TypedDict
    made = make(kind.__name__, entries)
    own = getattr(kind, "__pydantic_config__", {})
    made.__pydantic_config__ = {"arbitrary_types_allowed": True, **own, **(config or {})}
    return made


def _list(wanted: Any) -> Any:
    """Give a type for lists in place of one for tuples of any length."""
    origin, args = get_origin(wanted), get_args(wanted)
    if origin is Annotated:
        return annotated(_list(args[0]), wanted.__metadata__)
    if wanted is tuple:
        return list
    return list[args[0]] if origin is tuple and args[1:] == (...,) else wanted  # type: ignore[valid-type]


def _entries(wanted: Any) -> tuple[Any, str]:
    """Give the type of some entries of a mapping, and how messages name it."""
    kind = wanted
    while get_origin(kind) in (Annotated, Union, types.UnionType):
        members = [arg for arg in get_args(kind) if arg is not type(None)]
        if len(members) > 1 and get_origin(kind) is not Annotated:
            break
        kind = members[0]
    if not has_fields(kind):
        return _stored(wanted), notation(wanted)
    fields = fields_of(kind)
    own = getattr(kind, "model_config", getattr(kind, "__pydantic_config__", {}))
    extra = "allow" if own.get("extra") == "allow" else "forbid"
    made = _typed_dict(kind, [(field, False) for field in fields], (kind,), {"extra": extra})
    return made, f"{notation(wanted)} with {', '.join(f'{field.name}: {notation(field.type)}' for field in fields)}"


def notation(wanted: Any) -> str:
    """Write a type as one would in code.

    Args:
        wanted: a type.
    """
    origin, args = get_origin(wanted), get_args(wanted)
    if wanted is None or wanted is type(None):
        return "None"
    if wanted is ...:
        return "..."
    if origin is Annotated:
        return notation(args[0])
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, args))}]"
    if origin in (Union, types.UnionType):
        return " | ".join(map(notation, args))
    if isinstance(wanted, list):
        return f"[{', '.join(map(notation, wanted))}]"
    name = getattr(wanted, "__name__", None) or str(wanted).removeprefix("typing.")
    return f"{name}[{', '.join(map(notation, args))}]" if args else name
