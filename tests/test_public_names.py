from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import diagnosis

STUB = Path(diagnosis.__file__).with_suffix(".pyi")


def test_every_public_name_is_there_and_documented():
    for name in diagnosis.__all__:
        value = getattr(diagnosis, name)
        if isinstance(value, type) or callable(value):
            assert value.__doc__, name


def test_the_stub_lists_what_is_handed_on():
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    listed = next(ast.literal_eval(n.value) for n in tree.body if isinstance(n, ast.Assign))
    assert sorted(listed) == sorted(diagnosis.__all__)


def test_importing_the_package_loads_nothing_heavy():
    code = (
        "import sys, diagnosis; print([m for m in ('pandas', 'graphviz', 'IPython', 'pydantic') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_name_that_is_not_there_is_an_attribute_error():
    assert not hasattr(diagnosis, "no_such_name")
    assert "Model" in dir(diagnosis)
