"""Pictures are made by the best engine there is, hold hostile texts as texts, and fail with a reason."""

import re
import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from drawn_graphs import HOSTILE, hostile_graph, small_graph

from diagnosis.views import RenderError, dot_text, draw, find_engine, render
from diagnosis.views.labels import visible, wrapped

SVG = "{http://www.w3.org/2000/svg}"
XLINK = "{http://www.w3.org/1999/xlink}"
DOT = "digraph { a -> b }"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch):
    """The module, with nothing set that would name an engine."""
    import sys

    monkeypatch.delenv("DIAGNOSIS_DOT", raising=False)
    return sys.modules["diagnosis.views.render"]


def program(folder: Path, name: str, body: str) -> Path:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
    return file


def test_the_package_is_found_without_any_path(module, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    engine = find_engine()
    assert engine is not None
    assert engine.origin == "graphviz-pure"
    assert engine.path.is_absolute()
    assert render(DOT, "svg").startswith(b"<?xml")


def test_the_variable_comes_before_everything_else(module, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = program(tmp_path, "mine", "cat > /dev/null; echo '<svg>mine</svg>'")
    monkeypatch.setenv("DIAGNOSIS_DOT", str(own))
    engine = find_engine()
    assert engine is not None
    assert (engine.path, engine.origin) == (own, "DIAGNOSIS_DOT")
    assert render(DOT, "svg") == b"<svg>mine</svg>\n"


def test_a_variable_that_names_no_program_is_refused(module, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIAGNOSIS_DOT", "/no/such/dot")
    with pytest.raises(RenderError, match="DIAGNOSIS_DOT is '/no/such/dot', which is no program"):
        find_engine()


@pytest.mark.parametrize("name", ["dot", "graphviz-pure"])
def test_without_the_package_a_program_on_the_path_serves(
    module, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    monkeypatch.setattr(module, "_packaged", lambda: None)
    own = program(tmp_path, name, "")
    monkeypatch.setenv("PATH", str(tmp_path))
    engine = find_engine()
    assert engine is not None
    assert (engine.path, engine.origin) == (own, "PATH")


def test_without_any_engine_the_error_says_what_to_install(module, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_packaged", lambda: None)
    monkeypatch.setenv("PATH", "/nonexistent")
    assert find_engine() is None
    with pytest.raises(RenderError, match="there is no layout engine; install the package graphviz-pure"):
        render(DOT, "svg")


def test_a_package_that_is_not_installed_is_no_engine(module, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise module.importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(module.importlib.metadata, "files", missing)
    assert module._packaged.__wrapped__() is None


def test_a_package_without_its_program_is_no_engine(module, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class File:
        def __init__(self, name: str) -> None:
            self.name = name

        def locate(self) -> Path:
            return tmp_path / "gone"

    monkeypatch.setattr(module.importlib.metadata, "files", lambda name: [File("RECORD"), File("graphviz-pure")])
    assert module._packaged.__wrapped__() is None


def test_an_engine_that_takes_too_long_is_stopped(module, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DIAGNOSIS_DOT", str(program(tmp_path, "slow", "exec sleep 60")))
    with pytest.raises(RenderError, match=r"slow took longer than 0\.2 s"):
        render(DOT, "svg", timeout=0.2)


def test_an_engine_that_refuses_tells_its_last_word(module, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = program(tmp_path, "strict", "echo first >&2; echo 'syntax error in line 1' >&2; exit 3")
    monkeypatch.setenv("DIAGNOSIS_DOT", str(own))
    with pytest.raises(RenderError, match=r"strict gave no svg \(exit status 3\): syntax error in line 1"):
        render(DOT, "svg")


def test_an_engine_that_gives_nothing_is_an_error(module, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DIAGNOSIS_DOT", str(program(tmp_path, "silent", "exit 0")))
    with pytest.raises(RenderError, match=r"silent gave no png \(exit status 0\): it says nothing"):
        render(DOT, "png")


def test_an_engine_that_cannot_be_run_is_an_error(module, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF no program")
    broken.chmod(0o755)
    monkeypatch.setenv("DIAGNOSIS_DOT", str(broken))
    with pytest.raises(RenderError, match=r"broken cannot be run: "):
        render(DOT, "svg")


def test_a_dot_text_with_an_error_is_refused_by_the_engine(module) -> None:
    with pytest.raises(RenderError, match="syntax error"):
        render("digraph { a -> ", "svg")


def test_warnings_of_the_engine_are_not_printed(module, capfd: pytest.CaptureFixture[str]) -> None:
    render('digraph { a [label="规划"] }', "png")
    assert capfd.readouterr() == ("", "")


def test_a_png_is_a_png(module) -> None:
    assert draw(small_graph()).png().startswith(b"\x89PNG\r\n\x1a\n")


def test_a_png_with_chinese_goes_to_the_system_where_it_has_an_engine(
    module, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program(tmp_path, "dot", "/bin/cat > /dev/null; echo system")
    chinese = 'digraph { a [label="规划器"] }'
    monkeypatch.setenv("PATH", "/nonexistent")
    assert render(chinese, "png").startswith(b"\x89PNG")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert render(chinese, "png") == b"system\n"
    assert render(chinese, "svg").startswith(b"<?xml")
    assert render("digraph { a [label=plain] }", "png").startswith(b"\x89PNG")


def test_the_same_picture_has_the_same_bytes(module) -> None:
    dot = dot_text(hostile_graph().topology)
    first = render(dot, "svg"), render(dot, "png")
    module._rendered.cache_clear()
    assert (render(dot, "svg"), render(dot, "png")) == first


def test_characters_that_xml_cannot_hold_never_reach_the_picture(module) -> None:
    svg = render('digraph { a [label="x\x00\x07\udc80\ufffe"] }', "svg").decode()
    ElementTree.fromstring(svg)
    assert "x\ufffd\ufffd\ufffd\ufffd" in svg


def test_hostile_texts_are_texts_in_the_picture(module) -> None:
    svg = draw(hostile_graph()).svg()
    root = ElementTree.fromstring(svg)
    texts = ["".join(found.itertext()) for found in root.iter(f"{SVG}text")]
    for text in HOSTILE.values():
        for line in wrapped(text, width=24):
            assert line in texts, text
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f]", svg)


def test_what_was_cut_stands_in_full_in_the_tooltip(module) -> None:
    root = ElementTree.fromstring(draw(hostile_graph()).svg())
    titles = {
        (found.get(f"{XLINK}title") or "").replace("\u2060", "").replace("\xa0", " ") for found in root.iter(f"{SVG}a")
    }
    for text in HOSTILE.values():
        assert f"{visible(text)} ({visible(text)})" in titles, text


def test_a_picture_holds_nothing_that_runs_or_is_fetched(module) -> None:
    root = ElementTree.fromstring(draw(hostile_graph()).svg())
    kinds = {found.tag.removeprefix(SVG) for found in root.iter()}
    assert kinds <= {"svg", "g", "a", "title", "text", "path", "polygon", "polyline", "ellipse"}
    names = {name for found in root.iter() for name in found.attrib}
    assert f"{XLINK}href" not in names
    assert not any(name.startswith("on") for name in names)


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs a system Graphviz")
def test_the_system_engine_draws_the_same_nodes(module, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIAGNOSIS_DOT", "dot")
    svg = draw(hostile_graph()).svg()
    assert svg.count('class="node"') == len(HOSTILE) + 2
