"""Beliefs: what evidence adds up to, how sure it is, and how it changes."""
