"""What was accepted of a graph: broken properties and findings that do not fail any more."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from diagnosis.runtime import DiagnosisError, one_of
from diagnosis.scenarios.document import Document, load_document
from diagnosis.scenarios.places import shown
from diagnosis.verify.findings import Remark
from diagnosis.verify.proof import Proof, Verdict

PROPERTY: Final = "property"
"""The kind under which a broken property is accepted, by its name."""

_PARTS: Final = ("graph", "accepted")
_ENTRY: Final = ("kind", "where")


class BaselineError(DiagnosisError):
    """A baseline cannot be used: it is of another graph."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """What was accepted of one graph.

    Attributes:
        graph: the name of the graph.
        accepted: (kind, where) of each finding; of a broken property ``property`` and its name.
    """

    graph: str
    accepted: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def of(cls, proof: Proof) -> Baseline:
        """Accept all that a proof found; what is not proven is never accepted.

        Args:
            proof: the proof.
        """
        return cls(proof.model.name, frozenset(_found(proof)))

    def text(self) -> str:
        """Give the file: JSON, sorted, so that a change of it can be reviewed line by line."""
        entries = [json.dumps({"kind": kind, "where": where}) for kind, where in sorted(self.accepted)]
        inner = "".join(f"\n    {entry}," for entry in entries).removesuffix(",")
        accepted = f"[{inner}\n  ]" if entries else "[]"
        return f'{{\n  "graph": {json.dumps(self.graph)},\n  "accepted": {accepted}\n}}\n'

    def accepts(self, found: Remark | Verdict) -> bool:
        """Tell whether a finding, or a broken property, was accepted.

        Args:
            found: one of a proof's.
        """
        if isinstance(found, Verdict):
            return found.holds is False and (PROPERTY, found.claim.name) in self.accepted
        return (found.kind, found.where) in self.accepted

    def stale(self, proof: Proof) -> tuple[tuple[str, str], ...]:
        """Give what was accepted and is not found any more, sorted.

        Args:
            proof: a proof of the graph; of one that is not complete nothing is said.
        """
        return tuple(sorted(self.accepted - set(_found(proof)))) if proof.space.complete else ()

    def must_fit(self, proof: Proof) -> None:
        """Refuse a baseline of another graph.

        Args:
            proof: the proof that it is to be used with.

        Raises:
            BaselineError: it is of another one.
        """
        if self.graph != proof.model.name:
            raise BaselineError(
                f"the baseline is of graph {self.graph!r}, not of {proof.model.name!r}; write one with --write-baseline"
            )


def _found(proof: Proof) -> Iterator[tuple[str, str]]:
    for verdict in proof.verdicts:
        if verdict.holds is False:
            yield PROPERTY, verdict.claim.name
    for remark in proof.findings:
        yield remark.kind, remark.where


def read_baseline(file: str | os.PathLike[str]) -> Baseline:
    """Read a baseline.

    Args:
        file: a JSON or YAML file, as ``--write-baseline`` writes it.

    Raises:
        DocumentError: it cannot be read, or is no baseline; the error says where.
    """
    document = load_document(os.fspath(file))
    data = _mapping(document, document.data, (), _PARTS)
    if not isinstance(data["graph"], str):
        raise document.refusal(("graph",), shown(data["graph"]), "the name of a graph")
    if not isinstance(data["accepted"], list):
        raise document.refusal(("accepted",), shown(data["accepted"]), "a list")
    accepted = set()
    for number, item in enumerate(data["accepted"]):
        entry = _mapping(document, item, ("accepted", number), _ENTRY)
        for key in _ENTRY:
            if not isinstance(entry[key], str):
                raise document.refusal(("accepted", number, key), shown(entry[key]), "a text")
        accepted.add((entry["kind"], entry["where"]))
    return Baseline(data["graph"], frozenset(accepted))


def _mapping(document: Document, found: Any, place: tuple[str | int, ...], keys: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(found, Mapping):
        raise document.refusal(place, shown(found), f"a mapping with {one_of(keys)}")
    for key in keys:
        if key not in found:
            raise document.refusal(place, f"no {key!r}", f"one; {key!r} is required")
    for key in found:
        if key not in keys:
            raise document.refusal((*place, str(key)), f"the unknown key {shown(key)}", one_of(keys))
    return found
