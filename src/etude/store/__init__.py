"""What a run keeps: the journal of facts, the account of its spending, and the folder people look into."""

from etude.store.journal import SqliteJournal
from etude.store.run import RunFolder
from etude.store.spend import SpendTotals, SqliteSpend
from etude.store.views import RunView, StepView, is_running, read_events, read_run, run_names

__all__ = [
    "RunFolder",
    "RunView",
    "SpendTotals",
    "SqliteJournal",
    "SqliteSpend",
    "StepView",
    "is_running",
    "read_events",
    "read_run",
    "run_names",
]
