"""SELECT on SQLite."""
