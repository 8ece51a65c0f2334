"""A certificate: what was proven of a graph, in a file that can be checked again."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from diagnosis.exports.fingerprint import fingerprint
from diagnosis.exports.trees import ExportError
from diagnosis.runtime import Model, thaw
from diagnosis.verify import Proof

FORMAT = "diagnosis-certificate"
VERSION = 1


class CertificateError(ExportError):
    """A file is no certificate; the text says what is wrong with it."""


def certificate(proof: Proof, *, max_states: int, max_seconds: float | None, version: str) -> dict[str, Any]:
    """Say what was proven, so that it can be checked again.

    Args:
        proof: the proof.
        max_states: the budget of control states that it had.
        max_seconds: the budget of time.
        version: the version of this package.

    Returns:
        Plain data: the same for the same graph and tools, on every machine.
    """
    model, document = proof.model, proof.to_json()
    return {
        "format": FORMAT,
        "version": VERSION,
        "graph": model.name,
        "fingerprint": fingerprint(model),
        "tools": {"diagnosis": version, "python": ".".join(platform.python_version_tuple()[:2])},
        "budgets": {"max_states": max_states, "max_seconds": max_seconds},
        "input": thaw(model.input),
        "alphabet": {node: list(outcomes) for node, outcomes in model.alphabet.items()},
        **{
            key: document.get(key)
            for key in (
                "projection",
                "control_states",
                "transitions",
                "scripts",
                "longest_path",
                "shortest_path",
                "reason",
                "never_taken",
                "never_won",
                "interleaved",
            )
        },
        "properties": [
            {
                "name": verdict.claim.name,
                "kind": verdict.claim.kind,
                "statement": verdict.claim.statement,
                "verdict": verdict.word,
                "detail": verdict.detail,
            }
            for verdict in proof.verdicts
        ],
    }


def certificate_text(document: Mapping[str, Any]) -> bytes:
    """Give the bytes of a certificate.

    Args:
        document: the certificate.
    """
    return (json.dumps(document, indent=1, default=str) + "\n").encode("ascii")


def read_certificate(path: Path, model: Model) -> dict[str, Any]:
    """Read a certificate of a model.

    Args:
        path: the file.
        model: the graph that it should be about.

    Raises:
        CertificateError: there is no such file, it is no certificate, or it is about another graph.
    """
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise CertificateError(f"{str(path)!r} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise CertificateError(f"{str(path)!r} is no certificate: it is no JSON document: {error}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise CertificateError(
            f"{str(path)!r} is no certificate; allowed: a file that 'diagnosis verify --certificate FILE' wrote"
        )
    if found.get("version") != VERSION:
        raise CertificateError(f"{str(path)!r} is a certificate of version {found.get('version')!r}, not {VERSION}")
    if found.get("graph") != model.name:
        raise CertificateError(
            f"{str(path)!r} is about the graph {found.get('graph')!r}, not {model.name!r}; name that graph"
        )
    budgets = found.get("budgets")
    states = budgets.get("max_states") if isinstance(budgets, dict) else None
    seconds = budgets.get("max_seconds") if isinstance(budgets, dict) else None
    if (
        type(states) is not int
        or states < 1
        or not (seconds is None or (type(seconds) in (int, float) and seconds > 0))
    ):
        raise CertificateError(f"{str(path)!r} is no certificate: its budgets are no positive numbers")
    return found


def certificate_differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Say what a certificate says that is not so any more.

    Args:
        old: the certificate.
        new: one of the graph as it is now.

    Returns:
        A line a difference; none where the certificate still stands. Other tools alone do not make it stale.
    """
    before, after = _comparable(old), _comparable(new)
    return list(_different("", before, after))


def _comparable(document: Mapping[str, Any]) -> dict[str, Any]:
    found = json.loads(certificate_text(document))
    found.pop("tools", None)
    if isinstance(found.get("fingerprint"), dict):
        found["fingerprint"] = found["fingerprint"].get("parts")
    properties = found.get("properties")
    if isinstance(properties, list) and all(isinstance(each, dict) for each in properties):
        # The detail repeats counts that are compared already.
        found["properties"] = {
            str(each.get("name")): {key: value for key, value in each.items() if key not in ("name", "detail")}
            for each in properties
        }
    return dict(found)


def _different(where: str, old: Any, new: Any) -> Iterator[str]:
    if old == new and type(old) is type(new):
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys((*old, *new)):
            place = f"{where}.{key}" if where else str(key)
            if key not in new:
                yield f"{place}: is gone"
            elif key not in old:
                yield f"{place}: is new"
            else:
                yield from _different(place, old[key], new[key])
    elif where.startswith("fingerprint."):
        yield f"{where}: has changed"
    else:
        yield f"{where}: was {_told(old)}, is {_told(new)}"


def _told(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 100 else text[:97] + "..."
