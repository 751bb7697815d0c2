"""Search by words, names and vectors on PostgreSQL."""
