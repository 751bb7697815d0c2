"""Forgetting: what goes with a record, and what still names it."""
