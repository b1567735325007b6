"""Words in alphabetical order, for etude."""
