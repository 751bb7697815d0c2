"""Sync: rows of a database become rows of a memory, and follow what is done to them there."""
