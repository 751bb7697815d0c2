"""Rerankers: models that judge passages by a question."""
