"""Regenerating notebooks: run each in a fresh kernel and store its outputs so that they repeat byte for byte."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from diagnosis.runtime import DiagnosisError

TIMEOUT = 120
"""Seconds that one cell may take."""


class NotebookError(DiagnosisError):
    """A notebook could not be run to its end."""


def regenerated(path: Path) -> str:
    """Run a notebook and give its text with the outputs stored.

    Args:
        path: an ``.ipynb`` file.

    Returns:
        The notebook as JSON text; the same bytes on every machine.

    Raises:
        NotebookError: a cell raised, or took too long.
    """
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=TIMEOUT,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
    )
    try:
        client.execute()
    except (CellExecutionError, RuntimeError) as error:
        raise NotebookError(f"{path.name}: {error}") from error
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number + 1:02}"
        cell.metadata.pop("execution", None)
    return str(nbformat.writes(notebook)).rstrip("\n") + "\n"


def main(folders: list[str]) -> int:
    """Regenerate every notebook in folders.

    Args:
        folders: where to look.

    Returns:
        The exit status: 0, or 2 where a notebook could not be run.
    """
    for folder in folders:
        for path in sorted(Path(folder).glob("*.ipynb")):
            try:
                text = regenerated(path)
            except NotebookError as error:
                sys.stderr.write(f"{error}\n")
                return 2
            changed = path.read_text(encoding="utf-8") != text
            path.write_text(text, encoding="utf-8")
            sys.stderr.write(f"{path}: {'written' if changed else 'unchanged'}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["notebooks"]))
