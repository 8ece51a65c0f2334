"""What a node may write to an Append key beside new elements: markers that take elements out."""

import asyncio
import dataclasses
import enum
import pickle
from collections.abc import Mapping
from typing import Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from loopgraph import single

from diagnosis.runtime import (
    END,
    START,
    Append,
    Custom,
    Effect,
    EffectError,
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
    ValueRefusedError,
    freeze,
    thaw,
)
from diagnosis.runtime.frozen import Edits


class Colour(enum.StrEnum):
    RED = "red"


@dataclasses.dataclass(frozen=True)
class Box:
    inside: Any
    made: int = dataclasses.field(default=0, compare=False)


class Card(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True)
    tag: Any


def after(old: list[Any], write: Any, **options: Any) -> Any:
    """The history that a node leaves which writes to one with some elements."""
    run = single(lambda state: {"log": write}, {"log": Append(initial=old, **options)}).run()
    return run.state["log"]


def refused(write: Any, strategy: Strategy, kind: type[Exception] = ReportError) -> str:
    with pytest.raises(kind) as caught:
        single(lambda state: {"log": write}, {"log": strategy}).run()
    return str(caught.value)


@pytest.mark.parametrize(
    ("old", "write", "new"),
    [
        (["a", "b", "a"], Remove("a"), ["b", "a"]),
        (["a", "b", "a"], [Remove("a"), Remove("a")], ["b"]),
        (["a", "b"], [Remove("a"), "c"], ["b", "c"]),
        (["a", "b"], ["c", Remove("a"), "d", Remove("b"), "e"], ["c", "d", "e"]),
        (["a", "b"], ["a", Remove("a")], ["b", "a"]),
        (["a"], (Remove("a"), "b"), ["b"]),
        ([{"id": 1, "tags": ["x"]}, "b"], Remove({"tags": ["x"], "id": 1}), ["b"]),
        ([[1, [2]], 3], Remove([1, [2]]), [3]),
        ([None, 1], Remove(None), [1]),
        ([True, 1.0, 1], Remove(1), [True, 1.0]),
        ([Card(tag=1), Box([1])], [Remove(Box([1], made=7)), Remove(Card(tag=1))], []),
        (["a", "b"], ReplaceAll([]), []),
        (["a", "b"], ReplaceAll(["c"]), ["c"]),
        (["a", "b"], ReplaceAll(("a", {"x": [1]})), ["a", {"x": [1]}]),
        (["a"], None, ["a"]),
        (["a"], [], ["a"]),
    ],
)
def test_markers_act_on_the_old_history_and_new_elements_follow(old: Any, write: Any, new: Any) -> None:
    assert after(old, write) == new


def test_a_history_can_be_replaced_by_a_part_of_itself() -> None:
    keys = {"log": Append(initial=["a", "b", "c"])}
    assert single(lambda state: {"log": ReplaceAll(state["log"][-2:])}, keys).run().state["log"] == ["b", "c"]
    assert single(lambda state: {"log": ReplaceAll(state["log"])}, keys).run().state["log"] == ["a", "b", "c"]
    assert single(lambda state: {"log": [Remove(state["log"][0])]}, keys).run().state["log"] == ["b", "c"]


def graph_of(*writes: Any, **options: Any) -> Any:
    graph = StateGraph({"log": Append(**options)}, name="writes")
    names = [f"n{i}" for i in range(len(writes))]
    for name, write in zip(names, writes, strict=True):

        async def action(state: Mapping[str, Any], write: Any = write) -> dict[str, Any]:
            await asyncio.sleep(0)
            return {"log": write}

        graph.add_node(name, action)
    for source, target in zip([START, *names], [*names, END], strict=True):
        graph.add_edge(source, target)
    return graph.compile()


def test_every_state_of_a_run_keeps_the_history_it_had() -> None:
    run = asyncio.run(graph_of(["a", "b"], [Remove("a"), "c"], ReplaceAll(["d"]), ["e"]).arun())
    assert [state["log"] for state in run.states] == [[], ["a", "b"], ["b", "c"], ["d"], ["d", "e"]]
    assert run.reports[1]["log"] == [Remove("a"), "c"]
    assert run.reports[2]["log"] == ReplaceAll(["d"])
    assert all(type(state["log"]) is History for state in run.states)


