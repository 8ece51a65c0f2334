"""Script, run, draw, tally and prove the routing of agent graphs."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_NAMES = {
    "diagnosis.runtime": (
        "END FIXED REPEAT START ActionError Append CompileError CompiledGraph Condition ConditionError Custom Decision "
        "DefinitionError DiagnosisError Effect EffectError Event Executed Explanation Finding FrozenError InputError "
        "LimitError Merge Model Move OwnershipError Property ReadError Reading Replace ReportError Rule Run RunConfig "
        "RunError ShortFormError StateGraph Topology UndeclaredKeyError UnmappedRouteError ValueRefusedError always bound "
        "ends freeze register_immutable sometimes thaw"
    ),
    "diagnosis.actions": "Actions",
    "diagnosis.catalog": "diagnosis_model models shipped shipped_names",
    "diagnosis.factory": "build_graph state_graph",
    "diagnosis.trace": "OrchestrationEvent OrchestrationTrace TraceError build_trace trace_of",
    "diagnosis.scenarios": (
        "DocumentError Expect Scenario ScenarioResult Suite SuiteResult load run_scenario run_suite scenario_text "
        "write_scenario"
    ),
    "diagnosis.verify": "Coverage Lasso Proof PropertyError StateSpace Verdict explore measure prove scenario_for",
    "diagnosis.views": (
        "Diagram coverage_summary coverage_table draw events_table explanation_table proof_table rules_table runs_table "
        "shipped_scenarios terminations_table write_report"
    ),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'diagnosis' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
