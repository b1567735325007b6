"""Words in alphabetical order, for skillgrad."""