def test_runs_of_one_graph_share_no_history() -> None:
    graph = graph_of([Remove("a"), "c"], ["d"], initial=["a", "b"])
    for _ in range(3):
        assert asyncio.run(graph.arun()).state["log"] == ["b", "c", "d"]
    assert graph.definition.keys["log"].initial == ["a", "b"]


@pytest.mark.parametrize(
    ("old", "write", "text"),
    [
        (["b"], Remove("a"), "Remove('a') finds no equal element in the history (1 left to take out)"),
        (["a"], ["c", Remove("c")], "Remove('c') finds no equal element in the history (1 left to take out)"),
        (["a"], [Remove("a"), Remove("a")], "Remove('a') finds no equal element in the history (0 left to take out)"),
        ([1, [1]], Remove(True), "Remove(True) finds no equal element in the history (2 left to take out)"),
        (
            [{"a": 1}],
            Remove({"a": 1.0}),
            "Remove({'a': 1.0}) finds no equal element in the history (1 left to take out)",
        ),
    ],
)
def test_removing_what_is_not_there_is_an_error_that_names_it(old: Any, write: Any, text: str) -> None:
    assert refused(write, Append(initial=old)) == (
        f"node 'only' wrote 'log': {text}; a marker acts on what stood there before the write, "
        "and takes out one element"
    )


@pytest.mark.parametrize(
    ("write", "text"),
    [
        (
            ["a", ReplaceAll(["b"])],
            "ReplaceAll stands alone, found in a list; return ReplaceAll([...]) as the whole value of the key",
        ),
        (ReplaceAll("text"), "ReplaceAll takes a list of elements, not str; put it in a list"),
        (ReplaceAll(None), "ReplaceAll takes a list of elements, not NoneType; put it in a list"),
        (ReplaceAll({"a": 1}), "ReplaceAll takes a list of elements, not FrozenDict; put it in a list"),
        ("text", "an Append key takes a list of new elements, not str; put it in a list"),
    ],
)
def test_a_write_of_another_form_is_refused(write: Any, text: str) -> None:
    for unique in (False, True):
        assert refused(write, Append(unique=unique)) == f"node 'only' wrote 'log': {text}"


OWN = "which only a node's write to an Append key may hold; give the value itself"


@pytest.mark.parametrize(
    "strategy",
    [
        Replace(),
        Replace(type=list),
        Merge(),
        Merge(type=dict),
        Custom(merge=lambda old, new: new),
        Custom(merge=lambda old, new: new, type=list),
    ],
    ids=lambda strategy: f"{type(strategy).__name__} {strategy.type}",
)
@pytest.mark.parametrize(
    ("write", "marker"),
    [
        (Remove("a"), "Remove('a')"),
        (["b", Remove("a")], "Remove('a')"),
        (ReplaceAll(["a"]), "ReplaceAll(['a'])"),
        ([ReplaceAll(["a"])], "ReplaceAll(['a'])"),
    ],
)
def test_a_marker_for_a_key_without_a_history_is_refused(strategy: Strategy, write: Any, marker: str) -> None:
    assert refused(write, strategy) == f"node 'only' wrote 'log': {marker} is a marker, {OWN}"


def test_a_marker_in_an_effect_is_taken_or_refused_by_the_same_rules() -> None:
    def graph(strategy: Strategy, write: Any) -> Any:
        tidy = Effect("tidy", lambda state: {"log": write}, reads=(), writes="log")
        return single(lambda state: {}, {"log": strategy}, entry=tidy)

    assert graph(Append(initial=["a", "b"]), Remove("a")).run().state["log"] == ["b"]
    with pytest.raises(EffectError) as caught:
        graph(Replace(), [Remove("a")]).run()
    assert str(caught.value) == (f"node 'only', update 'tidy': MergeError: Remove('a') is a marker, {OWN}")


