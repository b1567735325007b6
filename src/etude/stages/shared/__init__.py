"""What stages stand on: attempts, the optimizer, how both are shown and what comes back."""
