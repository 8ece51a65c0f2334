"""Scenarios written as files that load back equal."""

from __future__ import annotations

import os
import tempfile
import unicodedata
from pathlib import Path
from typing import Any, Final

import yaml

from diagnosis.runtime import DiagnosisError
from diagnosis.scenarios.limits import MAX_BYTES, Unfit
from diagnosis.scenarios.places import DocumentError, shown
from diagnosis.scenarios.scenario import Scenario
from diagnosis.scenarios.yaml_text import read_yaml

_LONGEST_NAME: Final = 150


class WriteError(DiagnosisError):
    """A scenario could not be written; the text says where and why."""


def scenario_text(scenario: Scenario) -> str:
    """Write a scenario as YAML.

    Args:
        scenario: the scenario.

    Returns:
        A text that loads back equal.

    Raises:
        WriteError: it holds something that no file can say.
    """
    content = scenario.to_map()
    try:
        text = yaml.dump(
            content, Dumper=_Dumper, allow_unicode=True, sort_keys=False, default_flow_style=None, width=120
        )
        same = (
            len(text.encode()) <= MAX_BYTES and read_yaml(text).data == content and Scenario.parse(content) == scenario
        )
    except (yaml.YAMLError, Unfit, DocumentError, UnicodeEncodeError, RecursionError) as error:
        raise WriteError(f"scenario {shown(scenario.name)} cannot be written: {_why(error)}") from None
    if not same:
        raise WriteError(f"scenario {shown(scenario.name)} holds values that would not load back equal")
    return text


def write_scenario(scenario: Scenario, directory: str | os.PathLike[str]) -> Path:
    """Write a scenario to a new file, all at once; no file is ever overwritten.

    Args:
        scenario: the scenario.
        directory: where to; made if it is missing.

    Returns:
        The file, named after the scenario, with a number where that name was taken by something else.

    Raises:
        WriteError: the scenario or the file cannot be written.
    """
    content = scenario_text(scenario)
    folder = Path(directory)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="\n", dir=folder, prefix=".saving-", suffix=".tmp", delete=False
        ) as draft:
            try:
                draft.write(content)
                draft.flush()
                os.fsync(draft.fileno())
                return _publish(Path(draft.name), folder, file_stem(scenario.name))
            except BaseException:
                Path(draft.name).unlink(missing_ok=True)
                raise
    except (OSError, ValueError) as error:
        raise WriteError(f"scenario {shown(scenario.name)} cannot be written to {folder}: {error}") from error


def file_stem(name: str) -> str:
    """Give a file name without ending that is safe everywhere.

    Args:
        name: a scenario's name, any text.

    Returns:
        Its letters, digits, ``-``, ``_`` and single dots; runs of all else become one ``_``.
    """
    letters = [char if char.isalnum() or char in "-_." else " " for char in unicodedata.normalize("NFC", name)]
    stem = "_".join("".join(letters).split()).strip("._")
    while len(stem.encode()) > _LONGEST_NAME:
        stem = stem[:-1]
    return stem or "scenario"


def _publish(draft: Path, folder: Path, stem: str) -> Path:
    """Give a finished draft the first free name; testing a name and taking it are one operation."""
    number = 1
    while True:
        file = folder / (f"{stem}.yaml" if number == 1 else f"{stem}-{number}.yaml")
        try:
            file.touch(exist_ok=False)
            break
        except FileExistsError:
            if file.read_bytes() == draft.read_bytes():
                draft.unlink()
                return file
            number += 1
    try:
        draft.chmod(file.stat().st_mode)
        draft.replace(file)
    except BaseException:
        file.unlink()
        raise
    return file


def _why(error: Exception) -> str:
    return error.found if isinstance(error, Unfit) else str(error) or type(error).__name__


class _Dumper(yaml.SafeDumper):
    """Plain YAML: no aliases, no text broken over lines, and quotes around all that another reader might misread."""

    def represent(self, data: Any) -> None:
        document: Any = self.represent_data(data)
        document.flow_style = False
        for key, part in document.value:
            if key.value in ("script", "winners", "expect"):
                part.flow_style = False
        self.serialize(document)

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def write_plain(self, text: str, split: bool = True) -> None:
        super().write_plain(text, split=False)

    def write_single_quoted(self, text: str, split: bool = True) -> None:
        super().write_single_quoted(text, split=False)

    def write_double_quoted(self, text: str, split: bool = True) -> None:
        super().write_double_quoted(text, split=False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None
    if not text.isprintable():
        style = '"'
    elif _looks_like_a_number(text):
        style = "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _looks_like_a_number(text: str) -> bool:
    """Tell whether some reader of YAML, if not this one, would take a text for a number."""
    try:
        float(text.replace("_", ""))
    except ValueError:
        return text[:2].lower() in ("0x", "0o", "0b")
    return True


_Dumper.add_representer(str, _text)
