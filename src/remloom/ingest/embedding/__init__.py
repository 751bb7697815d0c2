"""Embedding in the background: queues, and the vectors of sentences."""
