"""Values in state are deep read-only copies."""

import collections
import copy
import dataclasses
import datetime
import decimal
import enum
import heapq
import pathlib
import pickle
import types
import uuid
from collections.abc import Callable
from typing import Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnosis.runtime import (
    FrozenDict,
    FrozenError,
    FrozenList,
    History,
    ValueRefusedError,
    freeze,
    register_immutable,
    thaw,
)

READ_ONLY = (
    "state is read-only: this {} cannot be changed; "
    "return the new value in the node's update, or take a copy with diagnosis.thaw(value)"
)

atoms = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | st.binary(max_size=5)
)
plain = st.recursive(
    atoms,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=3), inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.sets(st.integers(), max_size=3)
    ),
    max_leaves=20,
)


class Colour(enum.Enum):
    RED = "red"


class Word(str):
    """A text that carries an attribute, and so could change inside a state."""

    note = ""

    def strip(self, chars=None):
        raise RuntimeError("no text at all")


class Count(int):
    pass


class Share(float):
    pass


class Raw(bytes):
    pass


class Wave(complex):
    pass


class Pair(collections.namedtuple("Pair", "left right")):
    __slots__ = ()


class Triple(tuple[Any, ...]):
    __slots__ = ()


@dataclasses.dataclass(frozen=True)
class Box:
    inside: Any
    label: str = "box"


@dataclasses.dataclass(frozen=True, slots=True)
class SlotBox:
    inside: Any
    label: str = "box"


@dataclasses.dataclass
class OpenBox:
    inside: Any


class Card(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True, extra="allow")
    tags: Any = ()


class OpenCard(pydantic.BaseModel):
    tags: Any = ()


@given(plain)
def test_thawing_a_frozen_value_gives_an_equal_value(value: Any) -> None:
    assert thaw(freeze(value)) == value


@given(plain)
def test_a_frozen_value_compares_as_the_value_it_was_made_from(value: Any) -> None:
    frozen = freeze(value)
    assert frozen == value
    assert value == frozen
    assert (frozen != value) is False


@given(plain)
def test_a_frozen_value_is_not_copied_again(value: Any) -> None:
    frozen = freeze(value)
    again = freeze(frozen)
    assert again == frozen
    if isinstance(frozen, FrozenDict | FrozenList | str | int):
        assert again is frozen


@given(plain)
def test_thawing_leaves_nothing_read_only(value: Any) -> None:
    def look(found: Any) -> None:
        assert not isinstance(found, FrozenDict | FrozenList | History)
        if isinstance(found, dict):
            for item in found.values():
                look(item)
        elif isinstance(found, list | tuple):
            for item in found:
                look(item)

    look(thaw(freeze(value)))


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        2.5,
        1j,
        "text",
        b"bytes",
        range(3),
        Colour.RED,
        datetime.date(2024, 1, 1),
        datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC),
        datetime.UTC,
        decimal.Decimal("1.5"),
        pathlib.PurePosixPath("/a"),
        uuid.UUID(int=1),
        int,
        frozenset(),
    ],
)
def test_what_cannot_change_is_kept_as_it_is(value: object) -> None:
    assert freeze(value) is value or freeze(value) == value
    assert type(freeze(value)) is type(value)
    assert type(freeze([value])[0]) is type(value)


def test_every_kind_of_container_is_frozen_inside() -> None:
    assert type(freeze([[]])[0]) is FrozenList
    assert type(freeze({"a": {}})["a"]) is FrozenDict
    assert type(freeze(([],))[0]) is FrozenList
    assert type(freeze(collections.OrderedDict(a=[]))) is FrozenDict
    assert type(freeze(types.MappingProxyType({"a": []}))["a"]) is FrozenList
    assert type(freeze(collections.UserDict(a=[]))["a"]) is FrozenList
    assert freeze({(1, 2): [3]}) == {(1, 2): [3]}
    assert freeze({1, 2}) == frozenset({1, 2})
    assert type(freeze({1})) is frozenset
    assert freeze(bytearray(b"x")) == b"x"
    assert freeze(memoryview(b"x")) == b"x"

    class Special(list[Any]):
        pass

    assert type(freeze(Special([[1]]))) is FrozenList
    assert type(freeze(Special([[1]]))[0]) is FrozenList


