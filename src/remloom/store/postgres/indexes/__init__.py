"""Indexes of words, names and vectors on PostgreSQL."""
