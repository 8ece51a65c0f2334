"""Rendering: DOT into a picture, by the best layout engine that there is."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, Literal

from diagnosis.runtime import DiagnosisError

VARIABLE: Final = "DIAGNOSIS_DOT"
"""The environment variable that names the engine to use."""

TIMEOUT: Final = 60.0
"""Seconds that a picture may take where no other limit is given."""

Format = Literal["svg", "png"]

_PURE: Final = "graphviz-pure"
_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NOT_IN_PURE: Final = re.compile("[\u0600-\u1dff\u2e80-\uffff\U00010000-\U0010ffff]")
"""Characters that graphviz-pure has no glyphs for: beyond Latin, Greek, Cyrillic, Hebrew and their signs."""


class RenderError(DiagnosisError):
    """A picture could not be made: there is no layout engine, or it failed."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A layout engine.

    Attributes:
        path: the program, which takes the options of Graphviz's ``dot``.
        origin: where it was found: ``DIAGNOSIS_DOT``, ``graphviz-pure`` or ``PATH``.
    """

    path: Path
    origin: str


def find_engine() -> Engine | None:
    """Find the layout engine: ``DIAGNOSIS_DOT`` where set, else the package graphviz-pure, else ``dot`` on the path.

    Returns:
        The engine, or ``None`` where there is none.

    Raises:
        RenderError: ``DIAGNOSIS_DOT`` names no program.
    """
    named = os.environ.get(VARIABLE)
    if named:
        found = shutil.which(named)
        if found is None:
            raise RenderError(f"{VARIABLE} is {named!r}, which is no program; name a Graphviz dot, or unset it")
        return Engine(Path(found), VARIABLE)
    packaged = _packaged()
    if packaged is not None:
        return Engine(packaged, _PURE)
    for name in (_PURE, "dot"):
        found = shutil.which(name)
        if found is not None:
            return Engine(Path(found), "PATH")
    return None


@cache
def _packaged() -> Path | None:
    """Find the program of the package graphviz-pure by its metadata, so that no path and no activation matters."""
    try:
        files = importlib.metadata.files(_PURE) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name in (_PURE, f"{_PURE}.exe"):
            path = Path(str(file.locate())).resolve()
            if os.access(path, os.X_OK):
                return path
    return None


def render(dot: str, format: Format, *, timeout: float = TIMEOUT) -> bytes:
    """Lay out a graph and draw it.

    SVG holds text as text, so that any script shows in a viewer that has a font for it. In a PNG the glyphs are the
    engine's: graphviz-pure has none for Chinese, Japanese, Korean or Arabic, so that such graphs are drawn with the
    system's ``dot`` where there is one, and with empty boxes where there is not.

    Args:
        dot: the graph in DOT. Characters that XML cannot hold become U+FFFD.
        format: ``svg`` or ``png``.
        timeout: seconds after which to give up.

    Returns:
        The bytes of the file; the same for the same graph and engine.

    Raises:
        RenderError: there is no engine, it refused the graph, or it took too long.
    """
    engine = find_engine()
    if engine is None:
        raise RenderError(
            f"there is no layout engine; install the package {_PURE}, or Graphviz, or name a program in {VARIABLE}"
        )
    path = engine.path
    if format == "png" and engine.origin == _PURE and _NOT_IN_PURE.search(dot):
        path = Path(shutil.which("dot") or path)
    return _rendered(str(path), _NOT_XML.sub("\ufffd", dot), format, timeout)


@lru_cache(maxsize=128)
def _rendered(program: str, dot: str, format: Format, timeout: float) -> bytes:
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    options = ["-Gdpi=144"] if format == "png" else []
    try:
        done = subprocess.run(
            [program, "-Kdot", f"-T{format}", *options],
            input=dot.encode(),
            capture_output=True,
            timeout=timeout,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise RenderError(
            f"{program} took longer than {timeout:g} s; draw a smaller part, or allow more time"
        ) from None
    except OSError as error:
        raise RenderError(f"{program} cannot be run: {error.strerror or error}") from error
    if done.returncode != 0 or not done.stdout:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["it says nothing"]
        raise RenderError(f"{program} gave no {format} (exit status {done.returncode}): {lines[-1]}")
    return done.stdout
