"""What a run keeps: the journal of facts, the account of its spending, and the folder people look into."""

from skillgrad.store.database import Database, WriteHook
from skillgrad.store.journal import DECISION, SqliteJournal
from skillgrad.store.keys import check_keys
from skillgrad.store.redact import Redactor
from skillgrad.store.run import JsonlSink, RunFolder
from skillgrad.store.spend import SpendTotals, SqliteSpend
from skillgrad.store.views import (
    GateView,
    RunView,
    StepView,
    UpdateView,
    is_running,
    read_events,
    read_run,
    run_names,
)

__all__ = [
    "DECISION",
    "Database",
    "GateView",
    "JsonlSink",
    "Redactor",
    "RunFolder",
    "RunView",
    "SpendTotals",
    "SqliteJournal",
    "SqliteSpend",
    "StepView",
    "UpdateView",
    "WriteHook",
    "check_keys",
    "is_running",
    "read_events",
    "read_run",
    "run_names",
]
