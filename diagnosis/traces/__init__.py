"""Recorded traces: checked against the graph that should have made them, explained where they deviate, and exported."""

from diagnosis.traces.check import KEPT, TraceTally, check_traces, documents
from diagnosis.traces.checker import Step, TraceChecker, TraceResult
from diagnosis.traces.deviation import CLASSES, LOG_FAULTS, Deviation, Finding, TraceFileError
from diagnosis.traces.durations import Durations
from diagnosis.traces.event_log import LogEvent, event_log, write_csv, write_xes
from diagnosis.traces.items import SHOWN, items_of, trace_items
from diagnosis.traces.lines import MAX_DOCUMENT, MAX_LINE
from diagnosis.traces.report import TraceReport

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
    "LogEvent",
    "Step",
    "TraceChecker",
    "TraceFileError",
    "TraceReport",
    "TraceResult",
    "TraceTally",
    "check_traces",
    "documents",
    "event_log",
    "items_of",
    "trace_items",
    "write_csv",
    "write_xes",
]
