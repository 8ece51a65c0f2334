"""How plain data travels to workers and back."""

from __future__ import annotations

import copyreg
import io
import pickle
from types import MappingProxyType
from typing import Any


def _read_only(mapping: MappingProxyType[Any, Any]) -> tuple[Any, ...]:
    return (MappingProxyType, (dict(mapping),))


_TABLE = copyreg.dispatch_table.copy()
_TABLE[MappingProxyType] = _read_only


def pack(data: Any) -> bytes:
    """Give plain data as bytes.

    Args:
        data: texts, numbers, containers, and values of classes that others can import.

    Raises:
        Exception: something in it cannot travel.
    """
    packed = io.BytesIO()
    pickler = pickle.Pickler(packed, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = _TABLE
    pickler.dump(data)
    return packed.getvalue()


def unpack(packed: bytes) -> Any:
    """Give what was packed, by this program and a moment ago: never what comes from a file.

    Args:
        packed: the bytes.
    """
    return pickle.loads(packed)
