"""State schemas: the keys of a graph, read from the fields of a class."""

from __future__ import annotations

import collections.abc
import dataclasses
import functools
import inspect
from collections.abc import Mapping
from typing import Any, get_origin

from diagnosis.runtime.errors import DefinitionError, MergeError, ValueRefusedError, told
from diagnosis.runtime.fields import Field, annotated, fields_of, has_fields
from diagnosis.runtime.strategies import Custom, Replace, Strategy

_EMPTY: Mapping[Any, type] = {
    **{kind: kind for kind in (bool, bytes, complex, dict, float, frozenset, int, list, set, str, tuple)},
    collections.abc.Mapping: dict,
    collections.abc.MutableMapping: dict,
    collections.abc.MutableSequence: list,
    collections.abc.MutableSet: set,
    collections.abc.Sequence: list,
    collections.abc.Set: set,
}
"""The type of a field -> what makes the value that a plain merge function starts from."""


def is_schema(keys: object) -> bool:
    """Tell whether what a graph was given as its keys is a class, which then has to be a schema.

    Args:
        keys: what was given.
    """
    # An enumeration of key names is a class as well, and goes through its members.
    return get_origin(keys) is not None or (isinstance(keys, type) and not isinstance(keys, collections.abc.Iterable))


def keys_of_schema(schema: Any) -> dict[str, Strategy]:
    """Read the keys of a graph from a class.

    A key has the name and the type of a field, and its default as initial value; a default factory is called once.
    ``Annotated[T, strategy]`` gives its strategy: an instance such as ``Append()``, a class such as ``Append``, or a
    plain function ``(old, new) -> merged`` such as ``operator.add``, which starts from an empty value of the type
    where the field has no default. A field without any is a Replace key.

    Args:
        schema: a pydantic model, a TypedDict or a dataclass.

    Returns:
        Key -> strategy, in the order of the fields.

    Raises:
        DefinitionError: the class is of another kind, an annotation cannot be read, a field has two strategies, or a
            default does not fit its type.
    """
    if not has_fields(schema):
        name = getattr(schema, "__qualname__", None) or repr(schema)
        raise DefinitionError(
            f"the class {name} is no state schema; the keys of a graph are read from a pydantic model, a TypedDict or "
            "a dataclass, or are a mapping from key to strategy"
        )
    keys: dict[str, Strategy] = {}
    defaults: dict[str, Any] = {}
    for field in fields_of(schema):
        try:
            if field.default is not None:
                defaults[field.name] = field.default(defaults)
            keys[field.name] = _strategy(field, defaults)
        except Exception as error:
            known = isinstance(error, DefinitionError | MergeError | ValueRefusedError)
            raise DefinitionError(
                f"field {field.name!r} of {schema.__qualname__}: {error if known else f'its default: {told(error)}'}"
            ) from error
    return keys


def _strategy(field: Field, defaults: Mapping[str, Any]) -> Strategy:
    found = [(note, strategy) for note in field.notes if (strategy := _noted(note)) is not None]
    if len(found) > 1:
        raise DefinitionError(f"has {len(found)} strategies, {' and '.join(repr(note) for note, _ in found)}; keep one")
    note, strategy = found[0] if found else (None, Replace())
    changes: dict[str, Any] = {}
    if strategy.type is None:
        changes["type"] = annotated(field.type, [other for other in field.notes if other is not note])
    if field.name in defaults:
        if strategy.initial != strategy.start(None):
            raise DefinitionError("has a default and, in its strategy, an initial value; keep one")
        changes["initial"] = defaults[field.name]
    elif isinstance(strategy, Custom) and strategy is not note:
        empty = _EMPTY.get(get_origin(field.type) or field.type)
        changes["initial"] = None if empty is None else empty()
    return dataclasses.replace(strategy, **changes)


def _noted(note: Any) -> Strategy | None:
    """Give the strategy that a note beside a type stands for, if any."""
    if isinstance(note, Strategy):
        return note
    if isinstance(note, type):
        return note() if issubclass(note, Strategy) else None
    if not callable(note):
        return None
    function = inspect.isroutine(note) or isinstance(note, functools.partial)
    try:
        inspect.signature(note).bind(None, None)
    except ValueError:
        # Some functions that are built in, such as max, do not tell what they take.
        return Custom(merge=note) if function else None
    except TypeError:
        if function:
            raise DefinitionError(f"{note!r} cannot merge; a merge function takes (old, new)") from None
        return None
    return Custom(merge=note)
