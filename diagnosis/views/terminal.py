"""What people see in a terminal: tables and lines in which no text from data can do anything."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from diagnosis.verify import ROUTE_TAKEN, RULE_TAKEN, script_text
from diagnosis.views.labels import visible_lines

if TYPE_CHECKING:
    from diagnosis.mutation import MutationReport
    from diagnosis.scenarios import Scenario, ScenarioResult, SuiteResult
    from diagnosis.traces import TraceReport
    from diagnosis.verify import Baseline, Comparison, Coverage, Proof, Suggestion

    Shortest = Mapping[tuple[str, str], tuple[Scenario, ...]]

TAKEN = (RULE_TAKEN, ROUTE_TAKEN)
"""How the names begin of properties that are told in one line where they hold."""

FILE_WIDTH = 120
"""Columns of a table that goes to a file or pipe."""


def safe(text: object) -> str:
    """Give a text in which control characters, terminal escapes and direction marks are visible instead of obeyed.

    Args:
        text: anything; its ``str`` is taken.
    """
    return visible_lines(str(text).replace("\t", "    "))


def one_line(text: object) -> str:
    """Give the same with line breaks visible too: names and reasons may hold some, and must not look like more lines.

    Args:
        text: anything; its ``str`` is taken.
    """
    return safe(text).replace("\n", "\\n")


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Hand on that the reader went away; the process decides what that means."""
        raise BrokenPipeError(errno.EPIPE, "the reader went away")


