"""What tests of plugins need: scripted doubles."""

from skillgrad.testing.doubles import FreeSpend, MemoryJournal, Reservation, ScriptedModel, Settlement

__all__ = ["FreeSpend", "MemoryJournal", "Reservation", "ScriptedModel", "Settlement"]
