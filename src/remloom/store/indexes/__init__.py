"""Indexes in memory, which stores save as snapshots: names by trigrams, texts by words, vectors by a
graph."""
