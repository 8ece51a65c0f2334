"""Collecting files: each once, in order, and what is wrong with one of them is no harm to the others."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from diagnosis.catalog import shipped
from diagnosis.runtime import END, START, Append, Model, Replace, ShortFormError, StateGraph, Update
from diagnosis.scenarios import DocumentError, NoSuchScenarioError, Scenario, Suite, case_of, find_files, load

Models = dict[str, Model]


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        file = folder / name.replace("__", "/").replace("_dot_", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def names(suite: Suite) -> list[str]:
    return [scenario.name for scenario, _ in suite.scenarios]


def test_directories_are_read_recursively_and_sorted(tmp_path: Path, models: Models) -> None:
    write(
        tmp_path,
        b_dot_yaml="name: b",
        a__z_dot_yml="name: a/z",
        a__b__c_dot_json='{"name": "a/b/c"}',
        C_dot_YAML="name: C",
        notes_dot_txt="name: no scenario",
    )
    assert names(load(tmp_path, models)) == ["C", "a/b/c", "a/z", "b"]
    assert load(str(tmp_path), models).files == tuple(
        str(tmp_path / name) for name in ("C.YAML", "a/b/c.json", "a/z.yml", "b.yaml")
    )


def test_paths_keep_the_order_in_which_they_are_given(tmp_path: Path, models: Models) -> None:
    write(tmp_path, a_dot_yaml="name: a", b_dot_yaml="name: b")
    assert names(load([tmp_path / "b.yaml", tmp_path / "a.yaml"], models)) == ["b", "a"]


def test_hidden_files_and_directories_are_skipped_unless_named(tmp_path: Path, models: Models) -> None:
    write(tmp_path, a_dot_yaml="name: a", _dot_b_dot_yaml="name: b", _dot_git__c_dot_yaml="name: c")
    assert (tmp_path / ".git" / "c.yaml").exists()
    assert names(load([tmp_path], models)) == ["a"]
    assert names(load([tmp_path / ".b.yaml", tmp_path / ".git"], models)) == ["b", "c"]


def test_a_file_that_is_given_twice_counts_once(tmp_path: Path, models: Models) -> None:
    write(tmp_path, a_dot_yaml="name: a")
    (tmp_path / "link.yaml").symlink_to("a.yaml")
    suite = load([tmp_path, tmp_path / "a.yaml", tmp_path / "." / "a.yaml", tmp_path / "link.yaml"], models)
    assert (names(suite), suite.refused) == (["a"], ())


def test_loops_of_links_are_harmless(tmp_path: Path, models: Models) -> None:
    write(tmp_path, inner__a_dot_yaml="name: a")
    (tmp_path / "inner" / "up").symlink_to(tmp_path)
    (tmp_path / "self.yaml").symlink_to("self.yaml")
    suite = load(tmp_path, models)
    assert names(suite) == ["a"]
    assert [refusal.file for refusal in suite.refused] == [str(tmp_path / "self.yaml")]


def test_a_link_to_a_directory_is_followed_and_a_broken_one_refused(tmp_path: Path, models: Models) -> None:
    write(tmp_path, elsewhere__a_dot_yaml="name: a")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "there").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "here" / "broken.yaml").symlink_to("gone.yaml")
    suite = load(tmp_path / "here", models)
    assert names(suite) == ["a"]
    assert "found no such file" in str(suite.refused[0].error)


def test_a_missing_path_is_refused_and_the_others_are_read(tmp_path: Path, models: Models) -> None:
    write(tmp_path, a_dot_yaml="name: a")
    suite = load([tmp_path / "gone", tmp_path / "a\0b", tmp_path / ("x" * 5000), tmp_path / "a.yaml"], models)
    assert names(suite) == ["a"]
    assert [refusal.to_json()["file"] for refusal in suite.refused] == [
        str(tmp_path / name) for name in ("gone", "a\0b", "x" * 5000)
    ]
    assert not suite.nothing_found


def test_an_unreadable_directory_is_refused(tmp_path: Path, models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, a_dot_yaml="name: a", closed__b_dot_yaml="name: b")
    real = os.scandir

    def scandir(path: Any) -> Any:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    suite = load(tmp_path, models)
    assert names(suite) == ["a"]
    assert "closed: found a directory that cannot be read (Permission denied)" in str(suite.refused[0].error)


def test_a_path_without_scenario_files_is_told_apart(tmp_path: Path, models: Models) -> None:
    write(tmp_path, notes_dot_txt="nothing")
    suite = load(tmp_path, models)
    assert suite.nothing_found
    assert (suite.cases, suite.refused, suite.files) == ((), (), ())
    write(tmp_path, bad_dot_yaml="- 1")
    assert not load(tmp_path, models).nothing_found


def test_one_bad_file_among_good_ones_is_refused_alone(tmp_path: Path, models: Models) -> None:
    write(
        tmp_path,
        a_dot_yaml="name: a",
        b_dot_yaml="name: b\nscript: {x: []}",
        c_dot_yaml="name: [",
        d_dot_yaml="name: d",
    )
    suite = load(tmp_path, models)
    assert names(suite) == ["a", "d"]
    assert [Path(refusal.file).name for refusal in suite.refused] == ["b.yaml", "c.yaml"]
    assert suite.text() == "\n".join(
        [
            "Suite: 2 scenarios, 2 refused",
            f"  a ({tmp_path / 'a.yaml'})",
            f"  d ({tmp_path / 'd.yaml'})",
            f"  refused: {suite.refused[0].error}",
            f"  refused: {suite.refused[1].error}",
        ]
    )


def test_one_bad_item_refuses_its_whole_file(tmp_path: Path, models: Models) -> None:
    write(tmp_path, a_dot_yaml="[{name: a}, {name: b, expect: 1}, {name: c}]", b_dot_yaml="[{name: a}, {name: c}]")
    suite = load(tmp_path, models)
    assert names(suite) == ["a", "c"]
    assert "line 1, [1].expect: found int 1; allowed: a mapping" in str(suite.refused[0].error)


def test_of_two_equal_names_the_later_file_is_refused(tmp_path: Path, models: Models) -> None:
    write(tmp_path, a_dot_yaml="[{name: x}, {name: y}]", b_dot_yaml="[{name: z}, {name: y}]", c_dot_yaml="name: z")
    suite = load(tmp_path, models)
    assert names(suite) == ["x", "y", "z"]
    assert str(suite.refused[0].error) == (
        f"{tmp_path / 'b.yaml'}, line 1, [1].name: found the name 'y', which a scenario in {tmp_path / 'a.yaml'} "
        "has already; allowed: a name that no other scenario has"
    )


def test_equal_names_in_one_file_refuse_it(tmp_path: Path, models: Models) -> None:
    write(tmp_path, a_dot_yaml="[{name: x}, {name: x}]")
    suite = load(tmp_path, models)
    assert names(suite) == []
    assert "[1].name: found the name 'x', which a scenario in" in str(suite.refused[0].error)


def test_models_come_from_a_mapping_or_a_function_and_never_from_the_file(tmp_path: Path, model: Model) -> None:
    write(tmp_path, a_dot_yaml="name: a", b_dot_yaml="{name: b, graph: 'os:system'}")
    for models in ({"diagnosis": model}, shipped):
        suite = load(tmp_path, models)
        assert names(suite) == ["a"]
        assert suite.cases[0].model is model
        assert "graph: found the unknown graph 'os:system'; allowed: " in str(suite.refused[0].error)
        assert "'diagnosis'" in str(suite.refused[0].error)


def test_find_files_lists_what_would_be_loaded(tmp_path: Path) -> None:
    write(tmp_path, a_dot_yaml="", b_dot_txt="")
    assert find_files([tmp_path, tmp_path / "b.txt"]) == ([str(tmp_path / "a.yaml"), str(tmp_path / "b.txt")], [])


class Words:
    """Short forms of which two are broken."""

    def parse(self, node: str, item: Mapping[str, Any]) -> Update:
        if item["status"] == "crash":
            raise KeyError("crash")
        if item["status"] == "deep":
            raise ShortFormError(["status", 0], "int 1", "nothing")
        return {"word": item["status"]}

    def spell(self, node: str, outcome: str) -> str:
        return outcome


def own_model(**more: Any) -> Model:
    graph = StateGraph({"word": Replace(), "size": Replace()}, name="own", **more)
    graph.add_node("say", lambda state: {}).add_edge(START, "say").add_edge("say", END)
    return Model("own", graph.compile(), {"say": {"hi": {"word": "hi"}, "ho": {"word": "ho"}}}, short_forms=Words())


def test_short_forms_of_ones_own_are_asked_and_may_fail() -> None:
    models = {"own": own_model()}

    def refusal(item: Any) -> str:
        with pytest.raises(DocumentError) as caught:
            case_of(Scenario.parse({"name": "a", "graph": "own", "script": {"say": [item]}}), models)
        return str(caught.value)

    assert (
        "script.say[0]: found an item that the short forms of graph 'own' cannot read (KeyError: 'crash')"
        in refusal("crash")
    )
    assert refusal("deep") == "script.say[0]: found int 1; allowed: nothing"
    assert refusal({"status": "deep"}) == "script.say[0].status[0]: found int 1; allowed: nothing"


def test_the_input_is_checked_by_what_the_graph_takes() -> None:
    def refusal(model: Model, value: Any) -> str:
        with pytest.raises(DocumentError) as caught:
            case_of(Scenario.parse({"name": "a", "graph": "own", "input": value}), {"own": model})
        return str(caught.value)

    assert refusal(own_model(), {"gone": 1}) == "input.gone: found the unknown key 'gone'; allowed: 'word', 'size'"
    assert refusal(own_model(inputs={"size": int}), {"word": "x"}).endswith(
        "found the unknown key 'word'; allowed: 'size'"
    )
    typed = own_model(inputs={"size": int})
    assert refusal(typed, {"size": "x"}) == "input.size: found 'x'; allowed: a value of type int"
    assert case_of(Scenario.parse({"name": "a", "graph": "own", "input": {"size": 3}}), {"own": typed}).file is None
    assert case_of(Scenario.parse({"name": "a", "graph": "own", "input": {"size": "x"}}), {"own": own_model()})


def test_an_input_that_a_key_strategy_refuses_is_refused_at_load() -> None:
    graph = StateGraph({"log": Append()}, name="own")
    graph.add_node("say", lambda state: {}).add_edge(START, "say").add_edge("say", END)
    model = Model("own", graph.compile(), {"say": {"hi": {}}})
    with pytest.raises(DocumentError, match=r"input\.log: found int 3; allowed: what the graph takes \("):
        case_of(Scenario.parse({"name": "a", "graph": "own", "input": {"log": 3}}), {"own": model})


def test_a_suite_without_some_scenarios_keeps_the_others_in_order(tmp_path: Path, models: Models) -> None:
    texts = {name: f"{{name: {name}, script: {{planner: [FAILED]}}}}" for name in ("a", "b", "c")}
    write(tmp_path, **{f"{name}_dot_yaml": text for name, text in texts.items()})
    suite = load(tmp_path, models)
    assert names(suite.without("b")) == ["a", "c"]
    assert names(suite.without("c", "a")) == ["b"]
    assert (names(suite), suite.without("b").files) == (["a", "b", "c"], suite.files)
    with pytest.raises(NoSuchScenarioError, match="no scenario named 'd'; there are"):
        suite.without("d")
