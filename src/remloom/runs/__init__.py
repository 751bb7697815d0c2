"""Runs: what memory does of itself, what it did, and how that is taken back."""
