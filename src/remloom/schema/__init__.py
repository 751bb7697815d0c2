"""Schemas of one's own: their registry, and their discovery in databases that are already there."""
