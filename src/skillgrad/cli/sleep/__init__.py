"""`skillgrad sleep`: one file per verb."""
