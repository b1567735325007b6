"""Sleep: a night's work on the transcripts of local agents. The same trainer, gate, edits, journal and models as a
training run; here is only what turns transcripts into tasks, and proposals into documents."""
