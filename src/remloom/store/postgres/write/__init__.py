"""Writing a batch to PostgreSQL."""
