"""A diagram draws what it is given, and saves itself by its ending, wholly or not at all."""

import base64
import sys
from pathlib import Path

import pytest
from drawn_graphs import EXPLODES, LONGEST, played, small_graph, small_model, small_run

from diagnosis.catalog import diagnosis_model
from diagnosis.verify import measure
from diagnosis.views import ENDINGS, Diagram, DrawError, FileError, RenderError, draw


@pytest.fixture
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DIAGNOSIS_DOT", raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(sys.modules["diagnosis.views.render"], "_packaged", lambda: None)


def test_a_model_a_graph_and_a_topology_give_the_same_picture() -> None:
    model = diagnosis_model()
    assert draw(model) == draw(model.graph) == draw(model.graph.topology)
    assert draw(model).text() == model.graph.topology.text()
    assert repr(draw(model)) == model.graph.topology.text()


def test_a_run_stands_for_its_graph_with_its_path() -> None:
    run = played(LONGEST).run
    assert draw(run) == draw(run.graph, run=run) == draw(run, run=run)
    assert draw(run).text() == run.text()


def test_coverage_gives_hits_and_its_own_text() -> None:
    model = small_model()
    coverage = measure(model, [small_run(True, False)])
    assert draw(model, coverage=coverage).text() == coverage.text()
    assert "infeasible" in draw(model, coverage=coverage).svg()


def test_a_run_with_another_run_is_refused() -> None:
    with pytest.raises(DrawError, match="a run is drawn with its own path"):
        draw(played(LONGEST).run, run=played(EXPLODES).run)


@pytest.mark.parametrize("subject", [None, 3, "planner"])
def test_what_cannot_be_drawn_is_refused_by_its_type(subject: object) -> None:
    with pytest.raises(DrawError, match=f"a {type(subject).__name__} cannot be drawn; give a Model, CompiledGraph"):
        draw(subject)  # type: ignore[arg-type]


def test_every_ending_has_its_format(tmp_path: Path) -> None:
    diagram = draw(small_graph())
    starts = {
        ".svg": b"<?xml",
        ".png": b"\x89PNG",
        ".dot": b"digraph",
        ".gv": b"digraph",
        ".mmd": b"flowchart TD",
        ".mermaid": b"flowchart TD",
        ".puml": b"@startuml",
        ".plantuml": b"@startuml",
    }
    assert tuple(starts) == ENDINGS
    for ending, start in starts.items():
        for file in (tmp_path / f"picture{ending}", tmp_path / f"PICTURE{ending.upper()}"):
            assert diagram.save(file) == file
            assert file.read_bytes().startswith(start)
    assert len(list(tmp_path.iterdir())) == 2 * len(ENDINGS)


@pytest.mark.parametrize("name", ["picture.pdf", "picture", "picture.svg.gz", ".svg"])
def test_another_ending_is_refused_with_those_there_are(tmp_path: Path, name: str) -> None:
    with pytest.raises(DrawError, match=r"a diagram is saved as \.svg, \.png, \.dot, \.gv, \.mmd, \.mermaid, \.puml"):
        draw(small_graph()).save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"no directory '.*nowhere'; make it first"):
        draw(small_graph()).save(tmp_path / "nowhere" / "picture.svg")


def test_a_directory_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "picture.svg").mkdir()
    with pytest.raises(FileError, match="is a directory"):
        draw(small_graph()).save(str(tmp_path / "picture.svg"))


def test_a_file_that_is_there_stays_whole_until_it_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_engine: None
) -> None:
    file = tmp_path / "picture.svg"
    file.write_text("before")
    with pytest.raises(RenderError):
        draw(small_graph()).save(file)
    assert file.read_text() == "before"

    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(FileError, match="No space left on device"):
        draw(small_graph()).save(tmp_path / "picture.dot")
    assert list(tmp_path.iterdir()) == [file]


def test_without_an_engine_the_texts_are_still_there(no_engine: None, tmp_path: Path) -> None:
    diagram = draw(diagnosis_model())
    with pytest.raises(RenderError, match="install the package graphviz-pure"):
        diagram.svg()
    with pytest.raises(RenderError):
        diagram.png()
    assert diagram.data_uri() is None
    assert diagram.text().startswith("diagnosis: 8 nodes, 18 edges")
    for ending in (".dot", ".mmd", ".puml"):
        diagram.save(tmp_path / f"picture{ending}")


def test_a_picture_needs_no_program_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DIAGNOSIS_DOT", raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    diagram = draw(diagnosis_model())
    for node in diagnosis_model().graph.definition.names:
        assert f">{node}</text>" in diagram.svg()
        assert node in diagram.text()


def test_the_data_address_holds_the_picture() -> None:
    diagram = draw(small_graph())
    uri = diagram.data_uri()
    assert uri is not None
    head, _, data = uri.partition(",")
    assert head == "data:image/svg+xml;base64"
    assert base64.b64decode(data).decode() == diagram.svg()


def test_a_picture_of_something_else_has_no_mermaid_and_no_plantuml(tmp_path: Path) -> None:
    diagram = Diagram("digraph { a }", "just a")
    assert "<svg" in diagram.svg()
    with pytest.raises(DrawError, match="only the topology of a graph can be written as Mermaid"):
        diagram.mermaid()
    with pytest.raises(DrawError, match="PlantUML"):
        diagram.save(tmp_path / "a.puml")


def test_a_diagram_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        draw(small_graph()).dot = "digraph {}"  # type: ignore[misc]
