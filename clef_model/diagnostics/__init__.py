"""Readings of a schema or a decision, one a file."""
