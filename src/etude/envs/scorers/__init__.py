"""Scorers: how an answer is compared with the gold answer."""
