"""Every row of ``docs/semantics.md`` has one of the marks and names tests that exist."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
MARKS = {"same", "louder", "fixed"}
COLUMNS = ["situation", "theirs", "ours", "mark", "held by"]


def rows() -> list[list[str]]:
    """Give the cells of each row of each table."""
    found = []
    for line in (ROOT / "docs" / "semantics.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("|"):
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            if cells != COLUMNS and not set(line) <= set("|- "):
                found.append(cells)
    return found


@functools.cache
def names_in(path: str) -> frozenset[str]:
    """Give the names of the test functions of a file, without running it."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(node.name for node in functions if node.name.startswith("test_"))


def test_every_row_is_whole_and_has_one_of_the_marks() -> None:
    assert len(rows()) > 100
    for cells in rows():
        assert len(cells) == len(COLUMNS), cells
        assert all(cells), cells
        assert re.fullmatch(r"\*(\w+)\*", cells[3]), cells
        assert cells[3].strip("*") in MARKS, cells


def test_every_test_that_a_row_names_exists() -> None:
    for cells in rows():
        named = cells[4].split("<br>")
        for name in named:
            match = re.fullmatch(r"`(tests/[\w/]+\.py)::(test_\w+)`", name)
            assert match, f"{cells[0]}: {name}"
            path, test = match.groups()
            assert (ROOT / path).is_file(), f"{cells[0]}: there is no {path}"
            assert test in names_in(path), f"{cells[0]}: there is no {name}"


def test_no_situation_stands_twice() -> None:
    situations = [cells[0] for cells in rows()]
    assert len(set(situations)) == len(situations)
