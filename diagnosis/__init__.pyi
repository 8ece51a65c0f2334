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
from .exports import (
    ExportError as ExportError,
)
from .exports import (
    export as export,
)
from .exports import (
    fingerprint as fingerprint,
)
from .exports import (
    promela as promela,
)
from .exports import (
    vectors as vectors,
)
from .factory import (
    build_graph as build_graph,
)
from .factory import (
    state_graph as state_graph,
)
from .mutation import (
    Mutant as Mutant,
)
from .mutation import (
    MutantResult as MutantResult,
)
from .mutation import (
    MutationReport as MutationReport,
)
from .mutation import (
    mutants_of as mutants_of,
)
from .mutation import (
    mutate as mutate,
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
    eventually as eventually,
)
from .runtime import (
    freeze as freeze,
)
from .runtime import (
    never_after as never_after,
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
from .scale import (
    NotImportableError as NotImportableError,
)
from .scale import (
    WorkersError as WorkersError,
)
from .scenarios import (
    DocumentError as DocumentError,
)
from .scenarios import (
    Expect as Expect,
)
from .scenarios import (
    MinimiseError as MinimiseError,
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
    case_of as case_of,
)
from .scenarios import (
    load as load,
)
from .scenarios import (
    minimise as minimise,
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
from .traces import (
    Deviation as Deviation,
)
from .traces import (
    TraceChecker as TraceChecker,
)
from .traces import (
    TraceReport as TraceReport,
)
from .traces import (
    TraceResult as TraceResult,
)
from .traces import (
    check_traces as check_traces,
)
from .traces import (
    event_log as event_log,
)
from .traces import (
    trace_items as trace_items,
)
from .traces import (
    write_csv as write_csv,
)
from .traces import (
    write_xes as write_xes,
)
from .verify import (
    Baseline as Baseline,
)
from .verify import (
    BaselineError as BaselineError,
)
from .verify import (
    Chances as Chances,
)
from .verify import (
    Change as Change,
)
from .verify import (
    Changed as Changed,
)
from .verify import (
    Collector as Collector,
)
from .verify import (
    Comparison as Comparison,
)
from .verify import (
    Coverage as Coverage,
)
from .verify import (
    CoverageError as CoverageError,
)
from .verify import (
    DisagreementError as DisagreementError,
)
from .verify import (
    Ending as Ending,
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
    Remark as Remark,
)
from .verify import (
    StateSpace as StateSpace,
)
from .verify import (
    Suggestion as Suggestion,
)
from .verify import (
    Verdict as Verdict,
)
from .verify import (
    check_flow as check_flow,
)
from .verify import (
    collecting as collecting,
)
from .verify import (
    compare as compare,
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
    read_baseline as read_baseline,
)
from .verify import (
    scenario_for as scenario_for,
)
from .verify import (
    shortest_scenarios as shortest_scenarios,
)
from .verify import (
    suggest as suggest,
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
    changes_table as changes_table,
)
from .views import (
    classes_table as classes_table,
)
from .views import (
    coverage_summary as coverage_summary,
)
from .views import (
    coverage_table as coverage_table,
)
from .views import (
    deviations_table as deviations_table,
)
from .views import (
    draw as draw,
)
from .views import (
    durations_table as durations_table,
)
from .views import (
    ending_odds_table as ending_odds_table,
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
    findings_table as findings_table,
)
from .views import (
    flow_table as flow_table,
)
from .views import (
    lengths_table as lengths_table,
)
from .views import (
    load_coverage as load_coverage,
)
from .views import (
    production_table as production_table,
)
from .views import (
    proof_junit as proof_junit,
)
from .views import (
    proof_table as proof_table,
)
from .views import (
    routes_table as routes_table,
)
from .views import (
    rules_table as rules_table,
)
from .views import (
    runs_table as runs_table,
)
from .views import (
    save_coverage as save_coverage,
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
    shipped_traces as shipped_traces,
)
from .views import (
    suite_junit as suite_junit,
)
from .views import (
    terminations_table as terminations_table,
)
from .views import (
    trace_endings_table as trace_endings_table,
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
    "Baseline",
    "BaselineError",
    "Boundary",
    "Chances",
    "Change",
    "Changed",
    "Collector",
    "Command",
    "Comparison",
    "CompileError",
    "CompiledGraph",
    "Condition",
    "ConditionError",
    "Coverage",
    "CoverageError",
    "Custom",
    "Decision",
    "DefinitionError",
    "Deviation",
    "DiagnosisError",
    "Diagram",
    "DisagreementError",
    "DocumentError",
    "DrawError",
    "Effect",
    "EffectError",
    "Ending",
    "Event",
    "Executed",
    "Expect",
    "Explanation",
    "ExportError",
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
    "MinimiseError",
    "Model",
    "Move",
    "Mutant",
    "MutantResult",
    "MutationReport",
    "NotImportableError",
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
    "Remark",
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
    "Suggestion",
    "Suite",
    "SuiteResult",
    "Topology",
    "TraceChecker",
    "TraceError",
    "TraceReport",
    "TraceResult",
    "UndeclaredKeyError",
    "UnmappedRouteError",
    "ValueRefusedError",
    "Verdict",
    "WorkersError",
    "always",
    "barriers_table",
    "bound",
    "build_graph",
    "build_trace",
    "case_of",
    "changes_table",
    "check_flow",
    "check_traces",
    "classes_table",
    "collecting",
    "compare",
    "coverage_summary",
    "coverage_table",
    "deviations_table",
    "diagnosis_model",
    "draw",
    "durations_table",
    "ending_odds_table",
    "endings_table",
    "ends",
    "event_log",
    "events_table",
    "eventually",
    "executions_table",
    "explanation_table",
    "explore",
    "export",
    "findings_table",
    "fingerprint",
    "flow_table",
    "freeze",
    "lengths_table",
    "load",
    "load_coverage",
    "measure",
    "minimise",
    "models",
    "mutants_of",
    "mutate",
    "never_after",
    "outcome_odds",
    "production_table",
    "promela",
    "proof_junit",
    "proof_table",
    "prove",
    "read_baseline",
    "register_immutable",
    "routes_table",
    "rules_table",
    "run_scenario",
    "run_suite",
    "runs_table",
    "save_coverage",
    "scenario_for",
    "scenario_text",
    "sensitivity_table",
    "shipped",
    "shipped_names",
    "shipped_notebooks",
    "shipped_scenarios",
    "shipped_traces",
    "shortest_scenarios",
    "sometimes",
    "state_graph",
    "suggest",
    "suite_junit",
    "terminations_table",
    "thaw",
    "trace_endings_table",
    "trace_items",
    "trace_of",
    "vary_table",
    "vectors",
    "write_csv",
    "write_report",
    "write_scenario",
    "write_xes",
]
