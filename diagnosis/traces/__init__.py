"""Recorded traces: checked against the graph that should have made them, explained where they deviate, and exported."""

from diagnosis.traces.check import KEPT, TraceTally, check_traces
from diagnosis.traces.checker import Step, TraceChecker, TraceResult
from diagnosis.traces.deviation import CLASSES, LOG_FAULTS, Deviation, Finding, TraceFileError
from diagnosis.traces.items import SHOWN, items_of, trace_items
from diagnosis.traces.lines import MAX_DOCUMENT, MAX_LINE
from diagnosis.traces.report import Durations, TraceReport

__all__ = [
    "CLASSES",
    "KEPT",
    "LOG_FAULTS",
    "MAX_DOCUMENT",
    "MAX_LINE",
    "SHOWN",
    "Deviation",
    "Durations",
    "Finding",
    "Step",
    "TraceChecker",
    "TraceFileError",
    "TraceReport",
    "TraceResult",
    "TraceTally",
    "check_traces",
    "items_of",
    "trace_items",
]
