"""Measuring outside of the loop: scores, comparisons, forecasts, many seeds."""
