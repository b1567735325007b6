"""What a person asks of a run folder, as small records: one file for each question. Terminal and page only draw them.
Nothing here writes, and all of it can be read while the run is under way."""
