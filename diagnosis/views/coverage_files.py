"""Coverage as a file: written whole, and read for the graph that it is of."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from diagnosis.runtime import Model, one_of
from diagnosis.scenarios.files import FileError, write_file
from diagnosis.verify import Coverage, CoverageError, StateSpace, explore
from diagnosis.verify.coverage import FURTHER, Observed, graphs_in, kinds_of, loaded, saved_text

MAX_BYTES = 64 * 1024 * 1024
"""A file of coverage that is larger is refused unread."""


def save_coverage(path: str | os.PathLike[str], *coverages: Coverage) -> Path:
    """Write coverage to a file; one that holds coverage already is replaced, any other is left alone.

    Args:
        path: the file.
        coverages: one for each graph.

    Returns:
        The path.

    Raises:
        FileError: the file holds something else, or cannot be written.
    """
    file = Path(path)
    if file.is_file() and file.stat().st_size:
        try:
            saved_graphs(file)
        except CoverageError as error:
            raise FileError(f"{str(file)!r} is not overwritten: {error}") from None
    return write_file(file, saved_text(coverages).encode("utf-8", "backslashreplace"))


def saved_graphs(path: str | os.PathLike[str]) -> dict[str, Mapping[str, Any]]:
    """Read what was saved of each graph.

    Args:
        path: the file.

    Returns:
        The graph's name -> what was saved.

    Raises:
        CoverageError: the file cannot be read, or holds no coverage.
    """
    file = Path(path)
    try:
        if file.stat().st_size > MAX_BYTES:
            raise CoverageError(f"{file}: larger than {MAX_BYTES} bytes")
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise CoverageError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    return graphs_in(text, str(file))


def load_coverage(
    path: str | os.PathLike[str], model: Model, *, space: StateSpace | None = None, kinds: Iterable[str] | None = None
) -> Coverage:
    """Read the coverage of a graph from a file.

    Args:
        path: the file.
        model: the graph.
        space: its explored space; explored here where absent.
        kinds: what is to be counted beside what is counted of every graph; all that was saved where absent.

    Raises:
        CoverageError: the file cannot be read, holds nothing of this graph, or is stale: the graph has changed since.
    """
    graphs = saved_graphs(path)
    if model.name not in graphs:
        raise CoverageError(f"{path}: nothing was saved of graph {model.name!r}; it holds {one_of(graphs)}")
    saved = graphs[model.name]
    wanted = saved["kinds"] if kinds is None else kinds
    counted = (*kinds_of(model), *(kind for kind in FURTHER if kind in wanted))
    return loaded(saved, Observed(explore(model) if space is None else space, counted), str(path))
