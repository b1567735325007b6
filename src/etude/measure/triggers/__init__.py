"""Triggers: does an agent open a skill when it should, and leave it when it should not."""
