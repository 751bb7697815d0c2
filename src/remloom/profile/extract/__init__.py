"""Extraction: how evidence is found in passages, by heads, rules or a language model."""
