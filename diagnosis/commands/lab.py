"""The command ``diagnosis lab``."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import click

from diagnosis.process import RefusedError, print_json


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--json", "as_json", is_flag=True, help="Print what would be opened, and open nothing.")
def lab(arguments: tuple[str, ...], as_json: bool) -> int:
    """Open JupyterLab on the notebooks; further ARGUMENTS go to JupyterLab.

    From an installed package the notebooks are copied to ./diagnosis-notebooks first; what is there is kept.

    \b
    Example:
      diagnosis lab
      diagnosis lab --no-browser --port 8899
    """
    from diagnosis.views.shipped import shipped_notebooks

    if importlib.util.find_spec("jupyterlab") is None:
        raise RefusedError("JupyterLab is not installed; install it with: pip install 'diagnosis[lab]'")
    folder = shipped_notebooks()
    if folder.is_relative_to(Path(__file__).parents[1]):
        folder = _copied(folder, Path("diagnosis-notebooks"), really=not as_json)
    command = [sys.executable, "-m", "jupyterlab", str(folder), *arguments]
    if as_json:
        print_json({"notebooks": str(folder), "command": command})
        return 0
    return subprocess.run(command, check=False).returncode


def _copied(folder: Path, copy: Path, *, really: bool) -> Path:
    """Copy the notebooks that are not there yet."""
    try:
        if really:
            copy.mkdir(exist_ok=True)
            for notebook in sorted(folder.glob("*.ipynb")):
                if not (copy / notebook.name).exists():
                    shutil.copyfile(notebook, copy / notebook.name)
        return copy.absolute()
    except OSError as error:
        raise RefusedError(f"the notebooks cannot be copied to {copy}: {error.strerror or error}") from error
