"""The public names; each module is loaded when the first of its names is used."""

from .actions import (
    Actions as Actions,
)
from .catalog import (
    diagnosis_model as diagnosis_model,
)
from .catalog import (
    models as models,
)
from .catalog import (
    shipped as shipped,
)
from .catalog import (
    shipped_names as shipped_names,
)
from .factory import (
    build_graph as build_graph,
)
from .factory import (
    state_graph as state_graph,
)
from .runtime import (
    END as END,
)
from .runtime import (
    FIXED as FIXED,
)
from .runtime import (
    REPEAT as REPEAT,
)
from .runtime import (
    START as START,
)
from .runtime import (
    ActionError as ActionError,
)
from .runtime import (
    Append as Append,
)
from .runtime import (
    Barrier as Barrier,
)
from .runtime import (
    Boundary as Boundary,
)
from .runtime import (
    Command as Command,
)
from .runtime import (
    CompiledGraph as CompiledGraph,
)
from .runtime import (
    CompileError as CompileError,
)
from .runtime import (
    Condition as Condition,
)
from .runtime import (
    ConditionError as ConditionError,
)
from .runtime import (
    Custom as Custom,
)
from .runtime import (
    Decision as Decision,
)
from .runtime import (
    DefinitionError as DefinitionError,
)
from .runtime import (
    DiagnosisError as DiagnosisError,
)
from .runtime import (
    Effect as Effect,
)
from .runtime import (
    EffectError as EffectError,
)
from .runtime import (
    Event as Event,
)
from .runtime import (
    Executed as Executed,
)
from .runtime import (
    Explanation as Explanation,
)
from .runtime import (
    Finding as Finding,
)
from .runtime import (
    Fork as Fork,
)
from .runtime import (
    FrozenError as FrozenError,
)
from .runtime import (
    InputError as InputError,
)
from .runtime import (
    JoinError as JoinError,
)
from .runtime import (
    LimitError as LimitError,
)
from .runtime import (
    Merge as Merge,
)
from .runtime import (
    Model as Model,
)
from .runtime import (
    Move as Move,
)
from .runtime import (
    OwnershipError as OwnershipError,
)
from .runtime import (
    Property as Property,
)
from .runtime import (
    ReadError as ReadError,
)
from .runtime import (
    Reading as Reading,
)
from .runtime import (
    Remove as Remove,
)
from .runtime import (
    Replace as Replace,
)
from .runtime import (
    ReplaceAll as ReplaceAll,
)
from .runtime import (
    ReportError as ReportError,
)
from .runtime import (
    Rule as Rule,
)
from .runtime import (
    Run as Run,
)
from .runtime import (
    RunConfig as RunConfig,
)
from .runtime import (
    RunError as RunError,
)
from .runtime import (
    Send as Send,
)
from .runtime import (
    ShortFormError as ShortFormError,
)
from .runtime import (
    StateGraph as StateGraph,
)
from .runtime import (
    StopRunError as StopRunError,
)
from .runtime import (
    Topology as Topology,
)
from .runtime import (
    UndeclaredKeyError as UndeclaredKeyError,
)
from .runtime import (
    UnmappedRouteError as UnmappedRouteError,
)
from .runtime import (
    ValueRefusedError as ValueRefusedError,
)
from .runtime import (
    always as always,
)
from .runtime import (
    bound as bound,
)
from .runtime import (
    ends as ends,
)
from .runtime import (
    freeze as freeze,
)
from .runtime import (
    register_immutable as register_immutable,
)
from .runtime import (
    sometimes as sometimes,
)
from .runtime import (
    thaw as thaw,
)
from .scenarios import (
    DocumentError as DocumentError,
)
from .scenarios import (
    Expect as Expect,
)
from .scenarios import (
    Scenario as Scenario,
)
from .scenarios import (
    ScenarioResult as ScenarioResult,
)
from .scenarios import (
    Suite as Suite,
)
from .scenarios import (
    SuiteResult as SuiteResult,
)
from .scenarios import (
    load as load,
)
from .scenarios import (
    run_scenario as run_scenario,
)
from .scenarios import (
    run_suite as run_suite,
)
from .scenarios import (
    scenario_text as scenario_text,
)
from .scenarios import (
    write_scenario as write_scenario,
)
from .trace import (
    OrchestrationEvent as OrchestrationEvent,
)
from .trace import (
    OrchestrationTrace as OrchestrationTrace,
)
from .trace import (
    TraceError as TraceError,
)
from .trace import (
    build_trace as build_trace,
)
from .trace import (
    trace_of as trace_of,
)
from .verify import (
    Chances as Chances,
)
from .verify import (
    Coverage as Coverage,
)
from .verify import (
    Flow as Flow,
)
from .verify import (
    FlowError as FlowError,
)
from .verify import (
    Lasso as Lasso,
)
from .verify import (
    Odds as Odds,
)
from .verify import (
    OddsError as OddsError,
)
from .verify import (
    Proof as Proof,
)
from .verify import (
    PropertyError as PropertyError,
)
from .verify import (
    StateSpace as StateSpace,
)
from .verify import (
    Verdict as Verdict,
)
from .verify import (
    check_flow as check_flow,
)
from .verify import (
    explore as explore,
)
from .verify import (
    measure as measure,
)
from .verify import (
    outcome_odds as outcome_odds,
)
from .verify import (
    prove as prove,
)
from .verify import (
    scenario_for as scenario_for,
)
from .views import (
    Diagram as Diagram,
)
from .views import (
    DrawError as DrawError,
)
from .views import (
    FileError as FileError,
)
from .views import (
    RenderError as RenderError,
)
from .views import (
    barriers_table as barriers_table,
)
from .views import (
    coverage_summary as coverage_summary,
)
from .views import (
    coverage_table as coverage_table,
)
from .views import (
    draw as draw,
)
from .views import (
    endings_table as endings_table,
)
from .views import (
    events_table as events_table,
)
from .views import (
    executions_table as executions_table,
)
from .views import (
    explanation_table as explanation_table,
)
from .views import (
    flow_table as flow_table,
)
from .views import (
    proof_table as proof_table,
)
from .views import (
    rules_table as rules_table,
)
from .views import (
    runs_table as runs_table,
)
from .views import (
    sensitivity_table as sensitivity_table,
)
from .views import (
    shipped_notebooks as shipped_notebooks,
)
from .views import (
    shipped_scenarios as shipped_scenarios,
)
from .views import (
    terminations_table as terminations_table,
)
from .views import (
    vary_table as vary_table,
)
from .views import (
    write_report as write_report,
)

