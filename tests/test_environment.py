"""environment.yml says the same as pyproject.toml.

Nothing here solves the environment: only the two documents are compared.
"""

import copy
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]

KEYS = {"name", "channels", "dependencies"}
CHANNELS = ["conda-forge", "nodefaults"]
EDITABLE = "-e .[dev]"
# What conda-forge calls differently, and what it does not have (pip brings it).
CONDA_NAMES = {"graphviz": "python-graphviz"}
PIP_ONLY = {"graphviz-pure"}


def conda_packages(entries: list[Any]) -> tuple[dict[str, SpecifierSet], list[str], list[str]]:
    """Split the dependency list: conda's packages with their ranges, pip's lines, and what was wrong."""
    packages: dict[str, SpecifierSet] = {}
    pip_lines: list[str] = []
    wrong: list[str] = []
    for entry in entries:
        if isinstance(entry, dict) and set(entry) == {"pip"}:
            pip_lines += entry["pip"] or []
            continue
        try:
            requirement = Requirement(entry)
        except (InvalidRequirement, TypeError):
            wrong.append(f"dependencies: cannot read {entry!r}")
            continue
        if requirement.name in packages:
            wrong.append(f"dependencies: {requirement.name} is listed twice")
        packages[requirement.name] = requirement.specifier
    return packages, pip_lines, wrong


def expected_packages(project: dict[str, Any]) -> dict[str, SpecifierSet]:
    """What a conda user must get from conda: Python, the core dependencies, Dask and the lab, under conda's names."""
    wanted = {"python": SpecifierSet(project["requires-python"])}
    extras = project["optional-dependencies"]
    for text in [*project["dependencies"], *extras["dask"], *extras["lab"]]:
        requirement = Requirement(text)
        name = canonicalize_name(requirement.name)
        if name not in PIP_ONLY:
            wanted[CONDA_NAMES.get(name, name)] = requirement.specifier
    return wanted


def disagreements(environment: dict[str, Any], project: dict[str, Any]) -> list[str]:
    """List, in words, each way in which the environment document departs from the project table."""
    if set(environment) != KEYS:
        return [f"keys: found {sorted(environment)}, expected {sorted(KEYS)}"]
    found = []
    if environment["name"] != project["name"]:
        found.append(f"name: found {environment['name']!r}, expected {project['name']!r}")
    if environment["channels"] != CHANNELS:
        found.append(f"channels: found {environment['channels']}, expected {CHANNELS}")

    packages, pip_lines, wrong = conda_packages(environment["dependencies"])
    found += wrong
    if "pip" not in packages:
        found.append("dependencies: pip itself is missing")
    if pip_lines != [EDITABLE]:
        found.append(f"pip: found {pip_lines}, expected {[EDITABLE]}")

    wanted = expected_packages(project)
    listed = {name: spec for name, spec in packages.items() if name != "pip"}
    found += [f"dependencies: {name} is missing" for name in wanted.keys() - listed.keys()]
    found += [f"dependencies: {name} is unknown to pyproject.toml" for name in listed.keys() - wanted.keys()]
    found += [
        f"dependencies: {name} has {listed[name]}, pyproject.toml has {wanted[name]}"
        for name in wanted.keys() & listed.keys()
        if listed[name] != wanted[name]
    ]
    return sorted(found)


@pytest.fixture
def environment() -> dict[str, Any]:
    document = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    return document


@pytest.fixture
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_environment_and_pyproject_agree(environment: dict[str, Any], project: dict[str, Any]) -> None:
    assert disagreements(environment, project) == []


def test_every_range_of_pyproject_is_readable(project: dict[str, Any]) -> None:
    try:
        SpecifierSet(project["requires-python"])
        for texts in [project["dependencies"], *project["optional-dependencies"].values()]:
            for text in texts:
                Requirement(text)
    except (InvalidRequirement, InvalidSpecifier) as error:
        pytest.fail(str(error))


def swap(old: str, new: Any) -> Any:
    """Return an edit that replaces the dependency `old` by `new`, or drops it when `new` is None."""

    def edit(environment: dict[str, Any]) -> None:
        entries = environment["dependencies"]
        place = entries.index(old)
        entries[place : place + 1] = [] if new is None else [new]

    return edit


def put(key: str, value: Any) -> Any:
    def edit(environment: dict[str, Any]) -> None:
        environment[key] = value

    return edit


def add(entry: Any) -> Any:
    return lambda environment: environment["dependencies"].append(entry)


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (put("prefix", "/opt/x"), "keys: found ['channels', 'dependencies', 'name', 'prefix']"),
        (put("name", "other"), "name: found 'other', expected 'diagnosis'"),
        (put("channels", ["defaults"]), "channels: found ['defaults']"),
        (swap("pip", None), "dependencies: pip itself is missing"),
        (swap("click>=8.1,<9", None), "dependencies: click is missing"),
        (swap("click>=8.1,<9", "click>=8.1"), "dependencies: click has >=8.1, pyproject.toml has"),
        (swap("click>=8.1,<9", "click=>8"), "dependencies: cannot read 'click=>8'"),
        (swap("python>=3.11,<3.14", "python>=3.10,<3.14"), "dependencies: python has"),
        (add("click>=8.1,<9"), "dependencies: click is listed twice"),
        (add("polars>=1"), "dependencies: polars is unknown to pyproject.toml"),
        (add("graphviz"), "dependencies: graphviz is unknown to pyproject.toml"),
        (add({"pip": ["numpy"]}), "pip: found ['-e .[dev]', 'numpy']"),
        (add({"npm": ["left"]}), "dependencies: cannot read {'npm': ['left']}"),
    ],
)
def test_a_broken_environment_is_named(
    edit: Any, complaint: str, environment: dict[str, Any], project: dict[str, Any]
) -> None:
    broken = copy.deepcopy(environment)
    edit(broken)
    assert any(line.startswith(complaint) for line in disagreements(broken, project)), disagreements(broken, project)


def test_a_dependency_new_in_pyproject_is_missed_in_the_environment(
    environment: dict[str, Any], project: dict[str, Any]
) -> None:
    project["dependencies"].append("polars>=1,<2")
    assert disagreements(environment, project) == ["dependencies: polars is missing"]
