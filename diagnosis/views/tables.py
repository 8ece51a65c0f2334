"""Tables: runs, events, coverage, proofs and rules as pandas frames with fixed columns and types."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from diagnosis.runtime import (
    REPEAT,
    START,
    CompiledGraph,
    DiagnosisError,
    Explanation,
    Model,
    RouterDecision,
    Run,
    one_of,
)

if TYPE_CHECKING:
    import pandas

    from diagnosis.scenarios import ScenarioResult, SuiteResult
    from diagnosis.verify import Coverage, Proof

    Results = SuiteResult | Iterable[ScenarioResult]

_TEXT: Final = "string[python]"
_COUNT: Final = "int64"
_TRUTH: Final = "boolean"


class TableError(DiagnosisError):
    """A table was asked for that there is not."""


def _frame(columns: Mapping[str, str], rows: Iterable[tuple[Any, ...]]) -> pandas.DataFrame:
    """Make a frame whose columns have their type even where there is no row."""
    import pandas

    every = list(rows)
    return pandas.DataFrame(
        {
            name: pandas.Series([row[place] for row in every], dtype=dtype)
            for place, (name, dtype) in enumerate(columns.items())
        }
    )


def _each(results: Results) -> tuple[ScenarioResult, ...]:
    from diagnosis.scenarios import SuiteResult

    return results.results if isinstance(results, SuiteResult) else tuple(results)


def runs_table(results: Results) -> pandas.DataFrame:
    """Give a row a scenario.

    Args:
        results: what a suite came to, or results of scenarios.

    Returns:
        Columns ``scenario``, ``title``, ``passed``, ``executions``, ``path`` (``a > b > c``), ``final_node``,
        ``termination_reason``, ``degraded`` and ``stop`` (``ended``, ``limit`` or ``error``). Of a run that did not
        end, the last node, reason and degradation are missing values.
    """
    columns = {
        "scenario": _TEXT,
        "title": _TEXT,
        "passed": "bool",
        "executions": _COUNT,
        "path": _TEXT,
        "final_node": _TEXT,
        "termination_reason": _TEXT,
        "degraded": _TRUTH,
        "stop": _TEXT,
    }
    return _frame(
        columns,
        (
            (
                result.name,
                result.scenario.title,
                result.passed,
                len(result.path),
                " > ".join(result.path),
                result.run.final_node,
                result.run.reason,
                (result.trace or {}).get("degraded"),
                result.run.stop,
            )
            for result in _each(results)
        ),
    )


def terminations_table(results: Results) -> pandas.DataFrame:
    """Give a row a way in which the runs ended, the most frequent first, and those that did not end last.

    Args:
        results: what a suite came to, or results of scenarios.

    Returns:
        Columns ``termination_reason``, ``final_node``, ``runs`` and ``scenarios`` (their names, joined by commas).
        Where runs did not end, the reason is how they stopped and the kind of error, such as ``limit (LimitError)``,
        and the node is where they stood.
    """
    groups: dict[tuple[bool, str, str | None], list[str]] = {}
    for result in _each(results):
        run = result.run
        if run.ended:
            key = (False, run.reason or "", run.final_node)
        else:
            key = (True, f"{run.stop} ({type(run.error).__name__})", run.position.node)
        groups.setdefault(key, []).append(result.name)
    ordered = sorted(groups.items(), key=lambda group: (group[0][0], -len(group[1]), group[0][1], group[0][2] or ""))
    columns = {"termination_reason": _TEXT, "final_node": _TEXT, "runs": _COUNT, "scenarios": _TEXT}
    return _frame(columns, ((reason, node, len(names), ", ".join(names)) for (_, reason, node), names in ordered))


def events_table(run: Run) -> pandas.DataFrame:
    """Give a row a node execution.

    Args:
        run: a run, ended or not.

    Returns:
        Columns ``step`` (from 1), ``node``, ``attempt``, ``outcome``, ``route``, ``rule``, ``reason_code`` and
        ``next``. Route and rule are missing values on a fixed edge.
    """
    columns = {
        "step": _COUNT,
        "node": _TEXT,
        "attempt": _COUNT,
        "outcome": _TEXT,
        "route": _TEXT,
        "rule": _TEXT,
        "reason_code": _TEXT,
        "next": _TEXT,
    }
    return _frame(
        columns,
        (
            (
                number,
                event.node,
                event.attempt,
                event.outcome,
                event.choice.route,
                event.choice.rule,
                event.reason,
                event.choice.target,
            )
            for number, event in enumerate(run.events, start=1)
        ),
    )


def coverage_summary(coverage: Coverage) -> pandas.DataFrame:
    """Give a row a kind of coverage item.

    Args:
        coverage: the coverage.

    Returns:
        Columns ``kind``, ``covered``, ``total``, ``percent`` (0 to 100, cut to one decimal) and ``missing`` (names,
        joined by commas).
    """
    from diagnosis.verify import KINDS

    columns = {"kind": _TEXT, "covered": _COUNT, "total": _COUNT, "percent": "float64", "missing": _TEXT}
    return _frame(
        columns,
        (
            (kind, *coverage.counts(kind), _percent(coverage.percent(kind)), ", ".join(coverage.missing(kind)))
            for kind in KINDS
        ),
    )


def _percent(share: float) -> float:
    """Cut to one decimal, so that only what is complete says 100."""
    return math.floor(share * 10) / 10


def coverage_table(coverage: Coverage, kind: str | None = None) -> pandas.DataFrame:
    """Give a row a coverage item.

    Args:
        coverage: the coverage.
        kind: only items of this kind; all where absent.

    Returns:
        Columns ``kind``, ``item``, ``covered``, ``hits`` and ``feasible``.

    Raises:
        TableError: there is no such kind.
    """
    from diagnosis.verify import KINDS

    if kind is not None and kind not in KINDS:
        raise TableError(f"there is no coverage of kind {kind!r}; kinds are {one_of(KINDS)}")
    items = coverage.items if kind is None else coverage.of(kind)
    columns = {"kind": _TEXT, "item": _TEXT, "covered": "bool", "hits": _COUNT, "feasible": "bool"}
    return _frame(columns, ((item.kind, item.name, item.covered, item.hits, item.feasible) for item in items))


def proof_table(proof: Proof) -> pandas.DataFrame:
    """Give a row a property.

    Args:
        proof: the proof.

    Returns:
        Columns ``property``, ``kind``, ``verdict`` (``holds``, ``broken`` or ``not proven``), ``statement`` and
        ``detail``.
    """
    columns = dict.fromkeys(("property", "kind", "verdict", "statement", "detail"), _TEXT)
    return _frame(
        columns,
        (
            (verdict.claim.name, verdict.claim.kind, verdict.word, verdict.claim.statement, verdict.detail)
            for verdict in proof.verdicts
        ),
    )


def explanation_table(explanation: Explanation) -> pandas.DataFrame:
    """Give a row a condition of every rule of a decision.

    Args:
        explanation: the explanation of a decision.

    Returns:
        Columns ``source``, ``rule``, ``condition``, ``truth`` (missing where evaluating raised), ``error``, ``holds``
        (of the whole rule), ``decided`` (whether it is the rule that decides), ``route``, ``target`` and
        ``reason_code``. A rule without conditions, a fixed edge and a plain router have one row, without a condition.
    """
    columns = {
        "source": _TEXT,
        "rule": _TEXT,
        "condition": _TEXT,
        "truth": _TRUTH,
        "error": _TEXT,
        "holds": "bool",
        "decided": "bool",
        "route": _TEXT,
        "target": _TEXT,
        "reason_code": _TEXT,
    }
    names = [{"reason_code": "reason"}.get(name, name) for name in columns]
    records = explanation.records()
    if not records:
        reached = explanation.target is not None
        records = [
            {
                "source": explanation.source,
                "rule": None,
                "condition": None,
                "truth": None,
                "error": explanation.error,
                "holds": reached,
                "decided": reached,
                "route": explanation.route,
                "target": explanation.target,
                "reason": explanation.reason,
            }
        ]
    return _frame(columns, (tuple(record[name] for name in names) for record in records))


def rules_table(subject: Model | CompiledGraph) -> pandas.DataFrame:
    """Give a row a rule, in the order in which the rules are tried, and a row a fixed edge.

    Args:
        subject: a model or a graph.

    Returns:
        Columns ``source``, ``order`` (from 1 within a source), ``conditions`` (joined by ``and``; ``anything else`` for
        a rule without, ``always`` for a fixed edge), ``route``, ``target`` and ``reason_code``. The edge from START has
        no reason code; an edge that repeats the reason before it says so.
    """
    graph = subject.graph if isinstance(subject, Model) else subject
    columns = {
        "source": _TEXT,
        "order": _COUNT,
        "conditions": _TEXT,
        "route": _TEXT,
        "target": _TEXT,
        "reason_code": _TEXT,
    }
    return _frame(columns, _rule_rows(graph))


def _rule_rows(graph: CompiledGraph) -> Iterator[tuple[Any, ...]]:
    definition = graph.definition
    for source in (START, *definition.names):
        conditional = definition.conditional(source)
        if conditional is None:
            edge = next(edge for edge in definition.edges if edge.source == source)
            reason = REPEAT.value if edge.reason is REPEAT else edge.reason
            yield source, 1, "always", None, edge.target, None if source == START else reason
        elif isinstance(conditional.decision, RouterDecision):
            router = conditional.decision.router
            name = getattr(router, "__name__", type(router).__name__)
            for order, (route, target) in enumerate(conditional.targets.items(), start=1):
                yield source, order, f"{name}() gives {route}", route, target, route
        else:
            for order, rule in enumerate(conditional.decision.rules, start=1):
                conditions = " and ".join(condition.name for condition in rule.when) or "anything else"
                yield source, order, conditions, rule.route, conditional.targets[rule.route], rule.reason
