"""What a run keeps: the journal of facts, the account of its spending, and the folder people look into."""

from etude.store.database import Database
from etude.store.journal import DECISION, SqliteJournal
from etude.store.run import JsonlSink, RunFolder
from etude.store.spend import SpendTotals, SqliteSpend
from etude.store.views import (
    GateView,
    RunView,
    SelectedView,
    StepView,
    UntestedView,
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
    "RunFolder",
    "RunView",
    "SelectedView",
    "SpendTotals",
    "SqliteJournal",
    "SqliteSpend",
    "StepView",
    "UntestedView",
    "UpdateView",
    "is_running",
    "read_events",
    "read_run",
    "run_names",
]
