"""Measuring outside of the loop: scores, comparisons, plans, many seeds."""
