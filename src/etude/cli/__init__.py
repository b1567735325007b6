"""The command line: one file per verb, and the console that prints."""
