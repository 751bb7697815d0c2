"""Copying, exporting and importing a tenant."""
