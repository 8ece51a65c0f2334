"""Coverage kept in a file, and merged later with that of other runs of the same graph."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from diagnosis.runtime import one_of
from diagnosis.verify.coverage.kinds import ALL, ALONE, FIRST, FURTHER, KINDS, WINNER, CoverageError
from diagnosis.verify.coverage.observed import Observed
from diagnosis.verify.coverage.result import Coverage, assembled
from diagnosis.verify.space import StateSpace

FORMAT: Final = "diagnosis coverage"
VERSION: Final = 1

_PARTS = ("graph", "fingerprint", "behaviour", "kinds", "runs", "seen", "outside", "errors")


def behaviour_of(space: StateSpace) -> str | None:
    """Give a short text that differs where two versions of a graph route differently; ``None`` where not all is known.

    Args:
        space: the explored space.
    """
    if not space.complete:
        return None
    digest = hashlib.sha256()
    for number, outgoing in enumerate(space.outgoing):
        here = space.mover(number)
        digest.update(repr((here.node, here.branch)).encode("utf-8", "backslashreplace"))
        for edge in outgoing:
            truths = [(row.rule.name, row.truths) for row in edge.truths]
            ways = [(each.route, each.target, each.rule, each.reason) for each in edge.choices]
            shown = (edge.outcome, edge.target, ways, edge.attempt, truths, edge.winner)
            digest.update(repr(shown).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()[:16]


def saved_text(coverages: Iterable[Coverage]) -> str:
    """Write coverage as JSON.

    Args:
        coverages: one for each graph.

    Returns:
        A text from which :func:`loaded` gives the same coverage again.
    """
    graphs = [_saved(coverage) for coverage in coverages]
    return json.dumps({"format": FORMAT, "version": VERSION, "graphs": graphs}, indent=1) + "\n"


def _saved(coverage: Coverage) -> dict[str, Any]:
    seen: dict[str, dict[str, int]] = {}
    for (kind, name), count in sorted(coverage.seen.items()):
        seen.setdefault(kind, {})[name] = count
    space = None if coverage.observed is None else coverage.observed.space
    return {
        "graph": coverage.model.name,
        "fingerprint": coverage.model.graph.fingerprint,
        "recursion_limit": coverage.model.graph.recursion_limit,
        "behaviour": None if space is None else behaviour_of(space),
        "kinds": list(coverage.kinds),
        "runs": coverage.runs,
        "seen": seen,
        "outside": list(coverage.outside),
        "errors": list(coverage.errors),
    }


def graphs_in(text: str, where: str) -> dict[str, Mapping[str, Any]]:
    """Read a file of coverage.

    Args:
        text: what it holds.
        where: how errors name it.

    Returns:
        The graph's name -> what was saved of it, for :func:`loaded`.

    Raises:
        CoverageError: it is no such file, or of a version that is not known.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CoverageError(f"{where}: no coverage data: {error}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise CoverageError(f"{where}: no coverage data; write it with diagnosis coverage --save-data FILE")
    if found.get("version") != VERSION:
        raise CoverageError(f"{where}: coverage data of version {found.get('version')!r}; allowed: {VERSION}")
    graphs = found.get("graphs")
    if not isinstance(graphs, list):
        raise CoverageError(f"{where}: 'graphs': found {type(graphs).__name__}, allowed: a list")
    for number, part in enumerate(graphs):
        flaw = _flaw(part)
        if flaw is not None:
            raise CoverageError(f"{where}: graphs[{number}]{flaw}; save it again")
    return {part["graph"]: part for part in graphs}


def _flaw(part: Any) -> str | None:
    """Say what is wrong with what was saved of one graph."""
    if not isinstance(part, dict) or any(name not in part for name in _PARTS):
        return f": allowed: a mapping with {one_of(_PARTS)}"
    for name in ("kinds", "outside", "errors"):
        if not isinstance(part[name], list) or not all(isinstance(each, str) for each in part[name]):
            return f".{name}: allowed: a list of texts"
    if not _is_count(part["runs"]):
        return f".runs: found {part['runs']!r}, allowed: a whole number from 0"
    kinds = (*KINDS, WINNER, *FURTHER, ALL, ALONE, FIRST)
    seen = part["seen"]
    if not isinstance(seen, dict) or any(kind not in kinds for kind in seen):
        return f".seen: allowed: a mapping; its keys are {one_of(kinds)}"
    for kind, counts in seen.items():
        if not isinstance(counts, dict) or not all(map(_is_count, counts.values())):
            return f".seen.{kind}: allowed: a mapping from name to a whole number from 0"
    return None


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def loaded(saved: Mapping[str, Any], observed: Observed, where: str) -> Coverage:
    """Give the coverage that was saved of a graph.

    Args:
        saved: one of what :func:`graphs_in` gave.
        observed: the explored space of the graph, with what is to be counted.
        where: how errors name the file.

    Raises:
        CoverageError: the graph has changed since, or what is to be counted was not counted then.
    """
    model, name = observed.space.model, saved["graph"]
    now, then = model.graph.fingerprint, saved["fingerprint"]
    if now != then:
        raise CoverageError(
            f"{where}: stale: graph {name!r} has changed since (fingerprint {then!r}, now {now!r}); "
            "measure its runs again"
        )
    limit = model.graph.recursion_limit
    measured = saved.get("recursion_limit", limit)  # older files do not tell
    if measured != limit:
        raise CoverageError(
            f"{where}: stale: graph {name!r} has another recursion limit than it had (then {measured!r}, now {limit}); "
            "measure its runs again"
        )
    routes = behaviour_of(observed.space)
    if saved["behaviour"] not in (None, routes) and routes is not None:
        raise CoverageError(
            f"{where}: stale: graph {name!r} routes otherwise than it did (behaviour {saved['behaviour']!r}, now "
            f"{routes!r}): a condition, an update or the outcome alphabet has changed; measure its runs again"
        )
    lacking = [kind for kind in observed.kinds if kind not in saved["kinds"]]
    if lacking:
        raise CoverageError(
            f"{where}: nothing was counted of kind {one_of(lacking)}; measured were {one_of(saved['kinds'])}; save it "
            f"again with {' '.join(f'--kind {kind}' for kind in lacking)}"
        )
    seen = Counter({(kind, item): count for kind, counts in saved["seen"].items() for item, count in counts.items()})
    return assembled(observed, observed.kinds, seen, saved["runs"], saved["outside"], saved["errors"])


def merged(coverages: Sequence[Coverage]) -> Coverage:
    """Merge the coverage of several sets of runs.

    Args:
        coverages: one at least, of one graph.

    Raises:
        CoverageError: they are of different graphs.
    """
    if not coverages:
        raise CoverageError("there is no coverage to merge; give one at least")
    found = coverages[0]
    for each in coverages[1:]:
        found = found | each
    return found
