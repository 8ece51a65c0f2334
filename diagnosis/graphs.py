"""Graphs by name: the shipped ones, and those that a user brings."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from diagnosis.catalog import shipped, shipped_names
from diagnosis.process import RefusedError, where
from diagnosis.runtime import Model, one_of, told
from diagnosis.scale import import_model, noted

_ALLOWED = "allowed: NAME=module:attribute, such as mine=my_graphs:model"


def model_at(spec: str) -> Model:
    """Import a model.

    Args:
        spec: ``module:attribute``; the attribute is a Model or a function that gives one.

    Raises:
        RefusedError: there is no such model, or its module cannot be imported; the text says where that failed.
    """
    module, _, attribute = spec.partition(":")
    if not module or not attribute:
        raise RefusedError(f"--graph: found {spec!r}; {_ALLOWED}")
    try:
        here = str(Path.cwd())
        if "" not in sys.path and here not in sys.path:
            sys.path.insert(0, here)
        found = import_model(spec)
    except (Exception, SystemExit) as error:
        raise RefusedError(f"--graph: {spec} cannot be loaded: {told(error)}{where(error)}") from None
    if not isinstance(found, Model):
        raise RefusedError(
            f"--graph: {spec} is {type(found).__name__}; allowed: a diagnosis.Model, or a function that gives one"
        )
    return noted(found, spec)


class Models(Mapping[str, Model]):
    """The models by name: those that the user brings first, then the shipped ones.

    Args:
        given: texts ``NAME=module:attribute``.

    Raises:
        RefusedError: a text is of another form, a name comes twice, or a model cannot be loaded.
    """

    def __init__(self, given: Iterable[str]) -> None:
        self._own: dict[str, Model] = {}
        for text in given:
            name, sign, spec = text.partition("=")
            if not sign or not name.strip():
                raise RefusedError(f"--graph: found {text!r}; {_ALLOWED}")
            if name in self._own:
                raise RefusedError(f"--graph: {name!r} is given twice; give each graph its own name")
            # Under the name that files are to use.
            self._own[name] = noted(dataclasses.replace(model_at(spec), name=name), spec)

    def __getitem__(self, name: str) -> Model:
        if name in self._own:
            return self._own[name]
        if name in shipped_names():
            return shipped(name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._own, *shipped_names())))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def chosen(self, name: str | None) -> Model:
        """Give the graph that a command is about.

        Args:
            name: a name, ``module:attribute``, or ``None``: the only one that the user brings, else the shipped one.

        Raises:
            RefusedError: there is no such graph.
        """
        if name is None:
            name = next(iter(self._own)) if len(self._own) == 1 else shipped_names()[0]
        if name in self:
            return self[name]
        if ":" in name:
            return model_at(name)
        raise RefusedError(
            f"no graph named {name!r}; there is {one_of(self)}; bring your own with --graph NAME=module:attribute"
        )
