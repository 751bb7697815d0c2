"""Databases that are already there: what they say of their tables, and their rows, read-only."""
