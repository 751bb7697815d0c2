"""The kernel: an open store, and writing, ingesting, fetching, querying and recall on it."""
