"""SPIN itself, where it is installed: compiles a model and reads what it counted."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

needs_spin = pytest.mark.skipif(
    not (shutil.which("spin") and shutil.which("gcc")), reason="SPIN or gcc is not installed (Debian: spin, gcc)"
)


@dataclass(frozen=True)
class Counted:
    """What SPIN found: states, transitions without the initial one, errors, the depth of the first, lengths of runs."""

    states: int
    transitions: int
    errors: int
    depth: int | None
    lengths: Counter[int]

    @property
    def scripts(self) -> int:
        return self.lengths.total()

    @property
    def longest(self) -> int:
        return max(self.lengths)


@cache
def spin(text: str, *defines: str, compiler: tuple[str, ...] = ("-DSAFETY",), run: tuple[str, ...] = ()) -> Counted:
    """Let SPIN explore a model; ``defines`` such as ``SCRIPTS=20`` go to the model."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "model.pml").write_text(text)

        def called(*command: str) -> str:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240)
            assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
            return done.stdout

        told = called("spin", "-a", "-o2", *(f"-D{each}" for each in defines), "model.pml")
        assert "error" not in told.lower(), told
        called("gcc", "-O0", "-w", "-DNOREDUCE", *compiler, "-o", "pan", "pan.c")
        told = called("./pan", "-m100000", *run)
    found = re.search(r"errors: (\d+)", told)
    assert found is not None, told[-3000:]
    assert "out of memory" not in told, told[-3000:]
    assert "max search depth too small" not in told, told[-3000:]
    states = re.search(r"\(?(\d+) nominal states", told) or re.search(r"(\d+) states, stored", told)
    transitions = re.search(r"(\d+) transitions", told)
    assert states is not None, told
    assert transitions is not None, told
    depth = re.search(r"\(at depth (\d+)\)", told)
    lengths = Counter(int(length) for length in re.findall(r"^a run of (\d+)$", told, re.M))
    return Counted(
        int(states[1]), int(transitions[1]) - 1, int(found[1]), None if depth is None else int(depth[1]), lengths
    )
