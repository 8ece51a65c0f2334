"""What a graph can be exported as, by the ending of the file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path
from typing import NamedTuple, TextIO

from diagnosis.exports.promela import promela
from diagnosis.exports.trees import ExportError
from diagnosis.exports.vectors import listed, recorded, vectors_document
from diagnosis.runtime import Model, one_of
from diagnosis.scenarios.files import write_file
from diagnosis.traces import LogEvent, TraceChecker, event_log, write_csv, write_xes
from diagnosis.verify import MAX_STATES, Progress


@dataclass(frozen=True, slots=True)
class Options:
    """What an export may be told.

    Attributes:
        interleave: whether all orders in which branches may move are said.
        max_states: the budget of control states, where the graph is explored.
        max_seconds: the budget of time for that.
        progress: called now and then with parts done and parts in all.
    """

    interleave: bool = False
    max_states: int = MAX_STATES
    max_seconds: float | None = None
    progress: Progress | None = None


class Ending(NamedTuple):
    """One kind of file.

    Attributes:
        what: what is in it, in a word or two.
        content: gives its bytes, part by part.
    """

    what: str
    content: Callable[[Model, Options], Iterable[bytes]]


def _promela(model: Model, options: Options) -> Iterable[bytes]:
    return (promela(model, interleave=options.interleave).encode("ascii"),)


def _vectors(model: Model, options: Options) -> Iterable[bytes]:
    return vectors_document(listed(model, options.max_states, options.max_seconds), options.progress)


def _log(model: Model, options: Options, write: Callable[[Iterator[LogEvent], TextIO], int]) -> Iterable[bytes]:
    space = listed(model, options.max_states, options.max_seconds)
    checker = TraceChecker(model, max_states=options.max_states, max_seconds=options.max_seconds)
    text = StringIO(newline="")
    write(event_log(checker, recorded(space, options.progress)), text)
    return (text.getvalue().encode("utf-8"),)


def _csv(model: Model, options: Options) -> Iterable[bytes]:
    return _log(model, options, write_csv)


def _xes(model: Model, options: Options) -> Iterable[bytes]:
    return _log(model, options, partial(write_xes, name=model.name))


ENDINGS: Mapping[str, Ending] = {
    ".pml": Ending("Promela", _promela),
    ".json": Ending("vectors", _vectors),
    ".xes": Ending("event log", _xes),
    ".csv": Ending("event log", _csv),
}
"""The ending of a file, in small letters -> what is written there."""


def ending_of(path: str | os.PathLike[str]) -> Ending:
    """Give the kind of a file by its ending.

    Args:
        path: the file.

    Raises:
        ExportError: nothing is written to files of that ending.
    """
    suffix = Path(path).suffix
    found = ENDINGS.get(suffix.lower())
    if found is None:
        told = f"the ending {suffix!r}" if suffix else "no ending"
        known = one_of(f"{ending} ({kind.what})" for ending, kind in ENDINGS.items())
        raise ExportError(f"{str(path)!r} has {told}; a graph is exported as {known}")
    return found


def export(model: Model, path: str | os.PathLike[str], options: Options | None = None) -> Path:
    """Write a graph for another tool, wholly or not at all.

    Args:
        model: the graph under test.
        path: the file; its ending says what is written, see :data:`ENDINGS`.
        options: what the export is told.

    Returns:
        The path.

    Raises:
        ExportError: nothing is written to files of that ending, or the graph cannot be said so.
        FileError: the file cannot be written.
    """
    return write_file(path, ending_of(path).content(model, options or Options()))
