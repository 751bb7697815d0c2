"""Heads: small learned parts that tell what a text is, from its words, its characters and, where
there is one, its vector."""
