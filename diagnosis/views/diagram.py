"""Diagrams: pictures that show themselves in a notebook and save themselves as files."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diagnosis.runtime import CompiledGraph, Model, Run, Shown, Topology
from diagnosis.scenarios.files import write_file
from diagnosis.views.dot import DrawError, dot_text
from diagnosis.views.mermaid import mermaid_text
from diagnosis.views.plantuml import plantuml_text
from diagnosis.views.render import TIMEOUT, RenderError, render

if TYPE_CHECKING:
    from diagnosis.verify import Chances, Coverage

ENDINGS = (".svg", ".png", ".dot", ".gv", ".mmd", ".mermaid", ".puml", ".plantuml")
"""The endings of files that a diagram can be saved as."""


@dataclass(frozen=True, repr=False)
class Diagram(Shown):
    """A picture of a graph.

    Attributes:
        dot: the picture in DOT.
        caption: the same as plain text.
        topology: what is drawn; ``None`` for a picture of something else.
    """

    dot: str
    caption: str
    topology: Topology | None = None

    def text(self) -> str:
        """Give the picture as plain text: a line a node and a line an edge, or the path, or the counts."""
        return self.caption

    def svg(self, *, timeout: float = TIMEOUT) -> str:
        """Give the picture as SVG, without scripts.

        Args:
            timeout: seconds after which to give up.

        Raises:
            RenderError: there is no layout engine, or it failed.
        """
        return render(self.dot, "svg", timeout=timeout).decode()

    def png(self, *, timeout: float = TIMEOUT) -> bytes:
        """Give the picture as PNG; Chinese text needs the system's Graphviz there, or else SVG.

        Args:
            timeout: seconds after which to give up.

        Raises:
            RenderError: there is no layout engine, or it failed.
        """
        return render(self.dot, "png", timeout=timeout)

    def data_uri(self) -> str | None:
        """Give the SVG as an address that holds the picture itself, for an image that needs no file and no network.

        Returns:
            The address, or ``None`` where the picture cannot be made; :meth:`text` and ``dot`` say the same then.
        """
        try:
            return f"data:image/svg+xml;base64,{base64.b64encode(self.svg().encode()).decode('ascii')}"
        except RenderError:
            return None

    def mermaid(self) -> str:
        """Give the topology as a Mermaid flowchart.

        Raises:
            DrawError: the picture is not of a topology.
        """
        return mermaid_text(self._declared("Mermaid"))

    def plantuml(self) -> str:
        """Give the topology as a PlantUML state diagram.

        Raises:
            DrawError: the picture is not of a topology.
        """
        return plantuml_text(self._declared("PlantUML"))

    def _declared(self, language: str) -> Topology:
        if self.topology is None:
            raise DrawError(f"only the topology of a graph can be written as {language}; use draw() on a graph")
        return self.topology

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Save the picture in the format of the file's ending. The file is complete or not there at all.

        Args:
            path: the file: .svg and .png are pictures, .dot and .gv Graphviz, .mmd and .mermaid Mermaid, .puml and
                .plantuml PlantUML. Mermaid and PlantUML hold the topology, without a run or coverage.

        Returns:
            The path.

        Raises:
            DrawError: the ending is another one.
            FileError: the file cannot be written.
            RenderError: a picture was asked for, and there is no layout engine, or it failed.
        """
        file = Path(path)
        write = self._writers().get(file.suffix.lower())
        if write is None:
            raise DrawError(f"{str(file)!r} ends in {file.suffix!r}; a diagram is saved as {', '.join(ENDINGS)}")
        return write_file(file, write())

    def _writers(self) -> dict[str, Callable[[], bytes]]:
        def dot() -> bytes:
            return self.dot.encode()

        def mermaid() -> bytes:
            return self.mermaid().encode()

        def plantuml() -> bytes:
            return self.plantuml().encode()

        writers = (lambda: self.svg().encode(), self.png, dot, dot, mermaid, mermaid, plantuml, plantuml)
        return dict(zip(ENDINGS, writers, strict=True))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        from diagnosis.views.display import bundle

        return bundle(self) or {}


Drawable = Model | CompiledGraph | Topology | Run
"""What can be drawn."""


def draw(
    subject: Drawable,
    *,
    run: Run | None = None,
    coverage: Coverage | None = None,
    chances: Chances | None = None,
) -> Diagram:
    """Draw a graph.

    Args:
        subject: a model, a compiled graph or a topology; a run stands for its graph with its own path.
        run: a run of the graph, whose path is shown, with step numbers in order.
        coverage: coverage of the graph, shown as hits on every node, edge and reason.
        chances: chances of the graph, shown as expected executions, and as the probability of every edge.

    Raises:
        DrawError: the subject is something else, what is shown on it is of another graph, or several are given.
    """
    if isinstance(subject, Run):
        if run is not None and run is not subject:
            raise DrawError("a run is drawn with its own path; draw its graph to show another run")
        run = subject
    topology = _topology(subject)
    dot = dot_text(topology, run=run, coverage=coverage, chances=chances)
    shown: Shown = next((each for each in (run, coverage, chances) if each is not None), topology)
    return Diagram(dot, shown.text(), topology)


def _topology(subject: object) -> Topology:
    if isinstance(subject, Topology):
        return subject
    if isinstance(subject, CompiledGraph):
        return subject.topology
    if isinstance(subject, Model | Run):
        return subject.graph.topology
    raise DrawError(f"a {type(subject).__name__} cannot be drawn; give a Model, CompiledGraph, Topology or Run")
