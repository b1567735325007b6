"""A night's training: the documents of a project improved on its tasks."""