def test_named_tuples_keep_their_type() -> None:
    pair = freeze(Pair([1], {"a": [2]}))
    assert type(pair) is Pair
    assert type(pair.left) is FrozenList
    assert type(pair.right["a"]) is FrozenList
    assert type(freeze(Triple(([1],)))) is Triple


@pytest.mark.parametrize("kind", [Box, SlotBox])
def test_frozen_dataclasses_are_copied_only_where_something_inside_can_change(kind: Any) -> None:
    same = kind((1, "a"))
    assert freeze(same) == same
    inner: list[int] = [1]
    box = freeze(kind(inner))
    assert type(box) is kind
    inner.append(2)
    assert box.inside == [1]
    assert box.label == "box"
    assert freeze(kind(3)) == kind(3)
    atoms_only = kind(3)
    assert freeze(atoms_only) is atoms_only


def test_frozen_pydantic_models_are_copied_with_their_extra_fields() -> None:
    tags, more = ["a"], ["b"]
    card = freeze(Card(tags=tags, more=more))
    tags.append("x")
    more.append("x")
    assert type(card) is Card
    assert card.tags == ["a"]
    assert card.more == ["b"]
    with pytest.raises(FrozenError):
        card.more.append("x")
    assert card.model_fields_set == {"tags", "more"}
    plain_card = Card(tags="a")
    assert freeze(plain_card) is plain_card


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (object(), "builtins.object cannot"),
        ([object()], "builtins.object at [0] cannot"),
        ({"a": [1, {"b": (2, object())}]}, "builtins.object at ['a'][1]['b'][1] cannot"),
        (Box([object()]), "builtins.object at .inside[0] cannot"),
        (Card(tags=[object()]), "builtins.object at .tags[0] cannot"),
        ({OpenBox}, None),
        (frozenset({lambda: 1}), "function at {...} cannot"),
        (OpenBox(1), "OpenBox cannot"),
        (OpenCard(), "OpenCard cannot"),
        ([iter(())], "tuple_iterator at [0] cannot"),
    ],
)
def test_a_refused_value_is_named_with_its_place(value: Any, told: str | None) -> None:
    if told is None:
        assert freeze(value) == value
        return
    with pytest.raises(ValueRefusedError) as caught:
        freeze(value)
    assert told in str(caught.value)
    assert str(caught.value).endswith(
        "made read-only; state holds texts, numbers, dates, enumeration members, mappings, lists, tuples, sets, frozen "
        "dataclasses and frozen pydantic models: return one of these, or name the type with "
        "diagnosis.register_immutable if its objects never change"
    )
    assert caught.value.__cause__ is None


def test_a_key_that_can_change_is_refused() -> None:
    class Key:
        pass

    with pytest.raises(ValueRefusedError, match="Key at "):
        freeze({Key(): 1})


def test_values_that_hold_themselves_are_refused() -> None:
    ring: list[Any] = []
    ring.append(ring)
    knot: dict[str, Any] = {}
    knot["a"] = [knot]
    for value in (ring, knot, {"x": ring}):
        with pytest.raises(ValueRefusedError, match="nested too deeply or contains itself"):
            freeze(value)


def test_deep_values_are_kept_and_far_too_deep_ones_refused() -> None:
    def nested(depth: int) -> Any:
        value: Any = 1
        for _ in range(depth):
            value = [value]
        return value

    assert freeze(nested(100)) == nested(100)
    with pytest.raises(ValueRefusedError, match="nested too deeply"):
        freeze(nested(100_000))


