"""Edges and walks on PostgreSQL."""
