"""What local agents wrote down: sources, the harvest of what is new, and the ledger of what was used."""
