"""Where a model can be imported from, so that other processes get it by its name and never as an object."""

from __future__ import annotations

import dataclasses
import importlib
import sys
import threading
from typing import Any, NamedTuple

from diagnosis.runtime import DiagnosisError, Model, told

_NOTED = "_origin"
_local = threading.local()


class NotImportableError(DiagnosisError):
    """A model is needed in another process, and cannot be imported there."""


class Origin(NamedTuple):
    """How another process comes by a model.

    Attributes:
        spec: ``module:attribute``; the attribute is a Model or a function that gives one.
        name: the name that the model has here.
        mark: a text that differs where the graph, its keys or its outcomes do.
    """

    spec: str
    name: str
    mark: str


def import_model(spec: str) -> Any:
    """Import what a text names; a function is called.

    Args:
        spec: ``module:attribute``; the attribute may have dots.

    Returns:
        What stands there: a Model, or something else.
    """
    module, _, attribute = spec.partition(":")
    found: Any = importlib.import_module(module)
    for part in attribute.split("."):
        found = getattr(found, part)
    return found() if callable(found) and not isinstance(found, Model) else found


def noted(model: Model, spec: str) -> Model:
    """Note where a model was imported from.

    Args:
        model: the model. A changed copy of it forgets the note.
        spec: ``module:attribute``.

    Returns:
        The model.
    """
    object.__setattr__(model, _NOTED, spec)  # no field: whatever dataclasses.replace changes is not imported
    return model


def origin_of(model: Model) -> Origin:
    """Say how another process comes by a model.

    Args:
        model: the model.

    Raises:
        NotImportableError: it was neither loaded by its name, nor is it an attribute of a module.
    """
    spec = getattr(model, _NOTED, None) or _found(model)
    if spec is None:
        raise NotImportableError(
            f"model {model.name!r} was made in this process, and other workers cannot get at it; allowed: a shipped "
            "model, one named by MODULE:ATTRIBUTE, or one that an imported module holds as an attribute; put it into "
            "a module of its own, or leave out the executor"
        )
    return Origin(spec, model.name, _mark(model))


def _found(model: Model) -> str | None:
    for module, loaded in sorted(sys.modules.items()):
        if module != "__main__":
            for attribute, value in list(getattr(loaded, "__dict__", {}).items()):
                if value is model:
                    return f"{module}:{attribute}"
    return None


def _mark(model: Model) -> str:
    outcomes = {node: list(found) for node, found in model.alphabet.items()}
    return f"{model.graph.fingerprint} {outcomes}"


def worker_model(origin: Origin) -> Model:
    """Give a model in a worker, where each thread keeps the models that it has imported.

    Args:
        origin: where it comes from.

    Raises:
        NotImportableError: it cannot be imported here, or is another one.
    """
    kept: dict[Origin, Model] = _local.__dict__.setdefault("models", {})
    if origin not in kept:
        try:
            model = import_model(origin.spec)
        except (Exception, SystemExit) as error:
            raise NotImportableError(f"a worker cannot import {origin.spec}: {told(error)}") from None
        if not isinstance(model, Model):
            raise NotImportableError(f"a worker found {type(model).__name__} as {origin.spec}, not a diagnosis.Model")
        if _mark(model) != origin.mark:
            raise NotImportableError(
                f"a worker found another model as {origin.spec} than was given; its graph, keys or outcomes differ; "
                "give every worker the same version of the module"
            )
        kept[origin] = dataclasses.replace(model, name=origin.name)
    return kept[origin]
