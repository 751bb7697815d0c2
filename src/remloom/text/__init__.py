"""Texts in general: their sentences, and the dates in them."""
