"""Shipped files are found in a checkout and in an installed package, and nowhere else."""

from pathlib import Path

import pytest

from diagnosis.views import ShippedError, shipped, shipped_notebooks, shipped_scenarios

ROOT = Path(__file__).parents[2]


def test_in_a_checkout_the_scenarios_lie_under_data() -> None:
    assert shipped_scenarios() == ROOT / "data" / "scenarios"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site-packages" / "diagnosis"
    folder.mkdir(parents=True)
    monkeypatch.setattr(shipped, "_PACKAGE", folder)
    return folder


def test_in_an_installed_package_they_lie_inside_it(package: Path) -> None:
    for name in ("scenarios", "notebooks"):
        (package / "_data" / name).mkdir(parents=True)
    (package.parent / "pyproject.toml").touch()
    (package.parent / "data" / "scenarios").mkdir(parents=True)
    assert shipped_scenarios() == package / "_data" / "scenarios"
    assert shipped_notebooks() == package / "_data" / "notebooks"


def test_in_a_checkout_the_notebooks_lie_at_its_top(package: Path) -> None:
    (package.parent / "pyproject.toml").touch()
    (package.parent / "notebooks").mkdir()
    assert shipped_notebooks() == package.parent / "notebooks"


def test_the_data_of_another_package_is_not_taken_for_ours(package: Path) -> None:
    (package.parent / "data" / "scenarios").mkdir(parents=True)
    with pytest.raises(ShippedError, match=r"the shipped scenarios are neither in .*_data.* nor in .*data"):
        shipped_scenarios()


def test_missing_notebooks_are_an_error_that_says_where_they_were_sought(package: Path) -> None:
    with pytest.raises(ShippedError, match="the shipped notebooks are neither in"):
        shipped_notebooks()
