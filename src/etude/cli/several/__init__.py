"""Verbs over a folder of skills."""
