"""Recall as of a time: what a store held then, as far as it is kept."""
