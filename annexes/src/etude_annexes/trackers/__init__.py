"""Trackers of other services; each imports its package when it is used."""
