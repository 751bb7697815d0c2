"""Contexts: which beliefs are given to an agent for a request, and how they are written."""
