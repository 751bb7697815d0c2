"""Writing a batch to SQLite."""
