"""SELECT on PostgreSQL."""