def test_a_merge_function_cannot_put_a_marker_into_the_state() -> None:
    assert refused(1, Custom(merge=lambda old, new: [Remove(new)])) == (
        f"node 'only' wrote 'log': Remove(1) is a marker, {OWN}"
    )


@pytest.mark.parametrize("strategy", [Replace(), Append(), Append(unique=True), Merge(), Custom(merge=max)])
@pytest.mark.parametrize("value", [Remove(1), [Remove(1)], (1, Remove(1)), ReplaceAll([1]), [1, ReplaceAll([])]])
def test_no_run_starts_with_a_marker(strategy: Strategy, value: Any) -> None:
    with pytest.raises(MergeError, match=OWN):
        dataclasses.replace(strategy, initial=value)
    with pytest.raises(InputError) as caught:
        single(lambda state: {}, {"log": strategy}).run({"log": value})
    assert str(caught.value).startswith("the input of graph 'single': 'log': Re")
    assert str(caught.value).endswith(f" is a marker, {OWN}")


@pytest.mark.parametrize(
    ("write", "at"),
    [
        ({"a": Remove(1)}, "Remove at ['a']"),
        ([[Remove(1)]], "Remove at [0][0]"),
        ([1, {"a": ReplaceAll([])}], "ReplaceAll at [1]['a']"),
        ([Box(Remove(1))], "Remove at [0].inside"),
        (Remove(Remove(1)), "Remove at .value"),
        ([1, Remove({"a": Remove(1)})], "Remove at [1].value['a']"),
        (ReplaceAll([1, Remove(1)]), "Remove at .values[1]"),
        ({Remove(1)}, "Remove at {...}"),
    ],
)
def test_a_marker_inside_a_value_is_refused_with_its_place(write: Any, at: str) -> None:
    for strategy in (Append(), Replace()):
        assert refused(write, strategy) == (
            f"node 'only' wrote 'log': the marker {at} is no value that state holds; "
            "a marker is written to an Append key, alone or, for Remove, in the list of new elements"
        )


@pytest.mark.parametrize(
    ("write", "at"),
    [
        (Remove([object()]), ".value[0]"),
        (["a", Remove(object())], "[1].value"),
        (ReplaceAll({1: object()}), ".values[1]"),
    ],
)
def test_a_value_inside_a_marker_that_cannot_be_kept_is_refused_with_its_place(write: Any, at: str) -> None:
    with pytest.raises(ValueRefusedError) as caught:
        freeze(write)
    assert str(caught.value).startswith(f"a value of type builtins.object at {at} cannot be made read-only")


def test_frozen_markers_keep_nothing_that_can_change() -> None:
    inner = [1]
    bare, mixed, whole = freeze(Remove(inner)), freeze([2, Remove(inner)]), freeze(ReplaceAll([inner]))
    inner.append(2)
    assert (bare.value, mixed[1].value, whole.values) == ([1], [1], [[1]])
    assert type(mixed) is Edits


@pytest.mark.parametrize("write", [Remove([1]), [2, Remove({"a": [1]})], ReplaceAll([[1]]), (Remove(1), [2])])
def test_a_frozen_write_merges_like_the_first_time(write: Any) -> None:
    old = History([[1], {"a": [1]}, 1])
    frozen = freeze(write)
    for strategy in (Append(), Append(unique=True), Append(type=list), Append(unique=True, type=list)):
        merge = strategy.merging()
        once = merge(old, frozen)
        assert merge(old, freeze(frozen)) == merge(old, freeze(thaw(frozen))) == once
        assert merge(old, pickle.loads(pickle.dumps(frozen))) == once
    assert hash(frozen) == hash(freeze(write))
    assert repr(frozen).replace("(", "").startswith(("Remove", "[", "ReplaceAll"))
    assert old == [[1], {"a": [1]}, 1]


@given(st.lists(st.integers(0, 3)), st.lists(st.tuples(st.booleans(), st.integers(0, 3)), max_size=5))
def test_markers_do_what_list_remove_does(old: list[int], write: list[tuple[bool, int]]) -> None:
    expected, added = list(old), []
    history = History(old)
    edit = freeze([Remove(value) if out else value for out, value in write])
    try:
        for out, value in write:
            if out:
                expected.remove(value)
            else:
                added.append(value)
    except ValueError:
        with pytest.raises(MergeError, match="finds no equal element"):
            history.extended(edit)
    else:
        assert history.extended(edit) == expected + added
    assert history == old


