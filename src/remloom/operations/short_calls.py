"""Calls that may be short: they read little, and wait for no model."""

from __future__ import annotations

from typing import Any

__all__ = ["always", "finds_few", "names_few"]

FEW_LABELS = 64
FEW_HITS = 20
# a condition, a filter or another time can make any question read much
_MUCH = ("as_of", "filter", "type", "where")


def always(values: Any) -> bool:
    """Any call."""
    return True


def names_few(values: Any) -> bool:
    """A few labels, as they are now."""
    return len(values.labels) <= FEW_LABELS and not _reads_much(values)


def finds_few(values: Any) -> bool:
    """A few of the nearest to a vector, or to words."""
    # a text without its vector has to be embedded
    embeds = "vector" in values.__struct_fields__ and values.vector is None
    return not embeds and values.limit <= FEW_HITS and not _reads_much(values)


def _reads_much(values: Any) -> bool:
    return any(getattr(values, name, None) for name in _MUCH)
