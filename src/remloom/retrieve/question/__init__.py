"""A question: its kind, names, times, and what it refers to."""
