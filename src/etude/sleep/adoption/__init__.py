"""What becomes of a night's result: a proposal that is adopted rule by rule, and taken back."""
