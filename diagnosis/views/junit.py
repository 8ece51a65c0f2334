"""Results as JUnit XML, which build servers show; the same results give the same bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree

if TYPE_CHECKING:
    from diagnosis.scenarios import SuiteResult
    from diagnosis.verify import Baseline, Proof

_NO_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML document can hold."""


@dataclass(frozen=True, slots=True)
class _Case:
    """One line of a report; it passed where it has no outcome."""

    group: str
    name: str
    outcome: str | None = None
    message: str = ""
    text: str = ""
    file: str | None = None


def suite_junit(result: SuiteResult) -> str:
    """Give what running scenarios came to as JUnit XML.

    Args:
        result: what came out.

    Returns:
        A test case for each scenario, its graph as the class; a refused file is an error.
    """
    cases = []
    for each in result.results:
        case = _Case(each.scenario.graph, each.name, file=each.file)
        if not each.passed:
            case = _Case(case.group, case.name, "failure", each.mismatches[0], each.text(), each.file)
        cases.append(case)
    for refusal in result.refused:
        cases.append(_Case("refused", refusal.file, "error", str(refusal.error), file=refusal.file))
    return _document("scenarios", cases)


def proof_junit(proof: Proof, baseline: Baseline | None = None, *, strict: bool = False) -> str:
    """Give a proof as JUnit XML.

    Args:
        proof: the proof.
        baseline: what was accepted: it is skipped.
        strict: whether findings that were not accepted are failures.

    Returns:
        A test case for each property and each finding; what is not proven is an error.
    """
    cases = []
    for verdict in proof.verdicts:
        outcome = {True: None, False: "failure", None: "error"}[verdict.holds]
        if baseline is not None and baseline.accepts(verdict):
            outcome = "skipped"
        cases.append(_Case("property", verdict.claim.name, outcome, verdict.detail, verdict.claim.statement))
    for remark in proof.findings:
        outcome = "failure" if strict else None
        if baseline is not None and baseline.accepts(remark):
            outcome = "skipped"
        cases.append(_Case(remark.kind, remark.where, outcome, remark.detail))
    return _document(proof.model.name, cases)


def _document(name: str, cases: Iterable[_Case]) -> str:
    every = list(cases)
    suites = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(suites, "testsuite", name=_text(name), tests=str(len(every)))
    for plural, outcome in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(plural, str(sum(case.outcome == outcome for case in every)))
    for case in every:
        shown = ElementTree.SubElement(suite, "testcase", classname=_text(case.group), name=_text(case.name))
        if case.file is not None:
            shown.set("file", _text(case.file))
        if case.outcome is not None:
            told = ElementTree.SubElement(shown, case.outcome, message=_text(case.message))
            if case.outcome != "skipped":
                told.set("type", _text(case.group))
                told.text = _text(case.text or case.message)
        elif case.message:
            ElementTree.SubElement(shown, "system-out").text = _text(case.message)
    ElementTree.indent(suites)
    declaration = '<?xml version="1.0" encoding="utf-8"?>\n'
    return f"{declaration}{ElementTree.tostring(suites, encoding='unicode')}\n"


def _text(text: str) -> str:
    return _NO_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
