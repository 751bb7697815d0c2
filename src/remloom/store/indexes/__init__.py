"""Indexes in memory, of which the stores keep snapshots: names by trigrams, texts by words, vectors
by a graph."""
