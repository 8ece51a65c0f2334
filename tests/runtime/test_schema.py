"""A graph's keys can be read from a class, and what is written to a key with a type is checked against it."""

import asyncio
import collections.abc
import dataclasses
import datetime
import enum
import functools
import operator
import subprocess
import sys
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Generic, Literal, NamedTuple, NotRequired, Optional, Required, TypeVar

import pydantic
import pytest
import schemas
import typing_extensions
from loopgraph import single

from diagnosis.runtime import (
    END,
    START,
    Append,
    CompiledGraph,
    Custom,
    DefinitionError,
    Effect,
    EffectError,
    FrozenDict,
    FrozenError,
    History,
    InputError,
    Merge,
    MergeError,
    Remove,
    Replace,
    ReplaceAll,
    ReportError,
    StateGraph,
    Strategy,
    register_immutable,
)


class Colour(enum.Enum):
    RED = "red"


class Mood(enum.StrEnum):
    GOOD = "good"


class Card(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True)
    title: str
    tags: list[str] = []


class RedCard(Card):
    pass


@dataclasses.dataclass(frozen=True)
class Box:
    items: list[int]


@dataclasses.dataclass(frozen=True)
class RedBox(Box):
    pass


class Pair(NamedTuple):
    name: str
    marks: list[int]


class Profile(typing.TypedDict):
    name: str
    age: NotRequired[int]


@register_immutable
class Token:
    pass


class State(typing.TypedDict):
    count: int
    messages: Annotated[list[str], Append()]
    facts: Annotated[dict[str, int], Merge()]
    total: Annotated[int, operator.add]


def keys_of(schema: Any) -> dict[str, Strategy]:
    return dict(StateGraph(schema).definition().keys)


def graph_of(schema: Any, *actions: Callable[..., Any], **node: Any) -> CompiledGraph:
    graph = StateGraph(schema, name="typed")
    names = [f"n{i}" for i in range(len(actions))]
    for name, action in zip(names, actions, strict=True):
        graph.add_node(name, action, **node)
    for source, target in zip([START, *names], [*names, END], strict=True):
        graph.add_edge(source, target)
    return graph.compile()


def writing(**update: Any) -> Callable[..., Any]:
    return lambda state: update


