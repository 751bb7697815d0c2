"""Edges and walks on SQLite."""
