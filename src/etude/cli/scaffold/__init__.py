"""New projects: from a dataset, or from the settings of another system."""
