"""Checking an answer: its citations, quotes and figures."""