def writing_later(**update: Any) -> Callable[..., Any]:
    async def action(state: Mapping[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(0)
        return update

    return action


def written(strategy: Strategy, value: Any) -> Any:
    return single(writing(key=value), {"key": strategy}).run().state["key"]


def refused(strategy: Strategy, value: Any) -> str:
    """Why a write is refused, after it has been checked that the error names the node and the key."""
    with pytest.raises(ReportError) as caught:
        written(strategy, value)
    where = "node 'only' wrote 'key': "
    assert caught.value.node == "only"
    assert str(caught.value).startswith(where)
    return str(caught.value).removeprefix(where)


def unfit(schema: Any) -> str:
    with pytest.raises(DefinitionError) as caught:
        StateGraph(schema)
    return str(caught.value)


# --- what the keys are ---


def test_a_typed_dict_gives_keys_strategies_and_types_in_order() -> None:
    keys = keys_of(State)
    assert [(key, type(strategy), strategy.type) for key, strategy in keys.items()] == [
        ("count", Replace, int),
        ("messages", Append, list[str]),
        ("facts", Merge, dict[str, int]),
        ("total", Custom, int),
    ]
    assert [strategy.initial for strategy in keys.values()] == [None, [], {}, 0]


def test_a_model_gives_its_defaults_as_initial_values() -> None:
    class Model(pydantic.BaseModel):
        needed: int
        count: int = 3
        messages: Annotated[list[str], Append()] = ["hello"]
        facts: Annotated[dict[str, int], Merge()] = pydantic.Field(default_factory=lambda: {"a": 1})
        more: Annotated[list[int], operator.add] = pydantic.Field(default_factory=lambda data: [data["count"]])
        nothing: int = None  # type: ignore[assignment]
        _private: int = 4
        shared: typing.ClassVar[int] = 5

    run = graph_of(Model, writing(needed=1, messages=["you"], facts={"b": 2}, more=[4])).run()
    assert run.states[0] == {
        "needed": None,
        "count": 3,
        "messages": ["hello"],
        "facts": {"a": 1},
        "more": [3],
        "nothing": None,
    }
    assert run.state == {
        "needed": 1,
        "count": 3,
        "messages": ["hello", "you"],
        "facts": {"a": 1, "b": 2},
        "more": [3, 4],
        "nothing": None,
    }


@pytest.mark.parametrize("model", [False, True])
def test_dataclasses_are_schemas_too(model: bool) -> None:
    kind = pydantic.dataclasses.dataclass(schemas.Plan) if model else schemas.Plan
    keys = keys_of(kind)
    assert [(key, type(strategy), strategy.initial) for key, strategy in keys.items()] == [
        ("steps", Append, []),
        ("tries", Replace, 0),
        ("extra", Replace, {"a": [1]}),
    ]
    assert keys["steps"].type == list[str]


def test_annotations_that_are_texts_are_read() -> None:
    run = graph_of(schemas.Talk, writing(messages=[{"role": "user"}], total=2)).run()
    assert run.state == {"messages": [{"role": "user"}], "total": 2}
    with pytest.raises(ReportError) as caught:
        graph_of(schemas.Talk, writing(messages=[{"role": "user"}, {"text": "x"}])).run()
    assert str(caught.value) == (
        "node 'n0' wrote 'messages': [1]['role'] is missing, found dict {'text': 'x'}; allowed: list[Message]"
    )


def test_schemas_inherit_fields() -> None:
    assert list(keys_of(schemas.LongTalk)) == ["messages", "total", "notes", "last"]
    assert type(keys_of(schemas.LongTalk)["notes"]) is Merge
    assert keys_of(schemas.LongTalk)["last"].type == schemas.Message | None
    keys = keys_of(schemas.Named)
    assert [(key, strategy.initial) for key, strategy in keys.items()] == [("count", 5), ("tags", []), ("name", None)]
    assert keys["tags"].unique  # type: ignore[attr-defined]

    @dataclasses.dataclass
    class More(schemas.Plan):
        last: str = ""

    assert list(keys_of(More)) == ["steps", "tries", "extra", "last"]


def test_wrappers_around_a_type_are_no_part_of_it() -> None:
    class Wrapped(typing_extensions.TypedDict, total=False):
        a: Required[int]
        b: NotRequired[Annotated[list[str], Append]]
        c: Annotated[NotRequired[int], Replace(initial=3)]
        d: typing_extensions.ReadOnly[int]

    keys = keys_of(Wrapped)
    assert [(type(strategy), strategy.type, strategy.initial) for strategy in keys.values()] == [
        (Replace, int, None),
        (Append, list[str], []),
        (Replace, int, 3),
        (Replace, int, None),
    ]


def test_a_class_inside_a_function_sees_the_names_of_that_function() -> None:
    class Note(typing.TypedDict):
        text: "str"

    class Local(typing.TypedDict):
        note: "Note"
        notes: "Annotated[list[Note], Append()]"

    class Model(pydantic.BaseModel):
        card: "LateCard | None" = None

    class LateCard(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(frozen=True)

    def inner() -> None:
        assert keys_of(Local)["note"].type is Note
        assert type(keys_of(Local)["notes"]) is Append
        assert keys_of(Model)["card"].type == LateCard | None

    inner()


def test_names_that_cannot_be_found_are_told() -> None:
    def make() -> Any:
        class Note(typing.TypedDict):
            text: str

        class Local(typing.TypedDict):
            note: "Note"

        assert Note
        return Local

    class Model(pydantic.BaseModel):
        note: "Nowhere"  # type: ignore[name-defined]  # noqa: F821

    assert unfit(make()).endswith(
        "<locals>.Local cannot be read: NameError: name 'Note' is not defined; "
        "define or import what they name beside the class, not under TYPE_CHECKING"
    )
    assert "Model cannot be read: PydanticUndefinedAnnotation: name 'Nowhere' is not defined; " in unfit(Model)


def test_a_strategy_keeps_what_it_says_itself() -> None:
    def read(value: Any) -> Any:
        return "read"

    class Own(pydantic.BaseModel):
        a: Annotated[list[Any], Append(type=list[int], read=read)] = [1]
        b: Annotated[int, Replace(initial=7)]
        c: Annotated[int, Custom(merge=max, initial=2)]
        d: Annotated[Any, Replace(read=read)]

    keys = keys_of(Own)
    assert keys["a"].type == list[int]
    assert (keys["a"].initial, keys["a"].read) == ([1], read)
    assert [keys[key].initial for key in "bcd"] == [7, 2, None]
    assert keys["d"].merging() is None
    assert written(keys["c"], 9) == 9


@pytest.mark.parametrize(
    ("kind", "function", "initial", "write", "merged"),
    [
        (list, operator.add, [], ["x"], ["x"]),
        (list[str], operator.iadd, [], ["x"], ["x"]),
        (list, lambda old, new: old + new, [], ["x"], ["x"]),
        (collections.abc.Sequence[str], functools.partial(lambda k, a, b: a + b, 1), [], ["x"], ["x"]),
        (int, operator.add, 0, 3, 3),
        (int, max, 0, 3, 3),
        (str, operator.add, "", "x", "x"),
        (dict[str, int], operator.or_, {}, {"a": 1}, {"a": 1}),
        (set[int], operator.or_, frozenset(), {1}, {1}),
        (int | None, lambda old, new: new if old is None else old + new, None, 3, 3),
        (Colour, lambda old, new: new, None, Colour.RED, Colour.RED),
    ],
)
def test_a_plain_function_merges_from_an_empty_value(
    kind: Any, function: Any, initial: Any, write: Any, merged: Any
) -> None:
    strategy = keys_of(dataclasses.make_dataclass("Made", [("key", Annotated[kind, function])]))["key"]
    assert type(strategy) is Custom
    assert strategy.merge is function
    assert strategy.initial == initial
    assert written(strategy, write) == merged


def test_adding_lists_neither_doubles_nor_changes_the_history() -> None:
    class Talk(typing.TypedDict):
        messages: Annotated[list, operator.add]  # type: ignore[type-arg]
        once: Annotated[list[str], operator.iadd]

    def second(state: Mapping[str, Any]) -> dict[str, Any]:
        with pytest.raises(FrozenError):
            state["messages"].append("x")
        return {"messages": [{"text": "b"}], "once": ["d"]}

    graph = graph_of(Talk, writing_later(messages=[{"text": "a"}], once=["c"]), second)
    for _ in range(2):
        run = asyncio.run(graph.arun())
        assert [state["messages"] for state in run.states] == [[], [{"text": "a"}], [{"text": "a"}, {"text": "b"}]]
        assert [state["once"] for state in run.states] == [[], ["c"], ["c", "d"]]


def test_adding_a_list_to_itself_is_refused() -> None:
    class Talk(typing.TypedDict):
        messages: Annotated[list[str], operator.add]

    with pytest.raises(ReportError) as caught:
        graph_of(Talk, writing(messages=["a"]), lambda state: dict(state)).run()
    assert str(caught.value) == (
        "node 'n1' wrote 'messages': the update hands back the list it was given, which would double it; "
        "return new elements only"
    )


def test_notes_that_are_no_strategies_are_left_to_pydantic() -> None:
    class Positive:
        def __call__(self, value: int) -> bool:
            return value > 0

    class Noted(pydantic.BaseModel):
        a: Annotated[int, "words", Positive(), pydantic.Field(gt=1)] = 3
        b: int = pydantic.Field(default=4, lt=9)
        c: Annotated[list[str], Append(), pydantic.Field(max_length=2), Colour, str]

    keys = keys_of(Noted)
    assert refused(keys["a"], 1) == "must be greater than 1, found int 1; allowed: int"
    assert refused(keys["b"], 9) == "must be less than 9, found int 9; allowed: int"
    assert refused(keys["c"], ["a"] * 3) == (
        "List must have at most 2 items after validation, not 3, found list ['a', 'a', 'a']; allowed: list[str]"
    )
    assert written(keys["c"], ["a", "b"]) == ["a", "b"]


# --- what is no schema ---


@pytest.mark.parametrize(
    ("annotation", "default", "text"),
    [
        (Annotated[list[str], Append, Replace], ..., "has 2 strategies, "),
        (Annotated[list[str], operator.add, Append()], ..., "has 2 strategies, <built-in function add> and Append("),
        (Annotated[int, lambda new: new], ..., "cannot merge; a merge function takes (old, new)"),
        (Annotated[int, Custom], ..., "Custom needs a function (old, new) -> merged"),
        (Annotated[int, Replace(initial=1)], 2, "has a default and, in its strategy, an initial value; keep one"),
        (int, "3", "the initial value: must be a valid integer, found str '3'; allowed: int"),
        (int, True, "the initial value: must be a valid integer, found bool True; allowed: int"),
        (Annotated[list[str], Append()], [1], "the initial value: [0] must be a valid string, found int 1; allowed: "),
        (Annotated[list[str], Append()], "ab", "an Append key takes a list of new elements, not str"),
        (Annotated[dict[str, int], Merge], {"a": "b"}, "the initial value: ['a'] must be a valid integer, found str"),
        (Annotated[int, operator.add], "b", "the initial value: must be a valid integer, found str 'b'"),
        (Any, object(), "a value of type builtins.object cannot be made read-only"),
        (Any, Remove(1), "Remove(1) is a marker"),
    ],
)
def test_a_field_that_makes_no_key_is_named(annotation: Any, default: Any, text: str) -> None:
    made = pydantic.create_model("Made", key=(annotation, default))
    assert unfit(made).startswith("field 'key' of Made: ")
    assert text in unfit(made)


def test_a_default_factory_that_raises_is_named() -> None:
    class Failing(pydantic.BaseModel):
        key: int = pydantic.Field(default_factory=lambda: 1 // 0)

    assert unfit(Failing).endswith("Failing: its default: ZeroDivisionError: integer division or modulo by zero")


T = TypeVar("T")


class Generic1(typing_extensions.TypedDict, Generic[T]):
    key: T


@pytest.mark.parametrize(("schema", "name"), [(int, "int"), (Token, "Token"), (list[int], "list")])
def test_another_class_is_no_schema(schema: Any, name: str) -> None:
    assert unfit(schema) == (
        f"the class {name} is no state schema; the keys of a graph are read from a pydantic model, a TypedDict or "
        "a dataclass, or are a mapping from key to strategy"
    )


def test_a_schema_with_parameters_is_refused_and_without_them_is_read() -> None:
    assert "is no state schema" in unfit(Generic1[int])
    assert list(keys_of(Generic1)) == ["key"]
    assert unfit(5) == "the keys of a graph are a mapping from key to strategy, names, or a schema class; found 5"


def test_an_enumeration_of_names_is_still_one() -> None:
    assert list(keys_of(Mood)) == ["good"]


def test_a_type_whose_annotations_cannot_be_read_is_refused() -> None:
    class Lost(typing.TypedDict):
        note: "Nowhere"  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(DefinitionError, match=r"^the annotations of .*Lost cannot be read: NameError: name 'Nowhere'"):
        Replace(type=list[Lost])


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (3, "the type 3 cannot be checked: ArbitraryTypeWarning: 3 is not a Python type"),
        ("Nowhere", "the type Nowhere cannot be checked: "),
        (list["Nowhere"], "the type list[Nowhere] cannot be checked: "),  # type: ignore[name-defined]  # noqa: F821
    ],
)
def test_a_type_that_cannot_be_checked_is_refused_where_it_is_given(kind: Any, text: str) -> None:
    for strategy in (Replace, Append, Merge):
        with pytest.raises(DefinitionError) as caught:
            strategy(type=kind)
        assert str(caught.value).startswith(text)


# --- what is checked ---

FITS: list[tuple[Any, Any]] = [
    (int, 3),
    (float, 3),
    (float, 2.5),
    (str, "a"),
    (bool, True),
    (list, [1, "a"]),
    (list[str], ["a"]),
    (list[list[int]], [[1], []]),
    (typing.List[int], [1]),  # noqa: UP006
    (dict[str, int], {"a": 1}),
    (dict[str, list[dict[str, int]]], {"a": [{"b": 1}]}),
    (collections.abc.Mapping[str, int], {"a": 1}),
    (collections.abc.Sequence[str], ["a"]),
    (tuple[int, ...], (1, 2)),
    (tuple[int, list[str]], (1, ["a"])),
    (set[int], {1}),
    (set, {1}),
    (typing.Set[int], {1}),  # noqa: UP006
    (frozenset[int], frozenset({1})),
    (dict[str, set[int]], {"a": {1}}),
    (bytearray, bytearray(b"x")),
    (int | str, "a"),
    (Optional[int], None),  # noqa: UP045
    (int | None, None),
    (list[int] | None, [1]),
    (None | Literal["a", 1], 1),
    (Literal[True, "a"], True),
    (Literal[Colour.RED], Colour.RED),
    (Literal[1] | bool, True),
    (Colour, Colour.RED),
    (Mood, Mood.GOOD),
    (Card, Card(title="a", tags=["b"])),
    (Card, RedCard(title="a")),
    (list[Card], [Card(title="a")]),
    (Card | dict[str, str], {"title": "a"}),
    (Box, Box([1])),
    (Box, RedBox([1])),
    (Pair, Pair("a", [1])),
    (Profile, {"name": "a"}),
    (list[Profile], [{"name": "a", "age": 1}]),
    (schemas.LongTalk, {"messages": [], "total": 1, "notes": {}, "last": None}),
    (Token, Token()),
    (datetime.date, datetime.date(2024, 1, 1)),
    (type[int], int),
    (typing.NewType("Name", str), "a"),
    (Any, [1]),
    (object, [1]),
    (None, [1]),
]

UNFIT: list[tuple[Any, Any, str]] = [
    (int, "1", "must be a valid integer, found str '1'; allowed: int"),
    (int, True, "must be a valid integer, found bool True; allowed: int"),
    (int, 1.0, "must be a valid integer, found float 1.0; allowed: int"),
    (int, None, "must be a valid integer, found None; allowed: int"),
    (float, True, "must be a valid number, found bool True; allowed: float"),
    (str, 1, "must be a valid string, found int 1; allowed: str"),
    (str, b"x", "must be a valid string, found bytes b'x'; allowed: str"),
    (bool, 1, "must be a valid boolean, found int 1; allowed: bool"),
    (list[str], "ab", "must be a valid list, found str 'ab'; allowed: list[str]"),
    (list[str], ["a", 3], "[1] must be a valid string, found int 3; allowed: list[str]"),
    (list[str], ("a",), "must be a valid list, found tuple ('a',); allowed: list[str]"),
    (tuple[int, ...], [1], "must be a valid tuple, found list [1]; allowed: tuple[int, ...]"),
    (set[int], {"a"}, "must be a valid integer, found str 'a'; allowed: set[int]"),
    (set[int], [1], "must be a valid frozenset, found list [1]; allowed: set[int]"),
    (dict[str, int], {"a": "b"}, "['a'] must be a valid integer, found str 'b'; allowed: dict[str, int]"),
    (dict[str, int], {3: 1}, "the key at [3] must be a valid string, found int 3; allowed: dict[str, int]"),
    (
        dict[str, list[dict[str, int]]],
        {"a": [{"b": 1}, {"c": None}]},
        "['a'][1]['c'] must be a valid integer, found None; allowed: dict[str, list[dict[str, int]]]",
    ),
    (Optional[int], "a", "must be a valid integer, found str 'a'; allowed: int | None"),  # noqa: UP045
    (int | str, 2.5, "must be a valid integer, found float 2.5; allowed: int | str"),
    (list[int] | str, ["a"], "[0] must be a valid integer, found str 'a'; allowed: list[int] | str"),
    (Literal["a", "b"], "c", "must be 'a' or 'b', found str 'c'; allowed: Literal['a', 'b']"),
    (Literal[1], True, "must be 1, found bool True; allowed: Literal[1]"),
    (
        list[Literal["good"]],
        [Mood.GOOD],
        "[0] must be 'good', found Mood <Mood.GOOD: 'good'>; allowed: list[Literal['good']]",
    ),
    (Colour, "red", "must be an instance of Colour, found str 'red'; allowed: Colour"),
    (Mood, "good", "must be an instance of Mood, found str 'good'; allowed: Mood"),
    (Card, {"title": "a"}, "must be an instance of Card, found dict {'title': 'a'}; allowed: Card"),
    (Box, Card(title="a"), "must be an instance of Box, found Card Card(title='a', tags=[]); allowed: Box"),
    (Pair, Pair("a", ["b"]), ".marks[0] must be a valid integer, found str 'b'; allowed: Pair"),  # type: ignore[list-item]
    (Profile, {"name": 1}, "['name'] must be a valid string, found int 1; allowed: Profile"),
    (Profile, {"age": 1}, "['name'] is missing, found dict {'age': 1}; allowed: Profile"),
    (
        list[Profile],
        [{"name": "a", "age": "1"}],
        "[0]['age'] must be a valid integer, found str '1'; allowed: list[Profile]",
    ),
    (Token, 1, "must be an instance of Token, found int 1; allowed: Token"),
    (collections.abc.Callable[[int], str], 1, "must be callable, found int 1; allowed: Callable[[int], str]"),
    (
        datetime.date,
        datetime.datetime(2024, 1, 1),
        "must be a valid date, found datetime datetime.datetime(2024, 1, 1, 0, 0); allowed: date",
    ),
    (list[int], "x" * 99, f"must be a valid list, found str '{'x' * 76}...; allowed: list[int]"),
    (
        Annotated[int, pydantic.AfterValidator(lambda value: 1 // 0)],
        1,
        "its type cannot be checked: ZeroDivisionError: integer division or modulo by zero; allowed: int",
    ),
    (
        dict[str, Annotated[str, pydantic.AfterValidator(lambda value: operator.index(value or int("none")))]],
        {"a": ""},
        "['a']: Value error, invalid literal for int() with base 10: 'none', found str ''; allowed: dict[str, str]",
    ),
]


@pytest.mark.parametrize(("kind", "value"), FITS)
def test_a_value_of_the_type_is_taken_as_it_is(kind: Any, value: Any) -> None:
    kept = written(Replace(type=kind), value)
    assert kept == value
    assert kept == written(Replace(), value)
    assert type(kept) is type(written(Replace(), value))
    assert Replace(type=kind, initial=value).initial == value
    assert written(Custom(type=kind, merge=lambda old, new: new), value) == value


@pytest.mark.parametrize(("kind", "value", "text"), UNFIT)
def test_a_value_of_another_type_is_refused_where_it_is_written(kind: Any, value: Any, text: str) -> None:
    assert refused(Replace(type=kind), value) == text
    if value is not None:
        with pytest.raises(DefinitionError) as caught:
            Replace(type=kind, initial=value)
        assert str(caught.value) == f"the initial value: {text}"
        with pytest.raises(InputError) as given:
            single(writing(), {"key": Replace(type=kind)}).run({"key": value})
        assert str(given.value) == f"the input of graph 'single': 'key': {text}"
        assert refused(Custom(type=kind, merge=lambda old, new: new), value) == f"the merged value: {text}"


ELEMENTS: list[tuple[Any, Any, str | None]] = [
    (list[str], ["a"], None),
    (list[str], None, None),
    (list[str], ("a",), None),
    (list[str], [Remove("x"), "a"], None),
    (list[str], Remove("x"), None),
    (list[str], ReplaceAll(["a"]), None),
    (tuple[str, ...], ["a"], None),
    (Annotated[tuple[str, ...], "note"], ["a"], None),
    (tuple, ["a"], None),
    (collections.abc.Sequence[str], ["a"], None),
    (list[Card], [Card(title="a")], None),
    (list[str], ["a", 3], "[1] must be a valid string, found int 3; allowed: list[str]"),
    (list[str], [Remove("x"), "a", 3], "[2] must be a valid string, found int 3; allowed: list[str]"),
    (list[str], ReplaceAll(["a", 3]), "ReplaceAll: [1] must be a valid string, found int 3; allowed: list[str]"),
    (list[str], ReplaceAll("a"), "ReplaceAll takes a list of elements, not str; put it in a list"),
    (list[str], "a", "an Append key takes a list of new elements, not str; put it in a list"),
    (tuple[str, ...], [3], "[0] must be a valid string, found int 3; allowed: tuple[str, ...]"),
    (list[Card], [{"title": "a"}], "[0] must be an instance of Card, found dict {'title': 'a'}; allowed: list[Card]"),
    (str, ["a"], "must be a valid string, found list ['a']; allowed: str"),
]


@pytest.mark.parametrize(("kind", "write", "text"), ELEMENTS)
@pytest.mark.parametrize("unique", [False, True])
def test_of_an_append_key_the_new_elements_are_checked(kind: Any, write: Any, text: str | None, unique: bool) -> None:
    old = [] if kind in (str, list[Card]) else ["x"]
    strategy = Append(type=kind, unique=unique, initial=old or None)
    if text is not None:
        assert refused(strategy, write) == text
    else:
        assert written(strategy, write) == written(Append(unique=unique, initial=old), write)


def test_what_a_refused_write_held_leaves_no_trace() -> None:
    strategy = Append(type=list[str])
    merge, history = strategy.merging(), History(["a"]).extended(("b",))
    with pytest.raises(MergeError):
        merge(history, ("c", 3))
    assert history._items == ["a", "b"]


ENTRIES: list[tuple[Any, Any, str | None]] = [
    (dict[str, int], {"b": 1}, None),
    (dict[str, int], None, None),
    (dict, {1: "x"}, None),
    (Profile, {"age": 1}, None),
    (Profile | None, {"age": 1}, None),
    (Annotated[Profile, "note"], {}, None),
    (Profile | dict[str, int], {"a": 1}, None),
    (Card, {"tags": ["x"]}, None),
    (Box, {"items": [1]}, None),
    (schemas.LongTalk, {"last": {"role": "x"}}, None),
    (dict[str, int], {"b": "c"}, "['b'] must be a valid integer, found str 'c'; allowed: dict[str, int]"),
    (dict[str, int], [1], "a Merge key takes a mapping of entries, not list"),
    (
        Profile,
        {"age": "1"},
        "['age'] must be a valid integer, found str '1'; allowed: Profile with name: str, age: int",
    ),
    (Profile, {"agee": 1}, "['agee'] is no entry, found int 1; allowed: Profile with name: str, age: int"),
    (
        Card,
        {"title": None},
        "['title'] must be a valid string, found None; allowed: Card with title: str, tags: list[str]",
    ),
    (Box, {"items": ["a"]}, "['items'][0] must be a valid integer, found str 'a'; allowed: Box with items: list[int]"),
]


@pytest.mark.parametrize(("kind", "write", "text"), ENTRIES)
def test_of_a_merge_key_the_new_entries_are_checked(kind: Any, write: Any, text: str | None) -> None:
    strategy = Merge(type=kind)
    if text is not None:
        assert refused(strategy, write) == text
        if isinstance(write, dict):
            with pytest.raises(DefinitionError, match=r"^the initial value: "):
                Merge(type=kind, initial=write)
    else:
        assert written(strategy, write) == (write or {})
        assert Merge(type=kind, initial=write).initial == (write or {})


def test_a_model_that_takes_more_fields_takes_more_entries() -> None:
    class Open(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(extra="allow")
        name: str

    assert written(Merge(type=Open), {"more": 1}) == {"more": 1}


def test_of_a_custom_key_the_merged_value_is_checked() -> None:
    strategy = Custom(type=int, initial=0, merge=lambda old, new: old + len(new) if new else str(old))
    assert written(strategy, "abc") == 3
    assert refused(strategy, "") == "the merged value: must be a valid integer, found str '0'; allowed: int"
    forgetful = Custom(type=list[int], initial=[1], merge=lambda old, new: old.extend(new))
    assert refused(forgetful, [2]) == "the merged value: must be a valid list, found None; allowed: list[int]"
    assert written(Custom(type=int, merge=lambda old, new: old), 1) is None


@pytest.mark.parametrize("action", [writing, writing_later])
def test_a_wrong_write_stops_the_run_where_it_stands(action: Callable[..., Any]) -> None:
    graph = graph_of(State, action(count=1, messages=["a"]), action(messages=["b", 3]))
    run = asyncio.run(graph.arun(check=False))
    assert str(run.error) == ("node 'n1' wrote 'messages': [1] must be a valid string, found int 3; allowed: list[str]")
    assert type(run.error) is ReportError
    assert run.path == ("n0",)
    assert run.state == {"count": 1, "messages": ["a"], "facts": {}, "total": 0}
    with pytest.raises(ReportError, match="node 'n1' wrote 'messages': "):
        asyncio.run(graph.arun())


def test_values_of_the_state_are_taken_back() -> None:
    class Copies(typing.TypedDict):
        log: Annotated[list[dict[str, list[int]]], Append()]
        copy: list[dict[str, list[int]]]
        first: dict[str, list[int]]

    def copying(state: Mapping[str, Any]) -> dict[str, Any]:
        assert type(state["log"]) is History
        assert type(state["log"][0]) is FrozenDict
        return {"copy": state["log"], "first": state["log"][0], "log": state["log"][:1]}

    run = graph_of(Copies, writing(log=[{"a": [1]}]), copying).run()
    assert run.state == {"log": [{"a": [1]}] * 2, "copy": [{"a": [1]}], "first": {"a": [1]}}


@pytest.mark.parametrize("where", ["entry", "exit"])
def test_a_wrong_write_of_an_effect_is_named(where: str) -> None:
    effect = Effect("count", lambda state: {"count": "1"}, reads=(), writes="count")
    with pytest.raises(EffectError) as caught:
        graph_of(State, writing(), **{where: effect}).run()
    assert str(caught.value) == (
        "node 'n0', update 'count': MergeError: must be a valid integer, found str '1'; allowed: int"
    )


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"count": "1"}, "'count': must be a valid integer, found str '1'; allowed: int"),
        ({"messages": ["a", 3]}, "'messages': [1] must be a valid string, found int 3; allowed: list[str]"),
        ({"messages": "a"}, "'messages': an Append key takes a list of new elements, not str; put it in a list"),
        ({"facts": {"a": "b"}}, "'facts': ['a'] must be a valid integer, found str 'b'; allowed: dict[str, int]"),
        ({"total": "b"}, "'total': must be a valid integer, found str 'b'; allowed: int"),
    ],
)
def test_a_wrong_input_is_named(given: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError) as caught:
        graph_of(State, writing()).run(given)
    assert str(caught.value) == f"the input of graph 'typed': {text}"


def test_nothing_written_yet_fits_every_type() -> None:
    run = graph_of(State, writing()).run({"count": None, "messages": None, "facts": None, "total": None})
    assert run.state == {"count": None, "messages": [], "facts": {}, "total": None}
    whole = StateGraph(State).add_node("a", writing(), owns=["count"], whole_report=True)
    assert whole.add_edge(START, "a").add_edge("a", END).compile().run({"count": 1}).state["count"] is None


def test_merging_again_what_was_frozen_gives_the_same() -> None:
    for strategy, value in ((Replace(type=list), [1]), (Append(type=list), [1]), (Merge(type=dict), {"a": [1]})):
        merge = strategy.merging()
        assert merge is not None
        frozen = Replace().start(value)
        once = merge(strategy.initial, frozen)
        assert merge(strategy.initial, frozen) == once


def test_a_key_without_a_type_merges_as_before() -> None:
    for kind in (None, Any):
        assert Replace(type=kind).merging() is None
        assert Append(type=kind).merging() is History.extended
        assert Merge(type=kind).merging() is Merge().merging()
    assert keys_of({"a": Replace()}) == {"a": Replace()}
    assert Replace(type=int) == Replace(type=int) != Replace()


def test_pydantic_is_loaded_with_the_first_type() -> None:
    code = (
        "import sys, typing, diagnosis.runtime as r\n"
        "class S(typing.TypedDict):\n    a: typing.Annotated[typing.Any, r.Append()]\n"
        "r.StateGraph(S); r.StateGraph({'a': r.Append(unique=True)})\n"
        "before = 'pydantic' in sys.modules\n"
        "r.Replace(type=int)\n"
        "print(before, 'pydantic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
