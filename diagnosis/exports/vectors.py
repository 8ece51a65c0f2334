"""Test vectors: every script of a graph with the run that it must give, for implementations in other languages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from diagnosis.exports.fingerprint import fingerprint
from diagnosis.exports.trees import ExportError
from diagnosis.runtime import Model, thaw
from diagnosis.scenarios import observed
from diagnosis.verify import MAX_STATES, Progress, StateSpace, explore
from diagnosis.verify.counterexample import played

FORMAT = "diagnosis-vectors"
VERSION = 1


def vectors(
    model: Model,
    *,
    max_states: int = MAX_STATES,
    max_seconds: float | None = None,
    progress: Progress | None = None,
) -> Iterator[dict[str, Any]]:
    """Go through every complete script of a model, each played on the real runtime.

    Args:
        model: the graph under test.
        max_states: the budget of control states.
        max_seconds: the budget of time for exploring.
        progress: called now and then with scripts done and scripts in all.

    Returns:
        For each script a scenario that expects all that was observed but the transitions, which ``trace`` holds.

    Raises:
        ExportError: the scripts cannot be listed, because a run may go on for ever, or a budget was used up.
    """
    return _played(listed(model, max_states, max_seconds), progress)


def listed(model: Model, max_states: int = MAX_STATES, max_seconds: float | None = None) -> StateSpace:
    """Explore a model whose scripts are to be listed.

    Args:
        model: the graph under test.
        max_states: the budget of control states.
        max_seconds: the budget of time.

    Raises:
        ExportError: the scripts cannot be listed, because a run may go on for ever, or a budget was used up.
    """
    space = explore(model, max_states=max_states, max_seconds=max_seconds)
    if space.counts is None:
        why = space.stopped or "a run may go on for ever"
        raise ExportError(f"the scripts of {model.name!r} cannot be listed: {why}; vectors need a finite list of them")
    return space


def _played(space: StateSpace, progress: Progress | None) -> Iterator[dict[str, Any]]:
    assert space.counts is not None
    model, total = space.model, space.counts[0][0]
    width = len(str(total))
    for number, script in enumerate(space.scripts(), 1):
        document, result = played(model, script, name=f"{model.name}_{number:0{width}}")
        expect = observed(result.run, model).to_map()
        expect.pop("transitions", None)
        yield {**document, "expect": expect, "trace": thaw(result.trace)}
        if progress is not None and number % 64 == 0:
            progress(number, total)
    if progress is not None:
        progress(total, total)


def recorded(space: StateSpace, progress: Progress | None = None) -> Iterator[dict[str, Any]]:
    """Go through the trace of every complete script as it would be recorded; a run without an event leaves none.

    Args:
        space: the graph under test, explored; see :func:`listed`.
        progress: called now and then with scripts done and scripts in all.
    """
    for vector in _played(space, progress):
        if vector["trace"] is not None:
            yield {"run_id": vector["name"], "orchestration_trace": vector["trace"]}


def vectors_document(space: StateSpace, progress: Progress | None = None) -> Iterator[bytes]:
    """Give the JSON document of all vectors, a vector a line, part by part.

    Args:
        space: the graph under test, explored; see :func:`listed`.
        progress: called now and then with scripts done and scripts in all.

    Returns:
        The bytes, made while they are asked for.
    """
    assert space.counts is not None
    model = space.model
    head = {
        "format": FORMAT,
        "version": VERSION,
        "graph": model.name,
        "fingerprint": fingerprint(model)["graph"],
        "alphabet": {node: list(outcomes) for node, outcomes in model.alphabet.items()},
        "scripts": space.counts[0][0],
    }
    yield _line(head)[:-1] + b',"vectors":[\n'
    first = True
    for vector in _played(space, progress):
        yield (b"" if first else b",\n") + _line(vector)
        first = False
    yield b"\n]}\n"


def _line(document: object) -> bytes:
    return json.dumps(document, separators=(",", ":"), default=str).encode("ascii")
