"""Texts by themselves: scripts, terms, sentences, languages, tokens; dates and secrets in them."""
