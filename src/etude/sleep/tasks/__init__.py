"""The tasks of a night: mined from sessions, grouped into clusters, checked, kept in files."""
