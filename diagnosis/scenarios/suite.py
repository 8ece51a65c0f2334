"""Suites: the scenarios of files and directories, with what was refused among them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from diagnosis.runtime import DiagnosisError, Model, Shown, one_of
from diagnosis.scenarios.document import ENDINGS, Document, load_document
from diagnosis.scenarios.places import DocumentError, Place, readable, shown
from diagnosis.scenarios.scenario import Scenario
from diagnosis.scenarios.script import Script

Models = Mapping[str, Model] | Callable[[str], Model]
"""Graph name -> model; as a function it raises a ``DiagnosisError`` for names that it does not know."""

PathLike = str | os.PathLike[str]


class NoSuchScenarioError(DiagnosisError, LookupError):
    """A suite has no scenario of that name."""


@dataclass(frozen=True, slots=True)
class Case:
    """A scenario that was loaded.

    Attributes:
        scenario: what the file says.
        file: the file, as it was found; ``None`` for a scenario made in code.
        model: the model of its graph.
        script: its outcomes, read for that model.
    """

    scenario: Scenario
    file: str | None
    model: Model
    script: Script


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file, or a path, that was refused.

    Attributes:
        file: the path, as it was named or found.
        error: why.
    """

    file: str
    error: DiagnosisError

    def to_json(self) -> dict[str, str]:
        """Give file and error as texts."""
        return {"file": self.file, "error": str(self.error)}


@dataclass(frozen=True, repr=False)
class Suite(Shown):
    """What a set of paths came to.

    Attributes:
        cases: the scenarios, in order of their files.
        refused: the files and paths that were refused, in order.
        files: every scenario file that was looked at, refused ones included; empty where the paths hold none.
    """

    cases: tuple[Case, ...]
    refused: tuple[Refusal, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def scenarios(self) -> tuple[tuple[Scenario, str | None], ...]:
        """Each scenario with its file."""
        return tuple((case.scenario, case.file) for case in self.cases)

    def without(self, *names: str) -> Suite:
        """Give the suite without some scenarios, such as to see what only they show.

        Args:
            names: their names.

        Raises:
            NoSuchScenarioError: the suite has no scenario of that name.
        """
        there = [case.scenario.name for case in self.cases]
        for name in names:
            if name not in there:
                raise NoSuchScenarioError(f"the suite has no scenario named {name!r}; there are {one_of(there)}")
        return replace(self, cases=tuple(case for case in self.cases if case.scenario.name not in names))

    @property
    def nothing_found(self) -> bool:
        """Whether there was no scenario file at all, and no path that could not be read."""
        return not self.files and not self.refused and not self.cases

    def text(self) -> str:
        """Give a line a scenario and a line a refusal."""
        lines = [f"Suite: {len(self.cases)} scenarios, {len(self.refused)} refused"]
        lines += [f"  {case.scenario.name}{f' ({case.file})' if case.file else ''}" for case in self.cases]
        lines += [f"  refused: {refusal.error}" for refusal in self.refused]
        return "\n".join(lines)


def find_files(paths: Iterable[PathLike]) -> tuple[list[str], list[Refusal]]:
    """Find the scenario files of paths.

    Args:
        paths: files, and directories to search. In a directory, files come sorted by path; hidden ones are skipped.

    Returns:
        Each file once, and the paths that are missing or cannot be read.
    """
    files: list[str] = []
    refused: list[Refusal] = []
    seen: set[str] = set()
    for path in paths:
        name = os.fspath(path)
        found = _walk(name, refused) if _is_directory(name) else [name]
        for file in found:
            real = _real(file)
            if real not in seen:
                seen.add(real)
                files.append(file)
    return files, refused


def _is_directory(name: str) -> bool:
    try:
        return Path(name).is_dir()
    except (OSError, ValueError):
        return False


def _real(name: str) -> str:
    try:
        return os.path.realpath(name)
    except (OSError, ValueError):
        return name


def _walk(top: str, refused: list[Refusal]) -> Iterator[str]:
    """Go through a directory, links to directories included, each real directory once."""
    entered = set()
    found = []

    def unreadable(error: OSError) -> None:
        file = readable(str(error.filename))
        found_text = f"a directory that cannot be read ({error.strerror})"
        refused.append(Refusal(file, DocumentError(found_text, "a readable directory", file=file)))

    for folder, inner, names in os.walk(top, followlinks=True, onerror=unreadable):
        real = _real(folder)
        if real in entered:
            inner.clear()
            continue
        entered.add(real)
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        found += [
            str(Path(folder, name))
            for name in names
            if not name.startswith(".") and Path(name).suffix.lower() in ENDINGS
        ]
    return iter(sorted(found, key=lambda file: Path(file).parts))


def load(paths: PathLike | Iterable[PathLike], models: Models) -> Suite:
    """Load the scenarios of files and directories.

    One bad item refuses its whole file, other files still load. Of two scenarios with the same name, the file of the
    later one is refused.

    Args:
        paths: a file or directory, or several.
        models: the models that files can name.
    """
    files, refused = find_files((paths,) if isinstance(paths, str | os.PathLike) else paths)
    cases: list[Case] = []
    owners: dict[str, str] = {}
    for file in files:
        try:
            loaded = _load_file(load_document(file), models, owners)
        except DiagnosisError as error:
            refused.append(Refusal(readable(file), error))
        else:
            owners.update((case.scenario.name, readable(file)) for case in loaded)
            cases += loaded
    return Suite(tuple(cases), tuple(refused), tuple(readable(file) for file in files))


def _load_file(document: Document, models: Models, owners: Mapping[str, str]) -> list[Case]:
    several = isinstance(document.data, list)
    if several and not document.data:
        raise document.refusal((), "an empty list", "at least one scenario")
    names = dict(owners)
    cases = []
    for number, item in enumerate(document.data if several else [document.data]):
        before: Place = (number,) if several else ()
        try:
            case = case_of(Scenario.parse(item), models, file=document.file)
            name = case.scenario.name
            if name in names:
                raise DocumentError(
                    f"the name {shown(name)}, which a scenario in {names[name]} has already",
                    "a name that no other scenario has",
                    place=("name",),
                )
        except DocumentError as error:
            raise document.refusal((*before, *error.place), error.found, error.allowed) from error.__cause__
        names[name] = document.file
        cases.append(case)
    return cases


def case_of(scenario: Scenario, models: Models, *, file: str | None = None) -> Case:
    """Bring a scenario and the model of its graph together.

    Args:
        scenario: the scenario.
        models: the models that it can name.
        file: where it came from.

    Raises:
        DocumentError: there is no such model, or the scenario does not fit it.
    """
    model = model_named(scenario.graph, models)
    return Case(scenario, file, model, Script.of(scenario, model))


def model_named(name: str, models: Models) -> Model:
    """Give a model by its name.

    Args:
        name: the name of a graph.
        models: the models that there are.

    Raises:
        DocumentError: there is no such model.
    """
    if callable(models):
        try:
            return models(name)
        except DiagnosisError as error:
            raise DocumentError(f"the unknown graph {shown(name)}", str(error), place=("graph",)) from None
    if name not in models:
        raise DocumentError(f"the unknown graph {shown(name)}", one_of(models), place=("graph",))
    return models[name]
