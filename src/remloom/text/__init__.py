"""Texts by themselves: scripts, terms, sentences, languages, tokens, and dates in them."""
