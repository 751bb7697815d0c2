"""Tenants of a server: their keys, grants and audit log."""
