"""Strangers' words: what they write, and what the program makes of it."""
