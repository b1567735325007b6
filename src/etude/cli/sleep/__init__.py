"""`etude sleep`: one file per verb."""
