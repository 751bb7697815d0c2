"""Dreaming: what memory makes of what it read. Every run can be looked at, and undone."""
