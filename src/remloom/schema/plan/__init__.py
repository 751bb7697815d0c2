"""A plan: which tables of a database become which schemas, entities and edges."""

from .plan import Plan

__all__ = ["Plan"]
