"""Search by words, names and vectors, and the indexes that it uses."""
