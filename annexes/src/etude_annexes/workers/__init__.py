"""Attempts in other processes: on a Ray cluster, or wherever a subclass says."""
