"""What a person sees in the terminal: results, progress, tables."""
