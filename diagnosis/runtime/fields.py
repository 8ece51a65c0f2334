"""The fields of a class: their types, what else their annotations hold, and their defaults."""

from __future__ import annotations

import dataclasses
import operator
import sys
import typing
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final, NotRequired, Required, get_args, get_origin

from diagnosis.runtime.errors import DefinitionError, told

Default = Callable[[dict[str, Any]], Any]
"""``(values of the fields before) -> default``."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a class.

    Attributes:
        name: its name.
        type: its bare type.
        notes: what stands beside the type in ``Annotated``, or in pydantic's ``Field``.
        required: whether a value of the class must hold it.
        default: gives the default, from the defaults of the fields before it; ``None`` where there is none.
    """

    name: str
    type: Any
    notes: tuple[Any, ...] = ()
    required: bool = True
    default: Default | None = None


def is_typed_dict(kind: object) -> bool:
    """Tell whether something is a TypedDict class, of ``typing`` or of ``typing_extensions``.

    Args:
        kind: anything.
    """
    return isinstance(kind, type) and dict in kind.__mro__ and hasattr(kind, "__required_keys__")


def has_fields(kind: object) -> bool:
    """Tell whether something is a class whose fields can be read: a pydantic model, a TypedDict or a dataclass.

    Args:
        kind: anything.
    """
    if not isinstance(kind, type):
        return False
    return is_typed_dict(kind) or dataclasses.is_dataclass(kind) or hasattr(kind, "__pydantic_fields__")


def annotated(kind: Any, notes: Iterable[Any]) -> Any:
    """Put notes beside a type.

    Args:
        kind: the type.
        notes: any objects.

    Returns:
        An ``Annotated``, or the bare type where there are no notes.
    """
    parts = (kind, *notes)
    subscript: Any = operator.getitem
    return subscript(Annotated, parts) if len(parts) > 1 else kind


def fields_of(kind: type) -> list[Field]:
    """Give the fields of a class, in order.

    Args:
        kind: a class that has fields.

    Raises:
        DefinitionError: an annotation cannot be read.
    """
    if hasattr(kind, "__pydantic_fields__"):
        return list(_pydantic_fields(kind))
    try:
        hints = typing.get_type_hints(kind, localns=_names_around(kind), include_extras=True)
    except Exception as error:
        raise _unreadable(kind, error) from error
    if is_typed_dict(kind):
        return [_field(name, hint, name in kind.__required_keys__) for name, hint in hints.items()]  # type: ignore[attr-defined]
    return [_dataclass_field(field, hints[field.name]) for field in dataclasses.fields(kind)]


def _unreadable(kind: type, error: Exception) -> DefinitionError:
    return DefinitionError(
        f"the annotations of {kind.__qualname__} cannot be read: {told(error).splitlines()[0]}; "
        "define or import what they name beside the class, not under TYPE_CHECKING"
    )


def _names_around(kind: type) -> dict[str, Any] | None:
    """Give the names that a class inside a function sees, where that function still runs."""
    outer = kind.__qualname__.split(".<locals>.")[:-1]
    if not outer:
        return None
    names: dict[str, Any] = {}
    around = {".<locals>.".join(outer[: depth + 1]) for depth in range(len(outer))}
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_qualname in around and frame.f_globals.get("__name__") == kind.__module__:
            names = {**frame.f_locals, **names}
        frame = frame.f_back  # type: ignore[assignment]
    return names


def _field(name: str, hint: Any, required: bool, default: Default | None = None, notes: Iterable[Any] = ()) -> Field:
    notes = tuple(notes)
    while True:
        origin = get_origin(hint)
        if origin is Annotated:
            notes = (*hint.__metadata__, *notes)
            hint = get_args(hint)[0]
        elif origin in (Required, NotRequired):
            required = origin is Required
            hint = get_args(hint)[0]
        elif origin is Final or getattr(origin, "_name", None) == "ReadOnly":
            hint = get_args(hint)[0]
        else:
            return Field(name, hint, notes, required, default)


def _dataclass_field(field: dataclasses.Field[Any], hint: Any) -> Field:
    factory = field.default_factory
    if factory is not dataclasses.MISSING:
        return _field(field.name, hint, False, lambda before: factory())
    if field.default is not dataclasses.MISSING:
        return _field(field.name, hint, False, lambda before: field.default)
    return _field(field.name, hint, True)


def _pydantic_fields(kind: Any) -> Iterator[Field]:
    if not kind.__pydantic_complete__:
        from pydantic.dataclasses import is_pydantic_dataclass, rebuild_dataclass

        names = _names_around(kind)
        try:
            if is_pydantic_dataclass(kind):
                rebuild_dataclass(kind, _types_namespace=names)
            else:
                kind.model_rebuild(_types_namespace=names)
        except Exception as error:
            raise _unreadable(kind, error) from error
    for name, info in kind.__pydantic_fields__.items():
        default = None if info.is_required() else _default(info)
        yield _field(name, info.annotation, info.is_required(), default, info.metadata)


def _default(info: Any) -> Default:
    return lambda before: info.get_default(call_default_factory=True, validated_data=before)
