"""Scenarios: files that script what each node reports, the fakes that play them, and the runner that compares."""

from diagnosis.scenarios.document import ENDINGS, Document, load_document
from diagnosis.scenarios.fakes import Fakes, OutOfOutcomesError, ScriptedError, StrayKeyError
from diagnosis.scenarios.limits import MAX_ALIASES, MAX_BYTES, MAX_DEPTH, MAX_NODES
from diagnosis.scenarios.minimise import MinimiseError, minimise
from diagnosis.scenarios.places import DocumentError, place_text
from diagnosis.scenarios.result import ScenarioResult, SuiteResult
from diagnosis.scenarios.runner import observed, play, run_case, run_scenario, run_suite
from diagnosis.scenarios.scenario import DEFAULT_GRAPH, Expect, ExpectedTransition, Scenario
from diagnosis.scenarios.script import Call, Raise, Script
from diagnosis.scenarios.suite import Case, Models, NoSuchScenarioError, Refusal, Suite, case_of, find_files, load
from diagnosis.scenarios.writer import WriteError, scenario_text, write_scenario

__all__ = [
    "DEFAULT_GRAPH",
    "ENDINGS",
    "MAX_ALIASES",
    "MAX_BYTES",
    "MAX_DEPTH",
    "MAX_NODES",
    "Call",
    "Case",
    "Document",
    "DocumentError",
    "Expect",
    "ExpectedTransition",
    "Fakes",
    "MinimiseError",
    "Models",
    "NoSuchScenarioError",
    "OutOfOutcomesError",
    "Raise",
    "Refusal",
    "Scenario",
    "ScenarioResult",
    "Script",
    "ScriptedError",
    "StrayKeyError",
    "Suite",
    "SuiteResult",
    "WriteError",
    "case_of",
    "find_files",
    "load",
    "load_document",
    "minimise",
    "observed",
    "place_text",
    "play",
    "run_case",
    "run_scenario",
    "run_suite",
    "scenario_text",
    "write_scenario",
]
