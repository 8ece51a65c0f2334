"""A scenario that is written loads back equal, in a new file of its own."""

import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from diagnosis.runtime import Model
from diagnosis.scenarios import Scenario, WriteError, load, load_document, scenario_text, write_scenario, writer
from diagnosis.scenarios.writer import file_stem

TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40) | st.sampled_from(
    [
        "yes",
        "null",
        "~",
        "1e3",
        "0x1F",
        "0o7",
        "1_000",
        "2024-01-01",
        "12:30:45",
        "",
        " ",
        "-",
        "- a",
        "a: b",
        "#",
        "<<",
        "=",
    ]
)
VALUES = st.recursive(
    TEXTS | st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.dates(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=15,
)
UPDATES = st.dictionaries(TEXTS, VALUES, max_size=2)
WAYS = TEXTS | st.fixed_dictionaries({"to": TEXTS}, optional={"update": UPDATES})
ITEMS = (
    TEXTS
    | st.fixed_dictionaries({"raises": TEXTS})
    | st.fixed_dictionaries({"update": st.dictionaries(TEXTS, VALUES, max_size=4)})
    | st.fixed_dictionaries(
        {"goto": TEXTS | st.lists(WAYS, min_size=1, max_size=3)},
        optional={"update": UPDATES, "reason": TEXTS.filter(lambda text: text.strip() != "")},
    )
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    name=TEXTS.filter(lambda text: text.strip() != ""),
    title=TEXTS,
    script=st.dictionaries(TEXTS, st.lists(ITEMS, max_size=3), max_size=3),
    path=st.lists(TEXTS, max_size=30),
    winners=st.dictionaries(TEXTS, st.lists(TEXTS, max_size=3), max_size=2),
    values=st.dictionaries(TEXTS, VALUES, max_size=3),
)
@example(
    name="a", title="\x85\u2028\ufeff\t\n \x00\x1b[0m", script={}, path=[], winners={}, values={"\n": {" ": ["\r\n"]}}
)
@example(name="a" * 300, title="x " * 200, script={}, path=["y " * 100] * 20, winners={}, values={})
def test_any_scenario_is_written_and_loads_back_equal(
    name: str, title: str, script: Any, path: list[str], winners: Any, values: dict[str, Any], tmp_path: Path
) -> None:
    scenario = Scenario.parse(
        {
            "name": name,
            "title": title,
            "input": values,
            "script": script,
            "winners": winners,
            "expect": {"path": path, "branches": path, "final_node": None},
        }
    )
    file = write_scenario(scenario, tmp_path)
    data = load_document(file).data
    assert data == scenario.to_map()
    assert Scenario.parse(data) == scenario
    assert Scenario.parse(data).expect.gives("final_node")
    assert yaml.safe_load(file.read_text(encoding="utf-8")) == data


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("yes", "'yes'"),
        ("1e3", "'1e3'"),
        ("0o7", "'0o7'"),
        ("1_0", "'1_0'"),
        ("2024-01-01", "'2024-01-01'"),
        ("null", "'null'"),
        ("结账 为什么", "结账 为什么"),
        ("two\nlines", '"two\\nlines"'),
        ("plain words", "plain words"),
    ],
)
def test_texts_are_quoted_where_a_reader_might_take_them_for_something_else(text: str, written: str) -> None:
    assert scenario_text(Scenario(name="a", title=text)) == f"name: a\ntitle: {written}\n"


def test_a_written_scenario_reads_well(good: dict[str, Any]) -> None:
    text = scenario_text(Scenario.parse(good))
    assert text.startswith(
        "name: everything_said\ntitle: All parts are there\nwhy: So that each of them can be spoilt.\n"
        "graph: diagnosis\ninput: {user_query: 'why?', session_id: s}\nscript:\n  planner: [COMPLETED]\n  executor:\n"
        "  - {status: COMPLETED}\n"
    )
    assert "path: [planner, executor, gatekeeper, verified_input, verifier, composer, fallback]" in text


def test_a_file_is_never_overwritten(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    files = [write_scenario(Scenario(name="gap: closes/2", title=title), folder) for title in ("one", "two", "three")]
    assert [file.name for file in files] == ["gap_closes_2.yaml", "gap_closes_2-2.yaml", "gap_closes_2-3.yaml"]
    assert sorted(folder.iterdir()) == sorted(files)
    assert [file.read_text().split("title: ")[1] for file in files] == ["one\n", "two\n", "three\n"]


def test_the_same_scenario_saved_again_is_the_same_file(tmp_path: Path) -> None:
    files = [write_scenario(Scenario(name="a", title=title), tmp_path) for title in ("one", "two", "two", "one")]
    assert [file.name for file in files] == ["a.yaml", "a-2.yaml", "a-2.yaml", "a.yaml"]
    assert sorted(tmp_path.iterdir()) == sorted(set(files))


def test_a_saved_scenario_is_found_by_the_loader(tmp_path: Path, model: Model) -> None:
    file = write_scenario(Scenario(name="a"), tmp_path)
    assert load(tmp_path, {"diagnosis": model}).scenarios == ((Scenario(name="a"), str(file)),)


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("plain_name-1", "plain_name-1"),
        ("../../etc/passwd", "etc_passwd"),
        (".hidden", "hidden"),
        ("a  b\tc\0d", "a_b_c_d"),
        ("结账", "结账"),
        ("???", "scenario"),
        ("..", "scenario"),
        ("x" * 500, "x" * 150),
        ("界" * 100, "界" * 50),
        ("con.", "con"),
    ],
)
def test_file_names_are_safe(name: str, stem: str) -> None:
    assert file_stem(name) == stem


def test_what_no_file_can_say_is_refused() -> None:
    for value in (float("nan"), float("inf"), {1: 2}, b"bytes", "\ud800", 10**1200, datetime.time(1, 2)):
        with pytest.raises(WriteError, match="scenario 'a'"):
            scenario_text(Scenario(name="a", input={"run_id": value}))
    deep: Any = []
    for _ in range(200):
        deep = [deep]
    with pytest.raises(WriteError, match="more than 100 levels of nesting"):
        scenario_text(Scenario(name="a", input={"run_id": deep}))


def test_what_would_be_too_large_to_load_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "MAX_BYTES", 100)
    assert len(scenario_text(Scenario(name="a", title="x" * 84))) == 100
    with pytest.raises(WriteError, match="would not load back equal"):
        scenario_text(Scenario(name="a", title="x" * 85))


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match=r"scenario 'a' cannot be written to .*file"):
        write_scenario(Scenario(name="a"), tmp_path / "file")
    with pytest.raises(WriteError, match="cannot be written to"):
        write_scenario(Scenario(name="a"), "a\0b")


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(WriteError, match="No space left on device"):
        write_scenario(Scenario(name="a"), tmp_path)
    assert list(tmp_path.iterdir()) == []
