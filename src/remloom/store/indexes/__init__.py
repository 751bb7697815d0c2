"""Indexes in memory, saved as snapshots: names by trigrams, texts by words, vectors by a graph."""
