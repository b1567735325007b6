"""Tasks in the formats of other tools."""
