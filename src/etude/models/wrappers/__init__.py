"""Models around models: structure, memory, patience, a budget, a limit."""