class Terminal:
    """Writes results for people.

    Args:
        stream: where to; standard output where absent.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._console = _Console(file=self._stream, highlight=False, markup=False, emoji=False)
        if not self._console.is_terminal and "COLUMNS" not in os.environ:
            self._console.width = FILE_WIDTH

    def line(self, text: object = "", style: str = "") -> None:
        """Write one line; in a terminal it wraps at its width, in a file or pipe it stays whole.

        Args:
            text: what to write.
            style: such as ``bold`` or ``red``.
        """
        self._console.print(Text(one_line(text), style=style), soft_wrap=not self._console.is_terminal)

    def raw(self, text: str) -> None:
        """Write a text as it is but for control characters: nothing is wrapped.

        Args:
            text: what to write.
        """
        self._stream.write(safe(text).rstrip("\n") + "\n")

    def heading(self, text: str) -> None:
        """Write a heading with a blank line before it.

        Args:
            text: the heading.
        """
        self._console.print()
        self.line(text, "bold")

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]], *, numbers: Sequence[str] = ()) -> None:
        """Write a table that fits the width by folding its cells.

        Args:
            columns: the headings.
            rows: the cells.
            numbers: the columns that are set to the right.
        """
        table = Table(show_edge=False, pad_edge=False, box=None, header_style="bold")
        for column in columns:
            table.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
        for row in rows:
            table.add_row(*(Text(one_line("" if cell is None else cell)) for cell in row))
        self._console.print(table)

    def suite(self, result: SuiteResult) -> None:
        """Write each scenario with its path, its ending and its first mismatch.

        Args:
            result: what running them came to.
        """
        for scenario in result.results:
            self.scenario(scenario)
        for refusal in result.refused:
            self.line(f"refused  {refusal.error}", "red")
        self.line(f"{result.passed} passed, {result.failed} failed, {len(result.refused)} refused", "bold")

    def scenario(self, result: ScenarioResult) -> None:
        """Write one scenario.

        Args:
            result: what running it came to.
        """
        title = f"  {result.scenario.title}" if result.scenario.title else ""
        self.line(f"{'pass' if result.passed else 'FAIL'}  {result.name}{title}", "green" if result.passed else "red")
        self.line(f"      {' > '.join(result.places) or 'nothing was executed'}")
        self.line(f"      {result.summary}")
        if result.mismatches:
            self.line(f"      {result.mismatches[0]}", "red")
            if len(result.mismatches) > 1:
                self.line(f"      and {len(result.mismatches) - 1} more; --json lists all")

    def terminations(self, result: SuiteResult) -> None:
        """Write how the runs ended, with how many did.

        Args:
            result: what running them came to.
        """
        counts: dict[tuple[str, str], int] = {}
        for scenario in result.results:
            run = scenario.run
            key = (run.reason or f"({run.stop})", run.final_node or f"(at {run.failed_at})")
            counts[key] = counts.get(key, 0) + 1
        rows = [(*key, count) for key, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
        self.table(("termination reason", "final node", "runs"), rows, numbers=("runs",))

    def coverage(self, coverage: Coverage, shortest: Shortest | None = None) -> None:
        """Write a row a kind, then what is missing, and what no run can show.

        Args:
            coverage: what was measured.
            shortest: kind and name of what is missing -> the shortest scenarios that supply it, to be told with it.
        """
        rows = []
        for kind in coverage.kinds:
            covered, total = coverage.counts(kind)
            aside = [len(coverage.standing(kind, "infeasible")), len(coverage.standing(kind, "undecided"))]
            rows.append((kind, covered, total, f"{coverage.percent(kind):.1f} %", *aside))
        # Columns in which there is nothing to tell are left out.
        size = 6 if any(row[5] for row in rows) else 5 if any(row[4] for row in rows) else 4
        columns = ("kind", "covered", "of", "share", "infeasible", "not decided")[:size]
        self.table(columns, [row[:size] for row in rows], numbers=columns[1:])
        for kind in coverage.kinds:
            for name in coverage.standing(kind, "missing"):
                self.line(f"missing {kind}: {name}", "red")
                for scenario in (shortest or {}).get((kind, name), ()):
                    self.line(f"  shortest: {_reported(scenario)}")
            for label, names in coverage.notes(kind).items():
                if label != "missing":
                    self.line(f"{label} {kind}: {', '.join(names)}")
        for error in coverage.errors:
            self.line(f"condition error: {error}", "red")
        for report in coverage.outside:
            self.line(f"outside the outcome alphabet: {report}")
        if not coverage.proven:
            self.line("exploration met its bound: items that no run can show are still in the totals")

    def suggestion(self, suggestion: Suggestion, files: Iterable[object]) -> None:
        """Write what was suggested to close gaps.

        Args:
            suggestion: the scenarios.
            files: where each was written.
        """
        self.line(suggestion.summary, "bold")
        for scenario, file in zip(suggestion.scenarios, files, strict=True):
            self.raw(f"saved {file}")
            self.line(f"  {scenario.title}")
        for item in suggestion.left:
            self.line(f"left open {item.kind}: {item.name}", "red")

    def traces(self, report: TraceReport) -> None:
        """Write what checking traces came to, but for the deviations: each is told when it is found.

        Args:
            report: the report.
        """
        found = [(kind, hits) for kind, hits in report.by_class.items() if hits]
        if found:
            self.table(("deviation", "times"), found, numbers=("times",))
        ends = sorted(report.terminations.items(), key=lambda item: (-item[1], item[0]))
        if ends:
            rows = [(reason, node, hits) for (node, reason), hits in ends]
            self.table(("termination reason", "final node", "traces"), rows, numbers=("traces",))
        for name, hits in report.outside.items():
            self.line(f"outside the graph: {name} ({hits} times)")
        for file, why in report.refused.items():
            self.line(f"refused  {file}: {why}", "red")
        self.line(report.summary, "bold")

    def proof(self, proof: Proof) -> None:
        """Write the size of what was explored and each property with its verdict.

        Args:
            proof: the proof.
        """
        self.line(proof.counted)
        taken = [verdict for verdict in proof.verdicts if verdict.holds and verdict.claim.name.startswith(TAKEN)]
        self.table(
            ("verdict", "kind", "property"),
            [
                (verdict.word, verdict.claim.kind, f"{verdict.claim.name}: {verdict.detail}")
                for verdict in proof.verdicts
                if verdict not in taken
            ],
        )
        if taken:
            claimed = sum(1 for verdict in proof.verdicts if verdict.claim.name.startswith(TAKEN))
            count = f"each of {claimed} rules is" if len(taken) == claimed else f"{len(taken)} of {claimed} rules are"
            self.line(f"{count} taken by some script")
        if proof.never_taken:
            self.line(f"{proof.untaken}: {', '.join(proof.never_taken)}", "red")
        for warning in proof.warnings:
            self.line(f"warning: {warning}", "red")
        for remark in proof.unbounded:
            self.line(f"warning: {remark.where}: {remark.detail}", "red")
        good = sum(1 for verdict in proof.verdicts if verdict.holds)
        self.line(f"{good} of {len(proof.verdicts)} properties hold", "bold")

    def comparison(self, comparison: Comparison) -> None:
        """Write how many scripts changed, the shortest of each kind, and how the alphabets differ.

        Args:
            comparison: the comparison.
        """
        self.line(comparison.verdict, "bold")
        if comparison.changed is not None:
            rows = [(kind, count.before, count.after) for kind, count in comparison.changed.items()]
            self.table(("changed", "scripts before", "after"), rows, numbers=("scripts before", "after"))
        for change in comparison.changes:
            self.line(f"{change.kind}: {change.detail}", "red")
            for version, scenario in (("before", change.before), ("after", change.after)):
                self.line(f"  {version:6}  {' > '.join(scenario.expect.path or ())}")
        for line in comparison.alphabets:
            self.line(line, "red")

    def findings(self, proof: Proof, baseline: Baseline | None = None) -> None:
        """Write what was found beside the properties, and how many scripts there are by length and by ending.

        Args:
            proof: the proof.
            baseline: what was accepted: it is only counted.
        """
        self.heading("Findings")
        found = [each for each in proof.findings if baseline is None or not baseline.accepts(each)]
        if found:
            self.table(("finding", "where", "detail"), [(each.kind, each.where, each.detail) for each in found])
        for each in found:
            if each.script is not None:
                self.line(f"{each.kind} at {each.where}, shown by: {script_text(each.script)}")
        self.line(f"{len(found)} findings")
        if baseline is not None:
            broken = [verdict.claim.name for verdict in proof.verdicts if baseline.accepts(verdict)]
            self.line(
                f"accepted by the baseline: {len(proof.findings) - len(found)} findings, {len(broken)} properties"
            )
            for name in broken:
                self.line(f"accepted though broken: {name}")
            for kind, where in baseline.stale(proof):
                self.line(f"accepted, but not found any more: {kind} at {where}")
        if proof.lengths is None or proof.terminations is None:
            return
        self.heading("Scripts by node executions")
        self.table(("executions", "scripts"), proof.lengths.items(), numbers=("executions", "scripts"))
        self.heading("How runs end")
        columns = ("termination reason", "final node", "scripts", "shortest", "longest")
        rows = [(e.reason or "(error)", e.node, e.scripts, e.shortest, e.longest) for e in proof.terminations]
        self.table(columns, rows, numbers=columns[2:])

    def mutation(self, report: MutationReport) -> None:
        """Write a row an operator, then every mutant that the scenarios do not kill, and the score.

        Args:
            report: what became of the mutants.
        """
        counts = report.by_operator
        rows = [
            (
                operator,
                count["assertion"] + count["bound"],
                *(count[result] for result in ("survived", "crash", "equivalent", "invalid")),
            )
            for operator, count in counts.items()
        ]
        numbers = ("killed", "survived", "crash", "equivalent", "invalid")
        self.table(("operator", *numbers), rows, numbers=numbers)
        for each in report.of("crash"):
            self.line(f"only ever crashes: {each.mutant.operator} at {each.mutant.place} ({each.scenario})")
        for each in report.survivors:
            first, *others = each.text().split("\n")
            self.line(first, "red")
            for line in others:
                self.line(line)
        self.line(report.summary, "bold")


def _reported(scenario: Scenario) -> str:
    """Write what the nodes of a scenario report, in the order of their executions, as ``a=x > b=y``.

    Args:
        scenario: a scenario that expects a path and outcomes.
    """
    path, outcomes = scenario.expect.path or (), scenario.expect.outcomes or ()
    said = " > ".join(f"{node}={outcome}" for node, outcome in zip(path, outcomes, strict=True))
    winners = [f"{fork} won by {', '.join(branches)}" for fork, branches in scenario.winners.items()]
    return f"{said} ({'; '.join(winners)})" if winners else said


@contextmanager
def progress(label: str, total: int | None = None) -> Iterator[Callable[..., None]]:
    """Show a progress bar on standard error, where that is a terminal.

    Args:
        label: what is being done.
        total: how much there is to do, where known.

    Yields:
        A function to call with nothing for one more, or with (done, total).
    """
    console = Console(file=sys.stderr)
    columns: list[Any] = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(label, total=total)

        def advance(done: int | None = None, known: int | None = None) -> None:
            if done is None:
                bar.advance(task)
            else:
                bar.update(task, completed=done, total=known)

        yield advance