__version__: str

__all__ = [
    "END",
    "FIXED",
    "REPEAT",
    "START",
    "ActionError",
    "Actions",
    "Append",
    "Barrier",
    "Boundary",
    "Chances",
    "Command",
    "CompileError",
    "CompiledGraph",
    "Condition",
    "ConditionError",
    "Coverage",
    "Custom",
    "Decision",
    "DefinitionError",
    "DiagnosisError",
    "Diagram",
    "DocumentError",
    "DrawError",
    "Effect",
    "EffectError",
    "Event",
    "Executed",
    "Expect",
    "Explanation",
    "FileError",
    "Finding",
    "Flow",
    "FlowError",
    "Fork",
    "FrozenError",
    "InputError",
    "JoinError",
    "Lasso",
    "LimitError",
    "Merge",
    "Model",
    "Move",
    "Odds",
    "OddsError",
    "OrchestrationEvent",
    "OrchestrationTrace",
    "OwnershipError",
    "Proof",
    "Property",
    "PropertyError",
    "ReadError",
    "Reading",
    "Remove",
    "RenderError",
    "Replace",
    "ReplaceAll",
    "ReportError",
    "Rule",
    "Run",
    "RunConfig",
    "RunError",
    "Scenario",
    "ScenarioResult",
    "Send",
    "ShortFormError",
    "StateGraph",
    "StateSpace",
    "StopRunError",
    "Suite",
    "SuiteResult",
    "Topology",
    "TraceError",
    "UndeclaredKeyError",
    "UnmappedRouteError",
    "ValueRefusedError",
    "Verdict",
    "always",
    "barriers_table",
    "bound",
    "build_graph",
    "build_trace",
    "check_flow",
    "coverage_summary",
    "coverage_table",
    "diagnosis_model",
    "draw",
    "endings_table",
    "ends",
    "events_table",
    "executions_table",
    "explanation_table",
    "explore",
    "flow_table",
    "freeze",
    "load",
    "measure",
    "models",
    "outcome_odds",
    "proof_table",
    "prove",
    "register_immutable",
    "rules_table",
    "run_scenario",
    "run_suite",
    "runs_table",
    "scenario_for",
    "scenario_text",
    "sensitivity_table",
    "shipped",
    "shipped_names",
    "shipped_notebooks",
    "shipped_scenarios",
    "sometimes",
    "state_graph",
    "terminations_table",
    "thaw",
    "trace_of",
    "vary_table",
    "write_report",
    "write_scenario",
]
