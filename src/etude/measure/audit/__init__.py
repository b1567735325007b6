"""Whether a suite of tasks can see a skill."""
