"""Shipped files: the scenarios, traces and notebooks that come with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from diagnosis.runtime import DiagnosisError

_PACKAGE: Final = Path(__file__).resolve().parents[1]


class ShippedError(DiagnosisError):
    """Files that come with the package are not there."""


def shipped_scenarios() -> Path:
    """Give the directory of the shipped scenario files.

    Raises:
        ShippedError: it is not there.
    """
    return _directory("scenarios", "data/scenarios")


def shipped_traces() -> Path:
    """Give the directory of the shipped recorded traces.

    Raises:
        ShippedError: it is not there.
    """
    return _directory("traces", "data/traces")


def shipped_notebooks() -> Path:
    """Give the directory of the shipped notebooks.

    Raises:
        ShippedError: it is not there.
    """
    return _directory("notebooks", "notebooks")


def _directory(name: str, in_checkout: str) -> Path:
    """Find shipped files inside the installed package, else in the checkout that the package lies in."""
    installed = _PACKAGE / "_data" / name
    if installed.is_dir():
        return installed
    root = _PACKAGE.parent
    checkout = root / in_checkout
    if checkout.is_dir() and (root / "pyproject.toml").is_file():
        return checkout
    raise ShippedError(
        f"the shipped {name} are neither in {str(installed)!r} nor in {str(checkout)!r}; install the package again"
    )
