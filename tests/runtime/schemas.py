"""State schemas in a module whose annotations are texts."""

from __future__ import annotations

import dataclasses
import operator
from typing import Annotated, Any, NotRequired, Required, TypedDict

import pydantic

from diagnosis.runtime import Append, Merge


class Message(TypedDict):
    role: str
    text: NotRequired[str]


class Talk(TypedDict):
    messages: Annotated[list[Message], Append()]
    total: Annotated[int, operator.add]


class LongTalk(Talk, total=False):
    notes: Required[Annotated[dict[str, int], Merge]]
    last: NotRequired[Message | None]


class Counted(pydantic.BaseModel):
    count: int = 0
    tags: Annotated[list[str], Append(unique=True)] = []


class Named(Counted):
    name: str | None = None
    count: int = 5


@dataclasses.dataclass
class Plan:
    steps: Annotated[list[str], Append]
    tries: int = 0
    extra: dict[str, Any] = dataclasses.field(default_factory=lambda: {"a": [1]})
