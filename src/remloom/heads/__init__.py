"""Heads: small learned parts that tell what a text is, from its words and characters alone."""