def test_a_registered_type_is_kept_as_it_is() -> None:
    @register_immutable
    class Token:
        pass

    token = Token()
    assert freeze(token) is token
    assert freeze({"a": [token]})["a"][0] is token


def test_later_changes_to_what_was_frozen_change_nothing() -> None:
    inner: dict[str, Any] = {"list": [1], "dict": {"a": 1}}
    frozen = freeze(inner)
    inner["list"].append(2)
    inner["dict"]["b"] = 2
    inner["new"] = 1
    assert frozen == {"list": [1], "dict": {"a": 1}}


LIST_CHANGES: list[Callable[[Any], Any]] = [
    lambda x: x.append(1),
    lambda x: x.extend([1]),
    lambda x: x.insert(0, 1),
    lambda x: x.remove(1),
    lambda x: x.pop(),
    lambda x: x.clear(),
    lambda x: x.sort(),
    lambda x: x.reverse(),
    lambda x: x.__setitem__(0, 1),
    lambda x: x.__delitem__(0),
    lambda x: x.__iadd__([1]),
    lambda x: x.__imul__(2),
]
DICT_CHANGES: list[Callable[[Any], Any]] = [
    lambda x: x.__setitem__("a", 1),
    lambda x: x.__delitem__("a"),
    lambda x: x.__ior__({"b": 1}),
    lambda x: x.update(b=1),
    lambda x: x.setdefault("b", 1),
    lambda x: x.pop("a"),
    lambda x: x.popitem(),
    lambda x: x.clear(),
    lambda x: x.__init__({"b": 1}),
]


@pytest.mark.parametrize("change", LIST_CHANGES)
def test_no_list_method_changes_a_frozen_list(change: Callable[[Any], Any]) -> None:
    value = freeze([3, 1, 2])
    with pytest.raises(FrozenError) as caught:
        change(value)
    assert str(caught.value) == READ_ONLY.format("FrozenList")
    assert value == [3, 1, 2]


@pytest.mark.parametrize("change", [c for i, c in enumerate(LIST_CHANGES) if i != 1] + [lambda x: x.__init__([1])])
def test_no_list_method_changes_a_history(change: Callable[[Any], Any]) -> None:
    value = History([3, 1, 2])
    with pytest.raises(FrozenError) as caught:
        change(value)
    assert str(caught.value) == READ_ONLY.format("History")
    assert value == [3, 1, 2]


@pytest.mark.parametrize("change", DICT_CHANGES)
def test_no_dict_method_changes_a_frozen_dict(change: Callable[[Any], Any]) -> None:
    value = freeze({"a": 1})
    with pytest.raises(FrozenError) as caught:
        change(value)
    assert str(caught.value) == READ_ONLY.format("FrozenDict")
    assert value == {"a": 1}


def test_a_heap_cannot_be_pushed_into_state() -> None:
    for value in (freeze([1, 2]), History([1, 2])):
        with pytest.raises(TypeError):
            heapq.heappush(value, 0)
        assert value == [1, 2]


def test_a_frozen_list_reads_as_a_list() -> None:
    value = freeze([1, 2, 3])
    assert value[0] == 1
    assert value[-1] == 3
    assert value[1:] == [2, 3]
    assert type(value[1:]) is FrozenList
    assert value + [4] == [1, 2, 3, 4]  # noqa: RUF005
    assert [0] + value == [0, 1, 2, 3]  # noqa: RUF005
    assert type(value + [4]) is list  # noqa: RUF005
    assert value.copy() == [1, 2, 3]
    assert type(value.copy()) is list
    assert repr(value) == "[1, 2, 3]"
    assert value != [1, 2]
    assert value != [1, 2, 4]
    assert value != "123"
    assert value == (1, 2, 3)
    assert hash(value) == hash(freeze([1, 2, 3]))
    assert value.index(2) == 1


