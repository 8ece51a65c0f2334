from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest

from diagnosis.views.notebooks import NotebookError, main, regenerated

FOLDER = Path(__file__).parent.parent / "notebooks"
CELLS = {
    "01_topology.ipynb": 12,
    "02_scenarios.ipynb": 34,
    "03_coverage_and_terminations.ipynb": 18,
    "04_proof.ipynb": 22,
    "05_coverage_and_mutation.ipynb": 21,
    "06_traces.ipynb": 22,
}
"""Notebook -> its cells: a cell that vanishes is noticed."""


def code_cells(path):
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def problems(path):
    """List what is wrong with how a notebook was stored."""
    found = []
    for number, cell in enumerate(code_cells(path), 1):
        if cell.execution_count != number:
            found.append(f"cell {cell.id} was run as {cell.execution_count}, not as {number}: run them in order")
        if not cell.outputs and not cell.source.startswith(("from ", "import ")):
            found.append(f"cell {cell.id} has no outputs")
    return found


def test_no_notebook_is_missing_or_new():
    stored = {path.name: len(nbformat.read(path, as_version=4).cells) for path in FOLDER.glob("*.ipynb")}
    assert stored == CELLS


@pytest.mark.parametrize("name", CELLS)
def test_cells_were_run_in_order_and_outputs_are_stored(name):
    assert problems(FOLDER / name) == []


@pytest.mark.parametrize("name", CELLS)
def test_a_regenerated_notebook_is_the_same_byte_for_byte(name):
    assert regenerated(FOLDER / name) == (FOLDER / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CELLS)
def test_notebooks_hold_no_logic_and_no_path_of_a_machine(name):
    for cell in code_cells(FOLDER / name):
        for word in ("def ", "class ", "for ", "while ", "if "):
            lines = [line for line in cell.source.splitlines() if line.startswith(word)]
            assert not lines, f"{cell.id}: {lines}"
    text = (FOLDER / name).read_text(encoding="utf-8")
    for trace in (str(FOLDER.parent), "0x7f", str(Path.home())):
        assert trace not in text


def stored(tmp_path, change):
    path = tmp_path / "01_topology.ipynb"
    document = json.loads((FOLDER / path.name).read_text(encoding="utf-8"))
    change([cell for cell in document["cells"] if cell["cell_type"] == "code"])
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_stripped_outputs_are_noticed(tmp_path):
    def strip(cells):
        for cell in cells:
            cell.update(outputs=[], execution_count=None)

    assert len(problems(stored(tmp_path, strip))) >= 6


def test_cells_run_out_of_order_are_noticed(tmp_path):
    def swap(cells):
        cells[0]["execution_count"], cells[1]["execution_count"] = 2, 1

    assert len(problems(stored(tmp_path, swap))) == 2


def test_regenerating_writes_changed_notebooks_and_says_so(tmp_path, capsys):
    text = nbformat.writes(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1")]))
    (tmp_path / "a.ipynb").write_text(text, encoding="utf-8")
    assert main([str(tmp_path)]) == 0
    assert "a.ipynb: written" in capsys.readouterr().err
    first = (tmp_path / "a.ipynb").read_bytes()
    assert main([str(tmp_path)]) == 0
    assert "a.ipynb: unchanged" in capsys.readouterr().err
    assert (tmp_path / "a.ipynb").read_bytes() == first
    cell = code_cells(tmp_path / "a.ipynb")[0]
    assert (cell.id, cell.execution_count, cell.outputs[0].data["text/plain"]) == ("cell-01", 1, "2")


def test_a_notebook_that_fails_is_left_as_it_was(tmp_path, capsys):
    text = nbformat.writes(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")]))
    (tmp_path / "a.ipynb").write_text(text, encoding="utf-8")
    assert main([str(tmp_path)]) == 2
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert (tmp_path / "a.ipynb").read_text(encoding="utf-8") == text
    with pytest.raises(NotebookError, match=r"a\.ipynb"):
        regenerated(tmp_path / "a.ipynb")