@pytest.mark.parametrize(
    ("old", "write", "new"),
    [
        ([], ["a", "b", "a"], ["a", "b"]),
        (["a", "b"], ["b", "c", "a", "c"], ["a", "b", "c"]),
        (["a", "a", "b"], [], ["a", "b"]),
        (["a"], None, ["a"]),
        ([1], [True, 1.0, 1, 0, False, 0.0], [1, True, 1.0, 0, False, 0.0]),
        ([[1]], [[True], [1.0], [1], (1,)], [[1], [True], [1.0], (1,)]),
        ([{"a": 1, "b": 2}], [{"b": 2, "a": 1}, {"a": True, "b": 2}], [{"a": 1, "b": 2}, {"a": True, "b": 2}]),
        ([{1: "x"}], [{True: "x"}, {1: "x"}], [{1: "x"}, {True: "x"}]),
        ([frozenset({1})], [{1}, {True}, {1, 2}], [{1}, {True}, {1, 2}]),
        (["red"], [Colour.RED, "red"], ["red", Colour.RED]),
        ([Box(1)], [Box(1, made=9), Box(True), Box([1])], [Box(1), Box(True), Box([1])]),
        ([Card(tag=1)], [Card(tag=1), Card(tag=1.0)], [Card(tag=1), Card(tag=1.0)]),
        (["a", "b"], [Remove("a"), "a"], ["b", "a"]),
        (["a", "b"], [Remove("a"), "b", "c"], ["b", "c"]),
        (["a"], ReplaceAll(["b", "a", "b"]), ["b", "a"]),
    ],
)
def test_a_unique_history_keeps_the_first_of_equal_elements(old: Any, write: Any, new: list[Any]) -> None:
    history = after(old, write, unique=True)
    assert history == new
    assert [repr(item) for item in history] == [repr(item) for item in History(new)]


def test_a_unique_history_starts_without_doubles() -> None:
    keys = {"log": Append(initial=["a", "b", "a"], unique=True)}
    assert keys["log"].initial == ["a", "b"]
    run = single(lambda state: {"log": ["b", "d"]}, keys).run({"log": ["c", "b", "c"]})
    assert run.states[0]["log"] == ["c", "b"]
    assert run.state["log"] == ["c", "b", "d"]


def test_a_history_handed_back_is_refused_by_a_unique_key_as_well() -> None:
    with pytest.raises(ReportError, match="node 'only' wrote 'log': the update hands back the history"):
        single(lambda state: {"log": state["log"]}, {"log": Append(initial=["a"], unique=True)}).run()


@given(st.lists(st.lists(st.sampled_from([0, False, 0.0, 1, True, "1"]), max_size=4), max_size=6))
def test_a_unique_history_holds_every_value_once(writes: list[list[Any]]) -> None:
    merge = Append(unique=True).merging()
    history = Append(unique=True).initial
    seen: list[tuple[type, Any]] = []
    for write in writes:
        history = merge(history, freeze(write))
        seen.extend((type(value), value) for value in write)
    assert [(type(value), value) for value in history] == list(dict.fromkeys(seen))


def test_a_plain_append_key_still_merges_without_a_detour() -> None:
    assert Append().merging() is History.extended
    assert Replace().merging() is None
    longer = History().extended(freeze(["a"]))
    assert longer.extended(freeze(["b"]))._items is longer._items


def test_values_of_ones_own_pass_through_a_custom_key() -> None:
    @dataclasses.dataclass(frozen=True)
    class Drop:
        value: Any

    def merge(old: Any, new: Any) -> Any:
        return [item for item in old if item != new.value] if isinstance(new, Drop) else [*(old or []), *new]

    keys = {"log": Custom(merge=merge, initial=["a", "b"])}
    assert single(lambda state: {"log": Drop("a")}, keys).run().state["log"] == ["b"]