def test_a_history_reads_as_a_list() -> None:
    value = History([1, 2, 3])
    assert len(value) == 3
    assert list(value) == [1, 2, 3]
    assert value[0] == 1
    assert value[-1] == 3
    assert value[1:] == [2, 3]
    assert type(value[1:]) is FrozenList
    assert value + [4] == [1, 2, 3, 4]  # noqa: RUF005
    assert [0] + value == [0, 1, 2, 3]  # noqa: RUF005
    assert value.copy() == [1, 2, 3]
    assert repr(value) == "[1, 2, 3]"
    assert value == (1, 2, 3)
    assert value == History([1, 2, 3])
    assert value == freeze([1, 2, 3])
    assert freeze([1, 2, 3]) == value
    assert value != [1, 2]
    assert value != 5
    assert hash(value) == hash(History([1, 2, 3]))
    assert 2 in value
    assert value.index(3) == 2
    assert list(reversed(value)) == [3, 2, 1]
    for index in (3, -4):
        with pytest.raises(IndexError, match="history index out of range"):
            value[index]
    with pytest.raises(TypeError):
        value["a"]


def test_copies_of_frozen_values_are_themselves_and_deep_copies_are_plain() -> None:
    for value, kind in ((freeze([[1]]), list), (freeze({"a": [1]}), dict), (History([[1]]), list)):
        assert copy.copy(value) is value
        deep = copy.deepcopy(value)
        assert type(deep) is kind
        assert deep == value


def test_frozen_values_survive_pickling() -> None:
    for value in (freeze([[1]]), freeze({"a": [1]}), History([[1]])):
        back = pickle.loads(pickle.dumps(value))
        assert type(back) is type(value)
        assert back == value
        assert type(back["a"] if isinstance(back, dict) else back[0]) is FrozenList


def test_equal_frozen_dicts_hash_alike() -> None:
    assert hash(freeze({"a": [1], "b": 2})) == hash(freeze({"b": 2, "a": [1]}))
    assert {freeze({"a": 1}): 1}[freeze({"a": 1})] == 1


def test_values_made_by_hand_are_frozen_too() -> None:
    assert type(FrozenDict({"a": [1]})["a"]) is FrozenList
    assert FrozenDict() == {}
    assert type(History([[1]])[0]) is FrozenList


@given(st.lists(st.tuples(st.integers(0, 5), st.lists(st.integers(), max_size=3)), max_size=20))
def test_every_version_of_a_history_stays_as_it_was(growth: list[tuple[int, list[int]]]) -> None:
    versions, shadows = [History([0])], [[0]]
    for chosen, values in growth:
        i = chosen % len(versions)
        versions.append(versions[i].extended(freeze(values)))
        shadows.append([*shadows[i], *values])
        for version, shadow in zip(versions, shadows, strict=True):
            assert version == shadow
            assert list(version) == shadow
            assert len(version) == len(shadow)


def test_appending_to_the_newest_history_copies_nothing() -> None:
    history = History().extended((1,))
    longer = history.extended((2,))
    assert longer._items is history._items
    fork = history.extended((3,))
    assert fork._items is not history._items
    assert (history, longer, fork) == ([1], [1, 2], [1, 3])


def test_a_history_that_runs_start_from_is_never_shared_between_them() -> None:
    start = History([1])
    first, second = start.extended((2,)), start.extended((3,))
    assert first._items is not second._items
    assert (start, first, second) == ([1], [1, 2], [1, 3])


@pytest.mark.parametrize("value", [Word("text"), Count(3), Share(1.5), Raw(b"x"), Wave(1j)])
def test_texts_and_numbers_of_ones_own_class_become_plain(value: Any) -> None:
    frozen = freeze([value, {value: value}])
    plain = type(value).__mro__[1]
    assert type(frozen[0]) is plain
    assert frozen[0] == value
    assert [(type(key), type(item)) for key, item in frozen[1].items()] == [(plain, plain)]
    assert type(freeze(value)) is plain
