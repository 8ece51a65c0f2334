"""Tables: runs, events, coverage, proofs and rules as pandas frames with fixed columns and types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from diagnosis.runtime import (
    REPEAT,
    START,
    CompiledGraph,
    Definition,
    Event,
    Explanation,
    Model,
    RouterDecision,
    Run,
    TopologyFork,
)
from diagnosis.views.frames import COUNT, SOME, TEXT, TRUTH, frame

if TYPE_CHECKING:
    import pandas

    from diagnosis.scenarios import ScenarioResult, SuiteResult
    from diagnosis.verify import Proof

    Results = SuiteResult | Iterable[ScenarioResult]

_Way = tuple[str, str | None, str, str | None, TopologyFork | None]
"""Conditions, route key, target, reason code, and the fork that is opened."""

_Forks = dict[tuple[str, str, str | None], TopologyFork]
"""Source, origin and rule -> fork."""

TOGETHER: Final = " + "
"""What stands between things that are chosen at once."""


def _each(results: Results) -> tuple[ScenarioResult, ...]:
    from diagnosis.scenarios import SuiteResult

    return results.results if isinstance(results, SuiteResult) else tuple(results)


def runs_table(results: Results) -> pandas.DataFrame:
    """Give a row a scenario.

    Args:
        results: what a suite came to, or results of scenarios.

    Returns:
        Columns ``scenario``, ``title``, ``passed``, ``executions``, ``path`` (``a > b > c``, see :func:`path_text`),
        ``final_node``, ``termination_reason``, ``degraded`` and ``stop`` (``ended``, ``limit`` or ``error``). Of a run
        that did not end, the last node, reason and degradation are missing values.
    """
    columns = {
        "scenario": TEXT,
        "title": TEXT,
        "passed": "bool",
        "executions": COUNT,
        "path": TEXT,
        "final_node": TEXT,
        "termination_reason": TEXT,
        "degraded": TRUTH,
        "stop": TEXT,
    }
    return frame(
        columns,
        (
            (
                result.name,
                result.scenario.title,
                result.passed,
                len(result.path),
                path_text(result.run),
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
            key = (True, f"{run.stop} ({type(run.error).__name__})", run.failed_at)
        groups.setdefault(key, []).append(result.name)
    ordered = sorted(groups.items(), key=lambda group: (group[0][0], -len(group[1]), group[0][1], group[0][2] or ""))
    columns = {"termination_reason": TEXT, "final_node": TEXT, "runs": COUNT, "scenarios": TEXT}
    return frame(columns, ((reason, node, len(names), ", ".join(names)) for (_, reason, node), names in ordered))


def events_table(run: Run) -> pandas.DataFrame:
    """Give a row a node execution.

    Args:
        run: a run, ended or not.

    Returns:
        Columns ``step`` (from 1), ``node``, ``attempt``, ``outcome``, ``route``, ``rule``, ``reason_code`` and
        ``next``. Route and rule are missing values on a fixed edge. What opens several branches has all of their routes
        and next nodes, such as ``a + b``. Runs of a graph that declares branches have two more columns: ``branch`` (as
        ``worker[1]``; empty outside branches) behind the node, and at the end ``after``, the steps that led to this
        one, such as ``2, 4``.
    """
    branching = bool(run.graph.topology.forks)
    columns = {
        "step": COUNT,
        "node": TEXT,
        **({"branch": TEXT} if branching else {}),
        "attempt": COUNT,
        "outcome": TEXT,
        "route": TEXT,
        "rule": TEXT,
        "reason_code": TEXT,
        "next": TEXT,
        **({"after": TEXT} if branching else {}),
    }

    def row(index: int, event: Event) -> tuple[Any, ...]:
        branch, after = (event.branch,), (_after(index, event),)
        return (
            index + 1,
            event.node,
            *(branch if branching else ()),
            event.attempt,
            event.outcome,
            *choices_text(event),
            *(after if branching else ()),
        )

    return frame(columns, (row(index, event) for index, event in enumerate(run.events)))


def _after(index: int, event: Event) -> str:
    """Write the steps that led to one, from 1; the first one follows none."""
    causes = range(max(0, index - 1), index) if event.after is None else event.after
    return ", ".join(str(cause + 1) for cause in causes)


def choices_text(event: Event) -> tuple[str | None, str | None, str, str]:
    """Write what a decision came to: route keys, rule, reason codes and next nodes; of several branches, all of them.

    Args:
        event: a node execution.

    Returns:
        The four texts; route and rule are ``None`` on a fixed edge. A reason code that all branches share stands once.
    """
    choices = event.choices
    routes = [choice.route for choice in choices if choice.route is not None]
    reasons = dict.fromkeys(choice.reason for choice in choices)
    return (
        TOGETHER.join(routes) if routes else None,
        event.choice.rule,
        TOGETHER.join(reasons),
        TOGETHER.join(choice.target for choice in choices),
    )


def path_nodes(run: Run) -> tuple[str, ...]:
    """Give the nodes of a run's path, in a branch with its place behind them.

    Args:
        run: a run, ended or not.
    """
    return run.places


def path_text(run: Run) -> str:
    """Write the path of a run.

    Args:
        run: a run, ended or not.

    Returns:
        A text such as ``a > b > c``. A node in a branch has the branch's place behind it, such as ``check[1]``.
    """
    return " > ".join(path_nodes(run))


def proof_table(proof: Proof) -> pandas.DataFrame:
    """Give a row a property.

    Args:
        proof: the proof.

    Returns:
        Columns ``property``, ``kind``, ``verdict`` (``holds``, ``broken`` or ``not proven``), ``statement`` and
        ``detail``.
    """
    columns = dict.fromkeys(("property", "kind", "verdict", "statement", "detail"), TEXT)
    return frame(
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
        "source": TEXT,
        "rule": TEXT,
        "condition": TEXT,
        "truth": TRUTH,
        "error": TEXT,
        "holds": "bool",
        "decided": "bool",
        "route": TEXT,
        "target": TEXT,
        "reason_code": TEXT,
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
    return frame(columns, (tuple(record[name] for name in names) for record in records))


def rules_table(subject: Model | CompiledGraph) -> pandas.DataFrame:
    """Give a row a rule, in the order in which the rules are tried, and a row a fixed edge or a goto.

    Args:
        subject: a model or a graph.

    Returns:
        Columns ``source``, ``order`` (from 1 within a source), ``conditions`` (joined by ``and``; ``anything else`` for
        a rule without, ``always`` for a fixed edge), ``route``, ``target`` and ``reason_code``. The edge from START has
        no reason code; an edge that repeats the reason before it says so. Fixed edges that are followed together share
        their order. Where an action may return Commands, they come before its own edges, and give their reason codes
        themselves. A rule that opens several branches has all of their routes and targets, such as ``a + b``. A graph
        that declares branches has three more columns, whose values are missing where no branch is opened: ``join`` (the
        node where branches meet), ``wait`` (``all_of`` or ``any_of``) and ``max_concurrency``.
    """
    graph = subject.graph if isinstance(subject, Model) else subject
    columns = {
        "source": TEXT,
        "order": COUNT,
        "conditions": TEXT,
        "route": TEXT,
        "target": TEXT,
        "reason_code": TEXT,
    }
    rows = list(_rule_rows(graph))
    if not graph.topology.forks:
        return frame(columns, (row for row, _ in rows))
    joins = {"join": TEXT, "wait": TEXT, "max_concurrency": SOME}
    return frame(
        {**columns, **joins},
        (
            (*row, *((None, None, None) if fork is None else (fork.join, fork.wait, fork.max_concurrency)))
            for row, fork in rows
        ),
    )


def _rule_rows(graph: CompiledGraph) -> Iterator[tuple[tuple[Any, ...], TopologyFork | None]]:
    """Go through the rows, each with the fork that it may open."""
    forks: _Forks = {(fork.source, fork.origin, fork.rule): fork for fork in graph.topology.forks}
    for source in (START, *graph.definition.names):
        order = 1
        for *way, fork in _goto_ways(graph.definition, source, forks):
            yield (source, order, *way), fork
            order += 1
        for *way, fork in _fixed_ways(graph.definition, source, forks):
            yield (source, order, *way), fork
        for *way, fork in _decided_ways(graph.definition, source, forks):
            yield (source, order, *way), fork
            order += 1


def _goto_ways(definition: Definition, source: str, forks: _Forks) -> Iterator[_Way]:
    if definition.node_has_goto(source):
        fork = forks.get((source, "goto", None))
        for route, target in definition.node(source).goto.items():
            yield f"a Command goes to {route}", route, target, None, _opened(fork, route)


def _fixed_ways(definition: Definition, source: str, forks: _Forks) -> Iterator[_Way]:
    for edge in definition.edges_from(source):
        reason = REPEAT.value if edge.reason is REPEAT else str(edge.reason)
        yield "always", None, edge.target, None if source == START else reason, forks.get((source, "edges", None))


def _decided_ways(definition: Definition, source: str, forks: _Forks) -> Iterator[_Way]:
    conditional = definition.conditional(source)
    if conditional is None:
        return
    if isinstance(conditional.decision, RouterDecision):
        router = conditional.decision.router
        name = getattr(router, "__name__", type(router).__name__)
        fork = forks.get((source, "router", None))
        for route, target in conditional.targets.items():
            yield f"{name}() gives {route}", route, target, route, _opened(fork, route)
        return
    for rule in conditional.decision.rules:
        conditions = " and ".join(condition.name for condition in rule.when) or "anything else"
        target = TOGETHER.join(conditional.targets[route] for route in rule.routes)
        yield conditions, TOGETHER.join(rule.routes), target, rule.reason, forks.get((source, "rule", rule.name))


def _opened(fork: TopologyFork | None, route: str) -> TopologyFork | None:
    return fork if fork is not None and route in fork.routes else None
